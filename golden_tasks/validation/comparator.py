"""What a comparator is, what it is called, what it must return, and what it declares about itself."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from golden_tasks import digest
from golden_tasks.results import Failure, Status
from golden_tasks.specs import dtype_name

_LONGEST = 80  # letters of a wrong answer that a message quotes


class Comparator(Protocol):
    """Judges one output: whether it passes, and in words what was found.

    `actual` and `expected` are of one shape and dtype. The dicts hold all outputs of the run, all expected ones, and
    the inputs as they were before the run; `rtol` and `atol` are the case's. `__name__` is the label.
    """

    def __call__(
        self,
        actual: torch.Tensor,
        expected: torch.Tensor,
        /,
        *,
        actual_outputs: dict[str, torch.Tensor],
        expected_outputs: dict[str, torch.Tensor],
        inputs: dict[str, torch.Tensor],
        rtol: float,
        atol: float,
    ) -> tuple[bool, str]: ...


C = TypeVar("C", bound=Callable[..., Any])


def label(comparator: Callable[..., Any] | None) -> str:
    """What a comparator is called: its `__name__`, a partial one with its arguments; None is `default`."""
    if comparator is None:
        return "default"
    if isinstance(comparator, functools.partial):
        given = [*map(repr, comparator.args), *(f"{key}={value!r}" for key, value in comparator.keywords.items())]
        return f"{label(comparator.func)}({', '.join(given)})"
    name = getattr(comparator, "__name__", None)
    return name if isinstance(name, str) and name else type(comparator).__name__


def call(
    name: str,
    comparator: Callable[..., Any],
    actual: torch.Tensor,
    expected: torch.Tensor,
    *,
    actual_outputs: Mapping[str, torch.Tensor],
    expected_outputs: Mapping[str, torch.Tensor],
    inputs: Mapping[str, torch.Tensor],
    rtol: float,
    atol: float,
) -> tuple[bool, str]:
    """The answer of the comparator of the output `name`.

    It gets dicts of its own, so whatever it does to them, the next comparator sees all outputs. A verdict of NumPy or
    a 0-dim bool tensor counts as a bool.
    Raises `Failure` if it returns anything else than (bool, str), and if it changes one of the tensors in place. What
    it raises passes through.
    """
    given = [("actual", actual_outputs), ("expected", expected_outputs), ("input", inputs)]
    state = _version if _is_ours(comparator) else _content
    before = [(side, key, tensor, state(tensor)) for side, named in given for key, tensor in named.items()]
    before += [("actual", name, actual, _version(actual)), ("expected", name, expected, _version(expected))]
    answer = comparator(
        actual,
        expected,
        actual_outputs=dict(actual_outputs),
        expected_outputs=dict(expected_outputs),
        inputs=dict(inputs),
        rtol=rtol,
        atol=atol,
    )
    for side, key, tensor, was in before:
        if (_version(tensor) if isinstance(was, int) else state(tensor)) != was:
            raise Failure(
                Status.CASE_ERROR,
                f"the comparator of {name!r}, {label(comparator)}, changed the {side} {key!r} in place: "
                "let it work on a clone",
            )
    if not isinstance(answer, tuple):
        raise _wrong(name, comparator, _kind(answer))
    if len(answer) != 2:
        raise _wrong(name, comparator, f"a tuple of {len(answer)}")
    passed, message = _verdict(answer[0]), answer[1]
    if passed is None:
        raise _wrong(name, comparator, f"{_kind(answer[0])} as the verdict")
    if not isinstance(message, str):
        raise _wrong(name, comparator, f"{_kind(message)} as the message")
    return passed, message


def check(name: str, comparator: Callable[..., Any]) -> None:
    """Raises `Failure` for what cannot be called as the comparator of an output, such as `exact` for `exact()`."""
    try:
        signature = inspect.signature(comparator)
    except (TypeError, ValueError):
        return
    named = ("actual_outputs", "expected_outputs", "inputs", "rtol", "atol")
    try:
        signature.bind(None, None, **dict.fromkeys(named))
    except TypeError as error:
        factory = (
            f"write {label(comparator)}(...)"
            if _is_ours(comparator)
            else f"it takes (actual, expected, *, {', '.join(named)})"
        )
        raise Failure(
            Status.CASE_ERROR, f"compare_fn[{name!r}], {label(comparator)}, is no comparator ({error}): {factory}"
        ) from None


def ignores_expected(comparator: C) -> C:
    """Declares that a comparator judges an output without looking at the expected values (a decorator).

    Its output is then not held to have been compared with them. Raises `TypeError` for what can't be marked.
    """
    try:
        comparator.ignores_expected = True  # type: ignore[attr-defined]
    except (AttributeError, TypeError) as error:
        raise TypeError(f"{label(comparator)} cannot be marked by ignores_expected: wrap it in a function") from error
    return comparator


def is_ignoring_expected(comparator: object) -> bool:
    """Whether a comparator, or the function of a partial one, declares that it ignores the expected values."""
    return _declares(comparator, "ignores_expected")


def is_report(comparator: object) -> bool:
    """Whether a comparator, or the function of a partial one, declares that it only reports: it passes everything."""
    return _declares(comparator, "is_report")


def output_of(actual: torch.Tensor, actual_outputs: Mapping[str, torch.Tensor]) -> str | None:
    """The name of the output that a comparator was called for; None if it is called with a part of one."""
    names = [name for name, tensor in actual_outputs.items() if tensor is actual]
    return names[0] if len(names) == 1 else None


def unlike(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Why two tensors are not to be compared: another shape or dtype; empty if they are alike."""
    if (actual.shape, actual.dtype) == (expected.shape, expected.dtype):
        return ""
    got, wanted = (f"{dtype_name(one.dtype)} {list(one.shape)}" for one in (actual, expected))
    return f"is {got}, expected {wanted}"


