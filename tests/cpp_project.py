"""A project folder with C++ sources, built and run by the cpu backend itself, without harness or graph."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from golden_tasks.backends import unremembered
from golden_tasks.backends.cpu import CppKernel, CpuBackend
from golden_tasks.records import Build, Program
from golden_tasks.specs import ScalarSpec, Spec, TensorSpec, arguments_of

BACKEND = CpuBackend()
SPECS = (
    TensorSpec("x", (4, 8), torch.float32, 1.0),
    ScalarSpec("factor", torch.float32, 2.0),
    TensorSpec("y", (4, 8), torch.float32, is_output=True),
)
SIGNATURE = "gt::Tensor<const float, 2> x, float factor, gt::Tensor<float, 2> y"


def scale(by: str = "factor", before: str = "") -> str:
    """The source of a kernel `scale` for `SPECS`: y = x * by."""
    return f"""#include "golden_tasks.h"
{before}
void scale({SIGNATURE}) {{
    for (std::int64_t i = 0; i < x.shape[0]; ++i)
        for (std::int64_t j = 0; j < x.shape[1]; ++j) y(i, j) = x(i, j) * ({by});
}}
"""


class CppProject:
    """A folder that is the current one while something in it is described or built, as a user's project would be."""

    def __init__(self, folder: Path, files: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        for name, text in (files or {}).items():
            self.write(name, text)

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, text: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)

    def describe(
        self,
        source: str = "kernels/scale.cpp",
        function: str | None = None,
        *,
        tiles: Mapping[str, object] | None = None,
        options: Mapping[str, Any] | None = None,
        **kernel: Any,
    ) -> Program:
        with self.current():
            program = CppKernel(self.path(source), function, **kernel)
            return BACKEND.describe(program, "cpu", tiles or {}, options or {})

    def parts(self, program: Program, specs: Sequence[Spec] = SPECS) -> dict[str, str]:
        with self.current():
            return BACKEND.parts(program, arguments_of(specs), unremembered)

    def compile(self, program: Program, specs: Sequence[Spec] = SPECS, runtime: str = "runtime") -> Build:
        with self.current():
            return BACKEND.compile(program, arguments_of(specs), self.path(runtime))

    @contextmanager
    def current(self) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)


def run(runtime: Path, build: Build, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
    """Runs a build on tensors by name, zeros where none is given; returns all its arguments afterwards."""
    values = {a.name: inputs.get(a.name, torch.zeros(a.shape, dtype=getattr(torch, a.dtype))) for a in build.arguments}
    BACKEND.execute(runtime, build, list(values.values()), device=0)
    return values


def scaled(runtime: Path, build: Build) -> float:
    """What a build of `scale` makes of 1 with the factor 2."""
    values = run(runtime, build, x=torch.ones(4, 8), factor=torch.tensor(2.0))
    assert len(values["y"].unique()) == 1
    return float(values["y"][0, 0])
