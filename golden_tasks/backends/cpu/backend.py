"""The `cpu` backend: describes, builds, checks and runs C++ kernels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from golden_tasks import digest, records
from golden_tasks.backends import DigestFile
from golden_tasks.backends.cpu import compiler, orchestration
from golden_tasks.backends.cpu.kernel import SANITIZERS, CppKernel
from golden_tasks.records import Argument, Build, Program
from golden_tasks.results import Failure, Status

_HEADER = Path(__file__).parent / "include" / "golden_tasks.h"
_OPTIONS = ("debug", "sanitize", "flags")


class CpuBackend:
    """Serves the platform `cpu`; see `golden_tasks.backends.Backend` for what each method promises."""

    name = "cpu"
    platforms: tuple[str, ...] = ("cpu",)
    bakes_scalars = False

    def unavailable(self) -> str | None:
        return compiler.unavailable()

    def accepts(self, program: object) -> bool:
        return isinstance(program, CppKernel)

    def describe(self, program: Any, platform: str, tiles: Mapping[str, object], options: Mapping[str, Any]) -> Program:
        if not isinstance(program, CppKernel):
            raise Failure(
                Status.COMPILE_ERROR,
                f"platform 'cpu' takes a CppKernel as its program, not a {type(program).__name__}",
            )
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise Failure(
                Status.COMPILE_ERROR,
                f"platform 'cpu' has no compile option {unknown}: it has {list(_OPTIONS)}",
            )
        sanitize = options.get("sanitize") or program.sanitize
        sanitize = tuple(sanitize.split(",")) if isinstance(sanitize, str) else tuple(sanitize)
        wrong = [name for name in sanitize if name not in SANITIZERS]
        if wrong:
            raise Failure(Status.COMPILE_ERROR, f"there is no sanitizer {wrong}: choose from {list(SANITIZERS)}")
        source = _relative(program.source)
        defines = {name: _macro(name, value) for name, value in {**program.defines, **tiles}.items()}
        flags = [*program.flags, *options.get("flags", ())]
        debug = bool(options.get("debug", program.debug))
        parts = {f"tile {name}": value for name, value in defines.items()}
        parts |= {"function": program.function, "flags": " ".join(flags)}
        parts |= {
            "build": "debug" if debug else "release",
            "sanitize": ",".join(sanitize),
            "kernel file": source,
        }
        plan = {
            "source": source,
            "function": program.function,
            "defines": defines,
            "flags": flags,
            "debug": debug,
            "sanitize": list(sanitize),
        }
        return Program(platform=platform, backend=self.name, plan=plan, sources=[source], parts=parts)

    def parts(self, program: Program, arguments: Sequence[Argument], digest_file: DigestFile) -> dict[str, str]:
        parts = dict(program.parts)
        for source in program.sources:
            try:
                parts[source] = digest_file(source)
            except OSError as error:
                raise Failure(Status.COMPILE_ERROR, f"{source}: {error.strerror}") from None
        parts["arguments"] = ", ".join(f"{a.name}: {a}" for a in arguments)
        parts["orchestration"] = digest.of_text(
            orchestration.generate(program.plan["function"], Path(program.plan["source"]).name, arguments)
            + _HEADER.read_text()
        )
        command = compiler.find()
        if command is not None:
            parts["compiler"] = " ".join([*command, digest_file(compiler.binary(command))])
        return parts

    def compile(self, program: Program, arguments: Sequence[Argument], work_dir: Path) -> Build:
        made_from = self.parts(program, arguments, digest.of_file)
        plan = program.plan
        source, function = Path(plan["source"]), plan["function"]
        (work_dir / "kernels").mkdir(parents=True, exist_ok=True)
        (work_dir / "orchestration").mkdir(exist_ok=True)
        shutil.copyfile(source, work_dir / "kernels" / source.name)
        shutil.copyfile(_HEADER, work_dir / "orchestration" / _HEADER.name)
        generated = orchestration.generate(function, source.name, arguments)
        (work_dir / "orchestration" / f"{function}.cpp").write_text(generated)
        if digest.of_file(work_dir / "kernels" / source.name) != made_from[plan["source"]]:
            raise Failure(Status.STALE, f"{source} was edited while it was compiled: run again")
        command = compiler.require()
        _link(command, work_dir, plan)
        found = _copy_headers(work_dir, source, work_dir / _dependencies(function))
        _write_config(work_dir, program, arguments)
        build = Build(
            made_from=made_from,
            found=found,
            made={_binary(function): digest.of_file(work_dir / _binary(function))},
            platform=program.platform,
            backend=self.name,
            binary=_digest_of_build(work_dir, function, arguments),
            arguments=tuple(arguments),
            sources=_sources(work_dir),
            command=[compiler.identity(command), *_command(command, plan)],
            plan=plan,
        )
        records.write(work_dir / "build.json", build)
        return build

    def edited(self, work_dir: Path, build: Build) -> list[str]:
        now = _sources(work_dir)
        edited = [
            name for name in sorted(now.keys() | build.sources.keys()) if now.get(name) != build.sources.get(name)
        ]
        for name, made in build.made.items():
            path = work_dir / name
            if not path.is_file() or digest.of_file(path) != made:
                edited.append(name)
        return edited

    def rebuild(self, work_dir: Path, build: Build) -> Build:
        function = build.plan["function"]
        sources = _sources(work_dir)
        command = compiler.require()
        _link(command, work_dir, {**build.plan, "source": ""})
        build.sources = sources
        build.made = {_binary(function): digest.of_file(work_dir / _binary(function))}
        build.binary = _digest_of_build(work_dir, function, build.arguments)
        build.command = [compiler.identity(command), *_command(command, {**build.plan, "source": ""})]
        (work_dir / _dependencies(function)).unlink(missing_ok=True)
        records.write(work_dir / "build.json", build)
        return build

    def child_environment(self, build: Build) -> dict[str, str]:
        if "address" not in build.plan["sanitize"]:
            return {}
        library = compiler.sanitizer_library("libasan.so")
        if library is None:
            raise Failure(Status.SKIPPED, "this compiler has no libasan.so: build without sanitize='address'")
        return {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}

    def execute(self, work_dir: Path, build: Build, values: Sequence[Any], device: int) -> float:
        from golden_tasks.backends.cpu import launch

        if "address" in build.plan["sanitize"] and not launch.address_sanitizer_loaded():
            preload = " ".join(f"{name}={value}" for name, value in self.child_environment(build).items())
            raise Failure(
                Status.RUNTIME_ERROR,
                f"a kernel built with sanitize='address' needs the sanitizer from the start: {preload} python ...",
            )
        return launch.run(work_dir / _binary(build.plan["function"]), build, values)


def _binary(function: str) -> str:
    return f"kernels/{function}.so"


def _dependencies(function: str) -> str:
    """Where the compiler reports the headers that it read."""
    return f"{_binary(function)}.d"


def _relative(path: Path) -> str:
    """A path below the current folder relative to it, so that a copied project finds its builds current."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _macro(name: str, value: object) -> str:
    if not name.isidentifier():
        raise Failure(Status.COMPILE_ERROR, f"tile parameter {name!r} cannot be a C++ macro: use letters, digits and _")
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float, str)):
        return str(value)
    raise Failure(
        Status.COMPILE_ERROR,
        f"tile parameter {name} is {value!r}: a C++ macro takes a number, a bool or a text",
    )


