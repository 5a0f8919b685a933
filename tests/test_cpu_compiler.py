"""Platform cpu: which compiler is called, and what debug and sanitizer builds do."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cpp_project import BACKEND, CppProject, run, scale, scaled

from golden_tasks.backends import available_backend
from golden_tasks.backends.cpu import compiler
from golden_tasks.results import Failure, Status
from golden_tasks.specs import ScalarSpec, TensorSpec

# Writes 1 at `at`, and adds `add` to the largest int: both are fine for 0.
POKE = """#include "golden_tasks.h"
void poke(std::int32_t at, std::int32_t add, gt::Tensor<float, 1> y) {
    y.data[at] = 1.0f;
    std::int32_t largest = 2147483647;
    y(1) = static_cast<float>(largest + add);
#ifdef __OPTIMIZE__
    y(2) = 1.0f;
#endif
}
"""
POKE_SPECS = [
    ScalarSpec("at", torch.int32, 0),
    ScalarSpec("add", torch.int32, 0),
    TensorSpec("y", (64,), torch.float32, is_output=True),
]
# A helper in C++20.
SUM = "float sum(std::span<const float> values) { return std::accumulate(values.begin(), values.end(), 0.0f); }\n"
# A process that runs a build of POKE twice: once as it should be, and once with `at` and `add` from its command line.
CHILD = """
import sys
from pathlib import Path
import torch
from golden_tasks import records
from golden_tasks.backends.cpu import CpuBackend
runtime = Path(sys.argv[1])
build = records.read(runtime / "build.json", records.Build)
for at, add in ((0, 0), (int(sys.argv[2]), int(sys.argv[3]))):
    values = [torch.tensor(at, dtype=torch.int32), torch.tensor(add, dtype=torch.int32), torch.zeros(64)]
    CpuBackend().execute(runtime, build, values, 0)
    print("wrote", values[2][0].item(), flush=True)
