"""The report of an output that differs: what it counts, what it claims, its words, and its picture."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation import plot
from golden_tasks.validation.chunks import visit
from golden_tasks.validation.compare import compare, judged
from golden_tasks.validation.report import describe, examine, pieces, rule
from golden_tasks.validation.report.words import number

TILES = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 64}
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
FLOATS += [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def said(actual: torch.Tensor, expected: torch.Tensor, rtol: float = 0, atol: float = 0, **options: Any) -> list[str]:
    return describe("c", actual, expected, rtol, atol, **options).splitlines()


def notes(actual: torch.Tensor, expected: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-5, **o: Any) -> list[str]:
    return [
        line.removeprefix("note: ") for line in said(actual, expected, rtol, atol, **o) if line.startswith("note: ")
    ]


values = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-3, 100.0, math.inf, -math.inf, math.nan]),
    st.floats(-8, 8, width=32),
)
tolerances = st.sampled_from([0.0, 1e-5, 1e-3, 0.1, 0.3, 2.0])


@st.composite
def pairs(draw: st.DrawFn, finite: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors of one shape and floating-point dtype; some of their elements are the same."""
    dtype = draw(st.sampled_from(FLOATS))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    count = math.prod(shape)
    element = values.filter(math.isfinite) if finite else values
    numbers = draw(st.lists(element, min_size=count, max_size=count))
    others = draw(st.lists(st.one_of(st.none(), element), min_size=count, max_size=count))
    expected = torch.tensor(numbers, dtype=torch.float64)
    actual = torch.tensor([n if o is None else o for n, o in zip(numbers, others, strict=True)], dtype=torch.float64)
    a, e = actual.view(shape).to(dtype), expected.view(shape).to(dtype)
    both = a.double().isfinite() & e.double().isfinite()
    return (a, e) if not finite or both.all() else (torch.zeros(shape, dtype=dtype), torch.ones(shape, dtype=dtype))


def shorter(tolerance: float) -> float:
    """The next smaller number of three digits."""
    sign, digits, exponent = Decimal(f"{tolerance:.2e}").as_tuple()
    return float(Decimal((sign, digits, exponent)) - Decimal((0, (1,), exponent)))  # type: ignore[arg-type]


def same(a: object, b: object) -> bool:
    return repr(a) == repr(b)  # NaN as itself


@settings(max_examples=250, deadline=None)
@given(pairs(), tolerances, tolerances, st.booleans())
def test_what_is_counted_is_what_the_comparison_counts(
    pair: tuple[torch.Tensor, torch.Tensor], rtol: float, atol: float, equal_nan: bool
) -> None:
    actual, expected = pair

    found = examine(actual, expected, rtol, atol, equal_nan=equal_nan)

    counted = compare(actual, expected, rtol, atol, equal_nan)
    assert found.where.bad == counted.mismatches
    if not counted.mismatches:
        assert describe("c", actual, expected, rtol, atol, equal_nan=equal_nan) == ""
        return
    a, e = actual.double(), expected.double()
    bad = judged(actual.reshape(-1), expected.reshape(-1), rtol, atol, equal_nan).bad.view(actual.shape)
    apart, size = (a - e).abs(), e.abs()
    finite = bad & apart.isfinite()
    assert found.not_finite == int((bad & ~apart.isfinite()).sum())
    assert [row.index for row in found.first] == [tuple(index) for index in bad.nonzero()[: pieces.FIRST].tolist()]
    if finite.any():
        assert found.worst_absolute is not None
        assert found.worst_absolute[0] == float(apart[finite].max()) == float(apart[found.worst_absolute[1]])
        relative = (apart / size)[finite & (size > 0)]
        assert (found.worst_relative is None) == (relative.numel() == 0)
        if found.worst_relative:
            assert found.worst_relative[0] == float(relative.max())
            assert finite[found.worst_relative[1]]
    assert (found.got.nans, found.got.infs) == (int(a.isnan().sum()), int(a.isinf().sum()))
    assert (found.expected.nans, found.expected.infs) == (int(e.isnan().sum()), int(e.isinf().sum()))
    assert (found.got.bad_nans, found.expected.bad_nans) == (int((bad & a.isnan()).sum()), int((bad & e.isnan()).sum()))
    assert sum(b.elements for b in found.buckets if b.fails) + found.not_finite == found.where.bad
    assert sum(b.elements for b in found.buckets) + found.not_finite == actual.numel()


