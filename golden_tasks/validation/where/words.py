"""The places of bad elements in words: a few for a summary, or a line for each claim."""

from __future__ import annotations

from math import prod

from golden_tasks.validation.where.axis import NAMED
from golden_tasks.validation.where.claims import Along, Box, Claim, Listed, Run, Span, Tiles, Where


def summary(found: Where) -> str:
    """The first claim in a few words, `all in the last column tile (TILE_N=64)`; nothing for a single element."""
    if not found.claims or found.bad < 2:
        return ""
    return f"all in {_claim(found.claims[0], brief=True)}"


def lines(found: Where) -> list[str]:
    """What is known of the places of the bad elements, a line for each claim."""
    if found.bad == 0 or found.elements == 1:
        return []
    if found.bad == found.elements:
        return ["everywhere: no element is right"]
    if not found.claims:
        share = found.bad / found.elements
        return [f"{'almost everywhere' if share > 0.9 else 'scattered'}: {_percent(share)} of all elements"]
    first, *others = found.claims
    if found.bad == 1:
        tile = _one_tile(first) if isinstance(first, Box) else ""
        return [f"in {tile}"] if tile else []
    dense = "every element" if first.size == found.bad else f"{_percent(found.bad / first.size)} of the elements"
    return [f"all in {_claim(first)}: {dense} there", *(f"they lie in {_claim(claim)}" for claim in others)]


def unit(axis: int, shape: tuple[int, ...]) -> tuple[str, str]:
    """What an index of an axis is called, one and many."""
    if len(shape) == 1:
        return "element", "elements"
    if axis >= len(shape) - 2:
        return ("column", "columns") if axis == len(shape) - 1 else ("row", "rows")
    return f"axis-{axis} index", f"axis-{axis} indices"


def _percent(share: float) -> str:
    if share < 1 and f"{100 * share:.1f}" == "100.0":
        return "over 99.9 %"
    for digits in (1, 3):
        text = f"{100 * share:.{digits}f}"
        if float(text) > 0:
            return f"{text} %"
    return "under 0.001 %"


def _claim(claim: Claim, brief: bool = False) -> str:
    if isinstance(claim, Run):
        return _run(claim)
    if isinstance(claim, Tiles):
        return _tiles(claim, brief)
    return _box(claim, brief)


def _run(run: Run) -> str:
    total = prod(run.shape)
    if run.stop == total:
        return f"the tail: the last {run.size} of {total} elements"
    if run.start == 0:
        return f"the first {run.size} of {total} elements in row-major order"
    return f"the neighbours {run.start}..{run.stop - 1} of {total} elements in row-major order"


def _tiles(tiles: Tiles, brief: bool) -> str:
    total, named = prod(tiles.grid), " x ".join(map(str, tiles.named))
    numbers = tiles.numbers
    if (step := tiles.every) is not None:
        few = numbers if len(numbers) <= NAMED else numbers[:3]
        listed = ", ".join(map(str, few)) + (", ..." if len(few) < len(numbers) else "")
        words = f"tiles {listed} of {total} ({named}), every {_ordinal(step)}"
        return words if brief else f"{words}, as one of {step} cores has"
    if len(numbers) == 1:
        grid = " x ".join(str(extent) for extent in tiles.grid if extent > 1)
        return f"tile {_coordinates(tiles, numbers[0])} of {grid} ({named})"
    if numbers == tuple(range(numbers[0], numbers[-1] + 1)):
        return f"the neighbouring tiles {numbers[0]}..{numbers[-1]} of {total} ({named})"
    if brief:
        return f"{len(numbers)} of {total} tiles ({named})"
    listed = ", ".join(_coordinates(tiles, number) for number in numbers[:NAMED])
    return f"{len(numbers)} of {total} tiles ({named}): {listed}" + (", ..." if len(numbers) > NAMED else "")


