"""What compiles in a child process: without torch, so that a compiler never waits for its import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from golden_tasks.backends import backend_for
from golden_tasks.fingerprint.imports import import_from_source
from golden_tasks.records import Argument, Program


def compile(request: dict[str, Any]) -> dict[str, Any]:
    """Builds a program into the folder `place`."""
    import_from_source()
    program = msgspec.convert(request["program"], Program)
    arguments = msgspec.convert(request["arguments"], tuple[Argument, ...])
    build = backend_for(program.platform).compile(program, arguments, Path(request["place"]))
    return {"binary": build.binary}
