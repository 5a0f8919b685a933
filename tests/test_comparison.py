"""How outputs are judged: the default rule element by element, the words of a failure, comparators, policies."""

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from golden_tasks import all_of, exact, validate_golden
from golden_tasks.records import OutputVerdict
from golden_tasks.results import Failure, Status
from golden_tasks.validation import Comparison, compare, judge

FLOATS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
INTEGERS = (
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
)
TOLERANCES = st.sampled_from([0.0, 1e-8, 1e-5, 1e-3, 0.5, 1.0, 2.0]) | st.floats(0, 1e3)
LARGEST = Fraction(torch.finfo(torch.float64).max)


@st.composite
def float_pairs(draw: st.DrawFn, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Actual and expected values of one dtype: any bit patterns, many of them equal, near or not finite."""
    limits = torch.iinfo(FLOATS[dtype])
    patterns = st.integers(limits.min, limits.max)
    special = st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, torch.finfo(dtype).max])
    bits = patterns | special.map(lambda v: int(torch.tensor(v, dtype=dtype).view(FLOATS[dtype])))
    expected = draw(st.lists(bits, max_size=8))
    steps = st.just(0) | st.integers(-(2**12), 2**12)
    actual = [draw(st.just(e) | steps.map(lambda s, e=e: e + s) | bits) for e in expected]
    return tuple(  # type: ignore[return-value]
        torch.tensor([min(max(b, limits.min), limits.max) for b in side], dtype=FLOATS[dtype]).view(dtype)
        for side in (actual, expected)
    )


def exactly_equal(a: float, e: float, rtol: float, atol: float) -> bool | None:
    """The rule in exact arithmetic; None within fp64's rounding of the border."""
    if math.isnan(a) or math.isnan(e):
        return False
    if math.isinf(a) or math.isinf(e) or a == e:
        return a == e
    difference = abs(Fraction(a) - Fraction(e))
    allowed = Fraction(atol) + Fraction(rtol) * abs(Fraction(e))
    rounding = max(difference, allowed) / 2**50 + Fraction(5e-324) * 4
    if difference > LARGEST or abs(difference - allowed) <= rounding:
        return None
    return difference < allowed


def in_chunks(size: int, actual: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> Comparison:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("golden_tasks.validation.compare"), "_CHUNK", size)
        return compare(actual, expected, rtol, atol)


def one(actual: torch.Tensor, expected: torch.Tensor, rtol: float = 0, atol: float = 0) -> OutputVerdict:
    (verdict,) = judge({"y": actual}, {"y": expected}, rtol, atol)
    return verdict


@pytest.mark.parametrize("dtype", FLOATS)
@given(st.data())
def test_floats_are_equal_within_the_tolerances_as_exact_arithmetic_says(
    dtype: torch.dtype, data: st.DataObject
) -> None:
    actual, expected = data.draw(float_pairs(dtype))
    rtol, atol, chunk = data.draw(TOLERANCES), data.draw(TOLERANCES), data.draw(st.integers(1, 9))

    found = in_chunks(chunk, actual, expected, rtol, atol)

    pairs = list(zip(actual.tolist(), expected.tolist(), strict=True))
    verdicts = [exactly_equal(a, e, rtol, atol) for a, e in pairs]
    assert found.elements == len(pairs)
    assert verdicts.count(False) <= found.mismatches <= len(pairs) - verdicts.count(True)
    shown = {m.index[0] for m in found.first}
    assert all(verdicts[at] is not True for at in shown)
    if None not in verdicts:
        assert sorted(shown) == [at for at, equal in enumerate(verdicts) if not equal][:5]
        assert (found.worst <= 1) == (found.mismatches == 0)


@pytest.mark.parametrize("dtype", FLOATS)
@given(st.data())
def test_floats_are_judged_as_torch_judges_them_in_fp64(dtype: torch.dtype, data: st.DataObject) -> None:
    actual, expected = data.draw(float_pairs(dtype))
    rtol, atol, chunk = data.draw(TOLERANCES), data.draw(TOLERANCES), data.draw(st.integers(1, 9))

    found = in_chunks(chunk, actual, expected, rtol, atol)

    close = torch.isclose(actual.double(), expected.double(), rtol, atol)
    assert found.mismatches == int((~close).sum())


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool])
@given(st.data())
def test_integers_and_bools_are_equal_where_identical(dtype: torch.dtype, data: st.DataObject) -> None:
    low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    numbers = st.sampled_from([low, low + 1, high - 1, high]) | st.integers(low, high)
    expected = data.draw(st.lists(numbers, min_size=1, max_size=8))
    actual = [data.draw(st.just(e) | numbers) for e in expected]
    chunk = data.draw(st.integers(1, 9))

    found = in_chunks(chunk, torch.tensor(actual, dtype=dtype), torch.tensor(expected, dtype=dtype), 1.0, 1e9)

    off = [abs(a - e) for a, e in zip(actual, expected, strict=True)]
    bad = [at for at, distance in enumerate(off) if distance]
    assert found.mismatches == len(bad)
    assert [m.index[0] for m in found.first] == bad[:5]
    assert found.worst == (math.inf if bad else 0)
    if bad:
        assert found.worst_mismatch is not None
        assert found.worst_mismatch.difference == float(max(off))


