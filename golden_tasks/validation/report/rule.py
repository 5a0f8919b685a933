"""The default comparison's rule with its tolerances, and the smallest tolerance that passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from threading import Event

import torch

from golden_tasks.validation.chunks import visit
from golden_tasks.validation.compare import Judged, judged

SAFE = 2.0**-50  # relative: more than the few roundings of the rule can amount to


@dataclass(frozen=True)
class Rule:
    """The default comparison's, for tensors of one dtype."""

    dtype: torch.dtype
    rtol: float
    atol: float
    equal_nan: bool = False

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point or self.dtype.is_complex

    @property
    def is_absolute(self) -> bool:
        """Whether nothing is allowed, so that there is no error in units of it."""
        return not self.is_float or self.rtol == self.atol == 0

    def judged(self, a: torch.Tensor, e: torch.Tensor) -> Judged:
        return judged(a, e, self.rtol, self.atol, self.equal_nan)

    def passes(self, actual: torch.Tensor, expected: torch.Tensor) -> bool:
        """Whether nothing differs; looks no further than the first mismatch."""
        return everywhere(lambda a, e: not self.judged(a, e).bad.any(), actual, expected)


def everywhere(holds: Callable[..., bool], *tensors: torch.Tensor) -> bool:
    """Whether something holds for every piece of the tensors; few are looked at once one has refuted it."""
    refuted = Event()

    def look(start: int, *pieces: torch.Tensor) -> None:
        if not refuted.is_set() and not holds(*pieces):
            refuted.set()

    visit(look, *tensors)
    return not refuted.is_set()


def smallest_tolerance(needed: float, safe: float, passes: Callable[[float], bool]) -> float | None:
    """A tolerance of three digits that passes, rounded up; None if none does.

    What is needed was computed in fp64, so a number that is all but the same may do or may not: that is tried. `safe`
    is certain to do.
    """
    if not math.isfinite(safe):
        return None
    for tolerance in (float(f"{needed:.3g}"), _up(needed)):
        if tolerance >= safe or (tolerance >= needed * (1 - SAFE) and passes(tolerance)):
            return tolerance
    tolerance = _up(safe)
    return tolerance if math.isfinite(tolerance) else None


def _up(value: float) -> float:
    return float(Context(prec=3, rounding=ROUND_CEILING).plus(Decimal(value)))