def _command(command: Sequence[str], plan: Mapping[str, Any]) -> list[str]:
    """The compiler call that makes the binary, to be run in the runtime_dir."""
    function = plan["function"]
    optimise = ["-O0", "-g"] if plan["debug"] else ["-O2"]
    if plan["sanitize"]:
        optimise += ["-g", "-fno-omit-frame-pointer", f"-fsanitize={','.join(plan['sanitize'])}"]
        if "undefined" in plan["sanitize"]:
            optimise += ["-fno-sanitize-recover=undefined"]
    beside = ["-iquote", str(Path(plan["source"]).resolve().parent)] if plan["source"] else []
    defines = [f"-D{name}={value}" for name, value in plan["defines"].items()]
    return [
        *command,
        *["-std=c++17", *optimise, "-fPIC", "-shared", "-fdiagnostics-color=never"],
        *[f"-ffile-prefix-map={Path.cwd()}=.", "-Iorchestration", *beside, *defines, *plan["flags"]],
        *[f"orchestration/{function}.cpp", "-o", f"{_binary(function)}.new"],
        *["-MMD", "-MF", _dependencies(function)],
    ]


def _link(command: Sequence[str], work_dir: Path, plan: Mapping[str, Any]) -> None:
    binary = work_dir / _binary(plan["function"])
    beside = binary.with_name(f"{binary.name}.new")
    shown_as = {"orchestration/../kernels/": "kernels/"}
    if plan["source"]:
        source = Path(plan["source"])
        shown_as = {f"orchestration/../kernels/{source.name}": str(source)}
    try:
        compiler.call(_command(command, plan), work_dir, shown_as)
        beside.replace(binary)
    finally:
        beside.unlink(missing_ok=True)


def _copy_headers(work_dir: Path, source: Path, report: Path) -> dict[str, str]:
    """Copies the kernel's own headers beside its copy, and returns them with their digests.

    Which they are the compiler has reported. One outside the source's folder stays where it is.
    """
    names = report.read_text().replace("\\\n", " ").split(":", 1)[1]
    report.unlink()
    home = source.resolve().parent
    found = {}
    for name in names.replace("\\ ", "\0").split():
        header = (work_dir / name.replace("\0", " ")).resolve()
        if header.is_relative_to(work_dir.resolve()):
            continue
        found[_relative(header)] = digest.of_file(header)
        if header.is_relative_to(home):
            copy = work_dir / "kernels" / header.relative_to(home)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(header, copy)
    return found


def _sources(work_dir: Path) -> dict[str, str]:
    """All that is compiled from in a runtime_dir -> its digest."""
    sources = {}
    for folder in ("kernels", "orchestration"):
        for path in sorted((work_dir / folder).rglob("*")):
            if path.is_file() and ".so" not in path.suffixes:
                sources[str(path.relative_to(work_dir))] = digest.of_file(path)
    return sources


def _digest_of_build(work_dir: Path, function: str, arguments: Sequence[Argument]) -> str:
    parts = {f"argument {i} {a.name}": str(a) for i, a in enumerate(arguments)}
    return digest.of_parts({**parts, "binary": digest.of_file(work_dir / _binary(function))})


def _write_config(work_dir: Path, program: Program, arguments: Sequence[Argument]) -> None:
    config = {
        "platform": program.platform,
        "kernel": program.plan["function"],
        "binary": _binary(program.plan["function"]),
        "source": f"kernels/{Path(program.plan['source']).name}",
        "orchestration": f"orchestration/{program.plan['function']}.cpp",
        "defines": program.plan["defines"],
        "arguments": [
            {
                "name": a.name,
                "kind": a.kind,
                "dtype": a.dtype,
                "shape": list(a.shape),
                "direction": a.direction,
            }
            for a in arguments
        ],
    }
    (work_dir / "kernel_config.json").write_text(json.dumps(config, indent=1) + "\n")
