"""A kernel's own script: its command line as users type it, and snapshots that another harness wrote."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from conftest import Project

from golden_tasks import Case, TensorSpec, add_arguments

SNAPSHOTS = Path(__file__).parent / "data" / "snapshots"
GOLDEN = 'values["c"][:] = values["a"] @ values["b"]'


@pytest.fixture(autouse=True)
def no_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOLDEN_SAVE_DATA", "GOLDEN_DATA", "GOLDEN_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)


class Saved(NamedTuple):
    """A project whose matmul was run once with `--save-data`."""

    project: Project
    done: subprocess.CompletedProcess[str]
    data: str  # as `find build_output -type d -name data -print` prints it

    @property
    def work_dir(self) -> str:
        return self.data.removesuffix("/data")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Shared by all tests: none changes its snapshot or its build."""
    project = Project(tmp_path_factory.mktemp("saved") / "project", ("matmul",))
    project.count_golden("matmul")
    done = project.script("matmul", "-p", "cpu", "-d", "0", "--save-data")
    found = project.run("find", "build_output", "-type", "d", "-name", "data", "-print")
    return Saved(project, done, found.stdout.strip())


class Counts:
    """What golden and compiler were called for since this was made."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._before = self._now()

    def _now(self) -> tuple[int, int]:
        return self._project.count("golden"), self._project.count("compile")

    def since(self) -> dict[str, int]:
        golden, compiled = (now - was for now, was in zip(self._now(), self._before, strict=True))
        return {"golden": golden, "compile": compiled}


@pytest.fixture
def matmul(saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Case]:
    """The case of a copy of the project, with an edit in its Python file; called in this process."""
    folder = tmp_path / "copy"
    for part in ("kernels", saved.work_dir):
        shutil.copytree(saved.project.path(part), folder / part)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CXX", str(saved.project.counters / "c++"))

    def load(old: str = "", new: str = "") -> Case:
        file = folder / "kernels/matmul.py"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        spec = spec_from_file_location("matmul_in_a_copy", file)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "matmul_in_a_copy", module)
        spec.loader.exec_module(module)
        case: Case = module.case
        return case

    return load


def exit_code(case: Case, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        case.main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


# save, replay


def test_save_data_freezes_a_passing_run_in_one_data_folder(saved: Saved) -> None:
    assert saved.done.returncode == 0, saved.done.stdout
    assert saved.data.startswith("build_output/matmul_") and "\n" not in saved.data
    assert "[RUN]   'c' PASS  shape=(256, 256) dtype=torch.float32" in saved.done.stdout
    assert sorted(saved.project.files(saved.data)) == [
        f"{saved.data}/{name}" for name in ("in/a.pt", "in/b.pt", "manifest.json", "out/c.pt")
    ]


def test_golden_data_replays_it_and_calls_no_golden(saved: Saved) -> None:
    project, data, counts = saved.project, saved.data, Counts(saved.project)
    before = project.files(data)

    done = project.script("matmul", "--golden-data", data)

    assert done.returncode == 0, done.stdout
    assert f"[RUN]   cache hit: {data}/in\n[RUN]   cache hit: {data}/out\n" in done.stdout
    assert "generate inputs" not in done.stdout and "compute golden" not in done.stdout
    assert "[RUN]   'c' PASS" in done.stdout
    assert counts.since() == {"golden": 0, "compile": 1}
    assert project.files(data) == before


def test_runtime_dir_runs_the_build_and_compiles_nothing(saved: Saved) -> None:
    project, counts = saved.project, Counts(saved.project)
    before = project.files(saved.work_dir)

    done = project.script("matmul", "--runtime-dir", saved.work_dir)

    assert done.returncode == 0, done.stdout
    assert f"[RUN] runtime_only: skipping compile, using {saved.work_dir}\n" in done.stdout
    assert "[cpp->.so] no cpp edits since last build; reusing cached binaries" in done.stdout
    assert "[RUN]   'c' PASS" in done.stdout
    assert counts.since() == {"golden": 1, "compile": 0}
    assert project.files(saved.work_dir) == before


def test_both_together_only_run_the_kernel_and_compare(saved: Saved) -> None:
    project, counts = saved.project, Counts(saved.project)
    before = project.files()

    done = project.script("matmul", "--golden-data", saved.data, "--runtime-dir", saved.work_dir)

    assert done.returncode == 0, done.stdout
    assert re.sub(r" \(\d+\.\d\ds\)", "", done.stdout).splitlines() == [
        f"[RUN] runtime_only: skipping compile, using {saved.work_dir}",
        "[cpp->.so] no cpp edits since last build; reusing cached binaries",
        f"[RUN]   cache hit: {saved.data}/in",
        f"[RUN]   cache hit: {saved.data}/out",
        "[RUN] runtime ...",
        "[RUN] runtime done",
        "[RUN] validate ...",
        "[RUN]   'c' PASS  shape=(256, 256) dtype=torch.float32",
        "[RUN] validate done",
        "[RUN] PASS",
    ]
    assert counts.since() == {"golden": 0, "compile": 0}
    assert project.files() == before


def test_a_missing_file_ends_the_script_with_1_and_is_named(saved: Saved, tmp_path: Path) -> None:
    data = Path(shutil.copytree(saved.project.path(saved.data), tmp_path / "data"))
    (data / "in/b.pt").unlink()

    done = saved.project.script("matmul", "--golden-data", str(data), "--runtime-dir", saved.work_dir)

    assert done.returncode == 1
    assert f"golden_data is missing files: ['{data}/in/b.pt']" in done.stdout


@pytest.mark.parametrize("name", ["in/a.pt", "in/b.pt", "out/c.pt"])
def test_every_file_of_a_snapshot_is_required(
    name: str, saved: Saved, matmul: Callable[..., Case], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(saved.data, name).unlink()

    assert exit_code(matmul(), "--golden-data", saved.data, "--runtime-dir", saved.work_dir) == 1
    assert f"golden_data is missing files: ['{saved.data}/{name}']" in capsys.readouterr().out


def test_a_golden_function_that_raises_is_not_called_on_a_replay(saved: Saved, matmul: Callable[..., Case]) -> None:
    case = matmul(GOLDEN, "raise RuntimeError('called')")

    assert exit_code(case, "--golden-data", saved.data, "--runtime-dir", saved.work_dir) == 0


def test_data_saved_under_another_contract_replays_with_a_warning_that_names_what_changed(
    saved: Saved, matmul: Callable[..., Case], capsys: pytest.CaptureFixture[str]
) -> None:
    case = matmul(GOLDEN, f"{GOLDEN} * 1")

    assert exit_code(case, "--golden-data", saved.data, "--runtime-dir", saved.work_dir) == 0

    (warning,) = (line for line in capsys.readouterr().out.splitlines() if "warning" in line)
    assert warning.startswith(f"[RUN]   warning: {saved.data} was saved under another contract: golden")
    assert warning.endswith("golden_matmul changed")


def test_a_mismatch_ends_the_script_with_1(saved: Saved, matmul: Callable[..., Case]) -> None:
    assert exit_code(matmul(GOLDEN, f"{GOLDEN} + 1"), "--runtime-dir", saved.work_dir) == 1


def test_what_the_golden_function_raises_passes_through_the_script(saved: Saved, matmul: Callable[..., Case]) -> None:
    case = matmul(GOLDEN, "raise ValueError('boom')")

    with pytest.raises(ValueError, match="boom"):
        case.main(["--runtime-dir", saved.work_dir])


# the command line


def test_help_names_every_option_and_the_tiles(saved: Saved) -> None:
    done = saved.project.script("matmul", "--help")

    assert done.returncode == 0
    options = ("-p", "--platform", "-d", "--device", "--save-data", "--golden-data", "--runtime-dir", "--compile-only")
    for option in (*options, "--seed", "--tile", "TILE_M, TILE_N, TILE_K"):
        assert option in " ".join(done.stdout.split())


def test_a_tile_given_reaches_the_kernel(
    saved: Saved, matmul: Callable[..., Case], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(matmul(), "--tile", "TILE_M=48", "--tile", "TILE_K=17") == 0
    (built,) = set(Path("build_output").glob("matmul_*")) - {Path(saved.work_dir)}
    capsys.readouterr()

    assert exit_code(matmul(), "--runtime-dir", str(built), "--golden-data", saved.data) == 0
    warning = f"[RUN]   warning: {built} was built from another version: TILE_K 17 -> 64; TILE_M 48 -> 64"
    assert warning in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["-p", "gpu"],
            "[RUN] FAIL: case 'matmul' has no program for platform 'gpu'; it has cpu",
        ),
        (
            ["--tile", "TILE=64"],
            "[RUN] FAIL: --tile TILE=64: write NAME=VALUE; the tile parameters are TILE_M, TILE_N, TILE_K",
        ),
        (
            ["--tile", "TILE_M"],
            "[RUN] FAIL: --tile TILE_M: write NAME=VALUE; the tile parameters are TILE_M, TILE_N, TILE_K",
        ),
        (["--tile", "TILE_M=wide"], "[RUN] FAIL: --tile TILE_M=wide: TILE_M takes int values"),
    ],
    ids=["platform", "unknown tile", "no value", "no number"],
)
def test_an_option_that_cannot_be_ends_the_script_with_1_and_says_what_can(
    arguments: list[str], words: str, matmul: Callable[..., Case], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(matmul(), *arguments) == 1
    assert capsys.readouterr().err.startswith(words)


def test_an_unknown_option_ends_the_script_with_2(
    matmul: Callable[..., Case], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(matmul(), "--goldendata", "x") == 2
    assert "unrecognized arguments: --goldendata" in capsys.readouterr().err


def test_a_compile_error_ends_the_script_with_1_in_the_compilers_words(
    matmul: Callable[..., Case], capsys: pytest.CaptureFixture[str]
) -> None:
    source = Path("kernels/matmul.cpp")
    source.write_text(source.read_text().replace("a.shape[1]", "a.nothing"))
    line = 1 + next(i for i, text in enumerate(source.read_text().splitlines()) if "a.nothing" in text)

    assert exit_code(matmul()) == 1
    assert re.match(rf"\[RUN\] FAIL: kernels/matmul\.cpp:{line}:.*nothing", capsys.readouterr().err)


def test_runs_with_one_seed_save_the_same_inputs(saved: Saved, matmul: Callable[..., Case]) -> None:
    assert exit_code(matmul(), "--save-data", "--runtime-dir", saved.work_dir) == 0
    assert exit_code(matmul(), "--save-data", "--runtime-dir", saved.work_dir, "--seed", "1") == 0

    first, again, other = sorted(Path("build_output").glob("*/data/in/a.pt"), key=lambda path: path.stat().st_mtime_ns)
    assert torch.equal(torch.load(first), torch.load(again))
    assert not torch.equal(torch.load(first), torch.load(other))


def test_add_arguments_wires_what_run_takes() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)

    wired = vars(parser.parse_args([]))
    given = vars(
        parser.parse_args(
            [
                *("-p", "a2a3sim", "-d", "3", "--save-data", "--golden-data", "D"),
                *("--runtime-dir", "R", "--compile-only", "--seed", "7", "--guards"),
            ]
        )
    )

    assert wired == {
        "platform": "cpu",
        "device": 0,
        "save_data": False,
        "golden_data": None,
        "runtime_dir": None,
        "compile_only": False,
        "seed": None,
        "guards": False,
    }
    assert given == {
        "platform": "a2a3sim",
        "device": 3,
        "save_data": True,
        "golden_data": "D",
        "runtime_dir": "R",
        "compile_only": True,
        "seed": 7,
        "guards": True,
    }


# programs named as "module:attribute"


def lazy(program: str) -> Case:
    specs = [TensorSpec("y", [1], torch.float32, is_output=True)]
    return Case("lazy", specs=lambda: specs, golden=lambda values: None, programs={"cpu": program})


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("no_such_module_here:kernel", "platform 'cpu' of case 'lazy' is not available: No module named"),
        ("needs_a_toolchain:kernel", "platform 'cpu' of case 'lazy' is not available: No module named 'no_such_one'"),
        ("good_module:kernle", "program 'good_module:kernle' of case 'lazy': good_module has no 'kernle'"),
        ("good_module", "program 'good_module' of case 'lazy': write 'module:attribute'"),
    ],
)
def test_a_program_that_cannot_be_had_ends_the_script_with_1_and_the_reason(
    program: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "good_module.py").write_text("kernel = 1\n")
    (tmp_path / "needs_a_toolchain.py").write_text("import no_such_one\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert exit_code(lazy(program)) == 1
    assert words in capsys.readouterr().err


def test_a_program_is_imported_only_when_its_platform_is_used(matmul: Callable[..., Case], saved: Saved) -> None:
    case = matmul('programs={"cpu"', 'programs={"a2a3": "no_such_module_here:kernel", "cpu"')

    assert exit_code(case, "--runtime-dir", saved.work_dir) == 0
    assert exit_code(case, "-p", "a2a3") == 1


def test_an_error_inside_a_programs_module_passes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("import math\n\nkernel = math.no_such_function\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(AttributeError, match="no_such_function"):
        lazy("broken_module:kernel").main([])


# snapshots of another harness

REAL = [("rope", "rope", "y"), ("layer_norm", "layer_norm", "y"), ("gemm", "matmul", "c")]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("real") / "project", ("rope", "layer_norm", "matmul"))


@pytest.mark.parametrize(("folder", "kernel", "output"), REAL)
def test_a_snapshot_that_another_harness_wrote_replays(
    folder: str, kernel: str, output: str, kernels: Project, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(SNAPSHOTS / folder, tmp_path / folder))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in data.rglob("*.pt")}

    done = kernels.script(kernel, "--golden-data", str(data))

    assert done.returncode == 0, done.stdout
    assert f"[RUN]   origin unverified: {data} has no manifest" in done.stdout
    assert f"[RUN]   cache hit: {data}/in\n[RUN]   cache hit: {data}/out\n" in done.stdout
    assert f"[RUN]   {output!r} PASS" in done.stdout
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in data.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("folder", "kernel", "output"), REAL)
def test_a_snapshot_with_one_value_changed_fails_and_names_the_element(
    folder: str, kernel: str, output: str, kernels: Project, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(SNAPSHOTS / folder, tmp_path / folder))
    expected = torch.load(data / f"out/{output}.pt")
    expected[3, 5] += 1
    torch.save(expected, data / f"out/{output}.pt")

    done = kernels.script(kernel, "--golden-data", str(data))

    assert done.returncode == 1
    assert f"[RUN] FAIL: Output(s) does not match golden: ['{output}']" in done.stdout
    assert f"1 of {expected.numel()} elements differ" in done.stdout
    assert "[RUN]     [3, 5] expected " in done.stdout
