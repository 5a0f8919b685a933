"""What a user waits for after an edit: a child process's cost, and `doit` after a tile edit, stage by stage.

    python benchmarks/edit_to_verdict.py

Each figure stands beside the plain way, measured in the same run: a fresh Python process that imports torch for the
child, the bare compiler call for the compile stage. Medians of nine.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from golden_tasks import isolation

REPOSITORY = Path(__file__).resolve().parent.parent
ROUNDS = 9
DOIT = [sys.executable, "-m", "doit", "replay:matmul"]


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def median(act: Callable[[], object], rounds: int = ROUNDS) -> float:
    return statistics.median(seconds(act) for _ in range(rounds))


def children(folder: Path) -> float:
    """Prints what children cost; returns the seconds of the first one, which waits for the import of torch."""

    def child() -> None:
        isolation.call("torch:typename", {}, log=folder / "log", timeout=60)

    plain = median(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True))
    first = seconds(child)
    later = median(child)
    print("a child process                        seconds   of a fresh process that imports torch")
    print(f"  plain: python -c 'import torch'      {plain:7.3f}      1.00")
    print(f"  first child (starts the server)      {first:7.3f}   {first / plain:7.2f}")
    print(f"  every later child                    {later:7.3f}   {later / plain:7.2f}")
    return first


def edits(folder: Path, torch_import: float) -> None:
    project = folder / "project"
    (project / "kernels").mkdir(parents=True)
    shutil.copy(REPOSITORY / "dodo.py", project)
    for suffix in (".py", ".cpp"):
        shutil.copy(REPOSITORY / "kernels" / f"matmul{suffix}", project / "kernels")
    subprocess.run(DOIT, cwd=project, check=True, capture_output=True)
    kernel, source = project / "kernels" / "matmul.py", project / "kernels" / "matmul.cpp"

    def tile(number: int) -> None:
        kernel.write_text(re.sub(r"TILE_M = \d+", f"TILE_M = {8 + 8 * number}", kernel.read_text()))

    def tile_back(number: int) -> None:
        tile(number % 2)

    def statement(number: int) -> None:
        source.write_text(f"{source.read_text()}\nint unused{number};\n")

    bare = compiler_call(project)
    total, stages = edit_to_verdict(project, tile)
    kernel_run = recorded_run(project)
    beyond = total - bare - torch_import - kernel_run
    idle = median(lambda: subprocess.run(DOIT, cwd=project, check=True, capture_output=True))
    tile(0)
    subprocess.run(DOIT, cwd=project, check=True, capture_output=True)
    back, _ = edit_to_verdict(project, tile_back)
    other, _ = edit_to_verdict(project, statement)

    def row(text: str, figure: float) -> None:
        print(f"  {text:<48} {figure:7.3f}   {figure / bare:6.2f}")

    print("\ndoit replay:matmul after an edit                   seconds   of the bare compiler call")
    row("plain: the compiler call", bare)
    row("a new tile size, to the verdict", total)
    for name, seconds_of_stage in stages.items():
        row(f"  of it {name}", seconds_of_stage)
    row("  of it beyond compiler, kernel and torch's import", beyond)
    row("a tile size switched back (an earlier build)", back)
    row("a statement in the C++ source", other)
    row("nothing to do", idle)


def edit_to_verdict(project: Path, edit: Callable[[int], None]) -> tuple[float, dict[str, float]]:
    """The median seconds of `doit` after an edit, and of each stage that ran."""
    totals: list[float] = []
    stages: dict[str, list[float]] = {}
    for number in range(1, ROUNDS + 1):
        edit(number)
        start = time.perf_counter()
        done = subprocess.run(DOIT, cwd=project, check=True, capture_output=True, text=True)
        totals.append(time.perf_counter() - start)
        for name in re.findall(r"^\.  (\w+):matmul", done.stdout, re.MULTILINE):
            stages.setdefault(name, []).append(recorded(project, f"{name}:matmul"))
    return statistics.median(totals), {name: statistics.median(times) for name, times in stages.items()}


def compiler_call(project: Path) -> float:
    """The median seconds of the compiler's call alone, as the build's record has it."""
    runtime = project / "build_output" / "matmul" / "cpu" / "runtime"
    command = json.loads((runtime / "build.json").read_text())["command"][1:-1]
    return median(lambda: subprocess.run([*command, "plain.so"], cwd=runtime, check=True))


def recorded_run(project: Path) -> float:
    """The kernel's own seconds in the last run."""
    return float(json.loads((project / "build_output" / "matmul" / "cpu" / "run.json").read_text())["seconds"])


def recorded(project: Path, task: str) -> float:
    """The seconds that a stage took, as doit keeps them."""
    with closing(sqlite3.connect(project / "build_output" / ".doit.sqlite3")) as state:
        (data,) = state.execute("select task_data from doit where task_id = ?", (task,)).fetchone()
    return float(json.loads(data)["_values_:"]["seconds"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        edits(Path(folder), children(Path(folder)))


if __name__ == "__main__":
    main()
