"""What a comparator may return and declare, how several combine, and the report that is none."""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.inspection import policy_of
from golden_tasks.results import Failure, Status
from golden_tasks.validation.combine import all_of
from golden_tasks.validation.comparator import call, ignores_expected, is_ignoring_expected, is_report, label
from golden_tasks.validation.distribution import distribution, error_distribution
from golden_tasks.validation.pool import mapped_pool_ratio_allclose
from golden_tasks.validation.report import describe
from golden_tasks.validation.topk import topk_pair_compare
from golden_tasks.validation.whole import cosine, exact, relative_l2, ulp

ROOT = Path(__file__).resolve().parent
Y = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def called(comparator: Callable[..., Any], actual: torch.Tensor = Y, expected: torch.Tensor = Y) -> tuple[bool, str]:
    return call(
        "y",
        comparator,
        actual,
        expected,
        actual_outputs={"y": actual},
        expected_outputs={"y": expected},
        inputs={},
        rtol=1e-3,
        atol=0.0,
    )


def answering(answer: object) -> Callable[..., Any]:
    def comparator(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> object:
        return answer

    return comparator


@pytest.mark.parametrize("truth", [True, np.bool_(True), torch.tensor(True)])
def test_a_verdict_is_a_bool_of_python_numpy_or_torch(truth: Any) -> None:
    assert called(answering((truth, "fine"))) == (True, "fine")
    assert called(answering((truth ^ True, "off by 3"))) == (False, "off by 3")
    assert type(called(answering((truth, "fine")))[0]) is bool


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "None"),
        (True, "True"),
        (torch.tensor(True), "a tensor of shape [] and dtype bool"),
        ((), "a tuple of 0"),
        ((True, "", ""), "a tuple of 3"),
        ([True, ""], "[True, ''] (list)"),
        ((None, ""), "None as the verdict"),
        ((1, ""), "1 (int) as the verdict"),
        (("", True), "'' (str) as the verdict"),
        ((torch.tensor([True]), ""), "a tensor of shape [1] and dtype bool as the verdict"),
        ((torch.tensor(1.0), ""), "a tensor of shape [] and dtype float32 as the verdict"),
        ((True, None), "None as the message"),
        ((False, 0.25), "0.25 (float) as the message"),
    ],
)
def test_any_other_answer_is_an_error_that_names_output_comparator_and_answer(answer: object, says: str) -> None:
    with pytest.raises(Failure) as raised:
        called(answering(answer))

    assert raised.value.status is Status.CASE_ERROR
    assert raised.value.message == (
        f"the comparator of 'y', comparator, returned {says}: "
        "it must return (bool, str), whether the output passes and what was found"
    )


def test_what_a_comparator_does_to_its_dicts_harms_no_other() -> None:
    def greedy(actual: torch.Tensor, expected: torch.Tensor, **given: Any) -> tuple[bool, str]:
        given["actual_outputs"].pop("y")
        given["expected_outputs"].clear()
        given["inputs"]["y"] = expected
        return True, ""

    assert called(all_of(greedy, greedy, exact())) == (True, "exact(): all 4 elements are identical")