def _coordinates(tiles: Tiles, number: int) -> str:
    at = tiles.coordinates(number)
    return f"({', '.join(map(str, at))})" if len(at) > 1 else str(number)


def _box(box: Box, brief: bool) -> str:
    if tile := _one_tile(box):
        spans = [part for part in box.along if isinstance(part, Span)]
        if all(span.is_whole(box.shape[span.axis]) for span in spans):
            return tile
        return ", ".join([*(_span(span, box.shape) for span in spans), f"in {tile}"])
    return " in ".join(_along(part, box.shape, brief) for part in reversed(box.along))


def _one_tile(box: Box) -> str:
    """`tile (3, 1) of 4 x 4 (TILE_M=64 x TILE_N=64)`, if the box lies in one tile of the last two axes."""
    at, grid, named = [], [], []
    for part in box.along:
        if not isinstance(part, Span) or part.tile is None or len(part.numbers) > 1:
            return ""
        at.append(part.numbers[0])
        grid.append(part.tile.count(box.shape[part.axis]))
        named.append(str(part.tile))
    if len(at) != 2:
        return ""
    return f"tile ({at[0]}, {at[1]}) of {grid[0]} x {grid[1]} ({named[0]} x {named[1]})"


def _along(part: Along, shape: tuple[int, ...], brief: bool) -> str:
    if isinstance(part, Span):
        return _span_in_tiles(part, shape, brief)
    one, many = unit(part.axis, shape)
    if isinstance(part, Listed):
        return f"{many} {', '.join(map(str, part.indices))}"
    if part.tile is None:
        if part.stop - part.start == 1:
            return f"every {_ordinal(part.period)} {one} from {part.start}"
        return f"{many} {part.start}..{part.stop - 1} of every {part.period}"
    if part.period == part.tile.size:
        which = f"every {one} tile" if part.exact else f"the {one} tiles"
        return f"{_range(part.axis, shape, part.start, part.stop)} of {which} ({part.tile})"
    cores, first = part.period // part.tile.size, part.start // part.tile.size
    return f"every {_ordinal(cores)} {one} tile from tile {first} ({part.tile}), as one of {cores} cores has"


def _span_in_tiles(span: Span, shape: tuple[int, ...], brief: bool) -> str:
    """`the last row tile (TILE_M=64: rows 192..255)`, `rows 3..9 in row tile 0 of 4 (TILE_M=64)`."""
    if span.tile is None:
        return _span(span, shape)
    extent = shape[span.axis]
    numbers, total = span.numbers, span.tile.count(extent)
    tile = f"{unit(span.axis, shape)[0]} tile" if len(shape) > 1 else "tile"
    is_last = numbers[-1] == total - 1
    if len(numbers) == 1:
        words = f"the last {tile}" if is_last else f"{tile} {numbers[0]} of {total}"
    else:
        words = f"the last {len(numbers)} {tile}s" if is_last else f"{tile}s {numbers[0]}..{numbers[-1]} of {total}"
    if not span.is_whole(extent):
        return f"{_span(span, shape)} in {words} ({span.tile})"
    indices = "" if brief else f": {_range(span.axis, shape, span.start, span.stop)}"
    return f"{words} ({span.tile}{indices})"


def _span(span: Span, shape: tuple[int, ...]) -> str:
    """`row 3`, `rows 3..9`, `the last row (255)`, `the last 24 columns (232..255)`."""
    if span.stop != shape[span.axis] or span.axis < len(shape) - 2:
        return _range(span.axis, shape, span.start, span.stop)
    one, many = unit(span.axis, shape)
    size = span.stop - span.start
    return f"the last {one} ({span.start})" if size == 1 else f"the last {size} {many} ({span.start}..{span.stop - 1})"


def _range(axis: int, shape: tuple[int, ...], start: int, stop: int) -> str:
    one, many = unit(axis, shape)
    return f"{one} {start}" if stop - start == 1 else f"{many} {start}..{stop - 1}"


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
