"""Softmax of every row, y = exp(x - max(x)) / sum(exp(x - max(x))), with rows longer than one tile."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 512, 512
TILE_ROWS = 32
TILE_COLS = 96  # does not divide COLS: the last column tile is a tail


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_softmax(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = torch.softmax(values["x"], dim=-1)


case = Case(
    "softmax",
    specs=build_specs,
    golden=golden_softmax,
    programs={"cpu": CppKernel("softmax.cpp", function="softmax")},
    tiles={"TILE_ROWS": TILE_ROWS, "TILE_COLS": TILE_COLS},
    rtol=1e-4,
    atol=1e-6,  # an output is about 1 / COLS: a larger atol would let almost anything pass
)

if __name__ == "__main__":
    case.main()
