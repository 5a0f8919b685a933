"""Locks between doit processes and workers: shared for what a stage reads, exclusive for what it makes.

They are `flock`s on empty files, so that a process that dies, however it dies, holds none.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


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
    path = Path(tempfile.gettempdir()) / f"golden_tasks_{platform}_{device}.lease"
    with _flock(path, fcntl.LOCK_EX, 0o666):
        yield


@contextmanager
def _flock(path: Path, kind: int, mode: int = 0o644) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        fcntl.flock(handle, kind)
        yield
    finally:
        os.close(handle)
