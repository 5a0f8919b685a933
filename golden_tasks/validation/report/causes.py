"""What an output that differs certainly is: a short list of causes, each of which holds for every element concerned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product

import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation.chunks import index_of
from golden_tasks.validation.compare import wide
from golden_tasks.validation.report.findings import Cause, Row
from golden_tasks.validation.report.pieces import Found
from golden_tasks.validation.report.rule import Rule, everywhere

_NARROWER = {torch.float64: (torch.float32,), torch.float32: (torch.bfloat16, torch.float16)}
_Guess = tuple[Cause, Callable[[], bool]]  # and whether it holds, by a pass over the tensors


def causes(
    actual: torch.Tensor,
    expected: torch.Tensor,
    rule: Rule,
    found: Found,
    rows: tuple[Row, ...],
    tiles: Mapping[str, object],
) -> Iterator[Cause]:
    """The first cause that holds for two tensors that differ; none for bools.

    `rows` are some of the mismatches: what one of them refutes costs no pass.
    """
    if rule.dtype == torch.bool:
        return
    if found.zero:
        yield Cause("zero")
        return
    if found.same:
        yield Cause("same", rows[0].got)
        return
    if found.off:
        yield Cause("off", int(rows[0].got) - int(rows[0].expected))
        return
    for cause, explains in (
        *_scaled(actual, expected, rule, rows),
        *_transposed(actual, expected, rule, found.first[0]),
        *_moved(actual, expected, rule, rows, tiles),
        *_narrowed(actual, expected, rows),
    ):
        if explains():
            yield cause
            return


def _scaled(actual: torch.Tensor, expected: torch.Tensor, rule: Rule, rows: tuple[Row, ...]) -> Iterator[_Guess]:
    """Every mismatch a multiple of what was expected: -1, or a whole number or its inverse."""
    if not rule.dtype.is_floating_point:
        return
    finite = [row for row in rows if math.isfinite(row.difference) and row.expected != 0]
    if not finite:
        return
    largest = max(finite, key=lambda row: float(abs(row.expected)))
    ratio = largest.got / largest.expected
    if not 1e-6 < abs(ratio) < 1e6:
        return
    factor = Fraction(round(ratio)) if abs(ratio) > 1 else Fraction(1, round(1 / ratio))

    def explained(a: torch.Tensor, e: torch.Tensor) -> bool:
        a, e = wide(a), wide(e)
        return not bool((rule.judged(a, e).bad & rule.judged(a, e * float(factor)).bad).any())

    if factor != 1:
        yield Cause("scaled", factor), partial(everywhere, explained, actual, expected)


def _transposed(actual: torch.Tensor, expected: torch.Tensor, rule: Rule, first: int) -> Iterator[_Guess]:
    """What was expected, with the last two axes swapped; `first` is a mismatch."""
    if actual.dim() < 2 or min(actual.shape[-2:]) < 2:
        return
    turned = expected.transpose(-1, -2)
    if actual.shape == turned.shape:
        same = actual
    elif actual.is_contiguous():
        same = actual.view(turned.shape)
    else:
        return
    if not _is_bad(same, turned, index_of(first, turned.shape), rule):
        yield Cause("transposed"), partial(rule.passes, same, turned)


def _moved(
    actual: torch.Tensor, expected: torch.Tensor, rule: Rule, rows: tuple[Row, ...], tiles: Mapping[str, object]
) -> Iterator[_Guess]:
    """What was expected, by one or by a tile further on or back along one of the last two axes."""
    sizes = sorted({1, *(value for value in tiles.values() if type(value) is int and value > 1)})
    for axis, size, by in product(range(max(0, actual.dim() - 2), actual.dim()), sizes, (-1, 1)):
        kept = actual.shape[axis] - size
        if kept < 2:
            continue
        to, since = (0, size) if by > 0 else (size, 0)
        inside = next((row.index for row in rows if to <= row.index[axis] < to + kept), None)
        if inside is None:
            continue
        a, e = actual.narrow(axis, to, kept), expected.narrow(axis, since, kept)
        probe = (*inside[:axis], inside[axis] - to, *inside[axis + 1 :])
        if not _is_bad(a, e, probe, rule):
            yield Cause("moved", (axis, by * size)), partial(rule.passes, a, e)


def _is_bad(a: torch.Tensor, e: torch.Tensor, index: tuple[int, ...], rule: Rule) -> bool:
    return bool(rule.judged(a[index].reshape(1), e[index].reshape(1)).bad)


def _narrowed(actual: torch.Tensor, expected: torch.Tensor, rows: tuple[Row, ...]) -> Iterator[_Guess]:
    """Values that a narrower dtype can hold, where not all of the expected ones are."""
    wanted = torch.stack([expected[row.index] for row in rows])
    for dtype in _NARROWER.get(actual.dtype, ()):
        fits = partial(_fits, dtype)
        if not fits(wanted):
            yield Cause("narrow", dtype_name(dtype)), partial(everywhere, fits, actual)


def _fits(dtype: torch.dtype, values: torch.Tensor) -> bool:
    return bool(((values.to(dtype).to(values.dtype) == values) | values.isnan()).all())
