"""Two cases in one file: y = a + x and y = b + x."""

import torch

from golden_tasks import Case, TensorSpec

SIZE = 8
FIRST = 1.0
SECOND = 2.0


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_first(values: dict) -> None:
    values["y"][:] = values["x"] + FIRST


def golden_second(values: dict) -> None:
    values["y"][:] = values["x"] + SECOND


def first_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x + 1


def second_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x + 2


first = Case("twin_first", specs=build_specs, golden=golden_first, programs={"torch": first_torch})
second = Case("twin_second", specs=build_specs, golden=golden_second, programs={"torch": second_torch}, seed=1)
