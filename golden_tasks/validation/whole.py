"""Comparators without a tolerance for each element: identical, ulp by ulp, and two measures of the whole output."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation.chunks import index_of, visit
from golden_tasks.validation.comparator import Comparator, number, unlike, whole_number
from golden_tasks.validation.words import at, bits, pair, value_with_bits

_SHOWN = 5
_MOST_ULP = 2**63 - 1
_SAFE = 2.0**100  # of numbers up to this and from its inverse, sums of squares neither overflow nor lose what counts


def exact() -> Comparator:
    """The output is identical: the same values, bit for bit, of any dtype.

    -0.0 is not 0.0; a NaN equals a NaN with the same bits.
    """

    def compare_bits(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        wrong = unlike(actual, expected)
        if wrong:
            return False, wrong
        found = Differences.merge(visit(_differing_bits, bits(actual), bits(expected)))
        return found.count == 0, _words_of_exact(found, actual, expected)

    compare_bits.__name__ = "exact()"
    return compare_bits


def ulp(max_ulp: int) -> Comparator:
    """Every element is at most `max_ulp` units in the last place of the output's own float dtype from the expected one.

    The distance of two values is the number of steps from one to the other through the dtype's values, 0 for 0.0 and
    -0.0. An infinity is at no distance from itself and out of reach from all else; NaN is out of reach from
    everything. For fp64, fp32, fp16, bf16 and all fp8. Raises `TypeError` or `ValueError` unless `max_ulp` is a whole
    number from 0.
    """
    max_ulp = whole_number("max_ulp", max_ulp, 0, _MOST_ULP)

    def compare_ulp(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        wrong = unlike(actual, expected)
        if wrong:
            return False, wrong
        if not actual.dtype.is_floating_point or "_x2" in str(actual.dtype):
            return False, _misconfigured("ulp counts steps between floats", actual, "use exact() or the default")
        unsigned = "e8m0" in str(actual.dtype)

        def look(start: int, a: torch.Tensor, e: torch.Tensor) -> Differences:
            return _beyond(max_ulp, unsigned, start, a, e)

        found = Differences.merge(visit(look, actual, expected))
        return found.count == 0, _words_of_ulp(found, max_ulp, actual, expected)

    compare_ulp.__name__ = f"ulp({max_ulp})"
    return compare_ulp


def cosine(min_similarity: float = 0.999) -> Comparator:
    """The cosine of the angle between output and expected values, each taken as one vector, is at least that.

    cos = sum(a e) / sqrt(sum(a a) sum(e e)), accumulated in fp64, and exactly 1 for identical values. Blind to the
    scale, so combine it with `relative_l2`; blind to a few elements in a large output, as every measure of the whole
    is. Two vectors of zeros (or of no elements) pass, one against another fails; so does any NaN or infinity. What is
    less than about 1e-15 from 1 counts as 1.
    Raises `TypeError` or `ValueError` unless `min_similarity` is a number above 0 and at most 1.
    """
    min_similarity = number("min_similarity", min_similarity, 0, 1)
    if min_similarity == 0:
        raise ValueError("min_similarity=0 would pass vectors that have nothing in common: give more than 0")

    def compare_cosine(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        wrong = unlike(actual, expected)
        if wrong:
            return False, wrong
        sums = sums_of(actual, expected, apart=True)
        if sums.nonfinite is not None:
            return False, _words_of_nonfinite(sums.nonfinite, actual, expected)
        if (sums.aa == 0) != (sums.ee == 0):
            return False, _words_of_zero(sums)
        measured = sums.cosine()
        got, wanted = _told_apart(measured, min_similarity)
        return measured >= min_similarity, f"cosine similarity {got}, at least {wanted} wanted"

    compare_cosine.__name__ = f"cosine(min_similarity={min_similarity})"
    return compare_cosine


def relative_l2(max_error: float) -> Comparator:
    """The error's length is at most that share of the expected values' length.

    sqrt(sum((a - e)^2) / sum(e^2)), accumulated in fp64. Two vectors of zeros (or of no elements) pass, one against
    another fails; so does any NaN or infinity. Blind to a few small elements in a large output.
    Raises `TypeError` or `ValueError` unless `max_error` is a number above 0 and below 1: zeros are at 1 from
    everything.
    """
    max_error = number("max_error", max_error, 0)
    if max_error == 0:
        raise ValueError("max_error=0 asks for identical values: use exact()")
    if max_error >= 1:
        raise ValueError(f"max_error={max_error} would pass an output of zeros: give less than 1")

    def compare_relative_l2(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        wrong = unlike(actual, expected)
        if wrong:
            return False, wrong
        sums = sums_of(actual, expected)
        if sums.nonfinite is not None:
            return False, _words_of_nonfinite(sums.nonfinite, actual, expected)
        if sums.ee == 0 and sums.dd > 0:
            return False, _words_of_zero(sums)
        measured = sums.relative_l2()
        got, allowed = _told_apart(measured, max_error)
        return measured <= max_error, f"relative L2 error {got}, at most {allowed} allowed"

    compare_relative_l2.__name__ = f"relative_l2(max_error={max_error})"
    return compare_relative_l2


@dataclass
class Differences:
    """Elements that differ too much: how many, the first ones, and the worst with its distance."""

    count: int = 0
    first: list[int] | None = None
    worst: int = 0
    distance: int = 0
    nonfinite: int = 0

    @staticmethod
    def merge(parts: Iterable[Differences]) -> Differences:
        found = Differences(first=[])
        for part in parts:
            if part.count == 0:
                continue
            if part.distance > found.distance:
                found.worst, found.distance = part.worst, part.distance
            found.count += part.count
            found.nonfinite += part.nonfinite
            found.first = [*(found.first or []), *(part.first or [])][:_SHOWN]
        return found


@dataclass
class Sums:
    """Sums over all elements in fp64, of `actual` and `expected` divided by powers of two; `nonfinite` is where.

    `apart`: the two were divided by one of their own each.
    """

    aa: float = 0.0
    ee: float = 0.0
    ae: float = 0.0
    dd: float = 0.0
    nonfinite: int | None = None

    def cosine(self) -> float:
        """Of the angle between the two; 1 if both are zero or one direction exactly, 0 if one of them is zero."""
        if self.dd == 0:
            return 1.0
        lengths = math.sqrt(self.aa) * math.sqrt(self.ee)
        return self.ae / lengths if lengths else 0.0

    def relative_l2(self) -> float:
        """The difference's length as a share of the expected values'; 0 if both are zero."""
        if self.dd == 0:
            return 0.0
        return math.sqrt(self.dd) / math.sqrt(self.ee) if self.ee else math.inf


def sums_of(actual: torch.Tensor, expected: torch.Tensor, *, apart: bool = False, finite: bool = False) -> Sums:
    """The sums; complex elements count as two real ones.

    Stops being of use at the first NaN or infinity, unless `finite` leaves out the pairs that hold one.
    """
    by_a = by_e = 1.0
    if actual.dtype.itemsize >= 8 and actual.dtype not in (torch.int64, torch.uint64, torch.complex64):
        extremes = visit(_largest, *_real(actual, expected))
        by_a, by_e = (_divisor(max((part[i] for part in extremes), default=0.0)) for i in (0, 1))
        if not apart:
            by_a = by_e = max(by_a, by_e)

    def look(start: int, a: torch.Tensor, e: torch.Tensor) -> Sums:
        a, e = a.to(torch.float64), e.to(torch.float64)
        if by_a != 1 or by_e != 1:
            a, e = a / by_a, e / by_e
        sums = _sums(a, e)
        if math.isfinite(sums.aa) and math.isfinite(sums.ee):
            return sums
        held = a.isfinite() & e.isfinite()
        sums = _sums(a[held], e[held]) if finite else Sums()
        sums.nonfinite = start + int((~held).to(torch.uint8).argmax())
        return sums

    parts = visit(look, *_real(actual, expected))
    aa, ee, ae, dd = (math.fsum(getattr(part, key) for part in parts) for key in ("aa", "ee", "ae", "dd"))
    added = Sums(aa, ee, ae, dd)
    added.nonfinite = next((part.nonfinite for part in parts if part.nonfinite is not None), None)
    if added.nonfinite is not None and actual.dtype.is_complex:
        added.nonfinite //= 2
    return added


def _sums(a: torch.Tensor, e: torch.Tensor) -> Sums:
    d = a - e
    aa, ee, ae, dd = (float(torch.dot(x, y)) for x, y in ((a, a), (e, e), (a, e), (d, d)))
    return Sums(aa, ee, ae, dd)


def _real(*tensors: torch.Tensor) -> list[torch.Tensor]:
    given = [tensor.detach() for tensor in tensors]
    return [torch.view_as_real(tensor.resolve_conj()) if tensor.dtype.is_complex else tensor for tensor in given]


def _largest(start: int, *pieces: torch.Tensor) -> tuple[float, ...]:
    """Of each, the largest magnitude that is finite."""
    return tuple(float(piece.abs().nan_to_num(0.0, 0.0, 0.0).max()) for piece in pieces)


def _divisor(largest: float) -> float:
    """1 where squares can be summed as they are, else a power of two, by which division is exact."""
    if largest == 0 or 1 / _SAFE <= largest <= _SAFE:
        return 1.0
    return math.ldexp(1.0, min(max(math.frexp(largest)[1], -1022), 1023))


def _differing_bits(start: int, a: torch.Tensor, e: torch.Tensor) -> Differences:
    if torch.equal(a, e):
        return Differences()
    where = (a != e).nonzero().flatten()
    return Differences(count=where.numel(), first=[start + place for place in where[:_SHOWN].tolist()])


def _beyond(max_ulp: int, unsigned: bool, start: int, a: torch.Tensor, e: torch.Tensor) -> Differences:
    x, y = (_step(bits(piece), unsigned) for piece in (a, e))
    distance = torch.maximum(x, y) - torch.minimum(x, y)  # may wrap: it is right as an unsigned number
    if max_ulp <= torch.iinfo(distance.dtype).max:
        bad = (distance > max_ulp) | (distance < 0)
    else:
        bad = _unsigned(distance) > max_ulp
    wide = [piece if piece.dtype.itemsize >= 4 else piece.to(torch.float32) for piece in (a, e)]
    finite = [piece.isfinite() for piece in wide]
    out_of_reach = torch.zeros((), dtype=torch.bool)
    if not (bool(finite[0].all()) and bool(finite[1].all())):
        out_of_reach = ~(finite[0] & finite[1]) & (wide[0] != wide[1])
        bad |= out_of_reach
    count = int(bad.sum())
    if count == 0:
        return Differences()
    lowest = torch.iinfo(torch.int64).min
    rank = torch.where(bad & ~out_of_reach, _unsigned(distance) ^ lowest, lowest)
    worst = int(rank.argmax())
    return Differences(
        count=count,
        first=[start + place for place in bad.nonzero().flatten()[:_SHOWN].tolist()],
        worst=start + worst,
        distance=int(rank[worst]) - lowest,
        nonfinite=int(out_of_reach.sum()),
    )


def _unsigned(distance: torch.Tensor) -> torch.Tensor:
    """Distances as int64; of one that has wrapped in int32 the unsigned number."""
    return distance.to(torch.int64) & 0xFFFFFFFF if distance.dtype == torch.int32 else distance


def _step(held: torch.Tensor, unsigned: bool) -> torch.Tensor:
    """Bits as integers in the values' order, neighbours one apart, in int32 or wider.

    Of a float with a sign the negative half is turned round, and -0.0 falls on 0.0.
    """
    if unsigned:
        return held.to(torch.int32) & 0xFF
    wide = held if held.dtype.itemsize >= 4 else held.to(torch.int32)
    return torch.where(wide < 0, torch.iinfo(held.dtype).min - wide, wide)


def _words_of_exact(found: Differences, actual: torch.Tensor, expected: torch.Tensor) -> str:
    total = actual.numel()
    if found.count == 0:
        return f"all {total} elements are identical"
    last = 2 if actual.dtype.is_complex else 1
    parts = " parts" if actual.dtype.is_complex else ""
    lines = [f"{found.count} of {total * last} elements{parts} are not identical, bit for bit"]
    for flat in found.first or []:
        index = index_of(flat // last, actual.shape)
        sides = f"expected {value_with_bits(expected[index])}, got {value_with_bits(actual[index])}"
        lines.append(f"{at(index)} {sides}")
    return _with_rest(lines, found)


def _words_of_ulp(found: Differences, max_ulp: int, actual: torch.Tensor, expected: torch.Tensor) -> str:
    if found.count == 0:
        return f"all {actual.numel()} elements are within {max_ulp} ulp"
    kind = dtype_name(actual.dtype)
    lines = [f"{found.count} of {actual.numel()} elements are more than {max_ulp} ulp of {kind} apart"]
    if found.nonfinite:
        lines[0] += f"; {found.nonfinite} with nan or inf"
    lines += [pair(flat, actual, expected) for flat in found.first or []]
    _with_rest(lines, found)
    if found.distance:
        lines.append(f"worst: {pair(found.worst, actual, expected)}: {found.distance} ulp")
    return "\n".join(lines)


def _words_of_nonfinite(flat: int, actual: torch.Tensor, expected: torch.Tensor) -> str:
    return f"nan or inf, first at {pair(flat, actual, expected)}: no measure can be taken"


def _words_of_zero(sums: Sums) -> str:
    return "got zeros only, expected others" if sums.aa == 0 else "expected zeros only, got others"


def _told_apart(measured: float, limit: float) -> tuple[str, str]:
    """Both numbers with as few digits, from 3 up, as show that they are not equal."""
    for digits in range(3, 17):
        written = f"{measured:.{digits}g}", f"{limit:.{digits}g}"
        if measured == limit or float(written[0]) != float(written[1]):
            return written
    return repr(measured), repr(limit)


def _with_rest(lines: list[str], found: Differences) -> str:
    hidden = found.count - len(found.first or [])
    if hidden:
        lines.append(f"... and {hidden} more")
    return "\n".join(lines)


def _misconfigured(why: str, actual: torch.Tensor, mend: str) -> str:
    return f"compare_fn misconfigured: {why}, and this output is {dtype_name(actual.dtype)}: {mend}"
