"""A report in words: the summary first, which is for tables, then a sentence or the columns of a table."""

from __future__ import annotations

import math
from typing import Any

import torch

from golden_tasks.validation import where
from golden_tasks.validation.report.findings import Bucket, Cause, Report, Row
from golden_tasks.validation.where.words import unit
from golden_tasks.validation.words import at

_BAR = 36  # the longest of the histogram
_CAUSES = {
    "zero": "{name} is 0 everywhere",
    "same": "every mismatch got {value}",
    "off": "every mismatch is off by {value:+d}",
    "scaled": "every mismatch is expected x {value}, within the tolerance",
    "transposed": "{name} is expected transposed (last two axes), within the tolerance",
    "moved": "{value} of expected, for every i, within the tolerance",
    "narrow": "{name} holds only values that {value} can hold, expected does not",
}


def wording(name: str, report: Report) -> list[str]:
    """The report's lines, of the output `name`: the summary first. Empty if nothing differs."""
    if report.where.bad == 0:
        return []
    places = [f"where: {line}" if i == 0 else f"       {line}" for i, line in enumerate(where.lines(report.where))]
    lines = [_summary(report)]
    if report.where.bad == 1:
        lines += [_sentence(report.first[0], report.rule.dtype), *places]
    else:
        lines += [*places, *(f"note: {_cause(name, cause, report)}" for cause in report.causes)]
        lines += [*_table(report), *_extremes(report)]
    lines += [*_not_finite(report), *_tolerance(report)]
    return lines + _histogram(report) if report.where.bad > len(report.first) else lines


def _summary(report: Report) -> str:
    words = f"{report.where.bad} of {report.where.elements} elements differ"
    if report.rule.is_float:
        words += f" (rtol={report.rule.rtol:g}, atol={report.rule.atol:g})"
    if report.got.bad_nans:
        words += f"; {report.got.bad_nans} got nan"
    if report.expected.bad_nans:
        words += f"; {report.expected.bad_nans} expected nan"
        words += "" if report.rule.equal_nan else ", which nothing equals"
    places = where.summary(report.where)
    return f"{words}, {places}" if places else words


def _sentence(row: Row, dtype: torch.dtype) -> str:
    """The only mismatch, as comparators show theirs."""
    words = f"{at(row.index)} expected {number(row.expected, dtype)}, got {number(row.got, dtype)}"
    if dtype == torch.bool or math.isnan(row.difference):
        return words
    if row.allowed is None:
        return f"{words}, off by {row.difference}"
    allowed = f" (allowed {row.allowed:.3g})" if row.allowed and math.isfinite(row.difference) else ""
    return f"{words}, off by {row.difference:.3g}{f', {row.ulp} ulp' if row.ulp else ''}{allowed}"


def _cause(name: str, cause: Cause, report: Report) -> str:
    value = cause.value
    if cause.kind == "same":
        value = number(value, report.rule.dtype)
    elif cause.kind == "moved":
        axis, by = value
        one, _ = unit(axis, report.where.shape)
        value = f"{one} i of {name} is {one} i {'+' if by > 0 else '-'} {abs(by)}"
    return _CAUSES[cause.kind].format(name=name, value=value)


def _table(report: Report) -> list[str]:
    """The first mismatches in columns, and the worst ones unless all of them are among the first."""
    dtype = report.rule.dtype
    titles = ["     ", "index", "expected", "got"] + ([] if dtype == torch.bool else ["difference"])
    titles += ["allowed"] if report.rule.is_float else []
    titles += ["ulp"] if any(row.ulp is not None for row in report.first + report.worst) else []
    shown = {row.index for row in report.first}
    worst = () if dtype == torch.bool or all(row.index in shown for row in report.worst) else report.worst
    cells = [titles] + [
        [label if row is rows[0] else "", *_cells(row, dtype)][: len(titles)]
        for label, rows in (("first", report.first), ("worst", worst))
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)).rstrip() for row in cells]
    if (hidden := report.where.bad - len(report.first)) > 0:
        lines.insert(1 + len(report.first), f"       ... and {hidden} more")
    return lines


