"""Outputs held against expected values."""

from golden_tasks.validation.comparator import Comparator
from golden_tasks.validation.compare import Comparison, compare
from golden_tasks.validation.judge import judge, validate_golden

__all__ = ["Comparator", "Comparison", "compare", "judge", "validate_golden"]
