"""What memory from `malloc` holds before a kernel has set it."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

_M_PERTURB = -6
_FILL = 0x80  # glibc fills with the complement: 0x7F throughout is a large number or NaN in every dtype


@contextlib.contextmanager
def filled() -> Iterator[None]:
    """Has `malloc` hand out memory that is far from zero, where the C library can do that (glibc)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        mallopt = None
    if mallopt is None:
        yield
        return
    mallopt(_M_PERTURB, _FILL)
    try:
        yield
    finally:
        mallopt(_M_PERTURB, 0)
