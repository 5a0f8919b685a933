"""What a build depends on beside its program: headers, headers that would be found first, libraries, variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from golden_tasks import digest
from golden_tasks.backends import Read, unremembered
from golden_tasks.backends.cpu import compiler, source
from golden_tasks.records import ABSENT

_VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH")
_FOLDERS = ("-iquote", "-I", "-isystem", "-idirafter")  # the flags that name folders of headers


def environment() -> dict[str, str | None]:
    """The environment variables that change what a compiler reads."""
    return {name: os.environ.get(name) for name in _VARIABLES}


def content(path: str, was: str, read: Read) -> str:
    """What is in a file that a build found out about, in the form in which its record says it."""
    if not os.path.exists(path):
        return ABSENT
    return read("text", path, source.digest_text) if was.startswith("text ") else read("bytes", path, digest.of_file)


def found(command: Sequence[str], plan: Mapping[str, Any], kernel: Path, texts: Iterable[Path]) -> dict[Path, str]:
    """What a build was made from beside the kernel's source -> its content; what it looked for in vain is `ABSENT`.

    `texts` are all sources that the compiler read. The compiler's own headers are left out: its identity stands for
    them. A source counts by its normal form, or by its bytes if what is compiled shows lines or spellings of any; then
    the kernel's source is in here too.
    """
    system = compiler.system_folders(command)
    own = sorted(path for path in texts if not any(path.is_relative_to(folder) for folder in system))
    positional = _has_lines(plan) or any(source.is_positional(str(path)) for path in own)
    form = "" if positional else "text "
    contents = {path: content(str(path), form, unremembered) for path in own if positional or path != kernel}
    contents |= {path: digest.of_file(path) for path in _libraries(command, plan["flags"])}
    contents |= dict.fromkeys(_absent(plan["flags"], own, system), ABSENT)
    return contents


def _has_lines(plan: Mapping[str, Any]) -> bool:
    """Whether line numbers are in what is compiled, for a debugger or a sanitizer."""
    return bool(plan["debug"] or plan["sanitize"] or any(flag.startswith("-g") for flag in plan["flags"]))


def _libraries(command: Sequence[str], flags: Sequence[str]) -> Iterator[Path]:
    """The files that the flags link."""
    for flag in flags:
        if flag.startswith("-l"):
            library = compiler.library(command, flags, flag[2:])
            if library is not None:
                yield library
        elif not flag.startswith("-") and Path(flag).is_file():
            yield Path(flag)


def _absent(flags: Sequence[str], own: Sequence[Path], system: Sequence[Path]) -> Iterator[Path]:
    """Headers that would be read in place of others, or tell `__has_include` otherwise, if they were there."""
    named = [*_named_folders(flags), *(Path(p) for p in os.environ.get("CPATH", "").split(os.pathsep) if p)]
    for path in own:
        for spelled in source.included(str(path)):
            beside = [path.parent] if spelled.startswith('"') else []
            for folder in [*beside, *named, *system]:
                candidate = Path(os.path.normpath(folder / spelled[1:]))
                if candidate.exists():
                    break
                if folder not in system:
                    yield candidate


def _named_folders(flags: Sequence[str]) -> Iterator[Path]:
    """The folders of headers that flags name, in the order in which a compiler looks into them."""
    for kind in _FOLDERS:
        for flag, following in zip(flags, [*flags[1:], ""], strict=False):
            if flag == kind:
                yield Path(following)
            elif flag.startswith(kind):
                yield Path(flag.removeprefix(kind))
