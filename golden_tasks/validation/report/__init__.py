"""The report of an output that differs: one more pass over the tensors finds all that a developer wants to know.

`examine` returns it as data, `wording` says it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from golden_tasks.validation.report.examine import examine
from golden_tasks.validation.report.words import wording

__all__ = ["describe", "examine", "wording"]


def describe(
    name: str,
    actual: torch.Tensor,
    expected: torch.Tensor,
    rtol: float,
    atol: float,
    *,
    equal_nan: bool = False,
    tiles: Mapping[str, object] | None = None,
) -> str:
    """What a failed default comparison says of the output `name`; the first line is for tables.

    The tensors are of one shape and dtype. `tiles` are the program's tile parameters, name -> value. Empty if nothing
    differs.
    """
    return "\n".join(wording(name, examine(actual, expected, rtol, atol, equal_nan=equal_nan, tiles=tiles)))
