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
from golden_tasks.backends.cpu import compiler

REPOSITORY = Path(__file__).resolve().parent.parent
ROUNDS = 9


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def median(act: Callable[[], object], rounds: int = ROUNDS) -> float:
    return statistics.median(seconds(act) for _ in range(rounds))


def children(folder: Path) -> None:
    def child() -> None:
        isolation.call("torch:typename", {}, log=folder / "log", timeout=60)

    plain = median(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True))
    first = seconds(child)
    later = median(child)
    print("a child process                        seconds   of a fresh process that imports torch")
    print(f"  plain: python -c 'import torch'      {plain:7.3f}      1.00")
    print(f"  first child (starts the server)      {first:7.3f}   {first / plain:7.2f}")
    print(f"  every later child                    {later:7.3f}   {later / plain:7.2f}")


def edits(folder: Path) -> None:
    project = folder / "project"
    (project / "kernels").mkdir(parents=True)
    shutil.copy(REPOSITORY / "dodo.py", project)
    for suffix in (".py", ".cpp"):
        shutil.copy(REPOSITORY / "kernels" / f"matmul{suffix}", project / "kernels")
    doit = [sys.executable, "-m", "doit", "replay:matmul"]
    subprocess.run(doit, cwd=project, check=True, capture_output=True)
    kernel = project / "kernels" / "matmul.py"
    totals: list[float] = []
    stages: dict[str, list[float]] = {}
    tiles = ["TILE_M = 64", "TILE_M = 32"]
    for number in range(ROUNDS):
        kernel.write_text(kernel.read_text().replace(tiles[number % 2], tiles[1 - number % 2]))
        start = time.perf_counter()
        done = subprocess.run(doit, cwd=project, check=True, capture_output=True, text=True)
        totals.append(time.perf_counter() - start)
        ran = re.findall(r"^\.  (\w+):matmul", done.stdout, re.MULTILINE)
        for name in ran:
            stages.setdefault(name, []).append(recorded(project, f"{name}:matmul"))
    idle = median(lambda: subprocess.run(doit, cwd=project, check=True, capture_output=True))
    runtime = project / "build_output" / "matmul" / "cpu" / "runtime"
    flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-Iorchestration", "orchestration/matmul.cpp", "-o", "plain.so"]
    bare = median(lambda: subprocess.run([*compiler.require(), *flags], cwd=runtime, check=True))
    total = statistics.median(totals)
    print("\ndoit after a tile edit of matmul       seconds   of the bare compiler call")
    print(f"  plain: the compiler call             {bare:7.3f}      1.00")
    print(f"  doit, edit to verdict                {total:7.3f}   {total / bare:7.2f}")
    for name, times in stages.items():
        stage = statistics.median(times)
        print(f"    {name:<10}                         {stage:7.3f}   {stage / bare:7.2f}")
    print(f"  doit with nothing to do              {idle:7.3f}   {idle / bare:7.2f}")


def recorded(project: Path, task: str) -> float:
    """The seconds that a stage took, as doit keeps them."""
    with closing(sqlite3.connect(project / "build_output" / ".doit.sqlite3")) as state:
        (data,) = state.execute("select task_data from doit where task_id = ?", (task,)).fetchone()
    return float(json.loads(data)["_values_:"]["seconds"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        children(Path(folder))
        edits(Path(folder))


if __name__ == "__main__":
    main()
