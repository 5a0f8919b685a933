"""`ratio_allclose` and `ratio_reldiff`: what they let pass, what never passes, valid rows, and the words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from golden_tasks.inspection import policy_of
from golden_tasks.validation.comparator import Comparator
from golden_tasks.validation.ratio import allowed_of, ratio_allclose, ratio_reldiff

ROOT = Path(__file__).parents[1]
BOTH = [ratio_allclose(max_error_ratio=1.0, atol=0.5, rtol=0.0), ratio_reldiff(0.5, 1.0)]


def answer(
    comparator: Comparator,
    actual: torch.Tensor,
    expected: torch.Tensor,
    inputs: dict[str, torch.Tensor] | None = None,
    expected_outputs: dict[str, torch.Tensor] | None = None,
    rtol: float = 0.0,
    atol: float = 0.5,
) -> tuple[bool, str]:
    return comparator(
        actual,
        expected,
        actual_outputs={"y": actual},
        expected_outputs={"y": expected, **(expected_outputs or {})},
        inputs=inputs or {},
        rtol=rtol,
        atol=atol,
    )


def with_bad(elements: int, bad: int, by: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Zeros, and the same with the first few off."""
    actual = torch.zeros(elements)
    actual[:bad] = by
    return actual, torch.zeros(elements)


@pytest.mark.parametrize(("elements", "allowed"), [(120, 0), (199, 0), (200, 1), (399, 1), (1000, 5)])
@pytest.mark.parametrize("comparator", [ratio_allclose(), ratio_reldiff(0.5, 0.005)], ids=["allclose", "reldiff"])
def test_the_allowed_number_is_the_share_rounded_down(comparator: Comparator, elements: int, allowed: int) -> None:
    assert answer(comparator, *with_bad(elements, allowed))[0]
    assert not answer(comparator, *with_bad(elements, allowed + 1))[0]


@pytest.mark.parametrize(("ratio", "elements", "allowed"), [(0.29, 100, 29), (0.1, 30, 3), (1.0, 7, 7), (0.0, 9, 0)])
def test_a_share_means_what_is_written_in_decimal(ratio: float, elements: int, allowed: int) -> None:
    assert allowed_of(ratio, elements) == allowed


@given(ratio=st.integers(0, 1000), elements=st.integers(0, 10**9))
def test_never_more_than_the_share_is_allowed(ratio: int, elements: int) -> None:
    allowed = allowed_of(ratio / 1000, elements)

    assert allowed * 1000 <= ratio * elements < (allowed + 1) * 1000


def test_tolerances_that_are_not_given_are_the_cases() -> None:
    values = torch.tensor([1.25]), torch.tensor([1.0])

    assert answer(ratio_allclose(), *values, rtol=0.25, atol=0.0)[0]
    assert not answer(ratio_allclose(), *values, rtol=0.2, atol=0.0)[0]
    assert answer(ratio_allclose(rtol=0.25), *values, rtol=0.0, atol=0.0)[0]
    assert answer(ratio_allclose(atol=0.25), *values, rtol=0.0, atol=0.0)[0]
    assert not answer(ratio_allclose(atol=0.0), *values, rtol=0.0, atol=1.0)[0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["actual", "expected", "both"])
@pytest.mark.parametrize("comparator", BOTH, ids=["allclose", "reldiff"])
def test_nan_and_infinity_fail_on_either_side_whatever_is_allowed(
    comparator: Comparator, side: str, value: float
) -> None:
    actual, expected = torch.zeros(3, 4), torch.zeros(3, 4)
    for tensor in [actual] * (side != "expected") + [expected] * (side != "actual"):
        tensor[2, 1] = value

    passed, message = answer(comparator, actual, expected)

    assert not passed
    got, wanted = int(side != "expected"), int(side != "actual")
    words = f"1 of 12 elements are nan or inf ({got} got, {wanted} expected), none allowed, first [2, 1] expected "
    assert message.startswith(words)


@pytest.mark.parametrize("comparator", BOTH, ids=["allclose", "reldiff"])
def test_no_elements_pass(comparator: Comparator) -> None:
    assert answer(comparator, torch.zeros(0, 4), torch.zeros(0, 4)) == (True, "0 of 0 differ, 0 allowed")


