"""Several comparators for one output, all of which it must pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from golden_tasks.results import Failure
from golden_tasks.validation.comparator import (
    Comparator,
    call,
    check,
    is_ignoring_expected,
    is_report,
    label,
    output_of,
)
from golden_tasks.validation.compare import compare
from golden_tasks.validation.report import describe

DEFAULT = "default"


def all_of(*comparators: Callable[..., Any] | str | None) -> Comparator:
    """The output passes every one of the comparators. All of them are run; the message holds what those that fail say.

    None or "default" stands for the default comparison under the case's tolerances. It ignores the expected values, or
    is a report only, if all of them do. Raises `ValueError` without any comparator, which would pass everything, and
    `TypeError` for what is none.
    """
    if not comparators:
        raise ValueError("all_of() has no comparator and would pass everything: give at least one")
    parts = tuple(_part(position, given) for position, given in enumerate(comparators, 1))

    def compare_all(
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        actual_outputs: dict[str, torch.Tensor],
        **given: Any,
    ) -> tuple[bool, str]:
        name = _name(actual, actual_outputs)
        asked = [by_default if part is None else part for part in parts]
        answers = [call(name, part, actual, expected, actual_outputs=actual_outputs, **given) for part in asked]
        passed = all(answer for answer, _ in answers)
        told = [
            _told(part, message) for part, (answer, message) in zip(parts, answers, strict=True) if answer == passed
        ]
        return passed, "\n".join(filter(None, told))

    compare_all.__name__ = f"all_of({', '.join(map(label, parts))})"
    compare_all.ignores_expected = all(map(is_ignoring_expected, parts))  # type: ignore[attr-defined]
    compare_all.is_report = all(map(is_report, parts))  # type: ignore[attr-defined]
    return compare_all


def by_default(
    actual: torch.Tensor,
    expected: torch.Tensor,
    *,
    actual_outputs: dict[str, torch.Tensor],
    rtol: float,
    atol: float,
    **_: Any,
) -> tuple[bool, str]:
    """The default comparison as a comparator; NaN equals nothing, whatever the case says."""
    found = compare(actual, expected, rtol, atol)
    if found.mismatches:
        return False, describe(_name(actual, actual_outputs), actual, expected, rtol, atol)
    return True, f"all {found.elements} elements are within rtol={rtol:g}, atol={atol:g}"


def _name(actual: torch.Tensor, actual_outputs: Mapping[str, torch.Tensor]) -> str:
    return output_of(actual, actual_outputs) or "output"


def _part(position: int, given: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    if given is None or given == DEFAULT:
        return None
    if not callable(given):
        raise TypeError(f"all_of: argument {position} is {given!r}: give a comparator, or {DEFAULT!r}")
    try:
        check(f"all_of, argument {position}", given)
    except Failure as failure:
        raise TypeError(failure.message) from None
    return given


def _told(part: Callable[..., Any] | None, message: str) -> str:
    return f"{label(part)}: {message}" if message else ""
