"""What a pass means: how much was compared, and whether the comparison could have failed at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from golden_tasks.validation.chunks import visit
from golden_tasks.validation.comparator import Comparator, is_ignoring_expected, is_report
from golden_tasks.validation.compare import Comparison

_ZEROS = "the expected values and the output are zeros throughout"
_NOT_FINITE = "no expected value is finite"


@dataclass(frozen=True)
class Counts:
    """Of an output's elements, how many are not zero and how many expected ones are finite."""

    nonzero_actual: int
    nonzero_expected: int
    finite_expected: int


def counts_of(actual: torch.Tensor, expected: torch.Tensor) -> Counts:
    """Counts the elements of two tensors of one shape and dtype, in one pass."""
    pieces = visit(_counted, actual, expected)
    return Counts(*(sum(column) for column in zip(*pieces, strict=True))) if pieces else Counts(0, 0, 0)


def weakness(found: Comparison, tolerance: bool) -> str:
    """Why a pass of the default comparison means little; empty if it means what it should.

    `tolerance` says whether the elements have one, as integers and bools have not.
    """
    counts = Counts(found.nonzero_actual, found.nonzero_expected, found.finite_expected)
    weak = _of_values(counts, found.elements)
    if not weak and found.elements and tolerance and found.zeros_pass:
        return "the tolerance is larger than every expected value: zeros would pass as well"
    return weak


def weakness_under(
    comparator: Comparator, counts: Counts, elements: int, passes_zeros: Callable[[], bool] | None = None
) -> str:
    """Why a pass under a comparator means little; empty if it means what it should.

    `passes_zeros` asks the comparator of an output of zeros.
    """
    if is_report(comparator):
        return "its comparator only reports, and passes everything"
    if is_ignoring_expected(comparator) or not elements:
        return ""
    weak = _of_values(counts, elements)
    if not weak and counts.nonzero_expected and passes_zeros is not None and passes_zeros():
        return "its comparator would pass an output of zeros as well"
    return weak


def _of_values(counts: Counts, elements: int) -> str:
    if not elements:
        return ""
    if not counts.nonzero_actual and not counts.nonzero_expected:
        return _ZEROS
    return "" if counts.finite_expected else _NOT_FINITE


def _counted(start: int, actual: torch.Tensor, expected: torch.Tensor) -> tuple[int, int, int]:
    actual, expected = _countable(actual), _countable(expected)
    finite = expected.isfinite().sum() if expected.is_floating_point() or expected.is_complex() else expected.numel()
    return int(actual.count_nonzero()), int(expected.count_nonzero()), int(finite)


def _countable(piece: torch.Tensor) -> torch.Tensor:
    """A piece in a dtype that torch counts, as it does not fp8 and most unsigned integers."""
    if piece.is_floating_point() and piece.element_size() == 1:
        return piece.float()
    signed = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
    return piece.view(signed[piece.dtype]) if piece.dtype in signed else piece
