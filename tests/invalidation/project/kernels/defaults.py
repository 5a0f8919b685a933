"""y = x / 3: golden function and program compute in torch's default dtype."""

import torch

from golden_tasks import Case, TensorSpec

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_defaults(values: dict) -> None:
    values["y"][:] = values["x"] * torch.full((SIZE,), 1 / 3)


def defaults_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = torch.full((x.shape[0],), 1 / 3) * x


case = Case("defaults", specs=build_specs, golden=golden_defaults, programs={"torch": defaults_torch})