def test_neighbouring_integers_that_fp32_cannot_tell_apart_differ() -> None:
    verdict = one(torch.tensor([16777217]), torch.tensor([16777216]), rtol=1e-5, atol=1e-5)

    assert verdict.status == "WRONG_VALUE"
    assert "[0] expected 16777216, got 16777217" in verdict.message


def test_fp64_values_that_fp32_cannot_tell_apart_differ() -> None:
    one_off = torch.tensor([1.0 + 2**-40], dtype=torch.float64)

    assert one(one_off, torch.ones(1, dtype=torch.float64)).status == "WRONG_VALUE"


@pytest.mark.parametrize(("actual", "passes"), [(1.5, True), (math.nextafter(1.5, 2), False), (0.5, True)])
def test_exactly_the_tolerance_is_still_equal(actual: float, passes: bool) -> None:
    values = torch.tensor(actual, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)

    assert compare(*values, rtol=0.25, atol=0.25).mismatches == (0 if passes else 1)


def test_the_relative_tolerance_is_of_the_expected_value() -> None:
    assert compare(torch.tensor(1.0), torch.tensor(2.0), rtol=0.5, atol=0).mismatches == 0
    assert compare(torch.tensor(2.0), torch.tensor(1.0), rtol=0.5, atol=0).mismatches == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_only_infinities_of_one_sign_are_equal_among_what_is_not_finite(value: float) -> None:
    actual = torch.full((5,), value)
    expected = torch.tensor([math.nan, math.inf, -math.inf, 1.0, 3e38])

    found = compare(actual, expected, rtol=2.0, atol=1e300)

    assert found.mismatches == (5 if math.isnan(value) else 4)
    assert found.worst == math.inf


def test_a_difference_without_bound_has_no_worst_share() -> None:
    assert one(torch.tensor([1.0]), torch.tensor([0.0])).worst is None
    assert one(torch.tensor([1.0]), torch.tensor([math.inf]), atol=1).worst is None
    assert one(torch.tensor([math.inf]), torch.tensor([1.0]), atol=1).worst is None


def test_the_worst_share_of_the_tolerance_is_told_of_a_pass_too() -> None:
    actual, expected = torch.tensor([1.0, 2.0, 4.25]), torch.tensor([1.0, 2.0, 4.0])

    verdict = one(actual, expected, atol=0.5)

    assert (verdict.status, verdict.worst) == ("PASSED", 0.5)
    assert (verdict.elements, verdict.mismatches, verdict.message) == (3, 0, "")


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.complex128])
def test_every_other_dtype_is_compared_by_the_same_rule(dtype: torch.dtype) -> None:
    actual, expected = torch.tensor([1.0, 3.0]).to(dtype), torch.tensor([1.0, 4.0]).to(dtype)

    assert compare(actual, expected, rtol=0, atol=1.0).mismatches == 0
    assert compare(actual, expected, rtol=0, atol=0.5).mismatches == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_a_tensor_of_no_elements_passes(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    verdict = one(torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype))

    assert (verdict.status, verdict.elements) == ("PASSED", 0)


def test_a_0_dim_tensor_is_one_element() -> None:
    verdict = one(torch.tensor(1.0), torch.tensor(2.0))

    assert verdict.message.splitlines()[:2] == [
        "1 of 1 elements differ (rtol=0, atol=0)",
        "[] expected 2, got 1, off by 1",
    ]


