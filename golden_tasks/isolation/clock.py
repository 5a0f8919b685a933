"""The clock of a child's time limit: the child has it start anew, and its parent looks."""

from __future__ import annotations

import contextlib
from pathlib import Path

_clock: list[Path] = []  # the file that this process, if it is a child, marks


def belongs_to(file: str) -> None:
    """Says which file this process, a child, has to mark."""
    _clock[:] = [Path(file)]


def restart_clock(for_what: str) -> None:
    """Has the time limit start anew, for a function that does several things which each may take so long.

    If this process ends without a result, `for_what` is told. Does nothing in a process that is no child.
    """
    for file in _clock:
        file.write_text(f"{for_what}: ")


def doing(file: Path) -> str:
    """What a child last had its time limit start anew for, to be put before what is said of its end."""
    with contextlib.suppress(OSError):
        return file.read_text()
    return ""


def mark(file: Path) -> int | None:
    """When a child last had its time limit start anew, in ns; None if it never did."""
    with contextlib.suppress(OSError):
        return file.stat().st_mtime_ns
    return None
