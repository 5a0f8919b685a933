"""Elements that certainly meet a tolerance told from those that may not, fast.

The rules of comparison are fp64 arithmetic (see `compare`); for most tensors that is twice the width that they need.
The sieve computes in the narrowest dtype that holds every value exactly, with the tolerance lowered by more than all
rounding of its own: what falls under the lowered tolerance meets the rule, and what does not is left to the rule.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from golden_tasks.validation.chunks import ELEMENTS

Array = npt.NDArray[Any]

_HALVES = (torch.float16, torch.bfloat16)
_NOWHERE = np.empty(0, np.intp)
_NUMPYS = {
    **{torch.float32: np.float32, torch.float64: np.float64},
    **{torch.complex64: np.complex64, torch.complex128: np.complex128},
    **{torch.int8: np.int8, torch.int16: np.int16, torch.int32: np.int32, torch.int64: np.int64},
    **{torch.uint8: np.uint8, torch.uint16: np.uint16, torch.uint32: np.uint32, torch.uint64: np.uint64},
}


@dataclass(frozen=True)
class _Range:
    """Where arithmetic of a dtype needs no care: the result of one operation is off by less than `margin` / 16.

    Tolerances lie in it, so that no product of a value and a tolerance overflows, and none that counts is subnormal.
    """

    margin: float
    smallest: float
    largest: float


_RANGES = {
    np.dtype(np.float32): _Range(2.0**-18, 2.0**-100, 2.0**100),
    np.dtype(np.float64): _Range(2.0**-44, 2.0**-900, 2.0**900),
}


class Sieve(threading.local):
    """Arithmetic on pieces of two tensors of one dtype, of `elements` at most; each thread has arrays of its own.

    `load` gives the values, the other methods work on what it gave. Arrays are overwritten by the next call. The caller
    silences numpy's warnings: NaN, infinity and a division by zero are what is looked for.
    """

    def __init__(self, dtype: torch.dtype, elements: int) -> None:
        self.dtype = dtype
        self.working = working_dtype(dtype)
        self.flags: Array = np.empty(elements, np.bool_)
        self._zeros: Array = np.zeros(elements, self.working)
        if dtype not in _NUMPYS and self.working == np.float32:
            self._loaded = tuple(np.empty(elements, np.float32) for _ in range(2))
        if self.working in _RANGES:
            self._difference: Array = np.empty(elements, self.working)
            self._allowed: Array = np.empty(elements, self.working)

    def load(self, actual: torch.Tensor, expected: torch.Tensor) -> tuple[Array, Array]:
        """The values of two pieces, exactly: halves and fp8 in fp32, bools in uint8, complex32 in complex64."""
        return self._load(actual, 0), self._load(expected, 1)

    def nonzeros(self, values: Array) -> int:
        """How many are not zero; NaN is not."""
        return int(np.count_nonzero(np.not_equal(values, 0, out=self.flags[: len(values)])))

    def zeros(self, elements: int) -> Array:
        """As many zeros."""
        return self._zeros[:elements]

    def suspects(self, x: Array, y: Array, tolerance: Tolerance | None, combine: np.ufunc = np.add) -> Array:
        """Positions of all that may break a rule that lets pass what is within a tolerance, and of all not finite.

        The tolerance at y is `combine(atol, rtol * |y|)`. Integers that are equal meet any rule, others are suspects.
        """
        flags = self.flags[: len(x)]
        if self.working.kind in "iu":
            return _positions(np.not_equal(x, y, out=flags))
        if tolerance is None:
            return np.arange(len(x))
        difference, allowed = self._spread(x, y, tolerance, combine)
        certain = np.less(difference, allowed, out=flags)  # not if both are infinite
        if not tolerance.atol:
            np.logical_or(certain, difference == 0, out=flags)
        return _positions(np.logical_not(certain, out=flags))

    def shares(self, x: Array, y: Array, tolerance: Tolerance) -> Array:
        """|x - y| as a share of the tolerance's lower bound; what is not at most 1 may break the rule."""
        difference, allowed = self._spread(x, y, tolerance, np.add)
        if not tolerance.atol:
            same = np.equal(difference, 0, out=self.flags[: len(x)])
            if same.all():
                return difference
            np.copyto(allowed, 1, where=same)
        return np.divide(difference, allowed, out=difference)

    def _spread(self, x: Array, y: Array, tolerance: Tolerance, combine: np.ufunc) -> tuple[Array, Array]:
        """|x - y|, and a lower bound of the tolerance at y, or 0 where none that is positive is certain.

        Where the first is less than the second, or is 0, the rule is met, and both values are finite.
        """
        difference, allowed = self._difference[: len(x)], self._allowed[: len(x)]
        np.subtract(x, y, out=difference)
        np.abs(difference, out=difference)
        np.abs(y, out=allowed)
        np.multiply(allowed, tolerance.rtol, out=allowed)
        if tolerance.atol:
            combine(allowed, tolerance.atol, out=allowed)
        else:  # a product may be subnormal, of which no digit is certain
            trusted = np.greater_equal(allowed, tolerance.smallest, out=self.flags[: len(x)])
            np.multiply(allowed, trusted, out=allowed)
        return difference, allowed

    def _load(self, piece: torch.Tensor, side: int) -> Array:
        piece = piece.cpu()
        if self.dtype in _NUMPYS:
            return piece.numpy()
        if self.dtype == torch.bool:
            held: Array = piece.view(torch.uint8).numpy() != 0  # a kernel may write any byte
            return held.view(np.uint8)
        if self.dtype == torch.complex32:
            parts: Array = torch.view_as_real(piece).float().numpy()
            return parts.view(np.complex64).reshape(-1)
        into = self._loaded[side][: len(piece)]
        if self.dtype == torch.bfloat16:  # the upper half of an fp32
            np.left_shift(piece.view(torch.uint16).numpy(), 16, out=into.view(np.uint32), dtype=np.uint32)
            return into
        if self.dtype == torch.float16:
            converted = torch.from_numpy(into)
            for start in range(0, len(piece), ELEMENTS):
                converted[start : start + ELEMENTS].copy_(piece[start : start + ELEMENTS])
            return into
        return np.take(_fp8_values(self.dtype), piece.view(torch.uint8).numpy(), out=into, mode="wrap")


