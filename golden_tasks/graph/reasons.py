"""Why a stage must run, in the reader's words: what changed, from what to what, in which file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from golden_tasks.fingerprint import outside
from golden_tasks.graph.lines import line_of, line_of_spec
from golden_tasks.records import ABSENT

_LONGEST = 60
_SETTINGS = "torch "  # before a setting of torch, which some call has made
_REACHED = ("golden ", "program ", "tile ")  # what follows is a name in the source
_SHORT = ("tile ", "argument ", "scalar ", "seed", "rtol", "atol", "flags", "build", "sanitize")
_INITIAL = re.compile(r"input (\S+) initial value")
_OF_INPUT = re.compile(r"input \S+ (.+)")
_OF_COMPARATOR = re.compile(r"comparator of (\S+): (.+)")
_WHOLE = re.compile(r".*\ball of (.+)")


def importance(part: str, was: Mapping[str, str], now: Mapping[str, str]) -> tuple[int, str]:
    """What a reader wants to hear first: a short value that changed, a larger thing, what came or went."""
    old, new = was.get(part), now.get(part)
    if old is None or new is None:
        return 2, part
    return int(_is_long(old, new) or not part.startswith(_SHORT)), part


def first_of(causes: Sequence[str]) -> str | None:
    """The first cause, and how many more there are; None if there is none."""
    if len(causes) < 2:
        return causes[0] if causes else None
    first, *_ = causes[0].splitlines() or [""]
    return f"{first}, and {len(causes) - 1} more"


def change(part: str, old: str | None, new: str | None, file: str) -> str:
    """A changed part: `TILE_M 64 -> 128 (kernels/matmul.py:14)`. `file` defines it."""
    whole = _WHOLE.fullmatch(part)
    if whole:
        return f"{whole[1]} {_came_or_changed(old, new)}, which counts as a whole"
    shown = _shown(part)
    spec = _spec_of(part, new or old or "")
    if part.startswith(_SETTINGS):
        line = None
    else:
        line = line_of_spec(file, spec) if spec else line_of(file, shown, not part.startswith("tile "))
    where = f" ({file}:{line})" if line else f" ({file})"
    if part.startswith("argument ") and old and new:
        name, _, kind = old.partition(": ")
        if new.startswith(f"{name}: "):
            shown, old, new = f"argument {name}:", kind, new.partition(": ")[2]
    if old is None or new is None or _is_long(old, new):
        return f"{shown} {_came_or_changed(old, new)}{where}"
    return f"{shown} {value(old)} -> {value(new)}{where}"


def value(text: str | None) -> str:
    """A value as it is shown, None for one that is not set."""
    return "not set" if text is None else text or "none"


def became(was: str, now: str) -> str:
    """What happened to a file's content."""
    if was == ABSENT or now == ABSENT:
        return "has appeared" if was == ABSENT else "is gone"
    return "holds other files" if was.startswith("names ") else "changed"


def variable(name: str, was: str | None, now: str | None) -> str:
    """What happened to an environment variable."""
    if name == outside.ALL:
        return "other environment variables are set"
    return f"environment variable {name}: {value(was)} -> {value(now)}"


def changed_since(file: str, moment: int) -> bool:
    """Whether a file was changed at a moment (ns) or later."""
    try:
        info = os.stat(file)
    except OSError:
        return False
    return max(info.st_mtime_ns, info.st_ctime_ns) >= moment


def _spec_of(part: str, text: str) -> str | None:
    """The argument whose spec says a part; None if none does."""
    if part.startswith("argument "):
        return text.partition(":")[0]
    if part.startswith("scalar "):
        return part.removeprefix("scalar ")
    initial = _INITIAL.fullmatch(part)
    return initial[1] if initial else None


def _shown(part: str) -> str:
    initial, comparator, of_input = (pattern.fullmatch(part) for pattern in (_INITIAL, _OF_COMPARATOR, _OF_INPUT))
    if initial:
        return f"initial value of {initial[1]}:"
    if comparator:
        return comparator[2]
    if of_input:
        return of_input[1]
    return part.partition(" ")[2] if part.startswith(_REACHED) else part


def _came_or_changed(old: str | None, new: str | None) -> str:
    if old is None:
        return "is new"
    return "is gone" if new is None else "changed"


def _is_long(old: str, new: str) -> bool:
    return "blake3:" in old + new or len(old + new) > _LONGEST
