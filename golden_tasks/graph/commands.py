"""doit's `run`, with what the graph needs of it: `-a` reaches the stages, and a name that means nothing is an error."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import multiprocessing
import os
import shlex
import signal
import sqlite3
import time
from typing import Any

from doit.cmd_run import Run as DoitRun
from doit.dependency import SqliteDB
from doit.exceptions import InvalidCommand

from golden_tasks import isolation
from golden_tasks.graph.reporter import VerdictReporter
from golden_tasks.graph.state import STATE
from golden_tasks.graph.tasks import BUILDING, WORK
from golden_tasks.isolation.processes import adopt_orphans, end_children, end_with_parent

_ENDING = (signal.SIGINT, signal.SIGTERM)
_TIDYING_SECONDS = 1.5


class Run(DoitRun):  # type: ignore[misc]
    """`doit run`. In a project without golden_tasks it is doit's own."""

    def get_backends(self) -> dict[str, Any]:
        return {**super().get_backends(), "sqlite3": _State}

    @functools.wraps(DoitRun._execute)  # doit reads the options' names from the signature
    def _execute(self, **options: Any) -> int:
        ours = [task for task in self.task_list if _takes_again(task)]
        if ours:
            self._check_names()
            adopt_orphans()
            os.register_at_fork(before=_prepare_for_workers, after_in_child=_become_worker)
        if options.get("always"):
            for task in ours:
                for action in task.actions:
                    action.kwargs["again"] = True
        interrupt = _Interrupt()
        previous = {number: signal.signal(number, interrupt) for number in _ENDING}
        try:
            if ours and options.get("single"):
                self.outstream.write("only the named tasks are looked at: what comes before them may be stale\n")
            status: int = super()._execute(**options)
            return status or int(bool(ours) and VerdictReporter.unjudged > 0)
        except KeyboardInterrupt:
            _end_workers()
            if ours:
                end_children()
            self.outstream.write("interrupted: nothing half-made was kept; the next doit goes on from here\n")
            return 130
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _check_names(self) -> None:
        """Raises `InvalidCommand` for a pattern or a name that no task has, with the nearest names."""
        names = [task.name for task in self.task_list]
        for i, wanted in enumerate(self.sel_tasks or []):
            if i and wanted.startswith("-"):
                words = [*self.sel_tasks[i:], *self.sel_tasks[:i]]
                raise InvalidCommand(f"options come before the names of tasks: doit {shlex.join(words)}")
            if wanted in names:
                continue
            if "*" in wanted:
                if not fnmatch.filter(names, wanted):
                    raise InvalidCommand(f"no task matches the pattern {wanted!r}; `doit list` shows all tasks")
                continue
            near = _nearest(wanted, names)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise InvalidCommand(f"there is no task {wanted!r}; {hint}`doit list` shows all tasks")


def _nearest(wanted: str, names: list[str]) -> list[str]:
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


class _State(SqliteDB):  # type: ignore[misc]
    """doit's state, written in one short transaction at the end: another doit may be running beside this one.

    doit's own deletes a failed task's state at once, and so locks the file until the end of its run.
    """

    def remove(self, task_id: str) -> None:
        self._cache[task_id] = {}
        self._dirty.add(task_id)

    def dump(self) -> None:
        """Saves what it can: the state is a hint, so that a full or read-only disk does not end a run."""
        try:
            super().dump()
        except sqlite3.Error:
            if not self.name.endswith(STATE):  # another project's, not golden_tasks'
                raise


class _Interrupt:
    """Ctrl-C and a request to end are one thing, and once is enough: what follows is tidying up, and is short."""

    def __init__(self) -> None:
        self._came = -_TIDYING_SECONDS

    def __call__(self, number: int, frame: object) -> None:
        if time.monotonic() - self._came >= _TIDYING_SECONDS:
            self._came = time.monotonic()
            raise KeyboardInterrupt


def _prepare_for_workers() -> None:
    """Runs before doit forks its first worker, and so only if there is something to do."""
    for module in (WORK, BUILDING):
        isolation.start(module)


def _become_worker() -> None:
    end_with_parent(signal.SIGKILL)


def _end_workers() -> None:
    """Waits until doit's worker processes have tidied up after themselves, and ends those that do not.

    They are asked more than once: a request is lost on a worker's main thread while that starts a process.
    """
    deadline = time.monotonic() + _TIDYING_SECONDS
    while (workers := multiprocessing.active_children()) and time.monotonic() < deadline:
        for worker in workers:
            worker.terminate()
            worker.join(0.1)
    for worker in workers:
        worker.kill()


def _takes_again(task: Any) -> bool:
    return any("again" in (getattr(action, "kwargs", None) or {}) for action in task.actions)
