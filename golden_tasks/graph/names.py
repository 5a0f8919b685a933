"""Names of tasks and cases as a user types them: what they stand for, or what was meant by them."""

from __future__ import annotations

import difflib
import fnmatch
import shlex
from collections.abc import Sequence
from typing import Any

from doit.exceptions import InvalidCommand

from golden_tasks.graph.stage import Stage


def check(tasks: Sequence[Any], words: Sequence[str]) -> None:
    """Raises `InvalidCommand` for a pattern or a name that no task has, with the nearest names."""
    names = [task.name for task in tasks]
    for position, wanted in enumerate(words):
        if position and wanted.startswith("-"):
            meant = [*words[position:], *words[:position]]
            raise InvalidCommand(f"options come before the names of tasks: doit {shlex.join(meant)}")
        if wanted in names:
            continue
        if "*" in wanted:
            if not fnmatch.filter(names, wanted):
                raise InvalidCommand(f"no task matches the pattern {wanted!r}; `doit list` shows all tasks")
            continue
        near = _nearest(wanted, names)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise InvalidCommand(f"there is no task {wanted!r}; {hint}`doit list` shows all tasks")


def stages_of(tasks: Sequence[Any], words: Sequence[str]) -> list[Stage]:
    """The stages that tasks need, in the order of the graph; a bare `K` stands for `replay:K`."""
    known = {task.name: task for task in tasks}
    words = [f"replay:{word}" if f"replay:{word}" in known else word for word in words]
    check(tasks, words)
    waiting = [name for word in words for name in (fnmatch.filter(known, word) if "*" in word else [word])]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(known[name].task_dep)
    return [stage for name, task in known.items() if name in reached and (stage := stage_of(task)) is not None]


def stage_of(task: Any) -> Stage | None:
    """A task's stage; None if it has none, as a group."""
    return next((check for check, *_ in task.uptodate if isinstance(check, Stage)), None)


def _nearest(wanted: str, names: Sequence[str]) -> list[str]:
    """Up to three tasks that may have been meant: the case on the platforms that it has, else names like the given one.

    They are of the stage that was given, else of `replay`.
    """
    for stage in (f"{wanted.partition(':')[0]}:", "replay:", ""):
        labels = {name.removeprefix(stage).casefold(): name for name in names if name.startswith(stage)}
        label = wanted.removeprefix(stage).casefold()
        case = label.partition("@")[0]
        near = [other for other in labels if other.partition("@")[0] == case] if case else []
        near = near or difflib.get_close_matches(label, labels)
        if near:
            return [labels[other] for other in near[:3]]
    return []
