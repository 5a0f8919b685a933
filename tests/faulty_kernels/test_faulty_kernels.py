"""Every faulty kernel of this folder is caught, by its status and the words that a developer needs; sound ones pass."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Project
from faults import FAULTS, SOUND, Fault, table

HERE = Path(__file__).resolve().parent
GUARDS = ("inputs", "written", "bounds", "repeat")


@dataclass
class Told:
    """What one `doit` said of a case: its status in the table, and all of its lines, with single blanks."""

    status: str
    message: str


@dataclass
class Done:
    """One `doit` over all cases of this folder, in a project of its own."""

    folder: Path
    status: int
    output: str
    told: dict[str, Told]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The one run of a session: workers of pytest-xdist share it, and wait until the first of them has made it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, result = shared / "faulty_kernels" / "project", shared / "faulty_kernels.json"
    with (shared / "faulty_kernels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            project = Project(folder, ())
            shutil.copytree(HERE / "kernels", folder / "kernels", dirs_exist_ok=True)
            ran = project.doit("-n", "2")
            result.write_text(json.dumps([ran.returncode, ran.stdout]))
    status, output = json.loads(result.read_text())
    return Done(folder, status, output, _told(output))


@pytest.mark.parametrize("case", SOUND)
def test_a_sound_kernel_passes_with_every_guard(case: str, done: Done) -> None:
    assert done.told[case].status == "PASSED", done.told[case].message
    assert set(_guards(done, case).values()) == {"on"}


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.case for fault in FAULTS])
def test_a_faulty_kernel_is_caught_and_its_bug_is_told(fault: Fault, done: Done) -> None:
    told = done.told[fault.case]

    assert told.status == fault.status, told.message
    for record in (done.folder / "build_output" / fault.case).glob("*/verdict.json"):
        assert json.loads(record.read_text())["status"] == fault.status
    unsaid = [words for words in fault.says if words not in told.message]
    assert not unsaid, f"not said: {unsaid}\n{told.message}"


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.case for fault in FAULTS])
def test_a_faulty_kernel_publishes_nothing_and_says_how_to_repeat_it(fault: Fault, done: Done) -> None:
    assert not (done.folder / "build_output" / fault.case / "data").exists()
    assert fault.status == "MISTRUSTED" or "\nrepeat: " in done.told[fault.case].message


def test_one_run_judges_every_case_and_fails(done: Done) -> None:
    assert set(done.told) == {fault.case for fault in FAULTS} | set(SOUND)
    assert done.status != 0
    cases = f"{len(FAULTS) + len(SOUND)} cases: {len(SOUND)} passed, {len(FAULTS)} failed"
    assert cases in done.output, done.output.splitlines()[-1]


def test_every_faulty_kernel_stands_beside_a_sound_one_in_the_same_file() -> None:
    files = {
        name: file.name
        for file in (HERE / "kernels").glob("*.py")
        for name in re.findall(r'\bCase\(\s*"(\w+)"', file.read_text())
    }

    assert {fault.case: files[fault.case] for fault in FAULTS} == {fault.case: files[fault.beside] for fault in FAULTS}
    assert {fault.beside for fault in FAULTS} <= SOUND.keys()


def test_the_readme_holds_the_table_as_it_is() -> None:
    assert (HERE / "README.md").read_text().endswith(f"\n{table()}")


def _guards(done: Done, case: str) -> dict[str, str]:
    """What a case's run record says of each guard that its platform has."""
    (record,) = (done.folder / "build_output" / case).glob("*/run.json")
    guards = json.loads(record.read_text())["guards"]
    assert record.parent.name != "cpu" or set(guards) == set(GUARDS)
    return {name: said for name, said in guards.items() if said != "off: not possible for this build"}


def _told(output: str) -> dict[str, Told]:
    """Each case's status and lines in the table of verdicts, and what was printed when a stage of it failed."""
    told: dict[str, Told] = {}
    case = ""
    for line in output[output.index("\ncase ") :].splitlines()[2:]:
        if line.startswith("    "):
            told[case].message += f"\n{_plain(line)}"
        elif len(cells := line.split()) > 2 and cells[1] in ("cpu", "torch"):
            case = cells[0]
            told[case] = Told(cells[2], _plain(line))
    for name, printed in re.findall(r"^F  \w+:(\w+) (.*\n(?:       .*\n)*)", output, re.MULTILINE):
        told[name].message += f"\n{_plain(printed)}"
    return told


def _plain(text: str) -> str:
    return re.sub(r" +", " ", text).strip()
