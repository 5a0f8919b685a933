"""Locks between doit processes and workers: shared for what a stage reads, exclusive for what it makes.

They are `flock`s on empty files, so that a process that dies, however it dies, holds none.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_LEASES = Path("/tmp")  # the same for every user of the machine, whatever his TMPDIR


@contextmanager
def held(folder: Path, reads: Iterable[str], makes: Iterable[str]) -> Iterator[None]:
    """Holds the locks of a case's artefacts, waiting for them if need be.

    All are taken in the order of their names, so that two stages never wait for each other.
    """
    makes = set(makes)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for name in sorted(makes | set(reads)):
            stack.enter_context(_flock(folder / f".{name}.lock", fcntl.LOCK_EX if name in makes else fcntl.LOCK_SH))
        yield


@contextmanager
def device_lease(platform: str, device: int) -> Iterator[None]:
    """Holds a device of this machine, so that the runs of all projects and users on it follow each other."""
    with _flock(_LEASES / f"golden_tasks.{platform}.{device}.lease", fcntl.LOCK_EX):
        yield


@contextmanager
def _flock(path: Path, kind: int) -> Iterator[None]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # enough for a lock, on another user's file too
    except FileNotFoundError:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, kind)
        yield
    finally:
        os.close(handle)
