"""Watches what the project's own code reads while it runs: files that it opens, environment variables that it asks for.

Reads by C code, folder listings, the network and the clock are not seen.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from golden_tasks.fingerprint.local import is_local, shown

_CODE = (".py", ".pyc", ".so")
_SYSTEM = ("/proc/", "/sys/", "/dev/")
_LIBRARY = sysconfig.get_path("stdlib")
_PASSING_ON = {  # the files whose functions read a variable for whoever calls them
    function.__code__.co_filename for function in (os.getenv, os.environ.get, os.path.expandvars)
}


class Watch:
    """What was read: paths as the project names them, and variables with the values that they had at first."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root.resolve()
        self.files: set[str] = set()
        self.variables: dict[str, str | None] = {}
        self.active = False
        self._environment = dict(environment)
        self._made: set[str] = set()  # files that were written from nothing meanwhile

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or event not in ("open", "ctypes.dlopen"):
            return
        path, _, flags = (*arguments, None, None)[:3]
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        place = os.path.abspath(os.fsdecode(path))
        opening = flags if isinstance(flags, int) else os.O_RDONLY
        if opening & (os.O_TRUNC | os.O_EXCL):
            self._made.add(place)
        elif opening & os.O_ACCMODE != os.O_WRONLY and self._is_input(place, event, sys._getframe(1)):
            self.files.add(shown(place, self.root))

    def _is_input(self, place: str, event: str, frame: FrameType) -> bool:
        """Whether a file is read for the project, and is neither the system's or a library's nor code on import."""
        if place in self._made or not os.path.isfile(place):
            return False
        if place.startswith((*_SYSTEM, _LIBRARY)) or "/site-packages/" in place or "/dist-packages/" in place:
            return False
        if event == "open" and place.endswith(_CODE):
            return _read_by_project(frame, self.root)
        return _read_for_project(frame, self.root)

    def _asked(self, name: object) -> None:
        if self.active and isinstance(name, str) and _asked_by_project(sys._getframe(2), self.root):
            self.variables[name] = self._environment.get(name)


@contextmanager
def watching(root: Path, environment: Mapping[str, str] | None = None) -> Iterator[Watch]:
    """Watches for as long as the block runs; what was seen stays in the `Watch`.

    `environment` is what the process was started with, if the project's code has had the chance to change it since.
    """
    watch = Watch(root, os.environ if environment is None else environment)
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
    """Whether the project's code opened a file itself, or by a method of a path."""
    while frame is not None and "pathlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None and is_local(frame.f_code.co_filename, root)


def _asked_by_project(frame: FrameType | None, root: Path) -> bool:
    """Whether the project's code asked for a variable, with `os` and `os.path` at most in between."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_local(file, root):
            return True
        if file not in _PASSING_ON:
            return False
        frame = frame.f_back
    return False
