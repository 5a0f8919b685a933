"""A kernel's arguments: `TensorSpec` and `ScalarSpec`, in parameter order."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Union

import torch

from golden_tasks.records import Argument

Initialiser = Callable[..., Any]
InitValue = int | float | torch.Tensor | Initialiser | None
Spec = Union["TensorSpec", "ScalarSpec"]

_LONGEST_NAME = 200  # bytes; file systems take 255, and ".pt" and more is added
_SHAPED = (torch.randn, torch.rand, torch.zeros, torch.ones)
_INTEGERS: dict[torch.dtype, tuple[int, int, Any]] = {
    torch.int8: (-(2**7), 2**7 - 1, ctypes.c_int8),
    torch.int32: (-(2**31), 2**31 - 1, ctypes.c_int32),
    torch.int64: (-(2**63), 2**63 - 1, ctypes.c_int64),
    torch.uint8: (0, 2**8 - 1, ctypes.c_uint8),
}
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


class InitialValueError(ValueError):
    """An initial value that cannot be the tensor that its spec describes."""


class TensorSpec:
    """A tensor argument.

    `init_value` makes an input: None (zeros), a number (filled with it), a tensor (converted to `dtype`),
    `torch.randn`, `torch.rand`, `torch.zeros` or `torch.ones` (called with the shape and dtype), or a callable without
    arguments whose result is converted. `is_output` marks an output; with an `init_value` too it is an inout tensor.
    `resident` keeps the tensor on a worker (an id from 0) or stacked over all workers ("stacked").

    Raises `ValueError` for another `resident`, `True` among them, which does not say where.
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        dtype: torch.dtype,
        init_value: InitValue = None,
        is_output: bool = False,
        resident: bool | int | str | None = None,
    ) -> None:
        if resident is True:
            raise ValueError("resident=True is ambiguous: give a worker id from 0, or 'stacked'")
        if not (resident is None or resident == "stacked" or (isinstance(resident, int) and resident >= 0)):
            raise ValueError(f"resident={resident!r} is neither a worker id from 0 nor 'stacked'")
        self.name = name
        self.shape = list(shape)
        self.dtype = dtype
        self.init_value = init_value
        self.is_output = is_output
        self.resident = resident

    @property
    def is_resident(self) -> bool:
        return self.resident is not None and self.resident is not False

    @property
    def is_inout(self) -> bool:
        return self.is_output and self.init_value is not None

    def create_tensor(self) -> torch.Tensor:
        """The initial tensor.

        Raises `TypeError` for an initial value of an unknown kind and `InitialValueError` for one that does not become
        a tensor of the spec's dtype; what a callable raises passes through.
        """
        self.check()
        given, shape = self.init_value, tuple(self.shape)
        shaped = any(given is function for function in _SHAPED)
        value = given() if callable(given) and not shaped else given
        try:
            if given is None:
                return torch.zeros(shape, dtype=self.dtype)
            if shaped:
                return given(shape, dtype=self.dtype)  # type: ignore[operator,no-any-return]
            if isinstance(given, (int, float)):
                return torch.full(shape, given, dtype=self.dtype)
            if isinstance(given, torch.Tensor):
                return given.to(self.dtype)
            return torch.as_tensor(value, dtype=self.dtype)
        except (TypeError, ValueError, RuntimeError) as error:
            wanted = f"{dtype_name(self.dtype)} {self.shape}"
            raise InitialValueError(f"the initial value of {self.name!r} cannot become {wanted}: {error}") from error

    def check(self) -> None:
        """Raises `TypeError` for a shape, dtype or initial value that cannot be, `ValueError` for a negative size."""
        if not isinstance(self.dtype, torch.dtype):
            raise TypeError(f"the dtype of {self.name!r} is {self.dtype!r}: give a torch.dtype such as torch.float32")
        sizes = list(self.shape)
        if not all(hasattr(size, "__index__") for size in sizes):
            raise TypeError(f"the shape of {self.name!r} is {sizes}: give whole numbers")
        if any(size < 0 for size in sizes):
            raise ValueError(f"the shape of {self.name!r} is {sizes}: give no negative size")
        value = self.init_value
        if not (value is None or isinstance(value, (int, float, torch.Tensor)) or callable(value)):
            raise TypeError(
                f"Unsupported init_value type for tensor {self.name!r}: {type(value).__name__}; "
                "give a number, a tensor or a function"
            )

    def __repr__(self) -> str:
        kind = "inout" if self.is_inout else "out" if self.is_output else "in"
        return f"TensorSpec({self.name!r}, {self.shape}, {self.dtype}, {kind})"


