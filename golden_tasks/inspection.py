"""What a case depends on, as plain data: its contract and its policy, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from golden_tasks.backends import Backend
from golden_tasks.fingerprint import Fingerprint, fingerprint
from golden_tasks.records import Contract, Policy, Program
from golden_tasks.specs import ScalarSpec, Spec, arguments_of


def contract_of(
    name: str, specs: Sequence[Spec], golden_fn: Callable[..., object] | None, seed: int, root: Path
) -> Contract:
    """What is computed: arguments, how inputs are made, the seed, the golden function and all that it reaches.

    Raises `ValueError` for argument names that cannot be.
    """
    arguments = arguments_of(specs)
    parts = {"seed": str(seed), **_torch_defaults()}
    conservative: list[str] = []

    def add(prefix: str, found: Fingerprint) -> None:
        parts.update({f"{prefix} {part}": value for part, value in found.parts.items()})
        conservative.extend(f"{prefix} {what}" for what in found.conservative)

    for position, (spec, argument) in enumerate(zip(specs, arguments, strict=True), 1):
        parts[f"argument {position}"] = f"{argument.name}: {argument}"
        if isinstance(spec, ScalarSpec):
            parts[f"scalar {spec.name}"] = repr(spec.to_python())
        elif argument.is_input:
            add(f"input {spec.name}", _initial(spec.init_value, root))
    if golden_fn is not None:
        add("golden", fingerprint(golden_fn, getattr(golden_fn, "__qualname__", "function"), root))
    return Contract(case=name, seed=seed, arguments=arguments, parts=parts, conservative=sorted(conservative))


def _torch_defaults() -> dict[str, str]:
    """Torch's process-wide settings that change results, where a module has set them to something else."""
    settings = {
        "default dtype": (torch.get_default_dtype(), torch.float32),
        "default device": (torch.get_default_device().type, "cpu"),
        "float32 matmul precision": (torch.get_float32_matmul_precision(), "highest"),
        "deterministic algorithms": (torch.are_deterministic_algorithms_enabled(), False),
    }
    return {f"torch {name}": str(now) for name, (now, usual) in settings.items() if now != usual}


def policy_of(rtol: float, atol: float, comparators: Mapping[str, Callable[..., Any]], root: Path) -> Policy:
    """How outputs are judged: tolerances, and every comparator with its arguments."""
    parts = {"rtol": repr(float(rtol)), "atol": repr(float(atol))}
    conservative: list[str] = []
    for output, comparator in comparators.items():
        found = fingerprint(comparator, getattr(comparator, "__name__", "comparator"), root)
        parts.update({f"comparator of {output}: {part}": value for part, value in found.parts.items()})
        conservative += [f"comparator of {output}: {what}" for what in found.conservative]
    return Policy(rtol=rtol, atol=atol, comparators=sorted(comparators), parts=parts, conservative=conservative)


def program_of(
    backend: Backend,
    program: object,
    platform: str,
    tiles: Mapping[str, object],
    options: Mapping[str, Any],
    root: Path,
) -> Program:
    """How it is computed: the backend's description, and what the program's Python code reaches.

    Raises `Failure` for options and tile values that cannot be.
    """
    described = backend.describe(program, platform, tiles, options)
    for name, reached in backend.reaches(program).items():
        found = fingerprint(reached, name, root)
        described.parts.update({f"program {part}": value for part, value in found.parts.items()})
        described.conservative += [f"program {what}" for what in found.conservative]
    return described


def _initial(value: object, root: Path) -> Fingerprint:
    for shaped in (torch.randn, torch.rand, torch.zeros, torch.ones):
        if value is shaped:
            return Fingerprint({"initial value": f"torch.{shaped.__name__}"})
    return fingerprint(value, "initial value", root)
