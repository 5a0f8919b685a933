"""RunResult's words, and failures that cross process borders whole."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from golden_tasks import RunResult, Status
from golden_tasks.results import Failure


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (RunResult(True, execution_time=1.234), "PASS (1.23s)"),
        (RunResult(True), "PASS"),
        (RunResult(False, "boom", 0.5), "FAIL: boom (0.50s)"),
        (RunResult(False, "boom"), "FAIL: boom"),
        (RunResult(False), "FAIL"),
        (RunResult(False, execution_time=0.0), "FAIL (0.00s)"),
    ],
    ids=str,
)
def test_a_result_says_whether_it_passed_why_not_and_how_long_it_took(result: RunResult, text: str) -> None:
    assert str(result) == text


def test_a_result_holds_its_fields_in_the_documented_order() -> None:
    fields: tuple[Any, ...] = (False, "boom", 1.0, Path("build"), {"rounds": 3})

    result = RunResult(*fields)

    assert (result.passed, result.error, result.execution_time, result.work_dir, result.bench) == fields


def test_a_status_prints_as_its_bare_name() -> None:
    assert f"{Status.WRONG_VALUE}" == "WRONG_VALUE"
    assert [str(s) for s in Status] == [s.name for s in Status]


def test_a_failure_survives_pickling_with_its_status_and_message() -> None:
    failure = pickle.loads(pickle.dumps(Failure(Status.DAMAGED, "data/in/x.pt is missing")))

    assert (failure.status, failure.message) == (Status.DAMAGED, "data/in/x.pt is missing")
    assert str(failure) == "data/in/x.pt is missing"
