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


class _Parts:
    """Parts under their prefixes; `where` gets the file of the project that defines each."""

    def __init__(self, parts: dict[str, str], where: dict[str, str] | None) -> None:
        self.parts = parts
        self.where = {} if where is None else where
        self.conservative: list[str] = []

    def add(self, prefix: str, found: Fingerprint) -> None:
        self.parts.update({f"{prefix} {part}": value for part, value in found.parts.items()})
        self.where.update({f"{prefix} {part}": file for part, file in found.files.items()})
        self.conservative.extend(f"{prefix} {what}" for what in found.conservative)


def contract_of(
    name: str,
    specs: Sequence[Spec],
    golden_fn: Callable[..., object] | None,
    seed: int,
    root: Path,
    where: dict[str, str] | None = None,
) -> Contract:
    """What is computed: arguments, how inputs are made, the seed, the golden function and all that it reaches.

    Raises `ValueError` for argument names that cannot be.
    """
    arguments = arguments_of(specs)
    found = _Parts({"seed": str(seed), **_changed_settings()}, where)
    for position, (spec, argument) in enumerate(zip(specs, arguments, strict=True), 1):
        found.parts[f"argument {position}"] = f"{argument.name}: {argument}"
        if isinstance(spec, ScalarSpec):
            found.parts[f"scalar {spec.name}"] = repr(spec.to_python())
        elif argument.is_input:
            found.add(f"input {spec.name}", _initial(spec.init_value, root))
    if golden_fn is not None:
        found.add("golden", fingerprint(golden_fn, getattr(golden_fn, "__qualname__", "function"), root))
    conservative = sorted(found.conservative)
    return Contract(case=name, seed=seed, arguments=arguments, parts=found.parts, conservative=conservative)


def _torch_settings() -> dict[str, str]:
    """Torch's process-wide settings that change results."""
    settings = {
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device().type,
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "gradients": torch.is_grad_enabled(),
        "threads": torch.get_num_threads(),
        "oneDNN": torch.backends.mkldnn.enabled,
    }
    return {f"torch {name}": str(value) for name, value in settings.items()}


_USUAL = _torch_settings()


def _changed_settings() -> dict[str, str]:
    """The settings that the project has changed in this process."""
    return {name: value for name, value in _torch_settings().items() if value != _USUAL[name]}


def policy_of(
    rtol: float,
    atol: float,
    comparators: Mapping[str, Callable[..., Any]],
    root: Path,
    where: dict[str, str] | None = None,
    *,
    equal_nan: bool = False,
    trust: str = "",
) -> Policy:
    """How outputs are judged: tolerances, and every comparator with its arguments."""
    parts = {"rtol": repr(float(rtol)), "atol": repr(float(atol))}
    if equal_nan:
        parts["equal_nan"] = "True"
    if trust:
        parts["trust"] = trust
    found = _Parts(parts, where)
    for output, comparator in comparators.items():
        name = getattr(comparator, "__name__", "comparator")
        found.add(f"comparator of {output}:", fingerprint(comparator, name, root))
    return Policy(
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        comparators=sorted(comparators),
        trust=trust,
        parts=found.parts,
        conservative=found.conservative,
    )


def program_of(
    backend: Backend,
    program: object,
    platform: str,
    tiles: Mapping[str, object],
    options: Mapping[str, Any],
    root: Path,
    where: dict[str, str] | None = None,
) -> Program:
    """How it is computed: the backend's description, and what the program's Python code reaches.

    Raises `Failure` for options and tile values that cannot be.
    """
    described = backend.describe(program, platform, tiles, options)
    described.tiles = [(name, int(value)) for name, value in tiles.items() if isinstance(value, int)]
    found = _Parts(described.parts, where)
    for name, reached in backend.reaches(program).items():
        found.add("program", fingerprint(reached, name, root))
        described.parts.update(_changed_settings())
    described.conservative += found.conservative
    return described


def _initial(value: object, root: Path) -> Fingerprint:
    for shaped in (torch.randn, torch.rand, torch.zeros, torch.ones):
        if value is shaped:
            return Fingerprint({"initial value": f"torch.{shaped.__name__}"})
    return fingerprint(value, "initial value", root)
