"""Top-k gate of a mixture of experts: the highest scores of every token, descending, and the experts they belong to.

Equal scores keep the experts' order: the lower index comes first.
"""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

TOKENS, EXPERTS, TOP_K = 200, 160, 8
TILE_TOKENS = 32
TILE_EXPERTS = 48  # neither tile divides its axis: each ends with a tail


def scores_with_ties() -> torch.Tensor:
    """Scores in steps of an eighth, so that most rows have equal ones among their highest."""
    return (torch.randn(TOKENS, EXPERTS) * 8).round() / 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("scores", (TOKENS, EXPERTS), torch.float32, scores_with_ties),
        TensorSpec("values", (TOKENS, TOP_K), torch.float32, is_output=True),
        TensorSpec("indices", (TOKENS, TOP_K), torch.int32, is_output=True),
    ]


def golden_topk_gate(values: dict[str, torch.Tensor]) -> None:
    scores, indices = torch.sort(values["scores"], dim=-1, descending=True, stable=True)
    values["values"][:] = scores[:, :TOP_K]
    values["indices"][:] = indices[:, :TOP_K]


case = Case(
    "topk_gate",
    specs=build_specs,
    golden=golden_topk_gate,
    programs={"cpu": CppKernel("topk_gate.cpp", function="topk_gate")},
    tiles={"TILE_TOKENS": TILE_TOKENS, "TILE_EXPERTS": TILE_EXPERTS},
    rtol=0.0,  # scores are chosen, not computed
    atol=0.0,
)

if __name__ == "__main__":
    case.main()
