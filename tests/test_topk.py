"""The comparator of a top-k's indices: ties may swap, nothing else may."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.validation import topk
from golden_tasks.validation.comparator import Comparator
from golden_tasks.validation.topk import topk_pair_compare

SCORES = torch.tensor([[0.5, 0.75, 0.75, 0.25, 0.75, 0.5], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
INDICES = torch.tensor([[1, 2, 4], [5, 4, 3]], dtype=torch.int32)
VALUES = SCORES.gather(1, INDICES.long())


def judged(
    comparator: Comparator,
    actual: Any,
    expected: torch.Tensor = INDICES,
    values: torch.Tensor = VALUES,
    got: torch.Tensor | None = None,
    scores: torch.Tensor | None = SCORES,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> tuple[bool, str]:
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual, dtype=expected.dtype)
    return comparator(
        actual,
        expected,
        actual_outputs={"i": actual, "v": values.clone() if got is None else got},
        expected_outputs={"i": expected, "v": values},
        inputs={} if scores is None else {"s": scores},
        rtol=rtol,
        atol=atol,
    )


def test_identical_indices_pass() -> None:
    assert judged(topk_pair_compare("v"), INDICES.clone()) == (True, "all 6 indices are as expected")


def test_indices_may_swap_among_tied_values() -> None:
    swapped = [[4, 1, 2], [5, 4, 3]]

    assert judged(topk_pair_compare("v"), swapped) == (True, "3 of 6 indices are as expected, 3 others tied with them")
    assert judged(topk_pair_compare("v", scores="s"), swapped)[0]


def test_a_swap_of_values_that_are_not_tied_fails_and_shows_both() -> None:
    passed, message = judged(topk_pair_compare("v"), [[1, 2, 4], [4, 5, 3]], atol=0.5)

    assert not passed
    assert message.splitlines() == [
        "2 of 6 indices are wrong, in 1 of 2 rows (k=3, tied by 'v' within rtol=0, atol=0.5)",
        "[1, 0] expected 5 (value 6), got 4 (value 5): no tie",
        "[1, 1] expected 4 (value 5), got 5 (value 6): no tie",
    ]


def test_values_are_tied_within_the_cases_tolerances() -> None:
    swapped = [[1, 2, 4], [4, 5, 3]]
    got = torch.tensor([[0.75, 0.75, 0.75], [5.0, 6.0, 4.0]])

    assert judged(topk_pair_compare("v"), swapped, got=got, atol=1.0)[0]
    assert judged(topk_pair_compare("v"), swapped, got=got, rtol=0.2)[0]
    assert not judged(topk_pair_compare("v"), swapped, got=got, rtol=0.1)[0]


def test_an_index_that_a_row_holds_twice_fails_though_it_is_tied() -> None:
    for comparator in (topk_pair_compare("v"), topk_pair_compare("v", scores="s")):
        passed, message = judged(comparator, [[1, 1, 4], [5, 4, 3]])

        assert not passed
        assert message.splitlines()[1:] == ["[0, 1] expected 2, got 1, which the row holds at [0, 0] too"]


def test_garbage_indices_fail() -> None:
    passed, message = judged(topk_pair_compare("v", scores="s"), [[1, 2, -3], [5, 4, 4096]])

    assert not passed
    assert message.splitlines() == [
        "2 of 6 indices are wrong, in 2 of 2 rows (k=3, tied by 's' within rtol=0, atol=0)",
        "[0, 2] expected 4, got -3, which is out of range (0 to 5)",
        "[1, 2] expected 3, got 4096, which is out of range (0 to 5)",
    ]


def test_an_index_that_is_not_expected_fails_without_the_scores_and_says_what_mends_it() -> None:
    passed, message = judged(topk_pair_compare("v"), [[1, 2, 0], [5, 4, -1]])

    assert not passed
    assert message.splitlines()[1:] == [
        "[0, 2] expected 4 (value 0.75), got 0, which is none of the row's expected indices",
        "[1, 2] expected 3, got -1, which is out of range (from 0)",
        "an index that the golden function did not choose is right only in a tie, which the scores alone can prove: "
        'give scores="the input that holds them"',
    ]


def test_with_the_scores_an_index_that_is_not_expected_passes_if_it_is_tied() -> None:
    expected, values = INDICES[:, :2].contiguous(), VALUES[:, :2].contiguous()
    comparator = topk_pair_compare("v", scores="s")

    assert judged(comparator, [[4, 2], [5, 4]], expected, values)[0]
    passed, message = judged(comparator, [[0, 2], [5, 4]], expected, values)
    assert not passed
    assert message.splitlines()[1:] == ["[0, 0] expected 1 (score 0.75), got 0 (score 0.5): no tie"]


def test_one_index_a_row_is_judged_too() -> None:
    expected, values = INDICES[:, :1].contiguous(), VALUES[:, :1].contiguous()

    assert not judged(topk_pair_compare("v"), [[2], [5]], expected, values)[0]  # tied, but that is not proven
    assert judged(topk_pair_compare("v", scores="s"), [[2], [5]], expected, values)[0]
    assert not judged(topk_pair_compare("v", scores="s"), [[2], [4]], expected, values)[0]
    assert not judged(topk_pair_compare("v", scores="s"), [[0], [5]], expected, values)[0]


def test_an_index_that_the_golden_function_left_out_on_purpose_fails() -> None:
    expected = torch.tensor([[0, 5, 3]])  # 1, 2 and 4 are masked; 1.0 is tied with nothing else
    scores = torch.tensor([[0.5, 0.5, 0.75, 0.25, 0.75, 0.5]])
    values = scores.gather(1, expected)

    passed, message = judged(topk_pair_compare("v", scores="s"), [[0, 1, 3]], expected, values, scores=scores)
    assert not passed
    assert message.splitlines()[1:] == [
        "[0, 1] expected 5 (score 0.5), got 1 (score 0.5), which the golden function left out though it is as good: "
        "is it masked?"
    ]
    ascending = topk_pair_compare("v", scores="s", descending=False)  # then 0.5 is the worst that was chosen
    assert judged(ascending, [[0, 1, 3]], expected, values, scores=scores)[0]
    expected = torch.tensor([[0, 5, 2]])  # and here it is 0.75
    values = scores.gather(1, expected)
    assert not judged(ascending, [[0, 1, 2]], expected, values, scores=scores)[0]


def test_padding_may_repeat_where_it_is_expected_and_nowhere_else() -> None:
    expected = torch.tensor([[3, -1, -1]])
    values = torch.tensor([[1.0, -math.inf, -math.inf]])
    for scores, comparator in ((None, topk_pair_compare("v")), (SCORES[:1], topk_pair_compare("v", scores="s"))):
        assert judged(comparator, [[3, -1, -1]], expected, values, scores=scores)[0]
        for wrong in ([[-1, -1, -1]], [[3, 3, -1]], [[-1, 3, -1]], [[3, 2, -1]]):
            assert not judged(comparator, wrong, expected, values, scores=scores)[0], wrong


def test_the_value_beside_a_swapped_index_must_be_that_indexs() -> None:
    got = VALUES.clone()
    got[0, 1] = 0.7

    passed, message = judged(topk_pair_compare("v"), [[4, 1, 2], [5, 4, 3]], got=got, atol=0.01)
    assert not passed
    assert message.splitlines()[1:] == [
        "[0, 1] expected 2, got 1 in a tie, but 'v' holds 0.699999988 there instead of 0.75"
    ]


def test_padding_has_no_score_to_be_tied_by() -> None:
    expected = torch.tensor([[3, 2, -1]])
    values, alike = torch.tensor([[1.0, 1.0, -math.inf]]), torch.ones(1, 6)
    comparator = topk_pair_compare("v", scores="s")

    assert judged(comparator, [[2, 3, -1]], expected, values, scores=alike)[0]
    for wrong in ([[3, -1, 2]], [[-1, 2, 3]], [[3, 2, 4]]):
        passed, message = judged(comparator, wrong, expected, values, got=values[:, [0, 0, 0]], scores=alike)
        assert not passed
        assert message.splitlines()[1].endswith("no tie"), message
    assert not judged(comparator, [[3, 4, -1]], expected, values, scores=alike)[
        0
    ]  # 4 was no candidate, else no padding


@pytest.mark.parametrize("other", [math.nan, math.inf])
def test_nan_ties_with_nothing_and_an_infinity_with_its_own_sign_only(other: float) -> None:
    values = torch.tensor([[other, other, -math.inf]])
    expected = torch.tensor([[7, 8, 9]])

    assert judged(topk_pair_compare("v"), [[7, 8, 9]], expected, values)[0]
    assert judged(topk_pair_compare("v"), [[8, 7, 9]], expected, values, atol=9.0)[0] is (other == math.inf)
    assert not judged(topk_pair_compare("v"), [[9, 8, 7]], expected, values, atol=9.0, rtol=1.0)[0]


def test_integer_values_tie_only_if_they_are_identical() -> None:
    values = torch.tensor([[2**53 + 1, 2**53, 2**53]])
    expected = torch.tensor([[7, 8, 9]])

    assert judged(topk_pair_compare("v"), [[7, 9, 8]], expected, values, rtol=1.0)[0]
    assert not judged(topk_pair_compare("v"), [[8, 7, 9]], expected, values, rtol=1.0)[0]


def test_indices_that_are_not_integers_fail() -> None:
    floats = INDICES.float()

    assert judged(topk_pair_compare("v"), floats.clone(), floats) == (
        False,
        "the indices are of dtype float32: indices are integers, such as int32",
    )


@pytest.mark.parametrize(
    ("comparator", "missing", "says"),
    [
        (topk_pair_compare("w"), {}, "no actual output is named 'w'; there are ['i', 'v']"),
        (topk_pair_compare("v", scores="t"), {}, "no input or expected output is named 't'; there are ['s', 'i', 'v']"),
        (topk_pair_compare("v", dim=2), {}, "dim=2 is no axis of the indices' shape [2, 3]"),
        (topk_pair_compare("v"), {"values": VALUES[:1]}, "the actual 'v' is of shape [1, 3], the indices are [2, 3]"),
        (topk_pair_compare("v"), {"values": VALUES > 0}, "'v' is of dtype bool, which has no order"),
        (
            topk_pair_compare("v", scores="s"),
            {"scores": SCORES[:1]},
            "the scores 's' are of shape [1, 6], the indices [2, 3]: only axis 1 may differ",
        ),
        (
            topk_pair_compare("v", scores="s"),
            {"scores": SCORES[:, :0]},
            "the scores 's' of shape [2, 0] hold no candidates",
        ),
    ],
)
def test_a_wrong_partner_is_a_misconfigured_comparator(comparator: Comparator, missing: Any, says: str) -> None:
    assert judged(comparator, INDICES.clone(), **missing) == (False, f"compare_fn misconfigured: {says}")


def test_values_that_only_the_run_has_prove_nothing_but_identical_indices_pass() -> None:
    def by(actual: torch.Tensor) -> tuple[bool, str]:
        outputs = {"actual_outputs": {"v": VALUES}, "expected_outputs": {}, "inputs": {}}
        return topk_pair_compare("v")(actual, INDICES, **outputs, rtol=0.0, atol=0.0)  # type: ignore[arg-type]

    assert by(INDICES.clone())[0]
    assert by(INDICES.flip(1)) == (
        False,
        "compare_fn misconfigured: no expected output is named 'v'; there are []",
    )


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"vals_name": 3}, TypeError, "vals_name=3"),
        ({"vals_name": ""}, ValueError, "vals_name=''"),
        ({"vals_name": "v", "dim": 1.0}, TypeError, "dim=1.0"),
        ({"vals_name": "v", "descending": 1}, TypeError, "descending=1"),
        ({"vals_name": "v", "max_show": -1}, ValueError, "max_show=-1"),
        ({"vals_name": "v", "scores": 1}, TypeError, "scores=1"),
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        topk_pair_compare(**arguments)


def test_the_label_spells_the_arguments() -> None:
    assert topk_pair_compare("v").__name__ == "topk_pair_compare('v')"  # type: ignore[attr-defined]
    assert (
        topk_pair_compare("v", dim=0, descending=False, scores="s").__name__  # type: ignore[attr-defined]
        == "topk_pair_compare('v', dim=0, descending=False, scores='s')"
    )


@st.composite
def topk_cases(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """Scores with many ties, the golden indices of their top-k, indices that a kernel might give, and the axis."""
    rows, n = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    k = draw(st.integers(1, n))
    scores = torch.tensor(
        draw(st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=rows, max_size=rows))
    )
    order = scores.sort(dim=1, descending=True, stable=True).indices
    expected = order[:, :k].contiguous()
    actual = expected.clone()
    for row in range(rows):
        if draw(st.booleans()):
            shuffled = torch.tensor(draw(st.permutations(range(n))))
            actual[row] = shuffled[scores[row, shuffled].argsort(descending=True, stable=True)[:k]]
        if draw(st.booleans()):
            actual[row, draw(st.integers(0, k - 1))] = draw(st.integers(-1, n))
    return scores, expected, actual, draw(st.integers(0, 1))


@settings(max_examples=300)
@given(topk_cases(), st.sampled_from([1, 8, 1 << 15]))
def test_what_passes_is_a_top_k_and_with_the_scores_every_top_k_passes(
    case: tuple[torch.Tensor, torch.Tensor, torch.Tensor, int], piece: int
) -> None:
    scores, expected, actual, dim = case
    n = scores.shape[1]
    valid = [
        len({*a}) == len(a) and all(0 <= i < n for i in a) and [s[i] for i in a] == [s[i] for i in e]
        for a, e, s in zip(actual.tolist(), expected.tolist(), scores.tolist(), strict=True)
    ]
    same_set = [{*a} == {*e} for a, e in zip(actual.tolist(), expected.tolist(), strict=True)]
    floats = scores.float()
    values = floats.gather(1, expected)

    def by(comparator: Comparator) -> bool:
        turned = [one.movedim(1, dim) for one in (actual, expected, values, floats)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(topk, "ELEMENTS", piece)
            return judged(comparator, turned[0], turned[1], turned[2], scores=turned[3])[0]

    assert by(topk_pair_compare("v", dim=dim, scores="s")) is all(valid)
    assert by(topk_pair_compare("v", dim=dim)) is all(v and s for v, s in zip(valid, same_set, strict=True))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.uint32, torch.uint64])
def test_every_integer_dtype_is_judged(dtype: torch.dtype) -> None:
    expected = INDICES.to(dtype)

    assert judged(topk_pair_compare("v"), expected.clone(), expected)[0]
    assert judged(topk_pair_compare("v"), torch.tensor([[4, 1, 2], [5, 4, 3]]).to(dtype), expected)[0]
    assert not judged(topk_pair_compare("v"), torch.tensor([[1, 2, 4], [5, 3, 4]]).to(dtype), expected)[0]


def test_scores_of_several_axes_are_looked_up_in_their_row() -> None:
    torch.manual_seed(0)
    scores = torch.randint(0, 4, (3, 9, 2, 5)).float()
    values, expected = scores.topk(4, dim=1)
    largest_last = (scores - 1e-3 * torch.arange(9.0)[:, None, None]).topk(4, dim=1).indices
    comparator = topk_pair_compare("v", dim=1, scores="s", max_show=2)

    assert judged(comparator, largest_last, expected, values, scores=scores)[0]
    wrong = expected.clone()
    worst = int(scores[2, :, 1, 3].argmin())
    wrong[2, 0, 1, 3] = worst
    passed, message = judged(comparator, wrong, expected, values, scores=scores)
    assert not passed
    held = f"expected {int(expected[2, 0, 1, 3])} (score {scores[2, :, 1, 3].max():g})"
    assert message.splitlines()[1] == f"[2, 0, 1, 3] {held}, got {worst} (score {scores[2, :, 1, 3].min():g}): no tie"


def test_no_elements_pass() -> None:
    for shape in ((0, 3), (2, 0)):
        none = torch.empty(shape, dtype=torch.int32)
        scores = torch.empty(shape[0], 6)
        assert judged(topk_pair_compare("v", scores="s"), none, none.clone(), none.float(), scores=scores)[0]


def test_one_wrong_index_of_20_million_is_found() -> None:
    expected = torch.arange(8, dtype=torch.int32).repeat(2_500_000, 1)
    values = torch.zeros(1, dtype=torch.bfloat16).expand(2_500_000, 8)
    actual = expected.clone()
    assert judged(topk_pair_compare("v"), actual, expected, values, got=values)[0]
    actual[2_499_999, 6] = 8

    passed, message = judged(topk_pair_compare("v"), actual, expected, values, got=values)
    assert not passed
    assert message.splitlines()[1] == (
        "[2499999, 6] expected 6 (value 0), got 8, which is none of the row's expected indices"
    )
