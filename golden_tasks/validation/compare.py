"""The default comparison of two tensors: returns what it found as data, and words nothing."""

from __future__ import annotations

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
        if exact:
            bad = a != e
            difference = None
            allowed = None
        else:
            a, e = _wide(a), _wide(e)
            difference = (a - e).abs()
            allowed = atol + rtol * e.abs()
            same = a == e
            bad = ~(same | ((difference <= allowed) & torch.isfinite(e)))
            used = torch.where(same, 0.0, difference / allowed).nan_to_num(nan=float("inf"))
            if used.numel():
                found.worst = max(found.worst, float(used.max()))
        count = int(bad.sum())
        if count == 0:
            continue
        found.mismatches += count
        if exact:
            found.worst = float("inf")
        for at in bad.nonzero().flatten()[: _SHOWN - len(found.first)].tolist():
            found.first.append(_mismatch(actual, expected, start, at, difference, allowed))
        if difference is not None:
            at = int(torch.where(bad, difference.nan_to_num(nan=float("inf")), -1.0).argmax())
        else:
            at = int(bad.to(torch.uint8).argmax())
        candidate = _mismatch(actual, expected, start, at, difference, allowed)
        if found.worst_mismatch is None or candidate.difference > found.worst_mismatch.difference:
            found.worst_mismatch = candidate
    return found


def _chunks(actual: torch.Tensor, expected: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    a, e = actual.detach().reshape(-1), expected.detach().reshape(-1)
    for start in range(0, a.numel(), _CHUNK):
        yield start, a[start : start + _CHUNK], e[start : start + _CHUNK]


def _wide(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.complex128 if values.dtype.is_complex else torch.float64)


def _mismatch(
    actual: torch.Tensor,
    expected: torch.Tensor,
    start: int,
    at: int,
    difference: torch.Tensor | None,
    allowed: torch.Tensor | None,
) -> Mismatch:
    index = _index(start + at, actual.shape)
    a, e = actual[index].item(), expected[index].item()
    if difference is None or allowed is None:
        return Mismatch(index, a, e, float(abs(int(a) - int(e))), 0.0)
    return Mismatch(index, a, e, float(difference[at]), float(allowed[at]))


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        index.append(flat % extent)
        flat //= extent
    return tuple(reversed(index))
