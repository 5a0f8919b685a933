"""Causal attention of one head over 12 positions of 16."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 12, 16


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("q", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("k", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("v", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_attention(values: dict[str, torch.Tensor]) -> None:
    scores = values["q"] @ values["k"].T / COLS**0.5
    later = torch.ones(ROWS, ROWS, dtype=torch.bool).triu(1)
    values["y"][:] = scores.masked_fill(later, -torch.inf).softmax(dim=1) @ values["v"]


def kernel(function: str) -> CppKernel:
    return CppKernel("attention.cpp", function=f"attention::{function}")


COMMON = {"specs": build_specs, "golden": golden_attention, "tiles": {"TILE_ROWS": 8}, "rtol": 1e-4, "atol": 1e-5}

Case("attention", programs={"cpu": kernel("sound")}, **COMMON)
Case("attention_scale_forgotten", programs={"cpu": kernel("scale_forgotten")}, **COMMON)
Case("attention_sees_next_key", programs={"cpu": kernel("sees_next_key")}, **COMMON)
Case("attention_first_row_masked", programs={"cpu": kernel("first_row_masked")}, **COMMON)
Case("attention_refuses_size", programs={"cpu": kernel("refuses_size")}, **COMMON)
Case("attention_freed_workspace", programs={"cpu": kernel("freed_workspace")}, **COMMON)
