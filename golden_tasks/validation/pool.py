"""The comparator of a pool of rows of which a mapping names those that the kernel may write, as of a paged KV cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation import words
from golden_tasks.validation.chunks import ELEMENTS, index_of, visit
from golden_tasks.validation.comparator import Comparator, name_of, number, output_of, unlike, whole_number
from golden_tasks.validation.compare import distance, magnitude, tolerated, wide
from golden_tasks.validation.ratio import allowed_of
from golden_tasks.validation.words import bits

_SHOWN = 5


def mapped_pool_ratio_allclose(
    mapping_name: str,
    *,
    mapping_shape: Sequence[int],
    block_size: int,
    leading_rank_axis: bool = False,
    pool_name: str = "pool",
    atol: float | None = None,
    rtol: float | None = None,
    max_error_ratio: float = 0.005,
) -> Comparator:
    """Compares the rows of a pool that the input `mapping_name` names, and wants all other rows unchanged.

    The pool is [blocks, block_size, ...], with `leading_rank_axis` [ranks, blocks, block_size, ...]. A row is what lies
    below a block's slot; row `r` of a rank is slot `r % block_size` of block `r // block_size`. The mapping is an
    integer tensor of exactly `mapping_shape`, whose first axis is the ranks if there are any: -1 names no row, all else
    a row of the rank, each once at most.

    - Named rows, taken together: as `ratio_allclose` has it, at most floor(max_error_ratio * n) of their n elements
      may have |a - e| > atol + rtol * |e| (None: the case's), and all must be finite on both sides.
    - Every other row is bit for bit what the pool held before the run (NaN payloads and -0.0 count), and the expected
      row holds the same values. If the output is not an input too, or only a part of it is judged, it is the expected
      row that it must equal bit for bit.

    `pool_name` is what messages call it. Raises `TypeError` or `ValueError` for arguments that cannot be. A mapping
    that is missing, or of another shape or dtype, and a pool of another layout fail.
    """
    name_of("mapping_name", mapping_name)
    shape = _shape("mapping_shape", mapping_shape)
    block_size = whole_number("block_size", block_size, 1)
    if not isinstance(leading_rank_axis, bool):
        raise TypeError(f"leading_rank_axis={leading_rank_axis!r}: give True or False")
    if leading_rank_axis and len(shape) < 2:
        raise ValueError(f"mapping_shape={shape}: with leading_rank_axis give the ranks and at least one axis more")
    if not isinstance(pool_name, str):
        raise TypeError(f"pool_name={pool_name!r}: give a text")
    for what, given in (("atol", atol), ("rtol", rtol)):
        if given is not None:
            number(what, given, 0)
    number("max_error_ratio", max_error_ratio, 0, 1)
    ranked = leading_rank_axis
    own_atol, own_rtol = atol, rtol

    def compare_pool(
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        actual_outputs: dict[str, torch.Tensor],
        inputs: dict[str, torch.Tensor],
        rtol: float,
        atol: float,
        **_: Any,
    ) -> tuple[bool, str]:
        if mapping_name not in inputs:
            return False, f"compare_fn misconfigured: no input is named {mapping_name!r}; there are {list(inputs)}"
        mapping = inputs[mapping_name]
        wrong = _unfit(actual, expected, pool_name, block_size, ranked) or _not_a_mapping(mapping, mapping_name, shape)
        if wrong:
            return False, wrong
        layout = Layout.of(tuple(actual.shape), ranked)
        if ranked and layout.ranks != shape[0]:
            return False, f"the {pool_name} has {layout.ranks} ranks, but {mapping_name!r} {shape[0]}"
        rows = mapping.to(torch.int64).reshape(layout.ranks, -1)
        wrong = _wrong_row(rows, layout, mapping_name, shape)
        if wrong:
            return False, wrong
        named = torch.zeros((layout.ranks, layout.rows), dtype=torch.bool)
        for rank in range(layout.ranks):
            named[rank, rows[rank][rows[rank] >= 0]] = True
        before = _before_the_run(actual, actual_outputs, inputs)
        tolerances = (rtol if own_rtol is None else own_rtol), (atol if own_atol is None else own_atol)
        found = _judge(actual, expected, before, named.flatten(), layout.row, *tolerances)
        allowed = allowed_of(max_error_ratio, found.compared)
        lines = _words(found, layout, actual, expected, before, pool_name, mapping_name)
        passed = not lines and found.first_nonfinite is None and found.bad <= allowed
        return passed, "\n".join(
            [*lines, *_words_of_named(found, allowed, *tolerances, actual, expected, mapping_name)]
        )

    spelled = [repr(mapping_name), f"mapping_shape={shape}", f"block_size={block_size}"]
    spelled += ["leading_rank_axis=True"] if ranked else []
    spelled += [f"{key}={value}" for key, value in (("atol", atol), ("rtol", rtol)) if value is not None]
    spelled.append(f"max_error_ratio={max_error_ratio}")
    compare_pool.__name__ = f"mapped_pool_ratio_allclose({', '.join(spelled)})"
    return compare_pool


def _before_the_run(
    actual: torch.Tensor, actual_outputs: dict[str, torch.Tensor], inputs: dict[str, torch.Tensor]
) -> torch.Tensor | None:
    """The pool as it was; None if it is no input, or only a part of it is judged, or the run wrote into the input."""
    before = inputs.get(output_of(actual, actual_outputs) or "")
    if before is None or unlike(actual, before) or before.data_ptr() == actual.data_ptr():
        return None
    return before


@dataclass(frozen=True)
class Layout:
    """A pool as ranks of rows: row `r` of rank `k` is the number `k * rows + r` of all."""

    ranks: int
    rows: int  # of a rank
    row: int  # elements in one
    block_size: int
    ranked: bool

    @staticmethod
    def of(shape: tuple[int, ...], ranked: bool) -> Layout:
        ranks, blocks, size, *below = shape if ranked else (1, *shape)
        return Layout(ranks, blocks * size, math.prod(below), size, ranked)

    def where(self, number: int) -> str:
        """`row 37 (block 2, slot 5)`, with the rank if there are ranks."""
        rank, row = divmod(number, self.rows)
        told = f"row {row} (block {row // self.block_size}, slot {row % self.block_size})"
        return f"{told} of rank {rank}" if self.ranked else told


@dataclass
class Found:
    """What was found in rows of a pool. Positions are flat, in row-major order."""

    rows: int = 0  # that are named
    compared: int = 0  # elements of these
    bad: int = 0
    actual_nonfinite: int = 0
    expected_nonfinite: int = 0
    first_nonfinite: int | None = None
    first_bad: list[int] = field(default_factory=list)
    worst: int | None = None
    worst_difference: float = -1.0
    stray: int = 0  # elements of rows that are not named, which changed
    stray_rows: list[int] = field(default_factory=list)  # the numbers of the first ones
    stray_row_count: int = 0
    first_stray: int | None = None
    golden: int = 0  # rows that are not named, in which the expected values are not those before the run
    first_golden: int | None = None

    def add(self, other: Found) -> None:
        for key in ("rows", "compared", "bad", "actual_nonfinite", "expected_nonfinite", "stray", "golden"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        for key in ("first_nonfinite", "first_stray", "first_golden"):
            if getattr(self, key) is None:
                setattr(self, key, getattr(other, key))
        self.stray_row_count += other.stray_row_count
        self.stray_rows = [*self.stray_rows, *other.stray_rows][:_SHOWN]
        self.first_bad = [*self.first_bad, *other.first_bad][:_SHOWN]
        if other.worst_difference > self.worst_difference:
            self.worst, self.worst_difference = other.worst, other.worst_difference


def _judge(
    actual: torch.Tensor,
    expected: torch.Tensor,
    before: torch.Tensor | None,
    named: torch.Tensor,
    row: int,
    rtol: float,
    atol: float,
) -> Found:
    def look(start: int, a: torch.Tensor, e: torch.Tensor, *held: torch.Tensor) -> Found:
        own = named[start // row : (start + a.numel()) // row]
        found = Found()
        _judge_named(found, own, a, e, start, row, rtol, atol)
        if not bool(own.all()):
            _judge_others(found, own, a, e, held[0] if held else None, start, row)
        return found

    found = Found()
    if actual.numel() == 0:
        return found
    tensors = [actual, expected, *([] if before is None else [before])]
    for part in visit(look, *tensors, elements=row * max(1, ELEMENTS // row)):
        found.add(part)
    return found


def _judge_named(
    found: Found, named: torch.Tensor, a: torch.Tensor, e: torch.Tensor, start: int, row: int, rtol: float, atol: float
) -> None:
    rows = named.nonzero().flatten()
    if rows.numel() == 0:
        return
    a, e = (_countable(one.view(-1, row)[rows].flatten()) for one in (a, e))
    found.rows, found.compared = rows.numel(), a.numel()
    x, y = wide(a), wide(e)
    finite = x.isfinite(), y.isfinite()
    difference = distance(a, e)
    bad = ~tolerated(difference, atol + rtol * magnitude(y))  # so is what is not finite on either side
    found.bad = int(bad.sum())
    if found.bad == 0:
        return

    def place(at: int) -> int:
        return start + int(rows[at // row]) * row + at % row

    found.first_bad = [place(at) for at in bad.nonzero().flatten()[:_SHOWN].tolist()]
    found.actual_nonfinite, found.expected_nonfinite = (int((~one).sum()) for one in finite)
    both = finite[0] & finite[1]
    if not bool(both.all()):
        found.first_nonfinite = place(int((~both).to(torch.uint8).argmax()))
    rank = torch.where(bad & both, difference, -1.0)
    worst = int(rank.argmax())
    found.worst, found.worst_difference = place(worst), float(rank[worst])


def _judge_others(
    found: Found,
    named: torch.Tensor,
    a: torch.Tensor,
    e: torch.Tensor,
    before: torch.Tensor | None,
    start: int,
    row: int,
) -> None:
    others = ~named
    changed = _differing_bits(a, e if before is None else before, row)
    if changed is not None:
        changed &= others[:, None]
        found.stray = int(changed.sum())
    if changed is not None and found.stray:
        rows = changed.any(1).nonzero().flatten()
        found.stray_row_count = rows.numel()
        found.stray_rows = [start // row + at for at in rows[:_SHOWN].tolist()]
        found.first_stray = start + int(changed.flatten().to(torch.uint8).argmax())
    if before is None:
        return
    moved = _differing_bits(e, before, row)
    if moved is None:
        return
    x, y = (wide(_countable(one)) for one in (e, before))
    moved &= others[:, None] & ((x != y) & ~(x.isnan() & y.isnan())).view(-1, row)
    found.golden = int(moved.any(1).sum())
    if found.golden:
        found.first_golden = start + int(moved.flatten().to(torch.uint8).argmax())


def _countable(values: torch.Tensor) -> torch.Tensor:
    """Values; bools as 0 and 1, whatever byte the kernel wrote."""
    return (values.view(torch.uint8) != 0).to(torch.uint8) if values.dtype == torch.bool else values


def _differing_bits(a: torch.Tensor, b: torch.Tensor, row: int) -> torch.Tensor | None:
    """Which elements of [rows, row] are not identical; None if all are."""
    x, y = bits(a), bits(b)
    if torch.equal(x, y):
        return None
    differ = x != y
    return (differ.any(-1) if differ.dim() > 1 else differ).view(-1, row)  # a complex element has two parts


def _unfit(actual: torch.Tensor, expected: torch.Tensor, pool: str, block_size: int, ranked: bool) -> str:
    wrong = unlike(actual, expected)
    if wrong:
        return wrong
    axis = 2 if ranked else 1
    if actual.dim() <= axis or actual.shape[axis] != block_size:
        layout = "[ranks, blocks, block_size, ...]" if ranked else "[blocks, block_size, ...]"
        return f"the {pool} is of shape {list(actual.shape)}, expected {layout} with block_size={block_size}"
    return ""


def _not_a_mapping(mapping: torch.Tensor, name: str, shape: tuple[int, ...]) -> str:
    if mapping.dtype.is_floating_point or mapping.dtype.is_complex or mapping.dtype == torch.bool:
        return f"the mapping {name!r} is of dtype {dtype_name(mapping.dtype)}: it must be of integers"
    if tuple(mapping.shape) != shape:
        return f"the mapping {name!r} is of shape {list(mapping.shape)}, but mapping_shape={shape}"
    return ""


def _wrong_row(rows: torch.Tensor, layout: Layout, name: str, shape: tuple[int, ...]) -> str:
    """What is wrong with a mapping's values, [ranks, n]; nothing if all can name rows."""
    wrong = (rows < -1) | (rows >= layout.rows)
    if bool(wrong.any()):
        at = int(wrong.flatten().to(torch.uint8).argmax())
        known = f"-1 (no row) or a row from 0 to {layout.rows - 1}" if layout.rows else "-1, as there are no rows"
        held = f"{int(rows.flatten()[at])} at {words.at(index_of(at, shape))}"
        return f"the mapping {name!r} holds {held}: it must be {known}"
    for rank, own in enumerate(rows):
        ordered, order = own.sort(stable=True)
        twice = (ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)
        if bool(twice.any()):
            at = int(twice.to(torch.uint8).argmax())
            places = [index_of(rank * rows.shape[1] + int(order[at + i]), shape) for i in (0, 1)]
            where = " and ".join(words.at(place) for place in places)
            number = rank * layout.rows + int(ordered[at])
            return f"the mapping {name!r} names {layout.where(number)} twice, at {where}"
    return ""


def _words(
    found: Found,
    layout: Layout,
    actual: torch.Tensor,
    expected: torch.Tensor,
    before: torch.Tensor | None,
    pool: str,
    mapping: str,
) -> list[str]:
    """What was found in the rows that are not named."""
    lines = []
    if found.first_stray is not None:
        index = index_of(found.first_stray, actual.shape)
        was = "before the run" if before is not None else "expected"
        held = before if before is not None else expected
        rows = ", ".join(map(layout.where, found.stray_rows))
        rows += ", ..." if found.stray_row_count > len(found.stray_rows) else ""
        count = f"{found.stray_row_count} row{'s' if found.stray_row_count > 1 else ''} of the {pool}"
        lines.append(f"{mapping!r} does not name {count}, but {found.stray} elements changed there: {rows}")
        old, new = (words.value_with_bits(one[index]) for one in (held, actual))
        lines.append(f"first {words.at(index)} {was} {old}, got {new}")
    if found.first_golden is not None and before is not None:
        index = index_of(found.first_golden, actual.shape)
        first = f"{layout.where(found.first_golden // layout.row)}: {words.at(index)}"
        old, new = (words.value(one[index]) for one in (before, expected))
        count = f"{found.golden} row{'s' if found.golden > 1 else ''}"
        lines.append(
            f"the golden function changes {count} that {mapping!r} does not name, first {first} before the run {old}, "
            f"expected {new}: correct it, or the mapping"
        )
    return lines


def _words_of_named(
    found: Found,
    allowed: int,
    rtol: float,
    atol: float,
    actual: torch.Tensor,
    expected: torch.Tensor,
    mapping: str,
) -> list[str]:
    if found.rows == 0:
        return [f"{mapping!r} names no row"]
    lines = [
        f"{found.bad} of {found.compared} elements of the {found.rows} rows that {mapping!r} names differ, "
        f"{allowed} allowed (rtol={rtol:g}, atol={atol:g})"
    ]
    if found.bad == 0:
        return lines
    if found.first_nonfinite is not None:
        sides = f"{found.actual_nonfinite} got, {found.expected_nonfinite} expected"
        lines.append(f"nan or inf: {sides}, first {words.pair(found.first_nonfinite, actual, expected)}")
    if found.bad > allowed:
        lines += [words.pair(flat, actual, expected) for flat in found.first_bad]
        hidden = found.bad - len(found.first_bad)
        lines += [f"... and {hidden} more"] if hidden else []
    if found.worst is not None and found.worst_difference >= 0:
        lines.append(f"worst: {words.pair(found.worst, actual, expected)}, off by {found.worst_difference:.3g}")
    return lines


def _shape(what: str, value: object) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"{what}={value!r}: give the mapping's shape, such as (64,)")
    if not value:
        raise ValueError(f"{what}={value!r}: give at least one axis")
    return tuple(whole_number(what, size, 1) for size in value)
