"""What `doit` prints: a line for each stage that ran, with the reason, and a table of verdicts at the end."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from doit.exceptions import UnmetDependency
from doit.reporter import ConsoleReporter

from golden_tasks.graph import names, teeth
from golden_tasks.graph.stage import Stage
from golden_tasks.graph.tasks import Validate
from golden_tasks.graph.teeth import Bites
from golden_tasks.guards import GUARDS
from golden_tasks.guards.choice import IMPOSSIBLE
from golden_tasks.records import Run, Verdict
from golden_tasks.results import Status

_SETTLED = (Status.STALE, Status.DAMAGED, Status.SKIPPED)  # the message itself says what to do


class _Failed(NamedTuple):
    """How a stage failed: what a case's line in the table says of it."""

    status: Status
    message: str  # its first line
    repeat: str


_FULL_TABLES = 2
_GUARD_OF = {"NOT_WRITTEN": "written", "NOT_REPEATABLE": "repeat"}
_UNJUDGED = "-"
_NOW = "replayed now"


class VerdictReporter(ConsoleReporter):  # type: ignore[misc]
    """Says what ran and why, what failed and how, and how every judged case stands."""

    desc = "stages that ran with their reasons, and a table of verdicts"
    verbose: ClassVar[bool] = False  # whether passes are told in full, as `doit -v 2` asks for
    unjudged: ClassVar[int] = 0  # cases of the last run that it should have judged and did not

    def __init__(self, outstream: Any, options: dict[str, Any]) -> None:
        super().__init__(outstream, options)
        self._start = time.perf_counter()
        self._stages: dict[str, Stage] = {}
        self._wanted: list[str] = []  # the stages that were asked for
        self._judged: list[str] = []
        self._reached: set[str] = set()  # tasks that this run found current or brought up to date
        self._ran: set[tuple[str, str]] = set()  # (case, platform) that was executed or judged in this run
        self._failed: dict[tuple[str, str], _Failed] = {}
        self._said_something = False
        self._width = self._reason_width = 0
        self._colour = bool(getattr(outstream, "isatty", lambda: False)())

    def initialize(self, tasks: dict[str, Any], selected_tasks: list[str]) -> None:
        self._stages = {name: stage for name, task in tasks.items() if (stage := names.stage_of(task)) is not None}
        reached: dict[str, None] = {}
        waiting = list(reversed(selected_tasks))
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached[name] = None
                waiting.extend(reversed(tasks[name].task_dep))
        self._wanted = self._stages_of(selected_tasks, tasks)
        self._judged = [name for name in tasks if name in reached and isinstance(self._stages.get(name), Validate)]
        self._width = max((len(name) for name in reached if name in self._stages), default=0)
        self._reason_width = min(60, max(20, shutil.get_terminal_size((100, 24)).columns - self._width - 16))

    def execute_task(self, task: Any) -> None:
        if task.name not in self._stages:
            super().execute_task(task)

    def skip_uptodate(self, task: Any) -> None:
        self._reached.add(task.name)

    def add_success(self, task: Any) -> None:
        self._reached.add(task.name)
        stage = self._stages.get(task.name)
        if stage is None or not task.values.get("made"):
            return
        self._note_run(stage)
        reason = (stage.reason or "asked for").splitlines()[0]
        reason += f"; {task.values['note']}" if task.values.get("note") else ""
        self._line(".", task.name, reason, task.values.get("seconds", 0.0))

    def add_failure(self, task: Any, fail: Any) -> None:
        stage = self._stages.get(task.name)
        if isinstance(fail, UnmetDependency) or stage is None:
            if stage is None and not isinstance(fail, UnmetDependency):
                super().add_failure(task, fail)
            return
        status = getattr(fail, "status", None)
        if status is None:
            super().add_failure(task, fail)
            status = Status.CRASHED
        message = fail.message.strip()
        first, *rest = message.splitlines() or [""]
        recorded = stage.failure() if isinstance(stage, Validate) else None
        if recorded is not None and recorded.status == status:  # a verdict, which the table shows
            judged_now = stage.reason is not None or _is_asked_again(task)
            if judged_now:
                self._note_run(stage)
            known = "" if judged_now else "   (as recorded: nothing has changed since)"
            self._line("F", task.name, f"{status}{known}", None)
        else:
            self._line("F", task.name, f"{status}  {first}", None)
            for line in rest:
                self.write(f"       {line}\n")
        failed = _Failed(status, first, _repeat(stage, status))
        for key in self._fates(stage):
            self._failed.setdefault(key, failed)
        if failed.repeat and not self._judged:
            self.write(f"       {failed.repeat}\n")

    def complete_run(self) -> None:
        projects = {id(stage.project): stage.project for stage in self._stages.values()}
        for project in projects.values():
            project.memory.save()
        self._show_teeth()
        if self._judged:
            self._table()
        elif self._wanted and not self._said_something and self._reached.issuperset(self._wanted):
            several = f"{len(self._wanted)} stages: all current"
            self.write(f"{self._wanted[0]} is current\n" if len(self._wanted) == 1 else f"{several}\n")
        if self.runtime_errors:
            self.write("\n".join(self.runtime_errors) + "\n")

    def _show_teeth(self) -> None:
        """What became of every damage, in full for a case or two, shortly for more."""
        asked = [stage for name in self._wanted if isinstance(stage := self._stages[name], Bites)]
        records = [(stage.case.name, record) for stage in asked if (record := stage.record()) and record.bites]
        shown = teeth.table if len(records) <= _FULL_TABLES else teeth.summary
        for name, record in records:
            self._said_something = True
            self.write("\n" * (shown is teeth.table) + "\n".join(shown(name, record)) + "\n")

    def _stages_of(self, names: list[str], tasks: dict[str, Any]) -> list[str]:
        """The stages among tasks and in groups of them."""
        found: dict[str, None] = {}
        for name in names:
            inside = [name] if name in self._stages else self._stages_of(tasks[name].task_dep, tasks)
            found |= dict.fromkeys(inside)
        return list(found)

    def _fates(self, stage: Stage) -> list[tuple[str, str]]:
        """The verdicts that a failed stage prevents or gives."""
        if stage.verb == "teeth":
            return []
        if stage.verb in ("inspect", "golden"):
            return [(stage.case.name, platform) for platform in stage.case.platforms]
        return [(stage.case.name, stage.platform)]

    def _note_run(self, stage: Stage) -> None:
        if stage.verb in ("execute", "validate"):
            self._ran.add((stage.case.name, stage.platform))

    def _line(self, mark: str, name: str, text: str, seconds: float | None) -> None:
        self._said_something = True
        shown = text if seconds is None else f"{text:<{self._reason_width}} {seconds:6.1f} s"
        self.write(f"{self._paint(mark, mark == '.')}  {name:<{self._width}}   {shown}\n")

    def _table(self) -> None:
        rows = [self._row(name) for name in self._judged]
        header = ("case", "platform", "verdict", "worst of tolerance", "run time", "")
        widths = [max(len(row[0][i]) for row in [(header, []), *rows]) for i in range(5)]
        self.write("\n" + _columns(header, widths) + "\n")
        for cells, below in rows:
            line = _columns(cells, widths)
            verdict = f"{cells[2]:<{widths[2]}}"
            self.write(line.replace(verdict, self._paint(verdict, cells[2] == Status.PASSED), 1) + "\n")
            for text in below:
                self.write(f"    {text}\n")
        passed = sum(cells[2] == Status.PASSED for cells, _ in rows)
        skipped = sum(cells[2] == Status.SKIPPED for cells, _ in rows)
        unjudged = sum(cells[2] == _UNJUDGED for cells, _ in rows)
        failed = len(rows) - passed - skipped - unjudged
        type(self).unjudged = unjudged
        judged = [cells for cells, _ in rows if cells[4]]  # those with a run time have a verdict
        ran = sum(cells[5] == _NOW for cells in judged)
        current = len(judged) - ran
        counts = [f"{passed} passed", *([f"{failed} failed"] if failed else [])]
        counts += [f"{skipped} skipped"] if skipped else []
        counts += [f"{unjudged} not judged"] if unjudged else []
        total = f"{len(rows)} case{'s' if len(rows) != 1 else ''}: {', '.join(counts)}"
        seconds = time.perf_counter() - self._start
        self.write(f"{total}; {ran} replayed, {current} current   {seconds:.1f} s\n")

    def _row(self, name: str) -> tuple[tuple[str, ...], list[str]]:
        """A case's cells, and the lines below them that say what is wrong and how to repeat it."""
        stage = self._stages[name]
        key = (stage.case.name, stage.platform)
        failed = self._failed.get(key)
        if failed is None and name not in self._reached:
            return (*key, _UNJUDGED, "", "", "not judged in this run"), []
        verdict = stage.known(stage.on_platform("verdict.json"), Verdict)
        if failed is not None and verdict is not None and verdict.status != failed.status.value:
            verdict = None
        if failed is not None and verdict is None:
            return (*key, failed.status.value, "", "", ""), [line for line in (failed.message, failed.repeat) if line]
        if verdict is None:
            return (*key, _UNJUDGED, "", "", "not judged in this run"), []
        run = stage.known(stage.on_platform("run.json"), Run)
        used = [output.worst for output in verdict.outputs if output.worst is not None]
        worst = f"{100 * max(used):.1f} %" if used and verdict.status == Status.PASSED else ""
        now = _NOW if key in self._ran else ""
        cells = (*key, verdict.status, worst, _duration(run.seconds if run else verdict.seconds), now)
        if verdict.status == Status.PASSED:
            return cells, _what_was_proved(verdict, run, stage.policy().without) if self.verbose else []
        return cells, _what_is_wrong(stage, verdict)

    def _paint(self, text: str, good: bool) -> str:
        return f"\x1b[{32 if good else 31}m{text}\x1b[0m" if self._colour else text


