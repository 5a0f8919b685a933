"""`doit why`: the plan of the next doit, in its words; it makes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Project, stages_run

KERNEL, SOURCE = "kernels/matmul.py", "kernels/matmul.cpp"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("why") / "project", ("matmul", "rope"))
    done = made.doit()
    assert done.returncode == 0, done.stdout
    return made


@pytest.fixture
def replayed(shared: Project, tmp_path: Path) -> Project:
    """A project of two cases, all current, that the test may change."""
    copy = Project.__new__(Project)
    copy.folder = shutil.copytree(shared.folder, tmp_path / "project")
    copy.counters = shared.counters
    return copy


def plan(output: str) -> dict[str, str]:
    """Stage -> the first reason, of the one case that is told about."""
    lines = [line.split(None, 1) for line in output.splitlines() if line.startswith("    ")]
    return {words[0]: words[1] for words in lines if words[0] in ("inspect", *STAGES, "current")}


STAGES = ("golden", "compile", "execute", "validate", "capture")


def test_nothing_is_told_of_what_is_current(replayed: Project) -> None:
    done = replayed.doit("why")

    assert done.returncode == 0
    assert done.stdout == "2 cases: 2 current\n"


def test_a_tile_edit_is_told_with_its_values_and_its_line_and_what_may_be_cut_off(replayed: Project) -> None:
    replayed.edit(KERNEL, "TILE_M = 64", "TILE_M = 32")
    before = replayed.files(".")

    done = replayed.doit("why")

    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "matmul"
    line = replayed.path(KERNEL).read_text().splitlines().index("TILE_M = 32") + 1
    assert plan(done.stdout) == {
        "inspect": "kernels/matmul.py changed",
        "compile": f"TILE_M 64 -> 32 (kernels/matmul.py:{line})",
        "execute": "only if compile makes another binary",
        "validate": "only if execute makes other outputs",
        "current": "golden, capture",
    }
    assert done.stdout.endswith("2 cases: 1 stale, 1 current\n")
    assert replayed.files(".") == before


def test_the_words_are_those_that_the_run_prints(replayed: Project) -> None:
    replayed.edit(KERNEL, "TILE_M = 64", "TILE_M = 32")
    replayed.edit(SOURCE, "= c_tile[i][j];", "= c_tile[i][j] * 1.0f;")

    said = plan(replayed.doit("why").stdout)
    ran = replayed.doit().stdout

    for stage in ("inspect", "compile"):
        line = next(line for line in ran.splitlines() if f" {stage}:matmul " in line)
        assert said[stage] in line


def test_a_golden_edit_is_followed_to_the_snapshot(replayed: Project) -> None:
    replayed.edit(KERNEL, 'values["c"][:] = ', 'values["c"][:] = 1.0 * ')

    said = plan(replayed.doit("why", "matmul").stdout)

    assert said["golden"].startswith("golden_matmul changed (kernels/matmul.py:")
    assert said["execute"] == "only if golden makes other inputs"
    assert said["capture"] == "golden's snapshot, once a run has passed"
    assert said["current"] == "compile"


@pytest.mark.parametrize(
    ("gone", "stage", "reason"),
    [
        ("cpu/run.json", "execute", "build_output/matmul/cpu/run.json is gone"),
        ("cpu/runtime", "compile", "build_output/matmul/cpu/runtime/build.json is gone"),
        ("data", "golden", "build_output/matmul/data/manifest.json is gone"),
        ("cpu/replay/out/c.pt", "execute", "build_output/matmul/cpu/replay/out/c.pt is missing"),
    ],
)
def test_what_was_removed_is_named(replayed: Project, gone: str, stage: str, reason: str) -> None:
    path = replayed.path(f"build_output/matmul/{gone}")
    shutil.rmtree(path) if path.is_dir() else path.unlink()

    done = replayed.doit("why", "matmul")

    assert done.returncode == 1
    assert plan(done.stdout)[stage] == reason
    assert f" {stage}:matmul " in replayed.doit().stdout


def test_a_file_that_cannot_be_imported_is_told_and_the_rest_left_open(replayed: Project) -> None:
    with replayed.path(KERNEL).open("a") as file:
        file.write("\nraise ValueError('not today')\n")

    done = replayed.doit("why", "matmul")

    assert done.returncode == 1
    assert "fails: CASE_ERROR" in done.stdout and "ValueError: not today" in done.stdout
    assert "current  " not in done.stdout and "Traceback" not in done.stdout


def test_names_are_those_of_cases_platforms_and_tasks(replayed: Project) -> None:
    assert replayed.doit("why", "rope").stdout == "1 case: 1 current\n"
    assert "compile   never made" in replayed.doit("why", "matmul@torch").stdout
    assert replayed.doit("why", "golden:all").stdout == "2 cases: 2 current\n"

    unknown = replayed.doit("why", "matmull")

    assert unknown.returncode == 3
    assert "there is no task 'matmull'; did you mean replay:matmul" in unknown.stdout


def test_a_recorded_failure_is_told_though_nothing_would_run(replayed: Project) -> None:
    replayed.edit(SOURCE, "= c_tile[i][j];", "= c_tile[i][j] + 1;")
    assert "WRONG_VALUE" in replayed.doit().stdout

    done = replayed.doit("why", "matmul")

    assert done.returncode == 1
    assert "fails: WRONG_VALUE" in done.stdout


@pytest.mark.parametrize("dry", [True, False])
def test_prune_removes_what_a_renamed_case_has_left_but_its_snapshot(replayed: Project, dry: bool) -> None:
    replayed.edit("kernels/rope.py", '"rope",', '"rotary",')
    replayed.doit()
    before = replayed.files()

    done = replayed.doit("prune", *(["--dry-run"] if dry else []))

    assert done.returncode == 0, done.stdout
    assert ("would remove" if dry else "removed") + " build_output/rope/cpu" in done.stdout
    assert "kept build_output/rope/data, a published snapshot: doit prune rope removes it" in done.stdout
    left = {name for name in before if not name.startswith("build_output/rope/") or "/data/" in name}
    assert set(replayed.files()) == (set(before) if dry else left)
    assert stages_run(replayed.doit().stdout) == []


def test_prune_removes_a_snapshot_that_is_named_and_nothing_of_a_living_case(replayed: Project) -> None:
    replayed.path("kernels/rope.py").unlink()

    assert replayed.doit("prune", "rope").returncode == 0
    assert not replayed.path("build_output/rope").exists()

    for name, said in (("matmul", "is a case of kernels/matmul.py"), ("nothing", "holds nothing of a case 'nothing'")):
        done = replayed.doit("prune", name)
        assert done.returncode == 3 and said in done.stdout
    assert replayed.doit("prune").stdout == "nothing is left over\n"
    assert stages_run(replayed.doit().stdout) == []


def test_prune_removes_what_a_dropped_platform_has_left(replayed: Project) -> None:
    assert replayed.doit("replay:matmul@torch").returncode == 0
    text = replayed.path(KERNEL).read_text()
    start = text.index(', "torch":')
    replayed.path(KERNEL).write_text(text[:start] + text[text.index("}", start) :])

    done = replayed.doit("prune")

    assert done.stdout == "removed build_output/matmul/torch\n"
    assert replayed.path("build_output/matmul/cpu/verdict.json").exists()