@settings(max_examples=150, deadline=None)
@given(pairs(), tolerances, tolerances, st.integers(1, 30))
def test_the_report_does_not_depend_on_the_pieces(
    pair: tuple[torch.Tensor, torch.Tensor], rtol: float, atol: float, piece: int
) -> None:
    whole = examine(*pair, rtol, atol, tiles={"TILE": 2})

    small = partial(visit, elements=piece)
    with patch.object(pieces, "visit", small), patch.object(rule, "visit", small):
        assert same(examine(*pair, rtol, atol, tiles={"TILE": 2}), whole)
    strided = [tensor.double().repeat_interleave(2, -1).to(tensor.dtype)[..., ::2] for tensor in pair]
    assert same(examine(*strided, rtol, atol, tiles={"TILE": 2}), whole)


@settings(max_examples=300, deadline=None)
@given(pairs(finite=True), tolerances, tolerances)
def test_the_smallest_tolerance_passes_and_no_smaller_one_does(
    pair: tuple[torch.Tensor, torch.Tensor], rtol: float, atol: float
) -> None:
    actual, expected = pair
    found = examine(actual, expected, rtol, atol)
    if not found.where.bad:
        return

    assert found.smallest_atol is not None
    assert compare(actual, expected, rtol, found.smallest_atol).mismatches == 0
    assert compare(actual, expected, rtol, shorter(found.smallest_atol)).mismatches > 0
    assert f"atol={found.smallest_atol:g} with rtol={rtol:g}" in describe("c", actual, expected, rtol, atol)
    bad = judged(actual.reshape(-1), expected.reshape(-1), rtol, atol).bad
    if bool((expected.double().reshape(-1)[bad] == 0).any()):
        assert found.smallest_rtol is None  # no share of 0 is anything
        return
    assert found.smallest_rtol is not None
    assert float(f"{found.smallest_rtol:g}") == found.smallest_rtol
    assert compare(actual, expected, found.smallest_rtol, atol).mismatches == 0
    assert compare(actual, expected, shorter(found.smallest_rtol), atol).mismatches > 0


@pytest.mark.parametrize("apart", [0.5, 0.1, 1 / 3, 0.3, 1e-7, 1e-30, 123456.0])
def test_a_tolerance_of_few_digits_is_not_rounded_up_further(apart: float) -> None:
    found = examine(torch.tensor([0.0, 1.0, 1.0]), torch.tensor([apart, 1.0, 1.0]), 0, 0)

    exact = abs(torch.tensor(apart).item())
    assert found.smallest_atol is not None
    assert exact <= found.smallest_atol <= exact * 1.01
    assert apart != 0.5 or found.smallest_atol == 0.5


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FLOATS), st.integers(0, 2**64 - 1))
def test_two_values_never_look_the_same(dtype: torch.dtype, bits: int) -> None:
    size = torch.empty((), dtype=dtype).element_size()
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    pattern = bits % 2 ** (8 * size - 1) - 1 if bits % 2 ** (8 * size - 1) else 0
    pair = torch.tensor([pattern, pattern + 1], dtype=integer).view(dtype)
    low, high = pair[0].item(), pair[1].item()
    if not (math.isfinite(low) and math.isfinite(high)):
        return

    assert number(low, dtype) != number(high, dtype)
    assert torch.tensor(float(number(high, dtype)), dtype=torch.float64).to(dtype).item() == high


