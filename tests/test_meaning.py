"""What a pass means: how much was compared, and whether the comparison could have failed."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from conftest import Project
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks import all_of, error_distribution, exact, ratio_allclose
from golden_tasks.records import OutputVerdict
from golden_tasks.validation import judge
from golden_tasks.validation.comparator import ignores_expected
from golden_tasks.validation.meaning import counts_of

ZEROS = "the expected values and the output are zeros throughout"
WIDE = "the tolerance is larger than every expected value: zeros would pass as well"


def judged(actual: torch.Tensor, expected: torch.Tensor, comparator: Any = None, atol: float = 1e-5) -> OutputVerdict:
    comparators = {"y": comparator} if comparator else None
    (verdict,) = judge({"y": actual}, {"y": expected}, 1e-5, atol, comparators, equal_nan=True)
    return verdict


@pytest.mark.parametrize(
    ("expected", "weak"),
    [
        (torch.tensor([0.0, -0.0]), ZEROS),
        (torch.zeros(3, dtype=torch.int8), ZEROS),
        (torch.zeros(3, dtype=torch.bool), ZEROS),
        (torch.full((3,), 1e-6), WIDE),
        (torch.full((3,), 1e-5), WIDE),
        (torch.full((3,), torch.nan), "no expected value is finite"),
        (torch.tensor([1e-6, 1.0]), ""),
        (torch.tensor([0, 1]), ""),
        (torch.zeros(0), ""),
        (torch.tensor([torch.inf, 1.0]), ""),
    ],
    ids=str,
)
def test_a_pass_that_could_not_have_failed_says_so(expected: torch.Tensor, weak: str) -> None:
    verdict = judged(expected.clone(), expected)

    assert (verdict.status, verdict.weak) == ("PASSED", weak)


def test_an_output_of_zeros_beside_tiny_expected_values_means_little() -> None:
    assert judged(torch.zeros(4), torch.full((4,), 1e-6)).weak == WIDE


def test_a_failure_is_no_weak_pass() -> None:
    assert judged(torch.ones(2), torch.zeros(2)).weak == ""


def test_a_comparator_that_only_reports_proves_nothing() -> None:
    def report(actual: torch.Tensor, expected: torch.Tensor, **_: object) -> tuple[bool, str]:
        return True, "all kinds of errors"

    report.is_report = True  # type: ignore[attr-defined]

    verdict = judged(torch.ones(2), torch.zeros(2), report)

    assert verdict.weak == "its comparator only reports, and passes everything"
    assert (verdict.comparator, verdict.message) == ("report", "all kinds of errors")


@pytest.mark.parametrize(
    "comparator",
    [
        ratio_allclose(max_error_ratio=1.0),
        ratio_allclose(atol=1e9),
        ratio_allclose(valid_rows=0),
        error_distribution(always_pass=False),
        all_of(error_distribution(), ratio_allclose(max_error_ratio=1.0)),
    ],
    ids=lambda comparator: comparator.__name__,
)
def test_a_comparator_that_would_pass_zeros_proves_nothing(comparator: Any) -> None:
    expected = torch.arange(1.0, 9.0)

    (verdict,) = judge({"y": expected * 3}, {"y": expected}, 1e-5, 1e-5, {"y": comparator}, doubting=True)

    assert verdict.status == "PASSED"
    assert verdict.weak == "its comparator would pass an output of zeros as well"


def test_a_comparator_that_tells_right_from_zeros_is_trusted() -> None:
    expected = torch.arange(1.0, 9.0)

    (verdict,) = judge({"y": expected}, {"y": expected}, 1e-5, 1e-5, {"y": ratio_allclose()}, doubting=True)

    assert (verdict.status, verdict.weak) == ("PASSED", "")


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.float8_e4m3fn], ids=str)
def test_every_dtype_is_counted_under_a_comparator(dtype: torch.dtype) -> None:
    tensor = torch.tensor([0.0, 1.0, 2.0]).to(dtype)

    verdict = judged(tensor, tensor, exact())

    assert (verdict.status, verdict.nonzero, verdict.finite) == ("PASSED", 2, 3)


def test_a_comparator_that_uses_no_expected_value_may_have_zeros_there() -> None:
    def finite(actual: torch.Tensor, expected: torch.Tensor, **_: object) -> tuple[bool, str]:
        return bool(actual.isfinite().all()), ""

    assert judged(torch.zeros(2), torch.zeros(2), finite).weak == ZEROS
    assert judged(torch.zeros(2), torch.zeros(2), ignores_expected(finite)).weak == ""


@given(
    values=st.lists(st.sampled_from([0.0, -0.0, 1.0, 300.0, float("nan"), float("inf")]), max_size=30),
    dtype=st.sampled_from(
        [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.float8_e5m2, torch.int32, torch.bool]
    ),
)
@settings(max_examples=100, deadline=None)
def test_a_pass_counts_what_it_compared(values: list[float], dtype: torch.dtype) -> None:
    wide = torch.tensor(values, dtype=torch.float64)
    tensor = (wide if dtype.is_floating_point else wide.nan_to_num(1, 1)).to(dtype)
    plain = tensor.double()

    counts = counts_of(tensor, tensor)
    by_default = judged(tensor, tensor)

    assert counts.nonzero_actual == counts.nonzero_expected == by_default.nonzero == int((plain != 0).sum())
    assert counts.finite_expected == by_default.finite == int(plain.isfinite().sum())
    assert by_default.elements == len(values)


# in the graph

ALL_ZERO = ('values["c"][:] = values["a"] @ values["b"]', 'values["c"][:] = values["a"] @ values["b"] * 0')


@pytest.fixture
def idle(project: Project) -> Project:
    """A project whose golden and kernel both give zeros."""
    project.edit("kernels/matmul.py", *ALL_ZERO)
    project.path("kernels/matmul.cpp").write_text(
        '#include "golden_tasks.h"\n'
        "void matmul(gt::Tensor<const float, 2>, gt::Tensor<const float, 2>, gt::Tensor<float, 2> c) {\n"
        "    for (std::int64_t i = 0; i < c.shape[0]; ++i)\n"
        "        for (std::int64_t j = 0; j < c.shape[1]; ++j) c(i, j) = 0;\n}\n"
    )
    return project


def test_zeros_on_both_sides_are_mistrusted_and_never_published(idle: Project) -> None:
    done = idle.doit("replay:matmul")

    assert done.returncode != 0
    assert "MISTRUSTED" in done.stdout
    assert f"c: {ZEROS}" in done.stdout
    assert 'accept it by Case(trust="reason")' in done.stdout
    assert not idle.path("build_output/matmul/data").exists()
    assert not idle.path("build_output/matmul/failed").exists()
    again = idle.doit("replay:matmul")
    assert "MISTRUSTED   (as recorded: nothing has changed since)" in again.stdout


def test_a_reason_accepts_a_pass_that_means_little_and_is_kept(idle: Project) -> None:
    idle.doit("replay:matmul")
    idle.edit(
        "kernels/matmul.py", "    atol=1e-3,\n", '    atol=1e-3,\n    trust="a placeholder until the real one",\n'
    )

    done = idle.doit("-v", "2", "replay:matmul")

    assert done.returncode == 0, done.stdout
    assert f"means little: c: {ZEROS}\n    trusted all the same: a placeholder until the real one" in done.stdout
    verdict = json.loads(idle.path("build_output/matmul/cpu/verdict.json").read_text())
    assert verdict["status"] == "PASSED"
    assert verdict["trust"] == "a placeholder until the real one"
    assert verdict["distrust"] == [f"c: {ZEROS}"]


def test_a_pass_tells_with_v_what_it_compared_and_which_guards_held(project: Project) -> None:
    done = project.doit("-v", "2", "replay:matmul")

    assert "    c: 65536 elements, all nonzero, all finite, worst " in done.stdout, done.stdout
    assert " % of the tolerance\n    guards: inputs, written, bounds, repeat\n" in done.stdout
    assert "guards:" not in project.doit("replay:matmul").stdout