@pytest.mark.parametrize(
    "shapes", [((1,), (4,)), ((4,), (1,)), ((4,), (2, 2)), ((), (1,)), ((0,), (0, 0)), ((2, 1), (2, 3))]
)
def test_shapes_must_be_equal_and_nothing_broadcasts(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    verdict = one(torch.zeros(shapes[0]), torch.zeros(shapes[1]))

    assert verdict.status == "WRONG_SHAPE"
    assert verdict.message == f"is of shape {list(shapes[0])}, expected {list(shapes[1])}"


def test_dtypes_must_be_equal() -> None:
    verdict = one(torch.zeros(4, dtype=torch.float64), torch.zeros(4))

    assert verdict.status == "WRONG_DTYPE"
    assert verdict.message == "is of dtype float64, expected float32"


def test_shapes_and_dtypes_come_before_a_comparator_too() -> None:
    outputs = {"y": torch.zeros(4), "z": torch.zeros(2, dtype=torch.int32)}
    expected = {"y": torch.zeros(1), "z": torch.zeros(2)}

    verdicts = judge(outputs, expected, 0, 0, {"y": never_called, "z": never_called})

    assert [v.status for v in verdicts] == ["WRONG_SHAPE", "WRONG_DTYPE"]


def test_strides_do_not_matter() -> None:
    tensor = torch.randn(3, 4)

    assert one(tensor.t().contiguous().t(), tensor).status == "PASSED"
    assert one(tensor[:1].expand(3, 4), tensor[:1].repeat(3, 1)).status == "PASSED"


def test_a_failure_says_how_many_which_first_and_which_is_worst() -> None:
    expected = torch.zeros(3, 4)
    actual = expected.clone()
    actual[0, 3] = actual[1, 0] = actual[1, 2] = actual[2, 0] = actual[2, 1] = actual[2, 3] = 0.5
    actual[2, 2] = -3

    verdict = one(actual, expected, rtol=1e-5, atol=0.125)

    assert (verdict.status, verdict.elements, verdict.mismatches, verdict.worst) == ("WRONG_VALUE", 12, 7, 24.0)
    assert verdict.message.splitlines()[:6] == [
        "7 of 12 elements differ (rtol=1e-05, atol=0.125)",
        "where: scattered: 58.3 % of all elements",
        "        index  expected  got  difference  allowed",
        "first  [0, 3]         0  0.5         0.5    0.125",
        "       [1, 0]         0  0.5         0.5    0.125",
        "       [1, 2]         0  0.5         0.5    0.125",
    ]
    assert "worst  [2, 2]         0   -3           3    0.125" in verdict.message.splitlines()


def test_nan_is_counted_and_has_no_distance() -> None:
    actual = torch.tensor([math.nan, math.nan, 1.0, math.nan, 2.0])
    expected = torch.tensor([1.0, math.nan, math.nan, 0.0, 2.0])

    found = in_chunks(2, actual, expected, 0, 0.5)
    assert (found.mismatches, found.actual_nans, found.expected_nans) == (4, 3, 2)
    first, *_ = one(actual, expected).message.splitlines()
    assert first.startswith("4 of 5 elements differ (rtol=0, atol=0); 3 got nan; 2 expected nan, which nothing equals")
    assert one(actual[:1], expected[:1], atol=0.5).message.splitlines()[:2] == [
        "1 of 1 elements differ (rtol=0, atol=0.5); 1 got nan",
        "[0] expected 1, got nan",
    ]


def test_a_value_that_is_not_finite_is_worse_than_any_that_is() -> None:
    actual = torch.tensor([3e38, 0.0, math.nan, 1.0])

    found = in_chunks(2, actual, torch.zeros(4), 0, 0)

    assert found.worst_mismatch is not None
    assert found.worst_mismatch.index == (2,)


def test_an_infinite_difference_shows_no_allowance() -> None:
    verdict = one(torch.tensor([1.0]), torch.tensor([math.inf]), rtol=1e-5)

    assert verdict.message.splitlines()[1] == "[0] expected inf, got 1, off by inf"


def never_called(*_: object, **__: object) -> tuple[bool, str]:
    raise AssertionError("called")


class Recording:
    """A comparator that keeps what it was called with."""

    __name__ = "recording(0.5)"

    def __init__(self, *answer: Any) -> None:
        self.answer = answer
        self.called: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        self.called = (arguments, keywords)
        return self.answer


def test_a_comparator_gets_its_output_and_everything_else_by_keyword() -> None:
    outputs = {"y": torch.zeros(2), "z": torch.ones(2)}
    expected = {"y": torch.zeros(2), "z": torch.ones(2)}
    inputs = {"x": torch.zeros(3)}
    comparator = Recording(True, "")

    judge(outputs, expected, 0.25, 0.5, {"z": comparator}, inputs)

    (actual, wanted), keywords = comparator.called
    assert actual is outputs["z"] and wanted is expected["z"]
    assert keywords == {
        "actual_outputs": outputs,
        "expected_outputs": expected,
        "inputs": inputs,
        "rtol": 0.25,
        "atol": 0.5,
    }


def test_a_comparators_answer_is_the_verdict_and_the_others_keep_the_default_rule() -> None:
    outputs = {"y": torch.zeros(2), "z": torch.zeros(2)}
    expected = {"y": torch.ones(2), "z": torch.ones(2)}

    verdicts = judge(outputs, expected, 0, 0, {"y": Recording(True, "")})

    assert [(v.name, v.status) for v in verdicts] == [("y", "PASSED"), ("z", "WRONG_VALUE")]


@pytest.mark.parametrize("answer", [None, True, ("yes", ""), (1, ""), (True,), [True, ""]], ids=repr)
def test_a_comparator_that_answers_anything_else_is_an_error_of_the_case(answer: object) -> None:
    def sloppy(*_: object, **__: object) -> object:
        return answer

    with pytest.raises(
        Failure, match=r"the comparator of 'y', sloppy, returned .*: it must return \(bool, str\)"
    ) as refused:
        judge({"y": torch.zeros(1)}, {"y": torch.zeros(1)}, 0, 0, {"y": sloppy})  # type: ignore[dict-item]

    assert refused.value.status is Status.CASE_ERROR


@pytest.mark.parametrize("side", ["actual", "expected", "other"])
def test_a_comparator_that_changes_a_tensor_through_numpy_is_an_error_of_the_case(side: str) -> None:
    def sorts(actual: torch.Tensor, expected: torch.Tensor, *, actual_outputs: Any, **_: Any) -> tuple[bool, str]:
        {"actual": actual, "expected": expected, "other": actual_outputs["z"]}[side].numpy().sort()
        return True, ""

    outputs = {"y": torch.tensor([2.0, 1.0]), "z": torch.tensor([4.0, 3.0])}
    expected = {"y": torch.tensor([2.0, 1.0]), "z": torch.tensor([3.0, 4.0])}

    with pytest.raises(Failure, match=r"sorts, changed the .* in place: let it work on a clone"):
        judge(outputs, expected, 0, 0, {"y": sorts})


def test_the_default_comparison_is_made_before_any_comparator_is_called() -> None:
    def repairs(actual: torch.Tensor, expected: torch.Tensor, *, actual_outputs: Any, **_: Any) -> tuple[bool, str]:
        raise AssertionError("called too early" if not compared else "called")

    compared: list[str] = []
    outputs = {"y": torch.zeros(1), "z": torch.zeros(1)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            import_module("golden_tasks.validation.judge"),
            "compare",
            lambda *given: (compared.append("z"), compare(*given))[1],
        )
        with pytest.raises(AssertionError, match=r"^called$"):
            judge(outputs, outputs, 0, 0, {"y": repairs})


def test_a_factory_of_comparators_that_was_not_called_is_told() -> None:
    with pytest.raises(Failure, match=r"compare_fn\['y'\], exact, is no comparator .*: write exact\(\.\.\.\)"):
        judge({"y": torch.zeros(1)}, {"y": torch.zeros(1)}, 0, 0, {"y": exact})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"write exact\(\.\.\.\)"):
        all_of(exact)


