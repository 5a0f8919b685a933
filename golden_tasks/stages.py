"""The steps of a run, shared by scripts and the graph: inputs, golden, execution, judgement."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from golden_tasks.backends import Backend
from golden_tasks.records import Argument, Build
from golden_tasks.results import Failure, Status
from golden_tasks.specs import InitialValueError, ScalarSpec, Spec, TensorSpec, dtype_name

GoldenFunction = Callable[[dict[str, Any]], object]
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


def compute_golden(golden_fn: GoldenFunction, specs: Sequence[Spec], inputs: Mapping[str, torch.Tensor]) -> Tensors:
    """The expected outputs. The golden function gets clones, zeros for pure outputs, and Python scalars.

    Raises `Failure` (GOLDEN_ERROR) for an output of another shape or dtype than its spec; what the function raises
    passes through.
    """
    values: dict[str, Any] = {}
    for spec in specs:
        if isinstance(spec, ScalarSpec):
            values[spec.name] = inputs[spec.name].item()
        elif spec.name in inputs:
            values[spec.name] = inputs[spec.name].clone()
        else:
            values[spec.name] = torch.zeros(tuple(spec.shape), dtype=spec.dtype)
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
    return expected


def execute(
    backend: Backend,
    work_dir: Path,
    build: Build,
    inputs: Mapping[str, torch.Tensor],
    device: int,
) -> tuple[Tensors, float]:
    """The outputs of one run of a build, and the kernel's seconds. The inputs stay as they are, inouts too."""
    values = [_value(a, inputs) for a in build.arguments]
    seconds = backend.execute(work_dir, build, values, device)
    outputs = {a.name: v for a, v in zip(build.arguments, values, strict=True) if a.is_output}
    return outputs, seconds


def _value(argument: Argument, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """What the kernel gets: an input itself, an inout as a clone that it may change, an output as zeros."""
    if not argument.is_input:
        return torch.zeros(argument.shape, dtype=getattr(torch, argument.dtype))
    value = inputs[argument.name]
    return value.clone() if argument.is_output else value
