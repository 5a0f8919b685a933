"""y = x + 1 + 2 + 4 in chunks: constants that only the golden function, only the program, or both of them read."""

import torch

from golden_tasks import Case, TensorSpec

SIZE = 64
GOLDEN_ONLY = 1.0
PROGRAM_ONLY = 5.0
SHARED = 2.0
CHUNK = 16


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_constants(values: dict) -> None:
    for part, out in zip(values["x"].split(CHUNK), values["y"].split(CHUNK), strict=True):
        out[:] = part + GOLDEN_ONLY + SHARED + 4


def constants_torch(x: torch.Tensor, y: torch.Tensor, *, CHUNK: int, TILE: int = 1) -> None:
    for start in range(0, x.shape[0], CHUNK):
        y[start : start + CHUNK] = x[start : start + CHUNK] + PROGRAM_ONLY + SHARED


case = Case(
    "constants",
    specs=build_specs,
    golden=golden_constants,
    programs={"torch": constants_torch},
    tiles={"CHUNK": CHUNK},
)
