"""Bad elements counted along each axis and in the tiles, and what can be claimed of all of them from the counts."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod
from threading import Lock

import torch

from golden_tasks.validation.chunks import visit
from golden_tasks.validation.where.axis import narrowest
from golden_tasks.validation.where.claims import Along, Box, Claim, Run, Span, Tile, Tiles, Where, grid_of

COUNTED = 1 << 22  # counters for one axis, or for all tiles, at most: bounds the memory, whatever the tensor's size
_DENSE = 0.9  # the share of a claim's elements that are bad, from which on it may be most of the tensor
_BLURRED = 4  # times as many elements, at most, are in the tiles that a set of cores might have


def locate(bad: torch.Tensor, tiles: Mapping[str, object] | None = None) -> Where:
    """Where a bool mask of any shape is True, folded onto the tile parameters among `tiles`, name -> value."""
    marks = Marks(tuple(bad.shape), tiles)
    visit(lambda start, piece: marks.add(piece.nonzero().flatten() + start), bad)
    return marks.where()


class Marks:
    """Counts of bad elements along each axis and in the tiles; `add` may be called from several threads.

    Sums do not depend on the order, so that the pieces of a visit may share them.

    An axis of more than `COUNTED` elements keeps no counts, only its first and last bad index.
    """

    def __init__(self, shape: tuple[int, ...], tiles: Mapping[str, object] | None = None) -> None:
        self.shape = tuple(shape) or (1,)
        self.bad = 0
        self._lock = Lock()
        self._along = [torch.zeros(n if n <= COUNTED else 0, dtype=torch.int64) for n in self.shape]
        self._bounds = [(n, -1) for n in self.shape]
        self._run = (prod(self.shape), -1)
        last = len(self.shape) - 1
        self._cut = range(max(0, last - 1), last + 1)  # the axes that tiles may cut
        self._names = [Tile(name, size) for name, size in (tiles or {}).items() if type(size) is int and size > 1]
        while self._names and prod(grid_of(self.shape, self._cell())) > COUNTED:
            self._names.pop()  # the last one is usually that of a reduction
        self._block = self._cell()  # what is counted as one
        self._cells = torch.zeros(prod(grid_of(self.shape, self._block)) if self._names else 0, dtype=torch.int64)

    def add(self, flat: torch.Tensor) -> None:
        """Notes the elements of those row-major numbers, int64 in ascending order."""
        if flat.numel() == 0:
            return
        counted, bounds = [], []
        cells, stride, rest = torch.zeros_like(flat), 1, flat
        for axis in reversed(range(len(self.shape))):
            extent, size = self.shape[axis], self._block[axis]
            at = rest % extent if axis else rest
            rest = rest // extent if axis else rest
            bounds.append(_ends(at))
            if self._along[axis].numel():
                counted.append((self._along[axis], _counts(at, *bounds[-1]), bounds[-1][0]))
            if self._names:
                cells += at // size * stride
                stride *= -(-extent // size)
        if self._names:
            ends = _ends(cells)
            counted.append((self._cells, _counts(cells, *ends), ends[0]))
        with self._lock:
            self.bad += flat.numel()
            self._run = _wider(self._run, (int(flat[0]), int(flat[-1])))
            self._bounds = [_wider(*pair) for pair in zip(self._bounds, reversed(bounds), strict=True)]
            for into, counts, start in counted:
                into[start : start + counts.numel()] += counts

    def where(self) -> Where:
        """What can be said of all that was added."""
        elements = prod(self.shape)
        if self.bad == 0 or self.bad == elements:
            return Where(self.shape, self.bad, block=self._usual_block())
        claims = [self._box(), self._neighbours(), *self._tile_sets()]
        telling = [c for c in claims if c and (2 * c.size <= elements or self._fills(c))]
        telling.sort(key=lambda claim: claim.size)  # stable: of two of one size the simpler kind comes first
        sets = [c for c in telling if isinstance(c, Tiles)]
        shared = [c for c in sets if c.every and c is not telling[0] and c.size <= _BLURRED * telling[0].size]
        named = next((c.named for c in sets if len(c.named) == 2), None)
        block = (named[0], named[1]) if named else self._usual_block()
        return Where(self.shape, self.bad, (*telling[:1], *shared[:1]), block)

    def _fills(self, claim: Claim) -> bool:
        """Whether almost every element of a claim is bad, so that it says something however large it is."""
        return _DENSE * claim.size <= self.bad and claim.size < prod(self.shape)

    def _usual_block(self) -> tuple[Tile | None, Tile | None]:
        rows, columns = self._rows_and_columns()
        return rows[0] if rows else None, columns[0] if columns else None

    def _rows_and_columns(self) -> tuple[list[Tile], list[Tile]]:
        last = len(self.shape) - 1
        return self._tiles_of(last - 1), self._tiles_of(last)

    def _tiles_of(self, axis: int) -> list[Tile]:
        """The tiles that could cut an axis, the likeliest first: rows are named before columns."""
        if axis not in self._cut:
            return []
        is_columns = axis == self._cut[-1] and axis > 0
        order = self._names[1:] + self._names[:1] if is_columns else self._names
        other = "ROW" if is_columns else "COL"  # a name that says which axis it cuts
        sizes: dict[int, Tile] = {}
        for tile in order:
            if len(self.shape) > 1 and other in tile.name.upper():
                continue
            if tile.size < self.shape[axis]:
                sizes.setdefault(tile.size, tile)
        return list(sizes.values())

    def _cell(self) -> tuple[int, ...]:
        """The largest block that every tile is made of: single elements on leading axes, else a whole axis."""
        cell = [1] * len(self.shape)
        for axis in self._cut:
            fitting = [tile.size for tile in self._names if tile.size < self.shape[axis]]
            cell[axis] = gcd(*fitting) if fitting else max(1, self.shape[axis])
        return tuple(cell)

    def _box(self) -> Box | None:
        along = [part for axis in range(len(self.shape)) if (part := self._part(axis))]
        box = Box(self.shape, tuple(along))
        if self._fills(box):
            return box
        # the most of an axis is worth a word only if nothing else explains as much
        along = [p for p in along if not isinstance(p, Span) or 2 * p.count(self.shape[p.axis]) <= self.shape[p.axis]]
        return Box(self.shape, tuple(along)) if along else None

    def _part(self, axis: int) -> Along | None:
        first, last = self._bounds[axis]
        counts = self._along[axis]
        hit = counts.nonzero().flatten() if counts.numel() else None
        return narrowest(Span(axis, first, last + 1), self.shape[axis], hit, self.bad, self._tiles_of(axis))

    def _neighbours(self) -> Run | None:
        first, last = self._run
        run = Run(self.shape, first, last + 1)
        return run if len(self.shape) > 1 and run.size == self.bad else None

    def _tile_sets(self) -> list[Tiles]:
        """The bad tiles of each grid that two of the names make, or else one: the fewest elements first."""
        rows, columns = self._rows_and_columns()
        pairs: list[tuple[Tile | None, Tile | None]] = [(r, c) for r in rows for c in columns if r.name != c.name]
        pairs = pairs or [(row, None) for row in rows] + [(None, column) for column in columns]
        found = [sets for pair in pairs if (sets := self._bad_tiles(*pair))]
        return sorted(found, key=lambda sets: sets.size)  # stable: the likeliest pair comes first

    def _bad_tiles(self, row: Tile | None, column: Tile | None) -> Tiles | None:
        last = len(self.shape) - 1
        block = [1] * len(self.shape)
        block[last] = column.size if column else self.shape[last]
        if last:
            block[last - 1] = row.size if row else self.shape[last - 1]
        hit = self._cells.view(grid_of(self.shape, self._block)) > 0
        for axis in self._cut:
            hit = _folded(hit, axis, -(-block[axis] // self._block[axis]))
        numbers = hit.flatten().nonzero().flatten()
        if 2 * numbers.numel() > hit.numel():
            return None
        return Tiles(self.shape, tuple(block), tuple(t for t in (row, column) if t), tuple(numbers.tolist()))


def _folded(hit: torch.Tensor, axis: int, times: int) -> torch.Tensor:
    """Whether anything is True in each group of `times` neighbours along an axis; the last group may be cut."""
    missing = -hit.shape[axis] % times
    if missing:
        shape = list(hit.shape)
        shape[axis] = missing
        hit = torch.cat([hit, torch.zeros(shape, dtype=torch.bool)], dim=axis)
    return hit.reshape(*hit.shape[:axis], -1, times, *hit.shape[axis + 1 :]).any(dim=axis + 1)


def _ends(values: torch.Tensor) -> tuple[int, int]:
    low, high = values.aminmax()
    return int(low), int(high)


def _wider(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])


def _counts(values: torch.Tensor, low: int, high: int) -> torch.Tensor:
    return torch.bincount(values - low, minlength=high + 1 - low)
