"""The child's side: calls the function and writes its result, whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import resource
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from golden_tasks.results import Failure, Status

_ALLOCATION_FAILED = (
    "MemoryError",
    "bad_alloc",
    "can't allocate memory",
    "not enough memory",
    "Cannot allocate memory",
)
_HARNESS = str(Path(__file__).resolve().parent.parent)


def serve(order: dict[str, Any]) -> None:
    """Carries out one order: output to its log, the result to its file. Does not return."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    _print_by_lines()
    faulthandler.enable(2)
    os.chdir(order["folder"])
    status = 0
    try:
        if order["memory"] is not None:
            _limit_memory(order["memory"])
        answer = _answer(order["function"], order["request"], order["memory"])
        beside = Path(f"{order['result']}.new")
        beside.write_text(answer)
        beside.replace(order["result"])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)
    os._exit(status)


def _answer(function: str, request: dict[str, Any], memory: int | None) -> str:
    module, _, name = function.partition(":")
    try:
        return json.dumps({"result": getattr(import_module(module), name)(request)})
    except Exception as error:
        raised = traceback.format_exception_only(type(error), error)[-1].strip()
        if memory is not None and any(words in raised for words in _ALLOCATION_FAILED):
            said = f"needed more than its limit of {memory / 2**20:.0f} MiB: {raised}"
            return json.dumps({"failure": Status.OUT_OF_MEMORY.value, "message": said})
        if isinstance(error, Failure):
            return json.dumps({"failure": error.status.value, "message": error.message})
        return json.dumps({"raised": raised, "traceback": _user_traceback(error)})


def _limit_memory(limit: int) -> None:
    """Lets this process and what it starts have `limit` bytes of private memory more than it has now.

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


def _print_by_lines() -> None:
    """Makes Python and C write each line as it ends, so that a crash loses none."""
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False, errors="backslashreplace")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="backslashreplace")
    with contextlib.suppress(Exception):
        libc = ctypes.CDLL(None)
        libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, 1, 0)


if __name__ == "__main__":
    serve(json.load(sys.stdin))
