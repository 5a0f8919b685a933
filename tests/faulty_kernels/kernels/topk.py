"""The top 5 of the rows of a 12 x 28 matrix, with ties; indices of equal scores may swap."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec
from golden_tasks.validation.topk import topk_pair_compare

ROWS, COLS, K = 12, 28, 5


def scores_with_ties() -> torch.Tensor:
    return (torch.randn(ROWS, COLS) * 4).round() / 4


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, scores_with_ties),
        TensorSpec("values", (ROWS, K), torch.float32, is_output=True),
        TensorSpec("indices", (ROWS, K), torch.int32, is_output=True),
    ]


def golden_topk(values: dict[str, torch.Tensor]) -> None:
    scores, indices = torch.sort(values["x"], dim=-1, descending=True, stable=True)
    values["values"][:], values["indices"][:] = scores[:, :K], indices[:, :K]


def kernel(function: str) -> CppKernel:
    return CppKernel("topk.cpp", function=f"topk::{function}", defines={"K": K})


COMMON = {
    "specs": build_specs,
    "golden": golden_topk,
    "tiles": {"TILE": 8},
    "rtol": 0.0,
    "atol": 0.0,
    "compare_fn": {"indices": topk_pair_compare("values", scores="x")},
}

Case("topk", programs={"cpu": kernel("sound")}, **COMMON)
Case("topk_other_tie_order", programs={"cpu": kernel("other_tie_order")}, **COMMON)
Case("topk_indices_in_tile", programs={"cpu": kernel("indices_in_tile")}, **COMMON)
Case("topk_index_of_first_equal", programs={"cpu": kernel("index_of_first_equal")}, **COMMON)
Case("topk_garbage_indices", programs={"cpu": kernel("garbage_indices")}, **COMMON)
