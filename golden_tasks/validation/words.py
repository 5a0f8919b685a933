"""How comparators' messages write an element: its index, its value with enough digits to tell it apart, its bits."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from golden_tasks.validation.chunks import index_of

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as signed integers of the elements' width; a complex one has a last axis of 2 more.

    Raises `TypeError` for a dtype whose elements are no whole bytes.
    """
    tensor = tensor.detach()
    if tensor.dtype.is_complex:
        tensor = torch.view_as_real(tensor.resolve_conj())
    if tensor.is_quantized or tensor.dtype.itemsize not in _BITS:
        raise TypeError(f"elements of {tensor.dtype} cannot be compared bit for bit")
    return tensor.resolve_neg().view(_BITS[tensor.dtype.itemsize])


def at(index: Sequence[int]) -> str:
    """`[3, 1]`"""
    return f"[{', '.join(map(str, index))}]"


def number(value: object, digits: int = 9) -> str:
    """A number with as many significant digits: 9 tell any two fp32 apart, 17 any two fp64."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def value(element: torch.Tensor) -> str:
    """The value of a 0-dim tensor."""
    if element.dtype == torch.bool:
        return str(bool(bits(element)))
    if element.dtype.is_floating_point and element.dtype.itemsize < 4:
        element = element.to(torch.float32)
    return number(element.item(), 17 if element.dtype == torch.float64 else 9)


def value_with_bits(element: torch.Tensor) -> str:
    """The value of a 0-dim tensor, of a float or bool also its bits: -0.0 and NaNs, and any byte but 0, are written
    alike."""
    if not (element.dtype.is_floating_point or element.dtype == torch.bool):
        return value(element)
    width = element.dtype.itemsize
    return f"{value(element)} (0x{int(bits(element)) & (1 << 8 * width) - 1:0{2 * width}x})"


def pair(flat: int, actual: torch.Tensor, expected: torch.Tensor) -> str:
    """`[3, 1] expected 0.5, got 0.25`, of the element at a flat position in row-major order."""
    index = index_of(flat, actual.shape)
    return f"{at(index)} expected {value(expected[index])}, got {value(actual[index])}"
