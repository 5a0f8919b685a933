"""doit's `run`, with what the graph needs of it: `-a` reaches the stages, and a name that means nothing is an error."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from multiprocessing.process import BaseProcess
from typing import Any

from doit import cmd_run
from doit.dependency import SqliteDB
from doit.runner import MRunner

from golden_tasks import isolation
from golden_tasks.graph import names, terminal
from golden_tasks.graph.reporter import VerdictReporter
from golden_tasks.graph.stage import BUILDING, WORK
from golden_tasks.graph.state import STATE
from golden_tasks.isolation.processes import adopt_orphans, end_children, end_with_parent

_ENDING = (signal.SIGINT, signal.SIGTERM)
_TIDYING_SECONDS = 1.5
_LOOKING_SECONDS = 0.1
_ERROR = 2  # doit's exit status for what is no failure of a task


class Run(cmd_run.Run):  # type: ignore[misc]
    """`doit run`. In a project without golden_tasks it is doit's own."""

    def get_backends(self) -> dict[str, Any]:
        return {**super().get_backends(), "sqlite3": _State}

    @functools.wraps(cmd_run.Run._execute)  # doit reads the options' names from the signature
    def _execute(self, **options: Any) -> int:
        ours = [task for task in self.task_list if _takes_again(task)]
        if ours:
            names.check(self.task_list, self.sel_tasks or [])
            adopt_orphans()
            cmd_run.MRunner = _Runner
            os.register_at_fork(before=_prepare_for_workers, after_in_child=_become_worker)
        if options.get("always"):
            for task in ours:
                for action in task.actions:
                    action.kwargs["again"] = True
        VerdictReporter.verbose = (options.get("verbosity") or 0) > 1
        interrupt = _Interrupt()
        previous = {number: signal.signal(number, interrupt) for number in _ENDING}
        try:
            if ours and options.get("single"):
                self.outstream.write("only the named tasks are looked at: what comes before them may be stale\n")
            status: int = super()._execute(**options)
            return status or int(bool(ours) and VerdictReporter.unjudged > 0)
        except KeyboardInterrupt as interruption:
            _end_workers()
            if ours:
                end_children()
            if isinstance(interruption, _WorkerKilled):
                print(f"{interruption}: nothing half-made will be used; run doit again")
                return _ERROR
            print("interrupted: nothing half-made was kept; the next doit goes on from here")
            return 130
        except BrokenPipeError:  # whoever read the output, such as `head`, has had enough
            _end_workers()
            terminal.drop_output()
            return terminal.UNREAD
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


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


class _WorkerKilled(KeyboardInterrupt):
    """One of doit's workers was ended by a signal."""


class _Runner(MRunner):  # type: ignore[misc]
    """doit's runner for `-n`. doit's own waits for ever for a worker that was killed."""

    def run_tasks(self, task_dispatcher: Any) -> None:
        self._watch = _Watch()
        try:
            with self._watch:
                super().run_tasks(task_dispatcher)
        except KeyboardInterrupt:
            if self._watch.killed_by:
                raise _WorkerKilled(f"a worker of doit was ended by {self._watch.killed_by} from outside") from None
            raise

    def _run_start_processes(self, job_q: Any, result_q: Any) -> list[BaseProcess]:
        self._watch.workers = super()._run_start_processes(job_q, result_q)
        self._watch.start()
        return self._watch.workers


class _Watch(threading.Thread):
    """Interrupts the thread that made it once a worker has been ended by a signal."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.workers: list[BaseProcess] = []
        self.killed_by = ""  # the signal's name
        self._main = threading.get_ident()
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(_LOOKING_SECONDS):
            signals = [-status for worker in self.workers if (status := worker.exitcode or 0) < 0]
            if signals:
                names = {number.value: number.name for number in signal.Signals}
                self.killed_by = names.get(signals[0], f"signal {signals[0]}")
                signal.pthread_kill(self._main, signal.SIGTERM)
                return

    def __enter__(self) -> None:
        """It starts later, once there are workers: a fork and threads do not go well together."""

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self.is_alive():
            self.join()


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
