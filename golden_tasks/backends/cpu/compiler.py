"""The host's C++ compiler: which one, what it is, and a call of it."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from golden_tasks.environment import cxx
from golden_tasks.results import Failure, Status

_CANDIDATES = ("c++", "g++", "clang++")
_SHOWN_LINES = 40
_ERROR = re.compile(r"error: |undefined reference|No space left on device")


def find() -> list[str] | None:
    """The command that compiles C++; None if there is none.

    It is `$CXX`, else the first of c++, g++ and clang++, else the compiler of the extra `toolchain`.
    """
    chosen = cxx()
    if chosen:
        command = _words(chosen)
        if not command or not shutil.which(command[0]):
            return None
        # It is called in other folders than the one that a relative path is meant from.
        return [os.path.abspath(command[0]) if os.sep in command[0] else command[0], *command[1:]]
    for name in _CANDIDATES:
        if shutil.which(name):
            return [name]
    return _toolchain()


def _toolchain() -> list[str] | None:
    """The C++ compiler in the package `ziglang`, if that is installed; nothing of it is imported."""
    package = importlib.util.find_spec("ziglang")
    zig = Path(package.origin).parent / "zig" if package is not None and package.origin else None
    return [str(zig), "c++"] if zig is not None and os.access(zig, os.X_OK) else None


def unavailable() -> str | None:
    """Why there is no compiler; None if there is one."""
    if find() is not None:
        return None
    if cxx():
        return f"CXX={cxx()} is no command that can be run: set CXX to a C++17 compiler, or unset it"
    return (
        f"no C++17 compiler was found ({', '.join(_CANDIDATES)}): install one, set CXX to it, or "
        "pip install 'golden-tasks[toolchain]'"
    )


def require() -> list[str]:
    """The compiler's command. Raises `Failure` (SKIPPED) if there is none."""
    command = find()
    if command is None:
        raise Failure(Status.SKIPPED, f"platform 'cpu' is not available: {unavailable()}")
    return command


def binaries(command: Sequence[str]) -> list[str]:
    """The files that a compiler command runs, behind links (`ccache g++` runs two): what identifies the compiler."""
    found = [shutil.which(word) for word in command if not word.startswith("-")]
    return [str(Path(path).resolve()) for path in found if path]


def identity(command: Sequence[str]) -> str:
    """The compiler's own words for what it is: the first line of `--version`."""
    lines = _ask(command, "--version").splitlines()
    return lines[0].strip() if lines else command[0]


@functools.cache
def _system_folders(command: tuple[str, ...]) -> tuple[Path, ...]:
    environment = {name: value for name, value in os.environ.items() if name not in ("CPATH", "CPLUS_INCLUDE_PATH")}
    said = _ask(command, "-E", "-v", "-x", "c++", os.devnull, env={**environment, "LC_ALL": "C"})
    listed = re.search(r"^#include <\.\.\.>.*?\n(.*?)^End of search list", said, re.MULTILINE | re.DOTALL)
    folders = [line.partition(" (")[0].strip() for line in listed[1].splitlines()] if listed else []
    return tuple(Path(os.path.normpath(folder)) for folder in folders if "/local/" not in folder)


def system_folders(command: Sequence[str]) -> tuple[Path, ...]:
    """The folders of headers that the identity of a compiler stands for; empty if it does not tell."""
    return _system_folders(tuple(command))


def library(command: Sequence[str], flags: Sequence[str], name: str) -> Path | None:
    """Where a compiler finds the library of `-lNAME`; None if it does not."""
    folders = [flag for flag in flags if flag.startswith("-L")]
    for file in (f"lib{name}.so", f"lib{name}.a"):
        found = Path(_ask(command, *folders, f"-print-file-name={file}").strip())
        if found.is_absolute() and found.exists():
            return found
    return None


def address_sanitizer(command: Sequence[str]) -> str | None:
    """The path of the address sanitizer's shared library; None if the compiler has none."""
    return _library(command, "asan") if _is_clang(command) else _path(command, "libasan.so")


def linking_undefined_sanitizer(command: Sequence[str]) -> list[str]:
    """The flags that give a shared library its undefined behaviour sanitizer: clang leaves that to the executable."""
    library = _library(command, "ubsan_standalone") if _is_clang(command) else None
    return ["-shared-libsan", f"-Wl,-rpath,{Path(library).parent}"] if library else []


def call(command: Sequence[str], folder: Path) -> tuple[bool, str]:
    """Runs a compiler in a folder; whether it succeeded, and what it said. Raises `Failure` if it cannot be run."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", env=environment
        )
    except OSError as error:
        raise Failure(Status.COMPILE_ERROR, f"{command[0]} cannot be run: {error.strerror}") from None
    said = (done.stderr or done.stdout).strip()
    if done.returncode != 0 and not said:
        said = f"{command[0]} ended with exit status {done.returncode} and said nothing"
    return done.returncode == 0, said


def message(said: str) -> str:
    """What a compiler said, its first error first."""
    lines = said.splitlines()
    lines = [line for line in lines if not line.startswith("In file included from orchestration/")] or lines
    first = next((line for line in lines if _ERROR.search(line)), lines[0])
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more lines"]
    return "\n".join(lines if first == lines[0] else [first, *lines])


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an unclosed quote
        return []


def _is_clang(command: Sequence[str]) -> bool:
    return "clang" in identity(command)


def _library(command: Sequence[str], name: str) -> str | None:
    """The path of one of clang's shared run-time libraries, which are named in two ways."""
    machine = platform.machine()
    return _path(command, f"libclang_rt.{name}-{machine}.so") or _path(command, f"libclang_rt.{name}.so")


def _path(command: Sequence[str], library: str) -> str | None:
    """Where a compiler finds a library; None if it has none of that name."""
    path = Path(_ask(command, f"-print-file-name={library}").strip())
    return str(path) if path.is_absolute() and path.exists() else None


def _ask(command: Sequence[str], *question: str, env: Mapping[str, str] | None = None) -> str:
    """All that a compiler says to a question; nothing if it cannot be asked."""
    try:
        call = subprocess.run(
            [*command, *question], capture_output=True, encoding="utf-8", errors="replace", timeout=60, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return call.stdout + call.stderr
