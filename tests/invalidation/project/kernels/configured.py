"""y = x * rate + level: the rate is set in a module two imports away, the level by an environment variable."""

import os

import torch
from project_settings import RATE

from golden_tasks import Case, TensorSpec

SIZE = 8
PRECISE = os.environ.get("CONFIGURED_PRECISE") == "1"


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_configured(values: dict) -> None:
    level = float(os.environ.get("CONFIGURED_LEVEL", "1.0"))
    x = values["x"].double() if PRECISE else values["x"]
    values["y"][:] = x * RATE + level


def configured_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * 3 + 1


case = Case("configured", specs=build_specs, golden=golden_configured, programs={"torch": configured_torch})