@pytest.mark.parametrize("side", ["actual", "expected"])
def test_a_comparator_that_changes_a_tensor_in_place_is_an_error(side: str) -> None:
    def rounding(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        (actual if side == "actual" else expected).round_()
        return True, ""

    with pytest.raises(Failure, match=f"the comparator of 'y', rounding, changed the {side} 'y' in place: .* a clone"):
        called(rounding, Y.clone(), Y.clone())


def test_what_a_comparator_raises_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        called(lambda *_, **__: 1 / 0)


def test_a_label_is_the_name_and_of_a_partial_one_its_arguments() -> None:
    def within(actual: torch.Tensor, expected: torch.Tensor, *, share: float, **_: Any) -> tuple[bool, str]:
        return True, ""

    class Judge:
        def __call__(self, actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
            return True, ""

    assert [label(one) for one in (None, within, functools.partial(within, share=0.5), Judge(), ulp(3))] == [
        "default",
        "within",
        "within(share=0.5)",
        "Judge",
        "ulp(3)",
    ]


def test_a_comparator_declares_that_it_ignores_the_expected_values() -> None:
    @ignores_expected
    def finite(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        return bool(actual.isfinite().all()), ""

    assert is_ignoring_expected(finite)
    assert is_ignoring_expected(functools.partial(finite))
    assert not is_ignoring_expected(exact())
    assert not is_ignoring_expected(None)
    with pytest.raises(TypeError, match="cannot be marked by ignores_expected: wrap it in a function"):
        ignores_expected(max)


# Several for one output


def test_all_of_passes_what_every_one_passes() -> None:
    assert called(all_of(exact(), "default", None, cosine(0.9))) == (
        True,
        "exact(): all 4 elements are identical\n"
        "default: all 4 elements are within rtol=0.001, atol=0\n"
        "default: all 4 elements are within rtol=0.001, atol=0\n"
        "cosine(min_similarity=0.9): cosine similarity 1, at least 0.9 wanted",
    )


def test_all_of_runs_all_and_says_what_those_that_fail_say() -> None:
    seen = []

    def watching(actual: torch.Tensor, expected: torch.Tensor, **_: Any) -> tuple[bool, str]:
        seen.append(actual)
        return True, "seen"

    actual = Y.clone()
    actual[1, 0] = 3.5
    assert called(all_of(exact(), watching, None, cosine(0.9), watching), actual) == (
        False,
        "exact(): 1 of 4 elements are not identical, bit for bit\n"
        "[1, 0] expected 3 (0x40400000), got 3.5 (0x40600000)\n"
        f"default: {describe('y', actual, Y, 1e-3, 0.0)}",
    )
    assert len(seen) == 2


def test_the_default_within_all_of_has_the_cases_tolerances() -> None:
    assert called(all_of(None), Y + 0.0005)[0]
    assert not called(all_of(None), Y + 0.002)[0]
    assert not called(all_of("default"), Y * math.nan, Y * math.nan)[0]


def test_all_of_is_a_report_or_ignores_the_expected_values_only_if_all_do() -> None:
    blind = ignores_expected(answering((True, "")))
    report = error_distribution()

    assert is_ignoring_expected(all_of(blind, blind))
    assert not is_ignoring_expected(all_of(blind, None))
    assert is_report(all_of(report, report))
    assert not is_report(all_of(report, exact()))


def test_all_of_refuses_what_is_no_comparator_at_once() -> None:
    with pytest.raises(ValueError, match=r"all_of\(\) has no comparator and would pass everything"):
        all_of()
    with pytest.raises(TypeError, match="all_of: argument 2 is 'defualt': give a comparator, or 'default'"):
        all_of(None, "defualt")
    with pytest.raises(TypeError, match=r"all_of: argument 1 is 0\.5"):
        all_of(0.5)  # type: ignore[arg-type]


def test_the_label_of_all_of_spells_its_parts() -> None:
    assert label(all_of(None, ulp(2), all_of("default"))) == "all_of(default, ulp(2), all_of(default))"


def test_one_of_all_that_answers_wrongly_is_named() -> None:
    with pytest.raises(Failure, match="the comparator of 'y', comparator, returned None"):
        called(all_of(None, answering(None)))


# The report of a distribution


def test_a_report_passes_everything_and_says_that_it_is_one() -> None:
    actual = torch.tensor([1.0, 2.5, math.nan, math.inf, 5.0])
    expected = torch.tensor([1.0, 2.0, 3.0, math.inf, math.inf])
    report = error_distribution(diff_thds=(0.1, 0.3), quantiles=(0.5, 1.0))

    assert is_report(report)
    assert called(report, actual, expected) == (
        True,
        "error distribution of 2 elements (a report: it does not check them)\n"
        "3 more elements are not finite: got 1 nan and 1 inf, expected 0 nan and 2 inf\n"
        "relative L2 0.224, cosine 0.996545758\n"
        "diff_thd              0.1        0.3\n"
        "share beyond         50 %        0 %\n"
        "worst                 0.2          0\n"
        "quantile             50 %      100 %\n"
        "|a - e|                 0        0.5\n"
        "relative                0        0.2\n"
        "|expected|              1          2",
    )


def test_a_report_that_may_fail_fails_what_is_not_finite_on_either_side() -> None:
    gate = error_distribution(always_pass=False)
    infinite = torch.tensor([[1.0, 2.0], [3.0, math.inf]])

    assert not is_report(gate)
    assert called(gate)[0]
    assert not called(gate, infinite, Y)[0]
    assert not called(gate, Y, infinite)[0]
    assert called(gate, Y * math.nan)[1].splitlines()[1:] == [
        "4 more elements are not finite: got 4 nan and 0 inf, expected 0 nan and 0 inf"
    ]


def reldiff(a: float, e: float, thd: float) -> float:
    d = abs(a - e)
    return d if d < thd else d / (max(abs(a), abs(e), 2**-14 / thd) + 1e-9)


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.floats(width=32) | st.floats(-2, 2, width=32)] * 2), max_size=40))
def test_a_report_is_what_a_plain_formulation_says(pairs: list[tuple[float, float]]) -> None:
    thresholds, shares = (1e-3, 0.05, 1.0), (0.0, 0.3, 0.9, 1.0)
    actual, expected = (torch.tensor([pair[side] for pair in pairs], dtype=torch.float32) for side in (0, 1))
    found = distribution(actual, expected, thresholds)

    finite = [(a, e) for a, e in pairs if math.isfinite(a) and math.isfinite(e)]
    assert found.nonfinite == len(pairs) - len(finite)
    assert found.actual_nans == sum(map(math.isnan, (a for a, _ in pairs)))
    assert found.expected_infs == sum(map(math.isinf, (e for _, e in pairs)))
    for thd, beyond, worst in zip(thresholds, found.beyond, found.worst, strict=True):
        bad = [r for r in (reldiff(a, e, thd) for a, e in finite) if r > thd]
        assert (beyond, worst) == (len(bad), max(bad, default=0.0))
    if finite:
        difference = [abs(a - e) for a, e in finite]
        relative = [abs(a - e) / max(abs(a), abs(e)) if a != e else 0.0 for a, e in finite]
        for values, table in ((difference, found.difference), (relative, found.relative)):
            for share in shares:
                exactly = min(quantile(values, share), torch.finfo(torch.float32).max)
                assert exactly * (1 - 1e-6) - 5e-41 <= table.quantile(share) <= exactly * (1 + 1 / 256)
            assert table.quantile(1.0) == max(values)