@pytest.mark.parametrize("comparator", BOTH, ids=["allclose", "reldiff"])
def test_another_shape_or_dtype_never_passes(comparator: Comparator) -> None:
    assert answer(comparator, torch.zeros(1), torch.zeros(4)) == (False, "is of shape [1], expected [4]")
    halves = torch.zeros(4).half()
    assert answer(comparator, halves, torch.zeros(4)) == (False, "is of dtype float16, expected float32")


def test_integers_differ_by_their_exact_difference() -> None:
    large = torch.tensor([2**60 + 1, 0]), torch.tensor([2**60, 0])

    assert not answer(ratio_allclose(atol=0.5, rtol=0.0), *large)[0]
    assert answer(ratio_allclose(atol=1.0, rtol=0.0), *large)[0]


def test_a_difference_below_the_threshold_is_good_and_above_it_is_relative() -> None:
    comparator = ratio_reldiff(diff_thd=0.25, pct_thd=0.0)

    assert answer(comparator, torch.tensor([0.2]), torch.tensor([0.0]))[0]
    assert answer(comparator, torch.tensor([5.0]), torch.tensor([4.0]))[0]
    assert not answer(comparator, torch.tensor([5.5]), torch.tensor([4.0]))[0]
    assert not answer(comparator, torch.tensor([0.0]), torch.tensor([0.25]))[0]


def test_the_relative_difference_is_of_the_larger_value_whichever_side_it_is_on() -> None:
    comparator = ratio_reldiff(diff_thd=0.25, pct_thd=0.0)

    assert answer(comparator, torch.tensor([4.0]), torch.tensor([3.0]))[0]
    assert answer(comparator, torch.tensor([3.0]), torch.tensor([4.0]))[0]


def test_no_difference_below_2_to_the_minus_14_is_bad_however_small_the_threshold() -> None:
    comparator = ratio_reldiff(diff_thd=2.0**-20, pct_thd=0.0)

    assert answer(comparator, torch.tensor([2.0**-14]), torch.zeros(1))[0]
    assert not answer(comparator, torch.tensor([1.001 * 2.0**-14]), torch.zeros(1))[0]


def test_the_worst_bad_element_must_stay_below_the_bound_even_if_few_are_bad() -> None:
    values = with_bad(1000, 3, by=8.0)

    passed, message = answer(ratio_reldiff(0.5, 0.05, max_diff_hd=1.0), *values)
    assert passed
    assert message == "3 of 1000 differ, 50 allowed; worst [0] expected 0, got 8, off by 8 (relative 1)"

    passed, message = answer(ratio_reldiff(0.5, 0.05, max_diff_hd=0.875), *values)
    assert not passed
    assert message.splitlines()[0] == (
        "the worst relative difference must be below max_diff_hd=0.875: [0] expected 0, got 8, off by 8 (relative 1)"
    )


def test_the_first_rows_alone_are_compared() -> None:
    actual, expected = torch.zeros(4, 3), torch.zeros(4, 3)
    actual[2:] = math.nan

    passed, message = answer(ratio_allclose(valid_rows=2), actual, expected)

    assert (passed, message) == (True, "0 of 6 differ in the first 2 of 4 rows (axis 0), 0 allowed")
    assert not answer(ratio_allclose(valid_rows=3), actual, expected)[0]
    assert answer(ratio_allclose(valid_rows=2, valid_axis=-1), actual.t(), expected.t())[0]


def test_the_share_is_of_the_compared_rows() -> None:
    actual, expected = torch.zeros(100, 4), torch.zeros(100, 4)
    actual[0, :2] = 1.0

    assert answer(ratio_allclose(max_error_ratio=0.01), actual, expected)[0]
    assert not answer(ratio_allclose(max_error_ratio=0.01, valid_rows=10), actual, expected)[0]


