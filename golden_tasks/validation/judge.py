"""Every output of a run judged under the policy."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from golden_tasks.records import OutputVerdict
from golden_tasks.results import Failure, Status
from golden_tasks.specs import dtype_name
from golden_tasks.validation.comparator import Comparator, call, check, is_report, label
from golden_tasks.validation.compare import compare
from golden_tasks.validation.meaning import counts_of, weakness, weakness_under
from golden_tasks.validation.report import describe


class GoldenMismatch(AssertionError):
    """Outputs that do not match the golden ones."""


def judge(
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    rtol: float,
    atol: float,
    compare_fn: Mapping[str, Comparator] | None = None,
    inputs: Mapping[str, torch.Tensor] | None = None,
    *,
    equal_nan: bool = False,
    tiles: Mapping[str, object] | None = None,
    brief: bool = False,
    doubting: bool = False,
) -> list[OutputVerdict]:
    """One verdict an output, in the order of `expected`. Shapes and dtypes must be equal before values count.

    `brief` says of a failure only how many elements differ. `doubting` asks comparators of an output of zeros too.

    Raises `Failure` for tolerances that are negative or NaN, comparators for outputs that do not exist, and outputs of
    other names than the expected ones. What a comparator raises passes through.
    """
    comparators = compare_fn or {}
    if outputs.keys() != expected.keys():
        raise Failure(Status.CASE_ERROR, f"the outputs are {list(outputs)}, but the golden ones are {list(expected)}")
    check_policy(rtol, atol, comparators, list(expected))
    given = inputs or {}
    verdicts: dict[str, OutputVerdict] = {}
    for name in sorted(expected, key=lambda name: name in comparators):  # no comparator can reach the others' outputs
        actual, wanted = outputs[name], expected[name]
        if actual.shape != wanted.shape:
            message = f"is of shape {list(actual.shape)}, expected {list(wanted.shape)}"
            verdicts[name] = OutputVerdict(name=name, status=Status.WRONG_SHAPE.value, message=message)
        elif actual.dtype != wanted.dtype:
            message = f"is of dtype {dtype_name(actual.dtype)}, expected {dtype_name(wanted.dtype)}"
            verdicts[name] = OutputVerdict(name=name, status=Status.WRONG_DTYPE.value, message=message)
        elif name in comparators:
            verdicts[name] = _by_comparator(
                name, comparators[name], outputs, expected, given, rtol=rtol, atol=atol, doubting=doubting
            )
        else:
            verdicts[name] = _by_default(name, actual, wanted, rtol, atol, equal_nan, tiles, brief)
    return [verdicts[name] for name in expected]


def validate_golden(
    outputs: Mapping[str, torch.Tensor],
    golden: Mapping[str, torch.Tensor],
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Comparator] | None = None,
    inputs: Mapping[str, torch.Tensor] | None = None,
    *,
    equal_nan: bool = False,
    tiles: Mapping[str, object] | None = None,
) -> None:
    """Holds outputs against the golden ones and prints a `[RUN]` line for each.

    Raises `GoldenMismatch`, an `AssertionError`, naming the outputs that do not match, and `Failure` as `judge` does.
    """
    verdicts = judge(outputs, golden, rtol, atol, compare_fn, inputs, equal_nan=equal_nan, tiles=tiles)
    for verdict in verdicts:
        tensor = outputs[verdict.name]
        comparator = f" ({verdict.comparator})" if verdict.comparator else ""
        passed = verdict.status == Status.PASSED.value
        shape = tuple(tensor.shape)
        word = "PASS" if passed else "FAIL"
        print(f"[RUN]   {verdict.name!r} {word}  shape={shape} dtype={tensor.dtype}{comparator}")
        silent = passed and not is_report((compare_fn or {}).get(verdict.name))
        for line in () if silent else verdict.message.splitlines():
            print(f"[RUN]     {line}")
    failed = [v.name for v in verdicts if v.status != Status.PASSED.value]
    if failed:
        details = "; ".join(
            f"{v.name!r} {v.message.splitlines()[0] if v.message else v.status}" for v in verdicts if v.name in failed
        )
        raise GoldenMismatch(f"Output(s) does not match golden: {failed}: {details}")


def check_policy(rtol: float, atol: float, comparators: Mapping[str, Comparator], outputs: list[str]) -> None:
    """Raises `Failure` unless the tolerances can be met and every comparator has an output."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not 0 <= value < math.inf:
            raise Failure(Status.CASE_ERROR, f"{name}={value} is no tolerance: give a finite number of at least 0")
    unknown = [name for name in comparators if name not in outputs]
    if unknown:
        raise Failure(Status.CASE_ERROR, f"compare_fn names {unknown}, but the outputs are {outputs}")
    for name, comparator in comparators.items():
        check(name, comparator)


def _by_default(
    name: str,
    actual: torch.Tensor,
    expected: torch.Tensor,
    rtol: float,
    atol: float,
    equal_nan: bool,
    tiles: Mapping[str, object] | None,
    brief: bool,
) -> OutputVerdict:
    found = compare(actual, expected, rtol, atol, equal_nan)
    verdict = OutputVerdict(
        name=name,
        status=Status.PASSED.value,
        message="",
        elements=found.elements,
        mismatches=found.mismatches,
        worst=found.worst if math.isfinite(found.worst) else None,
        nonzero=found.nonzero_expected,
        finite=found.finite_expected,
    )
    if found.mismatches:
        verdict.status = Status.WRONG_VALUE.value
        verdict.message = f"{found.mismatches} of {found.elements} elements differ"
        if not brief:
            verdict.message = describe(name, actual, expected, rtol, atol, equal_nan=equal_nan, tiles=tiles)
        return verdict
    verdict.weak = weakness(found, actual.is_floating_point() or actual.is_complex())
    return verdict


def _by_comparator(
    name: str,
    comparator: Comparator,
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    inputs: Mapping[str, torch.Tensor],
    *,
    rtol: float,
    atol: float,
    doubting: bool,
) -> OutputVerdict:
    def ask(actual: torch.Tensor) -> tuple[bool, str]:
        return call(
            name,
            comparator,
            actual,
            expected[name],
            actual_outputs={**outputs, name: actual},
            expected_outputs=expected,
            inputs=inputs,
            rtol=rtol,
            atol=atol,
        )

    def passes_zeros() -> bool:
        try:
            return ask(torch.zeros_like(outputs[name]))[0]
        except Exception:  # zeros that it cannot take do not pass
            return False

    passed, message = ask(outputs[name])
    counts, elements = counts_of(outputs[name], expected[name]), expected[name].numel()
    return OutputVerdict(
        name=name,
        status=(Status.PASSED if passed else Status.WRONG_VALUE).value,
        message=message or ("" if passed else f"fails under {label(comparator)}"),
        elements=elements,
        nonzero=counts.nonzero_expected,
        finite=counts.finite_expected,
        comparator=label(comparator),
        weak=weakness_under(comparator, counts, elements, passes_zeros if doubting else None) if passed else "",
    )
