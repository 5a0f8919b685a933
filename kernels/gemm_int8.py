"""Quantised matrix product c = (a @ b) * scale: int8 operands, int32 sums, one scale for each output column."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

M, N, K = 200, 168, 300
TILE_M = 64
TILE_N = 64
TILE_K = 128  # no tile divides its axis: each ends with a tail


def init_a() -> torch.Tensor:
    return torch.randint(-128, 128, (M, K))


def init_b() -> torch.Tensor:
    return torch.randint(-128, 128, (K, N))


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("a", (M, K), torch.int8, init_a),
        TensorSpec("b", (K, N), torch.int8, init_b),
        TensorSpec("scale", (1, N), torch.float32, torch.rand),
        TensorSpec("c", (M, N), torch.bfloat16, is_output=True),
    ]


def golden_gemm_int8(values: dict[str, torch.Tensor]) -> None:
    total = values["a"].to(torch.int32) @ values["b"].to(torch.int32)
    values["c"][:] = total.to(torch.float32) * values["scale"]


case = Case(
    "gemm_int8",
    specs=build_specs,
    golden=golden_gemm_int8,
    programs={"cpu": CppKernel("gemm_int8.cpp", function="gemm_int8")},
    tiles={"TILE_M": TILE_M, "TILE_N": TILE_N, "TILE_K": TILE_K},
    rtol=0.0,  # integer sums are the same in any order, and each is scaled and rounded once
    atol=0.0,
)

if __name__ == "__main__":
    case.main()
