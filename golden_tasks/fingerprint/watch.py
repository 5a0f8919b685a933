"""Watches what the project's own code sees while it runs: files, folders, environment variables, other processes.

Reads by C code and the clock are not seen.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import pathlib
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from golden_tasks.fingerprint import outside
from golden_tasks.fingerprint.local import is_local, shown
from golden_tasks.records import ABSENT

_CODE = (".py", ".pyc", ".so")
_SYSTEM = ("/proc/", "/sys/", "/dev/")
_LIBRARY = sysconfig.get_path("stdlib")
_HERE = {__file__, outside.__file__, is_local.__wrapped__.__code__.co_filename}
_PASSING_ON = {  # the files whose functions ask for whoever calls them
    function.__code__.co_filename
    for function in (os.getenv, os.environ.get, os.path.expandvars, os.path.exists, glob.glob)
}
_RESOLVING = ("realpath", "_joinrealpath", "resolve")  # what looks at each folder on the way to a file
_LOOKS = [
    (holder, name)
    for holder in (os, getattr(pathlib, "_NormalAccessor", None))  # the latter is Python 3.10's
    for name in ("stat", "lstat", "access")
    if hasattr(holder, name)
]
_STARTS = {  # the events of what cannot be seen through
    "subprocess.Popen": "a child process",
    "os.system": "a child process",
    "os.exec": "a child process",
    "os.spawn": "a child process",
    "os.posix_spawn": "a child process",
    "os.fork": "a child process",
    "socket.connect": "a connection",
}
_EVENTS = {"open", "ctypes.dlopen", "os.listdir", "os.scandir", "sqlite3.connect", "pickle.find_class", *_STARTS}


class Looking:
    """A function of `os` that tells of the path that it is asked for. It is equal to the function itself."""

    def __init__(self, function: Callable[..., Any], tell: Callable[[object, FrameType], None]) -> None:
        self.function = function
        self._tell = tell

    def __call__(self, path: Any, *args: Any, **options: Any) -> Any:
        if options.get("dir_fd") is None:
            self._tell(path, sys._getframe(1))
        return self.function(path, *args, **options)

    def __eq__(self, other: object) -> bool:
        return self.function == (other.function if isinstance(other, Looking) else other)

    def __hash__(self) -> int:
        return hash(self.function)


class Watch:
    """What was seen: paths as the project names them, and variables with the values that they had at first."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root.resolve()
        self.files: set[str] = set()  # whose contents count
        self.code: set[str] = set()  # the project's Python files that were read, to be run or not
        self.absent: set[str] = set()  # what was looked for and not there
        self.folders: dict[str, str] = {}  # what was seen of a folder: that it is one, or the names in it
        self.variables: dict[str, str | None] = {}
        self.unseen: set[str] = set()  # what the project's code started or talked to
        self.active = False
        self._environment = dict(environment)
        self._given: str | None = None  # the variable that a loop over all of them has come to
        self._made: set[str] = set()  # files that were written from nothing meanwhile

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active or event not in _EVENTS:
            return
        frame = sys._getframe(1)
        if event in ("open", "ctypes.dlopen"):
            self._opened(event, arguments[0], arguments[2] if event == "open" else os.O_RDONLY, frame)
        elif event in ("os.listdir", "os.scandir"):
            self._listed(arguments[0], frame)
        elif event == "sqlite3.connect" and arguments[0] != ":memory:":
            self._looked(arguments[0], frame)
        elif event == "pickle.find_class":
            self._found_class(str(arguments[0]), frame)
        elif event in _STARTS and _is_for_project(frame, through_libraries=True):
            self.unseen.add(_STARTS[event])

    def _opened(self, event: str, path: object, flags: int, frame: FrameType) -> None:
        place = _place(path)
        if place is None:
            return
        if flags & (os.O_TRUNC | os.O_EXCL):
            self._made.add(place)
        elif flags & os.O_ACCMODE == os.O_WRONLY or place in self._made:
            return
        elif event == "open" and place.endswith(_CODE) and not _is_for_project(frame):
            self._read_code(place)
        elif _is_data(place) and _is_for_project(frame, through_libraries=True):
            self._saw(place)

    def _read_code(self, place: str) -> None:
        """Code is imported, or looked into by a library."""
        cached = place.endswith(".pyc") and "__pycache__" in place
        source = importlib.util.source_from_cache(place) if cached else place
        if is_local(source) and os.path.isfile(source):
            self.code.add(shown(source, self.root))

    def _found_class(self, module: str, frame: FrameType) -> None:
        """What a pickle names in the project is not named in the code that reads the pickle."""
        file = getattr(sys.modules.get(module), "__file__", None)
        if is_local(file) and _is_for_project(frame, through_libraries=True):
            self.files.add(shown(str(file), self.root))

    def _looked(self, path: object, frame: FrameType) -> None:
        place = _place(path)
        if self.active and place is not None and self._is_asked_for(place, frame):
            self._saw(place)

    def _listed(self, path: object, frame: FrameType) -> None:
        place = _place("." if path is None else path)
        if place is not None and self._is_asked_for(place, frame):
            self._keep(shown(place, self.root), outside.names_in(place))

    def _is_asked_for(self, place: str, frame: FrameType) -> bool:
        """Whether a place counts: the project looks at it itself, or through a library and it is the project's."""
        if place in self._made or not _is_data(place) or outside.is_of_tools(place):
            return False
        inside = Path(place).is_relative_to(self.root) and not place.endswith(_CODE)
        return _is_for_project(frame, through_libraries=inside)

    def _saw(self, place: str) -> None:
        """Files count by their contents; of anything else counts what it is."""
        path = shown(place, self.root)
        if os.path.isfile(place):
            self.files.add(path)
        elif path not in self.folders:
            self._keep(path, outside.at(place))

    def _keep(self, path: str, seen: str) -> None:
        if seen == ABSENT:
            self.absent.add(path)
        else:
            self.folders[path] = seen

    def _asked(self, name: object) -> None:
        if self.active and name is not self._given and _is_for_project(sys._getframe(2)):
            key = os.fsdecode(name) if isinstance(name, bytes) else name
            if isinstance(key, str):
                self.variables[key] = self._environment.get(key)

    def _asked_for_all(self) -> None:
        if self.active and _is_for_project(sys._getframe(2)):
            for name in (*outside.stable_names(self._environment), outside.ALL):
                self.variables[name] = outside.variable_now(name, self._environment)

    def _end(self) -> None:
        """Forgets places that the project's code made or removed itself."""
        self.active = False
        there = {path for path in {*self.absent, *self.folders} if os.path.exists(os.path.join(self.root, path))}
        self.absent -= there
        self.folders = {path: seen for path, seen in self.folders.items() if path in there}


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
            watch._asked_for_all()
            for key in list(super().__iter__()):
                watch._given = key
                yield key

    watch.active = True
    for mapping in (os.environ, os.environb):
        mapping.__class__ = Watched
    for holder, name in _LOOKS:
        setattr(holder, name, Looking(getattr(holder, name), watch._looked))
    try:
        yield watch
    finally:
        for holder, name in _LOOKS:
            setattr(holder, name, getattr(holder, name).function)
        for mapping in (os.environ, os.environb):
            mapping.__class__ = environ_class
        watch._end()


def _place(path: object) -> str | None:
    return os.path.abspath(os.fsdecode(path)) if isinstance(path, (str, bytes, os.PathLike)) else None


def _is_data(place: str) -> bool:
    """Whether a place is neither the system's nor a library's."""
    return not (
        place.startswith((*_SYSTEM, _LIBRARY)) or "/site-packages/" in f"{place}/" or "/dist-packages/" in f"{place}/"
    )


def _is_for_project(frame: FrameType | None, through_libraries: bool = False) -> bool:
    """Whether the project's code asks: itself, by `os`, `pathlib` or `glob`, or through any library.

    What a library does while it is imported is its own affair.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _HERE or file.startswith("<frozen importlib"):
            return False
        if file in _PASSING_ON or "pathlib" in file:
            if frame.f_code.co_name in _RESOLVING:
                return False
        elif is_local(file):  # which looks at places itself: see `_HERE`
            return True
        elif not through_libraries:
            return False
        frame = frame.f_back
    return False
