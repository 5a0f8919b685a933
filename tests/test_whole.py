"""Comparators of the whole output: identical to the bit, by ulp, by cosine, by relative L2."""

import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation.comparator import Comparator
from golden_tasks.validation.whole import cosine, exact, relative_l2, ulp

FP8 = [getattr(torch, name) for name in dir(torch) if name.startswith("float8_")]
PATTERNS = {
    **dict.fromkeys(FP8, torch.int8),
    **{torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64},
}
EVERY = (*PATTERNS, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16)


def judged(comparator: Comparator, actual: Any, expected: Any) -> tuple[bool, str]:
    sides = [one if isinstance(one, torch.Tensor) else torch.tensor(one) for one in (actual, expected)]
    return comparator(*sides, actual_outputs={}, expected_outputs={}, inputs={}, rtol=1.0, atol=1.0)


@pytest.mark.parametrize("dtype", [*EVERY, torch.complex64])
def test_exact_passes_what_is_identical_and_finds_one_bit(dtype: torch.dtype) -> None:
    expected = torch.ones(3, 4).to(dtype)
    actual = expected.clone()
    assert judged(exact(), actual, expected) == (True, "all 12 elements are identical")
    actual.view(torch.uint8)[2, -1] ^= 1

    passed, message = judged(exact(), actual, expected)
    assert not passed
    assert message.splitlines()[1].startswith("[2, 3] expected ")


def test_exact_tells_minus_zero_from_zero_and_nans_apart_by_their_bits() -> None:
    expected = torch.tensor([0.0, 1.0, math.nan])
    assert judged(exact(), expected.clone(), expected)[0]
    actual = torch.tensor([-0.0, 1.0, math.nan])
    actual.view(torch.int32)[2] += 1

    assert judged(exact(), actual, expected) == (
        False,
        "2 of 3 elements are not identical, bit for bit\n"
        "[0] expected 0 (0x00000000), got -0 (0x80000000)\n"
        "[2] expected nan (0x7fc00000), got nan (0x7fc00001)",
    )


def test_exact_lists_the_first_ones_and_counts_all() -> None:
    passed, message = judged(exact(), torch.zeros(4, 3, dtype=torch.int8), torch.ones(4, 3, dtype=torch.int8))

    assert not passed
    assert message.splitlines()[0] == "12 of 12 elements are not identical, bit for bit"
    assert message.splitlines()[1] == "[0, 0] expected 1, got 0"
    assert message.splitlines()[-1] == "... and 7 more"


def steps_apart(a: torch.Tensor, e: torch.Tensor, dtype: torch.dtype) -> int | None:
    """The number of steps from one value to the other, counted over all values of the dtype in order; None is never."""
    every = torch.arange(256, dtype=torch.uint8).view(dtype) if dtype.itemsize == 1 else None
    x, y = a.to(torch.float64).item(), e.to(torch.float64).item()
    if x == y:
        return 0
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    if every is not None:
        ladder = sorted({v for v in every.to(torch.float64).tolist() if math.isfinite(v)})
        return abs(ladder.index(x) - ladder.index(y))
    width = 8 * dtype.itemsize
    low, high = (Fraction(min(x, y)), Fraction(max(x, y)))
    mantissa = {torch.float16: 10, torch.bfloat16: 7, torch.float32: 23, torch.float64: 52}[dtype]
    bias = {torch.float16: 15, torch.bfloat16: 127, torch.float32: 127, torch.float64: 1023}[dtype]
    assert width >= 16

    def height(value: Fraction) -> int:
        """Steps from 0, by the definition of the format: 2**mantissa for each power of two, evenly spaced below."""
        if value < 0:
            return -height(-value)
        smallest = Fraction(2) ** (1 - bias - mantissa)
        if value < smallest * 2**mantissa:
            return int(value / smallest)
        power = math.frexp(float(value))[1] - 1
        spacing = Fraction(2) ** (power - mantissa)
        return (power + bias) * 2**mantissa + int((value - Fraction(2) ** power) / spacing)

    return height(high) - height(low)


@pytest.mark.parametrize("dtype", PATTERNS)
@settings(max_examples=60)
@given(st.data())
def test_ulp_counts_the_steps_through_the_dtypes_values(dtype: torch.dtype, data: st.DataObject) -> None:
    limits = torch.iinfo(PATTERNS[dtype])
    any_bits = st.integers(limits.min, limits.max)
    e = data.draw(any_bits)
    near = st.integers(max(limits.min, e - 3), min(limits.max, e + 3))
    a = data.draw(any_bits | near)
    actual, expected = (torch.tensor([one], dtype=PATTERNS[dtype]).view(dtype) for one in (a, e))
    apart = steps_apart(actual, expected, dtype)

    if apart is None:
        assert not judged(ulp(2**63 - 1), actual, expected)[0]
        return
    if apart <= 2**63 - 1:
        assert judged(ulp(apart), actual, expected)[0]
    if apart:
        passed, message = judged(ulp(min(apart, 2**63) - 1), actual, expected)
        assert not passed
        assert message.endswith(f": {apart} ulp")


