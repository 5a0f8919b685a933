"""y = x * x + WEIGHT on two platforms, as an update of y in place."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 4, 6
WEIGHT = 0.25
TILE = 2


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.rand),
        TensorSpec("y", (ROWS, COLS), torch.float32, torch.ones, is_output=True),
    ]


def golden_ported(values: dict) -> None:
    values["y"].mul_(WEIGHT).add_(values["x"] * values["x"])


def squared(part: torch.Tensor) -> torch.Tensor:
    return part * part


def ported_torch(x: torch.Tensor, y: torch.Tensor, *, TILE: int) -> None:
    for row in range(0, x.shape[0], TILE):
        rows = slice(row, row + TILE)
        y[rows] = y[rows] * WEIGHT + squared(x[rows])


case = Case(
    "ported",
    specs=build_specs,
    golden=golden_ported,
    programs={"cpu": CppKernel("ported.cpp", defines={"WEIGHT": WEIGHT}), "torch": ported_torch},
    tiles={"TILE": TILE},
)
