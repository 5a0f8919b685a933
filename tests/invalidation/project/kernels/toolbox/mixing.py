import torch

from .numbers import WEIGHT
from .numbers import bias as _bias


def blend(x: torch.Tensor) -> torch.Tensor:
    return WEIGHT * x + _bias()
