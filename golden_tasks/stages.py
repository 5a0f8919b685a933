"""The steps before a run, shared by scripts and the graph: inputs and golden."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from golden_tasks.results import Failure, Status
from golden_tasks.specs import InitialValueError, ScalarSpec, Spec, TensorSpec, dtype_name

GoldenFunction = Callable[[dict[str, Any]], object]
Guard = Callable[[str, Sequence[Spec], Mapping[str, Any], Mapping[str, Any]], None]
Tensors = dict[str, torch.Tensor]


def seed_everything(seed: int) -> None:
    """Seeds torch, Python's `random`, and NumPy where it is in use."""
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def make_inputs(specs: Sequence[Spec]) -> Tensors:
    """Inputs, inouts and scalars by name, made in spec order, which is the order of the random draws.

    Raises `InitialValueError` for an initial value of another shape than its spec or that cannot become its dtype; what
    an initialiser raises passes through.
    """
    inputs: Tensors = {}
    for spec in specs:
        if isinstance(spec, ScalarSpec):
            inputs[spec.name] = spec.value
        elif not spec.is_output or spec.is_inout:
            tensor = spec.create_tensor()
            if list(tensor.shape) != list(spec.shape):
                raise InitialValueError(
                    f"the initial value of {spec.name!r} is of shape {list(tensor.shape)}, its spec says {spec.shape}"
                )
            inputs[spec.name] = tensor
    return inputs


def compute_golden(
    golden_fn: GoldenFunction, specs: Sequence[Spec], inputs: Mapping[str, torch.Tensor], guard: Guard | None = None
) -> Tensors:
    """The expected outputs. The golden function gets clones, zeros for pure outputs, and Python scalars.

    Raises `Failure` (GOLDEN_ERROR) for an output of another shape or dtype than its spec, and with a `guard` for what
    that finds; what the function raises passes through.
    """
    values: dict[str, Any] = {}
    for spec in specs:
        if isinstance(spec, ScalarSpec):
            values[spec.name] = inputs[spec.name].item()
        elif spec.name in inputs:
            values[spec.name] = inputs[spec.name].clone()
        else:
            values[spec.name] = torch.zeros(tuple(spec.shape), dtype=spec.dtype)
    given = dict(values)
    golden_fn(values)
    name_of_fn = getattr(golden_fn, "__name__", "the golden function")
    expected: Tensors = {}
    for spec in specs:
        if not (isinstance(spec, TensorSpec) and spec.is_output):
            continue
        value = values.get(spec.name)
        if not isinstance(value, torch.Tensor):
            raise Failure(
                Status.GOLDEN_ERROR,
                f"{name_of_fn} left output {spec.name!r} as {type(value).__name__}, not a tensor",
            )
        if list(value.shape) != list(spec.shape) or value.dtype != spec.dtype:
            raise Failure(
                Status.GOLDEN_ERROR,
                f"{name_of_fn} made output {spec.name!r} {dtype_name(value.dtype)} {list(value.shape)}, "
                f"its spec says {dtype_name(spec.dtype)} {list(spec.shape)}: fill it in place",
            )
        expected[spec.name] = value
    if guard is not None:
        guard(name_of_fn, specs, given, values)
    return expected
