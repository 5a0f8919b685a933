"""y = a + b + c + d: inputs made by a lambda, by a function with a helper, from a tensor and from an array."""

import numpy as np
import torch

from golden_tasks import Case, TensorSpec

SIZE = 6
LOW = 1
TABLE = torch.tensor([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
GRID = np.linspace(0.0, 1.0, SIZE)


def counted(start: int) -> torch.Tensor:
    return torch.arange(start, start + SIZE)


def init_b() -> torch.Tensor:
    return counted(LOW) / 2


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("a", (SIZE,), torch.float32, lambda: torch.full((SIZE,), 0.25)),
        TensorSpec("b", (SIZE,), torch.float32, init_b),
        TensorSpec("c", (SIZE,), torch.float32, TABLE),
        TensorSpec("d", (SIZE,), torch.float32, lambda: GRID),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_initial(values: dict) -> None:
    values["y"][:] = values["a"] + values["b"] + values["c"] + values["d"]


def initial_torch(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = a + b + c + d


case = Case("initial", specs=build_specs, golden=golden_initial, programs={"torch": initial_torch})
