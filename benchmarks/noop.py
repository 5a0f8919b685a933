"""What `doit` costs when there is nothing to do, beside a bare doit with as many tasks.

    python benchmarks/noop.py [--cases 300] [--runs 9] [--folder DIR]

The first use of a folder makes the cases and brings them up to date, which takes a minute for each 200; it can be kept
and given again. The bare side is a dodo file with the same tasks, `file_dep` and `task_dep`, `uptodate=[True]`, the
`timestamp` checker and sqlite3. Runs are interleaved; the CPU seconds are the smallest of each side, user and system.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

KERNEL = """\
#include "golden_tasks.h"

void double_it(gt::Tensor<const float, 1> x, gt::Tensor<float, 1> y) {
    for (int start = 0; start < y.shape[0]; start += TILE)
        for (int i = start; i < start + TILE; ++i) y(i) = 2 * x(i);
}
"""
CASE = """\
import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE = 64
TILE = 16


def build_specs():
    x = TensorSpec("x", (SIZE,), torch.float32, torch.randn)
    return [x, TensorSpec("y", (SIZE,), torch.float32, is_output=True)]


def golden(values):
    values["y"][:] = 2 * values["x"]


case = Case(
    "case{number:04}",
    specs=build_specs,
    golden=golden,
    programs={{"cpu": CppKernel("double_it.cpp", function="double_it")}},
    tiles={{"TILE": TILE}},
)
"""
DODO = """\
from golden_tasks.graph import Project

project = Project(kernels="kernels/*.py")
DOIT_CONFIG = project.doit_config
task_golden_tasks = project.tasks
"""
BARE = """\
import json

DOIT_CONFIG = {"backend": "sqlite3", "dep_file": "build_output/.bare.sqlite3", "check_file_uptodate": "timestamp",
               "default_tasks": ["replay:all"], "continue": True}


def nothing():
    pass


def task_all():
    for task in json.load(open("build_output/bare.json")):
        if task.get("actions"):
            task |= {"actions": [nothing], "uptodate": [True]}
        yield task
"""


def main() -> None:
    """Measures and prints both sides, and their ratio."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=300, metavar="N")
    options.add_argument("--runs", type=int, default=9, metavar="N")
    options.add_argument("--folder", type=Path, help="kept afterwards")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        prepare(folder, chosen.cases)
        ours, bare = [], []
        for _ in range(chosen.runs):
            ours.append(cpu_seconds(folder, "dodo.py"))
            bare.append(cpu_seconds(folder, "bare.py"))
    tasks = chosen.cases * 7
    print(f"{chosen.cases} cases, {tasks} tasks, smallest of {chosen.runs} interleaved runs, CPU seconds")
    print(f"  doit with golden_tasks, nothing to do   {min(ours):.3f}")
    print(f"  bare doit with the same tasks           {min(bare):.3f}")
    print(f"  ratio                                   {min(ours) / min(bare):.2f}")


def prepare(folder: Path, cases: int) -> None:
    """Makes the project and the bare dodo file in a folder, and brings both up to date."""
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "kernels" / "double_it.cpp").write_text(KERNEL)
    for number in range(cases):
        (folder / "kernels" / f"case{number:04}.py").write_text(CASE.format(number=number))
    (folder / "dodo.py").write_text(DODO)
    (folder / "bare.py").write_text(BARE)
    subprocess.run([sys.executable, "-m", "doit", "-n", str(os.cpu_count())], cwd=folder, check=True)
    dump = "import json, dodo; print(json.dumps(list(dodo.project.tasks()), default=repr))"
    tasks = subprocess.run([sys.executable, "-c", dump], cwd=folder, check=True, capture_output=True).stdout
    (folder / "build_output" / "bare.json").write_bytes(tasks)
    subprocess.run([sys.executable, "-m", "doit", "-f", "bare.py"], cwd=folder, check=True)


def cpu_seconds(folder: Path, dodo: str) -> float:
    """The CPU seconds, user and system, of one doit that finds nothing to do."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(
        [sys.executable, "-m", "doit", "-f", dodo], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "\n.  " not in f"\n{output}", output  # nothing ran
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
