"""Projects of small cases that misbehave: each is `y = 2 * x` with some code of its own somewhere in it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from conftest import PATH, Project

KERNEL = """\
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
{include}
#include "golden_tasks.h"

void {name}(gt::Tensor<const float, 1> x, gt::Tensor<float, 1> y) {{
    {code}
    for (int i = 0; i < y.shape[0]; ++i) y(i) = 2 * x(i);
}}
"""
CASE = """\
import ctypes
import os
import subprocess
import sys
import time

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE = 4
{module}


def build_specs():
    {specs}
    x = TensorSpec("x", (SIZE,), torch.float32, torch.randn)
    return [x, TensorSpec("y", (SIZE,), torch.float32, is_output=True)]


def golden_{name}(values):
    {golden}
    values["y"][:] = 2 * values["x"]


def double(x, y, *, SIZE):
    y[:] = x + x


case = Case(
    "{name}",
    specs=build_specs,
    golden=golden_{name},
    programs={{{program}}},
    tiles={{"SIZE": SIZE}},
    {limits}
)

if __name__ == "__main__":
    case.main()
"""
PROGRAMS = {"cpu": '"cpu": CppKernel("{name}.cpp", function="{name}")', "torch": '"torch": double'}


Found = TypeVar("Found")


def wait_for(find: Callable[[], Found], seconds: float = 30.0) -> Found:
    """What `find` returns once it finds it: until then it raises an error, or returns nothing."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, LookupError, ValueError):
            if found := find():
                return found
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class SmallProject(Project):
    """A project whose cases are written by the test, with a folder for temporary files of its own."""

    def __init__(self, folder: Path, config: str = "") -> None:
        super().__init__(folder, ())
        self.edit("dodo.py", 'kernels="kernels/*.py"', f'kernels="kernels/*.py", {config}')
        self.temporary = folder.parent / f"{folder.name}_tmp"
        self.temporary.mkdir()
        self.environment = {
            **os.environ,
            **PATH,
            "CXX": str(self.counters / "c++"),
            "TMPDIR": str(self.temporary),
        }

    def case(
        self,
        name: str,
        *,
        kernel: str = "",
        golden: str = "",
        specs: str = "",
        module: str = "",
        limits: str = "",
        platform: str = "cpu",
    ) -> None:
        """Writes a case for one platform, `cpu` or `torch`; each text but that is code for a place in it."""
        text = CASE.format(
            name=name,
            module=module,
            specs=specs or "pass",
            golden=golden or "pass",
            program=PROGRAMS[platform].format(name=name),
            limits=limits and f"{limits},",
        )
        self.path(f"kernels/{name}.py").write_text(text)
        include = "#include <thread>" if "std::thread" in kernel else ""
        self.path(f"kernels/{name}.cpp").write_text(KERNEL.format(name=name, code=kernel, include=include))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts `doit` as a terminal or a supervisor would: in a process group of its own, Ctrl-C not ignored."""
        return subprocess.Popen(
            [sys.executable, "-m", "doit", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def doit(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return super().doit(*arguments, env={**self.environment, **(env or {})})

    def processes(self) -> dict[int, str]:
        """All processes that work in the project's folder: their command lines by id."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink().is_relative_to(self.folder):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def left(self, seconds: float = 2.0) -> dict[int, str]:
        """The project's processes once two seconds have passed, or none is left."""
        deadline = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def remains(self) -> list[str]:
        """What no run may leave behind: half-made artefacts and temporary files of ours."""
        half = [p for end in ("new", "old", "result") for p in self.path("build_output").rglob(f"*.{end}")]
        return [str(path) for path in [*half, *self.temporary.glob("golden_tasks*")]]
