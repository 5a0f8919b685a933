"""y, z = x + 1, x + 2: one output has a comparator with an argument, the other is held to the tolerances."""

import functools

import torch

from golden_tasks import Case, TensorSpec

SIZE = 8
LIMIT = 0.5


def spread(difference: torch.Tensor) -> float:
    return float(difference.abs().max())


def within(actual: torch.Tensor, expected: torch.Tensor, *, share: float, **others: object) -> tuple[bool, str]:
    worst = spread(actual - expected)
    return worst <= LIMIT * share, f"worst {worst}"


def exactly(actual: torch.Tensor, expected: torch.Tensor, **others: object) -> tuple[bool, str]:
    return torch.equal(actual, expected), "not equal"


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
        TensorSpec("z", (SIZE,), torch.float32, is_output=True),
    ]


def golden_judged(values: dict) -> None:
    values["y"][:] = values["x"] + 1
    values["z"][:] = values["x"] + 2


def judged_torch(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> None:
    y[:] = x + 1
    z[:] = x + 2


case = Case(
    "judged",
    specs=build_specs,
    golden=golden_judged,
    programs={"torch": judged_torch},
    rtol=1e-4,
    atol=1e-5,
    compare_fn={"y": functools.partial(within, share=0.5)},
)
