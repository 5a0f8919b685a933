"""A report of how far an output is from the expected values, for choosing a tolerance: no check by itself."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from golden_tasks.validation.chunks import ELEMENTS, visit
from golden_tasks.validation.comparator import Comparator, number, unlike
from golden_tasks.validation.whole import Sums, sums_of

_DROPPED = 15  # low bits of a fp32 that its bin does not tell apart: 8 of the mantissa are left
_BINS = 1 << 31 - _DROPPED
_PIECE = 1 << 18  # elements in a piece: as large as a table of bins, which each piece fills


def error_distribution(
    diff_thds: Sequence[float] = (1e-3, 3e-3, 5e-3, 1e-2, 3e-2, 5e-2),
    quantiles: Sequence[float] = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0),
    always_pass: bool = True,
) -> Comparator:
    """Reports the error's distribution: relative L2, cosine, the share beyond each threshold, quantiles.

    It is a report (`is_report`) and passes everything, unless `always_pass=False`: then NaN and infinities fail, on
    either side, and nothing else does. Elements where either side is not finite are counted and left out of all else.

    - share beyond `thd`: of r > thd as `ratio_reldiff` has it, d = |a - e|, r = d if d < thd else
      d / (max(|a|, |e|, 2**-14 / thd) + 1e-9); with the worst such r;
    - quantiles of d, of d / max(|a|, |e|) (0 where both are 0) and of |e|: the smallest value that at least that share
      does not exceed, rounded up by at most 0.4 % (1 / 256), to 0 below 5e-41 and to infinity beyond fp32's range, but
      never above the largest value, which the quantile 1 is.

    Raises `TypeError` or `ValueError` for thresholds that are not above 0, and quantiles outside of 0 to 1.
    """
    thresholds = tuple(number("diff_thds", thd, 0) for thd in _given("diff_thds", diff_thds))
    if 0 in thresholds:
        raise ValueError("diff_thds holds 0: give numbers above 0")
    shares = tuple(number("quantiles", share, 0, 1) for share in _given("quantiles", quantiles))
    if not isinstance(always_pass, bool):
        raise TypeError(f"always_pass={always_pass!r}: give True or False")

    def report_distribution(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        wrong = unlike(actual, expected)
        if wrong:
            return False, wrong
        found = distribution(actual, expected, thresholds)
        return always_pass or found.nonfinite == 0, _words(found, thresholds, shares)

    mode = "" if always_pass else ", always_pass=False"
    report_distribution.__name__ = f"error_distribution(diff_thds={thresholds}, quantiles={shares}{mode})"
    report_distribution.is_report = always_pass  # type: ignore[attr-defined]
    return report_distribution


@dataclass
class Bins:
    """How many values of a kind, none negative, lie in each bin: of equal fp32 but for the lowest bits."""

    counts: torch.Tensor = field(default_factory=lambda: torch.zeros(_BINS, dtype=torch.int64))
    largest: float = 0.0

    def quantile(self, share: float) -> float:
        """The smallest value that at least this share of all does not exceed; rounded up within its bin."""
        running = self.counts.cumsum(0)
        total = int(running[-1])
        rank = max(1, math.ceil(share * total))
        if rank >= total:
            return self.largest
        bin_ = int(torch.searchsorted(running, rank))
        if bin_ == 0:
            return 0.0
        last = (bin_ + 1 << _DROPPED) - 1
        return min(float(torch.tensor(last, dtype=torch.int32).view(torch.float32)), self.largest)


@dataclass
class Distribution:
    """What was found: the numbers of elements and of those that are not finite, and of all others the rest."""

    elements: int
    actual_nans: int = 0
    actual_infs: int = 0
    expected_nans: int = 0
    expected_infs: int = 0
    nonfinite: int = 0
    beyond: list[int] = field(default_factory=list)
    worst: list[float] = field(default_factory=list)
    difference: Bins = field(default_factory=Bins)
    relative: Bins = field(default_factory=Bins)
    expected: Bins = field(default_factory=Bins)
    sums: Sums = field(default_factory=Sums)


def distribution(actual: torch.Tensor, expected: torch.Tensor, thresholds: Sequence[float]) -> Distribution:
    """The distribution of the error of two tensors of one shape and dtype; complex elements count as two real ones."""
    if actual.dtype.is_complex:
        actual, expected = (torch.view_as_real(one.detach().resolve_conj()) for one in (actual, expected))
    found = Distribution(actual.numel(), beyond=[0] * len(thresholds), worst=[0.0] * len(thresholds))
    lock = threading.Lock()

    def look(start: int, a: torch.Tensor, e: torch.Tensor) -> None:
        slices = [slice(at, at + ELEMENTS) for at in range(0, len(a), ELEMENTS)]
        parts = [_part(a[part], e[part], thresholds) for part in slices]
        kinds = zip(*(part.bins for part in parts), strict=True)
        tables = [torch.bincount(torch.cat(bins), minlength=_BINS) for bins in kinds]
        with lock:  # added to one table: a table for each piece would be larger than the piece
            for part in parts:
                _add(found, part)
            for kind, table in zip((found.difference, found.relative, found.expected), tables, strict=True):
                kind.counts += table

    visit(look, actual, expected, elements=_PIECE)
    found.sums = sums_of(actual, expected, finite=True)
    return found


@dataclass
class _Part:
    nonfinite: tuple[int, int, int, int, int]
    beyond: list[int]
    worst: list[float]
    bins: list[torch.Tensor]  # of each kind, the bin of every element
    largest: list[float]


def _part(a: torch.Tensor, e: torch.Tensor, thresholds: Sequence[float]) -> _Part:
    a, e = a.to(torch.float64), e.to(torch.float64)
    held = a.isfinite() & e.isfinite()
    nonfinite = (0, 0, 0, 0, 0)
    if not bool(held.all()):
        counts = [int(test(one).sum()) for one in (a, e) for test in (torch.isnan, torch.isinf)]
        nonfinite = (counts[0], counts[1], counts[2], counts[3], int((~held).sum()))
        a, e = a[held], e[held]
    difference = (a - e).abs_()
    size = e.abs()
    larger = torch.maximum(a.abs(), size)
    relative = torch.where(difference == 0, 0.0, difference / larger)
    kinds = (difference, relative, size)
    beyond, worst = [], []
    for thd in thresholds:
        candidates = difference >= thd  # the others' r is d itself
        d = difference[candidates]
        r = d / (larger[candidates].clamp(min=2.0**-14 / thd) + 1e-9)
        bad = r[r > thd]
        beyond.append(bad.numel())
        worst.append(float(bad.max()) if bad.numel() else 0.0)
    bins = [one.to(torch.float32).view(torch.int32) >> _DROPPED for one in kinds]
    return _Part(nonfinite, beyond, worst, bins, [float(one.max()) if one.numel() else 0.0 for one in kinds])


def _add(found: Distribution, part: _Part) -> None:
    found.actual_nans += part.nonfinite[0]
    found.actual_infs += part.nonfinite[1]
    found.expected_nans += part.nonfinite[2]
    found.expected_infs += part.nonfinite[3]
    found.nonfinite += part.nonfinite[4]
    found.beyond = [x + y for x, y in zip(found.beyond, part.beyond, strict=True)]
    found.worst = [max(x, y) for x, y in zip(found.worst, part.worst, strict=True)]
    for kind, largest in zip((found.difference, found.relative, found.expected), part.largest, strict=True):
        kind.largest = max(kind.largest, largest)


def _words(found: Distribution, thresholds: Sequence[float], shares: Sequence[float]) -> str:
    compared = found.elements - found.nonfinite
    lines = [f"error distribution of {compared} elements (a report: it does not check them)"]
    if found.nonfinite:
        sides = (
            ("got", found.actual_nans, found.actual_infs),
            ("expected", found.expected_nans, found.expected_infs),
        )
        told = ", ".join(f"{side} {nans} nan and {infs} inf" for side, nans, infs in sides)
        lines.append(f"{found.nonfinite} more elements are not finite: {told}")
    if compared == 0:
        return "\n".join(lines)
    lines.append(f"relative L2 {found.sums.relative_l2():.3g}, cosine {found.sums.cosine():.9g}")
    if thresholds:
        titles = [f"{thd:g}" for thd in thresholds]
        cells = [f"{100 * bad / compared:.3g} %" for bad in found.beyond]
        lines += _table("diff_thd", titles, [("share beyond", cells), ("worst", [f"{w:.3g}" for w in found.worst])])
    if shares:
        kinds = (("|a - e|", found.difference), ("relative", found.relative), ("|expected|", found.expected))
        rows = [(name, [f"{table.quantile(share):.3g}" for share in shares]) for name, table in kinds]
        lines += _table("quantile", [f"{100 * share:g} %" for share in shares], rows)
    return "\n".join(lines)


def _table(corner: str, titles: list[str], rows: list[tuple[str, list[str]]]) -> list[str]:
    return [f"{name:14}" + "".join(f"{cell:>11}" for cell in cells) for name, cells in [(corner, titles), *rows]]


def _given(what: str, values: object) -> Sequence[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{what}={values!r}: give a list of numbers")
    return values
