"""What `doit` runs, makes, prints and refuses, from a fresh project on."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest
from conftest import Project, stages_run

STAGES = ["inspect:matmul", "golden:matmul", "compile:matmul", "execute:matmul", "validate:matmul", "capture:matmul"]


@pytest.fixture
def replayed(project: Project) -> Project:
    """A project whose case has been replayed once."""
    done = project.doit()
    assert done.returncode == 0, done.stdout
    return project


def test_a_fresh_replay_runs_every_stage_once_and_shows_a_passed_verdict(project: Project) -> None:
    done = project.doit("replay:matmul")

    assert done.returncode == 0
    assert sorted(stages_run(done.stdout)) == sorted(STAGES)
    assert "never made" in done.stdout
    assert [line.split()[:3] for line in done.stdout.splitlines() if "cpu" in line] == [["matmul", "cpu", "PASSED"]]
    assert "1 case: 1 passed; 1 replayed, 0 current" in done.stdout
    assert (project.count("golden"), project.count("compile")) == (1, 1)


def test_nothing_runs_and_nothing_is_touched_when_all_is_current(replayed: Project) -> None:
    before = replayed.files()

    done = replayed.doit()

    assert done.returncode == 0
    assert stages_run(done.stdout) == []
    assert "1 case: 1 passed; 0 replayed, 1 current" in done.stdout
    assert replayed.files() == before


def test_a_run_with_nothing_to_do_imports_neither_torch_nor_a_kernel(replayed: Project) -> None:
    done = replayed.doit(env={"PYTHONPROFILEIMPORTTIME": "1"})

    imported = {line.rpartition("|")[2].strip() for line in done.stdout.splitlines() if line.startswith("import time:")}
    assert "golden_tasks.graph.tasks" in imported
    assert not imported & {"torch", "numpy", "matmul", "golden_tasks.case", "golden_tasks.isolation.child"}
    assert stages_run(done.stdout) == []


def test_compile_makes_a_build_and_no_snapshot(project: Project) -> None:
    done = project.doit("compile:matmul")

    assert done.returncode == 0
    assert stages_run(done.stdout) == ["inspect:matmul", "compile:matmul"]
    assert project.path("build_output/matmul/cpu/runtime/build.json").exists()
    assert not project.path("build_output/matmul/pending").exists()
    assert "verdict" not in done.stdout


def test_golden_needs_no_build_and_leaves_a_pending_snapshot(project: Project) -> None:
    done = project.doit("golden:matmul")

    assert stages_run(done.stdout) == ["inspect:matmul", "golden:matmul"]
    names = {
        str(p.relative_to(project.path("build_output/matmul"))) for p in project.path("build_output").rglob("*.pt")
    }
    assert names == {"pending/in/a.pt", "pending/in/b.pt", "pending/out/c.pt"}
    assert project.count("compile") == 0


def test_validate_judges_and_publishes_nothing(project: Project) -> None:
    done = project.doit("validate:matmul")

    assert done.returncode == 0
    assert "PASSED" in done.stdout
    assert project.path("build_output/matmul/pending/manifest.json").exists()
    assert not project.path("build_output/matmul/data").exists()


def test_capture_publishes_the_pending_snapshot_without_running_anything(project: Project) -> None:
    project.doit("validate:matmul")
    pending = {p.name: p.read_bytes() for p in project.path("build_output/matmul/pending").rglob("*.pt")}

    done = project.doit("capture:matmul")

    assert stages_run(done.stdout) == ["capture:matmul"]
    published = {p.name: p.read_bytes() for p in project.path("build_output/matmul/data").rglob("*.pt")}
    assert published == pending
    assert not project.path("build_output/matmul/pending").exists()


def test_groups_reach_every_case_and_list_shows_each_with_a_sentence(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", ("matmul", "rope"))

    done = project.doit("capture:all")
    listed = project.doit("list").stdout

    assert done.returncode == 0
    assert "2 cases: 2 passed" in done.stdout
    for verb in ("inspect", "golden", "compile", "execute", "validate", "capture", "replay"):
        for label in ("matmul", "rope", "all"):
            line = next(line for line in listed.splitlines() if line.split()[0] == f"{verb}:{label}")
            assert line.rstrip().endswith(".") and len(line.split()) > 4


def test_the_graph_of_records_shows_in_list_deps(replayed: Project) -> None:
    shown = replayed.doit("list", "--deps", "validate:matmul").stdout

    assert "build_output/matmul/cpu/run.json" in shown


def test_a_snapshot_is_readable_with_plain_torch_load(replayed: Project) -> None:
    import torch

    folder = replayed.path("build_output/matmul/data")
    a, b, c = (torch.load(folder / name, weights_only=True) for name in ("in/a.pt", "in/b.pt", "out/c.pt"))

    assert torch.allclose(a @ b, c, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lost", ["state", "copied", "always"])
def test_no_golden_is_called_again(replayed: Project, tmp_path: Path, lost: str) -> None:
    """Not when doit's state is lost, not in a copy of the project, and not under `doit -a`."""
    arguments: tuple[str, ...] = ()
    if lost == "state":
        for path in replayed.path("build_output").glob(".d*"):
            path.unlink()
    elif lost == "copied":
        shutil.copytree(replayed.folder, tmp_path / "copy", copy_function=shutil.copy)
        replayed.folder = tmp_path / "copy"
    else:
        arguments = ("-a",)
    snapshot = replayed.files("build_output/matmul/data")

    done = replayed.doit(*arguments)

    assert done.returncode == 0, done.stdout
    assert replayed.count("golden") == 1
    assert replayed.files("build_output/matmul/data") == snapshot
    if lost == "always":
        assert {"execute:matmul", "validate:matmul"} <= set(stages_run(done.stdout))
        assert "golden:matmul" not in stages_run(done.stdout)
    else:
        assert stages_run(done.stdout) == []


