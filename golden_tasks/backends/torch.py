"""The platform `torch`: the kernel is a Python function over torch tensors, optionally through `torch.compile`.

The function takes the arguments in the specs' order (scalars as Python numbers), writes its outputs in place, and gets
those tile parameters as keywords that it has parameters for. A build is a copy of the file that defines it.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from golden_tasks import digest, records
from golden_tasks.backends import DigestFile, Read, arguments_as_parts, shown, unremembered
from golden_tasks.records import ABSENT, Argument, Build, Program
from golden_tasks.results import Failure, Status


class TorchKernel:
    """A Python function as a program for platform `torch`; with `compile=True` it runs through `torch.compile`.

    A plain function does as well.
    """

    def __init__(self, function: Callable[..., object], *, compile: bool = False) -> None:
        self.function = function
        self.compile = compile
        self.__name__ = function.__name__


class TorchBackend:
    """Serves the platform `torch`; see `golden_tasks.backends.Backend` for what each method promises."""

    name = "torch"
    platforms: tuple[str, ...] = ("torch",)
    options: tuple[str, ...] = ("compile",)
    leases_devices = False
    bakes_scalars = False
    compiles_with_torch = True
    usual_guards: tuple[str, ...] = ("inputs", "written", "repeat")

    def unavailable(self) -> str | None:
        return None

    def accepts(self, program: object) -> bool:
        return isinstance(program, TorchKernel) or inspect.isfunction(program)

    def describe(self, program: Any, platform: str, tiles: Mapping[str, object], options: Mapping[str, Any]) -> Program:
        if not self.accepts(program):
            raise Failure(
                Status.COMPILE_ERROR,
                f"platform 'torch' takes a function or a TorchKernel as its program, not a {type(program).__name__}",
            )
        kernel = program if isinstance(program, TorchKernel) else TorchKernel(program)
        function = inspect.unwrap(kernel.function)
        name = function.__qualname__
        if "<" in name or "." in name:
            raise Failure(
                Status.COMPILE_ERROR, f"{name!r} must be a function at module level, so that a build can load it"
            )
        file = Path(function.__code__.co_filename).resolve()
        taken = _taken(kernel.function, tiles)
        compiled = bool(options.get("compile", kernel.compile))
        plan = {"file": shown(file), "function": name, "tiles": taken, "compile": compiled}
        parts = {f"tile {tile}": repr(value) for tile, value in taken.items()}
        parts |= {"function": name, "torch.compile": str(compiled)}
        return Program(platform=platform, backend=self.name, name=name, plan=plan, parts=parts)

    def reaches(self, program: Any) -> Mapping[str, object]:
        function = program.function if isinstance(program, TorchKernel) else program
        return {function.__qualname__: function}

    def parts(self, program: Program, arguments: Sequence[Argument], read: Read) -> dict[str, str]:
        return {**program.parts, **arguments_as_parts(arguments), **self.toolchain(digest.of_file)}

    def toolchain(self, digest_file: DigestFile) -> dict[str, str]:
        return {"torch": version("torch")}

    def content(self, path: str, was: str, read: Read) -> str:
        return read("bytes", path, digest.of_file) if os.path.exists(path) else ABSENT

    def compile(self, program: Program, arguments: Sequence[Argument], work_dir: Path) -> Build:
        made_from = self.parts(program, arguments, unremembered)
        file = Path(program.plan["file"])
        (work_dir / "kernels").mkdir(parents=True, exist_ok=True)
        copy = work_dir / "kernels" / file.name
        shutil.copyfile(file, copy)
        config = {"platform": program.platform, **program.plan, "arguments": msgspec.to_builtins(arguments)}
        (work_dir / "kernel_config.json").write_text(json.dumps(config, indent=1) + "\n")
        build = Build(
            made_from=made_from,
            platform=program.platform,
            backend=self.name,
            binary=digest.of_parts(made_from),
            arguments=tuple(arguments),
            sources={f"kernels/{file.name}": digest.of_file(copy)},
            plan=program.plan,
        )
        kernel = _load(work_dir, build)
        if program.plan["compile"]:
            _warm(kernel, build)
        records.write(work_dir / "build.json", build)
        return build

    def edited(self, work_dir: Path, build: Build) -> list[str]:
        return [
            name
            for name, was in build.sources.items()
            if not (work_dir / name).is_file() or digest.of_file(work_dir / name) != was
        ]

    def rebuild(self, work_dir: Path, build: Build) -> Build:
        missing = [name for name in build.sources if not (work_dir / name).is_file()]
        if missing:
            raise Failure(
                Status.COMPILE_ERROR, f"{work_dir / missing[0]} is missing: compile again without runtime_dir"
            )
        sources = {name: digest.of_file(work_dir / name) for name in build.sources}
        made_from = {**build.made_from, "hand edit": digest.of_parts(sources)}  # not the kernel's own build any more
        binary = digest.of_parts(made_from)
        build = msgspec.structs.replace(build, made_from=made_from, sources=sources, binary=binary)
        records.write(work_dir / "build.json", build)
        return build

    def possible_guards(self, build: Build) -> tuple[str, ...]:
        return self.usual_guards  # torch itself keeps a Python kernel within its tensors

    def child_environment(self, build: Build) -> dict[str, str]:
        return {}

    def execute(self, work_dir: Path, build: Build, values: Sequence[Any], device: int) -> float:
        kernel = _load(work_dir, build)
        given = [v.item() if a.kind == "scalar" else v for a, v in zip(build.arguments, values, strict=True)]
        start = time.perf_counter()
        kernel(*given)
        return time.perf_counter() - start


def _taken(function: Callable[..., object], tiles: Mapping[str, object]) -> dict[str, object]:
    """The tile parameters that a function has parameters for. Raises `Failure` for one that no file can hold."""
    parameters = inspect.signature(function).parameters.values()
    every = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    taken = {name: value for name, value in tiles.items() if every or name in named}
    for name, value in taken.items():
        if not isinstance(value, (bool, int, float, str)):
            raise Failure(
                Status.COMPILE_ERROR, f"tile parameter {name} is {value!r}: it must be a number, a bool or a text"
            )
    return taken


def _load(work_dir: Path, build: Build) -> Callable[..., object]:
    """The function as the build has it. Modules and data beside the original file are found there.

    A process loads a build once: what it keeps between calls is there in the next one, as in C++.
    """
    original = Path(build.plan["file"]).resolve()
    path = (work_dir / "kernels" / original.name).resolve()
    text = path.read_bytes()
    key = (str(path), build.binary, digest.of_bytes(text))
    if key not in _loaded:
        _loaded[key] = _loaded_from(path, text, original, work_dir, build)
    return _loaded[key]


_loaded: dict[tuple[str, str, str], Callable[..., object]] = {}
_loading: list[Path] = []


def loading() -> Path | None:
    """The user's file that a build is loading right now; None if none is."""
    return _loading[-1] if _loading else None


