"""What a command does when no one reads its output any more, as in `doit why | head`."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any

UNREAD = 128 + signal.SIGPIPE  # the exit status, as a shell has it


def drop_output() -> None:
    """Lets what is still to be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def until_unread(execute: Callable[..., int]) -> Callable[..., int]:
    """A command's `_execute` that ends quietly once no one reads its output."""

    @functools.wraps(execute)  # doit reads the options' names from the signature
    def wrapped(*arguments: Any, **options: Any) -> int:
        try:
            status = execute(*arguments, **options)
            arguments[0].outstream.flush()
            return status
        except BrokenPipeError:
            drop_output()
            return UNREAD

    return wrapped
