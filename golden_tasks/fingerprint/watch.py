"""Watches what the project's own code reads while it runs: files that it opens, environment variables that it asks for.

Reads by C code, the network and the clock are not seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from golden_tasks.fingerprint.walk import is_local

_READING = ("r", "rb", "rt", "r+", "rb+", "r+b")
_IGNORED = {".py", ".pyc", ".so"}
_LIBRARY = str(Path(os.path.__file__).parent)


class Watch:
    """What was read: paths as the project names them, and variables with the values that they had."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.files: set[str] = set()
        self.variables: dict[str, str | None] = {}
        self.active = False

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or event != "open":
            return
        path, mode, flags = (*arguments, None, None, None)[:3]
        if not isinstance(path, (str, bytes, os.PathLike)) or isinstance(path, bytes):
            return
        if isinstance(mode, str) and mode not in _READING:
            return
        if mode is None and isinstance(flags, int) and flags & (os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
            return
        place = Path(os.path.abspath(path))
        if place.suffix in _IGNORED or not _read_for_project(sys._getframe(1), self.root):
            return
        if place.is_file():
            self.files.add(str(place.relative_to(self.root)) if place.is_relative_to(self.root) else str(place))

    def _asked(self, name: object) -> None:
        if self.active and isinstance(name, str) and _read_by_project(sys._getframe(2), self.root):
            self.variables[name] = dict.get(_plain(), name)


@contextmanager
def watching(root: Path) -> Iterator[Watch]:
    """Watches for as long as the block runs; what was seen stays in the `Watch`."""
    watch = Watch(root)
    sys.addaudithook(watch._audit)
    environ_class = type(os.environ)

    class Watched(environ_class):  # type: ignore[valid-type, misc]
        def __getitem__(self, key: str) -> str:
            watch._asked(key)
            return super().__getitem__(key)  # type: ignore[no-any-return]

        def __contains__(self, key: object) -> bool:
            watch._asked(key)
            return bool(super().__contains__(key))

        def __iter__(self) -> Iterator[str]:
            for key in list(super().__iter__()):
                watch._asked(key)
                yield key

    watch.active = True
    os.environ.__class__ = Watched
    try:
        yield watch
    finally:
        os.environ.__class__ = environ_class
        watch.active = False


def _plain() -> dict[str, str]:
    return {os.fsdecode(key): os.fsdecode(value) for key, value in os.environ._data.items()}  # type: ignore[attr-defined]


def _read_for_project(frame: FrameType | None, root: Path) -> bool:
    """Whether the project's code asked for a file, itself or through a library such as `torch.load`.

    What a library reads while it is imported is its own affair.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if is_local(file, root):
            return True
        if file.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return False


def _read_by_project(frame: FrameType | None, root: Path) -> bool:
    """Whether the project's own code asked for a variable, with nothing but Python's library in between."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_local(file, root):
            return True
        if file.startswith("<frozen importlib") or not (file.startswith("<frozen") or _is_library(file)):
            return False
        frame = frame.f_back
    return False


def _is_library(file: str) -> bool:
    return file.startswith(_LIBRARY) and "site-packages" not in file
