"""Which files are the project's own, and how their paths are written."""

from __future__ import annotations

import functools
import os
import sysconfig
import types
from pathlib import Path

_HARNESS = Path(__file__).resolve().parent.parent
_KINDS = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
_INSTALLED = {Path(sysconfig.get_path(kind)).resolve() for kind in _KINDS}


@functools.lru_cache(maxsize=4096)
def is_local(file: str | None, root: Path) -> bool:
    """Whether a source file is the project's own: below its folder, and neither installed nor the harness itself.

    Some modules name a file that is none: `torch.ops` says `_ops.py`.
    """
    if not file or file.startswith("<") or not (os.path.isabs(file) or os.path.exists(file)):
        return False
    path = Path(file).resolve()
    return (
        (path.is_relative_to(root) or Path(os.path.abspath(file)).is_relative_to(root))
        and not path.is_relative_to(_HARNESS)
        and not any(path.is_relative_to(place) for place in _INSTALLED)
        and not {"site-packages", "dist-packages"}.intersection(path.parts)
    )


def is_local_module(module: types.ModuleType | None, root: Path) -> bool:
    """Whether a module is the project's own; a package without `__init__.py` is where its folders are."""
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return any(is_local(place, root) for place in places)


def shown(file: str, root: Path) -> str:
    """A path as records and messages write it: relative to the project where it lies in it."""
    place = Path(os.path.abspath(file))
    if place.is_relative_to(root):
        return str(place.relative_to(root))
    path = place.resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(place)
