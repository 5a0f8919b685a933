"""A picture of the error: a heat map of the whole output. Needs the extra `plot`; nothing is imported without it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from golden_tasks.validation.chunks import ELEMENTS, visit
from golden_tasks.validation.compare import distance, judged
from golden_tasks.validation.where import Marks, Tile

PIXELS = 1024  # of a side, at most
_CIRCLED = 100  # cells that fail, at most: fewer would go unseen
_LINES = 64  # of a tile grid along an axis, at most: more would hide the picture
_HALVES = (("Blues", range(0, 128)), ("YlOrRd", range(128, 256)))  # of the colours: what passes, what fails
_DECADES = 3  # of the colours, at least: from a thousandth of the tolerance to a thousand times it


@dataclass(frozen=True)
class Picture:
    """The largest error in each cell of a folded tensor, fp64 of at most `PIXELS` x `PIXELS`.

    `rows` x `columns` elements are shown, all but the last axis folded into the rows; a vector is folded into rows of
    `columns`. An error is in units of what is allowed, so that a cell is above 1 only if an element in it differs; or,
    if `absolute`, it is the difference itself. Infinity is an error without bound, NaN beyond the end of a vector.
    """

    cells: torch.Tensor
    rows: int
    columns: int
    absolute: bool

    @property
    def fails(self) -> torch.Tensor:
        return self.cells > (0 if self.absolute else 1)


def unavailable() -> str | None:
    """Why no picture can be saved, and what mends it; None if one can."""
    if find_spec("matplotlib") is not None:
        return None
    return "a picture needs matplotlib, which is not installed: pip install 'golden-tasks[plot]'"


def save_picture(
    path: str | os.PathLike[str],
    actual: torch.Tensor,
    expected: torch.Tensor,
    rtol: float,
    atol: float,
    *,
    equal_nan: bool = False,
    tiles: Mapping[str, object] | None = None,
    title: str = "",
) -> None:
    """Saves a PNG of where and by how much two tensors of one shape and dtype differ under the default comparison.

    `tiles` are the program's tile parameters, for the lines of the grid. Raises `ImportError` without matplotlib and
    `ValueError` for tensors without elements.
    """
    if reason := unavailable():
        raise ImportError(reason)
    if actual.numel() == 0:
        raise ValueError("there is no picture of a tensor without elements")
    picture, block = fold(actual, expected, rtol, atol, equal_nan=equal_nan, tiles=tiles)
    figure = _figure(picture, block, title, actual.shape)
    place = Path(path)
    beside = place.with_name(f"{place.name}.part")
    figure.savefig(beside, format="png", dpi=130)
    os.replace(beside, place)


def fold(
    actual: torch.Tensor,
    expected: torch.Tensor,
    rtol: float,
    atol: float,
    *,
    equal_nan: bool = False,
    tiles: Mapping[str, object] | None = None,
) -> tuple[Picture, tuple[Tile | None, Tile | None]]:
    """The largest errors in cells, and the tile of rows and of columns that fits where they lie. Reads both once."""
    exact = not (actual.dtype.is_floating_point or actual.dtype.is_complex)
    absolute = exact or rtol == atol == 0
    marks = Marks(tuple(actual.shape), tiles)
    columns = actual.shape[-1] if actual.dim() > 1 else _width(actual.numel(), marks)
    rows = -(-actual.numel() // columns)
    high, wide = -(-rows // PIXELS), -(-columns // PIXELS)
    down, across = -(-rows // high), -(-columns // wide)
    cells = torch.full((down * across,), -1.0, dtype=torch.float64)
    lock = Lock()

    def look(start: int, a: torch.Tensor, e: torch.Tensor) -> None:
        judgement = judged(a, e, rtol, atol, equal_nan)
        if absolute:
            error = distance(a, e).where(judgement.bad, 0.0)
        else:  # the share of a mismatch may be rounded to 1, and is never shown so
            error = judgement.share.where(judgement.bad, judgement.share.clamp(max=1.0))
            error = error.clamp(min=math.nextafter(1.0, 2.0)).where(judgement.bad, error)
        error = error.nan_to_num(nan=math.inf, posinf=math.inf)
        flat = torch.arange(start, start + a.numel())
        cell = flat // columns // high * across + flat % columns // wide
        first, last = int(cell.min()), int(cell.max())
        largest = torch.full((last + 1 - first,), -1.0, dtype=torch.float64)
        largest.scatter_reduce_(0, cell - first, error, "amax")
        marks.add(judgement.bad.nonzero().flatten() + start)
        with lock:
            part = cells[first : last + 1]
            torch.maximum(part, largest, out=part)

    visit(look, actual, expected, elements=ELEMENTS)
    cells[cells < 0] = math.nan
    return Picture(cells.view(down, across), rows, columns, absolute), marks.where().block


def _width(elements: int, marks: Marks) -> int:
    """Of a row that a vector is folded into: a tile if there is one, else about a square's side."""
    tile = marks.where().block[1]
    if tile and elements // tile.size <= 16 * tile.size:
        return tile.size
    return max(1, 1 << (elements.bit_length() // 2))


def _figure(picture: Picture, block: tuple[Tile | None, Tile | None], title: str, shape: torch.Size) -> Any:
    figure = import_module("matplotlib.figure").Figure(figsize=(9, 8), layout="constrained")
    axes = figure.add_subplot()
    values, colours, norm, label = _colours(picture)
    image = axes.imshow(
        values.numpy(),
        cmap=colours,
        norm=norm,
        interpolation="nearest",
        extent=(-0.5, picture.columns - 0.5, picture.rows - 0.5, -0.5),
        aspect="equal" if 0.25 <= picture.rows / picture.columns <= 4 else "auto",
    )
    for position, thick in _row_lines(picture, block[0], shape):
        axes.axhline(position - 0.5, color="black", linewidth=1.0 if thick else 0.4, alpha=0.6)
    for position in _steps(block[1].size if block[1] and len(shape) > 1 else 0, picture.columns):
        axes.axvline(position - 0.5, color="black", linewidth=0.4, alpha=0.6)
    for seen in (picture.fails & picture.cells.isfinite(), picture.cells == math.inf):
        _circle(axes, picture, seen.nonzero())
    axes.set_xlabel(_axis_label("column" if len(shape) > 1 else "element of the row", block[1]))
    folded = f"row of {list(shape[:-1])} folded" if len(shape) > 2 else "row" if len(shape) == 2 else "row of the fold"
    axes.set_ylabel(_axis_label(folded, block[0]))
    if title:
        axes.set_title(title, fontsize=10, wrap=True)
    figure.colorbar(image, ax=axes, label=label, extend="neither", shrink=0.8)
    return figure


def _circle(axes: Any, picture: Picture, cells: torch.Tensor) -> None:
    """Draws a circle around each cell, n x 2 of row and column, if they are few."""
    if not 0 < cells.shape[0] <= _CIRCLED:
        return
    down, across = picture.cells.shape
    x = (cells[:, 1] + 0.5) * picture.columns / across - 0.5
    y = (cells[:, 0] + 0.5) * picture.rows / down - 0.5
    axes.scatter(x.tolist(), y.tolist(), s=90, facecolors="none", edgecolors="black", linewidths=1.2, clip_on=False)


def _colours(picture: Picture) -> tuple[torch.Tensor, Any, Any, str]:
    """What is drawn, decades, and how: black is without bound, grey is outside of the tensor."""
    colors, colormaps = import_module("matplotlib.colors"), import_module("matplotlib").colormaps
    finite = picture.cells[picture.cells.isfinite()]
    top = math.ceil(math.log10(largest)) if finite.numel() and (largest := float(finite.max())) > 0 else 0
    values = picture.cells.log10()
    if picture.absolute:
        bottom = top - 2 * _DECADES
        colours = colormaps["YlOrRd"]
        values = values.where(picture.cells != 0, bottom - 1.0).where(picture.cells <= 0, values.clamp(min=bottom))
        norm, label = colors.Normalize(bottom, top), "log10 of the largest error (white: none, black: not finite)"
    else:
        bottom, top = -_DECADES, max(_DECADES, top)
        halves = [colormaps[name](step) for name, steps in _HALVES for step in steps]
        colours = colors.ListedColormap(halves)
        values = values.clamp(min=bottom)
        values = values.where(picture.fails | values.isnan(), values.clamp(max=-1e-9))  # all that is allowed passes
        norm = colors.TwoSlopeNorm(0, bottom, top)
        label = "log10 of the largest error / allowed (red fails, pale blue passes, black: not finite)"
    colours = colours.with_extremes(under="white", over="black", bad="lightgrey")
    return values.where(picture.cells != math.inf, top + 1.0), colours, norm, label


def _row_lines(picture: Picture, tile: Tile | None, shape: torch.Size) -> Iterator[tuple[int, bool]]:
    """Where lines between rows go, thick ones between the slices of the leading axes."""
    if len(shape) < 2:
        return
    height = shape[-2]
    slices = _steps(height, picture.rows)
    yield from ((position, True) for position in slices)
    if tile and picture.rows // height * -(-height // tile.size) <= _LINES:
        for begin in range(0, picture.rows, height):
            yield from ((begin + position, False) for position in _steps(tile.size, height))


def _steps(size: int, extent: int) -> list[int]:
    if size == 0 or -(-extent // size) > _LINES:
        return []
    return list(range(size, extent, size))


def _axis_label(what: str, tile: Tile | None) -> str:
    return f"{what} (grid: {tile})" if tile else what
