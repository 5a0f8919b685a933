"""The parent's side: starts a child, waits for it, reads its result, ends its whole process group."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from golden_tasks.results import Failure, Status

_TAIL_LINES = 15
_LONGEST_WAIT = 0.1  # seconds
_HARNESS = str(Path(__file__).resolve().parent.parent)
_SCRIPTS_ONLY = ("GOLDEN_SAVE_DATA", "GOLDEN_DATA", "GOLDEN_RUNTIME_DIR")


class ChildError(Exception):
    """The user's code raised in the child: the exception in one line, and its traceback from that code on."""

    def __init__(self, raised: str, traceback_text: str) -> None:
        super().__init__(raised)
        self.raised = raised
        self.traceback_text = traceback_text


def call(
    function: str,
    request: Mapping[str, Any],
    *,
    log: Path,
    timeout: float,
    memory: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Calls `"module:function"` with `request` in a child process and returns its result.

    `timeout` is in seconds, `memory` in bytes, on top of what the child starts with. What the child prints, C code's
    output too, goes to `log`. `environment` holds variables that the child needs from its start. Raises the `Failure`
    that the function raised, `Failure` with CRASHED, TIMEOUT or OUT_OF_MEMORY if it did not come back, and
    `ChildError` for another exception.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    with tempfile.TemporaryDirectory(prefix="golden_tasks_") as folder:
        result_file = Path(folder) / "result.json"
        order = {
            "function": function,
            "request": request,
            "result": str(result_file),
            "log": str(log.resolve()),
            "memory": memory,
            "folder": str(Path.cwd()),
            "environment": {**_inherited(), **(environment or {})},
        }
        child: _Child = _Fresh(order) if environment else _Forked(order)
        try:
            returncode = child.wait(timeout)
        finally:
            child.end()
        if returncode is None:
            raise Failure(Status.TIMEOUT, f"still running after {timeout:g} s, and was ended; log: {log}")
        try:
            answer = json.loads(result_file.read_bytes())
        except (OSError, ValueError):
            raise Failure(Status.CRASHED, f"{_ending(returncode)}; log: {log}{_tail(log)}") from None
    if "failure" in answer:
        raise Failure(Status(answer["failure"]), answer["message"])
    if "raised" in answer:
        raise ChildError(answer["raised"], answer["traceback"])
    result: dict[str, Any] = answer["result"]
    return result


class _Child(Protocol):
    def wait(self, timeout: float) -> int | None:
        """The exit status, negative for a signal; None if the child still runs after `timeout` seconds."""

    def end(self) -> None:
        """Ends the child and all that it started."""


class _Fresh:
    """A child that is a new Python process."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "golden_tasks.isolation.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=order["environment"],
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(order).encode())
            self._process.stdin.close()

    def wait(self, timeout: float) -> int | None:
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        _end_group(self._process.pid)
        self._process.wait()


class _Forked:
    """A child that the fork server makes. The server ends it when this side's connection closes."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._pid = 0
        self._connection = _connect(order["function"].partition(":")[0])
        self._arrived = b""
        self._connection.sendall(json.dumps(order).encode() + b"\n")

    def wait(self, timeout: float) -> int | None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            # Short waits: a signal that another thread of this process got interrupts none of ours.
            if not select.select([self._connection], [], [], min(_LONGEST_WAIT, deadline - time.monotonic()))[0]:
                continue
            arrived = self._connection.recv(4096)
            if not arrived:
                return -signal.SIGKILL  # the server is gone, and every child with it
            *lines, self._arrived = (self._arrived + arrived).split(b"\n")
            for line in lines:
                news = json.loads(line)
                if "returncode" in news:
                    self._pid = 0  # the server has ended its group
                    return int(news["returncode"])
                self._pid = news["pid"]
        return None

    def end(self) -> None:
        if self._pid:
            _end_group(self._pid)
        self._connection.close()


class _Server:
    """The fork server's process, as its owner sees it. It ends when its owner does."""

    def __init__(self, preload: str) -> None:
        folder = tempfile.mkdtemp(prefix="golden_tasks_", dir=None if len(tempfile.gettempdir()) < 60 else "/tmp")
        self._address = str(Path(folder) / "server")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "golden_tasks.isolation.server", self._address, preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**_inherited(), "PYTHONHASHSEED": "0"},
            start_new_session=True,
        )
        assert self._process.stdout is not None
        said = b""
        while not said.endswith(b"ready\n"):
            line = self._process.stdout.readline()
            if not line:
                text = said.decode(errors="replace").strip()
                raise Failure(Status.CRASHED, f"the process that runs stages could not start:\n{text}")
            said += line

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        return connection


_servers: dict[str, _Server] = {}
_starting = threading.Lock()


def _connect(preload: str) -> socket.socket:
    """A connection to this process's fork server, which is started when first needed, and again if it is gone.

    A worker that was forked since shares it.
    """
    with _starting:
        if preload in _servers:
            with contextlib.suppress(OSError):
                return _servers[preload].connect()
        _servers[preload] = _Server(preload)
        return _servers[preload].connect()


def _inherited() -> dict[str, str]:
    """The environment without the overrides that are meant for scripts."""
    return {name: value for name, value in os.environ.items() if name not in _SCRIPTS_ONLY}


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _ending(returncode: int) -> str:
    if returncode < 0:
        try:
            return f"the process was ended by {signal.Signals(-returncode).name}"
        except ValueError:
            return f"the process was ended by signal {-returncode}"
    return f"the process exited with status {returncode} and without a result"


def _tail(log: Path) -> str:
    """The last lines of a log, for a message."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4000))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if not _is_plumbing(line)]
        if lines:
            return "\n" + "\n".join(lines[-_TAIL_LINES:])
    return ""


def _is_plumbing(line: str) -> bool:
    """Whether a line of a fatal error's report is about the harness, not about the user's code."""
    inside = line.startswith("  File ") and (_HARNESS in line or '"<frozen' in line)
    return inside or line.startswith(("Extension modules: ", "Current thread 0x")) or not line.strip()
