"""Runs the rows of the table in batches: rows that have nothing in common are edited together, and one doit follows.

Everything is made once in a folder that pytest's workers share: the project without edits, brought up to date
(`baseline`), and for each batch a copy of it in another place, with what `doit why`, `doit` and a second `doit` said.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest
from conftest import PATH, REPOSITORY
from edit_kinds import Edit

FIXTURES = Path(__file__).parent / "project"
ALL = ("replay:all", "replay:all@torch")
_PLACE = re.compile(r"(\S+?):«(.+?)»")  # file:«text», which stands for the number of the line that holds the text
_LINE = re.compile(r"([.F])  (\S+:\S+)\s+(.*?)(?:\s+\d+\.\d s)?")
_MORE = re.compile(r", and \d+ more$")


@dataclass(frozen=True)
class Line:
    """A line that doit prints for a stage: whether it failed, and the reason or failure; none if it is not told."""

    failed: bool
    text: str


@dataclass(frozen=True, repr=False)
class Row:
    """An edit, and all that doit must do about it: `runs` is what it prints, without marks of success and seconds.

    A stage without a text gets the usual one: see `usual_reason`. `capture*` is one of the case's platforms' captures.
    `…` in a text stands for anything.
    """

    promise: str
    cases: tuple[str, ...]  # that may run; all others must not
    edits: tuple[Edit, ...]
    runs: str
    before: tuple[Edit, ...] = ()  # edits that are followed by a doit of their own
    verdicts: Mapping[str, str | None] = field(default_factory=dict)  # by label; PASSED for those that are not named
    environment: Mapping[str, str] = field(default_factory=dict)
    conservative: str = ""  # why more runs than must
    alone: bool = False  # whether the environment concerns all cases, so that doit is asked for this row's only

    def __repr__(self) -> str:
        return self.promise

    @cached_property
    def expected(self) -> dict[str, Line]:
        """Stage -> the line that doit must print for it."""
        lines = {}
        for line in filter(None, map(str.strip, self.runs.splitlines())):
            failed = line.startswith("F  ")
            stage, _, text = line.removeprefix("F  ").partition(" ")
            lines[self._full(stage)] = Line(failed, text.strip())
        return lines

    def _full(self, stage: str) -> str:
        """`compile:matmul@torch` for `compile@torch` of a row with one case."""
        if ":" in stage:
            return stage
        verb, at, platform = stage.partition("@")
        return f"{verb}:{self.cases[0]}{at}{platform}"

    def expected_of(self, ran: Mapping[str, Line]) -> dict[str, Line]:
        """What is expected, with `capture*:K` as the capture of the platform that came first."""
        first = {case_of(stage): stage for stage in ran if stage.startswith("capture:")}
        return {
            first.get(case_of(stage), stage) if stage.startswith("capture*:") else stage: line
            for stage, line in self.expected.items()
        }

    @property
    def fails(self) -> bool:
        return any(line.failed for line in self.expected.values())

    @property
    def touched(self) -> tuple[str, ...]:
        return tuple(file for edit in (*self.before, *self.edits) for file in edit.files)

    def usual_reason(self, stage: str, ran: Mapping[str, Line]) -> str:
        """The pattern of a reason that follows from the other stages that ran."""
        verb, label = stage.split(":")
        case = case_of(label)
        if verb == "inspect":
            edited = [file for edit in self.edits for file in edit.files if file.endswith(".py")]
            return re.escape(f"{edited[0]} changed") if len(edited) == 1 else "a reason must be given"
        if verb == "execute":
            new = [what for what, by in (("build", f"compile:{label}"), ("inputs", f"golden:{case}")) if by in ran]
            return f"new ({'|'.join(new)})(, and 1 more)?"
        if verb == "validate":
            return "new (outputs|expected outputs)(, and [12] more)?"
        if verb == "capture":
            return re.escape(ran[f"golden:{case}"].text if f"golden:{case}" in ran else "a reason must be given")
        return "a reason must be given"


@dataclass(frozen=True, repr=False)
class Batch:
    number: int
    rows: list[Row]

    def __repr__(self) -> str:
        return f"batch {self.number}"

    def takes(self, row: Row) -> bool:
        """Whether a row has nothing in common with those of the batch."""
        for other in self.rows:
            shared = any(_overlap(a, b) for a in row.touched for b in other.touched)
            if shared or not set(row.cases).isdisjoint(other.cases) or row.alone != other.alone:
                return False
            if row.alone and row.environment != other.environment:
                return False
            if any(row.environment.get(name, value) != value for name, value in other.environment.items()):
                return False
        return True

    @property
    def environment(self) -> dict[str, str]:
        return {name: value for row in self.rows for name, value in row.environment.items()}

    @property
    def tasks(self) -> tuple[str, ...]:
        """What doit is asked for: all, or what an environment that concerns all cases is tried on."""
        named = [stage for row in self.rows for stage in row.expected] if self.rows[0].alone else []
        labels = dict.fromkeys(stage.partition(":")[2] for stage in named)
        return tuple(f"replay:{label}" for label in labels) or ALL


def packed(rows: Sequence[Row]) -> list[Batch]:
    """The rows in as few batches as come of taking each into the first that it fits in, the most bound ones first."""
    batches: list[Batch] = []
    count: dict[str, int] = {}
    for row in rows:
        for case in row.cases:
            count[case] = count.get(case, 0) + 1
    bound = {row.promise: -sum(count[case] for case in row.cases) for row in rows}
    for row in sorted(rows, key=lambda row: (row.alone, not row.before, not row.fails, bound[row.promise])):
        batch = next((batch for batch in batches if batch.takes(row)), None)
        if batch is None:
            batch = Batch(len(batches), [])
            batches.append(batch)
        batch.rows.append(row)
    return batches


@dataclass(frozen=True)
class Outcome:
    """What was said of a batch's edits by `doit why`, by doit and by the next doit, and where it was said."""

    project: Path
    why: str
    why_status: int
    doit: str
    status: int
    again: str
    again_status: int

    def of(self, row: Row) -> str:
        """What was said of a row's cases, for messages."""
        ran = [f"{stage}  {line.text}" for stage, line in lines_of(self.doit).items() if case_of(stage) in row.cases]
        told = [f"{label}  {plan}" for label, plan in self.plan.items() if case_of(label) in row.cases]
        return "\n".join(["doit has run", *ran, "doit why has told", *told])

    @cached_property
    def plan(self) -> dict[str, dict[str, list[str]]]:
        """What `doit why` told: label -> stage -> its reasons."""
        plans: dict[str, dict[str, list[str]]] = {}
        reasons: list[str] = []
        for line in self.why.splitlines():
            if line and not line.startswith(" ") and " " not in line:
                plan = plans.setdefault(line, {})
            elif line.startswith("    "):
                stage, text = line[4:13].strip(), line[14:]
                reasons = plan.setdefault(stage, []) if stage else reasons
                reasons.append(text)
        return plans


