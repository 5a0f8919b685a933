"""Tensors as the bits that they hold: what a run left as it was, and what it did not."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def of(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers of the elements' size; a complex tensor as pairs of them. Nothing is copied."""
    if tensor.dtype.is_complex:
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg().view(_WORDS[tensor.element_size()])


def fill(tensor: torch.Tensor) -> None:
    """Fills a contiguous tensor with what is as far from zero as can be, above and below it in turns.

    So a kernel that adds to what was there shows it, and one that takes a maximum or a minimum of it. Of bools it is
    True, of unsigned integers the largest.
    """
    real = torch.view_as_real(tensor) if tensor.dtype.is_complex else tensor
    above = below = highest(real.dtype)
    if real.dtype.is_floating_point:
        below = (-above.to(torch.float64)).to(real.dtype)
    elif real.dtype.is_signed:
        below = torch.tensor([torch.iinfo(real.dtype).min], dtype=real.dtype)
    flat = of(real).view(-1)
    flat[0::2] = of(above)
    flat[1::2] = of(below)


def highest(dtype: torch.dtype) -> torch.Tensor:
    """The largest value of a dtype, as one element: True, the largest integer, infinity where there is one."""
    if dtype == torch.bool:
        return torch.tensor([True])
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.tensor([torch.iinfo(dtype).max], dtype=dtype)
    infinite = torch.tensor([torch.inf]).to(dtype)
    if bool(infinite.to(torch.complex128).isinf().all()):
        return infinite
    return torch.tensor([torch.finfo(dtype).max]).to(dtype)  # an fp8 that has no infinity


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with its values in memory: a conjugate or a negative that was put off is carried out."""
    return tensor.resolve_conj().resolve_neg()


def extent_of(shape: Sequence[int], stride: Sequence[int]) -> int:
    """How many elements lie from a tensor's first to its last, those between them counted."""
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def extent(tensor: torch.Tensor) -> torch.Tensor:
    """All elements from a tensor's first to its last, in the order of memory. Nothing is copied."""
    elements = extent_of(tensor.shape, tensor.stride())
    return tensor.detach().as_strided((elements,), (1,), tensor.storage_offset())


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides."""
    tensor = plain(tensor)
    copy = extent(tensor).clone().as_strided(tuple(tensor.shape), tensor.stride())
    return copy.requires_grad_(tensor.requires_grad)


def equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape and dtype hold the same bits."""
    return torch.equal(of(one), of(other))


def differing(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Which elements differ, as bools: two NaNs do not, whatever their bits."""
    differ = _by_element(of(one) != of(other), one)
    if one.dtype.is_floating_point or one.dtype.is_complex:
        differ &= ~(one.isnan() & other.isnan())
    return differ


def holding(tensor: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Which elements hold just the bits that `words`, a tensor of the same shape and dtype, holds."""
    return ~_by_element(of(tensor) != of(words), tensor)


def _by_element(words: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    return words.any(dim=-1) if tensor.dtype.is_complex else words
