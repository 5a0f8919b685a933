"""Runs a function in a child process, with a time limit and a kept log.

The function takes and returns plain JSON data. A child has succeeded only if its parent received a complete result:
one that ends without it has crashed, whatever its exit status says.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from golden_tasks.results import Failure, Status

_TAIL_LINES = 15


def call(
    function: str,
    request: Mapping[str, Any],
    *,
    log: Path,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Calls `"module:function"` with `request` in a child process and returns its result.

    `timeout` is in seconds. What the child prints, C code's output too, goes to `log`. Raises the `Failure` that the
    function raised, `Failure` with CRASHED or TIMEOUT if it did not come back, and `ChildError` for another exception.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="golden_tasks_") as folder, open(log, "wb") as output:
        result_file = Path(folder) / "result.json"
        child = subprocess.Popen(
            [sys.executable, "-m", "golden_tasks.isolation", function, str(result_file)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**_inherited(), **(environment or {})},
            start_new_session=True,
        )
        try:
            child.communicate(json.dumps(request).encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(child)
            raise Failure(Status.TIMEOUT, f"still running after {timeout:g} s, ended; log: {log}") from None
        except BaseException:
            _end(child)
            raise
        _end(child)  # what the child itself started
        try:
            answer = json.loads(result_file.read_bytes())
        except (OSError, ValueError):
            raise Failure(Status.CRASHED, f"{_ending(child.returncode)}; log: {log}{_tail(log)}") from None
    if "failure" in answer:
        raise Failure(Status(answer["failure"]), answer["message"])
    if "raised" in answer:
        raise ChildError(answer["raised"], answer["traceback"])
    result: dict[str, Any] = answer["result"]
    return result


class ChildError(Exception):
    """The user's code raised in the child: the exception in one line, and its traceback from that code on."""

    def __init__(self, raised: str, traceback_text: str) -> None:
        super().__init__(raised)
        self.raised = raised
        self.traceback_text = traceback_text


def _inherited() -> dict[str, str]:
    """The environment without the overrides that are meant for scripts."""
    scripts_only = ("GOLDEN_SAVE_DATA", "GOLDEN_DATA", "GOLDEN_RUNTIME_DIR")
    return {name: value for name, value in os.environ.items() if name not in scripts_only}


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the child's whole process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _ending(returncode: int) -> str:
    if returncode < 0:
        try:
            return f"the process was ended by {signal.Signals(-returncode).name}"
        except ValueError:
            return f"the process was ended by signal {-returncode}"
    return f"the process exited with status {returncode} and without a result"


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        if lines:
            return "\n" + "\n".join(lines)
    return ""


def _user_traceback(error: BaseException) -> str:
    """The traceback from the user's code on, without the harness's own frames."""
    home = str(Path(__file__).resolve().parent)
    entries = traceback.extract_tb(error.__traceback__)
    shown = [e for e in entries if not e.filename.startswith((home, "<frozen"))]
    return "".join(traceback.format_list(shown) + traceback.format_exception_only(type(error), error))


def _child(function: str, result_file: str) -> None:
    request = json.load(sys.stdin)
    module, _, name = function.partition(":")
    try:
        answer: dict[str, Any] = {"result": getattr(import_module(module), name)(request)}
    except Failure as failure:
        answer = {"failure": failure.status.value, "message": failure.message}
    except Exception as error:
        lines = traceback.format_exception_only(type(error), error)
        answer = {"raised": lines[-1].strip(), "traceback": _user_traceback(error)}
    sys.stdout.flush()
    beside = f"{result_file}.new"
    Path(beside).write_text(json.dumps(answer))
    os.replace(beside, result_file)


if __name__ == "__main__":
    _child(*sys.argv[1:])
