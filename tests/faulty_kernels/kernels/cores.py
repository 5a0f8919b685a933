"""Sum of the 32 rows of a matrix of 256 columns on four cores, 16 columns at a time."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 32, 256


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.rand),
        TensorSpec("sums", (COLS,), torch.float32, is_output=True),
    ]


def golden_sum(values: dict[str, torch.Tensor]) -> None:
    values["sums"][:] = values["x"].sum(dim=0)


def kernel(function: str) -> CppKernel:
    return CppKernel("cores.cpp", function=f"cores::{function}", defines={"CORES": 4}, flags="-pthread")


COMMON = {"specs": build_specs, "golden": golden_sum, "tiles": {"TILE": 16}}

Case("cores", programs={"cpu": kernel("sound")}, **COMMON)
Case("cores_race", programs={"cpu": kernel("race")}, **COMMON)
Case("cores_missing_signal", programs={"cpu": kernel("missing_signal")}, timeout=8, **COMMON)
