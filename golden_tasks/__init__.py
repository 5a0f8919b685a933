"""Freeze a passing kernel run's inputs and expected outputs, and replay them after every edit.

Names are imported when first used, so that `import golden_tasks` costs nothing and imports no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from golden_tasks.arguments import add_arguments
    from golden_tasks.backends.cpu import CppKernel
    from golden_tasks.backends.torch import TorchKernel
    from golden_tasks.case import Case
    from golden_tasks.harness import run, run_jit
    from golden_tasks.results import RunResult, Status
    from golden_tasks.specs import ScalarSpec, TensorSpec
    from golden_tasks.validation import validate_golden
    from golden_tasks.validation.combine import all_of
    from golden_tasks.validation.comparator import ignores_expected
    from golden_tasks.validation.distribution import error_distribution
    from golden_tasks.validation.pool import mapped_pool_ratio_allclose
    from golden_tasks.validation.ratio import ratio_allclose, ratio_reldiff
    from golden_tasks.validation.topk import topk_pair_compare
    from golden_tasks.validation.whole import cosine, exact, relative_l2, ulp

__all__ = [
    "Case",
    "CppKernel",
    "RunResult",
    "ScalarSpec",
    "Status",
    "TensorSpec",
    "TorchKernel",
    "add_arguments",
    "all_of",
    "cosine",
    "error_distribution",
    "exact",
    "ignores_expected",
    "mapped_pool_ratio_allclose",
    "ratio_allclose",
    "ratio_reldiff",
    "relative_l2",
    "run",
    "run_jit",
    "topk_pair_compare",
    "ulp",
    "validate_golden",
]

_HOME = {
    "Case": "case",
    "CppKernel": "backends.cpu",
    "RunResult": "results",
    "ScalarSpec": "specs",
    "Status": "results",
    "TensorSpec": "specs",
    "TorchKernel": "backends.torch",
    "add_arguments": "arguments",
    "all_of": "validation.combine",
    "cosine": "validation.whole",
    "error_distribution": "validation.distribution",
    "exact": "validation.whole",
    "ignores_expected": "validation.comparator",
    "mapped_pool_ratio_allclose": "validation.pool",
    "ratio_allclose": "validation.ratio",
    "ratio_reldiff": "validation.ratio",
    "relative_l2": "validation.whole",
    "run": "harness",
    "run_jit": "harness",
    "topk_pair_compare": "validation.topk",
    "ulp": "validation.whole",
    "validate_golden": "validation",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'golden_tasks' has no attribute {name!r}")
    return getattr(import_module(f"golden_tasks.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
