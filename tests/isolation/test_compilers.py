"""A compiler that takes too long, or too much memory, or is at work when doit is killed: limited, logged, gone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from small_project import SmallProject, wait_for

BOMB = """
template <int N, class A> struct Grow {
    static constexpr int v = Grow<N - 1, Grow<N, A>>::v + Grow<N - 1, A>::v;
};
template <class A> struct Grow<0, A> { static constexpr int v = 1; };
int grown = Grow<26, int>::v;
"""
LIMITS = {
    "slow": ("timeout=1", "TIMEOUT", "still running after 1 s"),
    "large": ("memory=2**28", "OUT_OF_MEMORY", "256 MiB"),
}


def hard_to_compile(project: SmallProject, name: str, limits: str = "") -> None:
    project.case(name, limits=limits)
    source = project.path(f"kernels/{name}.cpp")
    source.write_text(source.read_text() + BOMB)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> tuple[SmallProject, str]:
    project = SmallProject(tmp_path_factory.mktemp("compilers") / "project")
    for name, (limits, _, _) in LIMITS.items():
        hard_to_compile(project, name, limits)
    project.case("plain", kernel='\n#warning "slow path"\n')
    return project, project.doit().stdout


@pytest.mark.parametrize("name", LIMITS)
def test_a_compiler_has_the_limits_of_its_case(limited: tuple[SmallProject, str], name: str) -> None:
    project, output = limited
    _, status, said = LIMITS[name]

    line = next(line for line in output.splitlines() if f"compile:{name} " in line)
    assert line.startswith("F  ") and status in line and said in line
    assert f"repeat:  doit compile:{name}" in output
    assert project.left() == {} and project.remains() == []
    assert not project.path(f"build_output/{name}/cpu/runtime").exists()


def test_what_a_compiler_warns_of_is_kept_in_its_log(limited: tuple[SmallProject, str]) -> None:
    project, output = limited

    log = project.path("build_output/plain/cpu/compile.log").read_text()
    assert "kernels/plain.cpp:" in log and "slow path" in log
    assert "1 passed, 2 failed" in output and "slow path" not in output


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_killed_doit_takes_its_compilers_along(tmp_path: Path, workers: tuple[str, ...]) -> None:
    project = SmallProject(tmp_path / "project")
    hard_to_compile(project, "endless")
    doit = project.start(*workers, "compile:endless")
    wait_for(lambda: any("cc1plus" in command and "-shared" not in command for command in project.processes().values()))

    os.kill(doit.pid, signal.SIGKILL)
    doit.communicate(timeout=60)

    assert project.left() == {}
    source = project.path("kernels/endless.cpp")
    source.write_text(source.read_text().replace(BOMB, ""))
    assert "1 passed" in project.doit().stdout
    assert project.remains() == []