def test_a_report_of_no_elements_passes() -> None:
    none = torch.empty(0, 3)

    assert called(error_distribution(always_pass=False), none, none) == (
        True,
        "error distribution of 0 elements (a report: it does not check them)",
    )


def test_a_report_of_20_million_elements_counts_every_one() -> None:
    expected = torch.ones(20_000_000, dtype=torch.bfloat16)
    actual = expected.clone()
    actual[:100], actual[-1] = 2, math.nan
    found = distribution(actual, expected, [0.01])

    assert (found.elements, found.nonfinite, found.beyond, found.worst[0]) == (20_000_000, 1, [100], 0.5 / (1 + 5e-10))
    assert (found.difference.quantile(0.999994), found.difference.quantile(0.999996)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"diff_thds": 0.1}, TypeError, "diff_thds=0.1"),
        ({"diff_thds": [0.1, 0]}, ValueError, "diff_thds holds 0"),
        ({"diff_thds": ["0.1"]}, TypeError, "diff_thds='0.1'"),
        ({"quantiles": [1.5]}, ValueError, "quantiles=1.5: give a finite number from 0 to 1"),
        ({"always_pass": 0}, TypeError, "always_pass=0"),
    ],
)
def test_arguments_of_a_report_that_cannot_be_are_refused_at_once(
    arguments: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        error_distribution(**arguments)


# All of them

POOL = functools.partial(mapped_pool_ratio_allclose, "m", mapping_shape=(4,), block_size=2)


EVERY = [exact(), ulp(2), cosine(), relative_l2(0.1), topk_pair_compare("y"), error_distribution(), all_of(exact())]


@pytest.mark.parametrize("comparator", EVERY, ids=label)
def test_tensors_of_two_shapes_or_dtypes_fail_before_their_values_count(comparator: Callable[..., Any]) -> None:
    says = "" if comparator is not EVERY[-1] else "exact(): "

    assert called(comparator, Y.to(torch.int32), Y.int().view(torch.float32)) == (
        False,
        f"{says}is int32 [2, 2], expected float32 [2, 2]",
    )
    assert called(comparator, Y[:1], Y) == (False, f"{says}is float32 [1, 2], expected float32 [2, 2]")


def test_numbers_of_numpy_are_arguments_too() -> None:
    assert label(ulp(np.int64(2))) == "ulp(2)"  # type: ignore[arg-type]
    assert label(cosine(np.float32(0.5))) == "cosine(min_similarity=0.5)"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "others"),
    [
        (exact, []),
        (lambda: ulp(2), [lambda: ulp(3)]),
        (lambda: cosine(0.9), [lambda: cosine(0.91), lambda: relative_l2(0.9)]),
        (lambda: relative_l2(0.1), [lambda: relative_l2(0.2)]),
        (
            lambda: topk_pair_compare("v"),
            [
                lambda: topk_pair_compare("w"),
                lambda: topk_pair_compare("v", dim=0),
                lambda: topk_pair_compare("v", descending=False),
                lambda: topk_pair_compare("v", scores="s"),
                lambda: topk_pair_compare("v", max_show=3),
            ],
        ),
        (
            POOL,
            [
                lambda: POOL(block_size=4),
                lambda: POOL(mapping_shape=(2, 2)),
                lambda: POOL(mapping_shape=(4, 1), leading_rank_axis=True),
                lambda: POOL(atol=0.0),
                lambda: POOL(rtol=0.0),
                lambda: POOL(max_error_ratio=0.1),
                lambda: POOL(pool_name="cache"),
            ],
        ),
        (
            error_distribution,
            [
                lambda: error_distribution(diff_thds=[0.1]),
                lambda: error_distribution(quantiles=[0.5]),
                lambda: error_distribution(always_pass=False),
            ],
        ),
        (
            lambda: all_of(None, ulp(2)),
            [lambda: all_of(ulp(2)), lambda: all_of(None, ulp(1)), lambda: all_of(ulp(2), None)],
        ),
    ],
)
def test_every_argument_of_a_comparator_is_in_its_fingerprint(
    make: Callable[[], Any], others: list[Callable[[], Any]]
) -> None:
    def policy(comparator: Callable[..., Any]) -> dict[str, str]:
        found = policy_of(0.0, 0.0, {"y": comparator}, ROOT)
        assert found.conservative == []
        return found.parts

    assert policy(make()) == policy(make())
    for other in others:
        assert policy(other()) != policy(make()), label(other())
