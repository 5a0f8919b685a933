"""Which files are the project's own, and how their paths are written."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path

_HARNESS = Path(__file__).resolve().parent.parent
_KINDS = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")


def _installed() -> Iterator[Path]:
    yield from (Path(sysconfig.get_path(kind)).resolve() for kind in _KINDS)
    stdlib = Path(sysconfig.get_path("stdlib")).resolve()
    yield stdlib.parent / f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    for library in ("torch", "numpy"):  # which may be used where they were built
        spec = importlib.util.find_spec(library)
        yield from (Path(place).resolve() for place in (spec.submodule_search_locations or () if spec else ()))


_INSTALLED = {*_installed(), _HARNESS}


@functools.lru_cache(maxsize=4096)
def is_local(file: str | None) -> bool:
    """Whether a source file is the project's own: one that is neither installed nor the harness itself.

    It may lie outside the project's folder, found by `PYTHONPATH` or installed as editable. Some modules name a file
    that is none: `torch.ops` says `_ops.py`.
    """
    if not file or file.startswith("<") or not (os.path.isabs(file) or os.path.exists(file)):
        return False
    path = Path(file).resolve()
    return not {"site-packages", "dist-packages"}.intersection(path.parts) and not any(
        path.is_relative_to(place) for place in _INSTALLED
    )


def is_local_module(module: types.ModuleType | None) -> bool:
    """Whether a module is the project's own; a package without `__init__.py` is where its folders are."""
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return any(is_local(place) for place in places)


def on_disk(file: str) -> str:
    """The file that holds a module's source: itself, or the archive that it is imported from."""
    path = Path(file)
    return next((str(place) for place in (path, *path.parents) if place.is_file()), file)


def shown(file: str, root: Path) -> str:
    """A path as records and messages write it: relative to the project where it lies in it or beside it."""
    place = Path(os.path.abspath(file))
    for path in (place, place.resolve()):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    if place.is_relative_to(root.parent) and len(root.parts) > 2:
        return os.path.relpath(place, root)
    return str(place)
