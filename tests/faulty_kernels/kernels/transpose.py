"""Transpose of a 20 x 28 fp16 matrix, bit for bit."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 20, 28


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float16, torch.randn),
        TensorSpec("y", (COLS, ROWS), torch.float16, is_output=True),
    ]


def golden_transpose(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = values["x"].T


def kernel(function: str) -> CppKernel:
    return CppKernel("transpose.cpp", function=f"transpose::{function}")


COMMON = {"specs": build_specs, "golden": golden_transpose, "tiles": {"TILE": 8}, "rtol": 0.0, "atol": 0.0}

Case("transpose", programs={"cpu": kernel("sound")}, **COMMON)
Case("transpose_row_length_of_input", programs={"cpu": kernel("row_length_of_input")}, **COMMON)
Case("transpose_last_tile_off_by_one", programs={"cpu": kernel("last_tile_off_by_one")}, **COMMON)
