"""Layer norm of the rows of a 12 x 20 matrix in two groups: one row is tiny, one lies far from zero."""

import torch

from golden_tasks import Case, CppKernel, ScalarSpec, TensorSpec

ROWS, COLS, GROUPS = 12, 20, 2
EPSILON = 1e-5
TILES = {"TILE_ROWS": 8, "TILE_COLS": 16}
TINY, FAR = 3, 9


def init_x() -> torch.Tensor:
    x = torch.randn(ROWS, COLS)
    x[TINY] *= 1e-3
    x[FAR] += 1000
    return x


def build_specs() -> list[TensorSpec | ScalarSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, init_x),
        TensorSpec("gamma", (GROUPS, COLS), torch.float32, torch.rand),
        ScalarSpec("epsilon", torch.float32, EPSILON),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_layer_norm(values: dict[str, torch.Tensor]) -> None:
    normal = torch.nn.functional.layer_norm(values["x"], (COLS,), eps=values["epsilon"])
    values["y"][:] = normal * values["gamma"].repeat_interleave(ROWS // GROUPS, dim=0)


def kernel(function: str) -> CppKernel:
    return CppKernel("layer_norm.cpp", function=f"layer_norm::{function}")


COMMON = {"specs": build_specs, "golden": golden_layer_norm, "tiles": TILES, "rtol": 1e-4, "atol": 1e-4}

Case("layer_norm", programs={"cpu": kernel("sound")}, **COMMON)
Case("layer_norm_epsilon_forgotten", programs={"cpu": kernel("epsilon_forgotten")}, **COMMON)
Case("layer_norm_padding_counted", programs={"cpu": kernel("padding_counted")}, **COMMON)
Case("layer_norm_one_pass_variance", programs={"cpu": kernel("one_pass_variance")}, **COMMON)
Case("layer_norm_gamma_of_other_group", programs={"cpu": kernel("gamma_of_other_group")}, **COMMON)
Case("layer_norm_centres_in_place", programs={"cpu": kernel("centres_in_place")}, **COMMON)
Case("layer_norm_sums_not_cleared", programs={"cpu": kernel("sums_not_cleared")}, **COMMON)
Case("layer_norm_workspace_not_cleared", programs={"cpu": kernel("workspace_not_cleared")}, **COMMON)
