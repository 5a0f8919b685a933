"""y = WEIGHT * x + BIAS; the golden function's helper comes from a package that imports it from inside itself."""

import toolbox
import torch

from golden_tasks import Case, TensorSpec

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_packaged(values: dict) -> None:
    values["y"][:] = toolbox.blend(values["x"])


def packaged_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * 0.75 + 0.25


case = Case("packaged", specs=build_specs, golden=golden_packaged, programs={"torch": packaged_torch})
