"""One module away from the golden function of helpers.py."""

import far_parts
import torch


def shifted(x: torch.Tensor) -> torch.Tensor:
    return far_parts.add_shift(x)
