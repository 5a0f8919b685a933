"""A project of its own for each test, driven through the real doit, the real scripts and the real compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("golden_tasks", deadline=None, max_examples=50)
settings.load_profile("golden_tasks")

REPOSITORY = Path(__file__).resolve().parent.parent


# `python` and `doit` are those that run the tests, as in an active environment.
PATH = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


class Project:
    """A copy of the repository's `dodo.py` and some of its kernels, with counters for what is called.

    The compiler is the real one behind a script that counts its calls that compile. `count_golden` makes a kernel
    file's golden function count its own.
    """

    def __init__(self, folder: Path, kernels: tuple[str, ...]) -> None:
        self.folder = folder
        (folder / "kernels").mkdir(parents=True)
        shutil.copy(REPOSITORY / "dodo.py", folder)
        for name in kernels:
            for suffix in (".py", ".cpp"):
                shutil.copy(REPOSITORY / "kernels" / f"{name}{suffix}", folder / "kernels")
        self.counters = folder.parent / f"{folder.name}_counters"
        self.counters.mkdir()
        compiler = self.counters / "c++"
        real = os.environ.get("CXX") or "c++"
        compiler.write_text(
            f'#!/bin/sh\ncase "$*" in *-shared*) echo >> "{self.counters}/compile";; esac\nexec {real} "$@"\n'
        )
        compiler.chmod(0o755)

    def path(self, name: str) -> Path:
        return self.folder / name

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command in the project; its `stdout` holds stderr too."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **PATH, "CXX": str(self.counters / "c++"), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    def doit(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "doit", *arguments, env=env)

    def script(
        self, name: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, f"kernels/{name}.py", *arguments, env=env)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces the one place in a file that reads `old`."""
        text = self.path(name).read_text()
        assert text.count(old) == 1, f"{name} holds {old!r} {text.count(old)} times"
        self.path(name).write_text(text.replace(old, new))

    def count_golden(self, name: str) -> None:
        """Makes the golden function of `kernels/<name>.py` count its calls."""
        file = self.path(f"kernels/{name}.py")
        lines = []
        for line in file.read_text().splitlines(keepends=True):
            lines.append(line)
            if line.startswith("def golden_"):
                lines.append(
                    f'    with open({str(self.counters / "golden")!r}, "a") as counter:\n        counter.write("\\n")\n'
                )
        file.write_text("".join(lines))

    def count(self, what: str) -> int:
        """How often `golden` or `compile` was called so far."""
        counter = self.counters / what
        return counter.read_text().count("\n") if counter.exists() else 0

    def files(self, folder: str = "build_output") -> dict[str, tuple[bytes, int]]:
        """Every file below a folder with its bytes and modification time, but for doit's state and digest memory."""
        return {
            str(path.relative_to(self.folder)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(self.path(folder).rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }


def stages_run(output: str) -> list[str]:
    """The stages that a `doit` call printed as run or failed, in order: `["inspect:matmul", ...]`."""
    return [line.split()[1] for line in output.splitlines() if line[:3] in (".  ", "F  ")]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh project with the `matmul` kernel alone, whose golden function counts its calls."""
    made = Project(tmp_path / "project", ("matmul",))
    made.count_golden("matmul")
    return made
