"""The comparator of a pool: the rows that a mapping names by ratio, all others unchanged to the bit."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation import pool as pool_module
from golden_tasks.validation.comparator import Comparator
from golden_tasks.validation.pool import mapped_pool_ratio_allclose

BLOCKS, SIZE, WIDTH = 3, 4, 5
BEFORE = torch.arange(BLOCKS * SIZE * WIDTH, dtype=torch.float32).view(BLOCKS, SIZE, WIDTH)
MAPPING = torch.tensor([6, -1, 1], dtype=torch.int32)  # rows (1, 2) and (0, 1)
COMPARATOR = mapped_pool_ratio_allclose("map", mapping_shape=(3,), block_size=SIZE)
ALL_GOOD = "0 of 10 elements of the 2 rows that 'map' names differ, 0 allowed (rtol=0.01, atol=0)"


def written(pool: torch.Tensor = BEFORE) -> torch.Tensor:
    """The pool after the run: the named rows are new."""
    pool = pool.clone()
    pool[1, 2] = 100
    pool[0, 1] = 200
    return pool


def judged(
    actual: torch.Tensor,
    expected: torch.Tensor | None = None,
    comparator: Comparator = COMPARATOR,
    before: torch.Tensor | None = BEFORE,
    mapping: torch.Tensor | None = MAPPING,
    rtol: float = 0.01,
    atol: float = 0.0,
) -> tuple[bool, str]:
    expected = written() if expected is None else expected
    inputs = {"map": mapping, "kv": before}
    return comparator(
        actual,
        expected,
        actual_outputs={"kv": actual},
        expected_outputs={"kv": expected},
        inputs={name: tensor for name, tensor in inputs.items() if tensor is not None},
        rtol=rtol,
        atol=atol,
    )


def test_named_rows_within_the_tolerance_and_all_others_unchanged_pass() -> None:
    actual = written()
    actual[1, 2] += 0.5

    assert judged(actual) == (True, ALL_GOOD)


def test_one_bit_of_an_unnamed_row_fails_and_is_located() -> None:
    actual = written()
    actual.view(torch.int32)[2, 3, 4] ^= 1

    assert judged(actual) == (
        False,
        "'map' does not name 1 row of the pool, but 1 elements changed there: row 11 (block 2, slot 3)\n"
        f"first [2, 3, 4] before the run 59 (0x426c0000), got 59.0000038 (0x426c0001)\n{ALL_GOOD}",
    )


def test_the_named_row_written_one_too_low_fails_twice() -> None:
    actual = BEFORE.clone()
    actual[1, 1] = 100
    actual[0, 0] = 200

    passed, message = judged(actual)
    assert not passed
    assert message.splitlines() == [
        "'map' does not name 2 rows of the pool, but 10 elements changed there: "
        "row 0 (block 0, slot 0), row 5 (block 1, slot 1)",
        "first [0, 0, 0] before the run 0 (0x00000000), got 200 (0x43480000)",
        "10 of 10 elements of the 2 rows that 'map' names differ, 0 allowed (rtol=0.01, atol=0)",
        "[0, 1, 0] expected 200, got 5",
        "[0, 1, 1] expected 200, got 6",
        "[0, 1, 2] expected 200, got 7",
        "[0, 1, 3] expected 200, got 8",
        "[0, 1, 4] expected 200, got 9",
        "... and 5 more",
        "worst: [0, 1, 0] expected 200, got 5, off by 195",
    ]


def test_nan_and_minus_zero_in_unnamed_rows_count_as_bits() -> None:
    before = BEFORE.clone()
    before.view(torch.int32)[2, 0, 0] = 0x7FC00123
    before[2, 0, 1] = -0.0
    expected = written(before)
    assert judged(expected.clone(), expected, before=before)[0]

    payload = expected.clone()
    payload.view(torch.int32)[2, 0, 0] = 0x7FC00124
    passed, message = judged(payload, expected, before=before)
    assert not passed
    assert message.splitlines()[1] == "first [2, 0, 0] before the run nan (0x7fc00123), got nan (0x7fc00124)"

    zero = expected.clone()
    zero[2, 0, 1] = 0.0
    passed, message = judged(zero, expected, before=before)
    assert not passed
    assert message.splitlines()[1] == "first [2, 0, 1] before the run -0 (0x80000000), got 0 (0x00000000)"


def test_a_golden_function_that_changes_an_unnamed_row_is_told_apart() -> None:
    expected = written()
    expected[2, 1, 3] = -7.0

    for actual in (expected.clone(), written()):
        passed, message = judged(actual, expected)
        assert not passed
        assert (
            "the golden function changes 1 row that 'map' does not name, first row 9 (block 2, slot 1): [2, 1, 3] "
            "before the run 48, expected -7: correct it, or the mapping"
        ) in message.splitlines()


def test_a_golden_function_may_lose_the_payload_of_a_nan_that_was_there() -> None:
    before = BEFORE.clone()
    before.view(torch.int32)[2, 0, 0] = 0x7FC00123
    expected = written(before)
    expected[2, 0, 0] = math.nan

    assert judged(written(before), expected, before=before)[0]


def test_without_the_pool_among_the_inputs_unnamed_rows_must_be_the_expected_ones() -> None:
    assert judged(written(), before=None)[0]
    actual = written()
    actual[2, 0, 0] += 1

    passed, message = judged(actual, before=None)
    assert not passed
    assert message.splitlines()[1] == "first [2, 0, 0] expected 40 (0x42200000), got 41 (0x42240000)"


def test_an_input_that_the_run_wrote_into_proves_nothing() -> None:
    actual = written()
    actual.view(torch.int32)[2, 3, 4] ^= 1

    passed, message = judged(actual, before=actual)
    assert not passed
    assert message.splitlines()[1] == "first [2, 3, 4] expected 59 (0x426c0000), got 59.0000038 (0x426c0001)"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_value_that_is_not_finite_in_a_named_row_fails_whatever_the_ratio(value: float) -> None:
    comparator = mapped_pool_ratio_allclose("map", mapping_shape=(3,), block_size=SIZE, max_error_ratio=1.0)
    actual, expected = written(), written()
    assert judged(actual, expected, comparator)[0]
    actual[1, 2, 3] = value

    passed, message = judged(actual, expected, comparator)
    assert not passed
    assert message.splitlines()[1] == (f"nan or inf: 1 got, 0 expected, first [1, 2, 3] expected 100, got {value:g}")
    assert not judged(expected, actual, comparator)[0]
    assert not judged(actual, actual.clone(), comparator)[0]


def test_as_many_elements_may_differ_as_the_ratio_allows_rounded_down() -> None:
    comparator = mapped_pool_ratio_allclose("map", mapping_shape=(3,), block_size=SIZE, max_error_ratio=0.29)
    actual = written()
    actual[1, 2, :2] += 50
    assert judged(actual, comparator=comparator)[0]
    actual[1, 2, 2] += 50

    passed, message = judged(actual, comparator=comparator)
    assert not passed
    assert message.startswith("3 of 10 elements of the 2 rows that 'map' names differ, 2 allowed")


def test_its_own_tolerances_go_before_the_cases() -> None:
    actual = written()
    actual[1, 2] += 0.5
    strict = mapped_pool_ratio_allclose("map", mapping_shape=(3,), block_size=SIZE, rtol=0.0, atol=0.4)
    loose = mapped_pool_ratio_allclose("map", mapping_shape=(3,), block_size=SIZE, atol=0.5)

    assert not judged(actual, comparator=strict)[0]
    assert judged(actual, comparator=loose, rtol=0.0)[0]


def test_a_mapping_that_names_no_row_wants_everything_unchanged() -> None:
    nothing = torch.full((3,), -1)

    assert judged(BEFORE.clone(), BEFORE, mapping=nothing) == (True, "'map' names no row")
    assert not judged(written(), BEFORE, mapping=nothing)[0]


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        (None, "compare_fn misconfigured: no input is named 'map'; there are ['kv']"),
        (MAPPING.float(), "the mapping 'map' is of dtype float32: it must be of integers"),
        (MAPPING > 0, "the mapping 'map' is of dtype bool: it must be of integers"),
        (MAPPING[:2], "the mapping 'map' is of shape [2], but mapping_shape=(3,)"),
        (MAPPING[None], "the mapping 'map' is of shape [1, 3], but mapping_shape=(3,)"),
        (
            torch.tensor([6, -2, 1]),
            "the mapping 'map' holds -2 at [1]: it must be -1 (no row) or a row from 0 to 11",
        ),
        (
            torch.tensor([6, 0, 12]),
            "the mapping 'map' holds 12 at [2]: it must be -1 (no row) or a row from 0 to 11",
        ),
        (torch.tensor([0, 0, -1]), "the mapping 'map' names row 0 (block 0, slot 0) twice, at [0] and [1]"),
        (torch.tensor([6, 1, 6]), "the mapping 'map' names row 6 (block 1, slot 2) twice, at [0] and [2]"),
    ],
)
def test_a_mapping_that_cannot_be_fails(mapping: torch.Tensor | None, says: str) -> None:
    assert judged(written(), mapping=mapping) == (False, says)


def test_a_pool_of_another_layout_fails() -> None:
    pool = written().view(SIZE, BLOCKS, WIDTH)

    assert judged(pool, pool.clone()) == (
        False,
        "the pool is of shape [4, 3, 5], expected [blocks, block_size, ...] with block_size=4",
    )
    assert judged(pool.flatten(), pool.flatten())[1].startswith("the pool is of shape [60]")


def test_each_rank_has_a_mapping_of_its_own() -> None:
    comparator = mapped_pool_ratio_allclose(
        "map", mapping_shape=(2, 2), block_size=SIZE, leading_rank_axis=True, pool_name="KV cache"
    )
    before = torch.stack([BEFORE, -BEFORE])
    mapping = torch.tensor([[6, 1], [6, -1]])
    expected = before.clone()
    expected[0, 1, 2], expected[0, 0, 1], expected[1, 1, 2] = 1, 2, 3

    assert judged(expected.clone(), expected, comparator, before, mapping)[0]
    actual = expected.clone()
    actual[1, 0, 1] = 2  # a row that only the other rank's mapping names
    passed, message = judged(actual, expected, comparator, before, mapping)
    assert not passed
    assert message.splitlines()[0] == (
        "'map' does not name 1 row of the KV cache, but 5 elements changed there: row 1 (block 0, slot 1) of rank 1"
    )
    twice = judged(expected.clone(), expected, comparator, before, torch.tensor([[6, 1], [2, 2]]))
    assert twice == (False, "the mapping 'map' names row 2 (block 0, slot 2) of rank 1 twice, at [1, 0] and [1, 1]")
    three = torch.cat([before, before[:1]])
    assert judged(three, three, comparator, three, mapping) == (False, "the KV cache has 3 ranks, but 'map' 2")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"mapping_name": ""}, ValueError, "mapping_name=''"),
        ({"mapping_shape": 64}, TypeError, "mapping_shape=64"),
        ({"mapping_shape": ()}, ValueError, r"mapping_shape=\(\)"),
        ({"mapping_shape": (3, 0)}, ValueError, "mapping_shape=0"),
        ({"block_size": 0}, ValueError, "block_size=0"),
        ({"leading_rank_axis": True}, ValueError, r"mapping_shape=\(3,\)"),
        ({"leading_rank_axis": 1}, TypeError, "leading_rank_axis=1"),
        ({"atol": -1e-3}, ValueError, "atol=-0.001"),
        ({"rtol": math.nan}, ValueError, "rtol=nan"),
        ({"max_error_ratio": 1.5}, ValueError, "max_error_ratio=1.5"),
        ({"pool_name": 3}, TypeError, "pool_name=3"),
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(arguments: Any, error: type[Exception], says: str) -> None:
    given = {"mapping_name": "map", "mapping_shape": (3,), "block_size": SIZE, **arguments}

    with pytest.raises(error, match=says):
        mapped_pool_ratio_allclose(given.pop("mapping_name"), **given)


@settings(max_examples=150)
@given(st.data())
def test_verdicts_are_those_of_a_plain_formulation(data: st.DataObject) -> None:
    blocks, size, width = (data.draw(st.integers(1, 3)) for _ in range(3))
    piece = data.draw(st.sampled_from([1, 6, 1 << 16]))
    values = st.sampled_from([0.0, -0.0, 1.0, 1.05, 1.2, 2.0, math.nan, math.inf])
    pool = st.lists(values, min_size=blocks * size * width, max_size=blocks * size * width)
    before = torch.tensor(data.draw(pool)).view(blocks, size, width)
    mapping = torch.tensor(data.draw(st.lists(st.integers(-1, blocks * size - 1), min_size=1, max_size=4, unique=True)))
    expected, actual = before.clone(), before.clone()
    for tensor in (expected, actual):
        for row in mapping[mapping >= 0].tolist() + data.draw(st.lists(st.integers(0, blocks * size - 1), max_size=1)):
            tensor.view(-1, width)[row] = data.draw(st.sampled_from([1.0, 1.0, 1.05, 1.2, -0.0, math.nan]))
    ratio = data.draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))

    bad = total = 0
    right = True
    for row in range(blocks * size):
        a, e, b = (tensor.view(-1, width)[row] for tensor in (actual, expected, before))
        if row in mapping.tolist():
            right &= all(map(math.isfinite, a.tolist() + e.tolist()))
            bad += sum(abs(x - y) > 0.1 + 0.01 * abs(y) for x, y in zip(a.tolist(), e.tolist(), strict=True))
            total += width
        else:
            right &= torch.equal(a.view(torch.int32), b.view(torch.int32))
            right &= all(x == y or (x != x and y != y) for x, y in zip(e.tolist(), b.tolist(), strict=True))
    comparator = mapped_pool_ratio_allclose(
        "map", mapping_shape=tuple(mapping.shape), block_size=size, max_error_ratio=ratio
    )
    turned = [tensor.transpose(0, 2).contiguous().transpose(0, 2) for tensor in (actual, expected, before)]
    for a, e, b in ((actual, expected, before), turned):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pool_module, "ELEMENTS", piece)
            passed, message = judged(a, e, comparator, b, mapping, atol=0.1)
        assert passed is (right and bad <= math.floor(ratio * total)), message


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.bfloat16, torch.float8_e4m3fn, torch.complex64])
def test_every_kind_of_element_is_judged(dtype: torch.dtype) -> None:
    before = (BEFORE % 2).to(dtype)
    expected = before.clone()
    expected[1, 2] = torch.ones(()).to(dtype)
    expected[0, 1] = torch.zeros(()).to(dtype)

    assert judged(expected.clone(), expected, before=before)[0]
    for index in ((1, 2, 0), (2, 2, 2)):
        actual = expected.clone()
        actual[index] = (1 - actual[index].to(torch.float32)).to(dtype) if dtype != torch.complex64 else 1j
        assert not judged(actual, expected, before=before)[0], index


def test_a_pool_of_no_elements_passes() -> None:
    for shape in ((0, SIZE, WIDTH), (BLOCKS, SIZE, 0)):
        none = torch.empty(shape)
        assert judged(none, none.clone(), before=none.clone(), mapping=torch.full((3,), -1))[0]


def test_one_bit_among_20_million_elements_is_found() -> None:
    before = torch.zeros(1250, 16, 1000, dtype=torch.bfloat16)
    actual, mapping = before.clone(), torch.tensor([19_999, 0, 7])
    comparator = mapped_pool_ratio_allclose("map", mapping_shape=(3,), block_size=16)
    assert judged(actual, before, comparator, before, mapping)[0]
    actual[1249, 14, 999] = -0.0

    passed, message = judged(actual, before, comparator, before, mapping)
    assert not passed
    assert message.splitlines()[1] == "first [1249, 14, 999] before the run 0 (0x0000), got -0 (0x8000)"
