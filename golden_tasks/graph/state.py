"""The folder of all artefacts and doit's state in it, made usable before doit opens them.

doit's state is a hint, records are the truth: a state that is damaged is removed, and costs nothing but a look at all
records.
"""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

from doit.exceptions import InvalidDodoFile

from golden_tasks.results import of_os_error

STATE = ".doit.sqlite3"
_TABLE = "create table if not exists doit (task_id text not null primary key, task_data json)"  # as doit makes it


def prepare(folder: Path) -> None:
    """Makes the folder with a state in it. Raises `InvalidDodoFile`, which doit prints in one line, if it cannot."""
    state = folder / STATE
    try:
        folder.mkdir(exist_ok=True)
        if not state.exists():
            state.touch()
        if _is_damaged(state):
            state.unlink()
    except OSError as error:
        raise InvalidDodoFile(f"{of_os_error(error).message}; doit keeps its state and all artefacts there") from None


def _is_damaged(state: Path) -> bool:
    """Whether a file is no state. Raises `OSError` if a state that is new cannot be written."""
    try:
        with closing(sqlite3.connect(state)) as connection:
            connection.execute("pragma quick_check")
            connection.execute(_TABLE)
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):  # another doit is writing it
            reason = errno.ENOSPC if "full" in str(error) else errno.EACCES
            raise OSError(reason, str(error), str(state)) from None
    except sqlite3.DatabaseError:
        return True
    return False
