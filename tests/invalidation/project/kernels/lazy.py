"""y = x + STEP: the program is in a module of its own, which is named by a text; another module may be there or not."""

import torch

from golden_tasks import Case, TensorSpec

try:
    from local_steps import STEP
except ImportError:
    STEP = 1.0

SIZE = 8


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_lazy(values: dict) -> None:
    values["y"][:] = values["x"] + STEP


case = Case("lazy", specs=build_specs, golden=golden_lazy, programs={"torch": "lazy_program:lazy_torch"})
