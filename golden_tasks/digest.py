"""Digests of files, remembered between runs.

A digest is `blake3:` and 32 hex digits. A file's digest is remembered by its path, size, modification time,
change time and inode, so that a file which nothing touched costs one `stat`. An entry that was read less than two
seconds after the file last changed is not trusted again: within the clock's resolution another write could hide.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from blake3 import blake3

_TRUSTED_AGE_NS = 2_000_000_000


def of_bytes(content: bytes | memoryview) -> str:
    """The digest of bytes."""
    return "blake3:" + blake3(content).hexdigest(16)


def of_text(text: str) -> str:
    """The digest of a text."""
    return of_bytes(text.encode("utf-8", "surrogatepass"))


def of_parts(parts: dict[str, str]) -> str:
    """One digest of named parts, in any order."""
    return of_bytes(msgspec.json.encode(sorted(parts.items())))


def of_file(path: str | os.PathLike[str]) -> str:
    """The digest of a file's bytes. Raises `OSError`."""
    hasher = blake3(max_threads=blake3.AUTO)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > 1 << 20:
            hasher.update_mmap(path)
        else:
            hasher.update(file.read())
    return "blake3:" + hasher.hexdigest(16)


class Memory:
    """What was computed from files' contents, kept in one JSON file.

    Losing that file costs time, never correctness.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, tuple[list[int], str]] = {}
        self._changed = False
        with contextlib.suppress(OSError, msgspec.DecodeError):
            self._entries = msgspec.json.decode(path.read_bytes(), type=dict[str, tuple[list[int], str]])

    def get(self, kind: str, path: str, compute: Callable[[str], str]) -> str:
        """`compute(path)`, or its remembered result if the file has not changed since.

        `kind` names what is computed. Raises `OSError` if the file cannot be read.
        """
        key = f"{kind} {path}"
        stamp = _stamp(path)
        known = self._entries.get(key)
        if known is not None and known[0] == stamp:
            return known[1]
        now = time.time_ns()
        value = compute(path)
        if _stamp(path) == stamp and now - max(stamp[1], stamp[2]) > _TRUSTED_AGE_NS:
            self._entries[key] = (stamp, value)
            self._changed = True
        return value

    def file(self, path: str) -> str:
        """The digest of a file's bytes. Raises `OSError`."""
        return self.get("bytes", path, of_file)

    def save(self) -> None:
        """Writes the memory, if anything new is in it. A folder that cannot be written is no error."""
        if not self._changed:
            return
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            beside.write_bytes(msgspec.json.encode(self._entries))
            beside.replace(self._path)
            self._changed = False
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink()


def _stamp(path: str) -> list[int]:
    info = os.stat(path)
    return [info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino]
