"""y = x * table lookups: the golden function reads a dict, a nested container, a tensor and an array."""

import numpy as np
import torch

from golden_tasks import Case, TensorSpec

SIZE = 8
GAINS = {"low": 1.0, "high": 2.0}
LAYERS = [{"name": "first", "sizes": (2, 3)}, {"name": "second", "sizes": (4, 5)}]
WEIGHTS = torch.tensor([0.5, 0.25])
OFFSETS = np.arange(4.0)
CHOSEN = {"high", "low"}


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_tables(values: dict) -> None:
    total = sum(sum(layer["sizes"]) for layer in LAYERS) + float(OFFSETS.sum()) + len(CHOSEN)
    values["y"][:] = values["x"] * GAINS["high"] * WEIGHTS.sum() + total


def tables_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * 1.5 + 22


case = Case("tables", specs=build_specs, golden=golden_tables, programs={"torch": tables_torch}, atol=1e-3)
