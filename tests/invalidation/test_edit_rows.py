"""The table of edits (`edit_rows.py`), row by row, through the real doit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from edit_batches import (
    ALL,
    Batch,
    Line,
    Outcome,
    Row,
    baseline,
    case_of,
    lines_of,
    outcome,
    packed,
    pattern_of,
    run,
    shared_folder,
    verdicts_of,
    without_count,
)
from edit_rows import ROWS

BATCHES = packed(ROWS)
PER_CASE = ("inspect", "golden")  # the stages that exist once a case, whatever its platforms
PLACED = [pytest.param(batch, row, id=row.promise) for batch in BATCHES for row in batch.rows]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return shared_folder(tmp_path_factory, request.config)


@pytest.mark.parametrize(("batch", "row"), PLACED)
def test_an_edit_runs_what_it_makes_stale_and_no_more(batch: Batch, row: Row, shared: Path) -> None:
    said = outcome(batch, shared)
    ran = {stage: line for stage, line in lines_of(said.doit).items() if case_of(stage) in row.cases}
    expected = row.expected_of(ran)

    assert _told(ran) == _told(expected), said.of(row)
    for stage, line in ran.items():
        wanted = pattern_of(expected[stage].text, said.project) or row.usual_reason(stage, ran)
        assert re.fullmatch(wanted, line.text), f"{stage}: {line.text!r} is not {expected[stage].text or wanted!r}"
    _assert_foretold(row, ran, said)
    _assert_judged(row, verdicts_of(said.doit))


def _told(lines: Mapping[str, Line]) -> list[str]:
    """The stages that ran and failed, as doit marks them."""
    return sorted(f"{'F' if line.failed else '.'}  {stage}" for stage, line in lines.items())


def _assert_foretold(row: Row, ran: Mapping[str, Line], said: Outcome) -> None:
    """`doit why` has told of each stage that ran, with the same reason, and of no other but as possible."""
    plans = {label: plan for label, plan in said.plan.items() if case_of(label) in row.cases}
    for label, plan in plans.items():
        for verb, reasons in plan.items():
            stage = f"{verb}:{case_of(label) if verb in PER_CASE else label}"
            possible = verb == "current" or reasons[0].startswith(("only if ", "golden's snapshot"))
            assert possible or stage in ran, f"why tells of {stage}: {reasons}"
    for stage, line in ran.items():
        verb, label = stage.split(":")
        labels = [known for known in plans if known == label or (verb in PER_CASE and case_of(known) == label)]
        told = [plans[known][verb][0] for known in labels if verb in plans[known]]
        assert told, f"why does not tell of {stage}"
        for reason in told if verb != "capture" else ():
            if line.failed:
                assert reason == f"fails: {line.text}" or not reason.startswith("fails: ")
            elif reason.startswith("only if "):
                assert line.text.startswith("new ")
            else:
                assert reason == without_count(line.text.partition("; ")[0])


def _assert_judged(row: Row, verdicts: Mapping[str, str]) -> None:
    wanted: dict[str, str | None] = {label: "PASSED" for label in verdicts if label.split()[0] in row.cases}
    wanted |= row.verdicts
    assert {label: verdicts.get(label) for label in wanted} == wanted


@pytest.mark.parametrize("batch", BATCHES, ids=repr)
def test_no_case_without_an_edit_runs_and_a_second_doit_runs_nothing(batch: Batch, shared: Path) -> None:
    said = outcome(batch, shared)
    edited = {case for row in batch.rows for case in row.cases}
    failed = {stage for row in batch.rows for stage, line in row.expected.items() if line.failed}
    runs = any(row.expected for row in batch.rows)

    assert [stage for stage in lines_of(said.doit) if case_of(stage) not in edited] == []
    assert [label for label in said.plan if case_of(label) not in edited] == []
    assert _told(lines_of(said.again)) == sorted(f"F  {stage}" for stage in failed)
    assert said.why_status == int(runs)
    assert (said.status != 0, said.again_status != 0) == (bool(failed), bool(failed))


def test_the_project_is_current_before_it_is_edited(shared: Path) -> None:
    status, output = run(baseline(shared), *ALL)

    assert status == 0
    assert lines_of(output) == {}


def test_hardly_any_row_is_conservative() -> None:
    assert len({row.promise for row in ROWS}) == len(ROWS) >= 150
    assert len([row for row in ROWS if row.conservative]) <= 10
