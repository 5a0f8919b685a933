"""doit's `run`, with what the graph needs of it: `-a` reaches the stages, and a name that means nothing is an error."""

from __future__ import annotations

import difflib
import fnmatch
import functools
from typing import Any

from doit.cmd_run import Run as DoitRun
from doit.exceptions import InvalidCommand


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
        return super()._execute(**options)  # type: ignore[no-any-return]

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


def _takes_again(task: Any) -> bool:
    return any("again" in (getattr(action, "kwargs", None) or {}) for action in task.actions)