def test_a_mismatch_in_valid_rows_of_an_inner_axis_is_told_by_its_index_in_the_output() -> None:
    actual, expected = torch.zeros(2, 5, 3), torch.zeros(2, 5, 3)
    actual[1, 2, 1] = 9.0

    _, message = answer(ratio_allclose(valid_rows=3, valid_axis=1), actual, expected)

    assert message.splitlines()[1] == "[1, 2, 1] expected 0, got 9, off by 9 (allowed 0.5)"


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_the_number_of_rows_is_read_from_an_input_or_an_output(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    actual, expected = torch.zeros(4, 3), torch.zeros(4, 3)
    actual[2:] = 1.0
    rows = torch.full(shape, 2, dtype=dtype)

    assert answer(ratio_allclose(valid_rows="n"), actual, expected, inputs={"n": rows})[0]
    assert answer(ratio_allclose(valid_rows="n"), actual, expected, expected_outputs={"n": rows})[0]
    assert not answer(ratio_allclose(valid_rows="n"), actual, expected, inputs={"n": rows + 1})[0]


def test_an_input_goes_before_an_output_of_the_same_name() -> None:
    actual, expected = torch.zeros(4, 3), torch.zeros(4, 3)
    actual[2:] = 1.0
    two, four = torch.tensor(2), torch.tensor(4)

    assert answer(ratio_allclose(valid_rows="n"), actual, expected, {"n": two}, {"n": four})[0]
    assert not answer(ratio_allclose(valid_rows="n"), actual, expected, {"n": four}, {"n": two})[0]


@pytest.mark.parametrize("rows", [0, "n"])
def test_no_valid_rows_pass(rows: int | str) -> None:
    passed, message = answer(
        ratio_allclose(valid_rows=rows), torch.ones(4, 3), torch.zeros(4, 3), {"n": torch.tensor(0)}
    )

    assert (passed, message) == (True, "0 of 0 differ in the first 0 of 4 rows (axis 0), 0 allowed")


@pytest.mark.parametrize(
    ("comparator", "inputs", "words"),
    [
        (ratio_allclose(valid_rows=5), {}, "valid_rows is 5, but axis 0 of the output has 4 rows"),
        (
            ratio_allclose(valid_rows="n"),
            {"n": torch.tensor(5)},
            "valid_rows is 5 (the value of 'n'), but axis 0 of the output has 4 rows",
        ),
        (
            ratio_reldiff(valid_rows="n", valid_axis=1),
            {"n": torch.tensor(-1)},
            "valid_rows is -1 (the value of 'n'), but axis 1 of the output has 3 rows",
        ),
        (
            ratio_allclose(valid_rows="n"),
            {"m": torch.tensor(2)},
            "compare_fn misconfigured: valid_rows='n' names neither an input nor an output; there are ['m', 'y']",
        ),
        (
            ratio_allclose(valid_rows="n"),
            {"n": torch.tensor([1, 2])},
            "compare_fn misconfigured: valid_rows='n' is int64 [2], not one integer",
        ),
        (
            ratio_allclose(valid_rows="n"),
            {"n": torch.tensor(2.0)},
            "compare_fn misconfigured: valid_rows='n' is float32 [], not one integer",
        ),
        (
            ratio_allclose(valid_rows="n"),
            {"n": torch.tensor(True)},
            "compare_fn misconfigured: valid_rows='n' is bool [], not one integer",
        ),
        (
            ratio_allclose(valid_rows=1, valid_axis=2),
            {},
            "compare_fn misconfigured: valid_axis=2, but the output has 2 axes: [4, 3]",
        ),
    ],
)
def test_rows_that_do_not_fit_fail_and_say_why(
    comparator: Comparator, inputs: dict[str, torch.Tensor], words: str
) -> None:
    assert answer(comparator, torch.zeros(4, 3), torch.zeros(4, 3), inputs) == (False, words)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e4m3fn, torch.int8, torch.complex64, torch.bool])