def test_a_wrong_column_tile_at_a_glance() -> None:
    expected = (torch.arange(256 * 1024) % 97 + 1).view(256, 1024) / 8
    actual = expected.clone()
    actual[:, 960:] = 0
    actual[200, 970:] = expected[200, 970:] * 1.001
    actual[3, 7] += 6e-6

    assert said(actual, expected, 1e-5, 1e-5, tiles=TILES) == [
        "16384 of 262144 elements differ (rtol=1e-05, atol=1e-05), all in the last column tile (TILE_N=64)",
        "where: all in the last column tile (TILE_N=64: columns 960..1023): every element there",
        "       they lie in tiles 15, 31, 47, 63 of 64 (TILE_M=64 x TILE_N=64), every 16th, as one of 16 cores has",
        "           index  expected  got  difference   allowed",
        "first   [0, 960]        11    0          11   0.00012",
        "        [0, 961]    11.125    0        11.1  0.000121",
        "        [0, 962]     11.25    0        11.2  0.000123",
        "        [0, 963]    11.375    0        11.4  0.000124",
        "       ... and 16380 more",
        "worst   [0, 969]    12.125    0        12.1  0.000131",
        "       [1, 1012]    12.125    0        12.1  0.000131",
        "       [3, 1001]    12.125    0        12.1  0.000131",
        "worst error: absolute 12.1 at [0, 969], relative 1 at [0, 960]",
        "smallest tolerance that would pass: atol=12.2 with rtol=1e-05, or rtol=1 with atol=1e-05",
        "error / allowed (. passes, # fails)",
        "               0  245759  ....................................",
        "        0 .. 0.1       1  .",
        "       10 .. 100      54  #",
        "  10000 .. 100000   16330  ###",
    ]


def test_one_wrong_element_is_told_in_a_few_lines() -> None:
    expected = torch.ones(256, 256)
    actual = expected.clone()
    actual[3, 5] = 2.25

    assert said(actual, expected, 0, 0.125, tiles=TILES) == [
        "1 of 65536 elements differ (rtol=0, atol=0.125)",
        "[3, 5] expected 1, got 2.25, off by 1.25 (allowed 0.125)",
        "where: in tile (0, 0) of 4 x 4 (TILE_M=64 x TILE_N=64)",
        "smallest tolerance that would pass: atol=1.25 with rtol=0, or rtol=1.13 with atol=0.125",
    ]


@pytest.mark.parametrize(
    ("actual", "expected", "sentence"),
    [
        (torch.tensor(3), torch.tensor(1), "[] expected 1, got 3, off by 2"),
        (torch.tensor([True]), torch.tensor([False]), "[0] expected False, got True"),
        (torch.tensor([math.nan]), torch.tensor([1.0]), "[0] expected 1, got nan"),
        (torch.tensor([1.0]), torch.tensor([math.inf]), "[0] expected inf, got 1, off by inf"),
        (
            torch.tensor([1.5]).half(),
            torch.ones(1).half(),
            "[0] expected 1, got 1.5, off by 0.5, 512 ulp (allowed 0.25)",
        ),
        (torch.tensor([0.5 + 3j]), torch.tensor([3 - 1j]), "[0] expected 3-1j, got 0.5+3j, off by 4.72 (allowed 0.25)"),
    ],
)
def test_the_only_mismatch_is_one_sentence(actual: torch.Tensor, expected: torch.Tensor, sentence: str) -> None:
    assert said(actual, expected, 0, 0.25)[1] == sentence


def test_no_tolerance_makes_up_for_a_missing_infinity() -> None:
    assert said(torch.tensor([1.0]), torch.tensor([math.inf]), 0.1)[2:] == [
        "not finite: got 0 nan, 0 inf; expected 0 nan, 1 inf",
        "no tolerance would pass: 1 difference is not finite",
    ]


def test_integers_have_no_tolerance() -> None:
    expected = torch.arange(20, dtype=torch.int32).view(4, 5)
    actual = expected.clone()
    actual[0, 2] = 9
    actual[1] = torch.tensor([5, 8, 3, 2000, 9])
    actual[3, 4] = -1

    assert said(actual, expected, 1e-5, 1e-5) == [
        "5 of 20 elements differ",
        "where: scattered: 25.0 % of all elements",
        "        index  expected   got  difference",
        "first  [0, 2]         2     9           7",
        "       [1, 1]         6     8           2",
        "       [1, 2]         7     3           4",
        "       [1, 3]         8  2000        1992",
        "       ... and 1 more",
        "worst  [1, 3]         8  2000        1992",
        "       [3, 4]        19    -1          20",
        "       [0, 2]         2     9           7",
        "biggest difference 1992 at [1, 3]",
        "error",
        "               0  15  ....................................",
        "         1 .. 10   3  ########",
        "       10 .. 100   1  ###",
        "   1000 .. 10000   1  ###",
    ]


