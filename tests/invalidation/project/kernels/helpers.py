"""y = 2 * x + 0.5; the golden function's helpers are in this file and two modules away."""

import torch
from near_parts import shifted

from golden_tasks import Case, TensorSpec

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def doubled(x: torch.Tensor) -> torch.Tensor:
    """Twice as much."""
    return x * 2.0


def nobody_calls_this(x: torch.Tensor) -> torch.Tensor:
    return x * 3.0


def golden_helpers(values: dict) -> None:
    twice = doubled(values["x"])
    values["y"][:] = shifted(twice)


def helpers_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * 2.0 + 0.5


case = Case("helpers", specs=build_specs, golden=golden_helpers, programs={"torch": helpers_torch})
