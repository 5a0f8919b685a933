"""The folder of a build: what lies where in it, and the compiler's call that makes its binary.

    kernels/            the kernel's source, its own headers as they lie around it, and the binary
    orchestration/      the generated code and the headers that it includes
    kernel_config.json  what the build is, for people and other tools
    build.json          its record

Nothing outside it is compiled but headers that a flag's absolute path leads to, so a build can be moved, edited and
made again without the sources that it was copied from.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from golden_tasks import digest
from golden_tasks.backends import shown
from golden_tasks.backends.cpu import compiler, orchestration
from golden_tasks.records import Argument, Program
from golden_tasks.results import Failure, Status

HEADERS = tuple(sorted((Path(__file__).parent / "include").glob("*.h")))
RECORD = "build.json"


def binary(function: str) -> str:
    return f"kernels/{_file_name(function)}.so"


def entry(function: str) -> str:
    """The generated orchestration source."""
    return f"orchestration/{_file_name(function)}.cpp"


def lay_out(
    work_dir: Path, command: Sequence[str], program: Program, arguments: Sequence[Argument]
) -> tuple[Path, dict[Path, Path]]:
    """Fills an empty folder with all that is compiled.

    Returns the folder that `kernels/` mirrors, and the kernel's source and own headers -> their copies.
    Raises `Failure` if the compiler cannot read the source.
    """
    plan = program.plan
    source = Path(plan["source"]).resolve()
    own = _own_headers(work_dir, command, plan, source)
    root = Path(os.path.commonpath([source.parent, *(header.parent for header in own)]))
    copies = {path: work_dir / "kernels" / path.relative_to(root) for path in [source, *own]}
    for path, copy in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (work_dir / "orchestration").mkdir(exist_ok=True)
    for header in HEADERS:
        shutil.copyfile(header, work_dir / "orchestration" / header.name)
    included = str(source.relative_to(root))
    if any(character in included for character in '"\n'):
        raise Failure(Status.COMPILE_ERROR, f"{shown(source)!r}: C++ cannot include a file of this name")
    generated = orchestration.generate(plan["function"], included, arguments, plan["defines"])
    (work_dir / entry(plan["function"])).write_text(generated, encoding="utf-8")
    _write_config(work_dir, program, arguments, included)
    return root, copies


def link(
    work_dir: Path, command: Sequence[str], plan: Mapping[str, Any], arguments: Sequence[Argument], place: Path
) -> list[Path]:
    """Makes the binary of a folder, or leaves the old one; returns all files that the compiler read.

    Messages show `kernels/` as `place`. Raises `Failure`.
    """
    function = plan["function"]
    target = work_dir / binary(function)
    made = target.with_name(f"{target.name}.{os.getpid()}.new")
    report = made.with_name(f"{made.name}.d")
    where = [f"-ffile-prefix-map={work_dir.resolve()}=.", "-o", str(made.relative_to(work_dir))]
    where += ["-MD", "-MT", "x", "-MF", str(report.relative_to(work_dir))]
    try:
        succeeded, said = compiler.call([*call_of(command, plan), *where], work_dir)
        if not succeeded:
            raise Failure(Status.COMPILE_ERROR, _message(work_dir, function, arguments, said, place))
        if said:  # warnings
            print(compiler.message(_renamed(said, "orchestration/../kernels/", place)), file=sys.stderr)
        read = _reported(report, command)
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
        report.unlink(missing_ok=True)
    return [Path(os.path.normpath(work_dir / name)) for name in read]


def call_of(command: Sequence[str], plan: Mapping[str, Any]) -> list[str]:
    """The compiler's call that makes the binary, run in the folder, but for where it is written."""
    return [
        *command,
        *["-std=c++17", *_mode(command, plan), "-fPIC", "-shared", "-fvisibility=hidden", "-fdiagnostics-color=never"],
        *["-ffile-prefix-map=orchestration/../kernels=kernels", "-Iorchestration"],
        *[entry(plan["function"]), *plan["flags"]],
    ]


def sources(work_dir: Path) -> dict[str, str]:
    """All that is compiled from in the folder -> its digest."""
    found = {}
    for folder in ("kernels", "orchestration"):
        for path in sorted((work_dir / folder).rglob("*")):
            if path.is_file() and ".so" not in path.suffixes:
                found[str(path.relative_to(work_dir))] = digest.of_file(path)
    return found


