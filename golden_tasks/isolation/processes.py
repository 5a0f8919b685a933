"""What passes between the processes of a run beside orders and results, and what ends them all."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

READY = "ready"  # what the fork server says last before it serves
WHERE = signal.SIGUSR1  # asks a child to write to its log what it is doing
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def end_with_parent(number: signal.Signals) -> None:
    """Makes this process get a signal when its parent ends, however that ends."""
    _control(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Makes this process the parent of every process below it that loses its own."""
    _control(_PR_SET_CHILD_SUBREAPER, 1)


def end_group(leader: int) -> None:
    """Ends a process and all that it has started, but for those that have left its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def end_children() -> None:
    """Ends all children of this process, and what they leave to it, generation after generation."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(OSError):  # no such file: nothing is known about strays
        while pids := children.read_text().split():
            for pid in map(int, pids):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _control(option: int, value: int) -> None:
    with contextlib.suppress(AttributeError):  # another system than Linux
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
