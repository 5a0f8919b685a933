"""y = GAIN * x + BIAS, with macros of its own."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE = 8
GAIN = 3


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.int32, init_x),
        TensorSpec("y", (SIZE,), torch.int32, is_output=True),
    ]


def init_x() -> torch.Tensor:
    return torch.arange(SIZE)


def golden_options(values: dict) -> None:
    values["y"][:] = GAIN * values["x"] + 1


case = Case(
    "options",
    specs=build_specs,
    golden=golden_options,
    programs={"cpu": CppKernel("options.cpp", function="options", defines={"GAIN": GAIN, "BIAS": 1})},
    tiles={"UNROLL": 4},
)
