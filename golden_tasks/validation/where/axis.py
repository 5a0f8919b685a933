"""The simplest set of one axis' indices that holds every bad one of them: a range, a repeated range, or a few."""

from __future__ import annotations

import torch

from golden_tasks.validation.where.claims import Along, Listed, Repeat, Span, Tile

NAMED = 6  # single rows, columns or tiles that are listed one by one


def narrowest(span: Span, extent: int, hit: torch.Tensor | None, bad: int, tiles: list[Tile]) -> Along | None:
    """What says most of an axis of `extent` indices; None if that is too little.

    `span` goes from the first to the last index that has one of the `bad` elements, `hit` are all that do, int64 in
    ascending order, if they are known. `tiles` might cut the axis, the likeliest first.
    """
    if hit is not None:
        if hit.numel() == extent:
            return None
        if hit.numel() == span.count(extent):
            return _tiled(span, extent, tiles)
        if repeated := _repeated(span.axis, hit, extent, tiles):
            return repeated
        few = hit.numel() <= NAMED and 4 * hit.numel() <= min(extent, bad)
        within = _within_each(span.axis, hit, tiles)
        if within and not (few and within.count(extent) > 2 * hit.numel()):
            return within
        if few:
            return Listed(span.axis, tuple(hit.tolist()))
    return _tiled(span, extent, tiles) if 2 * span.count(extent) <= extent else None


def _tiled(span: Span, extent: int, tiles: list[Tile]) -> Span:
    """The span with the likeliest tile that names it: as whole tiles, else as a part of one."""
    named = [Span(span.axis, span.start, span.stop, tile) for tile in tiles]
    whole = [s for s in named if s.is_whole(extent)]
    return next(iter([*whole, *(s for s in named if len(s.numbers) == 1)]), span)


def _repeated(axis: int, hit: torch.Tensor, extent: int, tiles: list[Tile]) -> Repeat | None:
    """Equal runs of indices at equal distances through the whole axis, if that is what the ascending `hit` is."""
    begins = torch.cat([torch.tensor([0]), (hit[1:] - hit[:-1] != 1).nonzero().flatten() + 1])
    starts = hit[begins]
    if starts.numel() < 2:
        return None
    start, period = int(starts[0]), int(starts[1] - starts[0])
    whole = Repeat(axis, period, start, start + int(begins[1]))
    ends = start >= period or bool((starts[1:] - starts[:-1] != period).any())
    if ends or whole.count(extent) != hit.numel() or not _all_held(whole, hit):
        return None
    for tile in tiles:
        one_tile = start % tile.size == 0 and whole.stop - start == tile.size
        if tile.size == period or (period % tile.size == 0 and one_tile):
            return Repeat(axis, period, start, whole.stop, tile)
    return whole if starts.numel() > 2 else None


def _within_each(axis: int, hit: torch.Tensor, tiles: list[Tile]) -> Repeat | None:
    """A small part of the tiles that holds every hit, if more than one tile is hit."""
    parts = []
    for tile in tiles:
        first, last = map(int, (hit % tile.size).aminmax())
        if 4 * (last + 1 - first) <= tile.size and int(hit[0]) // tile.size != int(hit[-1]) // tile.size:
            parts.append(Repeat(axis, tile.size, first, last + 1, tile, exact=False))
    return min(parts, key=lambda part: (part.stop - part.start) / part.period, default=None)


def _all_held(part: Repeat, hit: torch.Tensor) -> bool:
    offsets = hit % part.period
    return bool(((offsets >= part.start) & (offsets < part.stop)).all())
