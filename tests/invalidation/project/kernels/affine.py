"""y = SCALE * x + shift, in tiles of rows; its C++ source includes a header that includes another."""

import torch

from golden_tasks import Case, CppKernel, ScalarSpec, TensorSpec

ROWS, COLS = 4, 8
SCALE = 2.0  # the same as in affine_constants.h
SHIFT = 0.5
TILE_ROWS = 2


def build_specs() -> list[TensorSpec | ScalarSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.rand),
        ScalarSpec("shift", torch.float32, SHIFT),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_affine(values: dict) -> None:
    values["y"][:] = SCALE * values["x"] + values["shift"]


case = Case(
    "affine",
    specs=build_specs,
    golden=golden_affine,
    programs={"cpu": CppKernel("affine.cpp")},
    tiles={"TILE_ROWS": TILE_ROWS},
)

if __name__ == "__main__":
    case.main()
