"""The `cpu` backend: describes, builds, checks and runs C++ kernels."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import msgspec

from golden_tasks import digest, records
from golden_tasks.backends import DigestFile, Read, arguments_as_parts, shown, unremembered
from golden_tasks.backends.cpu import compiler, dependencies, orchestration, runtime_dir, source
from golden_tasks.backends.cpu.kernel import SANITIZERS, CppKernel, words
from golden_tasks.records import Argument, Build, Program
from golden_tasks.results import Failure, Status

_NAME = re.compile(r"[^\W\d]\w*(::[^\W\d]\w*)*")


class CpuBackend:
    """Serves the platform `cpu`; see `golden_tasks.backends.Backend` for what each method promises."""

    name = "cpu"
    platforms: tuple[str, ...] = ("cpu",)
    options: tuple[str, ...] = ("debug", "sanitize", "flags")
    compiles_with_torch = False
    usual_guards: tuple[str, ...] = ("inputs", "written", "bounds", "repeat")
    leases_devices = False
    bakes_scalars = False

    def unavailable(self) -> str | None:
        return compiler.unavailable()

    def accepts(self, program: object) -> bool:
        return isinstance(program, CppKernel)

    def describe(self, program: Any, platform: str, tiles: Mapping[str, object], options: Mapping[str, Any]) -> Program:
        if not self.accepts(program):
            raise Failure(
                Status.COMPILE_ERROR,
                f"platform 'cpu' takes a CppKernel as its program, not a {type(program).__name__}",
            )
        if not _NAME.fullmatch(program.function) or orchestration.RESERVED.intersection(program.function.split("::")):
            raise Failure(
                Status.COMPILE_ERROR,
                f"{program.function!r} is no name of a C++ function: name it by CppKernel(..., function=...)",
            )
        sanitize = _sanitizers(options.get("sanitize", program.sanitize))
        path = shown(program.source)
        defines = {name: _macro(name, value) for name, value in {**program.defines, **tiles}.items()}
        clash = [name for name in defines if name in program.function.split("::")]
        if clash:
            raise Failure(Status.COMPILE_ERROR, f"tile parameter {clash[0]!r} has the name of the kernel's function")
        flags = [*program.flags, *words(options.get("flags", ()))]
        debug = bool(options.get("debug", program.debug))
        parts = {f"tile {name}": value for name, value in defines.items()}
        parts |= {"function": program.function, "flags": shlex.join(flags)}
        parts |= {
            "build": "debug" if debug else "release",
            "sanitize": ",".join(sanitize),
        }
        plan = {
            "source": path,
            "function": program.function,
            "defines": defines,
            "flags": flags,
            "debug": debug,
            "sanitize": list(sanitize),
        }
        name = program.function
        return Program(platform=platform, backend=self.name, name=name, plan=plan, sources=[path], parts=parts)

    def reaches(self, program: Any) -> Mapping[str, object]:
        return {}

    def parts(self, program: Program, arguments: Sequence[Argument], read: Read) -> dict[str, str]:
        parts = dict(program.parts)
        for path in program.sources:
            try:
                parts[f"source {path}"] = read("text", path, source.digest_text)
            except OSError as error:
                mend = "CppKernel(...) names it from its kernel file's folder"
                raise Failure(Status.COMPILE_ERROR, f"{path}: {error.strerror}; {mend}") from None
        generated = orchestration.generate(program.plan["function"], Path(program.plan["source"]).name, arguments)
        parts["orchestration"] = digest.of_text("\0".join([generated, *_headers()]))
        with contextlib.suppress(Failure):
            parts |= self.toolchain(lambda path: read("bytes", path, digest.of_file))
        return {**parts, **arguments_as_parts(arguments)}

    def toolchain(self, digest_file: DigestFile) -> dict[str, str]:
        command = compiler.require()
        found = {f"compiler {path}": digest_file(path) for path in compiler.binaries(command)}
        return {"compiler": " ".join(command), **found}

    def content(self, path: str, was: str, read: Read) -> str:
        return dependencies.content(path, was, read)

    def compile(self, program: Program, arguments: Sequence[Argument], work_dir: Path) -> Build:
        made_from = self.parts(program, arguments, unremembered)
        command = compiler.require()
        plan = program.plan
        work_dir = Path(os.path.abspath(work_dir))
        root, copies = runtime_dir.lay_out(work_dir, command, program, arguments)
        kernel = Path(plan["source"]).resolve()
        if source.digest_text(str(copies[kernel])) != made_from[f"source {plan['source']}"]:
            raise Failure(Status.STALE, f"{plan['source']} was edited while it was compiled: run again")
        read = runtime_dir.link(work_dir, command, plan, arguments, root)
        originals = {copy: path for path, copy in copies.items()}
        for unread in originals.keys() - read - {copies[kernel]}:
            unread.unlink()  # a flag's absolute path led the compiler to the original
        own = work_dir / "orchestration"
        texts = {kernel, *(originals.get(path, path) for path in read if path.parent != own)}
        build = Build(
            made_from=made_from,
            found={shown(path): content for path, content in dependencies.found(command, plan, kernel, texts).items()},
            environment=dependencies.environment(),
            platform=program.platform,
            backend=self.name,
            binary="",
            arguments=tuple(arguments),
            sources={},
            plan=plan,
        )
        return _record(work_dir, command, build)

    def edited(self, work_dir: Path, build: Build) -> list[str]:
        now, was = runtime_dir.sources(work_dir), build.sources
        edited = [name for name in sorted(now.keys() | was.keys()) if now.get(name) != was.get(name)]
        for name, made in build.made.items():
            path = work_dir / name
            if not path.is_file() or digest.of_file(path) != made:
                edited.append(name)
        return edited

    def rebuild(self, work_dir: Path, build: Build) -> Build:
        command = compiler.require()
        work_dir = Path(os.path.abspath(work_dir))
        before = runtime_dir.sources(work_dir)
        runtime_dir.link(work_dir, command, build.plan, build.arguments, work_dir / "kernels")
        if runtime_dir.sources(work_dir) != before:
            raise Failure(Status.STALE, f"{work_dir} was edited while it was compiled: run again")
        kept = {part: was for part, was in build.made_from.items() if not part.startswith("compiler")}
        made_from = {**kept, **self.toolchain(digest.of_file)}
        if before != build.sources:
            made_from["hand edit"] = digest.of_parts(
                before
            )  # so that the graph does not take it for the kernel's build
        return _record(work_dir, command, msgspec.structs.replace(build, made_from=made_from))

    def possible_guards(self, build: Build) -> tuple[str, ...]:
        """Zones around the arguments would hide from the address sanitizer what it finds by itself, and at once."""
        sanitized = "address" in build.plan["sanitize"]
        return tuple(guard for guard in self.usual_guards if guard != "bounds" or not sanitized)

    def child_environment(self, build: Build) -> dict[str, str]:
        if "address" not in build.plan["sanitize"]:
            return {}
        library = compiler.address_sanitizer(compiler.require())
        if library is None:
            raise Failure(
                Status.SKIPPED,
                "this compiler has no shared library of the address sanitizer: build without sanitize='address'",
            )
        return {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}

    def execute(self, work_dir: Path, build: Build, values: Sequence[Any], device: int) -> float:
        from golden_tasks.backends.cpu import launch

        if "address" in build.plan["sanitize"] and not launch.address_sanitizer_loaded():
            preload = " ".join(f"{name}={value}" for name, value in self.child_environment(build).items())
            raise Failure(
                Status.RUNTIME_ERROR,
                f"a kernel built with sanitize='address' needs the sanitizer from the start: {preload} python ...",
            )
        return launch.run(work_dir / runtime_dir.binary(build.plan["function"]), build, values)


def _sanitizers(chosen: Sequence[str] | str | None) -> list[str]:
    """The sanitizers of an option, in one order. Raises `Failure` for one that does not exist."""
    names = chosen.replace(",", " ").split() if isinstance(chosen, str) else list(chosen or ())
    wrong = [name for name in names if name not in SANITIZERS]
    if wrong:
        raise Failure(Status.COMPILE_ERROR, f"there is no sanitizer {wrong}: choose from {list(SANITIZERS)}")
    return [name for name in SANITIZERS if name in names]


def _macro(name: str, value: object) -> str:
    """A value as the text of a macro. Raises `Failure` for a name or a value that cannot be one."""
    if not name.isidentifier() or name in orchestration.RESERVED:
        raise Failure(
            Status.COMPILE_ERROR,
            f"tile parameter {name!r} cannot be a C++ macro: use letters, digits and _, and no word of C++",
        )
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real) and math.isfinite(value):
        return repr(float(value))
    if isinstance(value, str) and value.isprintable() and not value.endswith("\\"):
        return str.__str__(value)
    raise Failure(
        Status.COMPILE_ERROR,
        f"tile parameter {name} is {value!r}: a C++ macro takes a finite number, a bool or a text of one line",
    )


@functools.cache
def _headers() -> list[str]:
    """The texts of the headers that generated code includes."""
    return [header.read_text() for header in runtime_dir.HEADERS]


def _record(work_dir: Path, command: Sequence[str], build: Build) -> Build:
    """Writes and returns a build's record with what now lies in its folder."""
    binary = runtime_dir.binary(build.plan["function"])
    made = {binary: digest.of_file(work_dir / binary)}
    arguments = {f"argument {i} {a.name}": str(a) for i, a in enumerate(build.arguments)}
    build = msgspec.structs.replace(
        build,
        made=made,
        binary=digest.of_parts({**arguments, "binary": made[binary]}),
        sources=runtime_dir.sources(work_dir),
        command=[compiler.identity(command), *runtime_dir.call_of(command, build.plan), "-o", binary],
    )
    records.write(work_dir / runtime_dir.RECORD, build)
    return build
