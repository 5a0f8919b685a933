"""Every output of a run judged under the policy, and the words for what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from golden_tasks.records import OutputVerdict
from golden_tasks.results import Failure, Status
from golden_tasks.specs import dtype_name
from golden_tasks.validation.compare import Comparator, Comparison, Mismatch, compare


class GoldenMismatch(AssertionError):
    """Outputs that do not match the golden ones."""


def judge(
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    rtol: float,
    atol: float,
    compare_fn: Mapping[str, Comparator] | None = None,
    inputs: Mapping[str, torch.Tensor] | None = None,
) -> list[OutputVerdict]:
    """One verdict an output, in the order of `expected`. Shapes and dtypes must be equal before values count.

    Raises `Failure` for tolerances that are negative or NaN, comparators for outputs that do not exist, and outputs of
    other names than the expected ones. What a comparator raises passes through.
    """
    comparators = compare_fn or {}
    if outputs.keys() != expected.keys():
        raise Failure(Status.CASE_ERROR, f"the outputs are {list(outputs)}, but the golden ones are {list(expected)}")
    check_policy(rtol, atol, comparators, list(expected))
    verdicts = []
    for name, wanted in expected.items():
        actual = outputs[name]
        if actual.shape != wanted.shape:
            message = f"is of shape {list(actual.shape)}, expected {list(wanted.shape)}"
            verdicts.append(OutputVerdict(name=name, status=Status.WRONG_SHAPE.value, message=message))
        elif actual.dtype != wanted.dtype:
            message = f"is of dtype {dtype_name(actual.dtype)}, expected {dtype_name(wanted.dtype)}"
            verdicts.append(OutputVerdict(name=name, status=Status.WRONG_DTYPE.value, message=message))
        elif name in comparators:
            verdicts.append(
                _by_comparator(name, comparators[name], outputs, expected, inputs or {}, rtol=rtol, atol=atol)
            )
        else:
            found = compare(actual, wanted, rtol, atol)
            verdicts.append(
                OutputVerdict(
                    name=name,
                    status=(Status.WRONG_VALUE if found.mismatches else Status.PASSED).value,
                    message=wording(found, rtol, atol) if found.mismatches else "",
                    elements=found.elements,
                    mismatches=found.mismatches,
                    worst=found.worst if math.isfinite(found.worst) else None,
                )
            )
    return verdicts


def validate_golden(
    outputs: Mapping[str, torch.Tensor],
    golden: Mapping[str, torch.Tensor],
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Comparator] | None = None,
    inputs: Mapping[str, torch.Tensor] | None = None,
) -> None:
    """Holds outputs against the golden ones and prints a `[RUN]` line for each.

    Raises `GoldenMismatch`, an `AssertionError`, naming the outputs that do not match, and `Failure` as `judge` does.
    """
    verdicts = judge(outputs, golden, rtol, atol, compare_fn, inputs)
    for verdict in verdicts:
        tensor = outputs[verdict.name]
        label = comparator_label((compare_fn or {}).get(verdict.name))
        passed = verdict.status == Status.PASSED.value
        shape = tuple(tensor.shape)
        word = "PASS" if passed else "FAIL"
        print(f"[RUN]   {verdict.name!r} {word}  shape={shape} dtype={tensor.dtype}{label}")
        for line in () if passed else verdict.message.splitlines():
            print(f"[RUN]     {line}")
    failed = [v.name for v in verdicts if v.status != Status.PASSED.value]
    if failed:
        details = "; ".join(
            f"{v.name!r} {v.message.splitlines()[0] if v.message else v.status}" for v in verdicts if v.name in failed
        )
        raise GoldenMismatch(f"Output(s) does not match golden: {failed}: {details}")


def check_policy(rtol: float, atol: float, comparators: Mapping[str, object], outputs: list[str]) -> None:
    """Raises `Failure` unless the tolerances can be met and every comparator has an output."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not 0 <= value < math.inf:
            raise Failure(Status.CASE_ERROR, f"{name}={value} is no tolerance: give a finite number of at least 0")
    unknown = [name for name in comparators if name not in outputs]
    if unknown:
        raise Failure(Status.CASE_ERROR, f"compare_fn names {unknown}, but the outputs are {outputs}")


def comparator_label(comparator: Comparator | None) -> str:
    """` (name)` for a comparator, nothing for the default comparison."""
    if comparator is None:
        return ""
    return f" ({getattr(comparator, '__name__', type(comparator).__name__)})"


def wording(found: Comparison, rtol: float, atol: float) -> str:
    """What a failed comparison says to the user: how many, the first ones, the worst one.

    Integers and bools have no tolerance, and any two bools that differ are as far apart.
    """
    worst = found.worst_mismatch
    exact = worst is not None and isinstance(worst.expected, int)
    tolerances = "" if exact else f" (rtol={rtol:g}, atol={atol:g})"
    nans = f"; {found.actual_nans} got nan" if found.actual_nans else ""
    nans += f"; {found.expected_nans} expected nan, which nothing equals" if found.expected_nans else ""
    lines = [f"{found.mismatches} of {found.elements} elements differ{tolerances}{nans}"]
    lines += [_line(m) for m in found.first]
    hidden = found.mismatches - len(found.first)
    if hidden > 0:
        lines.append(f"... and {hidden} more")
    if worst is not None and found.mismatches > 1 and not isinstance(worst.expected, bool):
        lines.append(f"worst: {_line(worst)}")
    return "\n".join(lines)


def _line(mismatch: Mismatch) -> str:
    index = ", ".join(map(str, mismatch.index))
    values = f"[{index}] expected {_number(mismatch.expected)}, got {_number(mismatch.actual)}"
    if isinstance(mismatch.expected, int) or math.isnan(mismatch.difference):
        return values
    allowed = f" (allowed {mismatch.allowed:.3g})" if math.isfinite(mismatch.difference) and mismatch.allowed else ""
    return f"{values}, off by {mismatch.difference:.3g}{allowed}"


def _number(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _by_comparator(
    name: str,
    comparator: Comparator,
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    inputs: Mapping[str, torch.Tensor],
    *,
    rtol: float,
    atol: float,
) -> OutputVerdict:
    answer = comparator(
        outputs[name],
        expected[name],
        actual_outputs=dict(outputs),
        expected_outputs=dict(expected),
        inputs=dict(inputs),
        rtol=rtol,
        atol=atol,
    )
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], bool)):
        label = comparator_label(comparator).strip()
        raise TypeError(f"the comparator of {name!r} {label} must return (bool, str), not {answer!r}")
    passed, message = answer
    status = Status.PASSED if passed else Status.WRONG_VALUE
    return OutputVerdict(
        name=name, status=status.value, message=str(message), elements=expected[name].numel(), mismatches=0
    )