def test_a_zero_tail_is_wanted_of_the_actual_rows_behind(dtype: torch.dtype) -> None:
    comparator = ratio_allclose(valid_rows=2, valid_axis=1, zero_tail=True)
    actual = torch.ones(2, 4).to(dtype)
    actual[:, 2:] = 0
    assert answer(comparator, actual, torch.ones(2, 4).to(dtype))[0]

    actual[1, 3] = 1
    passed, message = answer(comparator, actual, torch.ones(2, 4).to(dtype))

    assert not passed
    assert message.startswith("1 of 4 elements behind the 2 valid rows are not zero, first [1, 3] got ")


def test_a_zero_tail_holds_no_nan_and_may_hold_a_negative_zero() -> None:
    comparator = ratio_allclose(valid_rows=0, zero_tail=True)

    assert answer(comparator, torch.tensor([0.0, -0.0]), torch.ones(2))[0]
    assert answer(comparator, torch.tensor([0.0, math.nan]), torch.ones(2)) == (
        False,
        "1 of 2 elements behind the 0 valid rows are not zero, first [1] got nan",
    )


def test_a_failure_says_how_many_how_many_are_allowed_which_first_and_which_is_worst() -> None:
    actual, expected = torch.zeros(10, 20), torch.zeros(10, 20)
    actual[3, 4] = actual[3, 5] = 0.75
    actual[9, 19] = -3.0

    assert answer(ratio_allclose(max_error_ratio=0.01, max_show=2), actual, expected) == (
        False,
        "3 of 200 elements differ, 2 allowed (max_error_ratio=0.01, rtol=0, atol=0.5)\n"
        "[3, 4] expected 0, got 0.75, off by 0.75 (allowed 0.5)\n"
        "[3, 5] expected 0, got 0.75, off by 0.75 (allowed 0.5)\n"
        "... and 1 more\n"
        "worst: [9, 19] expected 0, got -3, off by 3 (allowed 0.5)",
    )
    assert answer(ratio_reldiff(0.5, 0.01, max_show=1), actual, expected)[1].splitlines() == [
        "3 of 200 elements differ, 2 allowed (pct_thd=0.01, diff_thd=0.5)",
        "[3, 4] expected 0, got 0.75, off by 0.75 (relative 1)",
        "... and 2 more",
        "worst: [9, 19] expected 0, got -3, off by 3 (relative 1)",
    ]


def test_a_failure_with_nothing_to_show_is_one_line_and_the_worst() -> None:
    _, message = answer(ratio_allclose(max_error_ratio=0.0, max_show=0), *with_bad(10, 2))

    assert message.splitlines() == [
        "2 of 10 elements differ, 0 allowed (max_error_ratio=0, rtol=0, atol=0.5)",
        "worst: [0] expected 0, got 1, off by 1 (allowed 0.5)",
    ]


def test_a_pass_says_how_many_differ_and_which_is_worst() -> None:
    actual, expected = with_bad(1000, 3)
    actual[7] = 2.0

    assert answer(ratio_allclose(), actual, expected) == (
        True,
        "4 of 1000 differ, 5 allowed; worst [7] expected 0, got 2, off by 2 (allowed 0.5)",
    )


