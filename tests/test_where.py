"""Where errors lie: what is said of all bad elements is true of each, and names the axis, the range, the tile."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation import where
from golden_tasks.validation.where import Marks, Tile, locate
from golden_tasks.validation.where.claims import Box, Repeat, Tiles, flat_of

TILES = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 128}


def mask(shape: tuple[int, ...], *bad: object) -> torch.Tensor:
    marked = torch.zeros(shape, dtype=torch.bool)
    for index in bad:
        marked[index] = True  # type: ignore[index]
    return marked


def in_tiles(shape: tuple[int, int], size: int, numbers: list[int]) -> torch.Tensor:
    across = -(-shape[1] // size)
    corners = [(number // across * size, number % across * size) for number in numbers]
    return mask(shape, *((slice(r, r + size), slice(c, c + size)) for r, c in corners))


@st.composite
def masks(draw: st.DrawFn) -> torch.Tensor:
    """Masks with the patterns that kernels' errors have, some of them blurred, and some with none."""
    shape = tuple(draw(st.lists(st.integers(1, 14), min_size=1, max_size=3)))
    marked = torch.zeros(shape, dtype=torch.bool)
    for _ in range(draw(st.integers(1, 2))):
        part = torch.ones(shape, dtype=torch.bool)
        for axis, extent in enumerate(shape):
            kind = draw(st.sampled_from(["all", "range", "repeat", "one"]))
            at = torch.arange(extent)
            first, second = sorted((draw(st.integers(0, extent - 1)), draw(st.integers(0, extent - 1))))
            period = draw(st.integers(1, max(1, extent // 2)))
            held = {
                "all": at >= 0,
                "range": (at >= first) & (at <= second),
                "repeat": (at % period >= first % period) & (at % period <= second % period),
                "one": at == first,
            }[kind]
            part &= held.view(*(-1 if i == axis else 1 for i in range(len(shape))))
        marked |= part
    if draw(st.booleans()):
        keep = draw(st.integers(0, 2**32 - 1))
        marked &= torch.rand(shape, generator=torch.Generator().manual_seed(keep)) < draw(st.sampled_from([0.1, 0.8]))
    return marked


tile_parameters = st.dictionaries(
    st.sampled_from(["TILE_M", "TILE_N", "TILE_K"]), st.one_of(st.integers(-1, 9), st.just("auto"), st.just(True))
)


@pytest.mark.parametrize("counted", [1 << 22, 5])
def test_every_claim_holds_for_every_bad_element(counted: int) -> None:
    @settings(max_examples=250, deadline=None)
    @given(masks(), tile_parameters)
    def check(marked: torch.Tensor, tiles: dict[str, object]) -> None:
        with patch.object(where.marks, "COUNTED", counted):
            found = locate(marked, tiles)
        indices = list(product(*map(range, marked.shape)))
        bad = [index for index in indices if marked[index]]
        assert found.bad == len(bad)
        for claim in found.claims:
            region = {index for index in indices if claim.holds(index)}
            assert region.issuperset(bad)
            assert claim.size == len(region)
            assert (claim.size == len(bad)) == (region == set(bad))
        sizes = [claim.size for claim in found.claims]
        assert not sizes or sizes[0] == min(sizes)
        words = where.lines(found)
        assert any("every element there" in line for line in words) == (len(bad) > 1 and sizes[:1] == [len(bad)])

    check()


@settings(max_examples=200, deadline=None)
@given(masks(), tile_parameters)
def test_no_more_is_claimed_than_was_hit(marked: torch.Tensor, tiles: dict[str, object]) -> None:
    found = locate(marked, tiles)

    for claim in found.claims:
        if isinstance(claim, Tiles):
            at = marked.nonzero() // torch.tensor(claim.block)
            numbers = {flat_of(tuple(row), claim.grid) for row in at.tolist()}
            assert numbers == set(claim.numbers)
            if claim.every:
                total = torch.tensor(claim.grid).prod()
                assert numbers == {n for n in range(total) if n % claim.every == claim.numbers[0]}
        for part in claim.along if isinstance(claim, Box) else ():
            hit = set(marked.nonzero()[:, part.axis].tolist())
            said = {at for at in range(marked.shape[part.axis]) if part.holds(at)}
            if isinstance(part, Repeat) and part.exact:
                assert hit == said


@settings(max_examples=100, deadline=None)
@given(masks(), tile_parameters, st.integers(1, 50))
def test_what_is_found_does_not_depend_on_the_pieces(
    marked: torch.Tensor, tiles: dict[str, object], piece: int
) -> None:
    marks = Marks(tuple(marked.shape), tiles)
    for part in reversed(marked.flatten().nonzero().flatten().split(piece)):
        marks.add(part)

    assert marks.where() == locate(marked, tiles)


@pytest.mark.parametrize(
    ("marked", "brief", "said"),
    [
        (
            lambda: mask((256, 256), (slice(None), slice(192, 256))),
            "all in the last column tile (TILE_N=64)",
            [
                "all in the last column tile (TILE_N=64: columns 192..255): every element there",
                "they lie in tiles 3, 7, 11, 15 of 16 (TILE_M=64 x TILE_N=64), every 4th, as one of 4 cores has",
            ],
        ),
        (
            lambda: in_tiles((256, 256), 64, [13]),
            "all in tile (3, 1) of 4 x 4 (TILE_M=64 x TILE_N=64)",
            ["all in tile (3, 1) of 4 x 4 (TILE_M=64 x TILE_N=64): every element there"],
        ),
        (
            lambda: mask((256, 256), *((slice(start, start + 4),) for start in range(60, 256, 64))),
            "all in rows 60..63 of every row tile (TILE_M=64)",
            ["all in rows 60..63 of every row tile (TILE_M=64): every element there"],
        ),
        (
            lambda: mask((256, 256), (63, 5), (191, 5), (127, 8), (255, 99)),
            "all in columns 5..99 in column tile 0 of 2 (TILE_K=128) in row 63 of every row tile (TILE_M=64)",
            [
                "all in columns 5..99 in column tile 0 of 2 (TILE_K=128) in row 63 of every row tile (TILE_M=64): "
                "1.1 % of the elements there"
            ],
        ),
        (
            lambda: mask((256, 250), (slice(None), slice(3, None, 4))),
            "all in every 4th column from 3",
            ["all in every 4th column from 3: every element there"],
        ),
        (
            lambda: mask((256, 256), (slice(None), [c for c in range(256) if c % 16 > 11])),
            "all in columns 12..15 of every 16",
            ["all in columns 12..15 of every 16: every element there"],
        ),
        (
            lambda: mask((512, 96), *((slice(start, start + 64),) for start in (64, 320))),
            "all in every 4th row tile from tile 1 (TILE_M=64), as one of 4 cores has",
            ["all in every 4th row tile from tile 1 (TILE_M=64), as one of 4 cores has: every element there"],
        ),
        (
            lambda: mask((1000,), slice(976, None)),
            "all in the last 24 elements (976..999) in the last tile (TILE_M=64)",
            ["all in the last 24 elements (976..999) in the last tile (TILE_M=64): every element there"],
        ),
        (
            lambda: mask((256, 250), (255, slice(200, None)), (254, slice(3, None))),
            "all in the last 2 rows (254..255) in the last row tile (TILE_M=64)",
            ["all in the last 2 rows (254..255) in the last row tile (TILE_M=64): 59.4 % of the elements there"],
        ),
        (
            lambda: mask((256, 50), (254, slice(3, None)), (255,)),
            "all in the tail: the last 97 of 12800 elements",
            ["all in the tail: the last 97 of 12800 elements: every element there"],
        ),
        (
            lambda: in_tiles((256, 320), 64, [1, 5, 9, 13, 17]),
            "all in tiles 1, 5, 9, 13, 17 of 20 (TILE_M=64 x TILE_N=64), every 4th",
            [
                "all in tiles 1, 5, 9, 13, 17 of 20 (TILE_M=64 x TILE_N=64), every 4th, as one of 4 cores has: "
                "every element there"
            ],
        ),
        (
            lambda: in_tiles((256, 320), 64, [2, 3, 4, 5, 6]),
            "all in the neighbouring tiles 2..6 of 20 (TILE_M=64 x TILE_N=64)",
            ["all in the neighbouring tiles 2..6 of 20 (TILE_M=64 x TILE_N=64): every element there"],
        ),
        (
            lambda: in_tiles((256, 256), 64, [2, 4, 15]),
            "all in 3 of 16 tiles (TILE_M=64 x TILE_N=64)",
            ["all in 3 of 16 tiles (TILE_M=64 x TILE_N=64): (0, 2), (1, 0), (3, 3): every element there"],
        ),
        (
            lambda: mask((256, 256), (slice(None), [3, 17, 200])),
            "all in columns 3, 17, 200",
            ["all in columns 3, 17, 200: every element there"],
        ),
        (
            lambda: mask((4, 256, 256), (2, slice(0, 64), slice(64, 128))),
            "all in column tile 1 of 4 (TILE_N=64) in row tile 0 of 4 (TILE_M=64) in axis-0 index 2",
            [
                "all in column tile 1 of 4 (TILE_N=64: columns 64..127) in row tile 0 of 4 (TILE_M=64: rows 0..63) "
                "in axis-0 index 2: every element there"
            ],
        ),
        (
            lambda: mask((256, 256), (slice(1, None),)),
            "all in the last 255 rows (1..255)",
            ["all in the last 255 rows (1..255): every element there"],
        ),
        (
            lambda: torch.rand(256, 256, generator=torch.Generator().manual_seed(0)) < 0.031,
            "",
            ["scattered: 3.1 % of all elements"],
        ),
        (lambda: ~torch.eye(256, dtype=torch.bool), "", ["almost everywhere: 99.6 % of all elements"]),
        (lambda: torch.ones(256, 256, dtype=torch.bool), "", ["everywhere: no element is right"]),
        (lambda: mask((256, 256), (3, 70)), "", ["in tile (0, 1) of 4 x 4 (TILE_M=64 x TILE_N=64)"]),
        (lambda: torch.ones((), dtype=torch.bool), "", []),
        (lambda: torch.zeros(0, 4, dtype=torch.bool), "", []),
    ],
)
def test_places_in_words(marked: Callable[[], torch.Tensor], brief: str, said: list[str]) -> None:
    found = locate(marked(), TILES)

    assert where.lines(found) == said
    assert where.summary(found) == brief


def test_of_tiles_of_one_size_rows_take_the_first_name_and_columns_the_second() -> None:
    assert locate(mask((256, 256), (0, 0), (200, 9)), TILES).block == (Tile("TILE_M", 64), Tile("TILE_N", 64))


def test_the_last_tile_may_be_cut_by_the_axis() -> None:
    cut = mask((100, 130), (slice(96, None), slice(128, None)))

    found = locate(cut, {"TILE_M": 48, "TILE_N": 32})

    assert where.lines(found) == ["all in tile (2, 4) of 3 x 5 (TILE_M=48 x TILE_N=32): every element there"]


def test_a_tile_as_large_as_the_axis_explains_nothing() -> None:
    assert where.lines(locate(mask((64, 64), (slice(10, 12),)), TILES)) == ["all in rows 10..11: every element there"]


def test_parameters_that_are_no_sizes_play_no_part() -> None:
    parameters = {"SCHEDULE": "static", "DOUBLE_BUFFER": True, "UNROLL": 1, "ALPHA": 0.5, "OFF": 0}

    assert locate(mask((8, 8), (slice(None), 7)), parameters).block == (None, None)


@pytest.mark.parametrize(
    "marked",
    [
        mask((4, 16), (0, slice(0, 9)), (1, [0, 8])),  # what a second piece does not hit is hit by the first
        mask((4, 16), (1, slice(3, None)), (2, slice(0, 2))),  # a run of neighbours through two pieces
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_pieces_add_up_in_any_order(marked: torch.Tensor, order: int) -> None:
    marks = Marks((4, 16))
    for row in range(4)[::order]:
        marks.add(marked[row].nonzero().flatten() + 16 * row)

    assert marks.where() == locate(marked)


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        (mask((16, 8), ([0, 4, 8],)), "all in rows 0, 4, 8: every element there"),
        (
            mask((16, 16), (slice(0, 8), slice(4, 12))),
            "all in column tiles 1..2 of 4 (T=4: columns 4..11) in row tiles 0..1 of 4 (S=4: rows 0..7): "
            "every element there",
        ),
    ],
)
def test_a_pattern_that_ends_and_a_box_of_several_tiles_are_named_as_such(marked: torch.Tensor, said: str) -> None:
    tiles = {"S": 4, "T": 4} if marked.shape[1] == 16 else {}

    assert where.lines(locate(marked, tiles))[0] == said


def test_a_place_that_is_most_of_the_output_is_told_if_it_is_wrong_throughout() -> None:
    mask = torch.zeros(200, 250, dtype=torch.bool)
    mask[32:] = True
    mask[40, 7] = mask[199, 249] = False

    assert where.lines(where.locate(mask)) == ["all in the last 168 rows (32..199): over 99.9 % of the elements there"]


def test_a_tile_is_named_by_the_likeliest_parameter_that_fits() -> None:
    mask = torch.zeros(20, 28, dtype=torch.bool)
    mask[16:] = True
    tiles = {"TILE_M": 8, "TILE_N": 8, "TILE_K": 16}

    assert where.summary(where.locate(mask, tiles)) == "all in the last row tile (TILE_M=8)"


def test_a_parameter_that_names_the_columns_does_not_cut_the_rows() -> None:
    mask = torch.zeros(12, 24, dtype=torch.bool)
    mask[7] = True

    assert where.summary(where.locate(mask, {"TILE_COLS": 8})) == "all in row 7"
