"""The platform `torch`: a Python function as the program, built into a folder and run from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import Project, stages_run

from golden_tasks import ScalarSpec, TensorSpec, run

KERNEL = "kernels/matmul.py"
SOURCE = '''"""Kernels of a test."""
import torch
from golden_tasks.backends.torch import TorchKernel

def helper(x): return x * 1.0
def scale(x, factor, y, *, TILE):
    """Takes only the tile that it names."""
    for row in range(0, x.shape[0], TILE):
        y[row : row + TILE] = helper(x[row : row + TILE]) * factor
compiled = TorchKernel(scale, compile=True)
class Holder:
    def method(self, x, factor, y): y[:] = x * factor
'''


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The module above, imported from a file in the folder that the test runs in."""
    import importlib.util

    (tmp_path / "own_kernels.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("own_kernels", tmp_path / "own_kernels.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "own_kernels", module)
    spec.loader.exec_module(module)
    return module


def scale_run(program: object, **options: object):
    specs = [
        TensorSpec("x", (5, 3), torch.float32, torch.randn),
        ScalarSpec("factor", torch.float32, 2.0),
        TensorSpec("y", (5, 3), torch.float32, is_output=True),
    ]
    config = {"tiles": {"TILE": 2, "OTHER": 7}, **options.pop("compile_cfg", {})}
    golden = options.pop("golden", lambda values: values["y"].copy_(values["x"] * values["factor"]))
    return run(program, specs, golden, compile_cfg=config, runtime_cfg={"platform": "torch"}, **options)


def test_a_function_is_run_with_the_tiles_that_it_names(kernels) -> None:
    result = scale_run(kernels.scale)

    assert result.passed
    assert (result.work_dir / "kernels" / "own_kernels.py").read_text() == SOURCE


def test_a_wrong_function_fails(kernels, tmp_path: Path) -> None:
    assert not scale_run(kernels.scale, golden=lambda values: values["y"].fill_(1)).passed


def test_a_build_is_run_as_it_was_built_though_the_file_has_changed(kernels, tmp_path: Path, capsys) -> None:
    built = scale_run(kernels.scale).work_dir
    (tmp_path / "own_kernels.py").write_text("raise RuntimeError('the original was imported')")

    result = scale_run(kernels.scale, runtime_dir=built)

    assert result.passed
    assert "no cpp edits" in capsys.readouterr().out


def test_a_hand_edit_of_a_build_is_found_and_runs(kernels, capsys) -> None:
    built = scale_run(kernels.scale).work_dir
    copy = built / "kernels" / "own_kernels.py"
    copy.write_text(copy.read_text().replace("* factor", "* factor + 1"))

    result = scale_run(kernels.scale, runtime_dir=built)

    assert not result.passed
    assert "edits or missing binaries detected (1 file(s)): kernels/own_kernels.py" in capsys.readouterr().out


def test_a_compiled_function_runs_through_torch_compile_and_keeps_its_cache(kernels) -> None:
    result = scale_run(kernels.compiled)

    assert result.passed
    assert any((result.work_dir / "cache").rglob("*"))


@pytest.mark.parametrize("program", ["method", "lambda", "class"])
def test_what_a_build_could_not_load_again_is_refused(kernels, program: str) -> None:
    given = {"method": kernels.Holder.method, "lambda": lambda x, factor, y: None, "class": kernels.Holder}[program]

    with pytest.raises(Exception, match=r"module level|takes a function"):
        scale_run(given)


def test_one_snapshot_is_replayed_by_the_cpu_and_the_torch_program(project: Project) -> None:
    done = project.doit("replay:matmul", "replay:matmul@torch")

    assert done.returncode == 0, done.stdout
    assert "2 cases: 2 passed" in done.stdout
    assert project.count("golden") == 1


def test_an_edit_of_the_torch_program_touches_neither_snapshot_nor_cpu_build(project: Project) -> None:
    project.doit("replay:matmul", "replay:matmul@torch")
    project.edit(KERNEL, "def matmul_torch(", "SHIFT = 0.0\n\n\ndef matmul_torch(")
    text = project.path(KERNEL).read_text()
    head, marker, body = text.partition("def matmul_torch(")
    line = next(line for line in body.splitlines() if line.strip().startswith("for "))
    project.path(KERNEL).write_text(head + marker + body.replace(line, f"    c += SHIFT\n{line}", 1))

    done = project.doit("replay:matmul", "replay:matmul@torch")

    assert done.returncode == 0, done.stdout
    assert stages_run(done.stdout)[:2] == ["inspect:matmul", "compile:matmul@torch"]
    assert "golden:matmul" not in stages_run(done.stdout) and "compile:matmul" not in stages_run(done.stdout)


def test_a_raising_torch_program_is_a_runtime_error_with_the_users_line(project: Project) -> None:
    text = project.path(KERNEL).read_text()
    head, marker, body = text.partition("def matmul_torch(")
    line = next(line for line in body.splitlines() if line.strip().startswith("for "))
    project.path(KERNEL).write_text(
        head + marker + body.replace(line, f"    raise OverflowError('too big')\n{line}", 1)
    )

    done = project.doit("replay:matmul@torch")

    assert done.returncode != 0
    raised = project.path(KERNEL).read_text().splitlines().index("    raise OverflowError('too big')") + 1
    assert f"RUNTIME_ERROR  kernels/matmul.py:{raised}: OverflowError: too big" in done.stdout
    assert "raise OverflowError('too big')" in done.stdout


def test_a_script_that_runs_when_it_is_imported_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "top.py").write_text(
        "import torch\n"
        "from golden_tasks import TensorSpec, run\n"
        "def kernel(x, y): y.copy_(x * 2)\n"
        "def golden(v): v['y'][:] = v['x'] * 2\n"
        "f32 = torch.float32\n"
        "specs = [TensorSpec('x', (8,), f32, torch.randn), TensorSpec('y', (8,), f32, is_output=True)]\n"
        "result = run(kernel, specs, golden, runtime_cfg={'platform': 'torch'})\n"
        "assert result.passed, result.error\n"
    )

    done = subprocess.run([sys.executable, "top.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 1
    assert (
        'calls run() while a build loads it: put the call below `if __name__ == "__main__":`'
        in done.stderr + done.stdout
    )
    assert len(list((tmp_path / "build_output").iterdir())) <= 1
