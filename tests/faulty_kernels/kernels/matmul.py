"""Matrix product c = a @ b: 20 x 20 by 20 x 28, in tiles of 8 x 8, of 16 along k; the last ones are cut to 4."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

M, N, K = 20, 28, 20
TILES = {"TILE_M": 8, "TILE_N": 8, "TILE_K": 16}


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("a", (M, K), torch.float32, torch.randn),
        TensorSpec("b", (K, N), torch.float32, torch.randn),
        TensorSpec("c", (M, N), torch.float32, is_output=True),
    ]


def golden_matmul(values: dict[str, torch.Tensor]) -> None:
    values["c"][:] = values["a"] @ values["b"]


def kernel(function: str) -> CppKernel:
    return CppKernel("matmul.cpp", function=f"matmul::{function}", defines={"CORES": 5})


COMMON = {"specs": build_specs, "golden": golden_matmul, "tiles": TILES, "rtol": 1e-4, "atol": 1e-5}

Case("matmul", programs={"cpu": kernel("sound")}, **COMMON)
Case("matmul_unwritten_tail", programs={"cpu": kernel("unwritten_tail")}, **COMMON)
Case("matmul_missing_core", programs={"cpu": kernel("missing_core")}, **COMMON)
Case("matmul_stale_output", programs={"cpu": kernel("stale_output")}, **COMMON)
Case("matmul_last_k_tile_left_out", programs={"cpu": kernel("last_k_tile_left_out")}, **COMMON)
Case("matmul_tail_counted_twice", programs={"cpu": kernel("tail_counted_twice")}, **COMMON)
Case("matmul_wrong_stride", programs={"cpu": kernel("wrong_stride")}, **COMMON)
Case("matmul_transposed_tile", programs={"cpu": kernel("transposed_tile")}, **COMMON)
Case("matmul_swapped_tiles", programs={"cpu": kernel("swapped_tiles")}, **COMMON)
Case("matmul_half_sums", programs={"cpu": kernel("half_sums")}, **COMMON)
Case("matmul_stores_rows_past_end", programs={"cpu": kernel("stores_rows_past_end")}, **COMMON)
Case("matmul_sums_past_end", programs={"cpu": kernel("sums_past_end")}, **COMMON)
Case("matmul_pads_one_operand", programs={"cpu": kernel("pads_one_operand")}, **COMMON)
Case("matmul_previous_run", programs={"cpu": kernel("previous_run")}, **COMMON)
