"""Freeze a passing kernel run's inputs and expected outputs, and replay them after every edit.

Names are imported when first used, so that `import golden_tasks` costs nothing and imports no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from golden_tasks.arguments import add_arguments
    from golden_tasks.backends.cpu import CppKernel
    from golden_tasks.case import Case
    from golden_tasks.harness import run, run_jit
    from golden_tasks.results import RunResult, Status
    from golden_tasks.specs import ScalarSpec, TensorSpec
    from golden_tasks.validation import validate_golden

__all__ = [
    "Case",
    "CppKernel",
    "RunResult",
    "ScalarSpec",
    "Status",
    "TensorSpec",
    "add_arguments",
    "run",
    "run_jit",
    "validate_golden",
]

_HOME = {
    "Case": "case",
    "CppKernel": "backends.cpu",
    "RunResult": "results",
    "ScalarSpec": "specs",
    "Status": "results",
    "TensorSpec": "specs",
    "add_arguments": "arguments",
    "run": "harness",
    "run_jit": "harness",
    "validate_golden": "validation",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'golden_tasks' has no attribute {name!r}")
    return getattr(import_module(f"golden_tasks.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