def test_a_comparator_for_an_output_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Failure, match=r"compare_fn names \['z'\], but the outputs are \['y'\]"):
        judge({"y": torch.zeros(1)}, {"y": torch.zeros(1)}, 0, 0, {"z": never_called})


@pytest.mark.parametrize("name", ["rtol", "atol"])
@pytest.mark.parametrize("value", [-1e-9, -math.inf, math.nan])
def test_a_tolerance_that_nothing_can_meet_is_refused(name: str, value: float) -> None:
    tolerances = {"rtol": 0.0, "atol": 0.0, name: value}

    with pytest.raises(Failure, match=f"{name}={value} is no tolerance") as refused:
        judge({"y": torch.zeros(1)}, {"y": torch.zeros(1)}, **tolerances)

    assert refused.value.status is Status.CASE_ERROR


@pytest.mark.parametrize("outputs", [[], ["z"], ["y", "z"]])
def test_no_output_goes_unjudged(outputs: list[str]) -> None:
    with pytest.raises(Failure) as refused:
        validate_golden({name: torch.zeros(1) for name in outputs}, {"y": torch.zeros(1)})

    assert str(refused.value) == f"the outputs are {outputs}, but the golden ones are ['y']"


def test_validate_golden_prints_a_line_for_each_output(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {"y": torch.zeros(4), "z": torch.zeros(2, 2, dtype=torch.int8)}

    validate_golden(outputs, outputs, compare_fn={"z": Recording(True, "")})

    assert capsys.readouterr().out.splitlines() == [
        "[RUN]   'y' PASS  shape=(4,) dtype=torch.float32",
        "[RUN]   'z' PASS  shape=(2, 2) dtype=torch.int8 (recording(0.5))",
    ]


def test_validate_golden_raises_for_every_output_that_differs(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {"w": torch.zeros(1), "y": torch.zeros(2), "z": torch.zeros(1)}
    golden = {"w": torch.zeros(1), "y": torch.ones(2), "z": torch.zeros(1)}

    with pytest.raises(AssertionError) as mismatch:
        validate_golden(outputs, golden, compare_fn={"z": Recording(False, "off\nby far")})

    assert str(mismatch.value) == (
        "Output(s) does not match golden: ['y', 'z']: 'y' 2 of 2 elements differ (rtol=1e-05, atol=1e-05); 'z' off"
    )
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        "[RUN]   'w' PASS  shape=(1,) dtype=torch.float32",
        "[RUN]   'y' FAIL  shape=(2,) dtype=torch.float32",
        "[RUN]     2 of 2 elements differ (rtol=1e-05, atol=1e-05)",
    ]
    assert said[-3:] == [
        "[RUN]   'z' FAIL  shape=(1,) dtype=torch.float32 (recording(0.5))",
        "[RUN]     off",
        "[RUN]     by far",
    ]


def test_a_comparator_without_a_message_still_fails_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match=r"\['y'\]: 'y' fails under recording\(0.5\)"):
        validate_golden({"y": torch.zeros(1)}, {"y": torch.zeros(1)}, compare_fn={"y": Recording(False, "")})

    assert capsys.readouterr().out.splitlines()[1:] == ["[RUN]     fails under recording(0.5)"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
def test_one_element_of_20_million_that_is_off_is_found(dtype: torch.dtype) -> None:
    expected = torch.ones(2000, 10_000, dtype=dtype)
    actual = expected.clone()
    actual[1234, 5678] = 2

    found = compare(actual, expected, rtol=1e-5, atol=1e-5)

    assert (found.elements, found.mismatches) == (20_000_000, 1)
    assert (found.nonzero_actual, found.finite_expected, found.zeros_pass) == (20_000_000, 20_000_000, False)
    assert [m.index for m in found.first] == [(1234, 5678)]
    assert found.worst_mismatch == found.first[0]


def test_the_smallest_numbers_are_no_zeros_although_the_process_flushes_them() -> None:
    smallest = torch.ones(3, dtype=torch.int32).view(torch.float32)
    try:
        assert torch.set_flush_denormal(True)
        found = compare(smallest, torch.zeros(3), rtol=0, atol=0)
    finally:
        torch.set_flush_denormal(False)

    assert (found.mismatches, found.nonzero_actual) == (3, 3)


def test_tensors_of_two_shapes_or_dtypes_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"not torch\.float32 \[1\] and torch\.float32 \[4\]"):
        compare(torch.zeros(1), torch.zeros(4), 0, 0)
    with pytest.raises(ValueError, match=r"not torch\.float16 \[1\] and torch\.float32 \[1\]"):
        compare(torch.zeros(1).half(), torch.zeros(1), 0, 0)


def test_nothing_is_within_a_tolerance_relative_to_a_magnitude_that_fp64_cannot_hold() -> None:
    expected = torch.tensor([1.7e308 + 1.7e308j], dtype=torch.complex128)

    assert compare(expected / 2, expected, rtol=1e-5, atol=0).mismatches == 1
    assert compare(expected.clone(), expected, rtol=1e-5, atol=0).mismatches == 0
