"""The extra `toolchain`: where the machine has no compiler, the `ziglang` wheel builds the kernels."""

from __future__ import annotations

import pytest
from conftest import Project

pytest.importorskip("ziglang", reason="needs the extra toolchain: pip install 'golden-tasks[toolchain]'")


def test_kernels_are_built_by_the_wheel_where_the_compiler_is_hidden(project: Project) -> None:
    done = project.doit("replay:matmul", env={"PATH": "/nowhere", "CXX": ""})

    assert done.returncode == 0, done.stdout
    assert "1 case: 1 passed" in done.stdout
    assert project.count("compile") == 0
    assert "zig" in project.path("build_output/matmul/cpu/runtime/build.json").read_text()
