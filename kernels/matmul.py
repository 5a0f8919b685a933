"""Matrix product c = a @ b in M x N x K tiles."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

M, N, K = 256, 256, 256
TILE_M = 64
TILE_N = 64
TILE_K = 64


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("a", (M, K), torch.float32, torch.randn),
        TensorSpec("b", (K, N), torch.float32, torch.randn),
        TensorSpec("c", (M, N), torch.float32, is_output=True),
    ]


def golden_matmul(values: dict[str, torch.Tensor]) -> None:
    values["c"][:] = values["a"] @ values["b"]


case = Case(
    "matmul",
    specs=build_specs,
    golden=golden_matmul,
    programs={"cpu": CppKernel("matmul.cpp", function="matmul")},
    tiles={"TILE_M": TILE_M, "TILE_N": TILE_N, "TILE_K": TILE_K},
    rtol=1e-3,
    atol=1e-3,
)

if __name__ == "__main__":
    case.main()
