"""The default comparison, `ratio_allclose` and `ratio_reldiff` against a slow reference, one Python number at a time.

The rules are fp64 arithmetic in which every operation is rounded once. So the reference computes every operation
exactly, with fractions, and rounds it to fp64 by itself: then an element exactly at the tolerance, or one ulp beside
it, has one right verdict, and the engine must give that verdict for every element; no border is left out. Values are
drawn as any bits of their dtype, as the expected value itself, and as the last value that the rule lets pass and its
neighbours. The whole and every part of the engine is cut into small pieces, so that pieces end anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation.compare import Comparison, compare
from golden_tasks.validation.ratio import ratio_allclose, ratio_reldiff

BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
FP8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, *FP8)
COMPLEX = (torch.complex64, torch.complex128)
INTEGERS = (
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool),
)
ALL = (*FLOATS, *COMPLEX, *INTEGERS)
TOLERANCES = (
    st.sampled_from([0.0, 1e-8, 1e-5, 1e-3, 0.1, 0.5, 1.0, 2.0, 1e-45, 5e-324, 1e-30, 2.0**-100, 2.0**-60, 1e30, 1e300])
    | st.floats(0, 1)
    | st.floats(0, 1e308)
)
SHAPES = st.sampled_from([(), (1,), (0,), (7,), (16,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 5, 1), (9, 2)])

Value = Any  # a Python number: int, float or complex


@contextmanager
def in_pieces_of(elements: int) -> Iterator[None]:
    """The engine with pieces, and parts of a piece that are judged at a time, of so many elements."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("compare", "ratio"):
            patch.setattr(import_module(f"golden_tasks.validation.{module}"), "_CHUNK", elements)
            patch.setattr(import_module(f"golden_tasks.validation.{module}"), "ELEMENTS", max(1, elements // 2))
        yield


def rounded(exact: Fraction) -> float:
    """To the nearest fp64, ties to even, as IEEE 754 does."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def minus(a: Value, e: Value) -> float:
    """|a - e|, rounded once."""
    if isinstance(a, complex):
        return modulus(minus_signed(a.real, e.real), minus_signed(a.imag, e.imag))
    if isinstance(a, float) and not (math.isfinite(a) and math.isfinite(e)):
        return abs(a - e)
    return abs(rounded(Fraction(a) - Fraction(e)))


def minus_signed(a: float, e: float) -> float:
    return a - e if not (math.isfinite(a) and math.isfinite(e)) else rounded(Fraction(a) - Fraction(e))


def modulus(x: float, y: float) -> float:
    """As the rule defines it: by a power of two into the range where squares neither overflow nor underflow.

    NaN if it is more than fp64 holds: then nothing is within a tolerance relative to it.
    """
    larger = math.nan if is_nan(x) or is_nan(y) else max(abs(x), abs(y))
    scale = 2.0**-600 if larger > 2.0**500 else 2.0**600 if larger < 2.0**-500 else 1.0
    x, y = x * scale, y * scale
    found = math.sqrt(x * x + y * y) / scale
    return math.nan if math.isinf(found) else found


def size(value: Value) -> float:
    """|value| in fp64."""
    if isinstance(value, complex):
        return modulus(value.real, value.imag)
    if isinstance(value, float):
        return abs(value)
    return rounded(Fraction(abs(value)))


def times(x: float, y: float) -> float:
    return x * y if not (math.isfinite(x) and math.isfinite(y)) else rounded(Fraction(x) * Fraction(y))


def plus(x: float, y: float) -> float:
    return x + y if not (math.isfinite(x) and math.isfinite(y)) else rounded(Fraction(x) + Fraction(y))


def is_finite(value: Value) -> bool:
    if isinstance(value, complex):
        return math.isfinite(value.real) and math.isfinite(value.imag)
    return not isinstance(value, float) or math.isfinite(value)


def is_nan(value: Value) -> bool:
    return value != value


def within(a: Value, e: Value, rtol: float, atol: float) -> bool:
    """|a - e| <= atol + rtol * |e|; a difference that fp64 cannot hold is beyond any tolerance."""
    difference = minus(a, e)
    return difference == 0 or (math.isfinite(difference) and difference <= plus(atol, times(rtol, size(e))))


def equal_by_default(a: Value, e: Value, rtol: float, atol: float, equal_nan: bool) -> bool:
    if isinstance(e, int):
        return bool(a == e)
    if equal_nan and is_nan(a) and is_nan(e):
        return not isinstance(a, complex) or equal_but_for_nan_parts(a, e, rtol, atol)
    return bool(a == e) or within(a, e, rtol, atol)


def equal_but_for_nan_parts(a: complex, e: complex, rtol: float, atol: float) -> bool:
    common = [is_nan(x) and is_nan(y) for x, y in ((a.real, e.real), (a.imag, e.imag))]
    a, e = (complex(*(0.0 if c else p for c, p in zip(common, (v.real, v.imag), strict=True))) for v in (a, e))
    return a == e or within(a, e, rtol, atol)


def bad_by_reldiff(a: Value, e: Value, threshold: float) -> tuple[bool, float]:
    difference = minus(a, e)
    if difference < threshold:
        return False, difference
    if is_nan(size(a)) or is_nan(size(e)):
        return True, math.inf
    larger = max(size(a), size(e), 2.0**-14 / threshold)
    relative = difference / plus(larger, 1e-9)
    return not relative <= threshold, relative


def values_of(tensor: torch.Tensor) -> list[Value]:
    """Every element as a Python number, exactly."""
    if tensor.dtype in FP8:
        return [fp8_value(byte, tensor.dtype) for byte in tensor.contiguous().view(torch.uint8).flatten().tolist()]
    if tensor.dtype == torch.bool:
        return [int(value) for value in tensor.flatten().tolist()]
    return tensor.flatten().tolist()


def fp8_value(byte: int, dtype: torch.dtype) -> float:
    """What a byte means, by the formats' definitions: OCP OFP8 and MX; the FNUZ kinds, by Graphcore and AMD."""
    if dtype == torch.float8_e8m0fnu:
        return math.nan if byte == 0xFF else math.ldexp(1.0, byte - 127)
    fraction_bits = 3 if "e4m3" in str(dtype) else 2
    bias = {torch.float8_e4m3fn: 7, torch.float8_e5m2: 15, torch.float8_e4m3fnuz: 8, torch.float8_e5m2fnuz: 16}[dtype]
    sign, rest = (-1.0 if byte & 0x80 else 1.0), byte & 0x7F
    if "fnuz" in str(dtype):
        if byte == 0x80:
            return math.nan
    elif dtype == torch.float8_e4m3fn:
        if rest == 0x7F:
            return math.nan
    elif rest >= 0x7C:
        return sign * math.inf if rest == 0x7C else math.nan
    exponent, fraction = rest >> fraction_bits, rest & ((1 << fraction_bits) - 1)
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)


@st.composite
def pairs(draw: st.DrawFn, dtype: torch.dtype, rtol: float, atol: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Actual and expected values of one shape, row-major or not."""
    shape = draw(SHAPES)
    count = math.prod(shape)
    if dtype in COMPLEX:
        real = torch.float32 if dtype == torch.complex64 else torch.float64
        actual, expected = (side.view(dtype) for side in draw(flat_pairs(real, 2 * count, rtol, atol)))
    else:
        actual, expected = draw(flat_pairs(dtype, count, rtol, atol))
    layouts = st.sampled_from([laid_out_plainly, transposed, spread_out])
    return draw(layouts)(actual.reshape(shape)), draw(layouts)(expected.reshape(shape))


@st.composite
def flat_pairs(
    draw: st.DrawFn, dtype: torch.dtype, count: int, rtol: float, atol: float
) -> tuple[torch.Tensor, torch.Tensor]:
    if dtype == torch.bool:
        sides = [draw(st.lists(st.booleans(), min_size=count, max_size=count)) for _ in range(2)]
        return torch.tensor(sides[0], dtype=dtype), torch.tensor(sides[1], dtype=dtype)
    held = BITS[dtype.itemsize]
    limits = torch.iinfo(held)
    patterns = st.integers(limits.min, limits.max)
    if dtype.is_floating_point and dtype not in FP8:
        special = [0.0, -0.0, 1.0, -1.5, 1e-3, 3e4, math.inf, -math.inf, math.nan]
        special += [torch.finfo(dtype).max, torch.finfo(dtype).min, torch.finfo(dtype).smallest_normal]
        patterns = patterns | st.sampled_from([int(torch.tensor(v, dtype=dtype).view(held)) for v in special])
    expected = draw(st.lists(patterns, min_size=count, max_size=count))
    borders = border(torch.tensor(expected, dtype=held).view(dtype), rtol, atol)
    choices = [
        st.just(e)
        | st.integers(-3, 3).map(lambda step, e=e: e + step)
        | st.tuples(st.sampled_from(borders[at]), st.integers(-1, 1)).map(sum)
        | patterns
        for at, e in enumerate(expected)
    ]
    actual = [min(max(draw(choice), limits.min), limits.max) for choice in choices]
    return torch.tensor(actual, dtype=held).view(dtype), torch.tensor(expected, dtype=held).view(dtype)


def border(expected: torch.Tensor, rtol: float, atol: float) -> list[list[int]]:
    """For each element the bits of the values that lie at its tolerance, above and below."""
    wide = expected.double() if expected.dtype != torch.uint64 else expected.to(torch.float64)
    allowed = (atol + rtol * wide.abs()).nan_to_num(0.0)
    integer = not expected.dtype.is_floating_point
    limits = torch.iinfo(expected.dtype) if integer else None
    ends = [wide + allowed, wide - allowed]
    if limits is not None:
        ends = [end.nan_to_num(0.0).clamp(float(limits.min), float(limits.max) * (1 - 2**-20)) for end in ends]
    bits = [end.to(expected.dtype).view(BITS[expected.dtype.itemsize]).flatten().tolist() for end in ends]
    return [list(both) for both in zip(*bits, strict=True)]


def laid_out_plainly(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """Of the same values, the last axis outermost in memory."""
    axes = list(reversed(range(tensor.dim())))
    return tensor.permute(axes).clone(memory_format=torch.contiguous_format).permute(axes)


def spread_out(tensor: torch.Tensor) -> torch.Tensor:
    """Of the same values, with a gap behind each in memory."""
    return torch.stack([tensor, tensor], dim=-1)[..., 0]


def same(one: float, other: float) -> bool:
    """Shares: equal up to what the fp32 sieve cannot tell apart; the smallest ones are 0 to it."""
    return one == other or math.isclose(one, other, rel_tol=2.0**-16, abs_tol=2.0**-120)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_default_comparison_gives_the_references_verdict_for_every_element(
    dtype: torch.dtype, data: st.DataObject
) -> None:
    rtol, atol, equal_nan = data.draw(TOLERANCES), data.draw(TOLERANCES), data.draw(st.booleans())
    actual, expected = data.draw(pairs(dtype, rtol, atol))

    with in_pieces_of(data.draw(st.sampled_from([1, 2, 5, 64]))):
        found = compare(actual, expected, rtol, atol, equal_nan)

    a, e = values_of(actual), values_of(expected)
    equal = [equal_by_default(x, y, rtol, atol, equal_nan) for x, y in zip(a, e, strict=True)]
    assert found.mismatches == equal.count(False)
    flat = torch.arange(len(a)).reshape(actual.shape)
    assert [int(flat[m.index]) for m in found.first] == [at for at, good in enumerate(equal) if not good][:5]
    assert (found.worst <= 1) == all(equal)
    check_counts(found, a, e)
    zero = type(e[0])(0) if e else 0
    assert found.zeros_pass == all(equal_by_default(zero, y, rtol, atol, equal_nan) for y in e)
    if dtype not in COMPLEX:
        check_worst(found, a, e, rtol, atol, equal_nan, equal)


def check_counts(found: Comparison, a: list[Value], e: list[Value]) -> None:
    assert found.elements == len(a)
    assert (found.nonzero_actual, found.nonzero_expected) == (sum(v != 0 for v in a), sum(v != 0 for v in e))
    assert (found.finite_actual, found.finite_expected) == (sum(map(is_finite, a)), sum(map(is_finite, e)))
    assert (found.actual_nans, found.expected_nans) == (sum(map(is_nan, a)), sum(map(is_nan, e)))


def check_worst(
    found: Comparison, a: list[Value], e: list[Value], rtol: float, atol: float, equal_nan: bool, equal: list[bool]
) -> None:
    shares, apart = [0.0], []
    for x, y, good in zip(a, e, equal, strict=True):
        difference = minus(x, y)
        if not good:
            apart.append(math.inf if is_nan(difference) else difference)
        if x == y or (equal_nan and is_nan(x) and is_nan(y)):
            continue
        allowed = plus(atol, times(rtol, size(y)))
        counts = math.isfinite(difference) and allowed > 0 and not isinstance(y, int)
        shares.append(difference / allowed if counts else math.inf)
    assert same(found.worst, max(shares))
    assert (found.worst_mismatch is None) == (not apart)
    if found.worst_mismatch is not None:
        assert (found.worst_mismatch.difference == max(apart)) or is_nan(found.worst_mismatch.difference)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_ratio_allclose_gives_the_references_verdict(dtype: torch.dtype, data: st.DataObject) -> None:
    rtol, atol = data.draw(TOLERANCES), data.draw(TOLERANCES)
    actual, expected = data.draw(pairs(dtype, rtol, atol))
    a, e = values_of(actual), values_of(expected)
    finite = all(map(is_finite, a + e))
    bad = sum(not within(x, y, rtol, atol) for x, y in zip(a, e, strict=True) if is_finite(x) and is_finite(y))

    for allowed in {max(bad - 1, 0), bad}:
        ratio = ratio_that_allows(allowed, len(a))
        with in_pieces_of(data.draw(st.sampled_from([1, 2, 5, 64]))):
            passed, message = ratio_allclose(max_error_ratio=ratio)(actual, expected, **others(rtol, atol))

        assert passed == (finite and bad <= allowed), message
        if passed:
            assert message.startswith(f"{bad} of {len(a)} differ, {allowed} allowed")


@pytest.mark.parametrize("dtype", ALL, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_ratio_reldiff_gives_the_references_verdict(dtype: torch.dtype, data: st.DataObject) -> None:
    threshold = data.draw(st.sampled_from([0.01, 1e-3, 2.0**-14, 2.0**-15, 0.5, 1.0, 3.0, 1e30]) | st.floats(1e-6, 2))
    nearby = data.draw(st.sampled_from([(threshold, 0.0), (0.0, threshold), (0.0, 2.0**-14)]))
    actual, expected = data.draw(pairs(dtype, *nearby))
    a, e = values_of(actual), values_of(expected)
    finite = all(map(is_finite, a + e))
    judged = [bad_by_reldiff(x, y, threshold) for x, y in zip(a, e, strict=True) if is_finite(x) and is_finite(y)]
    bad = [relative for wrong, relative in judged if wrong]
    worst = max(bad, default=0.0)
    bounds = [math.inf, *([worst, math.nextafter(worst, math.inf)] if 0 < worst < 1e300 else [])]

    for allowed in {max(len(bad) - 1, 0), len(bad)}:
        for bound in bounds:
            comparator = ratio_reldiff(threshold, ratio_that_allows(allowed, len(a)), bound)
            with in_pieces_of(data.draw(st.sampled_from([1, 2, 5, 64]))):
                passed, message = comparator(actual, expected, **others(0.0, 0.0))

            assert passed == (finite and len(bad) <= allowed and (not bad or worst < bound)), message


def ratio_that_allows(bad: int, elements: int) -> float:
    """A ratio in the middle between so many and one more."""
    return min((bad + 0.5) / elements, 1.0) if elements else 0.0


def others(rtol: float, atol: float) -> dict[str, Any]:
    return {"actual_outputs": {}, "expected_outputs": {}, "inputs": {}, "rtol": rtol, "atol": atol}
