"""The default comparison of two tensors: returns what it found as data, and words nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from golden_tasks.validation.chunks import ELEMENTS, index_of, visit
from golden_tasks.validation.sieve import Array, Sieve, Tolerance, working_dtype

_CHUNK = 1 << 18  # elements compared at a time: bounds the temporaries, whatever the tensors' size
_SHOWN = 5
_NONE = np.empty(0, np.intp)
_SUMMED = (
    *("elements", "mismatches", "nonzero_actual", "nonzero_expected", "finite_actual", "finite_expected"),
    *("actual_nans", "expected_nans"),
)


@dataclass(frozen=True)
class Mismatch:
    """One element that differs by more than the tolerance allows."""

    index: tuple[int, ...]
    actual: Any
    expected: Any
    difference: float
    allowed: float


@dataclass
class Comparison:
    """What a comparison found.

    `mismatches` and the counts are exact. `worst` is the largest share of the tolerance that an element used: 1.0 is
    all of it, infinity without bound; it is above 1.0 only with a mismatch. Of a pass it is the share, by the rule, of
    the element that is worst in the dtype that the sieve computes in: no other uses more by a part in 2**16 (or by
    2**-120 of the tolerance, where such a share is 0 in fp32).
    `zeros_pass` says whether an output of zeros would have no mismatch. `first` are the first mismatches in row-major
    order, `worst_mismatch` is the one that is furthest apart, of several the first; NaN is further than any number.
    """

    elements: int
    mismatches: int = 0
    worst: float = 0.0
    nonzero_actual: int = 0
    nonzero_expected: int = 0
    finite_actual: int = 0
    finite_expected: int = 0
    zeros_pass: bool = True
    actual_nans: int = 0
    expected_nans: int = 0
    worst_mismatch: Mismatch | None = None
    first: list[Mismatch] = field(default_factory=list)


@dataclass
class Judged:
    """Elements of 1-D pieces, each judged. Integers have no share of a tolerance but 0 and infinity."""

    bad: torch.Tensor
    share: torch.Tensor  # of the tolerance, fp64
    rank: torch.Tensor  # the higher, the further apart
    difference: torch.Tensor | None = None  # fp64
    allowed: torch.Tensor | None = None  # fp64


def compare(
    actual: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float, equal_nan: bool = False
) -> Comparison:
    """Compares two tensors of one shape and dtype, element by element, by the rule of `judged`.

    Reads both once; the memory that it takes does not grow with them. Raises `ValueError` for two shapes or dtypes,
    `TypeError` for a dtype whose values cannot be compared.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        sides = f"{actual.dtype} {list(actual.shape)} and {expected.dtype} {list(expected.shape)}"
        raise ValueError(f"only tensors of one shape and dtype are compared, not {sides}")
    look = _Look(actual.dtype, rtol, atol, equal_nan, _CHUNK)
    return _merged(visit(look, actual, expected, elements=_CHUNK), actual)


def judged(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float, equal_nan: bool = False) -> Judged:
    """THE rule, for 1-D pieces of one dtype.

    Floating-point and complex numbers are equal where |a - e| <= atol + rtol * |e|, computed in fp64, each operation
    rounded once; infinities of one sign are equal; NaN equals nothing, or NaN if `equal_nan`. Of a complex number each
    part that is NaN must be so on both sides; the parts that are not are judged. This is `torch.allclose`'s rule, with
    `magnitude` as |z|.
    Integers and bools are equal where identical, in integer arithmetic.
    """
    if a.dtype.is_floating_point or a.dtype.is_complex:
        return _floats(a, e, rtol, atol, equal_nan)
    return _integers(a, e)


