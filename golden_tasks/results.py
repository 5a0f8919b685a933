"""How a stage or a run ends: one closed list of statuses, and the result that `run` returns."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Status(str, Enum):
    """The outcome of a case. Only `PASSED` is a pass."""

    PASSED = "PASSED"
    WRONG_SHAPE = "WRONG_SHAPE"
    WRONG_DTYPE = "WRONG_DTYPE"
    WRONG_VALUE = "WRONG_VALUE"
    NOT_WRITTEN = "NOT_WRITTEN"
    INPUT_CHANGED = "INPUT_CHANGED"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    NOT_REPEATABLE = "NOT_REPEATABLE"
    CASE_ERROR = "CASE_ERROR"
    COMPILE_ERROR = "COMPILE_ERROR"
    GOLDEN_ERROR = "GOLDEN_ERROR"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    CRASHED = "CRASHED"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    STALE = "STALE"
    DAMAGED = "DAMAGED"
    MISTRUSTED = "MISTRUSTED"
    SKIPPED = "SKIPPED"

    def __str__(self) -> str:
        return self.value


class Failure(Exception):
    """A failure with a status and a message for the user: what happened, to what, what mends it."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def __reduce__(self) -> tuple[type[Failure], tuple[Status, str]]:
        return type(self), (self.status, self.message)


_FULL = "free some space there and run again"
_LOCKED = "make it writable"
_OCCUPIED = "something else is in its place: remove that"
_MENDS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "raise the limit on a file's size (ulimit -f)",
    errno.EROFS: _LOCKED,
    errno.EACCES: _LOCKED,
    errno.EPERM: _LOCKED,
    errno.EEXIST: _OCCUPIED,
    errno.EISDIR: _OCCUPIED,
    errno.ENOTDIR: _OCCUPIED,
}


def of_os_error(error: OSError) -> Failure:
    """The failure (STALE: the artefact is not made) of what could not be written: which file, why, what mends it."""
    where = error.filename2 or error.filename
    mend = _MENDS.get(error.errno or 0)
    words = [str(where) if where else "", error.strerror or str(error), mend or ""]
    return Failure(Status.STALE, ": ".join(word for word in words if word))


@dataclass
class RunResult:
    """What `run` and `run_jit` return.

    `execution_time` is the whole run's wall time in seconds, `work_dir` the folder of the build,
    `bench` the backend's benchmark statistics if a benchmark was asked for.
    """

    passed: bool
    error: str | None = None
    execution_time: float | None = None
    work_dir: Path | None = None
    bench: object | None = None

    def __str__(self) -> str:
        time = "" if self.execution_time is None else f" ({self.execution_time:.2f}s)"
        if self.passed:
            return f"PASS{time}"
        return f"FAIL: {self.error}{time}" if self.error else f"FAIL{time}"
