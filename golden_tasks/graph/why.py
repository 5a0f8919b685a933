"""`doit why`: what the next `doit` would run, and why, in the words that it would print. Nothing is made."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

from doit.cmd_base import DoitCmdBase
from doit.exceptions import InvalidCommand

from golden_tasks.graph import names, terminal
from golden_tasks.graph.stage import PER_CASE, Stage
from golden_tasks.graph.tasks import Capture, Inspect, Validate
from golden_tasks.isolation import ChildError
from golden_tasks.records import Inspection
from golden_tasks.results import Failure

_SHOWN = 6  # causes of a stage
_FAILS = "fails:"
_UPSTREAM = {"execute": ("golden", "compile"), "validate": ("golden", "execute")}
_IF = {  # (a stage that will run, the next one) -> when that runs too
    ("golden", "execute"): "golden makes other inputs",
    ("compile", "execute"): "compile makes another binary",
    ("golden", "validate"): "golden makes other expected outputs",
    ("execute", "validate"): "execute makes other outputs",
}


class Why(DoitCmdBase):  # type: ignore[misc]
    """The command. Its exit status is 0 if all is current, 1 if something is stale."""

    name = "why"
    doc_purpose = "say what the next doit would run, and why"
    doc_usage = "[CASE or TASK ...]"
    doc_description = (
        "For each case that is not current: the stages that would run, what changed with file and line, the old and "
        "the new value, and where a later stage may be cut off. A kernel file that changed is imported in a child "
        "process; nothing is made. Without names: all that `doit` would look at.\n"
        "Exit status: 0 if all is current, 1 if something is stale, 3 for a name that means nothing."
    )
    cmd_options: ClassVar[tuple[Any, ...]] = ()

    @terminal.until_unread
    def _execute(self) -> int:
        stages = names.stages_of(self.task_list, self.sel_tasks or [])
        if not stages:
            raise InvalidCommand("there is no case in this project: `doit why` speaks of golden_tasks' cases")
        stale = 0
        cases = _by_case(stages)
        for label, plan in cases.items():
            lines = _lines(plan)
            stale += bool(lines)
            if lines:
                self.outstream.write("\n".join([label, *lines, "", ""]))
        stages[0].project.memory.save()
        total = f"{len(cases)} case{'s' if len(cases) > 1 else ''}"
        self.outstream.write(f"{total}: {f'{stale} stale, ' if stale else ''}{len(cases) - stale} current\n")
        return int(stale > 0)


def _by_case(stages: list[Stage]) -> dict[str, list[Stage]]:
    """The stages of each case on each platform; those that exist once a case belong to all its platforms."""
    plans: dict[str, list[Stage]] = {}
    for stage in stages:
        if stage.verb not in PER_CASE:
            plans.setdefault(stage.label, []).append(stage)
    for stage in stages:
        if stage.verb in PER_CASE:
            labels = [label for label, plan in plans.items() if plan[0].case is stage.case] or [stage.label]
            for label in labels:
                plans.setdefault(label, []).append(stage)
    order = ("inspect", "golden", "compile", "execute", "validate", "capture")
    return {label: sorted(plan, key=lambda stage: order.index(stage.verb)) for label, plan in plans.items()}


def _lines(plan: list[Stage]) -> list[str]:
    """What is to be said of a case on a platform; nothing if all is current."""
    said: dict[str, list[str]] = {}
    for stage in plan:
        texts = _of(stage, list(said))
        if texts:
            said[stage.verb] = texts
        if texts and texts[-1].startswith(_FAILS):
            current = []
            break
    else:
        current = [stage.verb for stage in plan if stage.verb not in said] if said else []
    lines = []
    for verb, texts in said.items():
        shown = texts if len(texts) <= _SHOWN else [*texts[:_SHOWN], f"and {len(texts) - _SHOWN} more"]
        lines += [f"    {verb if i == 0 else '':<9} {text}" for i, text in enumerate(shown)]
    return lines + ([f"    current   {', '.join(current)}"] if current else [])


def _of(stage: Stage, running: list[str]) -> list[str]:
    """Why a stage runs, or may run, after others have; nothing if it does not."""
    upstream = [verb for verb in _UPSTREAM.get(stage.verb, ()) if verb in running]
    try:
        if isinstance(stage, Capture) and "golden" in running:
            return ["golden's snapshot, once a run has passed"]
        causes = _own_causes(stage) if upstream else list(stage.causes())
        if causes:
            return causes + (_look(stage) if isinstance(stage, Inspect) else [])
        if upstream:
            return [f"only if {' or '.join(_IF[verb, stage.verb] for verb in upstream)}"]
        failure = stage.failure()
    except Failure as raised:
        failure = raised
    return [f"{_FAILS} {failure.status}  {failure.message.splitlines()[0]}"] if failure else []


def _own_causes(stage: Stage) -> list[str]:
    """Why a stage runs whatever the stages before it make."""
    record = stage.record()
    if record is None:
        return [stage.absence()]
    causes = list(stage.altered(record))
    if isinstance(stage, Validate):
        now, made_from = stage.policy().parts, record.made_from
        was = {part: text for part, text in made_from.items() if part not in stage.of_data}
        changed = [part for part in now.keys() | was.keys() if now.get(part) != was.get(part)]
        causes += [stage.words(part, was.get(part), now.get(part)) for part in sorted(changed)]
    return causes


def _look(stage: Inspect) -> list[str]:
    """Lets a child read a changed kernel file, so that the stages after it are seen as they will be.

    Returns what is to be said if that fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            answer = stage.look(Path(folder) / "inspect.log")
        except Failure as failure:
            return [f"{_FAILS} {failure.status}  {failure.message.splitlines()[0]}"]
        except ChildError as error:
            return [f"{_FAILS} {stage.raises}  {error.raised}"]
    for path, record in stage.described(answer).items():
        stage.project.memory.pretend(path, record)
    stage.project.memory.pretend(
        stage.record_file(),
        Inspection(made_from=stage.parts(), timeout=answer["timeout"], memory=answer["memory"], where=answer["where"]),
    )
    return []