@pytest.mark.parametrize(
    ("make", "arguments", "error", "words"),
    [
        (ratio_allclose, {"atol": -1.0}, ValueError, "atol=-1.0"),
        (ratio_allclose, {"rtol": math.nan}, ValueError, "rtol=nan"),
        (ratio_allclose, {"atol": "1"}, TypeError, "atol='1'"),
        (ratio_allclose, {"max_error_ratio": 1.5}, ValueError, "max_error_ratio=1.5"),
        (ratio_allclose, {"max_error_ratio": True}, TypeError, "max_error_ratio=True"),
        (ratio_allclose, {"max_show": -1}, ValueError, "max_show=-1"),
        (ratio_allclose, {"valid_rows": -1}, ValueError, "valid_rows=-1"),
        (ratio_allclose, {"valid_rows": 1.0}, TypeError, "valid_rows=1.0"),
        (ratio_allclose, {"valid_rows": ""}, ValueError, "valid_rows=''"),
        (ratio_allclose, {"valid_axis": 0.5}, TypeError, "valid_axis=0.5"),
        (ratio_allclose, {"valid_rows": 1, "zero_tail": 1}, TypeError, "zero_tail=1"),
        (ratio_allclose, {"zero_tail": True}, ValueError, "zero_tail=True: there is no tail without valid_rows"),
        (ratio_reldiff, {"diff_thd": 0.0}, ValueError, "diff_thd=0.0"),
        (ratio_reldiff, {"diff_thd": math.inf}, ValueError, "diff_thd=inf"),
        (ratio_reldiff, {"pct_thd": -0.1}, ValueError, "pct_thd=-0.1"),
        (ratio_reldiff, {"max_diff_hd": 0}, ValueError, "max_diff_hd=0"),
        (ratio_reldiff, {"max_diff_hd": math.nan}, ValueError, "max_diff_hd=nan"),
        (ratio_reldiff, {"max_show": 2.0}, TypeError, "max_show=2.0"),
        (ratio_reldiff, {"valid_rows": True}, TypeError, "valid_rows=True"),
    ],
)
def test_an_argument_that_cannot_be_is_refused_at_once_by_name(
    make: Any, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as refused:
        make(**arguments)

    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("comparator", "label"),
    [
        (ratio_allclose(), "ratio_allclose(max_error_ratio=0.005)"),
        (ratio_allclose(1e-3, 1e-2, 0.01), "ratio_allclose(atol=0.001, rtol=0.01, max_error_ratio=0.01)"),
        (
            ratio_allclose(max_show=3, valid_rows="n", valid_axis=1, zero_tail=True),
            "ratio_allclose(max_error_ratio=0.005, max_show=3, valid_rows='n', valid_axis=1, zero_tail=True)",
        ),
        (ratio_reldiff(), "ratio_reldiff(diff_thd=0.01, pct_thd=0.05)"),
        (ratio_reldiff(max_diff_hd=2), "ratio_reldiff(diff_thd=0.01, pct_thd=0.05, max_diff_hd=2)"),
    ],
)
def test_the_label_spells_the_arguments(comparator: Comparator, label: str) -> None:
    assert comparator.__name__ == label  # type: ignore[attr-defined]


def policy(comparator: Comparator) -> dict[str, str]:
    return dict(policy_of(1e-5, 1e-5, {"y": comparator}, ROOT).parts)


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (ratio_allclose, {"atol": 0.5}),
        (ratio_allclose, {"rtol": 0.5}),
        (ratio_allclose, {"max_error_ratio": 0.01}),
        (ratio_allclose, {"max_show": 3}),
        (ratio_allclose, {"valid_rows": 2}),
        (ratio_allclose, {"valid_rows": "n"}),
        (ratio_allclose, {"valid_axis": 1}),
        (ratio_reldiff, {"diff_thd": 0.5}),
        (ratio_reldiff, {"pct_thd": 0.5}),
        (ratio_reldiff, {"max_diff_hd": 2.0}),
    ],
)
def test_another_argument_is_another_policy(make: Any, other: dict[str, Any]) -> None:
    assert policy(make()) == policy(make())
    assert policy(make()) != policy(make(**other))


def test_a_zero_tail_is_another_policy() -> None:
    assert policy(ratio_allclose(valid_rows=2)) != policy(ratio_allclose(valid_rows=2, zero_tail=True))


MANY = 20_000_000


@pytest.mark.parametrize(
    "comparator", [ratio_allclose(max_error_ratio=1e-6), ratio_reldiff(pct_thd=1e-6)], ids=["allclose", "reldiff"]
)
def test_20_million_elements_are_counted_one_by_one(comparator: Comparator) -> None:
    expected = torch.ones(MANY)
    actual = expected.clone()
    actual[:: MANY // 20] = 3.0  # 20 of them

    passed, message = answer(comparator, actual, expected)
    assert passed
    assert message.startswith(f"20 of {MANY} differ, 20 allowed; worst [0] expected 1, got 3, off by 2")

    actual[MANY - 1] = 4.0
    passed, message = answer(comparator, actual, expected)
    assert not passed
    assert message.startswith(f"21 of {MANY} elements differ, 20 allowed")
    assert message.splitlines()[-1].startswith(f"worst: [{MANY - 1}] expected 1, got 4, off by 3")
