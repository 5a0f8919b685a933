"""y = a * factor + b with y changed in place: every field of a spec can be edited."""

import torch

from golden_tasks import Case, ScalarSpec, TensorSpec

ROWS, COLS = 2, 3


def build_specs() -> list[TensorSpec | ScalarSpec]:
    return [
        TensorSpec("a", (ROWS, COLS), torch.float32, torch.rand),
        TensorSpec("b", (ROWS, COLS), torch.float32, 2.0),
        ScalarSpec("factor", torch.int32, 3),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_shapes(values: dict) -> None:
    first, second, factor, y = values.values()
    y[:] = first * factor + second


def shapes_torch(first: torch.Tensor, second: torch.Tensor, factor: int, y: torch.Tensor) -> None:
    y[:] = first * factor + second


case = Case("shapes", specs=build_specs, golden=golden_shapes, programs={"torch": shapes_torch}, rtol=1e-3)