def distance(a: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """|a - e| in fp64; of integers it is exact before it is rounded to fp64 once."""
    if a.dtype.is_floating_point or a.dtype.is_complex:
        return magnitude(wide(a) - wide(e))
    return _apart(a, e).view(torch.uint64).to(torch.float64)


def tolerated(difference: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Where there is no difference, or one that is a number and within what is allowed, both in fp64."""
    return (difference == 0) | (torch.isfinite(difference) & (difference <= allowed))


def wide(values: torch.Tensor) -> torch.Tensor:
    """Values in fp64, or in a pair of fp64 for complex ones."""
    if values.dtype.is_complex:  # by its parts: torch warns of each operation on complex32
        return torch.view_as_complex(torch.view_as_real(values).to(torch.float64))
    return values.to(torch.float64)


def magnitude(values: torch.Tensor) -> torch.Tensor:
    """|x| of fp64; of complex ones sqrt(re * re + im * im), by a power of two where a square would be out of range.

    NaN where that is more than fp64 holds: nothing is within a tolerance relative to it. Neither torch's `abs` of
    complex numbers nor its `sqrt` is rounded correctly, or alike at every place of a tensor; numpy's `sqrt` is.
    """
    if not values.dtype.is_complex:
        return values.abs()
    parts = torch.view_as_real(values).abs()
    larger = parts.amax(-1)
    scale = torch.ones_like(larger)
    scale.masked_fill_(larger > 2.0**500, 2.0**-600).masked_fill_(larger < 2.0**-500, 2.0**600)
    real, imaginary = parts[..., 0] * scale, parts[..., 1] * scale
    squares = (real * real + imaginary * imaginary).numpy()
    with np.errstate(invalid="ignore"):
        modulus = torch.as_tensor(np.sqrt(squares)) / scale
    return modulus.masked_fill_(modulus.isinf(), torch.nan)


def _integers(a: torch.Tensor, e: torch.Tensor) -> Judged:
    if a.dtype == torch.bool:  # a kernel may write any byte
        a, e = a.view(torch.uint8) != 0, e.view(torch.uint8) != 0
    bad = a != e
    return Judged(bad, torch.where(bad, torch.inf, 0.0).double(), _apart(a, e) ^ torch.iinfo(torch.int64).min)


def _apart(a: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """How far integers are apart: unsigned numbers, in int64's bits."""
    if a.dtype == torch.uint64:  # torch orders no uint64: as int64 with the top bit flipped their order is the same
        lowest = torch.iinfo(torch.int64).min
        a, e = a.view(torch.int64) ^ lowest, e.view(torch.int64) ^ lowest
    a, e = a.to(torch.int64), e.to(torch.int64)
    return torch.maximum(a, e) - torch.minimum(a, e)


def _floats(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float, equal_nan: bool = False) -> Judged:
    a, e = wide(a), wide(e)
    if equal_nan:
        a, e = _without_common_nans(a, e)
    difference = magnitude(a - e)
    allowed = atol + rtol * magnitude(e)
    same = a == e
    bounded = torch.isfinite(difference)
    bad = ~(same | tolerated(difference, allowed))
    share = torch.where(same, 0.0, torch.where(bounded, difference / allowed, torch.inf))
    share.nan_to_num_(nan=torch.inf, posinf=torch.inf)  # where there is no telling what is allowed
    rank = torch.where(bad, torch.where(bounded, difference, torch.inf), -1.0)
    return Judged(bad, share, rank, difference, allowed)


def _without_common_nans(a: torch.Tensor, e: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both with 0 where, or in the part where, both are NaN."""
    if a.dtype.is_complex:
        a, e = _without_common_nans(torch.view_as_real(a), torch.view_as_real(e))
        return torch.view_as_complex(a), torch.view_as_complex(e)
    common = a.isnan() & e.isnan()
    return torch.where(common, 0.0, a), torch.where(common, 0.0, e)


@dataclass
class _Found:
    """What was found in one piece. Mismatches are at (flat position,) of the whole tensor."""

    comparison: Comparison
    rank: float = -math.inf  # of the worst mismatch
    sieved: float = 0.0  # the largest share that the sieve computed of what it cleared
    cleared: float = 0.0  # that element's share by the rule


class _Look:
    """Looks at one piece: the sieve first, then the rule for what it does not clear."""

    def __init__(self, dtype: torch.dtype, rtol: float, atol: float, equal_nan: bool, elements: int) -> None:
        self._dtype, self._rtol, self._atol, self._equal_nan = dtype, rtol, atol, equal_nan
        self._exact = not (dtype.is_floating_point or dtype.is_complex)
        self._tolerance = Tolerance.below(rtol, atol, working_dtype(dtype))
        self._sieve = Sieve(dtype, elements)
        self._top = 0.0  # the threads share this and the next: what is read late costs time and changes no result
        self._zeros_pass = True

    def __call__(self, start: int, actual: torch.Tensor, expected: torch.Tensor) -> _Found:
        with np.errstate(all="ignore"):
            return self._look(start, *self._sieve.load(actual, expected))

    def _look(self, start: int, x: Array, y: Array) -> _Found:
        n = len(x)
        counts = Comparison(n, finite_actual=n, finite_expected=n)
        counts.nonzero_actual, counts.nonzero_expected = self._sieve.nonzeros(x), self._sieve.nonzeros(y)
        found = _Found(counts)
        for a, e, at in self._suspects(x, y, found):
            _add(found, self._rule(a, e), a, e, start + at)
        if self._zeros_pass and counts.nonzero_expected:
            counts.zeros_pass = self._zeros_pass = self._would_zeros_pass(y)
        return found

    def _suspects(self, x: Array, y: Array, found: _Found | None = None) -> Iterator[tuple[Array, Array, Array]]:
        """What the sieve does not clear, with its positions; what is worst of the rest goes into `found`."""
        if self._exact or self._tolerance is None:
            suspects = self._sieve.suspects(x, y, None)
        else:
            shares = self._sieve.shares(x, y, self._tolerance)
            suspects, top = _above_one(shares)
            if found is not None and 0 < top >= self._top:
                self._top = found.sieved = top
                worst = slice(int(shares.argmax()), int(shares.argmax()) + 1)
                found.cleared = float(self._rule(x[worst], y[worst]).share)
        for first in range(0, len(suspects), ELEMENTS):
            at = suspects[first : first + ELEMENTS]
            yield x[at], y[at], at

    def _would_zeros_pass(self, y: Array) -> bool:
        if self._exact:
            return False  # one of them is not zero
        return not any(bool(self._rule(a, e).bad.any()) for a, e, _ in self._suspects(self._sieve.zeros(len(y)), y))

    def _rule(self, x: Array, y: Array) -> Judged:
        a, e = torch.from_numpy(x), torch.from_numpy(y)
        if self._dtype == torch.bool:
            a, e = a.view(torch.bool), e.view(torch.bool)
        return judged(a, e, self._rtol, self._atol, self._equal_nan)


def _above_one(shares: Array) -> tuple[Array, float]:
    """Positions of what is above 1 or NaN, and 0 in its place; the largest of the rest."""
    top = np.maximum.reduce(shares)
    if top <= 1:
        return _NONE, float(top)
    positions = np.flatnonzero(~(shares <= 1))
    shares[positions] = 0
    return positions, float(np.maximum.reduce(shares))


def _add(found: _Found, verdict: Judged, a: Array, e: Array, at: Array) -> None:
    """Adds what the rule says of some elements, which lie at these positions, to what was found."""
    counts = found.comparison
    counts.worst = max(counts.worst, float(verdict.share.max()))
    for values, nans, finite in ((a, "actual_nans", "finite_actual"), (e, "expected_nans", "finite_expected")):
        if values.dtype.kind in "fc":
            setattr(counts, nans, getattr(counts, nans) + int(np.isnan(values).sum()))
            setattr(counts, finite, getattr(counts, finite) - int((~np.isfinite(values)).sum()))
    mismatches = int(verdict.bad.sum())
    if mismatches == 0:
        return
    counts.mismatches += mismatches
    for position in verdict.bad.nonzero().flatten()[: _SHOWN - len(counts.first)].tolist():
        counts.first.append(_mismatch(verdict, a, e, at, position))
    position = int(verdict.rank.argmax())
    if verdict.rank[position].item() > found.rank:
        found.rank = verdict.rank[position].item()
        counts.worst_mismatch = _mismatch(verdict, a, e, at, position)


def _mismatch(verdict: Judged, a: Array, e: Array, at: Array, position: int) -> Mismatch:
    actual, expected, index = a[position].item(), e[position].item(), (int(at[position]),)
    if verdict.difference is None or verdict.allowed is None:
        return Mismatch(index, actual, expected, float(abs(int(actual) - int(expected))), 0.0)
    difference, allowed = float(verdict.difference[position]), float(verdict.allowed[position])
    return Mismatch(index, actual, expected, difference, allowed)


def _merged(pieces: list[_Found], actual: torch.Tensor) -> Comparison:
    whole = Comparison(0)
    rank = -math.inf
    cleared = max(pieces, key=lambda piece: piece.sieved, default=None)
    if cleared is not None:
        whole.worst = cleared.cleared
    for piece in pieces:
        counts = piece.comparison
        for name in _SUMMED:
            setattr(whole, name, getattr(whole, name) + getattr(counts, name))
        whole.worst = max(whole.worst, counts.worst)
        whole.zeros_pass = whole.zeros_pass and counts.zeros_pass
        whole.first += counts.first[: _SHOWN - len(whole.first)]
        if piece.rank > rank:
            rank, whole.worst_mismatch = piece.rank, counts.worst_mismatch
    whole.first = [_placed(mismatch, actual) for mismatch in whole.first]
    whole.worst_mismatch = whole.worst_mismatch and _placed(whole.worst_mismatch, actual)
    return whole


def _placed(mismatch: Mismatch, actual: torch.Tensor) -> Mismatch:
    """A mismatch with its index in the tensor, and bools as such."""
    index = index_of(mismatch.index[0], actual.shape)
    if actual.dtype != torch.bool:
        return replace(mismatch, index=index)
    values = bool(mismatch.actual), bool(mismatch.expected)
    return Mismatch(index, *values, float(values[0] != values[1]), 0.0)
