"""The parent's side: starts a child, waits for it, reads its result, ends its whole process group."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import select
import shutil
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

from golden_tasks.isolation.clock import doing, mark
from golden_tasks.isolation.processes import READY, WHERE, end_group
from golden_tasks.results import Failure, Status

_TAIL_LINES = 15
_TAIL_COLUMNS = 300
_TAIL_BYTES = 2**15
_FATAL = "Fatal Python error: "
_SANITIZER = re.compile(
    r"==\d+==ERROR: (?P<address>.+?)(?: at pc .*| \(pc .*)?$|(?P<undefined>.+:\d+: runtime error: .+)$"
)
_LONGEST_WAIT = 0.1  # seconds
_LONGEST_LOG = 8 * 2**20  # bytes
_KEPT_ENDS = 2**20  # bytes at each end of a log that has grown too long
_HARNESS = str(Path(__file__).resolve().parent.parent)
_PUNCH_HOLE = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_SCRIPTS_ONLY = ("GOLDEN_SAVE_DATA", "GOLDEN_DATA", "GOLDEN_RUNTIME_DIR")


class ChildError(Exception):
    """The user's code raised in the child: the exception in one line, and its traceback from that code on.

    `where` is the project's own line that raised it, as `file:line`; empty if none did.
    """

    def __init__(self, raised: str, where: str, traceback_text: str) -> None:
        super().__init__(raised)
        self.raised = raised
        self.where = where
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

    `timeout` is in seconds, and starts anew when the function calls `restart_clock`; `memory` is in bytes, on top of
    what the child starts with. What the child prints, C code's output too, goes to `log`. `environment` holds
    variables that the child needs from its start. Raises the `Failure` that the function raised, `Failure` with
    CRASHED, TIMEOUT or OUT_OF_MEMORY if it did not come back, `ChildError` for another exception, and `OSError` if the
    disk has no room for log and result.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    result_file, clock = log.resolve().with_suffix(".result"), log.resolve().with_suffix(".clock")
    result_file.unlink(missing_ok=True)
    clock.unlink(missing_ok=True)
    order = {
        "function": function,
        "request": request,
        "result": str(result_file),
        "log": str(log.resolve()),
        "clock": str(clock),
        "memory": memory,
        "folder": str(Path.cwd()),
        "environment": {**_inherited(), **(environment or {})},
    }
    try:
        returncode = _returncode(_Fresh(order) if environment else _Forked(order), timeout, log, clock)
        if returncode is None:
            more = "Case(timeout=...) or Project(timeout=...) allows more"
            ended = f"{doing(clock)}still running after {timeout:g} s, and was ended ({more})"
            raise Failure(Status.TIMEOUT, "\n".join([f"{ended}; log: {log}", *_tail(log)]))
        try:
            answer = json.loads(result_file.read_bytes())
        except (OSError, ValueError):
            if not shutil.disk_usage(log.parent).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(result_file)) from None
            ended, *rest = _found_by_sanitizer(log) or [_ending(returncode, memory), *_tail(log)]
            raise Failure(Status.CRASHED, "\n".join([f"{doing(clock)}{ended}; log: {log}", *rest])) from None
    finally:
        result_file.unlink(missing_ok=True)
        clock.unlink(missing_ok=True)
    if "failure" in answer:
        raise Failure(Status(answer["failure"]), answer["message"])
    if "raised" in answer:
        raise ChildError(answer["raised"], answer["where"], answer["traceback"])
    result: dict[str, Any] = answer["result"]
    return result


class _Child(Protocol):
    pid: int  # 0 if it is not known, or not the child's any more

    def wait(self, timeout: float) -> int | None:
        """The exit status, negative for a signal; None if the child still runs after `timeout` seconds.

        May return earlier than that.
        """

    def end(self) -> None:
        """Ends the child and all that it started."""


def _returncode(child: _Child, timeout: float, log: Path, clock: Path) -> int | None:
    """A child's exit status once it has ended by itself; None if it had to be ended after `timeout` seconds."""
    deadline, marked = time.monotonic() + timeout, None
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0 and mark(clock) == marked:
                break
            if left <= 0:
                marked, left = mark(clock), timeout
                deadline = time.monotonic() + timeout
            # Short waits: a signal that another thread of this process got interrupts none of ours.
            returncode = child.wait(min(_LONGEST_WAIT, left))
            _free_middle(log)
            if returncode is not None:
                return returncode
        if child.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, WHERE)
            child.wait(_LONGEST_WAIT)
        return None
    finally:
        child.end()
        _shorten(log)


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
        self.pid = self._process.pid
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
        end_group(self.pid)
        self._process.wait()


