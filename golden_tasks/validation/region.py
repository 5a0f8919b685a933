"""The valid rows of an output whose buffer is larger than what a kernel fills, and the tail behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from golden_tasks.specs import dtype_name
from golden_tasks.validation.chunks import index_of, visit
from golden_tasks.validation.comparator import name_of, whole_number
from golden_tasks.validation.words import at, value


class Unfit(ValueError):
    """What a comparator was told of valid rows does not fit the tensors that it was given."""


@dataclass(frozen=True)
class Region:
    """The first `valid_rows` rows of an axis: a number, the name of a tensor that holds it, or None for all.

    `zero_tail` asks for zeros behind them. Raises `TypeError` or `ValueError` for arguments that cannot be.
    """

    valid_rows: int | str | None
    valid_axis: int
    zero_tail: bool

    def __post_init__(self) -> None:
        if isinstance(self.valid_rows, str):
            name_of("valid_rows", self.valid_rows)
        elif self.valid_rows is not None:
            whole_number("valid_rows", self.valid_rows, 0)
        whole_number("valid_axis", self.valid_axis, -64, 63)
        if not isinstance(self.zero_tail, bool):
            raise TypeError(f"zero_tail={self.zero_tail!r}: give True or False")
        if self.zero_tail and self.valid_rows is None:
            raise ValueError("zero_tail=True: there is no tail without valid_rows")

    def spelled(self) -> list[str]:
        """The arguments that are not the usual ones, as a label has them."""
        given = [] if self.valid_rows is None else [f"valid_rows={self.valid_rows!r}"]
        given += [f"valid_axis={self.valid_axis}"] if self.valid_axis else []
        return given + (["zero_tail=True"] if self.zero_tail else [])

    def part(
        self, output: torch.Tensor, inputs: Mapping[str, torch.Tensor], expected_outputs: Mapping[str, torch.Tensor]
    ) -> Part:
        """Where the rows end in an output. Raises `Unfit`."""
        if self.valid_rows is None:
            return Part(0, None)
        axes = output.dim()
        if not -axes <= self.valid_axis < axes:
            raise Unfit(
                f"compare_fn misconfigured: valid_axis={self.valid_axis}, "
                f"but the output has {axes} axes: {list(output.shape)}"
            )
        axis = self.valid_axis % axes
        rows = self._rows(inputs, expected_outputs)
        extent = output.shape[axis]
        if not 0 <= rows <= extent:
            told = f"{rows} (the value of {self.valid_rows!r})" if isinstance(self.valid_rows, str) else str(rows)
            raise Unfit(f"valid_rows is {told}, but axis {axis} of the output has {extent} rows")
        return Part(axis, rows)

    def _rows(self, inputs: Mapping[str, torch.Tensor], expected_outputs: Mapping[str, torch.Tensor]) -> int:
        if not isinstance(self.valid_rows, str):
            return int(self.valid_rows or 0)
        named = {**expected_outputs, **inputs}
        if self.valid_rows not in named:
            known = [*inputs, *expected_outputs]
            raise Unfit(
                f"compare_fn misconfigured: valid_rows={self.valid_rows!r} names neither an input nor an output; "
                f"there are {known}"
            )
        held = torch.as_tensor(named[self.valid_rows])
        if held.numel() != 1 or held.dtype == torch.bool or held.dtype.is_floating_point or held.dtype.is_complex:
            kind = f"{dtype_name(held.dtype)} {list(held.shape)}"
            raise Unfit(f"compare_fn misconfigured: valid_rows={self.valid_rows!r} is {kind}, not one integer")
        return int(held.item())


@dataclass(frozen=True)
class Part:
    """The first rows of an axis, of an output of known shape; all of it if `rows` is None."""

    axis: int
    rows: int | None

    def valid(self, output: torch.Tensor) -> torch.Tensor:
        """The part that is compared, a view. An element's index in it is its index in the output."""
        return output if self.rows is None else output.narrow(self.axis, 0, self.rows)

    def words(self, output: torch.Tensor) -> str:
        """` in the first 10 of 128 rows (axis 0)`; nothing for the whole of it."""
        if self.rows is None:
            return ""
        return f" in the first {self.rows} of {output.shape[self.axis]} rows (axis {self.axis})"

    def tail_fault(self, output: torch.Tensor) -> str | None:
        """What of the rows behind is not zero, in words; None if all are."""
        assert self.rows is not None
        tail = output.detach().narrow(self.axis, self.rows, output.shape[self.axis] - self.rows)
        found = [piece for piece in visit(_not_zero, tail) if piece is not None]
        if not found:
            return None
        index = list(index_of(found[0][0], tail.shape))
        index[self.axis] += self.rows
        count = sum(piece[1] for piece in found)
        shown = f"{at(index)} got {value(output[tuple(index)])}"
        return f"{count} of {tail.numel()} elements behind the {self.rows} valid rows are not zero, first {shown}"


def _not_zero(start: int, piece: torch.Tensor) -> tuple[int, int] | None:
    """Where the first element lies that is not zero, and how many there are."""
    if piece.dtype.is_complex:
        piece = torch.view_as_real(piece).abs().amax(-1)
    elif piece.dtype.is_floating_point and piece.dtype.itemsize == 1:
        piece = piece.to(torch.float32)
    elif piece.dtype == torch.bool:
        piece = piece.view(torch.uint8)
    places = (piece != 0).nonzero().flatten()
    return (start + int(places[0]), places.numel()) if places.numel() else None
