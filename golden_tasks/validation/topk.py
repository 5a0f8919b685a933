"""The comparator of a top-k's index output: every index is judged, and only tied ones may swap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation.chunks import ELEMENTS, index_of, visit
from golden_tasks.validation.comparator import Comparator, name_of, unlike, whole_number
from golden_tasks.validation.words import at, number


def topk_pair_compare(
    vals_name: str, *, dim: int = -1, descending: bool = True, max_show: int = 10, scores: str | None = None
) -> Comparator:
    """Compares the indices of a top-k with the expected ones; tied ones may swap. `vals_name` names the values output.

    Rows lie along `dim`, of one size for indices and values. Right without further proof is an index that equals the
    expected one. Any other must be of an integer dtype, occur in its row no more often than is expected (once at
    most, if it is not expected), and be tied with the index expected there:

    - without `scores`: it must be one of the row's expected indices, and the expected values of the two be equal within
      rtol and atol. An index from outside of these can't be proven right, so it fails; so does any swap for k=1.
    - with `scores`, the name of the input (or the expected output) that the k were chosen from: both are looked up in
      it. The index must be in range and the two scores be equal within rtol and atol. One that the golden function
      did not choose must not be better (as `descending` says) than the worst that it chose.

    Where an index differs, the actual value beside it must be that of the index within rtol and atol. Integer values
    and scores are tied if they are identical. NaN ties with nothing. `max_show` bounds the indices listed.

    Raises `TypeError` or `ValueError` for arguments that cannot be. A missing output or scores, or one of another
    shape, fails and says "compare_fn misconfigured".
    """
    vals_name = name_of("vals_name", vals_name)
    dim, max_show = whole_number("dim", dim, -64, 63), whole_number("max_show", max_show, 0)
    if not isinstance(descending, bool):
        raise TypeError(f"descending={descending!r}: give True or False")
    if scores is not None:
        name_of("scores", scores)

    def compare_topk(
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        actual_outputs: dict[str, torch.Tensor],
        expected_outputs: dict[str, torch.Tensor],
        inputs: dict[str, torch.Tensor],
        rtol: float,
        atol: float,
    ) -> tuple[bool, str]:
        wrong = _not_indices(actual, expected, dim)
        if wrong:
            return False, wrong
        got, wanted = actual_outputs.get(vals_name), expected_outputs.get(vals_name)
        held = None if scores is None else inputs.get(scores, expected_outputs.get(scores))
        if got is not None and wanted is None and torch.equal(actual, expected):
            return True, _passing(Found(actual.numel()))
        for what, name, tensor, known in (
            ("actual output", vals_name, got, actual_outputs),
            ("expected output", vals_name, wanted, expected_outputs),
            ("input or expected output", scores, held, {**inputs, **expected_outputs}),
        ):
            if tensor is None and name is not None:
                return False, f"compare_fn misconfigured: no {what} is named {name!r}; there are {list(known)}"
        assert got is not None and wanted is not None
        wrong = _unfit(vals_name, got, wanted, scores, held, actual, dim)
        if wrong:
            return False, wrong
        rows = _Rows(tuple(actual.shape), dim, rtol, atol, descending, max_show, held)
        found = rows.judge(actual, expected, wanted, got)
        return found.wrong == 0, _words(found, rows, vals_name, scores) if found.wrong else _passing(found)

    given = [repr(vals_name), *([f"dim={dim}"] if dim != -1 else []), *([] if descending else ["descending=False"])]
    given += [f"scores={scores!r}"] if scores else []
    compare_topk.__name__ = f"topk_pair_compare({', '.join(given)})"
    return compare_topk


class Why(Enum):
    """Why an index is wrong, the first reason that holds."""

    DUPLICATE = 1
    OUT_OF_RANGE = 2
    NOT_EXPECTED = 3  # and without the scores nothing can prove it right
    NO_TIE = 4
    LEFT_OUT = 5  # tied, but the golden function would have had to choose it, unless it has another reason
    VALUE = 6  # right by itself, but the value beside it is another's


@dataclass(frozen=True)
class Wrong:
    """A wrong index: where, what stands there, and what it was held against (values, or scores if they are known)."""

    why: Why
    at: tuple[int, ...]
    expected: int
    got: int
    expected_score: float | int | None
    got_score: float | int | None  # of the index that the output holds
    other: tuple[int, ...] | None  # where the index stands too: in the row itself, or else in the expected one
    value: float | int
    right_value: float | int


@dataclass
class Found:
    """What was found: counts over all elements, and the first wrong ones."""

    elements: int
    swapped: int = 0
    wrong: int = 0
    wrong_rows: int = 0
    reasons: Counter[Why] = field(default_factory=Counter)
    first: list[Wrong] = field(default_factory=list)


@dataclass(frozen=True)
class _Judged:
    """Rows of indices, each judged; all of shape [rows, k]."""

    why: torch.Tensor  # `Why`, 0 where right
    wanted: torch.Tensor  # value or score of the expected index
    held: torch.Tensor  # of the actual one
    has_wanted: torch.Tensor  # whether there is one
    has_held: torch.Tensor
    right: torch.Tensor  # the value that belongs to the actual index


class _Rows:
    """Judges index rows against expected ones, piece by piece; each piece holds whole rows."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dim: int,
        rtol: float,
        atol: float,
        descending: bool,
        max_show: int,
        scores: torch.Tensor | None,
    ) -> None:
        self.dim = dim % len(shape)
        self.k = shape[dim]
        self.others = [size for axis, size in enumerate(shape) if axis != self.dim]
        self.rtol, self.atol, self.descending, self.max_show = rtol, atol, descending, max_show
        self.scores = None if scores is None else scores.detach().movedim(self.dim, -1)

    def judge(self, *tensors: torch.Tensor) -> Found:
        """Of the actual indices, the expected ones, the expected values and the actual ones, all of one shape."""
        found = Found(tensors[0].numel())
        if found.elements == 0:
            return found
        rows = max(1, ELEMENTS // self.k)
        for part in visit(self._look, *(one.movedim(self.dim, -1) for one in tensors), elements=rows * self.k):
            found.swapped += part.swapped
            found.wrong += part.wrong
            found.wrong_rows += part.wrong_rows
            found.reasons += part.reasons
            found.first = [*found.first, *part.first][: self.max_show]
        return found

    def _look(self, start: int, a: torch.Tensor, e: torch.Tensor, v: torch.Tensor, got: torch.Tensor) -> Found:
        if torch.equal(a, e):
            return Found(0)
        a, e, v, got = (one.reshape(-1, self.k) for one in (a, e, v, got))
        touched = (a != e).any(1).nonzero().flatten()
        a, e = (one[touched].to(torch.int64) for one in (a, e))
        v, got = (_exact(one[touched]) for one in (v, got))
        row = touched + start // self.k
        judged = self._judge(row, a, e, v, got)
        wrong = judged.why != 0
        count = int(wrong.sum())
        swapped = int((a != e).sum()) - count
        if count == 0:
            return Found(0, swapped)
        reasons = Counter({reason: int((judged.why == reason.value).sum()) for reason in Why})
        first = [
            Wrong(
                why=Why(int(judged.why[r, p])),
                at=self.index(int(row[r]), p),
                expected=int(e[r, p]),
                got=int(a[r, p]),
                expected_score=judged.wanted[r, p].item() if judged.has_wanted[r, p] else None,
                got_score=judged.held[r, p].item() if judged.has_held[r, p] else None,
                other=self._elsewhere(int(row[r]), p, a[r], e[r]),
                value=got[r, p].item(),
                right_value=judged.right[r, p].item(),
            )
            for r, p in wrong.nonzero()[: self.max_show].tolist()
        ]
        return Found(0, swapped, count, int(wrong.any(1).sum()), +reasons, first)

    def _judge(
        self, row: torch.Tensor, a: torch.Tensor, e: torch.Tensor, v: torch.Tensor, got: torch.Tensor
    ) -> _Judged:
        """Rows of indices and values, [rows, k]; `row` is the number of each in the output."""
        ordered, order = e.sort(dim=1, stable=True)
        low = torch.searchsorted(ordered, a)
        place = low.clamp(max=self.k - 1)
        chosen = ordered.gather(1, place) == a  # is one of the row's expected indices
        right = v.gather(1, order.gather(1, place))  # the expected value of the index that stands there
        own = a.sort(dim=1).values
        times = torch.searchsorted(own, a, right=True) - torch.searchsorted(own, a)
        allowed = torch.where(chosen, torch.searchsorted(ordered, a, right=True) - low, 1)
        bad = {Why.DUPLICATE: times > allowed}
        if self.scores is None:
            wanted, held, has_wanted, has_held = v, right, torch.ones_like(chosen), chosen
            bad[Why.OUT_OF_RANGE] = ~chosen & (a < 0)
            bad[Why.NOT_EXPECTED] = ~chosen
            bad[Why.NO_TIE] = ~self._close(held, wanted)
        else:
            wanted, held = self._scores_at(row, e), self._scores_at(row, a)
            has_wanted, has_held = self._inside(e), self._inside(a)  # padding is out of range, and has no score
            bad[Why.OUT_OF_RANGE] = ~chosen & ~has_held
            bad[Why.NO_TIE] = ~(has_wanted & has_held & self._close(held, wanted))
            bad[Why.LEFT_OUT] = ~chosen & self._better(row, e, held)
            if v.dtype == wanted.dtype:  # else the values can't be the scores themselves
                right = torch.where(~chosen & self._close(v, wanted), held, torch.where(chosen, right, v))
            else:
                right = torch.where(chosen, right, v)
        bad[Why.VALUE] = ~self._close(got, right)
        why = torch.zeros_like(a, dtype=torch.int8)
        for reason in sorted(bad, key=lambda one: one.value, reverse=True):
            why[(a != e) & bad[reason]] = reason.value
        return _Judged(why, wanted, held, has_wanted, has_held, right)

    def _elsewhere(self, row: int, position: int, a: torch.Tensor, e: torch.Tensor) -> tuple[int, ...] | None:
        """Where the index at a position of a row stands too, in the row itself or else in the expected one."""
        for side in (a, e):
            for other in (side == a[position]).nonzero().flatten().tolist():
                if other != position:
                    return self.index(row, other)
        return None

    def _inside(self, index: torch.Tensor) -> torch.Tensor:
        assert self.scores is not None
        return (index >= 0) & (index < self.scores.shape[-1])

    def index(self, row: int, position: int) -> tuple[int, ...]:
        """The N-d index in the output of a row's element."""
        at = index_of(row, self.others)
        return (*at[: self.dim], position, *at[self.dim :])

    def _scores_at(self, row: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """The scores of indices in [rows, k]; of one out of range, that of another one."""
        assert self.scores is not None
        axes = []
        for size in reversed(self.others):
            axes.append((row % size)[:, None])
            row = row // size
        axes = [*reversed(axes), index.clamp(0, self.scores.shape[-1] - 1)]
        return _exact(self.scores[tuple(axes)])

    def _better(self, row: torch.Tensor, e: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
        """Which scores are better than the worst that the golden function chose in their row.

        All are where it had too few candidates to choose from, and padded the row with an index out of range.
        """
        assert self.scores is not None
        padded = ~self._inside(e).all(1, keepdim=True)
        chosen = self._scores_at(row, e)
        worst = (chosen.amin if self.descending else chosen.amax)(1, keepdim=True).expand_as(held)
        better = held > worst if self.descending else held < worst
        return padded | (better & ~self._close(held, worst))

    def _close(self, a: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        if not a.is_floating_point():
            return a == e
        apart = (a - e).abs()
        return (a == e) | (apart.isfinite() & (apart <= self.atol + self.rtol * e.abs()))


def _exact(values: torch.Tensor) -> torch.Tensor:
    """As fp64 or int64, in which all that is compared is exact and in the values' order."""
    if values.is_floating_point():
        return values.to(torch.float64)
    if values.dtype == torch.uint64:
        return values.view(torch.int64) ^ torch.iinfo(torch.int64).min
    return values.to(torch.int64)


def _not_indices(actual: torch.Tensor, expected: torch.Tensor, dim: int) -> str:
    wrong = unlike(actual, expected)
    if wrong:
        return wrong
    if actual.dtype.is_floating_point or actual.dtype.is_complex or actual.dtype == torch.bool:
        return f"the indices are of dtype {dtype_name(actual.dtype)}: indices are integers, such as int32"
    if not -actual.dim() <= dim < actual.dim():
        return f"compare_fn misconfigured: dim={dim} is no axis of the indices' shape {list(actual.shape)}"
    return ""


def _unfit(
    vals_name: str,
    got: torch.Tensor,
    wanted: torch.Tensor,
    scores: str | None,
    chosen_from: torch.Tensor | None,
    indices: torch.Tensor,
    dim: int,
) -> str:
    """Why values or scores do not belong to the indices; nothing if they do."""
    wrong = "compare_fn misconfigured:"
    of = list(indices.shape)
    for side, values in (("actual", got), ("expected", wanted)):
        if list(values.shape) != of:
            return f"{wrong} the {side} {vals_name!r} is of shape {list(values.shape)}, the indices are {of}"
    if got.dtype != wanted.dtype:
        return f"{vals_name!r} is of dtype {dtype_name(got.dtype)}, expected {dtype_name(wanted.dtype)}"
    for name, numbers in ((vals_name, wanted), (scores, chosen_from)):
        if numbers is not None and (numbers.dtype.is_complex or numbers.dtype == torch.bool):
            return f"{wrong} {name!r} is of dtype {dtype_name(numbers.dtype)}, which has no order"
    if chosen_from is None:
        return ""
    axis, shape = dim % indices.dim(), list(chosen_from.shape)
    if len(shape) != len(of) or [*shape[:axis], *shape[axis + 1 :]] != [*of[:axis], *of[axis + 1 :]]:
        return f"{wrong} the scores {scores!r} are of shape {shape}, the indices {of}: only axis {axis} may differ"
    if shape[axis] == 0 and indices.numel():
        return f"{wrong} the scores {scores!r} of shape {shape} hold no candidates"
    return ""


def _passing(found: Found) -> str:
    if found.swapped == 0:
        return f"all {found.elements} indices are as expected"
    same = found.elements - found.swapped
    return f"{same} of {found.elements} indices are as expected, {found.swapped} others tied with them"


def _words(found: Found, rows: _Rows, vals_name: str, scores: str | None) -> str:
    by = f"{scores or vals_name!r} within rtol={rows.rtol:g}, atol={rows.atol:g}"
    count = found.elements // rows.k
    lines = [
        f"{found.wrong} of {found.elements} indices are wrong, in {found.wrong_rows} of {count} rows "
        f"(k={rows.k}, tied by {by})"
    ]
    lines += [_line(wrong, rows, vals_name, "value" if scores is None else "score") for wrong in found.first]
    hidden = found.wrong - len(found.first)
    if hidden:
        lines.append(f"... and {hidden} more")
    if found.reasons[Why.NOT_EXPECTED]:
        lines.append(
            "an index that the golden function did not choose is right only in a tie, which the scores alone can "
            'prove: give scores="the input that holds them"'
        )
    return "\n".join(lines)


def _line(wrong: Wrong, rows: _Rows, vals_name: str, kind: str) -> str:
    expected = f"expected {wrong.expected}"
    got = f"got {wrong.got}"
    if wrong.why in (Why.NO_TIE, Why.LEFT_OUT, Why.NOT_EXPECTED) and wrong.expected_score is not None:
        expected += f" ({kind} {number(wrong.expected_score)})"
    if wrong.why in (Why.NO_TIE, Why.LEFT_OUT) and wrong.got_score is not None:
        got += f" ({kind} {number(wrong.got_score)})"
    known = "from 0" if rows.scores is None else f"0 to {rows.scores.shape[-1] - 1}"
    says = {
        Why.DUPLICATE: f", which the row holds at {at(wrong.other or ())} too",
        Why.OUT_OF_RANGE: f", which is out of range ({known})",
        Why.NOT_EXPECTED: ", which is none of the row's expected indices",
        Why.NO_TIE: ": no tie",
        Why.LEFT_OUT: ", which the golden function left out though it is as good: is it masked?",
        Why.VALUE: f" in a tie, but {vals_name!r} holds {number(wrong.value)} there instead of "
        f"{number(wrong.right_value)}",
    }
    return f"{at(wrong.at)} {expected}, {got}{says[wrong.why]}"