def number(what: str, value: object, least: float, most: float = math.inf) -> float:
    """A comparator's argument as a finite number within bounds, both of them allowed.

    Raises `TypeError` for what is no number, `ValueError` for one out of bounds; both name the argument.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what}={value!r}: give a number")
    given = float(value)
    if not (least <= given <= most and math.isfinite(given)):
        raise ValueError(f"{what}={value!r}: give {_between('a finite number', least, most)}")
    return given


def whole_number(what: str, value: object, least: int, most: int | None = None) -> int:
    """A comparator's argument as an int within bounds, both of them allowed. Raises as `number` does."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what}={value!r}: give a whole number")
    given = int(value)
    if given < least or (most is not None and given > most):
        raise ValueError(f"{what}={value!r}: give {_between('a whole number', least, most)}")
    return given


def name_of(what: str, value: object) -> str:
    """A comparator's argument that names a tensor. Raises `TypeError` or `ValueError` if it can't."""
    if not isinstance(value, str):
        raise TypeError(f"{what}={value!r}: give the name of a tensor")
    if not value:
        raise ValueError(f"{what}={value!r}: give the name of a tensor")
    return value


def _between(kind: str, least: float, most: float | None) -> str:
    if most is None or most == math.inf:
        return kind if least == -math.inf else f"{kind} of at least {least:g}"
    return f"{kind} from {least:g} to {most:g}"


def _declares(comparator: object, attribute: str) -> bool:
    while isinstance(comparator, functools.partial) and getattr(comparator, attribute, None) is None:
        comparator = comparator.func
    return getattr(comparator, attribute, False) is True


def _version(given: object) -> int:
    """How often a tensor was changed in place, by torch's own count; inference tensors have none."""
    return given._version if isinstance(given, torch.Tensor) and not given.is_inference() else 0


def _is_ours(comparator: object) -> bool:
    while isinstance(comparator, functools.partial):
        comparator = comparator.func
    return str(getattr(comparator, "__module__", "")).startswith("golden_tasks.")


def _content(tensor: torch.Tensor) -> str:
    """The digest of a tensor's values: what NumPy or `.data` changes, torch does not count."""
    values = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return digest.of_bytes(memoryview(values.view(torch.uint8).numpy()))  # type: ignore[arg-type]


def _verdict(value: object) -> bool | None:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.dim() == 0:
        return bool(value)
    return None


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)} and dtype {dtype_name(value.dtype)}"
    if value is None or isinstance(value, bool):
        return repr(value)
    written = repr(value)
    return f"{written if len(written) <= _LONGEST else written[:_LONGEST] + '...'} ({type(value).__name__})"


def _wrong(name: str, comparator: Callable[..., Any], returned: str) -> Failure:
    return Failure(
        Status.CASE_ERROR,
        f"the comparator of {name!r}, {label(comparator)}, returned {returned}: "
        "it must return (bool, str), whether the output passes and what was found",
    )
