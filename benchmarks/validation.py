"""What comparing outputs costs, beside torch's own comparisons.

    python benchmarks/validation.py [--mib 1024] [--runs 5] [--only fp32]

Two tensors of that many MiB each, normal numbers and the same with a little noise (of integers the same), which pass.
Each row is measured in a process of its own: first the memory that each side takes beyond the tensors (the highest
resident size, `VmHWM`, reset before), then the seconds, interleaved, the smallest of the runs. torch has no ratio
comparators; beside them stands their formula as one writes it in torch. "read" is the share of the speed at which the
same threads only read the two tensors.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from golden_tasks.validation.chunks import visit
from golden_tasks.validation.compare import compare
from golden_tasks.validation.ratio import ratio_allclose, ratio_reldiff

RTOL, ATOL = {torch.bfloat16: 1e-2}, {torch.bfloat16: 1e-2}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}
SHARES = {"bf16": 2, "int8": 8}  # of the size: torch widens these first, and takes 10 and 40 times their memory
OURS = "golden_tasks"
Contender = Callable[[torch.Tensor, torch.Tensor, float, float], bool]


def ours_by_default(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    return compare(a, e, rtol, atol).mismatches == 0


def torchs_allclose(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    return torch.allclose(a, e, rtol, atol)


def torchs_assert_close(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    torch.testing.assert_close(a, e, rtol=rtol, atol=atol)
    return True


def ours_ratio_allclose(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    comparator = ratio_allclose(rtol=rtol, atol=atol)
    return comparator(a, e, actual_outputs={}, expected_outputs={}, inputs={}, rtol=rtol, atol=atol)[0]


def plain_ratio_allclose(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    a, e = a.float(), e.float()
    if not (torch.isfinite(a).all() and torch.isfinite(e).all()):
        return False
    bad = (a - e).abs() > atol + rtol * e.abs()
    return int(bad.sum()) <= int(0.005 * bad.numel())


def ours_ratio_reldiff(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    return ratio_reldiff()(a, e, actual_outputs={}, expected_outputs={}, inputs={}, rtol=rtol, atol=atol)[0]


def plain_ratio_reldiff(a: torch.Tensor, e: torch.Tensor, rtol: float, atol: float) -> bool:
    a, e = a.float(), e.float()
    if not (torch.isfinite(a).all() and torch.isfinite(e).all()):
        return False
    difference = (a - e).abs()
    larger = torch.maximum(a.abs(), e.abs()).clamp_min(2.0**-14 / 0.01)
    bad = torch.where(difference < 0.01, difference, difference / (larger + 1e-9)) > 0.01
    return int(bad.sum()) <= int(0.05 * bad.numel())


RULES: dict[str, dict[str, Contender]] = {
    "default": {
        OURS: ours_by_default,
        "torch.allclose": torchs_allclose,
        "torch.testing.assert_close": torchs_assert_close,
    },
    "ratio_allclose": {OURS: ours_ratio_allclose, "the formula in torch": plain_ratio_allclose},
    "ratio_reldiff": {OURS: ours_ratio_reldiff, "the formula in torch": plain_ratio_reldiff},
}


def main() -> None:
    """Measures every row and prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mib", type=int, default=1024, metavar="N", help="of each of the two tensors")
    options.add_argument("--runs", type=int, default=5, metavar="N")
    options.add_argument("--only", choices=DTYPES, help="rows of this dtype only")
    options.add_argument("--row", nargs=2, metavar=("RULE", "DTYPE"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.row:
        print(json.dumps(row(*chosen.row, chosen.mib, chosen.runs)))
        return
    dtypes = [chosen.only] if chosen.only else list(DTYPES)
    print(f"{chosen.mib} MiB against {chosen.mib} MiB, smallest of {chosen.runs} interleaved runs, ", end="")
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{'rule':<15} {'dtype':<5} {'MiB':>5} {'':<27} {'seconds':>8} {'times':>6} {'extra MiB':>10} {'read':>6}")
    for rule in RULES:
        for dtype in dtypes:
            mib = chosen.mib // SHARES.get(dtype, 1)
            command = [sys.executable, __file__, "--row", rule, dtype, "--mib", str(mib)]
            command += ["--runs", str(chosen.runs)]
            told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            for name, (seconds, extra) in told["contenders"].items():
                times = seconds / told["contenders"][OURS][0]
                line = f"{rule:<15} {dtype:<5} {mib:>5} {name:<27} {seconds:>8.3f} {times:>6.1f} {extra:>10.0f}"
                print(f"{line} {told['read'] / seconds:>6.0%}", flush=True)


def row(rule: str, dtype_name: str, mib: int, runs: int) -> dict[str, object]:
    """Seconds and extra MiB of each contender, and the seconds that reading takes, in this process."""
    dtype = DTYPES[dtype_name]
    a, e = tensors(dtype, (mib << 20) // dtype.itemsize)
    rtol, atol = RTOL.get(dtype, 1e-5), ATOL.get(dtype, 1e-5)
    extra, seconds = {}, {}
    for name, contender in RULES[rule].items():
        extra[name] = extra_mib(lambda contender=contender: contender(a, e, rtol, atol))
        seconds[name] = float("inf")
    read = float("inf")
    for _ in range(runs):
        read = min(read, elapsed(lambda: reading(a, e)))
        for name, contender in RULES[rule].items():
            seconds[name] = min(seconds[name], elapsed(lambda c=contender: c(a, e, rtol, atol)))
    return {"read": read, "contenders": {name: (seconds[name], extra[name]) for name in seconds}}


def tensors(dtype: torch.dtype, elements: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Actual and expected values, made in parts so that they take no more memory than themselves."""
    torch.manual_seed(0)
    a, e = torch.empty(elements, dtype=dtype), torch.empty(elements, dtype=dtype)
    for start in range(0, elements, 1 << 22):
        part = slice(start, start + (1 << 22))
        if not dtype.is_floating_point:
            e[part] = torch.randint(-128, 128, e[part].shape, dtype=dtype)
            a[part] = e[part]
            continue
        values = torch.randn(e[part].shape)
        e[part] = values
        a[part] = values + 1e-6 * torch.randn(values.shape)
    return a, e


def reading(a: torch.Tensor, e: torch.Tensor) -> None:
    """Reads both tensors and does next to nothing."""
    visit(largest, a.view(torch.int32), e.view(torch.int32), elements=1 << 20)


def largest(start: int, *pieces: torch.Tensor) -> None:
    for piece in pieces:
        np.maximum.reduce(piece.numpy())


def elapsed(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def extra_mib(do: Callable[[], bool]) -> float:
    """How far the resident memory rises above what it was. A first small call loads what is loaded once."""
    small = torch.ones(8)
    compare(small, small, 0, 0)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    assert do()
    return (status("VmHWM") - before) / 1024


def status(field: str) -> int:
    """A field of this process's status, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main()