@dataclass(frozen=True)
class Tolerance:
    """atol and rtol, lowered so far that no rounding of a sieve's can lift them to the given ones."""

    atol: Any
    rtol: Any
    smallest: float

    @staticmethod
    def below(rtol: float, atol: float, working: np.dtype[Any]) -> Tolerance | None:
        """None where nothing can be told in this dtype: it has no range, or a tolerance lies outside of it."""
        limits = _RANGES.get(working)
        if limits is None:
            return None
        if not (rtol == 0 or limits.smallest**0.5 <= rtol <= 1):
            return None
        if not (atol == 0 or limits.smallest <= atol <= limits.largest):
            return None
        lowered = 1 - limits.margin
        return Tolerance(working.type(atol * lowered), working.type(rtol * lowered), limits.smallest)


def _positions(flags: Array) -> Array:
    return np.flatnonzero(flags) if flags.any() else _NOWHERE


@cache
def working_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """The narrowest dtype of numpy's that holds every value of a dtype; raises `TypeError` where there is none."""
    if dtype in _NUMPYS:
        return np.dtype(_NUMPYS[dtype])
    if dtype == torch.bool:
        return np.dtype(np.uint8)
    if dtype == torch.complex32:
        return np.dtype(np.complex64)
    if dtype in _HALVES or str(dtype).startswith("torch.float8"):
        return np.dtype(np.float32)
    raise TypeError(f"values of {dtype} cannot be compared: convert them, for instance to torch.float32")


@cache
def _fp8_values(dtype: torch.dtype) -> Array:
    values: Array = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32).numpy()
    return values
