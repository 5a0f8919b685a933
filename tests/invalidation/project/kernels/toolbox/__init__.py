"""A package of helpers."""

from .mixing import blend

__all__ = ["blend"]
