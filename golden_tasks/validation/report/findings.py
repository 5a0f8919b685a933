"""What is known of an output that differs, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from golden_tasks.validation.report.rule import Rule
from golden_tasks.validation.where import Where


@dataclass(frozen=True)
class Row:
    """One mismatch. `allowed` is None for integers and bools, `ulp` for all but halves and fp8."""

    index: tuple[int, ...]
    expected: Any
    got: Any
    difference: float | int
    allowed: float | None = None
    ulp: int | None = None


@dataclass(frozen=True)
class Bucket:
    """How many elements have an error of `low` to `high`. 0 to 0 are equal; infinity: nothing is allowed."""

    low: float
    high: float
    elements: int
    fails: bool


@dataclass(frozen=True)
class NonFinite:
    """NaN and infinite values on one side; `bad_nans` are the NaNs of the mismatches."""

    nans: int = 0
    infs: int = 0
    bad_nans: int = 0

    def __add__(self, other: NonFinite) -> NonFinite:
        return NonFinite(self.nans + other.nans, self.infs + other.infs, self.bad_nans + other.bad_nans)


@dataclass(frozen=True)
class Cause:
    """Something that holds for the whole output or for every mismatch.

    `kind` is one of these, with its `value`: `zero`; `same`, what every mismatch got; `off`, by how much every integer
    is off; `scaled`, a fraction; `transposed`; `moved`, an axis and how much further on the expected value lies;
    `narrow`, a dtype's name.
    """

    kind: str
    value: Any = None


@dataclass(frozen=True)
class Report:
    """What is known of an output that differs.

    Of the errors that are finite, `worst_absolute` and `worst_relative` are the largest, each with its index.
    `smallest_atol` passes at the given rtol, `smallest_rtol` at the given atol; both are None where no such tolerance
    does. `buckets` count errors in units of what is allowed, or, if the rule is absolute, the errors themselves.
    """

    rule: Rule
    where: Where
    first: tuple[Row, ...] = ()
    worst: tuple[Row, ...] = ()
    worst_absolute: tuple[float, tuple[int, ...]] | None = None
    worst_relative: tuple[float, tuple[int, ...]] | None = None
    got: NonFinite = NonFinite()
    expected: NonFinite = NonFinite()
    smallest_atol: float | None = None
    smallest_rtol: float | None = None
    buckets: tuple[Bucket, ...] = ()
    not_finite: int = 0  # errors that are
    missing: int = 0  # of a bool output: expected True, got False
    causes: tuple[Cause, ...] = ()
