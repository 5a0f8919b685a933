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


def matmul_torch(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, *, TILE_M: int, TILE_N: int, TILE_K: int) -> None:
    for m0 in range(0, c.shape[0], TILE_M):
        for n0 in range(0, c.shape[1], TILE_N):
            rows, columns = slice(m0, m0 + TILE_M), slice(n0, n0 + TILE_N)
            c_tile = torch.zeros_like(c[rows, columns])
            for k0 in range(0, a.shape[1], TILE_K):
                c_tile += a[rows, k0 : k0 + TILE_K] @ b[k0 : k0 + TILE_K, columns]
            c[rows, columns] = c_tile


case = Case(
    "matmul",
    specs=build_specs,
    golden=golden_matmul,
    programs={"cpu": CppKernel("matmul.cpp", function="matmul"), "torch": matmul_torch},
    tiles={"TILE_M": TILE_M, "TILE_N": TILE_N, "TILE_K": TILE_K},
    rtol=1e-3,
    atol=1e-3,
)

if __name__ == "__main__":
    case.main()
