"""Histogram of 200 numbers in 12 bins, two of which stay empty; some numbers are the upper edge itself."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE, BINS = 200, 12
EMPTY = (5, 8)


def init_x() -> torch.Tensor:
    x = torch.randint(0, 10 * BINS, (SIZE,))
    x[(x // 10 == EMPTY[0]) | (x // 10 == EMPTY[1])] = 3
    x[:3] = 10 * BINS
    return x


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.int32, init_x),
        TensorSpec("counts", (BINS,), torch.int32, is_output=True),
    ]


def golden_histogram(values: dict[str, torch.Tensor]) -> None:
    values["counts"][:] = torch.bincount((values["x"] // 10).clamp(max=BINS - 1), minlength=BINS)


def kernel(function: str) -> CppKernel:
    return CppKernel("histogram.cpp", function=f"histogram::{function}", defines={"BINS": BINS})


COMMON = {"specs": build_specs, "golden": golden_histogram}

Case("histogram", programs={"cpu": kernel("sound")}, **COMMON)
Case("histogram_not_cleared", programs={"cpu": kernel("not_cleared")}, **COMMON)
Case("histogram_empty_bins_left_out", programs={"cpu": kernel("empty_bins_left_out")}, **COMMON)
Case("histogram_upper_edge", programs={"cpu": kernel("upper_edge")}, **COMMON)
