"""Imports the project's modules from their source, never from a cached `.pyc`, and says what could be imported instead.

A `.pyc` counts as current by the source's size and its modification time in seconds. An edit of the same length within
one second, or with its time restored, would run the old code under the new source's fingerprint.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from golden_tasks.fingerprint import code
from golden_tasks.fingerprint.local import is_local

_get_code = SourceFileLoader.get_code


def _get_code_from_source(loader: SourceFileLoader, fullname: str) -> CodeType | None:
    if not is_local(loader.path):
        return _get_code(loader, fullname)
    return loader.source_to_code(loader.get_data(loader.path), loader.path)


def import_from_source() -> None:
    """Makes this process import the project's modules from their source from now on."""
    sys.dont_write_bytecode = True
    SourceFileLoader.get_code = _get_code_from_source  # type: ignore[assignment, method-assign]


def module_from_file(name: str, path: Path) -> ModuleType:
    """Imports a file as the module `name`. What the file raises passes through."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def absent_modules(modules: Iterable[ModuleType], before: Collection[str]) -> Iterator[str]:
    """Files that are not there, and that one of the modules would import if they were.

    `before` are the names of the modules that were there already: Python does not look for them again.
    """
    for module in list(sys.modules.values()):
        for folder in getattr(module, "__path__", ()) if getattr(module, "__file__", None) is None else ():
            if is_local(folder):  # a package without `__init__.py`
                yield os.path.join(os.path.abspath(folder), "__init__.py")
    for module in modules:
        for name in code.imports_of_file(str(module.__file__), module.__package__ or ""):
            parent, _, last = name.rpartition(".")
            folders = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
            for folder in () if name in before else folders:
                base = os.path.abspath(os.path.join(folder, last))
                package = f"{base}/__init__.py" if os.path.isdir(base) else base
                for file in (package, *(base + suffix for suffix in (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES))):
                    if os.path.exists(file):
                        break
                    if is_local(base) and os.path.isdir(folder or "."):
                        yield file
                else:
                    continue
                break
