"""The content of values, as texts that are the same in every process and in every folder."""

from __future__ import annotations

import ctypes
import functools
import logging
import math
import os
import pathlib
import re
import sys
import threading
from pathlib import Path
from typing import Any

from golden_tasks import digest
from golden_tasks.fingerprint.local import shown

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range)
LOCKS = (type(threading.Lock()), type(threading.RLock()))
_FEW = 4  # elements of a tensor that are written out
_LONGEST_INT = 1000  # in bits; Python refuses to write much longer ones as decimals


def plain(value: object, root: Path) -> str:
    """A value of one of the types in `PLAIN`, as Python writes it. The project's own folder is not part of it."""
    if isinstance(value, str):
        if str(root) in value:
            value = re.sub(rf"{re.escape(str(root))}(?![\w.-])", "<project>", value)
        return ascii(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        return hex(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def content(value: Any, root: Path) -> str | None:
    """A value of a well-known type of a library; None for any other."""
    if isinstance(value, pathlib.PurePath):
        return f"{type(value).__name__}({plain(str(value), root)})"
    if isinstance(value, re.Pattern):
        return f"re.compile({value.pattern!a}, {value.flags})"
    if isinstance(value, (logging.Logger, logging.Handler)):
        return f"{type(value).__name__}({value.name!a})"
    if os._Environ in type(value).__mro__:
        return "os.environ"  # which of it is read, is seen while the code runs
    if isinstance(value, LOCKS):
        return "a lock"
    if isinstance(value, ctypes.CDLL):
        return _library(value, root)
    home = str(type(value).__module__).partition(".")[0]  # a slot of that name hides it
    if "torch" in sys.modules:
        text = _of_torch(value, home)
        if text is not None:
            return text
    return _of_numpy(value) if home == "numpy" else None


def _library(library: ctypes.CDLL, root: Path) -> str:
    file = Path(library._name or "")
    inside = digest.of_file(file) if file.is_file() else ""
    return f"library {shown(str(file), root) if inside else file} {inside}"


def _of_torch(value: Any, home: str) -> str | None:
    import torch

    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if home != "torch":
        return None
    if isinstance(value, torch.Generator):
        return f"generator {value.device} {_tensor(value.get_state())}"
    described = (torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format, torch.finfo, torch.iinfo)
    return repr(value) if isinstance(value, described) else None


def _tensor(value: Any) -> str | None:
    import torch

    kind = f"tensor {value.dtype} {list(value.shape)}"
    if value.is_meta:
        return f"{kind} meta"
    if value.layout in (torch.sparse_coo, torch.sparse_csr):
        return f"{kind} {value.layout} {_tensor(value.to_dense())}"
    if value.layout is not torch.strided or value.is_quantized or value.is_nested:
        return None
    held = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    about = "" if value.device.type == "cpu" else f" on {value.device}"
    about += "" if value.is_contiguous() else f" stride {list(value.stride())}"
    about += " requires grad" if value.requires_grad else ""
    if 0 < held.numel() <= _FEW and value.dtype in _written_out():
        written = str(held.tolist())
        if "nan" not in written:
            return f"torch.tensor({written}, dtype={value.dtype}){about}"
    size = held.numel() * held.element_size()
    bits = (ctypes.c_char * size).from_address(held.data_ptr()) if size else b""
    return f"{kind}{about} {digest.of_bytes(memoryview(bits).cast('B'))}"


@functools.cache
def _written_out() -> set[Any]:
    import torch

    return {torch.bool, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64}


def _of_numpy(value: Any) -> str | None:
    import numpy as np

    if isinstance(value, np.dtype):
        return f"dtype({value.descr if value.names else value.str!a})"
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        exact = value.dtype.kind in "biuSU" or (value.dtype.kind in "fc" and value == value)
        bits = "" if exact else f" {value.tobytes().hex()}"
        return f"{value.dtype}({value.item()!a}){bits}"
    if type(value) is np.ndarray and not value.dtype.hasobject:
        stride = "" if value.flags.c_contiguous else f" stride {list(value.strides)}"
        return f"array {value.dtype.str} {list(value.shape)}{stride} {digest.of_bytes(value.tobytes())}"
    return None
