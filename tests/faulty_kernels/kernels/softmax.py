"""Softmax of the rows of a 12 x 20 matrix: one row is large, and one begins with a tile of -infinity (masked)."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 12, 20
TILES = {"TILE_COLS": 8}
LARGE, MASKED = 4, 7


def init_x() -> torch.Tensor:
    x = torch.randn(ROWS, COLS)
    x[LARGE] += 200
    x[MASKED, : TILES["TILE_COLS"]] = -torch.inf
    return x


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, init_x),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_softmax(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = torch.softmax(values["x"], dim=-1)


def kernel(function: str) -> CppKernel:
    return CppKernel("softmax.cpp", function=f"softmax::{function}")


COMMON = {"specs": build_specs, "golden": golden_softmax, "tiles": TILES, "rtol": 1e-5, "atol": 1e-6}

Case("softmax", programs={"cpu": kernel("sound")}, **COMMON)
Case("softmax_max_not_reset", programs={"cpu": kernel("max_not_reset")}, **COMMON)
Case("softmax_sum_not_rescaled", programs={"cpu": kernel("sum_not_rescaled")}, **COMMON)
Case("softmax_masked_tile", programs={"cpu": kernel("masked_tile")}, **COMMON)
Case("softmax_max_past_end", programs={"cpu": kernel("max_past_end")}, **COMMON)
Case("softmax_zero_output", programs={"cpu": kernel("zero_output")}, **COMMON)
