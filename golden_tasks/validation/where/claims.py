"""What can be claimed of the places of bad elements: sets of elements, each of which says what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from golden_tasks.validation.chunks import index_of

_CORES = 64  # that might share the tiles among them, at most


@dataclass(frozen=True)
class Tile:
    """A tile parameter and its value, in elements of an axis."""

    name: str
    size: int

    def __str__(self) -> str:
        return f"{self.name}={self.size}"

    def count(self, extent: int) -> int:
        """How many an axis has; it may cut the last one."""
        return -(-extent // self.size)


@dataclass(frozen=True)
class Span:
    """The indices `start` to `stop - 1` of an axis; with a tile: whole tiles of that size, or a part of one."""

    axis: int
    start: int
    stop: int
    tile: Tile | None = None

    @property
    def numbers(self) -> range:
        """The tiles that it reaches into; indices without a tile."""
        size = self.tile.size if self.tile else 1
        return range(self.start // size, (self.stop - 1) // size + 1)

    def holds(self, at: int) -> bool:
        return self.start <= at < self.stop

    def count(self, extent: int) -> int:
        return self.stop - self.start

    def is_whole(self, extent: int) -> bool:
        """Whether it is made of whole tiles; the axis may cut the last one."""
        size = self.tile.size if self.tile else 1
        return self.start % size == 0 and (self.stop % size == 0 or self.stop == extent)


@dataclass(frozen=True)
class Repeat:
    """The indices of an axis whose remainder by `period` lies in `start` to `stop - 1`.

    With a tile, `period` is the tile's size or a multiple of it, of which one whole tile is meant. `exact` if every one
    of these indices has a bad element.
    """

    axis: int
    period: int
    start: int
    stop: int
    tile: Tile | None = None
    exact: bool = True

    def holds(self, at: int) -> bool:
        return self.start <= at % self.period < self.stop

    def count(self, extent: int) -> int:
        whole, rest = divmod(extent, self.period)
        return whole * (self.stop - self.start) + max(0, min(rest, self.stop) - self.start)


@dataclass(frozen=True)
class Listed:
    """A few indices of an axis."""

    axis: int
    indices: tuple[int, ...]

    def holds(self, at: int) -> bool:
        return at in self.indices

    def count(self, extent: int) -> int:
        return len(self.indices)


Along = Span | Repeat | Listed


@dataclass(frozen=True)
class Box:
    """The elements that lie within every one of `along`, at most one for each axis."""

    shape: tuple[int, ...]
    along: tuple[Along, ...]

    @property
    def size(self) -> int:
        counts = {part.axis: part.count(self.shape[part.axis]) for part in self.along}
        return prod(counts.get(axis, extent) for axis, extent in enumerate(self.shape))

    def holds(self, index: tuple[int, ...]) -> bool:
        return all(part.holds(index[part.axis]) for part in self.along)


@dataclass(frozen=True)
class Run:
    """Neighbours in row-major order, the elements number `start` to `stop - 1`."""

    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    def holds(self, index: tuple[int, ...]) -> bool:
        return self.start <= flat_of(index, self.shape) < self.stop


@dataclass(frozen=True)
class Tiles:
    """The tiles of those `numbers`, counted in row-major order over the grid that `block` cuts `shape` into."""

    shape: tuple[int, ...]
    block: tuple[int, ...]  # a tile's extent on each axis
    named: tuple[Tile, ...]  # those of the last axes, rows before columns
    numbers: tuple[int, ...]

    @property
    def grid(self) -> tuple[int, ...]:
        return grid_of(self.shape, self.block)

    @property
    def size(self) -> int:
        return sum(prod(self._extents(number)) for number in self.numbers)

    @property
    def every(self) -> int | None:
        """n, if these are all the tiles that have one remainder by n."""
        total = prod(self.grid)
        if len(self.numbers) < 2:
            return None
        step = self.numbers[1] - self.numbers[0]
        is_so = self.numbers == tuple(range(self.numbers[0] % step, total, step))
        return step if is_so and 1 < step <= min(_CORES, total // 2) else None

    def coordinates(self, number: int) -> tuple[int, ...]:
        """A tile's place in the grid, without the axes of one tile."""
        return tuple(at for at, extent in zip(index_of(number, self.grid), self.grid, strict=True) if extent > 1)

    def holds(self, index: tuple[int, ...]) -> bool:
        at = tuple(i // size for i, size in zip(index, self.block, strict=True))
        return flat_of(at, self.grid) in self.numbers

    def _extents(self, number: int) -> list[int]:
        at = index_of(number, self.grid)
        return [min(size, extent - i * size) for i, size, extent in zip(at, self.block, self.shape, strict=True)]


Claim = Box | Run | Tiles


@dataclass(frozen=True)
class Where:
    """Where `bad` of a tensor's elements lie. Every claim holds for all of them; the most telling one comes first."""

    shape: tuple[int, ...]
    bad: int
    claims: tuple[Claim, ...] = ()
    block: tuple[Tile | None, Tile | None] = (None, None)  # a tile's rows and columns, as far as known

    @property
    def elements(self) -> int:
        return prod(self.shape)


def grid_of(shape: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """How many blocks lie along each axis; the last one may be cut."""
    return tuple(-(-extent // size) for extent, size in zip(shape, block, strict=True))


def flat_of(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The number of an element in row-major order."""
    number = 0
    for at, extent in zip(index, shape, strict=True):
        number = number * extent + at
    return number