"""


@pytest.fixture
def project(tmp_path: Path) -> CppProject:
    return CppProject(tmp_path, {"kernels/scale.cpp": scale(), "kernels/poke.cpp": POKE})


def poke_in_a_child(project: CppProject, at: int, add: int) -> subprocess.CompletedProcess[str]:
    build = project.compile(project.describe("kernels/poke.cpp", sanitize="address,undefined"), POKE_SPECS)
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(project.path("runtime")), str(at), str(add)],
        env={**os.environ, **BACKEND.child_environment(build)},
        capture_output=True,
        text=True,
    )


def test_a_write_out_of_bounds_is_reported_by_the_address_sanitizer_at_its_line(project: CppProject) -> None:
    child = poke_in_a_child(project, at=64, add=0)
    assert child.stdout.splitlines() == ["wrote 1.0"]
    assert child.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in child.stderr
    assert "kernels/poke.cpp:3" in child.stderr


def test_an_overflow_is_reported_by_the_undefined_behaviour_sanitizer_at_its_line(project: CppProject) -> None:
    child = poke_in_a_child(project, at=0, add=1)
    assert child.stdout.splitlines() == ["wrote 1.0"]
    assert child.returncode != 0
    assert "kernels/poke.cpp:5:" in child.stderr and "runtime error: signed integer overflow" in child.stderr


def test_a_build_for_the_address_sanitizer_says_how_a_process_must_be_started_for_it(project: CppProject) -> None:
    build = project.compile(project.describe(sanitize="address"))
    with pytest.raises(Failure) as failed:
        scaled(project.path("runtime"), build)
    assert failed.value.status is Status.RUNTIME_ERROR
    environment = " ".join(f"{name}={value}" for name, value in BACKEND.child_environment(build).items())
    assert environment.startswith("LD_PRELOAD=/")
    assert failed.value.message.endswith(f"needs the sanitizer from the start: {environment} python ...")


def test_a_build_for_the_undefined_behaviour_sanitizer_runs_in_any_process(project: CppProject) -> None:
    build = project.compile(project.describe(sanitize="undefined"))
    assert BACKEND.child_environment(build) == {}
    assert scaled(project.path("runtime"), build) == 2


def test_a_debug_build_has_symbols_and_is_not_optimised(project: CppProject) -> None:
    builds = {}
    for debug in (False, True):
        folder = f"debug {debug}"
        build = project.compile(project.describe("kernels/poke.cpp", debug=debug), POKE_SPECS, folder)
        optimised = run(project.path(folder), build)["y"][2].item() == 1
        builds[debug] = (optimised, b".debug_line" in project.path(f"{folder}/kernels/poke.so").read_bytes())
    assert builds == {False: (True, False), True: (False, True)}


def test_a_flag_reaches_the_compiler_after_its_usual_ones(project: CppProject) -> None:
    source = scale("sum(std::vector<float>{1, FACTOR})", "#include <numeric>\n#include <vector>\n#include <span>\n")
    project.write("kernels/scale.cpp", source.replace("void scale", SUM + "void scale"))
    build = project.compile(project.describe(flags=["-std=c++20"], options={"flags": "-DFACTOR=6"}))
    assert scaled(project.path("runtime"), build) == 7


def test_the_environments_compiler_is_used_with_its_arguments(
    project: CppProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    monkeypatch.setenv("CXX", shlex.join([*compiler, "-DBY=8 + 1"]))
    project.write("kernels/scale.cpp", scale("BY"))
    build = project.compile(project.describe())
    assert build.command[1 : len(compiler) + 2] == [*compiler, "-DBY=8 + 1"]
    assert scaled(project.path("runtime"), build) == 9


def test_the_environments_compiler_may_be_a_path_from_the_current_folder(
    project: CppProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("tools/cxx", f'#!/bin/sh\nexec {os.environ.get("CXX") or "c++"} "$@"\n')
    project.path("tools/cxx").chmod(0o755)
    monkeypatch.setenv("CXX", "tools/cxx")
    assert scaled(project.path("runtime"), project.compile(project.describe())) == 2


@pytest.mark.parametrize("cxx", ["no-such-compiler", "/no/such/compiler -O2", "'unclosed", "   "])
def test_a_compiler_that_does_not_exist_is_the_reason_why_the_platform_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, cxx: str
) -> None:
    monkeypatch.setenv("CXX", cxx)
    reason = f"CXX={cxx} is no command that can be run: set CXX to a C++17 compiler, or unset it"
    assert BACKEND.unavailable() == reason
    with pytest.raises(Failure) as failed:
        available_backend("cpu")
    assert failed.value.status is Status.SKIPPED
    assert failed.value.message == f"platform 'cpu' is not available: {reason}"


def test_no_compiler_at_all_is_the_reason_why_the_platform_is_unavailable(
    project: CppProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler, "_toolchain", lambda: None)  # should ziglang be installed here
    reason = (
        "no C++17 compiler was found (c++, g++, clang++): "
        "install one, set CXX to it, or pip install 'golden-tasks[toolchain]'"
    )
    assert BACKEND.unavailable() == reason
    with pytest.raises(Failure) as failed:
        project.compile(project.describe())
    assert failed.value.status is Status.SKIPPED
    assert failed.value.message == f"platform 'cpu' is not available: {reason}"


@pytest.mark.parametrize("candidate", ["c++", "g++", "clang++"])
def test_the_first_compiler_on_the_path_is_used_without_an_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, candidate: str
) -> None:
    compiler = tmp_path / candidate
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert BACKEND.unavailable() is None


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "made nothing: is it a C++ compiler?"),
        ("exit 3", "ended with exit status 3 and said nothing"),
    ],
)
def test_a_command_that_is_no_compiler_is_a_compile_error_that_names_it(
    project: CppProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    command = tmp_path / "not-a-compiler"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("CXX", str(command))
    with pytest.raises(Failure) as failed:
        project.compile(project.describe())
    assert failed.value.status is Status.COMPILE_ERROR
    assert failed.value.message == f"{command} {said}"
