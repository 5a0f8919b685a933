"""Frozen inputs and expected outputs: `in/*.pt`, `out/*.pt` and a manifest."""