def test_ulp_takes_zero_for_minus_zero_and_an_infinity_for_itself_only() -> None:
    far = ulp(2**63 - 1)

    assert judged(ulp(0), [0.0, math.inf, -math.inf], [-0.0, math.inf, -math.inf])[0]
    for a, e in ((math.inf, 3.4028234663852886e38), (math.inf, -math.inf), (math.nan, math.nan), (math.nan, 1.0)):
        assert not judged(far, [a], [e])[0]
        assert not judged(far, [e], [a])[0]


def test_ulp_says_how_many_where_and_how_far() -> None:
    expected = torch.ones(2, 3)
    actual = expected.clone()
    actual.view(torch.int32)[0, 1] += 3
    actual.view(torch.int32)[1, 2] -= 17
    actual[1, 0] = math.nan

    assert judged(ulp(2), actual, expected) == (
        False,
        "3 of 6 elements are more than 2 ulp of float32 apart; 1 with nan or inf\n"
        "[0, 1] expected 1, got 1.00000036\n"
        "[1, 0] expected 1, got nan\n"
        "[1, 2] expected 1, got 0.999998987\n"
        "worst: [1, 2] expected 1, got 0.999998987: 17 ulp",
    )
    assert judged(ulp(17), expected, expected.clone()) == (True, "all 6 elements are within 17 ulp")


def test_ulp_of_integers_is_a_misconfigured_comparator() -> None:
    assert judged(ulp(1), [1, 2], [1, 2]) == (
        False,
        "compare_fn misconfigured: ulp counts steps between floats, and this output is int64: "
        "use exact() or the default",
    )


FLOATS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20)


@settings(max_examples=200)
@given(FLOATS, st.data())
def test_cosine_and_relative_l2_are_those_of_exact_arithmetic(expected: list[float], data: st.DataObject) -> None:
    near = [data.draw(st.sampled_from([e, e * 1.01, -e, 0.0, e + 1])) for e in expected]
    a, e = (torch.tensor(one, dtype=torch.float32) for one in (near, expected))
    x, y = ([Fraction(v) for v in one.tolist()] for one in (a, e))
    aa, ee, ae, dd = (sum(p * q for p, q in pairs) for pairs in _products(x, y))
    for limit in (1e-3, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0):
        similar = judged(cosine(limit), a, e)[0]
        if not aa or not ee:
            assert similar is (aa == ee)
        elif ae <= 0 or abs(ae**2 / (aa * ee) - Fraction(limit) ** 2) > Fraction(1, 10**12):
            assert similar is (ae > 0 and ae**2 >= Fraction(limit) ** 2 * aa * ee)
        if limit < 1:
            close = judged(relative_l2(limit), a, e)[0]
            if not ee or abs(dd / ee - Fraction(limit) ** 2) > Fraction(1, 10**12):
                assert close is (dd <= Fraction(limit) ** 2 * ee)


def _products(x: list[Fraction], y: list[Fraction]) -> list[list[tuple[Fraction, Fraction]]]:
    d = [p - q for p, q in zip(x, y, strict=True)]
    return [list(zip(p, q, strict=True)) for p, q in ((x, x), (y, y), (x, y), (d, d))]


@pytest.mark.parametrize("comparator", [cosine(1.0), relative_l2(1e-12)])
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e307])
def test_measures_hold_for_fp64_of_any_magnitude(comparator: Comparator, scale: float) -> None:
    expected = torch.tensor([3.0, -4.0, 1.0], dtype=torch.float64) * scale
    assert judged(comparator, expected.clone(), expected)[0]
    assert not judged(comparator, torch.tensor([3.0, -4.0, 2.0], dtype=torch.float64) * scale, expected)[0]


@pytest.mark.parametrize("comparator", [cosine(0.5), relative_l2(0.9)])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
def test_one_value_that_is_not_finite_fails_a_measure_and_is_located(
    comparator: Comparator, value: float, dtype: torch.dtype
) -> None:
    good = torch.ones(40, 50, dtype=dtype)
    bad = good.clone()
    bad[39, 48] = value

    for actual, expected in ((bad, good), (good, bad), (bad, bad.clone())):
        passed, message = judged(comparator, actual, expected)
        assert not passed
        assert message.startswith("nan or inf, first at [39, 48] expected ")


