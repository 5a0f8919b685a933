"""The teeth test: expected outputs damaged in the ways in which kernels fail, which a policy must not let pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from golden_tasks.records import Bite, OutputVerdict
from golden_tasks.results import Failure, Status
from golden_tasks.validation.compare import compare

_SEED = 0
Tensors = Mapping[str, torch.Tensor]
Judge = Callable[[Tensors], list[OutputVerdict]]  # outputs -> their verdicts


def bite(expected: Tensors, judge: Judge, tiles: Mapping[str, int]) -> list[Bite]:
    """What the policy says of each damage to each output; the other outputs are as expected.

    `judge` holds outputs against the expected ones under the case's policy, `tiles` are its tile parameters. A damage
    that does not apply to an output, or changes nothing in it, is told with the reason.
    """
    bites = []
    for name, tensor in expected.items():
        grid = Grid.of(tensor, tiles)
        for damage, do in DAMAGES.items():
            damaged = do(tensor, grid) if tensor.numel() else "no elements"
            if isinstance(damaged, str):
                bites.append(Bite(output=name, damage=damage, left_out=damaged))
                continue
            if _same(damaged, tensor):
                bites.append(Bite(output=name, damage=damage, left_out="it changes nothing here"))
                continue
            wrong = [v for v in judge({**expected, name: damaged}) if v.status != Status.PASSED.value]
            bites.append(Bite(output=name, damage=damage, caught=bool(wrong), said=_said(wrong, name)))
    return bites


def check_blind(blind: Mapping[str, str], outputs: Sequence[str]) -> None:
    """Raises `Failure` (CASE_ERROR) for a blind spot that is neither a damage nor `output: damage`."""
    known = {*DAMAGES, *(f"{output}: {damage}" for output in outputs for damage in DAMAGES)}
    unknown = [damage for damage in blind if damage not in known]
    if unknown:
        said = f"blind names {unknown}; the damages are {', '.join(DAMAGES)}, each also as 'output: damage'"
        raise Failure(Status.CASE_ERROR, said)


def _said(wrong: list[OutputVerdict], name: str) -> str:
    """The first line of what is said of a damage to the output `name`."""
    if not wrong:
        return ""
    whose = "" if wrong[0].name == name else f"{wrong[0].name}: "
    return f"{whose}{wrong[0].message}".splitlines()[0]


@dataclass(frozen=True)
class Grid:
    """An output as rows and columns, in tiles: the last two axes, with all others folded into the rows."""

    rows: int
    columns: int
    tile_rows: int
    tile_columns: int

    @classmethod
    def of(cls, tensor: torch.Tensor, tiles: Mapping[str, int]) -> Grid:
        """The grid of an output: the case's first tile parameter that fits its rows and its last that fits its columns.

        An axis that none fits is cut in halves.
        """
        columns = tensor.shape[-1] if tensor.dim() else 1
        rows = tensor.numel() // columns if columns else 0
        sizes = list(tiles.values())
        return cls(rows, columns, _fitting(sizes, rows), _fitting(sizes[::-1], columns))

    @property
    def across(self) -> int:
        """How many tiles lie beside each other."""
        return -(-self.columns // self.tile_columns)

    @property
    def count(self) -> int:
        return -(-self.rows // self.tile_rows) * self.across

    def tile(self, number: int) -> tuple[slice, slice]:
        """The rows and columns of a tile, numbered along the rows."""
        down, across = divmod(number, self.across)
        rows = slice(down * self.tile_rows, min((down + 1) * self.tile_rows, self.rows))
        return rows, slice(across * self.tile_columns, min((across + 1) * self.tile_columns, self.columns))


Damage = Callable[[torch.Tensor, Grid], "torch.Tensor | str"]  # (expected, grid) -> damaged, or why it does not apply
DAMAGES: dict[str, Damage] = {}  # name -> what it does


def _damage(name: str) -> Callable[[Damage], Damage]:
    def register(do: Damage) -> Damage:
        DAMAGES[name] = do
        return do

    return register


@_damage("zeros")
def _zeros(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    return torch.zeros_like(expected)


@_damage("another run's output")
def _other(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    """The same values in other places: as plausible as an output that belongs to other inputs."""
    if expected.numel() < 2:
        return "fewer than two elements"
    order = torch.randperm(expected.numel(), generator=torch.Generator().manual_seed(_SEED))
    return expected.reshape(-1)[order].view(expected.shape)


@_damage("first tile everywhere")
def _first_tile(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    if grid.count < 2:
        return "one tile"
    damaged, matrix = _matrix(expected, grid)
    first = matrix[grid.tile(0)].clone()
    for number in range(1, grid.count):
        place = matrix[grid.tile(number)]
        place[:] = first[: place.shape[0], : place.shape[1]]
    return damaged


@_damage("swapped tiles")
def _swapped(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    """The first two tiles of one shape that differ."""
    if grid.count < 2:
        return "one tile"
    damaged, matrix = _matrix(expected, grid)
    first = matrix[grid.tile(0)]
    for number in range(1, grid.count):
        other = matrix[grid.tile(number)]
        if other.shape == first.shape and not _same(other, first):
            held = first.clone()
            first[:] = other
            other[:] = held
            return damaged
    return "no two tiles of one shape differ"


@_damage("missing tail")
def _tail(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    """The last tile holds zeros."""
    if grid.count < 2:
        return "one tile"
    damaged, matrix = _matrix(expected, grid)
    matrix[grid.tile(grid.count - 1)] = 0
    return damaged


@_damage("transposed tile")
def _transposed(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    """The largest square at the first tile's corner."""
    size = min(grid.tile_rows, grid.tile_columns, grid.rows, grid.columns)
    if size < 2:
        return "one row or one column"
    damaged, matrix = _matrix(expected, grid)
    square = matrix[:size, :size]
    square[:] = square.t().clone()
    return damaged


