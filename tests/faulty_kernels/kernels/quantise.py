"""Quantisation of a 12 x 20 matrix to int8 with a static scale, and its rounding to bf16; both exact.

The scaled numbers are whole or halves, and a few of them lie outside of int8.
"""

import torch

from golden_tasks import Case, CppKernel, ScalarSpec, TensorSpec

ROWS, COLS = 12, 20
SCALE = 16.0


def init_x() -> torch.Tensor:
    return (torch.randn(ROWS, COLS) * 4 * SCALE * 2).round() / (SCALE * 2)


def build_specs() -> list[TensorSpec | ScalarSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, init_x),
        ScalarSpec("scale", torch.float32, SCALE),
        TensorSpec("q", (ROWS, COLS), torch.int8, is_output=True),
        TensorSpec("amax", (ROWS,), torch.float32, is_output=True),
    ]


def bf16_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.bfloat16, is_output=True),
    ]


def golden_quantise(values: dict[str, torch.Tensor]) -> None:
    values["q"][:] = (values["x"] * values["scale"]).round().clamp(-128, 127)
    values["amax"][:] = values["x"].abs().amax(dim=1)


def golden_bf16(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = values["x"]


def kernel(function: str) -> CppKernel:
    return CppKernel("quantise.cpp", function=f"quantise::{function}")


TILES = {"TILE_ROWS": 8}
INT8 = {"specs": build_specs, "golden": golden_quantise, "tiles": TILES, "rtol": 0.0, "atol": 0.0}
BF16 = {"specs": bf16_specs, "golden": golden_bf16, "tiles": TILES, "rtol": 0.0, "atol": 0.0}

Case("quantise", programs={"cpu": kernel("sound")}, **INT8)
Case("quantise_wraps", programs={"cpu": kernel("wraps")}, **INT8)
Case("quantise_truncates", programs={"cpu": kernel("truncates")}, **INT8)
Case("quantise_ties_away", programs={"cpu": kernel("ties_away")}, **INT8)
Case("quantise_dithers_by_address", programs={"cpu": kernel("dithers_by_address")}, **INT8)
Case("quantise_pads_amax", programs={"cpu": kernel("pads_amax")}, **INT8)
Case("to_bf16", programs={"cpu": kernel("to_bf16")}, **BF16)
Case("to_bf16_truncates", programs={"cpu": kernel("to_bf16_truncates")}, **BF16)
