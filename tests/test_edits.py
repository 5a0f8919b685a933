"""What an edit makes stale: exactly that, proved by counters of real calls, through the real doit."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from conftest import Project, stages_run

KERNEL, SOURCE, DATA = "kernels/matmul.py", "kernels/matmul.cpp", "build_output/matmul/data"
BODY = 'values["c"][:] = values["a"] @ values["b"]'

EDITS: dict[str, tuple[Callable[[Project], None], Callable[[Project], None], set[str], int, int]] = {
    # edit: (do, undo, stages that run, golden calls, compiler calls)
    "tile constant": (
        lambda p: p.edit(KERNEL, "TILE_M = 64", "TILE_M = 32"),
        lambda p: p.edit(KERNEL, "TILE_M = 32", "TILE_M = 64"),
        {"inspect", "compile", "execute"},
        0,
        1,
    ),
    "golden body": (
        lambda p: p.edit(KERNEL, BODY, 'values["c"][:] = torch.matmul(values["a"], values["b"])'),
        lambda p: p.edit(KERNEL, 'values["c"][:] = torch.matmul(values["a"], values["b"])', BODY),
        {"inspect", "golden", "capture"},
        1,
        0,
    ),
    "golden result": (
        lambda p: p.edit(KERNEL, BODY, BODY + " + 1e-5"),
        lambda p: p.edit(KERNEL, BODY + " + 1e-5", BODY),
        {"inspect", "golden", "validate", "capture"},
        1,
        0,
    ),
    "kernel source": (
        lambda p: _scale(p, "", " * 1.000001f"),
        lambda p: _scale(p, " * 1.000001f", ""),
        {"compile", "execute", "validate"},
        0,
        1,
    ),
    "rtol": (
        lambda p: p.edit(KERNEL, "rtol=1e-3", "rtol=1e-2"),
        lambda p: p.edit(KERNEL, "rtol=1e-2", "rtol=1e-3"),
        {"inspect", "validate"},
        0,
        0,
    ),
    "seed": (
        lambda p: p.edit(KERNEL, "rtol=1e-3", "seed=1, rtol=1e-3"),
        lambda p: p.edit(KERNEL, "seed=1, rtol=1e-3", "rtol=1e-3"),
        {"inspect", "golden", "execute", "validate", "capture"},
        1,
        0,
    ),
    "input's initial value": (
        lambda p: p.edit(
            KERNEL,
            'TensorSpec("b", (K, N), torch.float32, torch.randn)',
            'TensorSpec("b", (K, N), torch.float32, torch.rand)',
        ),
        lambda p: p.edit(
            KERNEL,
            'TensorSpec("b", (K, N), torch.float32, torch.rand)',
            'TensorSpec("b", (K, N), torch.float32, torch.randn)',
        ),
        {"inspect", "golden", "execute", "validate", "capture"},
        1,
        0,
    ),
    "shape": (
        lambda p: p.edit(KERNEL, "M, N, K = 256, 256, 256", "M, N, K = 128, 256, 256"),
        lambda p: p.edit(KERNEL, "M, N, K = 128, 256, 256", "M, N, K = 256, 256, 256"),
        {"inspect", "golden", "compile", "execute", "validate", "capture"},
        1,
        1,
    ),
}


def _scale(project: Project, old: str, new: str) -> None:
    project.edit(SOURCE, f"= c_tile[i][j]{old};", f"= c_tile[i][j]{new};")


@pytest.fixture
def replayed(project: Project) -> Project:
    done = project.doit()
    assert done.returncode == 0, done.stdout
    return project


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_and_its_undoing_run_the_stages_that_it_affects_and_no_other(replayed: Project, name: str) -> None:
    do, undo, stages, goldens, compiles = EDITS[name]
    expected = {f"{stage}:matmul" for stage in stages}
    for change in (do, undo):
        golden, compiled, snapshot = replayed.count("golden"), replayed.count("compile"), replayed.files(DATA)

        change(replayed)
        done = replayed.doit()

        assert done.returncode == 0, done.stdout
        assert set(stages_run(done.stdout)) == expected
        assert replayed.count("golden") - golden == goldens
        assert replayed.count("compile") - compiled == (compiles if change is do else 0)  # the earlier build is kept
        if not goldens:
            assert replayed.files(DATA) == snapshot
        assert stages_run(replayed.doit().stdout) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n" * 20 + text,
        lambda text: text.replace("def build_specs", "# a comment\n\n\ndef build_specs"),
        lambda text: text.replace("M x N x K tiles", "tiles of M x N x K"),
        lambda text: text.replace("TILE_M = 64", "TILE_M  =  (64)"),
        lambda text: text.replace('"a"', "'a'"),
    ],
    ids=["twenty blank lines", "comment", "docstring", "formatting", "quotes"],
)
def test_an_edit_without_meaning_runs_nothing_and_leaves_the_records_byte_identical(
    replayed: Project, change: Callable[[str], str]
) -> None:
    before, original = replayed.files(), replayed.path(KERNEL).read_text()
    for text in (change(original), original):
        replayed.path(KERNEL).write_text(text)

        done = replayed.doit()

        assert done.returncode == 0
        assert stages_run(done.stdout) == []
        assert replayed.files() == before


def test_an_unrelated_function_in_the_kernel_file_reaches_inspect_only(replayed: Project) -> None:
    before = replayed.files()
    with replayed.path(KERNEL).open("a") as file:
        file.write("\n\ndef unrelated():\n    return 1\n")

    done = replayed.doit()

    assert stages_run(done.stdout) == ["inspect:matmul"]
    changed = {name for name, was in replayed.files().items() if before.get(name) != was}
    assert changed == {"build_output/matmul/inspect.json", "build_output/matmul/inspect.log"}


def test_the_reason_names_the_tile_its_values_and_its_line(replayed: Project) -> None:
    replayed.edit(KERNEL, "TILE_M = 64", "TILE_M = 128")
    line = replayed.path(KERNEL).read_text().splitlines().index("TILE_M = 128") + 1

    done = replayed.doit()

    assert f"TILE_M 64 -> 128 (kernels/matmul.py:{line})" in done.stdout
    assert "kernels/matmul.py changed" in done.stdout
    assert "new build" in done.stdout


def test_a_header_that_the_compiler_reported_recompiles(project: Project) -> None:
    project.path("kernels/scale.h").write_text("#define SCALE 1.0f\n")
    project.path("kernels/unused.h").write_text("#define UNUSED 1\n")
    source = project.path(SOURCE)
    source.write_text('#include "scale.h"\n' + source.read_text())
    _scale(project, "", " * SCALE")
    assert project.doit().returncode == 0

    project.path("kernels/unused.h").write_text("#define UNUSED 2\n")
    unused = project.doit()
    project.path("kernels/scale.h").write_text("#define SCALE 1.000001f\n")
    used = project.doit()

    assert stages_run(unused.stdout) == []
    assert stages_run(used.stdout) == ["compile:matmul", "execute:matmul", "validate:matmul"]
    assert "kernels/scale.h changed" in used.stdout


def test_what_the_golden_function_reads_while_it_runs_is_part_of_the_contract(project: Project) -> None:
    """A data file and an environment variable."""
    project.path("offset.txt").write_text("0.0")
    read = 'open("offset.txt").read()'
    project.edit(KERNEL, BODY, f'{BODY} + float({read}) + float(__import__("os").environ.get("OFFSET", "0"))')
    assert project.doit().returncode == 0

    project.path("offset.txt").write_text("0.00001")
    file = project.doit()
    variable = project.doit(env={"OFFSET": "0.00002"})
    same = project.doit(env={"OFFSET": "0.00002"})

    assert "offset.txt changed" in file.stdout and "golden:matmul" in stages_run(file.stdout)
    assert "environment variable OFFSET" in variable.stdout and "golden:matmul" in stages_run(variable.stdout)
    assert stages_run(same.stdout) == []
    assert project.count("golden") == 3


def test_a_helper_module_of_the_golden_function_is_followed(project: Project) -> None:
    project.path("kernels/reference.py").write_text("EXTRA = 0.0\n\n\ndef product(a, b):\n    return a @ b + EXTRA\n")
    project.edit(KERNEL, "import torch\n", "import torch\nfrom reference import product\n")
    project.edit(KERNEL, BODY, 'values["c"][:] = product(values["a"], values["b"])')
    assert project.doit().returncode == 0

    project.edit("kernels/reference.py", "EXTRA = 0.0", "EXTRA = 0.00001")
    done = project.doit()

    assert "golden:matmul" in stages_run(done.stdout) and "compile:matmul" not in stages_run(done.stdout)
    assert "EXTRA 0.0 -> 1e-05" in done.stdout


def test_a_snapshot_removed_whole_is_made_again(replayed: Project) -> None:
    import shutil

    shutil.rmtree(replayed.path(DATA))

    done = replayed.doit()

    assert done.returncode == 0
    assert stages_run(done.stdout) == ["golden:matmul", "capture:matmul"]


@pytest.mark.parametrize("artefact", ["runtime/kernels/matmul.so", "runtime/kernels/matmul.cpp", "runtime/build.json"])
def test_a_build_that_was_altered_by_hand_is_made_again(replayed: Project, artefact: str) -> None:
    path = replayed.path(f"build_output/matmul/cpu/{artefact}")
    path.write_bytes(path.read_bytes() + b" ")
    if artefact.endswith("json"):
        path.write_text("{}")

    done = replayed.doit()

    assert done.returncode == 0
    assert stages_run(done.stdout) == ["compile:matmul"]


def test_a_run_whose_outputs_were_altered_is_run_again(replayed: Project) -> None:
    path = replayed.path("build_output/matmul/cpu/replay/out/c.pt")
    path.unlink()

    done = replayed.doit()

    assert done.returncode == 0
    assert stages_run(done.stdout) == ["execute:matmul"]
    assert "c.pt is missing" in done.stdout


@pytest.mark.parametrize("name", ["kernels/matmul.py", "kernels/reference.py"])
def test_an_edit_of_the_same_length_and_time_is_imported_anew(project: Project, name: str) -> None:
    """Python takes a cached .pyc for current by the source's size and time in seconds; a stage must not."""
    import os

    cached = {"PYTHONDONTWRITEBYTECODE": ""}
    project.path("kernels/reference.py").write_text(
        "EXTRA = 0.00002\n\n\ndef product(a, b):\n    return a @ b + EXTRA\n"
    )
    project.edit(KERNEL, "import torch\n", "import torch\nfrom reference import product\nSHIFT = 0.00002\n")
    project.edit(KERNEL, BODY, 'values["c"][:] = product(values["a"], values["b"]) + SHIFT')
    project.run(sys.executable, "-c", "import sys; sys.path.insert(0, 'kernels'); import matmul", env=cached)
    assert list(project.path("kernels").rglob("*.pyc"))
    assert project.doit(env=cached).returncode == 0
    stamp = project.path(name).stat()

    project.edit(name, "0.00002", "0.00003")
    os.utime(project.path(name), ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    done = project.doit(env=cached)

    assert "golden:matmul" in stages_run(done.stdout)
    assert "2e-05 -> 3e-05" in done.stdout


def test_a_module_that_the_golden_function_imports_while_it_runs_counts(project: Project) -> None:
    project.path("kernels/late.py").write_text("EXTRA = 0.00001\n")
    project.edit(KERNEL, BODY, f"import importlib\n    {BODY} + importlib.import_module('la' + 'te').EXTRA")
    assert project.doit().returncode == 0

    project.edit("kernels/late.py", "0.00001", "0.00002")
    done = project.doit()

    assert "golden:matmul" in stages_run(done.stdout) and "kernels/late.py changed" in done.stdout


def test_a_variable_that_the_kernel_file_sets_itself_does_not_make_it_stale(project: Project) -> None:
    project.edit(KERNEL, "import torch\n", "import os\n\nimport torch\n\nos.environ['MODE'] = 'fast'\n")
    project.edit(KERNEL, BODY, f"assert os.environ['MODE'] == 'fast'\n    {BODY}")
    assert project.doit().returncode == 0

    assert stages_run(project.doit().stdout) == []
