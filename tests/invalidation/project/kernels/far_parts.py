"""Two modules away."""

import torch

SHIFT = 0.5
NOT_USED = 7


def add_shift(x: torch.Tensor) -> torch.Tensor:
    return x + SHIFT


def not_used(x: torch.Tensor) -> torch.Tensor:
    return x - NOT_USED
