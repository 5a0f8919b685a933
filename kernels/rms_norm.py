"""Root mean square normalisation of every row: y = x / sqrt(mean(x^2) + 1e-6) * gamma, bf16 in and out."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 200, 250
EPS = 1e-6  # the same as in rms_norm.cpp
TILE_ROWS = 32
TILE_COLS = 96  # neither tile divides its axis: each ends with a tail


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.bfloat16, torch.randn),
        TensorSpec("gamma", (1, COLS), torch.bfloat16, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.bfloat16, is_output=True),
    ]


def golden_rms_norm(values: dict[str, torch.Tensor]) -> None:
    x = values["x"].to(torch.float32)
    mean_square = x.square().mean(dim=-1, keepdim=True)
    values["y"][:] = x * torch.rsqrt(mean_square + EPS) * values["gamma"]


def rms_norm_torch(x: torch.Tensor, gamma: torch.Tensor, y: torch.Tensor, *, TILE_ROWS: int, TILE_COLS: int) -> None:
    for r0 in range(0, x.shape[0], TILE_ROWS):
        rows = slice(r0, r0 + TILE_ROWS)
        sum_square = torch.zeros_like(x[rows, :1], dtype=torch.float32)
        for c0 in range(0, x.shape[1], TILE_COLS):
            tile = x[rows, c0 : c0 + TILE_COLS].to(torch.float32)
            sum_square += tile.square().sum(dim=-1, keepdim=True)

        scale = torch.rsqrt(sum_square / x.shape[1] + EPS)
        for c0 in range(0, x.shape[1], TILE_COLS):
            columns = slice(c0, c0 + TILE_COLS)
            y[rows, columns] = x[rows, columns] * scale * gamma[:, columns]


case = Case(
    "rms_norm",
    specs=build_specs,
    golden=golden_rms_norm,
    programs={"cpu": CppKernel("rms_norm.cpp", function="rms_norm"), "torch": rms_norm_torch},
    tiles={"TILE_ROWS": TILE_ROWS, "TILE_COLS": TILE_COLS},
    rtol=2**-7,  # one unit in the last place of bf16
    atol=1e-6,
)

if __name__ == "__main__":
    case.main()
