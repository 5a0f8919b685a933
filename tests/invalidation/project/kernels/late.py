"""y = x + EXTRA + OTHER: modules that the golden function imports while it runs, or asks for a name as a text."""

import named_settings
import torch

from golden_tasks import Case, TensorSpec

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_late(values: dict) -> None:
    from late_parts import EXTRA

    values["y"][:] = values["x"] + EXTRA + getattr(named_settings, "other".upper())


def late_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x + 0.75


case = Case("late", specs=build_specs, golden=golden_late, programs={"torch": late_torch})
