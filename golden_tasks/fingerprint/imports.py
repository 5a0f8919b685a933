"""Imports the project's modules from their source, never from a cached `.pyc`.

A `.pyc` counts as current by the source's size and its modification time in seconds. An edit of the same length within
one second, or with its time restored, would run the old code under the new source's fingerprint.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from golden_tasks.fingerprint.local import is_local


class _FromSource(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class _Finder(MetaPathFinder):
    def __init__(self, root: Path) -> None:
        self._root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and is_local(spec.origin, self._root):
            spec.loader = _FromSource(spec.loader.name, spec.loader.path)
        return spec


def import_from_source(root: Path) -> None:
    """Makes this process import the project's modules from their source from now on."""
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, _Finder(root.resolve()))


def module_from_file(name: str, path: Path) -> ModuleType:
    """Imports a file as the module `name`. What the file raises passes through."""
    spec = importlib.util.spec_from_loader(name, _FromSource(name, str(path)), origin=str(path))
    assert spec is not None
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module
