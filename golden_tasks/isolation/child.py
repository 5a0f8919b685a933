"""The child's side: calls the function and writes its result, whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import resource
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from golden_tasks.fingerprint.local import is_local
from golden_tasks.fingerprint.local import shown as shown_path
from golden_tasks.isolation import clock
from golden_tasks.isolation.processes import WHERE, end_with_parent
from golden_tasks.results import Failure, Status

_LONGEST_TEXT = 4000  # characters of a message
_ALLOCATION_FAILED = (
    "MemoryError",
    "bad_alloc",
    "out of memory allocating",
    "can't allocate memory",
    "not enough memory",
    "Cannot allocate memory",
)
_HARNESS = str(Path(__file__).resolve().parent.parent)


def serve(order: dict[str, Any]) -> None:
    """Carries out one order: output to its log, the result to its file. Does not return."""
    clock.belongs_to(order["clock"])
    end_with_parent(signal.SIGKILL)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    _print_by_lines()
    if "ASAN_OPTIONS" not in os.environ:  # the address sanitizer tells more, and of the fault itself
        faulthandler.enable(2)
    faulthandler.register(WHERE, 2)
    os.chdir(order["folder"])
    status = 0
    try:
        if order["memory"] is not None:
            _limit_memory(order["memory"])
        Path(order["result"]).write_bytes(_answer(order["function"], order["request"], order["memory"]))
    except BaseException:
        traceback.print_exc()
        status = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)
    os._exit(status)


def _answer(function: str, request: dict[str, Any], memory: int | None) -> bytes:
    """What the parent reads: the result or what was raised instead. Half of it is no JSON."""
    module, _, name = function.partition(":")
    try:
        return _encoded({"result": getattr(import_module(module), name)(request)})
    except BaseException as error:  # SystemExit too
        raised = traceback.format_exception_only(type(error), error)[-1].strip()
        said = error.message if isinstance(error, Failure) else raised
        if memory is not None and any(words in raised for words in _ALLOCATION_FAILED):
            more = "Case(memory=...) or Project(memory=...) allows more"
            said = f"needed more than its limit of {memory / 2**20:.0f} MiB ({more}): {said}"
            return _encoded({"failure": Status.OUT_OF_MEMORY.value, "message": _shown(said)})
        if isinstance(error, Failure):
            return _encoded({"failure": error.status.value, "message": _shown(said)})
        traceback_text = _shown(_user_traceback(error))
        return _encoded({"raised": _shown(said), "where": _where(error), "traceback": traceback_text})


def _encoded(answer: dict[str, Any]) -> bytes:
    """JSON. Raises `TypeError` and `ValueError` for what no record can hold."""
    text = json.dumps(answer, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        part = text[max(0, error.start - 40) : error.end]
        raise ValueError(f"no record can hold a name or value that is not UTF-8: {part!r}") from None


def _shown(text: str) -> str:
    """A text that can be printed, not longer than a reader wants."""
    text = text.encode(errors="backslashreplace").decode()
    left_out = len(text) - _LONGEST_TEXT
    if left_out <= 0:
        return text
    half = _LONGEST_TEXT // 2
    return f"{text[:half]} ... {left_out} characters left out ... {text[-half:]}"


def _limit_memory(limit: int) -> None:
    """Lets this process have `limit` bytes of private memory more than now, and each one that it starts as much.

    The kernel counts writable private mappings (RLIMIT_DATA, Linux 4.7 and later): heap, anonymous memory and stacks,
    touched or not, but not the libraries' code. An allocation beyond it fails.
    """
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        ceiling = pages * resource.getpagesize() + limit
        resource.setrlimit(resource.RLIMIT_DATA, (ceiling, ceiling))


def _user_traceback(error: BaseException) -> str:
    """The traceback from the user's code on, without the harness's own frames."""
    entries = traceback.extract_tb(error.__traceback__)
    shown = [e for e in entries if not e.filename.startswith((_HARNESS, "<frozen"))]
    return "".join(traceback.format_list(shown) + traceback.format_exception_only(type(error), error))


def _where(error: BaseException) -> str:
    """The innermost line of the project's own files that an exception came through; empty if there is none."""
    root = Path.cwd()
    lines = [(entry.filename, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno))
    for file, line in reversed(lines):
        if is_local(file):
            return f"{shown_path(file, root)}:{line}"
    return ""


def _print_by_lines() -> None:
    """Makes Python and C write each line as it ends, so that a crash loses none."""
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False, errors="backslashreplace")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="backslashreplace")
    with contextlib.suppress(Exception):
        libc = ctypes.CDLL(None)
        libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, 1, 0)


if __name__ == "__main__":
    serve(json.load(sys.stdin))
