"""The default comparison of two tensors: returns what it found as data, and words nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

Comparator = Callable[..., tuple[bool, str]]

_CHUNK = 1 << 20  # elements compared at a time: bounds the temporaries, whatever the tensors' size
_SHOWN = 5


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

    `worst` is the largest share of the tolerance that an element used: 1.0 is all of it, infinity without bound.
    """

    elements: int
    mismatches: int = 0
    worst: float = 0.0
    actual_nans: int = 0
    expected_nans: int = 0
    worst_mismatch: Mismatch | None = None
    first: list[Mismatch] = field(default_factory=list)


def compare(actual: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> Comparison:
    """Compares two tensors of one shape and dtype, element by element.

    Floating-point: equal where |actual - expected| <= atol + rtol * |expected|, computed in fp64; infinities of one
    sign are equal; NaN equals nothing. This is `torch.allclose`'s rule. Integers and bools: equal where identical,
    in integer arithmetic.
    """
    found = Comparison(elements=actual.numel())
    exact = not (actual.dtype.is_floating_point or actual.dtype.is_complex)
    for start, a, e in _chunks(actual, expected):
        judged = _integers(a, e) if exact else _floats(a, e, rtol, atol)
        found.worst = max(found.worst, float(judged.share.max()))
        count = int(judged.bad.sum())
        if count == 0:
            continue
        found.mismatches += count
        if not exact:
            found.actual_nans += int(_wide(a).isnan().sum())
            found.expected_nans += int(_wide(e).isnan().sum())
        for at in judged.bad.nonzero().flatten()[: _SHOWN - len(found.first)].tolist():
            found.first.append(_mismatch(actual, expected, start, at, judged))
        candidate = _mismatch(actual, expected, start, int(judged.rank.argmax()), judged)
        if found.worst_mismatch is None or _size(candidate) > _size(found.worst_mismatch):
            found.worst_mismatch = candidate
    return found


@dataclass
class _Judged:
    """A chunk's elements, each judged."""

    bad: torch.Tensor
    share: torch.Tensor  # of the tolerance
    rank: torch.Tensor  # the higher, the further apart
    difference: torch.Tensor | None = None
    allowed: torch.Tensor | None = None


def _integers(a: torch.Tensor, e: torch.Tensor) -> _Judged:
    bad = a != e
    lowest = torch.iinfo(torch.int64).min
    if a.dtype == torch.uint64:  # torch orders no uint64: as int64 with the top bit flipped their order is the same
        a, e = a.view(torch.int64) ^ lowest, e.view(torch.int64) ^ lowest
    a, e = a.to(torch.int64), e.to(torch.int64)
    distance = torch.maximum(a, e) - torch.minimum(a, e)  # may wrap: it is right as an unsigned number
    return _Judged(bad, torch.where(bad, torch.inf, 0.0), distance ^ lowest)


def _floats(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> _Judged:
    a, e = _wide(a), _wide(e)
    difference = (a - e).abs()
    allowed = atol + rtol * e.abs()
    same = a == e
    bounded = torch.isfinite(difference)
    bad = ~(same | (bounded & (difference <= allowed)))
    share = torch.where(same, 0.0, torch.where(bounded, difference / allowed, torch.inf))
    rank = torch.where(bad, torch.where(bounded, difference, torch.inf), -1.0)
    return _Judged(bad, share, rank, difference, allowed)


def _chunks(actual: torch.Tensor, expected: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    a, e = actual.detach().reshape(-1), expected.detach().reshape(-1)
    for start in range(0, a.numel(), _CHUNK):
        yield start, a[start : start + _CHUNK], e[start : start + _CHUNK]


def _wide(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.complex128 if values.dtype.is_complex else torch.float64)


def _mismatch(actual: torch.Tensor, expected: torch.Tensor, start: int, at: int, judged: _Judged) -> Mismatch:
    index = _index(start + at, actual.shape)
    a, e = actual[index].item(), expected[index].item()
    if judged.difference is None or judged.allowed is None:
        return Mismatch(index, a, e, float(abs(int(a) - int(e))), 0.0)
    return Mismatch(index, a, e, float(judged.difference[at]), float(judged.allowed[at]))


def _size(mismatch: Mismatch) -> float:
    return float("inf") if math.isnan(mismatch.difference) else mismatch.difference


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        index.append(flat % extent)
        flat //= extent
    return tuple(reversed(index))
