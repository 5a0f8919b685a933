"""y = 2 * x + 1: the golden function's numbers are in a default, a closure, an attribute, a decorator and a partial."""

import functools
from collections.abc import Callable

import torch

from golden_tasks import Case, TensorSpec

SIZE = 8


def adding(amount: float) -> Callable:
    def add(x: torch.Tensor) -> torch.Tensor:
        return x + amount

    return add


def doubled(function: Callable) -> Callable:
    @functools.wraps(function)
    def wrapper(values: dict) -> None:
        function(values)
        values["y"].mul_(2.0)

    return wrapper


def raised(x: torch.Tensor, by: float = 0.125, *, more: float = 0.125) -> torch.Tensor:
    return x + by + more


def lowered(x: torch.Tensor, by: float) -> torch.Tensor:
    return x - by


add_some = adding(0.5)
lower_some = functools.partial(lowered, by=0.25)


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


@doubled
def golden_callables(values: dict) -> None:
    values["y"][:] = lower_some(add_some(raised(values["x"]))) + golden_callables.extra


golden_callables.extra = 0.0


def callables_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = 2 * x + 1


case = Case("callables", specs=build_specs, golden=golden_callables, programs={"torch": callables_torch})
