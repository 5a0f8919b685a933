"""y = x + 1 by a C++ source in a folder of its own, with headers that others could come to hide."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_nested(values: dict) -> None:
    values["y"][:] = values["x"] + 1


case = Case("nested", specs=build_specs, golden=golden_nested, programs={"cpu": CppKernel("sub/nested.cpp")})