def _file_name(function: str) -> str:
    return function.replace("::", ".")


def _mode(command: Sequence[str], plan: Mapping[str, Any]) -> list[str]:
    optimise = ["-O0", "-g"] if plan["debug"] else ["-O2"]
    chosen = plan["sanitize"]
    if not chosen:
        return [*optimise, "-Wl,-z,defs"]  # an undefined function is an error now, not when the binary is loaded
    optimise += ["-g", "-fno-omit-frame-pointer", f"-fsanitize={','.join(chosen)}"]
    if "undefined" in chosen:
        optimise += ["-fno-sanitize-recover=undefined"]
    if chosen == ["undefined"]:
        optimise += compiler.linking_undefined_sanitizer(command)
    return optimise


def _own_headers(work_dir: Path, command: Sequence[str], plan: Mapping[str, Any], source: Path) -> list[Path]:
    """The headers that a kernel includes by a path from its own folder, as the preprocessor reports them."""
    work_dir.mkdir(parents=True, exist_ok=True)
    report = work_dir / "headers.d"
    defines = [f"-D{name}={value}" for name, value in plan["defines"].items()]
    succeeded, said = compiler.call(
        [
            *[*command, "-std=c++17", "-fdiagnostics-color=never", f"-I{HEADERS[0].parent}", *defines, *plan["flags"]],
            *["-MM", "-MT", "x", "-MF", report.name, "-x", "c++", str(source)],
        ],
        work_dir,
    )
    if not succeeded:
        raise Failure(Status.COMPILE_ERROR, compiler.message(_renamed(said, f"{source.parent}/", source.parent)))
    names = _reported(report, command)
    report.unlink()
    inside = [Path(os.path.normpath(name)) for name in names if name.startswith(f"{source.parent}/")]
    return [path for path in dict.fromkeys(inside) if path != source]


def _message(work_dir: Path, function: str, arguments: Sequence[Argument], said: str, place: Path) -> str:
    """A failed call's output: if it is our own checks or a tile parameter that failed, that and nothing else."""
    generated = (work_dir / entry(function)).read_text(encoding="utf-8", errors="replace")
    complaints = orchestration.complaints(entry(function), generated, said)
    said = _renamed(said, "orchestration/../kernels/", place)
    if not complaints:
        tile = orchestration.tile_complaint(entry(function), generated, said)
        return tile or compiler.message(orchestration.readable(entry(function), generated, said))
    included = re.search(r'^#include "\.\./kernels/(.*)"$', generated, re.MULTILINE)
    source = shown(place / included[1]) if included else entry(function)
    wanted = orchestration.declaration(function, arguments)
    lines = [f"{source}: {complaints[0]}", *complaints[1:], "the specs ask for", f"    {wanted}"]
    first = orchestration.first_error(said)
    if not first.startswith("orchestration/"):
        lines += ["the compiler's first error is", f"    {first}"]
    return "\n".join(lines)


def _renamed(said: str, prefix: str, place: Path) -> str:
    """A compiler's output with the paths that begin with a prefix as paths below a place."""
    path = shown(place)
    return said.replace(prefix, "" if path == "." else f"{path}/")


def _reported(report: Path, command: Sequence[str]) -> list[str]:
    """The files that a compiler says it read, in the syntax of make. Raises `Failure` if it says nothing."""
    try:
        names = os.fsdecode(report.read_bytes()).partition(":")[2].replace("\\\n", " ")
    except FileNotFoundError:
        raise Failure(Status.COMPILE_ERROR, f"{' '.join(command)} made nothing: is it a C++ compiler?") from None
    words = re.findall(r"(?:\\.|[^\\\s])+", names)
    return [re.sub(r"\\([ #\t])", r"\1", word).replace("$$", "$") for word in words]


def _write_config(work_dir: Path, program: Program, arguments: Sequence[Argument], included: str) -> None:
    function = program.plan["function"]
    config = {
        "platform": program.platform,
        "kernel": function,
        "binary": binary(function),
        "source": f"kernels/{included}",
        "orchestration": entry(function),
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
