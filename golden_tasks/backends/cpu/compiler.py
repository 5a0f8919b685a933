"""The host's C++ compiler: which one, what it is, and a call of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from golden_tasks.environment import cxx
from golden_tasks.results import Failure, Status

_CANDIDATES = ("c++", "g++", "clang++")
_SHOWN_LINES = 40


def find() -> list[str] | None:
    """The command that compiles C++: `$CXX`, else the first of c++, g++, clang++; None if there is none."""
    chosen = cxx()
    if chosen:
        command = shlex.split(chosen)
        return command if shutil.which(command[0]) else None
    for name in _CANDIDATES:
        if shutil.which(name):
            return [name]
    return None


def unavailable() -> str | None:
    """Why there is no compiler; None if there is one."""
    if find() is not None:
        return None
    if cxx():
        return f"CXX={cxx()} is no command that can be run: set CXX to a C++17 compiler, or unset it"
    return f"no C++17 compiler was found ({', '.join(_CANDIDATES)}): install one, or set CXX to it"


def require() -> list[str]:
    """The compiler's command. Raises `Failure` (SKIPPED) if there is none."""
    command = find()
    if command is None:
        raise Failure(Status.SKIPPED, f"platform 'cpu' is not available: {unavailable()}")
    return command


def binary(command: Sequence[str]) -> str:
    """The file that a compiler command runs, behind links: what identifies the compiler."""
    return str(Path(shutil.which(command[0]) or command[0]).resolve())


def identity(command: Sequence[str]) -> str:
    """The compiler's own words for what it is: the first line of `--version`."""
    try:
        call = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    lines = (call.stdout or call.stderr).splitlines()
    return lines[0].strip() if lines else command[0]


def sanitizer_library(name: str) -> str | None:
    """The path of a sanitizer's run-time library (`libasan.so`), as the compiler finds it."""
    command = find()
    if command is None:
        return None
    call = subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = call.stdout.strip()
    return path if Path(path).is_absolute() and Path(path).exists() else None


def call(command: Sequence[str], folder: Path, shown_as: dict[str, str]) -> None:
    """Runs a compiler in a folder. Raises `Failure` with its messages, in which `shown_as` renames paths."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", env=environment)
    except OSError as error:
        raise Failure(Status.COMPILE_ERROR, f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode == 0:
        return
    said = (done.stderr or done.stdout).strip()
    for path, name in shown_as.items():
        said = said.replace(path, name)
    lines = said.splitlines() or [f"{command[0]} ended with exit status {done.returncode} and said nothing"]
    first = next((line for line in lines if "error" in line), lines[0])
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more lines"]
    raise Failure(Status.COMPILE_ERROR, "\n".join([first, *lines]))
