"""Ctrl-C, SIGTERM and SIGKILL for doit and its workers: no process stays, and the next `doit` goes on from there."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from small_project import SmallProject, wait_for

SLEEP = "open('asleep', 'w').close(); time.sleep(60)"
MODES = {"one process": (), "two workers": ("-n", "2")}


@pytest.fixture
def project(tmp_path: Path) -> SmallProject:
    made = SmallProject(tmp_path / "project")
    made.case("first")
    made.case("second")
    return made


def interrupt(doit: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Sends a signal as a terminal or a supervisor would, and returns the exit status and the output."""
    if doit.poll() is None:
        (os.killpg if number == signal.SIGINT else os.kill)(doit.pid, number)
    output, _ = doit.communicate(timeout=30)
    return doit.returncode, output


@pytest.mark.parametrize("arguments", MODES.values(), ids=MODES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["golden", "compile"])
def test_an_interrupted_stage_ends_at_once_and_leaves_nothing(
    project: SmallProject, stage: str, number: signal.Signals, arguments: tuple[str, ...]
) -> None:
    if stage == "golden":
        project.case("first", golden=f"subprocess.Popen(['sleep', '60']); {SLEEP}")
    else:
        compiler = Path(project.environment["CXX"])
        compiler.write_text(compiler.read_text().replace(";;", f"; touch {project.path('asleep')}; sleep 60;;"))
    doit = project.start(*arguments, f"{stage}:*")
    wait_for(project.path("asleep").exists)

    status, output = interrupt(doit, number)

    assert status == 130, output
    assert "interrupted" in output and "Traceback" not in output
    assert project.left() == {}
    assert project.remains() == []


def test_an_interrupt_is_told_on_the_terminal_though_the_output_goes_to_a_file(project: SmallProject) -> None:
    project.case("first", golden=SLEEP)
    doit = project.start("-o", "output", "golden:first")
    wait_for(project.path("asleep").exists)

    status, output = interrupt(doit, signal.SIGINT)

    assert status == 130 and output.startswith("interrupted: "), output
    assert "inspect:first" in project.path("output").read_text()


@pytest.mark.parametrize("arguments", MODES.values(), ids=MODES)
def test_a_killed_doit_leaves_no_process_and_the_next_one_mends_what_it_left(
    project: SmallProject, arguments: tuple[str, ...]
) -> None:
    project.case("first", golden=f"if not os.path.exists('asleep'): {SLEEP}")
    doit = project.start(*arguments)
    wait_for(project.path("asleep").exists)

    interrupt(doit, signal.SIGKILL)
    left = project.left()
    done = project.doit(*arguments)

    assert left == {}
    assert done.returncode == 0 and "2 cases: 2 passed" in done.stdout, done.stdout
    assert project.remains() == []


@pytest.mark.parametrize("which", [0, 1], ids=["first started", "second started"])
@pytest.mark.parametrize("stage", ["golden", "compile"])
def test_a_killed_worker_ends_the_run_which_says_so_and_the_next_one_mends_what_it_left(
    project: SmallProject, stage: str, which: int
) -> None:
    if stage == "golden":
        project.case("first", golden=f"if not os.path.exists('asleep'): subprocess.Popen(['sleep', '60']); {SLEEP}")
    else:
        compiler = Path(project.environment["CXX"])
        asleep = project.path("asleep")
        compiler.write_text(
            compiler.read_text().replace(";;", f"; [ -e {asleep} ] || {{ touch {asleep}; sleep 60; }};;")
        )
    doit = project.start("-n", "2")
    wait_for(project.path("asleep").exists)
    wait_for(lambda: [*project.path("build_output").glob("*/data/manifest.json")])  # from now on one worker is idle
    processes = project.processes()
    workers = sorted(pid for pid, line in processes.items() if line == processes[doit.pid] and pid != doit.pid)

    os.kill(workers[which], signal.SIGKILL)
    output, _ = doit.communicate(timeout=30)
    left = project.left()
    done = project.doit("-n", "2")

    assert len(workers) == 2
    assert doit.returncode == 2, output
    assert "a worker of doit was ended by SIGKILL from outside: " in output and "Traceback" not in output
    assert re.search(r"^\w+ +cpu +- +not judged in this run$", output, re.MULTILINE)
    assert left == {}
    assert done.returncode == 0 and "2 cases: 2 passed" in done.stdout, done.stdout
    assert project.remains() == []


@pytest.mark.parametrize("sequence", range(4))
def test_after_an_interrupt_at_any_moment_the_next_doit_ends_with_the_right_verdicts(
    project: SmallProject, sequence: int
) -> None:
    chance = random.Random(20261129 + sequence)
    for turn in range(5):
        number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
        for name in ("first", "second"):
            file = project.path(f"kernels/{name}.py")
            file.write_text(re.sub(r"SIZE = \d", f"SIZE = {chance.choice([4, 5])}", file.read_text()))
        doit = project.start(*chance.choice([*MODES.values()]))
        time.sleep(chance.uniform(0.05, 1.8))

        status, output = interrupt(doit, number)

        assert status in (0, 130, -number), output
        assert status != 0 or "2 cases: 2 passed" in output
        assert project.left() == {}
        assert project.remains() == []

    done = project.doit()

    assert done.returncode == 0, done.stdout
    assert "2 cases: 2 passed" in done.stdout