@pytest.mark.parametrize(
    ("dtype", "expected", "actual", "difference"),
    [
        (torch.int64, 2**63 - 1, -(2**63), 2**64 - 1),
        (torch.uint64, 2**64 - 1, 0, 2**64 - 1),
        (torch.int64, 2**53, 2**53 + 1, 1),
        (torch.int8, -128, 127, 255),
    ],
)
def test_the_difference_of_integers_is_exact(dtype: torch.dtype, expected: int, actual: int, difference: int) -> None:
    wanted = torch.tensor([7, expected, expected], dtype=dtype)
    got = torch.tensor([7, actual, actual], dtype=dtype)

    assert f"biggest difference {difference} at [1]" in said(got, wanted)
    assert said(got[:2], wanted[:2])[1] == f"[1] expected {expected}, got {actual}, off by {difference}"


def test_bools_are_counted_by_direction() -> None:
    expected = torch.tensor([True, True, True, False, False, True])
    actual = torch.tensor([False, True, False, True, False, False])

    assert said(actual, expected, 1e-5, 1e-5) == [
        "4 of 6 elements differ",
        "where: scattered: 66.7 % of all elements",
        "       index  expected    got",
        "first    [0]      True  False",
        "         [2]      True  False",
        "         [3]     False   True",
        "         [5]      True  False",
        "expected True, got False: 3; expected False, got True: 1",
    ]


def test_values_that_are_not_finite_are_counted_on_either_side() -> None:
    actual = torch.tensor([math.nan, math.nan, 1.0, math.nan, 2.0, -math.inf, math.inf])
    expected = torch.tensor([1.0, math.nan, math.nan, 0.0, 2.0, math.inf, math.inf])

    assert said(actual, expected) == [
        "5 of 7 elements differ (rtol=0, atol=0); 3 got nan; 2 expected nan, which nothing equals",
        "where: scattered: 71.4 % of all elements",
        "       index  expected  got  difference  allowed",
        "first    [0]         1  nan           -        -",
        "         [1]       nan  nan           -        -",
        "         [2]       nan    1           -        -",
        "         [3]         0  nan           -        -",
        "       ... and 1 more",
        "not finite: got 3 nan, 2 inf; expected 2 nan, 2 inf",
        "no tolerance would pass: 5 differences are not finite",
        "error",
        "               0  2  ...............",
        "      not finite  5  ####################################",
    ]


def test_with_equal_nan_only_the_nans_that_differ_are_named() -> None:
    actual = torch.tensor([math.nan, math.nan, 1.0])
    expected = torch.tensor([math.nan, 1.0, 1.0])

    lines = said(actual, expected, 0, 0.5, equal_nan=True)

    assert lines[0] == "1 of 3 elements differ (rtol=0, atol=0.5); 1 got nan"
    assert "not finite: got 2 nan, 0 inf; expected 1 nan, 0 inf" in lines


@pytest.mark.parametrize(
    ("dtype", "expected", "actual", "ulps"),
    [
        (torch.float16, 1.0, 1.0 + 3 / 1024, 3),
        (torch.bfloat16, -1.0, -1.0 - 1 / 128, 1),
        (torch.bfloat16, 2.0**-133, -(2.0**-133), 2),
        (torch.float8_e4m3fn, 1.0, 1.25, 2),
        (torch.float8_e5m2, -0.0, 2.0**-16, 1),
    ],
)
def test_halves_and_fp8_are_told_apart_in_ulps(dtype: torch.dtype, expected: float, actual: float, ulps: int) -> None:
    wanted, got = torch.tensor([expected, expected]).to(dtype), torch.tensor([actual, actual]).to(dtype)

    lines = [line for line in said(got, wanted) if not line.startswith(("where", "note"))]

    assert lines[1].split() == ["index", "expected", "got", "difference", "allowed", "ulp"]
    assert lines[2].split()[-1] == str(ulps)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.complex64, torch.complex128, *INTEGERS, torch.bool], ids=str)
