"""doit's `run`, with what the graph needs of it: `-a` reaches the stages, and a name that means nothing is an error."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import multiprocessing
import signal
import time
from typing import Any

from doit.cmd_run import Run as DoitRun
from doit.exceptions import InvalidCommand

_ENDING = (signal.SIGINT, signal.SIGTERM)
_TIDYING_SECONDS = 1.5


class Run(DoitRun):  # type: ignore[misc]
    """`doit run`. In a project without golden_tasks it is doit's own."""

    @functools.wraps(DoitRun._execute)  # doit reads the options' names from the signature
    def _execute(self, **options: Any) -> int:
        ours = [task for task in self.task_list if _takes_again(task)]
        if ours:
            self._check_names()
        if options.get("always"):
            for task in ours:
                for action in task.actions:
                    action.kwargs["again"] = True
        interrupt = _Interrupt()
        previous = {number: signal.signal(number, interrupt) for number in _ENDING}
        try:
            return super()._execute(**options)  # type: ignore[no-any-return]
        except KeyboardInterrupt:
            _end_workers()
            self.outstream.write("interrupted: nothing half-made was kept; the next doit goes on from here\n")
            return 130
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _check_names(self) -> None:
        """Raises `InvalidCommand` for a pattern or a name that no task has, with the nearest names."""
        names = [task.name for task in self.task_list]
        for wanted in self.sel_tasks or []:
            if wanted.startswith("-") or wanted in names:
                continue
            if "*" in wanted:
                if not fnmatch.filter(names, wanted):
                    raise InvalidCommand(f"no task matches the pattern {wanted!r}; `doit list` shows all tasks")
                continue
            near = difflib.get_close_matches(wanted, names, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise InvalidCommand(f"there is no task {wanted!r}{hint} `doit list` shows all tasks")


class _Interrupt:
    """Ctrl-C and a request to end are one thing, and once is enough: what follows is tidying up, and is short."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: object) -> None:
        if not self.came:
            self.came = True
            raise KeyboardInterrupt


def _end_workers() -> None:
    """Waits until doit's worker processes have tidied up after themselves, and ends those that do not."""
    deadline = time.monotonic() + _TIDYING_SECONDS
    for worker in multiprocessing.active_children():
        worker.join(max(0.0, deadline - time.monotonic()))
        worker.kill()


def _takes_again(task: Any) -> bool:
    return any("again" in (getattr(action, "kwargs", None) or {}) for action in task.actions)
