"""Rotary position embedding of 12 rows of 16."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 12, 16


def angles() -> torch.Tensor:
    return torch.outer(torch.arange(ROWS), 10000.0 ** -(torch.arange(COLS // 2) / (COLS // 2)))


def init_cos() -> torch.Tensor:
    return angles().cos()


def init_sin() -> torch.Tensor:
    return angles().sin()


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("cos", (ROWS, COLS // 2), torch.float32, init_cos),
        TensorSpec("sin", (ROWS, COLS // 2), torch.float32, init_sin),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_rope(values: dict[str, torch.Tensor]) -> None:
    lo, hi = values["x"].chunk(2, dim=1)
    cos, sin = values["cos"], values["sin"]
    values["y"][:] = torch.cat([lo * cos - hi * sin, hi * cos + lo * sin], dim=1)


def kernel(function: str) -> CppKernel:
    return CppKernel("rope.cpp", function=f"rope::{function}")


COMMON = {"specs": build_specs, "golden": golden_rope}

Case("rope", programs={"cpu": kernel("sound")}, **COMMON)
Case("rope_pairs_of_neighbours", programs={"cpu": kernel("pairs_of_neighbours")}, **COMMON)
Case("rope_rotated_half_read_again", programs={"cpu": kernel("rotated_half_read_again")}, **COMMON)
Case("rope_position_off_by_one", programs={"cpu": kernel("position_off_by_one")}, **COMMON)
