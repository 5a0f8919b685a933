"""Runs of a build that tell what one run alone cannot: what was never written, changed, or read by mistake."""

from golden_tasks.guards.choice import GUARDS, Guards

__all__ = ["GUARDS", "Guards"]
