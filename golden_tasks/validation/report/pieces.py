"""What each piece of two tensors holds, gathered in one pass and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from golden_tasks.validation.chunks import visit
from golden_tasks.validation.compare import Judged, distance, magnitude, wide
from golden_tasks.validation.report.findings import NonFinite
from golden_tasks.validation.report.rule import SAFE, Rule
from golden_tasks.validation.where import Marks

FIRST, WORST = 4, 3  # mismatches shown
EDGES = torch.tensor([float(f"1e{k}") for k in range(-330, 310)], dtype=torch.float64)  # of decades; fp64 has no others


@dataclass
class Found:
    """What a piece of the tensors holds, or all of them; numbers of elements are row-major.

    `worst` are pairs of a rank and an element. `atol` and `rtol` are what the finite mismatches need: as computed, and
    with a margin for the rounding. `same` and `off` are empty if the mismatches do not agree, None if there are none.
    """

    first: list[int] = field(default_factory=list)
    worst: list[tuple[float, int]] = field(default_factory=list)
    last: int = -1
    absolute: tuple[float, int] = (-1.0, -1)
    relative: tuple[float, int] = (-1.0, -1)
    atol: tuple[float, float] = (0.0, 0.0)
    rtol: tuple[float, float] = (0.0, 0.0)
    equal: int = 0
    small: int = 0  # up to a tenth of what is allowed
    large: int = 0  # above that, and allowed
    decades: Counter[int] = field(default_factory=Counter)  # of the mismatches, by an index of EDGES
    unallowed: int = 0  # mismatches where nothing is
    not_finite: int = 0
    missing: int = 0
    got: NonFinite = field(default_factory=NonFinite)
    expected: NonFinite = field(default_factory=NonFinite)
    zero: bool = True  # all that was got
    same: list[Any] | None = None  # what every mismatch got
    off: list[Any] | None = None  # by how much every mismatch is off, integers only


def gathered(actual: torch.Tensor, expected: torch.Tensor, rule: Rule, marks: Marks) -> Found:
    """What the rule says of every element of two tensors of one shape; `marks` is told of each mismatch."""
    return _merged(visit(lambda start, a, e: _look(start, a, e, rule, marks), actual, expected))


def _look(start: int, a: torch.Tensor, e: torch.Tensor, rule: Rule, marks: Marks) -> Found:
    judgement = rule.judged(a, e)
    at = judgement.bad.nonzero().flatten()
    flat = at + start
    marks.add(flat)
    found = Found(first=flat[:FIRST].tolist(), last=int(flat[-1]) if at.numel() else -1)
    if rule.is_float:
        _look_at_floats(found, a, e, judgement, at, flat, rule)
    else:
        _look_at_integers(found, a, e, judgement.rank, at, flat)
    return found


def _look_at_integers(
    found: Found, a: torch.Tensor, e: torch.Tensor, rank: torch.Tensor, at: torch.Tensor, flat: torch.Tensor
) -> None:
    found.equal = a.numel() - at.numel()
    found.zero = not bool(_as_int64(a).count_nonzero())
    if at.numel() == 0:
        return
    apart, rank, got, wanted = distance(a, e)[at], rank[at], _as_int64(a)[at], _as_int64(e)[at]
    found.worst = _largest(rank, flat)
    found.absolute = _top(apart, flat)
    found.decades = _decades(apart)
    found.missing = int(wanted.count_nonzero())
    found.same = _shared(got)
    found.off = _shared(torch.stack([got - wanted, rank]))  # the difference may wrap, with the rank it cannot hide


def _look_at_floats(
    found: Found,
    a: torch.Tensor,
    e: torch.Tensor,
    judgement: Judged,
    at: torch.Tensor,
    flat: torch.Tensor,
    rule: Rule,
) -> None:
    difference, allowed = judgement.difference, judgement.allowed
    assert difference is not None and allowed is not None  # of floats they are there
    if rule.equal_nan or not bool(difference.isfinite().all()):  # two NaNs that are equal have none
        found.got, found.expected = _non_finite(a, at), _non_finite(e, at)
    found.zero = not bool(wide(a[:1]).count_nonzero() or wide(a).count_nonzero())
    if at.numel() < a.numel():
        good = ~judgement.bad
        found.large = int((good & (difference > 0.1 * allowed)).sum())
        found.small = int((good & (difference > 0)).sum()) - found.large
        found.equal = a.numel() - at.numel() - found.small - found.large
    if at.numel():
        every = at.numel() == a.numel()
        got, wanted = (wide(a), wide(e)) if every else (wide(a)[at], wide(e)[at])
        difference, allowed = (difference, allowed) if every else (difference[at], allowed[at])
        _look_at_mismatches(found, got, wanted, difference, allowed, flat, rule)


def _look_at_mismatches(
    found: Found,
    got: torch.Tensor,
    wanted: torch.Tensor,
    difference: torch.Tensor,
    allowed: torch.Tensor,
    flat: torch.Tensor,
    rule: Rule,
) -> None:
    """The mismatches of a piece, `flat` the elements: fp64, or pairs of it."""
    found.same = _shared(got)
    finite, size = difference.isfinite(), magnitude(wanted)
    found.not_finite = finite.numel() - int(finite.count_nonzero())
    if found.not_finite:
        found.worst = _largest(difference.where(finite, torch.inf), flat)
        flat, difference, allowed, size = flat[finite], difference[finite], allowed[finite], size[finite]
    else:
        found.worst = _largest(difference, flat)
    if flat.numel() == 0:
        return
    found.absolute = _top(difference, flat)
    relative = _top((difference / size).where(size > 0, -1.0), flat)
    if relative[0] >= 0:
        found.relative = relative
    found.unallowed = allowed.numel() - int(allowed.count_nonzero())
    found.decades = _decades(difference if rule.is_absolute else (difference / allowed)[allowed > 0].clamp(min=1.0))
    needed = difference - rule.rtol * size
    margin = SAFE * (difference + rule.rtol * size)
    found.atol = (float(needed.max()), float((needed + margin).max()))
    needed, margin = (difference - rule.atol) / size, SAFE * (difference + rule.atol) / size
    found.rtol = (float(needed.max()), float((needed * (1 + SAFE) + margin).max()))


def _as_int64(values: torch.Tensor) -> torch.Tensor:
    return values.view(torch.int64) if values.dtype == torch.uint64 else values.to(torch.int64)


def _shared(values: torch.Tensor) -> list[Any]:
    """The value, or the column, that all of the last axis have; empty if there is none. NaN is one value."""
    first = values[..., :1]
    is_one = bool(((values == first) | ((values != values) & (first != first))).all())
    return first.flatten().tolist() if is_one else []


def _top(errors: torch.Tensor, flat: torch.Tensor) -> tuple[float, int]:
    """The largest with its element; of equals the first."""
    at = errors.argmax()
    return float(errors[at]), int(flat[at])


def _largest(rank: torch.Tensor, flat: torch.Tensor) -> list[tuple[float, int]]:
    """The `WORST` largest with their elements; of equals the first."""
    least = rank.topk(min(WORST, rank.numel())).values[-1]
    above, ties = (rank > least).nonzero().flatten(), (rank == least).nonzero().flatten()[:WORST]
    chosen = torch.cat([above, ties])
    return _worst(zip(rank[chosen].tolist(), flat[chosen].tolist(), strict=True))


def _worst(pairs: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:WORST]


def _decades(errors: torch.Tensor) -> Counter[int]:
    counts = torch.bincount(torch.bucketize(errors, EDGES, right=True))
    return Counter({int(k) - 1: int(counts[k]) for k in counts.nonzero().flatten()})


def _non_finite(values: torch.Tensor, at: torch.Tensor) -> NonFinite:
    values = wide(values)
    if bool(values.isfinite().all()):
        return NonFinite()
    nans = values.isnan()
    return NonFinite(int(nans.sum()), int((values.isinf() & ~nans).sum()), int(nans[at].sum()))


def _merged(pieces: Iterable[Found]) -> Found:
    whole = Found()
    for piece in pieces:
        whole.first = (whole.first + piece.first)[:FIRST]
        whole.worst = _worst(whole.worst + piece.worst)
        whole.last = max(whole.last, piece.last)
        whole.absolute = max(whole.absolute, piece.absolute, key=lambda pair: pair[0])  # of equals the first
        whole.relative = max(whole.relative, piece.relative, key=lambda pair: pair[0])
        whole.atol = _larger(whole.atol, piece.atol)
        whole.rtol = _larger(whole.rtol, piece.rtol)
        for name in ("equal", "small", "large", "decades", "unallowed", "not_finite", "missing", "got", "expected"):
            setattr(whole, name, getattr(whole, name) + getattr(piece, name))
        whole.zero &= piece.zero
        whole.same, whole.off = _agreed(whole.same, piece.same), _agreed(whole.off, piece.off)
    return whole


def _larger(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return max(a[0], b[0]), max(a[1], b[1])


def _agreed(a: list[Any] | None, b: list[Any] | None) -> list[Any] | None:
    """What two pieces have in common; None has no mismatch, and so no say."""
    if a is None or b is None:
        return b if a is None else a
    is_one = len(a) == len(b) and all(x == y or (x != x and y != y) for x, y in zip(a, b, strict=True))
    return a if is_one else []
