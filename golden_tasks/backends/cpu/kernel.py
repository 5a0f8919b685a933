"""`CppKernel`: a C++ function as a case's program."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SANITIZERS = ("address", "undefined")


class CppKernel:
    """A C++17 function in a source file, whose parameters follow the specs (see `golden_tasks.h`).

    `source` is relative to the Python file that names it; `function` is the file's stem unless given.
    `defines` become preprocessor macros beside the tile parameters, `flags` are handed to the compiler,
    `debug` builds without optimisation and with symbols, `sanitize` is any of `address` and `undefined`.
    """

    def __init__(
        self,
        source: str | Path,
        function: str | None = None,
        *,
        defines: Mapping[str, object] | None = None,
        flags: Sequence[str] = (),
        debug: bool = False,
        sanitize: Sequence[str] | str = (),
    ) -> None:
        namer = sys._getframe(1).f_globals.get("__file__")
        self.source = (Path(namer).resolve().parent / source if namer else Path(source).resolve()).resolve()
        self.function = function or self.source.stem
        self.defines = dict(defines or {})
        self.flags = tuple(flags)
        self.debug = debug
        self.sanitize = tuple(sanitize.split(",")) if isinstance(sanitize, str) else tuple(sanitize)

    def __repr__(self) -> str:
        return f"CppKernel({self.source.name!r}, {self.function!r})"