class ScalarSpec:
    """A scalar argument: int8, int32, int64, uint8, bool, float32, float16 or bfloat16.

    `value` is always a 0-dim tensor of `dtype`, assigned or given; a tensor is kept as it is.
    Raises `ValueError` for another dtype and for a value that does not fit.
    """

    is_output = False

    def __init__(self, name: str, dtype: torch.dtype, value: bool | int | float | torch.Tensor) -> None:
        self.name = name
        self.dtype = dtype
        self.value = value

    @property
    def value(self) -> torch.Tensor:
        return self._value

    @value.setter
    def value(self, value: bool | int | float | torch.Tensor) -> None:
        self._value = _scalar(self.name, self.dtype, value)

    def to_python(self) -> bool | int | float:
        return self.value.item()

    def to_ctypes(self) -> Any:
        """The value as a ctypes scalar; a half as its 16-bit pattern in `c_uint16`."""
        return scalar_to_ctypes(self.value)

    def __repr__(self) -> str:
        return f"ScalarSpec({self.name!r}, {self.dtype}, {self.to_python()})"


def scalar_to_ctypes(value: torch.Tensor) -> Any:
    """A 0-dim tensor as a ctypes scalar; a half as its 16-bit pattern in `c_uint16`."""
    if value.dtype in _INTEGERS:
        return _INTEGERS[value.dtype][2](int(value.item()))
    if value.dtype == torch.bool:
        return ctypes.c_bool(bool(value.item()))
    if value.dtype == torch.float32:
        return ctypes.c_float(value.item())
    return ctypes.c_uint16(int(value.view(torch.int16).item()) & 0xFFFF)


def _scalar(name: str, dtype: torch.dtype, value: object) -> torch.Tensor:
    if dtype not in _INTEGERS and dtype not in _FLOATS and dtype != torch.bool:
        known = ", ".join(dtype_name(d) for d in (*_INTEGERS, torch.bool, *_FLOATS))
        raise ValueError(f"scalar {name!r}: unsupported dtype {dtype}; supported are {known}")
    if isinstance(value, torch.Tensor):
        if value.dim() != 0:
            raise ValueError(f"scalar {name!r} must be 0-dim, not of shape {tuple(value.shape)}")
        if value.dtype != dtype:
            raise ValueError(f"scalar {name!r}: the tensor's dtype {value.dtype} does not match dtype {dtype}")
        return value
    if dtype == torch.bool:
        if not isinstance(value, bool):
            raise ValueError(f"scalar {name!r} of dtype {dtype} requires bool value, not {value!r}")
    elif dtype in _INTEGERS:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"scalar {name!r} of dtype {dtype} requires int value, not {value!r}")
        low, high, _ = _INTEGERS[dtype]
        if not low <= value <= high:
            raise ValueError(f"scalar {name!r}: {value} is out of range for {dtype} ({low} to {high})")
    else:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ValueError(f"scalar {name!r} of dtype {dtype} requires int or float, not {value!r}")
        if abs(value) > torch.finfo(dtype).max and value not in (math.inf, -math.inf):
            raise ValueError(f"scalar {name!r}: {value} is out of range for {dtype}")
    return torch.tensor(value, dtype=dtype)


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def argument_of(spec: Spec) -> Argument:
    """A spec as plain data."""
    if isinstance(spec, ScalarSpec):
        return Argument(spec.name, "scalar", dtype_name(spec.dtype), (), "in")
    direction = "inout" if spec.is_inout else "out" if spec.is_output else "in"
    return Argument(spec.name, "tensor", dtype_name(spec.dtype), tuple(map(int, spec.shape)), direction)


def arguments_of(specs: Sequence[Spec]) -> tuple[Argument, ...]:
    """The specs as plain data.

    Raises `TypeError` if they are no list of specs or hold something that cannot be, `ValueError` for names that are
    empty, doubled or no file's name, and for negative sizes.
    """
    if not isinstance(specs, Sequence) or isinstance(specs, str):
        given = "None" if specs is None else f"of type {type(specs).__name__}"
        raise TypeError(f"the specs are {given}: return a list of TensorSpec and ScalarSpec")
    seen: set[str] = set()
    for position, spec in enumerate(specs):
        if not isinstance(spec, (TensorSpec, ScalarSpec)):
            raise ValueError(f"argument {position + 1} is a {type(spec).__name__}, not a TensorSpec or ScalarSpec")
        name = spec.name
        if not isinstance(name, str) or not name or name in (".", "..") or any(c in name for c in "/\\\0"):
            raise ValueError(f"argument {position + 1}: {name!r} cannot name an argument, since it names a file too")
        if len(os.fsencode(name)) > _LONGEST_NAME:
            raise ValueError(f"argument {position + 1}: a name of {len(name)} letters is too long for a file")
        if name in seen:
            raise ValueError(f"two arguments are named {name!r}: rename one of them")
        seen.add(name)
        if isinstance(spec, TensorSpec):
            spec.check()
    if not seen:
        raise ValueError("there are no specs: give a TensorSpec or ScalarSpec for each of the kernel's parameters")
    return tuple(argument_of(spec) for spec in specs)
