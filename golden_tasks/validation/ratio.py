"""Comparators that let a share of an output's elements differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation.chunks import ELEMENTS, visit
from golden_tasks.validation.comparator import Comparator, number, whole_number
from golden_tasks.validation.compare import distance, magnitude, tolerated, wide
from golden_tasks.validation.region import Region, Unfit
from golden_tasks.validation.sieve import Array, Sieve, Tolerance, working_dtype
from golden_tasks.validation.words import pair

_CHUNK = 1 << 18  # elements looked at at a time: bounds the temporaries, whatever the tensors' size
_ROUNDS_TO_ZERO = 2.0**-14  # ratio_reldiff: what is below takes no part in a relative difference
_NEVER_ZERO = 1e-9  # ratio_reldiff: keeps the divisor above 0


def ratio_allclose(
    atol: float | None = None,
    rtol: float | None = None,
    max_error_ratio: float = 0.005,
    max_show: int = 10,
    valid_rows: int | str | None = None,
    valid_axis: int = 0,
    zero_tail: bool = False,
) -> Comparator:
    """At most floor(max_error_ratio * n) of the n compared elements have |a - e| > atol + rtol * |e|.

    None as a tolerance is the case's. The ratio is taken as it is written, in decimal: 0.29 of 100 are 29. Computed in
    fp64, each operation rounded once; the difference of integers is exact before. Any NaN or infinity among the
    compared elements fails, on either side.

    Compared are the first `valid_rows` rows of `valid_axis`: a number, or the name of an input or output that holds one
    integer; None for all, 0 passes. `zero_tail` wants zeros in the actual rows behind. `max_show` bounds the elements
    that a failure lists.

    Raises `TypeError` or `ValueError` for arguments that cannot be. What does not fit the tensors fails and says
    "compare_fn misconfigured".
    """
    for what, given in (("atol", atol), ("rtol", rtol)):
        if given is not None:
            number(what, given, 0)
    share = number("max_error_ratio", max_error_ratio, 0, 1)
    whole_number("max_show", max_show, 0)
    region = Region(valid_rows, valid_axis, zero_tail)
    own_atol, own_rtol = atol, rtol

    def compare_ratio(
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        expected_outputs: dict[str, torch.Tensor],
        inputs: dict[str, torch.Tensor],
        rtol: float,
        atol: float,
        **_: Any,
    ) -> tuple[bool, str]:
        rule = _AllClose(rtol if own_rtol is None else own_rtol, atol if own_atol is None else own_atol)
        limits = _Limits(f"max_error_ratio={share:g}", share, math.inf, max_show)
        return _answer(actual, expected, region, rule, limits, inputs, expected_outputs)

    spelled = [f"{what}={given}" for what, given in (("atol", atol), ("rtol", rtol)) if given is not None]
    spelled += [f"max_error_ratio={max_error_ratio}", *_shown(max_show), *region.spelled()]
    compare_ratio.__name__ = f"ratio_allclose({', '.join(spelled)})"
    return compare_ratio


def ratio_reldiff(
    diff_thd: float = 0.01,
    pct_thd: float = 0.05,
    max_diff_hd: float = math.inf,
    max_show: int = 10,
    valid_rows: int | str | None = None,
    valid_axis: int = 0,
    zero_tail: bool = False,
) -> Comparator:
    """At most floor(pct_thd * n) of the n compared elements have r > diff_thd, and the worst of them r < max_diff_hd.

    With d = |a - e|: r = d where d < diff_thd, else d / (max(|a|, |e|, 2**-14 / diff_thd) + 1e-9): so a difference
    below diff_thd is always good, and 2**-14 is the smallest that can be bad. The formula is PyPTO-Lib's. All else,
    and the other arguments, are as for `ratio_allclose`.
    """
    limit = number("diff_thd", diff_thd, 0)
    if limit < _SMALLEST_THRESHOLD:
        raise ValueError(f"diff_thd={diff_thd!r}: give a number of at least {_SMALLEST_THRESHOLD:g}")
    share = number("pct_thd", pct_thd, 0, 1)
    most = math.inf if max_diff_hd == math.inf else number("max_diff_hd", max_diff_hd, 0)
    if most == 0:
        raise ValueError(f"max_diff_hd={max_diff_hd!r}: no difference is below 0; use pct_thd=0 to allow none")
    whole_number("max_show", max_show, 0)
    region = Region(valid_rows, valid_axis, zero_tail)

    def compare_reldiff(
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        expected_outputs: dict[str, torch.Tensor],
        inputs: dict[str, torch.Tensor],
        **_: Any,
    ) -> tuple[bool, str]:
        limits = _Limits(f"pct_thd={share:g}", share, most, max_show)
        return _answer(actual, expected, region, _RelDiff(limit), limits, inputs, expected_outputs)

    spelled = [f"diff_thd={diff_thd}", f"pct_thd={pct_thd}"]
    spelled += [] if most == math.inf else [f"max_diff_hd={max_diff_hd}"]
    compare_reldiff.__name__ = f"ratio_reldiff({', '.join([*spelled, *_shown(max_show), *region.spelled()])})"
    return compare_reldiff


_SMALLEST_THRESHOLD = 2.0**-40  # the floor 2**-14 / diff_thd stays a common number


def allowed_of(ratio: float, elements: int) -> int:
    """floor(ratio * elements) of the ratio as it is written in decimal."""
    return math.floor(Fraction(repr(float(ratio))) * elements)


def _shown(max_show: int) -> list[str]:
    return [] if max_show == 10 else [f"max_show={max_show}"]


@dataclass(frozen=True)
class _Limits:
    """How much may be bad: a share of all, as its argument is spelled, and a bound of the worst."""

    spelled: str
    share: float
    worst: float
    show: int


@dataclass(frozen=True)
class _Judged:
    """Elements by a rule, in fp64."""

    bad: torch.Tensor
    difference: torch.Tensor
    held: torch.Tensor  # what a message says of the difference: what is allowed, or how large it is relatively
    measure: torch.Tensor  # one of the two: the higher, the worse


@dataclass(frozen=True)
class _AllClose:
    """|a - e| <= atol + rtol * |e|, and the difference is a number."""

    rtol: float
    atol: float
    combine: ClassVar = np.add

    def tolerance(self, working: np.dtype[Any]) -> Tolerance | None:
        return Tolerance.below(self.rtol, self.atol, working)

    def judge(self, a: torch.Tensor, e: torch.Tensor) -> _Judged:
        difference, allowed = distance(a, e), self.atol + self.rtol * magnitude(wide(e))
        return _Judged(~tolerated(difference, allowed), difference, allowed, difference)

    def spelled(self) -> str:
        return f", rtol={self.rtol:g}, atol={self.atol:g}"

    def words(self, difference: float, allowed: float) -> str:
        return f"off by {difference:.3g} (allowed {allowed:.3g})"


@dataclass(frozen=True)
class _RelDiff:
    """r <= threshold, with r as `ratio_reldiff` says."""

    threshold: float
    combine: ClassVar = np.maximum

    def tolerance(self, working: np.dtype[Any]) -> Tolerance | None:
        """What is below the threshold, or below it relative to the expected value alone, is good."""
        return Tolerance.below(self.threshold, max(self.threshold, _ROUNDS_TO_ZERO), working)

    def judge(self, a: torch.Tensor, e: torch.Tensor) -> _Judged:
        difference = distance(a, e)
        larger = torch.maximum(magnitude(wide(a)), magnitude(wide(e))).clamp_min(_ROUNDS_TO_ZERO / self.threshold)
        relative = torch.where(difference < self.threshold, difference, difference / (larger + _NEVER_ZERO))
        relative.nan_to_num_(nan=torch.inf, posinf=torch.inf)  # of a magnitude that fp64 cannot hold
        return _Judged(~(relative <= self.threshold), difference, relative, relative)

    def spelled(self) -> str:
        return f", diff_thd={self.threshold:g}"

    def words(self, difference: float, relative: float) -> str:
        return f"off by {difference:.3g} (relative {relative:.3g})"


@dataclass(frozen=True)
class _Element:
    """One element that is bad or not finite, at a flat position. What is not finite has no difference."""

    flat: int
    difference: float | None = None
    held: float = 0.0
    measure: float = 0.0


@dataclass
class _Seen:
    """What was found: exact counts, the first elements in row-major order, the worst of several the first one."""

    bad: int = 0  # and finite
    nonfinite: int = 0
    nonfinite_actual: int = 0
    nonfinite_expected: int = 0
    first: list[_Element] = field(default_factory=list)
    first_nonfinite: _Element | None = None
    worst: _Element | None = None

    @staticmethod
    def merge(parts: list[_Seen], show: int) -> _Seen:
        whole = _Seen()
        for part in parts:
            whole.bad += part.bad
            whole.nonfinite += part.nonfinite
            whole.nonfinite_actual += part.nonfinite_actual
            whole.nonfinite_expected += part.nonfinite_expected
            whole.first += part.first[: show - len(whole.first)]
            whole.first_nonfinite = whole.first_nonfinite or part.first_nonfinite
            whole.worst = _worse(whole.worst, part.worst)
        return whole


def _worse(one: _Element | None, other: _Element | None) -> _Element | None:
    if one is None or other is None:
        return one or other
    return other if other.measure > one.measure else one


class _Look:
    """Looks at one piece: the sieve first, then the rule for what it does not clear."""

    def __init__(self, rule: _AllClose | _RelDiff, dtype: torch.dtype, show: int, elements: int) -> None:
        self._rule, self._show = rule, show
        self._tolerance = rule.tolerance(working_dtype(dtype))
        self._sieve = Sieve(dtype, elements)

    def __call__(self, start: int, actual: torch.Tensor, expected: torch.Tensor) -> _Seen:
        with np.errstate(all="ignore"):
            return self._look(start, *self._sieve.load(actual, expected))

    def _look(self, start: int, x: Array, y: Array) -> _Seen:
        suspects = self._sieve.suspects(x, y, self._tolerance, self._rule.combine)
        blocks = (suspects[at : at + ELEMENTS] for at in range(0, len(suspects), ELEMENTS))
        return _Seen.merge([self._judge(x[at], y[at], start + at) for at in blocks], self._show)

    def _judge(self, a: Array, e: Array, flat: Array) -> _Seen:
        finite = np.isfinite(a), np.isfinite(e)
        both = finite[0] & finite[1]
        judged = self._rule.judge(torch.from_numpy(a), torch.from_numpy(e))
        bad = judged.bad.numpy() & both
        seen = _Seen(int(bad.sum()))
        seen.nonfinite, seen.nonfinite_actual, seen.nonfinite_expected = (int((~f).sum()) for f in (both, *finite))
        shown = np.flatnonzero(bad | ~both)[: self._show]
        seen.first = [_element(judged, flat, at) if both[at] else _Element(int(flat[at])) for at in shown]
        if seen.nonfinite:
            seen.first_nonfinite = _Element(int(flat[int(both.argmin())]))
        if seen.bad:
            seen.worst = _element(judged, flat, int(np.where(bad, judged.measure.numpy(), -1.0).argmax()))
        return seen


def _element(judged: _Judged, flat: Array, at: int) -> _Element:
    figures = (float(tensor[at]) for tensor in (judged.difference, judged.held, judged.measure))
    return _Element(int(flat[at]), *figures)


def _answer(
    actual: torch.Tensor,
    expected: torch.Tensor,
    region: Region,
    rule: _AllClose | _RelDiff,
    limits: _Limits,
    inputs: dict[str, torch.Tensor],
    expected_outputs: dict[str, torch.Tensor],
) -> tuple[bool, str]:
    if actual.shape != expected.shape:
        return False, f"is of shape {list(actual.shape)}, expected {list(expected.shape)}"
    if actual.dtype != expected.dtype:
        return False, f"is of dtype {dtype_name(actual.dtype)}, expected {dtype_name(expected.dtype)}"
    try:
        part = region.part(actual, inputs, expected_outputs)
    except Unfit as unfit:
        return False, str(unfit)
    a, e = part.valid(actual), part.valid(expected)
    look = _Look(rule, actual.dtype, limits.show, _CHUNK)
    seen = _Seen.merge(visit(look, a, e, elements=_CHUNK), limits.show)
    allowed = allowed_of(limits.share, a.numel())
    faults = _faults(seen, a, e, rule, limits, allowed, part.words(actual))
    tail = part.tail_fault(actual) if region.zero_tail else None
    if not faults and tail is None:
        return True, _passing(seen, a, e, rule, allowed, part.words(actual))
    lines = ["; ".join([*faults, *([tail] if tail else [])])]
    if faults:
        lines += _listed(seen, a, e, rule)
    return False, "\n".join(lines)


def _faults(
    seen: _Seen,
    a: torch.Tensor,
    e: torch.Tensor,
    rule: _AllClose | _RelDiff,
    limits: _Limits,
    allowed: int,
    where: str,
) -> list[str]:
    """Each reason to fail, in words."""
    faults = []
    if seen.bad > allowed:
        given = f"({limits.spelled}{rule.spelled()})"
        faults.append(f"{seen.bad} of {a.numel()} elements differ{where}, {allowed} allowed {given}")
    if seen.worst is not None and not seen.worst.measure < limits.worst:
        shown = f"{pair(seen.worst.flat, a, e)}, {rule.words(seen.worst.difference or 0.0, seen.worst.held)}"
        faults.append(f"the worst relative difference must be below max_diff_hd={limits.worst:g}: {shown}")
    if seen.first_nonfinite is not None:
        sides = f"({seen.nonfinite_actual} got, {seen.nonfinite_expected} expected)"
        first = pair(seen.first_nonfinite.flat, a, e)
        faults.append(f"{seen.nonfinite} of {a.numel()} elements are nan or inf {sides}, none allowed, first {first}")
    return faults


def _listed(seen: _Seen, a: torch.Tensor, e: torch.Tensor, rule: _AllClose | _RelDiff) -> list[str]:
    """The first elements that are bad or not finite, and the worst one."""
    lines = [_line(element, a, e, rule) for element in seen.first]
    hidden = seen.bad + seen.nonfinite - len(seen.first)
    if hidden and lines:
        lines.append(f"... and {hidden} more")
    if seen.worst is not None and seen.bad + seen.nonfinite > 1:
        lines.append(f"worst: {_line(seen.worst, a, e, rule)}")
    return lines


def _passing(
    seen: _Seen, a: torch.Tensor, e: torch.Tensor, rule: _AllClose | _RelDiff, allowed: int, where: str
) -> str:
    worst = "" if seen.worst is None else f"; worst {_line(seen.worst, a, e, rule)}"
    return f"{seen.bad} of {a.numel()} differ{where}, {allowed} allowed{worst}"


def _line(element: _Element, a: torch.Tensor, e: torch.Tensor, rule: _AllClose | _RelDiff) -> str:
    shown = pair(element.flat, a, e)
    return shown if element.difference is None else f"{shown}, {rule.words(element.difference, element.held)}"
