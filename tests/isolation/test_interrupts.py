"""Ctrl-C and SIGTERM: no process and no half-made artefact stays, and the next `doit` goes on from there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Project


def processes_of(project: Project) -> list[str]:
    """The command lines of all processes that work in the project's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(project.folder):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def interrupt(project: Project, after: float, number: signal.Signals, *arguments: str) -> tuple[int, str]:
    """Runs `doit`, sends a signal as a terminal or a supervisor would, and returns the exit status and the output."""
    doit = subprocess.Popen(
        [sys.executable, "-m", "doit", *arguments],
        cwd=project.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(after)
    if doit.poll() is None:
        if number == signal.SIGINT:
            os.killpg(doit.pid, number)
        else:
            doit.send_signal(number)
    output, _ = doit.communicate(timeout=30)
    return doit.returncode, output


def settled(project: Project) -> list[str]:
    """The project's processes once two seconds have passed, or none is left."""
    deadline = time.monotonic() + 2
    while (left := processes_of(project)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_golden_ends_at_once_and_leaves_nothing(
    project: Project, number: signal.Signals, workers: tuple[str, ...]
) -> None:
    project.edit("kernels/matmul.py", 'values["c"][:] =', 'import time; time.sleep(60); values["c"][:] =')

    status, output = interrupt(project, 4.0, number, *workers)

    assert status == 130, output
    assert "interrupted" in output and "Traceback" not in output
    assert settled(project) == []
    assert not list(project.path("build_output").rglob("*.new"))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_after_an_interrupt_at_any_moment_the_next_doit_ends_with_the_right_verdicts(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    project = Project(tmp_path / "project", ("matmul", "rope"))
    moments = random.Random(20261129)
    for number in [signal.SIGINT, signal.SIGTERM] * 5:
        status, output = interrupt(project, moments.uniform(0.05, 3.0), number, *workers)
        assert status in (0, 130, -number), output
        assert settled(project) == []
        if moments.random() < 0.5:
            tile = "TILE_M = 64" if "TILE_M = 64" in project.path("kernels/matmul.py").read_text() else "TILE_M = 32"
            other = "TILE_M = 32" if tile.endswith("64") else "TILE_M = 64"
            project.edit("kernels/matmul.py", tile, other)

    done = project.doit(*workers)

    assert done.returncode == 0, done.stdout
    assert "2 cases: 2 passed" in done.stdout
    assert not list(project.path("build_output").rglob("*.new"))