@pytest.mark.filterwarnings("error")
def test_every_dtype_has_a_report(dtype: torch.dtype) -> None:
    expected = (normal(6, 8).abs() * 3 + 1).to(torch.int32).to(dtype) if dtype != torch.bool else normal(6, 8) > 0
    actual = expected.clone()
    actual[2:4] = torch.zeros(2, 8).to(dtype)

    wanted = f"{int((actual != expected).sum())} of 48 elements differ"
    assert said(actual, expected)[0].startswith(wanted)
    assert said(actual.T, expected.T)[0].startswith(wanted)
    assert said(torch.zeros(()).to(dtype), torch.ones(()).to(dtype))[0].startswith("1 of 1 elements differ")


E32 = normal(48, 64)


@pytest.mark.parametrize(
    ("actual", "expected", "note"),
    [
        (torch.zeros(48, 64), E32, "c is 0 everywhere"),
        (torch.where(E32 > 1, 7.5, E32), E32, "every mismatch got 7.5"),
        (torch.where(E32 > 1, math.nan, E32), E32, "every mismatch got nan"),
        (E32 * 2, E32, "every mismatch is expected x 2, within the tolerance"),
        (E32 / 8, E32, "every mismatch is expected x 1/8, within the tolerance"),
        (torch.where(E32 > 1, -E32, E32), E32, "every mismatch is expected x -1, within the tolerance"),
        (E32 / -3, E32, "every mismatch is expected x -1/3, within the tolerance"),
        (E32[:48, :48].T, E32[:48, :48], "c is expected transposed (last two axes), within the tolerance"),
        (E32.T.reshape(48, 64), E32, "c is expected transposed (last two axes), within the tolerance"),
        (E32.roll(1, 0), E32, "row i of c is row i - 1 of expected, for every i, within the tolerance"),
        (E32.roll(-1, 1), E32, "column i of c is column i + 1 of expected, for every i, within the tolerance"),
        (E32.roll(16, 1), E32, "column i of c is column i - 16 of expected, for every i, within the tolerance"),
        (
            E32.flatten().roll(1),
            E32.flatten(),
            "element i of c is element i - 1 of expected, for every i, within the tolerance",
        ),
        (E32.bfloat16().float(), E32, "c holds only values that bfloat16 can hold, expected does not"),
        (E32.half().float(), E32, "c holds only values that float16 can hold, expected does not"),
        (E32.double(), E32.double() * 1.001, "c holds only values that float32 can hold, expected does not"),
        (torch.arange(9) + torch.arange(9) % 2 * 3, torch.arange(9), "every mismatch is off by +3"),
        (
            torch.arange(1, 9, dtype=torch.uint8) - 1,
            torch.arange(1, 9, dtype=torch.uint8),
            "every mismatch is off by -1",
        ),
    ],
)
def test_a_cause_that_is_certain_is_named(actual: torch.Tensor, expected: torch.Tensor, note: str) -> None:
    assert notes(actual, expected, tiles={"TILE_N": 16}) == [note]


@pytest.mark.parametrize("at", [(0, 0), (20, 30), (47, 47)])
@pytest.mark.parametrize(
    "faulty",
    [
        lambda e: torch.zeros_like(e),
        lambda e: torch.where(e > 1, 7.5, e),
        lambda e: e * 2,
        lambda e: e.T.clone(),
        lambda e: e.bfloat16().float(),
        lambda e: e.roll(16, 1).clone(),
    ],
)
def test_a_cause_that_one_element_refutes_is_not_named(faulty: Any, at: tuple[int, int]) -> None:
    expected = E32[:48, :48].contiguous()
    actual = faulty(expected)
    actual[at] = 3.3333333 if at[1] >= 16 else 4.4444444
    outside = at[1] < 16 and not torch.equal(actual[:, 16:], expected[:, :-16])
    moved = torch.equal(actual[:, 16:], expected[:, :-16])

    found = notes(actual, expected, tiles={"TILE_N": 16})

    assert outside or moved or found == []
    assert moved == any(note.startswith("column i") for note in found)