def _loaded_from(path: Path, text: bytes, original: Path, work_dir: Path, build: Build) -> Callable[..., object]:
    plan = build.plan
    home = str(original.parent)
    if home not in sys.path:
        sys.path.insert(0, home)
    name = f"_golden_tasks_build_{digest.of_text(f'{path} {build.binary}')[7:15]}"
    module = ModuleType(name)
    module.__file__ = str(original if original.exists() else path)
    told = original if original.exists() and original.read_bytes() == text else path  # in a traceback
    sys.modules[name] = module
    _loading.append(original)
    try:
        exec(compile(text, told, "exec"), vars(module))  # from its source, never from a cached .pyc
    finally:
        _loading.pop()
    function = getattr(module, plan["function"], None)
    if function is None:
        raise Failure(Status.COMPILE_ERROR, f"{path} has no function {plan['function']!r}")
    function = function.function if isinstance(function, TorchKernel) else function
    tiles = plan["tiles"]
    if plan["compile"]:
        import torch

        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str((work_dir / "cache").resolve())
        function = torch.compile(function)
    return lambda *values: function(*values, **tiles)


def _warm(kernel: Callable[..., object], build: Build) -> None:
    """Runs a function once on zeros, so that `torch.compile` fills the build's cache."""
    import torch

    kernel(*[0 if a.kind == "scalar" else torch.zeros(a.shape, dtype=getattr(torch, a.dtype)) for a in build.arguments])
