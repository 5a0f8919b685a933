"""All that is known of an output that differs, put together from one pass over the tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation.chunks import index_of
from golden_tasks.validation.compare import wide
from golden_tasks.validation.report.causes import causes
from golden_tasks.validation.report.findings import Bucket, Report, Row
from golden_tasks.validation.report.pieces import EDGES, Found, gathered
from golden_tasks.validation.report.rule import Rule, smallest_tolerance
from golden_tasks.validation.where import Marks
from golden_tasks.validation.words import bits

_BUCKETS = 4  # of the elements that fail


def examine(
    actual: torch.Tensor,
    expected: torch.Tensor,
    rtol: float,
    atol: float,
    *,
    equal_nan: bool = False,
    tiles: Mapping[str, object] | None = None,
) -> Report:
    """Judges every element by `compare`'s own rule, this time keeping what it finds. Arguments as for `describe`."""
    rule = Rule(actual.dtype, rtol, atol, equal_nan)
    marks = Marks(tuple(actual.shape), tiles)
    found = gathered(actual, expected, rule, marks)
    where = marks.where()
    if where.bad == 0:
        return Report(rule, where)

    def row(flat: int) -> Row:
        return _row(actual, expected, index_of(flat, actual.shape), rule)

    def placed(top: tuple[float, int]) -> tuple[float, tuple[int, ...]] | None:
        return (top[0], index_of(top[1], actual.shape)) if top[1] >= 0 else None

    def smallest(needed: tuple[float, float], with_tolerance: Callable[[float], Rule]) -> float | None:
        if found.not_finite or not rule.is_float:
            return None
        return smallest_tolerance(*needed, lambda x: with_tolerance(x).passes(actual, expected))

    first = tuple(map(row, found.first))
    worst = tuple(row(flat) for _, flat in found.worst)
    known = (*first, *worst, row(found.last))
    return Report(
        rule=rule,
        where=where,
        first=first,
        worst=worst,
        worst_absolute=placed(found.absolute),
        worst_relative=placed(found.relative),
        got=found.got,
        expected=found.expected,
        smallest_atol=smallest(found.atol, lambda x: replace(rule, atol=x)),
        smallest_rtol=smallest(found.rtol, lambda x: replace(rule, rtol=x)),
        buckets=tuple(_buckets(found, rule.is_absolute)),
        not_finite=found.not_finite,
        missing=found.missing,
        causes=tuple(causes(actual, expected, rule, found, known, tiles or {})) if where.bad > 1 else (),
    )


def _row(actual: torch.Tensor, expected: torch.Tensor, index: tuple[int, ...], rule: Rule) -> Row:
    got, wanted = actual[index], expected[index]
    a, e = got.item(), wanted.item()
    if not rule.is_float:
        return Row(index, e, a, abs(int(a) - int(e)))
    judgement = rule.judged(got.reshape(1), wanted.reshape(1))
    assert judgement.difference is not None and judgement.allowed is not None
    return Row(index, e, a, float(judgement.difference), float(judgement.allowed), _ulps(got, wanted))


def _ulps(got: torch.Tensor, wanted: torch.Tensor) -> int | None:
    """How many values of a half or fp8 dtype lie between two, plus one; None for others and what is not finite."""
    is_half = got.dtype in (torch.float16, torch.bfloat16)
    if not is_half and not dtype_name(got.dtype).startswith(("float8_e4", "float8_e5")):
        return None
    if not bool(wide(got).isfinite() & wide(wanted).isfinite()):
        return None

    def rank(value: torch.Tensor) -> int:
        pattern = int(bits(value))
        size = pattern & ((1 << 8 * value.dtype.itemsize - 1) - 1)  # sign and magnitude
        return size if pattern >= 0 else -size

    return abs(rank(got) - rank(wanted))


def _buckets(found: Found, absolute: bool) -> Iterator[Bucket]:
    yield Bucket(0, 0, found.equal, fails=False)
    if not absolute:
        yield Bucket(0, 0.1, found.small, fails=False)
        yield Bucket(0.1, 1, found.large, fails=False)
    groups = [(k, k + 1, count) for k, count in sorted(found.decades.items())]
    while len(groups) > _BUCKETS:  # neighbours become one where the fewest elements are, so that most stay told apart
        i = min(range(len(groups) - 1), key=lambda i: groups[i][2] + groups[i + 1][2])
        groups[i : i + 2] = [(groups[i][0], groups[i + 1][1], groups[i][2] + groups[i + 1][2])]
    for low, high, count in groups:
        yield Bucket(float(EDGES[low]), float(EDGES[min(high, len(EDGES) - 1)]), count, fails=True)
    if found.unallowed and not absolute:
        yield Bucket(math.inf, math.inf, found.unallowed, fails=True)