def _what_was_proved(verdict: Verdict, run: Run | None, without: Mapping[str, str]) -> list[str]:
    """How much a pass means: what was compared of each output, how much of the tolerance was used, the guards.

    `without` has the reasons of those that are switched off.
    """
    lines = []
    for output in verdict.outputs:
        told = [f"{output.elements or 'no'} element{'s' if output.elements != 1 else ''}"]
        if output.elements:
            told.append(f"{_share(output.nonzero, output.elements)} nonzero")
            told.append(f"{_share(output.finite, output.elements)} finite")
        first, *rest = output.message.splitlines() or [""]
        if output.comparator:
            told.append(f"{output.comparator}: {first}" if first else output.comparator)
        elif output.worst is not None and output.elements:
            told.append(f"worst {_percent(output.worst)} of the tolerance")
        lines += [f"{output.name}: {', '.join(told)}", *(f"   {line}" for line in rest)]
    if verdict.trust:
        lines += [f"means little: {'; '.join(verdict.distrust)}", f"trusted all the same: {verdict.trust}"]
    if run is not None and run.guards:
        guards = [(name, run.guards[name]) for name in GUARDS if name in run.guards]
        on = [name + told.removeprefix("on") for name, told in guards if told.startswith("on")]
        off = [f"{name} off: {without.get(name, 'not asked for')}" for name, told in guards if _is_off(told)]
        lines.append("; ".join([f"guards: {', '.join(on) or 'none'}", *off]))
    return lines