def test_parallel_doit_gives_the_same_verdicts_and_reasons(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", ("matmul", "rope", "softmax"))

    done = project.doit("-n", "2")

    assert done.returncode == 0, done.stdout
    assert "3 cases: 3 passed; 3 replayed, 0 current" in done.stdout
    assert len(stages_run(done.stdout)) == 18
    assert stages_run(project.doit().stdout) == []


def test_an_unknown_task_offers_the_nearest_names(project: Project) -> None:
    done = project.doit("replay:matmull")

    assert done.returncode != 0
    assert "there is no task 'replay:matmull'; did you mean replay:matmul" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_pattern_that_matches_nothing_is_an_error(project: Project) -> None:
    done = project.doit("replay:soft*")

    assert done.returncode != 0
    assert "no task matches the pattern 'replay:soft*'" in done.stdout


def test_a_platform_without_a_backend_is_skipped_and_never_counts_as_passed(project: Project) -> None:
    project.edit("kernels/matmul.py", 'programs={"cpu":', 'programs={"a2a3sim": "matmul_pypto:matmul", "cpu":')

    default = project.doit()
    named = project.doit("replay:matmul@a2a3sim")

    assert default.returncode == 0, default.stdout
    assert named.returncode != 0
    assert "SKIPPED" in named.stdout and "0 passed" in named.stdout
    assert "Traceback" not in named.stdout


def test_options_after_the_names_are_refused_with_the_command_that_was_meant(project: Project) -> None:
    done = project.doit("replay:matmul", "-n", "2")

    assert done.returncode != 0
    assert "options come before the names of tasks: doit -n 2 replay:matmul" in done.stdout
    assert not project.path("build_output/matmul").exists()


LOOKED_AT = """
import os, sys
import golden_tasks
from golden_tasks.graph import Project

project = Project()
list(project.tasks())
looked, noted = set(), set()
stat = os.stat
os.stat = lambda path, *a, **k: (looked.add(os.fsdecode(path)), stat(path, *a, **k))[1]
sys.addaudithook(lambda event, a: looked.add(os.fsdecode(a[0])) if event in ("open", "os.listdir", "os.scandir") else 0)
project.memory.settle = lambda question, seen: noted.update(seen.files)
project.toolchain("cpu")
looked.clear()
for name, stage in project.stages.items():
    if "@" not in name:
        assert stage(), stage.reason
package = os.path.dirname(golden_tasks.__file__)  # its files are noted all at once, for all questions
print(sorted(path for path in looked - noted if not path.startswith(package)), len(noted))
"""


def test_all_that_tells_whether_a_stage_is_current_is_noted_for_the_next_run(replayed: Project) -> None:
    replayed.doit("teeth:matmul")
    replayed.path("build_output/.memory.json").unlink(missing_ok=True)  # or what is settled there is noted no more
    done = replayed.run(sys.executable, "-c", LOOKED_AT)

    left_out, noted = done.stdout.rsplit(None, 1)
    assert left_out == "[]", done.stdout
    assert int(noted) > 15


def test_a_case_that_moves_to_another_file_is_looked_at_again(replayed: Project) -> None:
    time.sleep(2.1)  # now what is found is old enough to be settled
    assert stages_run(replayed.doit().stdout) == []
    folder = replayed.path("other")
    shutil.copytree(replayed.path("kernels"), folder)
    (folder / "matmul.py").write_text((folder / "matmul.py").read_text().replace("TILE_M = 64", "TILE_M = 32"))
    replayed.edit("dodo.py", "kernels/*.py", "other/*.py")

    done = replayed.doit()

    assert "inspect:matmul" in stages_run(done.stdout) and "compile:matmul" in stages_run(done.stdout)
    assert "TILE_M 64 -> 32 (other/matmul.py:8)" in done.stdout


@pytest.mark.parametrize("state", ["with doit's state", "without it"])
def test_work_that_was_moved_to_another_folder_with_other_times_is_current(
    replayed: Project, tmp_path: Path, state: str
) -> None:
    assert replayed.doit("replay:matmul@torch").returncode == 0
    moved = Project.__new__(Project)
    moved.folder, moved.counters = tmp_path / "else where" / "clone", replayed.counters
    shutil.copytree(replayed.folder, moved.folder, copy_function=shutil.copy)
    if state == "without it":
        for path in moved.path("build_output").glob(".*"):
            path.unlink()
    before = moved.files()

    why = moved.doit("why", "matmul", "matmul@torch")
    done = moved.doit("replay:matmul", "replay:matmul@torch")

    assert why.stdout == "2 cases: 2 current\n"
    assert done.returncode == 0 and stages_run(done.stdout) == []
    assert moved.files() == before


@pytest.mark.parametrize("command", [("-a", "replay:matmul"), ("why", "matmul"), ("prune",)], ids=" ".join)
def test_output_that_no_one_reads_ends_a_command_quietly(replayed: Project, command: tuple[str, ...]) -> None:
    replayed.edit("kernels/matmul.py", "TILE_M = 64", "TILE_M = 32")
    doit = shlex.join([sys.executable, "-m", "doit", *command])

    done = replayed.run("bash", "-c", f"{{ {doit} 2>&3; echo status $? >&3; }} 3>&2 | true")

    assert "Traceback" not in done.stdout and "Exception" not in done.stdout
    assert re.search(r"status (0|1|141)$", done.stdout.strip()), done.stdout