def test_no_cause_is_named_for_a_single_mismatch() -> None:
    actual = E32.clone()
    actual[4, 4] = 0

    assert notes(actual, E32) == []


def test_a_differing_first_row_alone_is_no_move() -> None:
    expected = torch.ones(8, 8)
    actual = expected.clone()
    actual[0] = normal(8)

    assert notes(actual, expected) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_report_is_short_and_its_columns_fit_a_terminal(seed: int) -> None:
    expected = normal(128, 128, seed=seed) * 1e3
    actual = expected * (1 + normal(128, 128, seed=seed + 10) * 1e-4)
    actual[5, 5], actual[100, 7] = math.nan, 1e38

    lines = said(actual, expected, 1e-5, 1e-5, tiles=TILES)

    assert len(lines) <= 25
    assert all(len(line) <= 80 for line in lines if not line.startswith(("smallest", "where")))


def test_nothing_is_said_of_outputs_that_agree() -> None:
    assert describe("c", E32, E32 * (1 + 1e-7), 1e-5, 1e-5) == ""
    assert describe("c", torch.zeros(0, 4), torch.zeros(0, 4), 0, 0) == ""


@settings(max_examples=150, deadline=None)
@given(pairs(), tolerances, tolerances, st.integers(1, 5))
def test_a_cell_of_the_picture_fails_exactly_if_an_element_in_it_differs(
    pair: tuple[torch.Tensor, torch.Tensor], rtol: float, atol: float, pixels: int
) -> None:
    actual, expected = pair
    with patch.object(plot, "PIXELS", pixels), patch.object(plot, "ELEMENTS", 7):
        picture, _ = plot.fold(actual, expected, rtol, atol)

    bad = judged(actual.reshape(-1), expected.reshape(-1), rtol, atol).bad
    down, across = picture.cells.shape
    assert max(down, across) <= pixels
    high, wide = -(-picture.rows // pixels), -(-picture.columns // pixels)
    fails = torch.zeros(down, across, dtype=torch.bool)
    for flat in bad.nonzero().flatten().tolist():
        fails[flat // picture.columns // high, flat % picture.columns // wide] = True
    assert torch.equal(picture.fails, fails)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (torch.where(normal(300, 200) > 2.5, math.nan, E32[0, 0]), torch.full((300, 200), E32[0, 0])),
        (torch.arange(1000), torch.arange(1000) % 990),
        (torch.zeros(2, 3, 40, 50, dtype=torch.bool), normal(2, 3, 40, 50) > 1),
        (torch.tensor(1.0), torch.tensor(2.0)),
        (torch.ones(3, 3), torch.ones(3, 3)),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_picture_is_saved(actual: torch.Tensor, expected: torch.Tensor, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    path = tmp_path / "c.png"

    plot.save_picture(path, actual, expected, 1e-5, 1e-5, tiles={"TILE_M": 16, "TILE_N": 20}, title="c: differs")

    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [file.name for file in tmp_path.iterdir()] == ["c.png"]


def test_without_matplotlib_the_picture_says_what_to_install(tmp_path: Path) -> None:
    with patch.object(plot, "find_spec", lambda name: None):
        reason = plot.unavailable()
        with pytest.raises(ImportError) as refused:
            plot.save_picture(tmp_path / "c.png", torch.zeros(2), torch.ones(2), 0, 0)

    assert reason == "a picture needs matplotlib, which is not installed: pip install 'golden-tasks[plot]'"
    assert str(refused.value) == reason


def test_there_is_no_picture_of_no_elements(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    with pytest.raises(ValueError, match="without elements"):
        plot.save_picture(tmp_path / "c.png", torch.zeros(0, 3), torch.zeros(0, 3), 0, 0)
