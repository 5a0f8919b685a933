"""doit is killed at random moments after edits: the next one shows what a run from nothing shows."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest
from small_project import SmallProject

KILLS = 5  # in a sequence
SEQUENCES = 10 if os.environ.get("CI") else 1  # each takes ten seconds and more
EDITS = {  # name -> (file, the text that is replaced, by what)
    "tile": ("kernels/first.py", "SIZE = 4", "SIZE = 8"),
    "golden": ("kernels/first.py", 'values["y"][:] = 2 * values["x"]', 'values["y"][:] = values["x"] + values["x"]'),
    "wrong golden": ("kernels/second.py", '= 2 * values["x"]', '= 3 * values["x"]'),
    "kernel": ("kernels/second.cpp", "y(i) = 2 * x(i)", "y(i) = x(i) * 2"),
    "wrong kernel": ("kernels/first.cpp", "y(i) = 2 * x(i)", "y(i) = 5 * x(i)"),
    "initial value": ("kernels/second.py", "torch.randn)", "torch.rand)"),
    "policy": ("kernels/first.py", '    tiles={"SIZE": SIZE},', '    tiles={"SIZE": SIZE}, rtol=1e-2,'),
}


def written(folder: Path) -> SmallProject:
    project = SmallProject(folder)
    project.case("first")
    project.case("second")
    return project


def verdicts(output: str) -> dict[str, str]:
    """Case -> its verdict in the table."""
    return dict(re.findall(r"^(\w+) +cpu +(\S+)", output, re.MULTILINE))


def shown(project: SmallProject, output: str, case: str) -> tuple[str, ...]:
    """A case's verdict in the table, and the digests of its outputs and of what they were held against."""
    path = project.path(f"build_output/{case}/cpu/verdict.json")
    made_from = json.loads(path.read_text())["made_from"]
    return verdicts(output)[case], made_from["outputs"], made_from["expected outputs"]


class FromNothing:
    """What a run from nothing shows of a case, for each state of its sources that is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, project: SmallProject, case: str) -> tuple[str, ...]:
        texts = [project.path(f"kernels/{case}.{end}").read_text() for end in ("py", "cpp")]
        if tuple(texts) not in self._known:
            fresh = SmallProject(self._folder / f"fresh{len(self._known)}")
            for end, text in zip(("py", "cpp"), texts, strict=True):
                fresh.path(f"kernels/{case}.{end}").write_text(text)
            self._known[tuple(texts)] = shown(fresh, fresh.doit().stdout, case)
        return self._known[tuple(texts)]


@pytest.fixture(scope="module")
def from_nothing(tmp_path_factory: pytest.TempPathFactory) -> FromNothing:
    return FromNothing(tmp_path_factory.mktemp("from_nothing"))


@pytest.mark.parametrize("sequence", range(SEQUENCES))
def test_after_a_kill_at_any_moment_the_next_doit_shows_what_a_run_from_nothing_shows(
    tmp_path: Path, from_nothing: FromNothing, sequence: int
) -> None:
    chance = random.Random(sequence)
    project = written(tmp_path / "project")
    start = time.monotonic()
    assert project.doit().returncode == 0
    longest = time.monotonic() - start
    for _ in range(KILLS):
        file, plain, edited = EDITS[chance.choice(list(EDITS))]
        text = project.path(file).read_text()
        project.path(file).write_text(text.replace(edited, plain) if edited in text else text.replace(plain, edited))
        doit = project.start(*chance.choice([(), ("-n", "2")]))
        time.sleep(chance.uniform(0, longest))
        os.kill(doit.pid, signal.SIGKILL)
        doit.communicate(timeout=60)

        done = project.doit()

        assert "Traceback" not in done.stdout
        for case in ("first", "second"):
            assert shown(project, done.stdout, case) == from_nothing.of(project, case), done.stdout
    assert project.left() == {} and project.remains() == []
