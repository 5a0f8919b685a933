"""What is known of files from earlier runs, so that a file which nothing touched costs one `stat`.

What was computed from a file's content is remembered by the file's path, size, modification time, change time and
inode. A file that was read less than two seconds after it last changed is not trusted again: within the clock's
resolution another write could hide. A question about many files ("is this stage current?") is remembered with all that
was looked at to answer it, and is settled for as long as none of that has changed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from golden_tasks import digest
from golden_tasks.fingerprint import outside

_TRUSTED_AGE_NS = 2_000_000_000
_PACKAGE = Path(__file__).resolve().parent.parent

Stamp = tuple[int, int, int, int]  # size, modification time, change time, inode
T = TypeVar("T")


class Seen(msgspec.Struct):
    """What was looked at to answer a question: files, None for one that is not there, and environment variables."""

    said: str  # what else the answer depends on
    files: dict[str, Stamp | None] = {}
    variables: dict[str, str | None] = {}


class _Kept(msgspec.Struct):
    """The memory's file."""

    harness: str  # who has answered: another version may answer otherwise
    digests: dict[str, tuple[Stamp, str]] = {}
    settled: dict[str, Seen] = {}


class Memory:
    """What was computed from files' contents, kept in one JSON file.

    Losing that file costs time, never correctness.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = False
        self._kept = _Kept(_harness())
        with contextlib.suppress(OSError, msgspec.DecodeError):
            kept = _decoded(path.read_bytes())
            self._kept.digests = kept.digests
            if kept.harness == self._kept.harness:
                self._kept.settled = kept.settled
        self._objects: dict[str, tuple[Stamp | None, Any]] = {}
        self._pretended: dict[str, Any] = {}
        self._seen: list[Seen] = []  # of the questions that are being answered

    def get(self, kind: str, path: str, compute: Callable[[str], str]) -> str:
        """`compute(path)`, or its remembered result if the file has not changed since.

        `kind` names what is computed. Raises `OSError` if the file cannot be read.
        """
        key = f"{kind} {path}"
        stamp = self.look(path)
        known = self._kept.digests.get(key)
        if known is not None and known[0] == stamp:
            return known[1]
        now = time.time_ns()
        value = compute(path)
        if stamp is not None and stamp == _stamp(path) and _is_old(stamp, now):
            self._kept.digests[key] = (stamp, value)
            self._changed = True
        return value

    def file(self, path: str) -> str:
        """The digest of a file's bytes. Raises `OSError`."""
        return self.get("bytes", path, digest.of_file)

    def pretend(self, path: str, value: object) -> None:
        """Makes `read` return a value for a file, in this process only."""
        self._pretended[path] = value

    def read(self, path: str, read: Callable[[str], T]) -> T:
        """`read(path)`, remembered in this process only. Whoever gets the object must not change it."""
        if path in self._pretended:
            return self._pretended[path]  # type: ignore[no-any-return]
        stamp = self.look(path)
        known = self._objects.get(path)
        if known is not None and known[0] == stamp and stamp is not None:
            return known[1]  # type: ignore[no-any-return]
        now = time.time_ns()
        value = read(path)
        if stamp is not None and stamp == _stamp(path) and _is_old(stamp, now):
            self._objects[path] = (stamp, value)
        return value

    def look(self, path: str) -> Stamp | None:
        """A file's stamp; None if it is not there. All that a question depends on must be looked at by this."""
        stamp = _stamp(path)
        for seen in self._seen:
            seen.files[path] = stamp
        return stamp

    def variable(self, name: str) -> str | None:
        """An environment variable's value; None if it is not set."""
        value = outside.variable_now(name)
        for seen in self._seen:
            seen.variables[name] = value
        return value

    def is_settled(self, question: str, said: str) -> bool:
        """Whether a question was answered before and nothing has changed that was looked at."""
        known = self._kept.settled.get(question)
        if known is None or known.said != said:
            return False
        for name, value in known.variables.items():
            if outside.variable_now(name) != value:
                return False
        return all(_stamp(path) == stamp for path, stamp in known.files.items())

    @contextmanager
    def answering(self, said: str) -> Iterator[Seen]:
        """Notes all that is looked at meanwhile."""
        seen = Seen(said, {}, {})
        self._seen.append(seen)
        try:
            yield seen
        finally:
            self._seen.remove(seen)

    def settle(self, question: str, seen: Seen) -> None:
        """Remembers that a question was answered, if all that was looked at can be trusted."""
        now = time.time_ns()
        if all(stamp is None or _is_old(stamp, now) for stamp in seen.files.values()):
            self._kept.settled[question] = seen
            self._changed = True

    def save(self) -> None:
        """Writes the memory, if anything new is in it. A folder that cannot be written is no error."""
        if not self._changed:
            return
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            beside.write_bytes(msgspec.json.encode(self._kept))
            beside.replace(self._path)
            self._changed = False
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink()


def _decoded(content: bytes) -> _Kept:
    """The memory in a file, which the garbage collector need not look through again and again: it stays."""
    gc.disable()
    try:
        kept = msgspec.json.decode(content, type=_Kept)
        gc.freeze()
        return kept
    finally:
        gc.enable()


def _is_old(stamp: Stamp, now: int) -> bool:
    return now - max(stamp[1], stamp[2]) > _TRUSTED_AGE_NS


def _stamp(path: str) -> Stamp | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino


def _harness() -> str:
    """What tells one version of this package from another, and one interpreter: no answer outlives it."""
    files = []
    folders = [str(_PACKAGE)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".h")):
                    info = entry.stat()
                    files.append(f"{entry.path} {info.st_size} {info.st_mtime_ns}")
    return digest.of_text("\n".join([sys.version, *sorted(files)]))
