"""Calls a built kernel with tensors, in this process."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from golden_tasks.backends.cpu.orchestration import ENTRY
from golden_tasks.records import Argument, Build
from golden_tasks.results import Failure, Status
from golden_tasks.specs import dtype_name, scalar_to_ctypes

_loaded: dict[str, str] = {}  # binary loaded in this process -> its digest


class _Argument(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )


def run(binary: Path, build: Build, values: Sequence[torch.Tensor]) -> float:
    """Calls the kernel with tensors and 0-dim scalar tensors in the arguments' order; returns its seconds.

    Outputs are changed in place. Raises `Failure` if the kernel throws or the binary cannot be loaded.
    """
    entry = _load(binary, build)
    keep: list[object] = []
    written: list[tuple[torch.Tensor, torch.Tensor]] = []
    arguments = (_Argument * max(1, len(values)))()
    for place, (argument, given) in enumerate(zip(build.arguments, values, strict=True)):
        _check(argument, given)
        value = given.resolve_conj().resolve_neg()  # memory as it is read; the same tensor unless that is put off
        if value is not given and argument.is_output:
            written.append((given, value))
        if argument.kind == "scalar":
            scalar = scalar_to_ctypes(value)
            keep.append(scalar)
            arguments[place].data = ctypes.addressof(scalar)
            continue
        rank = max(1, value.dim())
        shape = (ctypes.c_int64 * rank)(*value.shape)
        strides = (ctypes.c_int64 * rank)(*value.stride())
        keep += [value, shape, strides]
        arguments[place] = _Argument(value.data_ptr(), shape, strides)
    start = time.perf_counter()
    error = entry(arguments)
    seconds = time.perf_counter() - start
    if error is not None:
        said = error.decode("utf-8", "replace")
        raise Failure(Status.RUNTIME_ERROR, f"kernel {build.plan['function']!r} threw: {said}")
    for given, value in written:
        given.copy_(value)
    return seconds


def address_sanitizer_loaded() -> bool:
    """Whether this process was started with the address sanitizer's library."""
    return hasattr(ctypes.CDLL(None), "__asan_init")


def _check(argument: Argument, value: torch.Tensor) -> None:
    """Raises `Failure` for a tensor that the kernel would read as something else, or past its end."""
    is_memory = value.device.type == "cpu" and value.layout is torch.strided
    if not is_memory or dtype_name(value.dtype) != argument.dtype or tuple(value.shape) != argument.shape:
        where = "" if is_memory else f" on {value.device}, {value.layout}"
        kind = f"{dtype_name(value.dtype)} {list(value.shape)}{where}"
        raise Failure(Status.RUNTIME_ERROR, f"argument {argument.name!r} is {kind}; its build takes {argument}")


def _load(binary: Path, build: Build) -> ctypes._NamedFuncPointer:
    place = str(binary.resolve())
    digest = build.made[f"kernels/{binary.name}"]
    try:
        same = _loaded.setdefault(place, digest) == digest
        library = ctypes.CDLL(place) if same else _load_beside(binary)
        entry = getattr(library, ENTRY)
    except (OSError, AttributeError) as error:
        raise Failure(Status.RUNTIME_ERROR, f"{binary} cannot be loaded: {error}") from None
    entry.restype = ctypes.c_char_p
    return entry  # type: ignore[no-any-return]


def _load_beside(binary: Path) -> ctypes.CDLL:
    """Loads a copy: the loader would hand out the older binary that it has loaded from the same path."""
    handle, copy = tempfile.mkstemp(prefix=f"{binary.stem}_", suffix=".so")
    os.close(handle)
    try:
        shutil.copyfile(binary, copy)
        return ctypes.CDLL(copy)
    finally:
        os.unlink(copy)
