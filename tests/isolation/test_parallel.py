"""Several `doit` at once, and workers inside one: nothing is made twice, nothing is half made, the verdicts agree."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from conftest import stages_run
from small_project import SmallProject, wait_for


def verdicts(output: str) -> dict[str, str]:
    """Each case's verdict in the table that `doit` printed."""
    table = output[output.index("\ncase ") :]
    return dict(re.findall(r"^(\w+) +cpu +([A-Z_]+)", table, re.MULTILINE))


def without_times(output: str) -> tuple[list[str], str]:
    """What `doit` printed of its stages, in any order, and its table, both without times."""
    output = re.sub(r"\d{8}_\d{6}_\d{3}|\d+(\.\d+)? (us|ms|s)\b", "TIME", output)
    output = re.sub(" +", " ", output)
    stages, _, table = output.partition("\ncase ")
    return sorted(stages.splitlines()), table


def stamped(project: SmallProject, name: str) -> str:
    """Python code that stamps its beginning and its end into a counter."""
    counter = str(project.counters / name)
    stamp = f"open({counter!r}, 'a').write"
    return f"{stamp}('begin\\n'); time.sleep(0.05); {stamp}('end\\n')"


def stamp_compiler(project: SmallProject) -> None:
    """Makes the compiler stamp its beginning and its end into a counter for each case."""
    compiler = project.counters / "c++"
    real = compiler.read_text().splitlines()[-1].removeprefix("exec ")
    compiler.write_text(
        f"""#!/bin/sh
case "$*" in *-shared*) ;; *) exec {real};; esac
counter="{project.counters}/compile_$(basename "${{PWD%/cpu/*}}")"
echo begin >> "$counter"
{real}
status=$?
echo end >> "$counter"
exit $status
"""
    )


def test_two_doits_on_one_checkout_make_everything_once_and_agree(tmp_path: Path) -> None:
    project = SmallProject(tmp_path / "project")
    names = ("right", "wrong")
    for name in names:
        project.case(name, golden=stamped(project, f"golden_{name}"))
    source = project.path("kernels/wrong.cpp")
    source.write_text(source.read_text().replace("2 * x(i)", "3 * x(i)"))
    stamp_compiler(project)
    expected = {"right": "PASSED", "wrong": "WRONG_VALUE"}
    chance = random.Random(20261129)
    made = {f"{what}_{name}": 1 for what in ("golden", "compile") for name in names}

    for turn in range(20):
        if turn % 2:  # else nothing has changed since
            name = chance.choice(names)
            file = project.path(f"kernels/{name}.py")
            old = re.search(r"SIZE = (\d+)", file.read_text())[1]
            file.write_text(file.read_text().replace(f"SIZE = {old}", f"SIZE = {5 + turn}"))  # no earlier build fits
            made[f"golden_{name}"] += 1
            made[f"compile_{name}"] += 1
        one = project.start(*chance.choice([(), ("-n", "2")]))
        time.sleep(chance.uniform(0, 0.8))
        other = project.start(*chance.choice([(), ("-n", "2")]))
        outputs = [doit.communicate(timeout=60)[0] for doit in (one, other)]

        for output in outputs:
            assert verdicts(output) == expected, output
            assert "Traceback" not in output and "locked" not in output, output
        for counter, times in made.items():
            assert (project.counters / counter).read_text() == "begin\nend\n" * times, counter
        assert project.remains() == []

    assert stages_run(project.doit().stdout) == ["validate:wrong"]


def test_a_running_doit_does_not_lock_the_state_for_others(tmp_path: Path) -> None:
    project = SmallProject(tmp_path / "project")
    project.case("raises", golden="raise RuntimeError('no reference')")
    project.case("sleeps", golden="open('asleep', 'w').close(); time.sleep(60)")
    doit = project.start("golden:raises", "golden:sleeps")
    wait_for(project.path("asleep").exists)

    with closing(sqlite3.connect(project.path("build_output/.doit.sqlite3"), timeout=0)) as state:
        state.execute("begin immediate")

    doit.terminate()
    assert "GOLDEN_ERROR" in doit.communicate(timeout=30)[0]


def test_workers_change_nothing_that_is_printed_after_an_edit(tmp_path: Path) -> None:
    project = SmallProject(tmp_path / "project")
    for name in ("first", "second", "third"):
        project.case(name)
    project.doit("-n", "2")
    project.edit("kernels/first.py", '"SIZE": SIZE', '"SIZE": 2 * SIZE')
    project.edit("kernels/second.py", '2 * values["x"]', 'values["x"] + values["x"]')
    project.edit("kernels/third.cpp", "2 * x(i)", "3 * x(i)")
    printed = []
    for arguments in ((), ("-n", "2")):
        copy = SmallProject(tmp_path / f"copy{len(arguments)}")
        shutil.copytree(project.folder, copy.folder, dirs_exist_ok=True)
        copy.environment["CXX"] = project.environment["CXX"]
        done = copy.doit(*arguments)
        printed.append((done.returncode, *without_times(done.stdout)))

    assert printed[0] == printed[1]
    assert "SIZE 4 -> 8" in str(printed[0]) and "WRONG_VALUE" in str(printed[0])


DEVICE = """\
import time
from pathlib import Path

from golden_tasks.backends.cpu import CpuBackend


class FakeDeviceBackend(CpuBackend):
    \"\"\"A device that only one run may use at a time; each run lasts until the file `go` is there.\"\"\"

    name = "fake_device"
    platforms = ("fake_device",)
    leases_devices = True
    usual_guards = ()

    def execute(self, work_dir, build, values, device):
        folder = Path(__file__).parent
        with open(folder / "runs", "a") as runs:
            print("begin", file=runs, flush=True)
            while not (folder / "go").exists():
                time.sleep(0.01)
            seconds = super().execute(work_dir, build, values, device)
            print("end", file=runs)
        return seconds
"""


def test_runs_on_one_device_follow_each_other_while_everything_else_goes_on(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    information = plugin / "fake_device-1.0.dist-info"
    information.mkdir(parents=True)
    (plugin / "fake_device.py").write_text(DEVICE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: fake_device\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[golden_tasks.backends]\nfake_device = fake_device:FakeDeviceBackend\n"
    )
    projects = [SmallProject(tmp_path / name) for name in ("one", "other")]
    for project in projects:
        project.environment["PYTHONPATH"] = str(plugin)
        for name in ("first", "second"):
            project.case(name)
            project.edit(f"kernels/{name}.py", '{"cpu":', '{"fake_device":')

    doits = [project.start("-n", "2") for project in projects]
    for project in projects:
        for name in ("first", "second"):
            wait_for(project.path(f"build_output/{name}/pending/manifest.json").exists)
            wait_for(project.path(f"build_output/{name}/fake_device/runtime/build.json").exists)
    wait_for((plugin / "runs").exists)
    time.sleep(0.3)
    begun = (plugin / "runs").read_text()
    (plugin / "go").touch()
    outputs = [doit.communicate(timeout=60)[0] for doit in doits]

    assert begun == "begin\n"
    assert all("2 cases: 2 passed" in output for output in outputs), outputs
    assert (plugin / "runs").read_text() == "begin\nend\n" * 4