@_damage("one row off by one")
def _row(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    """The middle row, its elements one place further."""
    if grid.columns < 2:
        return "one column"
    damaged, matrix = _matrix(expected, grid)
    row = matrix[grid.rows // 2]
    row[:] = row.roll(1)
    return damaged


@_damage("one element wrong")
def _element(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    """The middle one: another sign, or another value where it is zero."""
    damaged, matrix = _matrix(expected, grid)
    flat = matrix.view(-1)
    at = flat.numel() // 2
    value = flat[at].item()
    if expected.dtype == torch.bool:
        value = not value
    elif _is_float(expected):
        value = -value or 1.0
    else:
        value = value - 1 if value > 0 else value + 1
    flat[at] = torch.tensor(value, dtype=_wide(expected).dtype if _is_float(expected) else expected.dtype)
    return damaged


@_damage("one NaN")
def _nan(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    return _one(expected, grid, float("nan"))


@_damage("one infinity")
def _infinity(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    return _one(expected, grid, float("inf"))


@_damage("scaled by 1.01")
def _scaled(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    if not _is_float(expected):
        return "no floating-point numbers"
    return (_wide(expected) * 1.01).to(expected.dtype)


@_damage("rounded to bf16")
def _rounded(expected: torch.Tensor, grid: Grid) -> torch.Tensor | str:
    if not _is_float(expected):
        return "no floating-point numbers"
    if expected.dtype.is_complex:
        return torch.view_as_complex(torch.view_as_real(expected).to(torch.bfloat16).to(expected.real.dtype))
    return expected.to(torch.bfloat16).to(expected.dtype)


def _one(expected: torch.Tensor, grid: Grid, value: float) -> torch.Tensor | str:
    if not _is_float(expected):
        return "no floating-point numbers"
    damaged, matrix = _matrix(expected, grid)
    special = torch.tensor(value, dtype=_wide(expected).dtype).to(expected.dtype)
    kept = _wide(special)
    if not bool(kept.isnan() if value != value else kept.isinf()):
        return f"{str(expected.dtype).removeprefix('torch.')} has none"
    matrix[grid.rows // 3, grid.columns // 3] = special
    return damaged


def _matrix(expected: torch.Tensor, grid: Grid) -> tuple[torch.Tensor, torch.Tensor]:
    """A copy to be damaged, and the same memory as rows and columns."""
    copy = expected.detach().clone(memory_format=torch.contiguous_format)
    return copy, copy.view(grid.rows, grid.columns)


def _fitting(sizes: list[int], extent: int) -> int:
    return next((size for size in sizes if 0 < size < extent), max(1, -(-extent // 2)))


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.dtype.is_complex else torch.float64)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same values, NaN being one."""
    return compare(one, other, 0.0, 0.0, equal_nan=True).mismatches == 0