@pytest.mark.parametrize("comparator", [cosine(0.5), relative_l2(0.9)])
def test_zeros_equal_zeros_and_nothing_else(comparator: Comparator) -> None:
    zeros, ones = torch.zeros(5), torch.ones(5)

    assert judged(comparator, zeros, -zeros)[0]
    assert not judged(comparator, zeros, ones)[0]
    assert not judged(comparator, ones, zeros)[0]


def test_measures_say_what_was_measured() -> None:
    expected = torch.tensor([3.0, 4.0])

    assert judged(cosine(0.97), [4.0, 3.0], expected) == (False, "cosine similarity 0.96, at least 0.97 wanted")
    assert judged(cosine(0.95), [4.0, 3.0], expected) == (True, "cosine similarity 0.96, at least 0.95 wanted")
    assert judged(relative_l2(0.1), [3.0, 3.0], expected) == (False, "relative L2 error 0.2, at most 0.1 allowed")
    assert judged(relative_l2(0.2), [3.0, 3.0], expected) == (True, "relative L2 error 0.2, at most 0.2 allowed")
    assert judged(cosine(0.5), [0.0, 0.0], expected) == (False, "got zeros only, expected others")
    assert judged(relative_l2(0.5), expected, [0.0, 0.0]) == (False, "expected zeros only, got others")


def test_a_measure_that_is_next_to_its_limit_is_written_with_enough_digits_to_tell_them_apart() -> None:
    assert judged(relative_l2(0.2), [3.0, 2.9999], [3.0, 4.0]) == (
        False,
        "relative L2 error 0.20002, at most 0.2 allowed",
    )


def test_cosine_is_blind_to_scale_and_relative_l2_is_not() -> None:
    expected = torch.randn(1000)

    assert judged(cosine(0.9999), expected * 1.5, expected)[0]
    assert not judged(relative_l2(0.1), expected * 1.5, expected)[0]
    assert not judged(cosine(0.1), -expected, expected)[0]


@pytest.mark.parametrize(
    ("make", "argument", "error", "says"),
    [
        (ulp, -1, ValueError, "max_ulp=-1"),
        (ulp, 1.0, TypeError, "max_ulp=1.0"),
        (ulp, True, TypeError, "max_ulp=True"),
        (ulp, 2**63, ValueError, "max_ulp=9223372036854775808"),
        (cosine, 0.0, ValueError, "min_similarity=0"),
        (cosine, 1.01, ValueError, "min_similarity=1.01"),
        (cosine, "0.9", TypeError, "min_similarity='0.9'"),
        (cosine, math.nan, ValueError, "min_similarity=nan"),
        (relative_l2, 0, ValueError, r"max_error=0.* asks for identical values: use exact\(\)"),
        (relative_l2, 1.0, ValueError, "max_error=1.0 would pass an output of zeros"),
        (relative_l2, -0.1, ValueError, "max_error=-0.1"),
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(
    make: Any, argument: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make(argument)


@pytest.mark.parametrize("comparator", [exact(), ulp(0), cosine(), relative_l2(1e-3)])
def test_no_elements_pass(comparator: Comparator) -> None:
    assert judged(comparator, torch.empty(0, 3), torch.empty(0, 3))[0]


@pytest.mark.parametrize("comparator", [exact(), ulp(0), cosine(1.0), relative_l2(1e-9)])
def test_strides_change_no_verdict(comparator: Comparator) -> None:
    expected = torch.randn(30, 40).t()
    actual = expected.contiguous()
    assert judged(comparator, actual, expected)[0]
    actual[39, 29] += 1
    assert not judged(comparator, actual, expected)[0]


@pytest.mark.parametrize("comparator", [exact(), ulp(1), relative_l2(1e-6)])
def test_one_wrong_element_of_20_million_is_found(comparator: Comparator) -> None:
    expected = torch.zeros(1, dtype=torch.bfloat16).expand(20_000_000).contiguous()
    expected[5] = 1
    actual = expected.clone()
    assert judged(comparator, actual, expected)[0]
    actual[19_999_999] = 0.01
    assert not judged(comparator, actual, expected)[0]


def test_cosine_over_20_million_elements() -> None:
    expected = torch.ones(20_000_000, dtype=torch.bfloat16)
    actual = expected.clone()
    assert judged(cosine(1.0), actual, expected) == (True, "cosine similarity 1, at least 1 wanted")
    actual[:5_000_000] = 0
    assert judged(cosine(0.87), actual, expected) == (False, "cosine similarity 0.866, at least 0.87 wanted")