def case_of(task_or_label: str) -> str:
    """The case in `replay:K@platform` and `K@platform`."""
    return task_or_label.rpartition(":")[2].partition("@")[0]


def lines_of(output: str) -> dict[str, Line]:
    """Stage -> the line that a doit printed for it."""
    found = [_LINE.fullmatch(line) for line in output.splitlines()]
    return {match[2]: Line(match[1] == "F", match[3].rstrip()) for match in found if match}


def verdicts_of(output: str) -> dict[str, str]:
    """`case on platform` -> the verdict in the table that a doit printed."""
    _, _, table = output.partition("\ncase ")
    rows = [line.split() for line in table.splitlines()[1:] if line and not line.startswith(" ")]
    return {f"{row[0]} on {row[1]}": row[2] for row in rows if len(row) > 2 and not row[0].isdigit()}


def pattern_of(text: str, project: Path) -> str:
    """The regular expression of a text as rows write it."""

    def with_line(match: re.Match[str]) -> str:
        lines = (project / match[1].lstrip("(")).read_text().splitlines()
        return f"{match[1]}:{next(i for i, line in enumerate(lines, 1) if match[2] in line)}"

    return re.escape(_PLACE.sub(with_line, text)).replace("…", ".*")


def without_count(reason: str) -> str:
    """A reason without how many more there are."""
    return _MORE.sub("", reason)


# What is made once for all workers


def shared_folder(factory: pytest.TempPathFactory, config: pytest.Config) -> Path:
    """A folder that all workers of a test run have in common."""
    own = factory.getbasetemp()
    folder = (own.parent if hasattr(config, "workerinput") else own) / "invalidation"
    folder.mkdir(exist_ok=True)
    return folder


def baseline(shared: Path) -> Path:
    """A project of all kernels of the repository and all fixtures, up to date."""
    project, said = shared / "baseline", shared / "baseline.txt"
    with locked(said):
        if not said.exists():
            (project / "kernels").mkdir(parents=True)
            shutil.copy(REPOSITORY / "dodo.py", project)
            for kernel in [*(REPOSITORY / "kernels").glob("*.py"), *(REPOSITORY / "kernels").glob("*.cpp")]:
                shutil.copy(kernel, project / "kernels")
            shutil.copytree(FIXTURES, project, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            status, output = run(project, "-n", "2", *ALL)
            said.write_text(f"{status}\n{output}")
    status, _, output = said.read_text().partition("\n")
    assert status == "0", output
    return project


def outcome(batch: Batch, shared: Path) -> Outcome:
    """What doit said of a batch's edits."""
    project, said = shared / f"batch_{batch.number}", shared / f"batch_{batch.number}.json"
    original = baseline(shared)
    with locked(said):
        if not said.exists():
            try:
                answer = _edited(batch, original, project)
            except AssertionError as error:
                answer = {"error": str(error)}
            said.write_text(json.dumps(answer))
    answer = json.loads(said.read_text())
    assert "error" not in answer, answer["error"]
    return Outcome(project, **answer)


def _edited(batch: Batch, original: Path, project: Path) -> dict[str, str | int]:
    subprocess.run(["cp", "-a", original, project], check=True)
    first = [row for row in batch.rows if row.before]
    for row in first:
        _apply(row.before, project, row)
    if first:
        run(project, *(f"replay:{case}" for row in first for case in row.cases))
    for row in batch.rows:
        _apply(row.edits, project, row)
    why_status, why = run(project, "why", *batch.tasks, environment=batch.environment)
    status, output = run(project, *batch.tasks, environment=batch.environment)
    again_status, again = run(project, *batch.tasks, environment=batch.environment)
    shutil.rmtree(project / "build_output")  # the sources stay, for the numbers of their lines
    return {
        "why": why,
        "why_status": why_status,
        "doit": output,
        "status": status,
        "again": again,
        "again_status": again_status,
    }


def _apply(edits: Sequence[Edit], project: Path, row: Row) -> None:
    for edit in edits:
        try:
            edit.do(project)
        except (AssertionError, OSError, KeyError) as error:
            raise AssertionError(f"{row.promise}: {error}") from error


def run(project: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """The exit status of a real doit, and all that it said."""
    done = subprocess.run(
        [sys.executable, "-m", "doit", *arguments],
        cwd=project,
        env={**os.environ, **PATH, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Holds a file's lock, so that one worker makes what all need."""
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _overlap(a: str, b: str) -> bool:
    return a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")