def _cells(row: Row, dtype: torch.dtype) -> list[str]:
    cells = [at(row.index), number(row.expected, dtype), number(row.got, dtype)]
    if row.allowed is None:
        return [*cells, str(row.difference)]
    difference = "-" if math.isnan(row.difference) else f"{row.difference:.3g}"
    allowed = f"{row.allowed:.3g}" if math.isfinite(row.difference) else "-"
    return [*cells, difference, allowed, "-" if row.ulp is None else str(row.ulp)]


def number(value: Any, dtype: torch.dtype) -> str:
    """The fewest digits that are this value in its dtype, so that no two values look the same."""
    if isinstance(value, complex):
        part = torch.float64 if dtype == torch.complex128 else torch.float32
        imaginary = number(value.imag, part)
        sign = "" if imaginary.startswith("-") else "+"
        return f"{number(value.real, part)}{sign}{imaginary}j"
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e6:
        return f"{value:.0f}"
    for digits in range(5, 17):  # five, so that the difference is that of what is shown
        text = f"{value:.{digits}g}"
        if torch.tensor(float(text), dtype=torch.float64).to(dtype).item() == value:
            return text
    return repr(value)


def _extremes(report: Report) -> list[str]:
    """The worst errors and where they are; of bools, which way they went."""
    if report.rule.dtype == torch.bool:
        missing = report.missing
        return [f"expected True, got False: {missing}; expected False, got True: {report.where.bad - missing}"]
    if not report.rule.is_float:
        return [f"biggest difference {report.worst[0].difference} at {at(report.worst[0].index)}"]
    named = (("absolute", report.worst_absolute), ("relative", report.worst_relative))
    worst = [f"{kind} {top[0]:.3g} at {at(top[1])}" for kind, top in named if top]
    return [f"worst error: {', '.join(worst)}"] if worst else []


def _not_finite(report: Report) -> list[str]:
    sides = (("got", report.got), ("expected", report.expected))
    if not any(side.nans or side.infs for _, side in sides):
        return []
    return ["not finite: " + "; ".join(f"{name} {side.nans} nan, {side.infs} inf" for name, side in sides)]


def _tolerance(report: Report) -> list[str]:
    """The smallest tolerance that would pass."""
    if not report.rule.is_float:
        return []
    if count := report.not_finite:
        return [f"no tolerance would pass: {count} difference{'s are' if count > 1 else ' is'} not finite"]
    ways = []
    if report.smallest_atol is not None:
        ways.append(f"atol={report.smallest_atol:g} with rtol={report.rule.rtol:g}")
    if report.smallest_rtol is not None:
        ways.append(f"rtol={report.smallest_rtol:g} with atol={report.rule.atol:g}")
    return [f"smallest tolerance that would pass: {', or '.join(ways) or 'none'}"]


def _histogram(report: Report) -> list[str]:
    if report.rule.dtype == torch.bool:
        return []
    counts = [(_label(bucket), bucket.elements, bucket.fails) for bucket in report.buckets if bucket.elements]
    if report.not_finite:
        counts.append(("not finite", report.not_finite, True))
    most = max(count for _, count, _ in counts)
    width = max(len(str(count)) for _, count, _ in counts)
    lines = ["error" if report.rule.is_absolute else "error / allowed (. passes, # fails)"]
    for label, count, fails in counts:
        bar = ("#" if fails else ".") * math.ceil(_BAR * count / most)
        lines.append(f"  {label:>14}  {count:>{width}}  {bar}".rstrip())
    return lines


def _label(bucket: Bucket) -> str:
    if bucket.high == 0:
        return "0"
    if math.isinf(bucket.low):
        return "nothing allowed"
    return f"{bucket.low:g} .. {bucket.high:g}"
