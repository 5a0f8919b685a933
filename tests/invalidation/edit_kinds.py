"""The kinds of edits that the table is made of. Paths are relative to the project."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Edit:
    """What is done in a project's folder, and the files or folders that it touches."""

    files: tuple[str, ...]
    do: Callable[[Path], None]


def sub(file: str, old: str, new: str) -> Edit:
    """Replaces the one place in a file that reads `old`."""

    def do(project: Path) -> None:
        text = (project / file).read_text()
        assert text.count(old) == 1, f"{file} holds {old!r} {text.count(old)} times"
        (project / file).write_text(text.replace(old, new))

    return Edit((file,), do)


def add(file: str, text: str) -> Edit:
    """Puts text at the end of a file."""
    return Edit((file,), lambda project: _write(project / file, (project / file).read_text() + text))


def top(file: str, text: str) -> Edit:
    """Puts text at the beginning of a file."""
    return Edit((file,), lambda project: _write(project / file, text + (project / file).read_text()))


def new(file: str, text: str) -> Edit:
    """Writes a file that is not there."""

    def do(project: Path) -> None:
        assert not (project / file).exists(), file
        _write(project / file, text)

    return Edit((file,), do)


def script(file: str, text: str) -> Edit:
    """Writes a shell script that can be called."""

    def do(project: Path) -> None:
        _write(project / file, f"#!/bin/sh\n{text}")
        (project / file).chmod(0o755)

    return Edit((file,), do)


def delete(path: str) -> Edit:
    """Removes a file, or a folder with all that is in it."""

    def do(project: Path) -> None:
        place = project / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    return Edit((path,), do)


def copy(old: str, new: str) -> Edit:
    """Copies a file."""
    return Edit((new,), lambda project: _write(project / new, (project / old).read_bytes()))


def rename(old: str, new: str) -> Edit:
    """Gives a file another name."""
    return Edit((old, new), lambda project: (project / old).rename(project / new))


def touch(file: str) -> Edit:
    """Gives a file a new time and leaves its content."""
    return Edit((file,), lambda project: (project / file).touch())


def undone(edit: Edit) -> Edit:
    """Makes an edit, then puts the files back as they were, as `git checkout` does."""

    def do(project: Path) -> None:
        before = {file: (project / file).read_bytes() for file in edit.files}
        edit.do(project)
        for file, content in before.items():
            (project / file).unlink()
            (project / file).write_bytes(content)

    return Edit(edit.files, do)


def unnoticed(edit: Edit) -> Edit:
    """Makes an edit that leaves a file's size, inode and modification time."""

    def do(project: Path) -> None:
        (file,) = edit.files
        before = (project / file).stat()
        edit.do(project)
        after = (project / file).stat()
        assert (after.st_size, after.st_ino) == (before.st_size, before.st_ino), file
        os.utime(project / file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return Edit(edit.files, do)


def cut(file: str) -> Edit:
    """Leaves the first half of a file, as a full disk does."""
    return _bytes(file, lambda content: content[: len(content) // 2])


def flip(file: str) -> Edit:
    """Changes one bit in the middle of a file."""

    def flipped(content: bytes) -> bytes:
        middle = len(content) // 2
        return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]

    return _bytes(file, flipped)


def in_record(file: str, *keys: str | int, to: Any) -> Edit:
    """Changes a value in a JSON file by hand."""

    def changed(content: bytes) -> bytes:
        record = json.loads(content)
        inside = record
        for key in keys[:-1]:
            inside = inside[key]
        assert inside[keys[-1]] != to, f"{file} says so already"
        inside[keys[-1]] = to
        return json.dumps(record, indent=1).encode()

    return _bytes(file, changed)


def _bytes(file: str, change: Callable[[bytes], bytes]) -> Edit:
    return Edit((file,), lambda project: _write(project / file, change((project / file).read_bytes())))


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