class _Forked:
    """A child that the fork server makes. The server ends it when this side's connection closes."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.pid = 0
        self._server, self._connection = _connected(order["function"].partition(":")[0])
        self._arrived = b""
        try:
            with contextlib.suppress(ConnectionError):
                self._connection.sendall(json.dumps(order).encode() + b"\n")
            self.pid = self._news("pid", None)
        except BaseException:
            self._connection.close()
            raise

    def wait(self, timeout: float) -> int | None:
        returncode: int | None = self._news("returncode", timeout)
        if returncode is not None:
            self.pid = 0  # the server has ended its group
        return returncode

    def end(self) -> None:
        if self.pid:
            end_group(self.pid)
        self._connection.close()

    def _news(self, what: str, timeout: float | None) -> Any:
        """The next that the server tells; None if it tells nothing for `timeout` seconds."""
        while b"\n" not in self._arrived:
            if not select.select([self._connection], [], [], timeout)[0]:
                return None
            arrived = b""
            with contextlib.suppress(ConnectionError):
                arrived = self._connection.recv(4096)
            if not arrived:
                raise self._server.failure()
            self._arrived += arrived
        line, _, self._arrived = self._arrived.partition(b"\n")
        return json.loads(line)[what]


class _Server:
    """The fork server's process, as its owner sees it. It ends when its owner does."""

    def __init__(self, preload: str) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "golden_tasks.isolation.server", preload],
                stdin=theirs.fileno(),
                stdout=self._said,
                stderr=subprocess.STDOUT,
                env={**_inherited(), "PYTHONHASHSEED": "0"},
                start_new_session=True,
            )

    def connect(self) -> socket.socket:
        """A new connection, once the server is ready. Raises `ConnectionError` if the server is gone."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        if not ours.recv(1):
            raise ConnectionError
        return ours

    def failure(self) -> Failure:
        """What to say when the server is gone."""
        said = os.pread(self._said.fileno(), 1 << 16, 0).decode(errors="replace").strip()
        if said.endswith(READY):
            return Failure(Status.CRASHED, "the fork server was ended from outside, and its children with it")
        return Failure(Status.CRASHED, f"the fork server could not start:\n{said}")


_servers: dict[str, _Server] = {}
_starting = threading.Lock()


def start(preload: str) -> None:
    """Starts the fork server that imports a module, if it does not run: workers forked from now on share it."""
    with _starting:
        if preload not in _servers:
            _servers[preload] = _Server(preload)


def is_started(preload: str) -> bool:
    """Whether this process has a fork server that imports a module."""
    return preload in _servers


def _connected(preload: str) -> tuple[_Server, socket.socket]:
    """A connection to this process's fork server, which is started when first needed, and again if it is gone."""
    start(preload)
    with contextlib.suppress(ConnectionError):
        return _servers[preload], _servers[preload].connect()
    server = _servers[preload] = _Server(preload)
    try:
        return server, server.connect()
    except ConnectionError:
        raise server.failure() from None


def _inherited() -> dict[str, str]:
    """The environment without the overrides that are meant for scripts."""
    return {name: value for name, value in os.environ.items() if name not in _SCRIPTS_ONLY}


def _ending(returncode: int, memory: int | None) -> str:
    if returncode >= 0:
        return f"the process exited with status {returncode} and without a result"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    hint = ""
    if name == "SIGSEGV" and memory is not None and memory < machine:
        hint = f" (beyond its limit of {memory / 2**20:.0f} MiB, malloc returns a null pointer)"
    if name == "SIGKILL":
        hint = " (from outside: by someone, or by the system for want of memory)"
    return f"the process was ended by {name}{hint}"


def _free_middle(log: Path) -> None:
    """Gives back the disk space between the ends of a log that has grown too long, while a child writes to it.

    Nothing is moved: a child may write at the same time, and would lose what it writes between a copy and a cut.
    """
    with contextlib.suppress(OSError, AttributeError), log.open("r+b") as file:  # another system than Linux
        size = log.stat().st_size
        if size > _LONGEST_LOG:
            start, length = ctypes.c_int64(_KEPT_ENDS), ctypes.c_int64(size - 2 * _KEPT_ENDS)
            ctypes.CDLL(None).fallocate(file.fileno(), _PUNCH_HOLE, start, length)


def _shorten(log: Path) -> None:
    """Leaves the beginning and the end of a log that has grown too long, once no one writes it any more."""
    with contextlib.suppress(OSError):
        if log.stat().st_size <= _LONGEST_LOG:
            return
        with log.open("r+b") as file:
            file.seek(-_KEPT_ENDS, os.SEEK_END)
            end = file.read()
            file.truncate(_KEPT_ENDS)
        with log.open("ab") as file:
            file.write(b"\n... left out: the log has grown too long ...\n" + end)


def _tail(log: Path) -> list[str]:
    """The last lines of a log, for a message."""
    return _lines(log)[-_TAIL_LINES:]


def _found_by_sanitizer(log: Path) -> list[str]:
    """What a sanitizer found, in one line, and the first lines of its report; nothing if there is none in the log."""
    lines = _lines(log)
    for number, line in enumerate(lines):
        found = _SANITIZER.match(line)
        if found:
            return [found["address"] or found["undefined"], *lines[number + 1 :][:_TAIL_LINES]]
    return []


def _lines(log: Path) -> list[str]:
    """The lines at the end of a log that are about the user's code, as they can be printed."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = "".join(c if c.isprintable() or c in "\t\n" else "?" for c in file.read().decode(errors="replace"))
        lines = [line.partition(_FATAL)[0][:_TAIL_COLUMNS] for line in text.splitlines()]
        return [line for line in lines if not _is_plumbing(line)]
    return []


def _is_plumbing(line: str) -> bool:
    """Whether a line of a fatal error's report is about the harness, not about the user's code."""
    inside = line.startswith("  File ") and (_HARNESS in line or '"<frozen' in line)
    report = ("Extension modules: ", "Current thread 0x", "Thread 0x")
    return inside or line.startswith(report) or not line.strip()
