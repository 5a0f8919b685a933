"""Softmax of every row, y = exp(x - max(x)) / sum(exp(x - max(x))), with rows longer than one tile."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 512, 512
TILE_ROWS = 32
TILE_COLS = 96  # does not divide COLS: the last column tile is a tail


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_softmax(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = torch.softmax(values["x"], dim=-1)


def softmax_torch(x: torch.Tensor, y: torch.Tensor, *, TILE_ROWS: int, TILE_COLS: int) -> None:
    for r0 in range(0, x.shape[0], TILE_ROWS):
        rows = slice(r0, r0 + TILE_ROWS)
        row_max = torch.full_like(x[rows, :1], torch.finfo(x.dtype).min)
        row_sum = torch.zeros_like(row_max)
        for c0 in range(0, x.shape[1], TILE_COLS):
            tile = x[rows, c0 : c0 + TILE_COLS]
            new_max = torch.maximum(row_max, tile.amax(dim=-1, keepdim=True))
            row_sum *= torch.exp(row_max - new_max)
            row_sum += torch.exp(tile - new_max).sum(dim=-1, keepdim=True)
            row_max = new_max

        for c0 in range(0, x.shape[1], TILE_COLS):
            columns = slice(c0, c0 + TILE_COLS)
            y[rows, columns] = torch.exp(x[rows, columns] - row_max) / row_sum


case = Case(
    "softmax",
    specs=build_specs,
    golden=golden_softmax,
    programs={"cpu": CppKernel("softmax.cpp", function="softmax"), "torch": softmax_torch},
    tiles={"TILE_ROWS": TILE_ROWS, "TILE_COLS": TILE_COLS},
    rtol=1e-4,
    atol=1e-6,  # an output is about 1 / COLS: a larger atol would let almost anything pass
)

if __name__ == "__main__":
    case.main()
