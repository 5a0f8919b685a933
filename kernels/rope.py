"""Rotary position embedding: the halves of every row of x are rotated by the angles of one position.

y_lo = x_lo * cos_lo - x_hi * sin_lo
y_hi = x_hi * cos_hi + x_lo * sin_hi
"""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, HEAD_DIM = 128, 128
POSITION = 100
THETA = 10000.0
TILE_ROWS = 32
TILE_COLS = 32  # columns of a half


def rotary_angles() -> torch.Tensor:
    exponents = torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM
    angles = POSITION / THETA**exponents
    return torch.cat([angles, angles]).reshape(1, HEAD_DIM)


def init_cos() -> torch.Tensor:
    return rotary_angles().cos()


def init_sin() -> torch.Tensor:
    return rotary_angles().sin()


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, HEAD_DIM), torch.float32, torch.randn),
        TensorSpec("cos", (1, HEAD_DIM), torch.float32, init_cos),
        TensorSpec("sin", (1, HEAD_DIM), torch.float32, init_sin),
        TensorSpec("y", (ROWS, HEAD_DIM), torch.float32, is_output=True),
    ]


def golden_rope(values: dict[str, torch.Tensor]) -> None:
    x_lo, x_hi = values["x"].chunk(2, dim=-1)
    cos_lo, cos_hi = values["cos"].chunk(2, dim=-1)
    sin_lo, sin_hi = values["sin"].chunk(2, dim=-1)
    y_lo = x_lo * cos_lo - x_hi * sin_lo
    y_hi = x_hi * cos_hi + x_lo * sin_hi
    values["y"][:] = torch.cat([y_lo, y_hi], dim=-1)


case = Case(
    "rope",
    specs=build_specs,
    golden=golden_rope,
    programs={"cpu": CppKernel("rope.cpp", function="rope")},
    tiles={"TILE_ROWS": TILE_ROWS, "TILE_COLS": TILE_COLS},
    rtol=1e-5,
    atol=1e-5,
)

if __name__ == "__main__":
    case.main()
