"""y = -x by a C++ source in which lines count: it asserts."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_positions(values: dict) -> None:
    values["y"][:] = -values["x"]


case = Case("positions", specs=build_specs, golden=golden_positions, programs={"cpu": CppKernel("positions.cpp")})
