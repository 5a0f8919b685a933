"""`CppKernel`: a C++ function as a case's program."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SANITIZERS = ("address", "undefined")


class CppKernel:
    """A C++17 function in a source file, whose parameters follow the specs (see `golden_tasks.h`).

    `source` is relative to the Python file that names it. `function` is the file's stem unless given; it may lie in a
    namespace, as `attention::decode` does. `defines` become preprocessor macros beside the tile parameters. `flags` go
    to the compiler after the source; paths in them must be absolute. `debug` builds without optimisation and with
    symbols, `sanitize` is any of `address` and `undefined`.
    """

    def __init__(
        self,
        source: str | Path,
        function: str | None = None,
        *,
        defines: Mapping[str, object] | None = None,
        flags: Sequence[str] | str = (),
        debug: bool = False,
        sanitize: Sequence[str] | str = (),
    ) -> None:
        namer = sys._getframe(1).f_globals.get("__file__")
        self.source = (Path(namer).resolve().parent / source if namer else Path(source).resolve()).resolve()
        self.function = function or self.source.stem
        self.defines = dict(defines or {})
        self.flags = words(flags)
        self.debug = debug
        self.sanitize = sanitize

    def __repr__(self) -> str:
        return f"CppKernel({self.source.name!r}, {self.function!r})"


def words(option: Sequence[str] | str) -> tuple[str, ...]:
    """An option's words: as they are, or from one text with blanks between them."""
    return tuple(shlex.split(option)) if isinstance(option, str) else tuple(option)