def _is_off(told: str) -> bool:
    """Whether a guard was off that could have been on."""
    return told.startswith("off") and told != IMPOSSIBLE


def _percent(share: float) -> str:
    """A share of a tolerance in three digits; a small one that is not none says so."""
    return "under 0.001 %" if 0 < share < 1e-5 else f"{100 * share:.3g} %"


def _share(count: int, of: int) -> str:
    """A share that never claims all or nothing falsely."""
    if count in (0, of):
        return "all" if of and count == of else "none"
    return f"{min(max(100 * count / of, 0.1), 99.9):.1f} %"


def _what_is_wrong(stage: Stage, verdict: Verdict) -> list[str]:
    lines = []
    for what in verdict.wrong():
        first, *rest = what.splitlines()
        lines += [first, *(f"   {line}" for line in rest)]
    if verdict.status == Status.MISTRUSTED:
        return [*lines, 'accept it by Case(trust="reason"), or make inputs and tolerances that tell right from wrong']
    for guard in dict.fromkeys(_GUARD_OF[found.status] for found in verdict.findings if found.status in _GUARD_OF):
        lines.append(f'if it is meant: Case(unguarded={{"{guard}": "reason"}})')
    repeat = _quoted(stage, stage.script(Path(verdict.failed_dir) / "data", guards=bool(verdict.findings)))
    pictures = ", ".join(path.name for path in sorted(Path(verdict.failed_dir).glob("*.png")))
    kept = f"{verdict.failed_dir}{f' with {pictures}' if pictures else ''}"
    return [*lines, f"kept:    {kept}", f"repeat:  {repeat}"]


def _repeat(stage: Stage, status: Status) -> str:
    """The line that says how to repeat a failure; nothing for one that a repetition says nothing new about."""
    return "" if status in _SETTLED else f"repeat:  {_quoted(stage, stage.repeat(status))}"


def _quoted(stage: Stage, command: str) -> str:
    """A command as a shell takes it; of all that is in it, only the kernel file's path may hold a blank."""
    file = stage.case.file
    words = command.replace(file, "\0").split(" ")
    return shlex.join(word.replace("\0", file) for word in words)


def _is_asked_again(task: Any) -> bool:
    """Whether `doit -a` runs a stage though it may be current."""
    return any((getattr(action, "kwargs", None) or {}).get("again") for action in task.actions)


def _duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _columns(cells: tuple[str, ...], widths: list[int]) -> str:
    aligned = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)]
    return "   ".join([*aligned, cells[-1]]).rstrip()
