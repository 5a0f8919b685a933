"""What code sees outside its process beside files' contents, as it is now: what is at a place on disk, variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from golden_tasks import digest
from golden_tasks.records import ABSENT

_FILE, _FOLDER, _NAMES = "a file", "a folder", "names "
ALL = "*"  # stands for the names of all variables
_OF_TOOLS = {  # folders that tools write beside a project's own
    *(
        "build_output",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".ipynb_checkpoints",
    ),
    *(".git", ".hg", ".jj", ".svn", ".venv", ".tox", ".nox", ".idea", ".vscode"),
}
_PASSING = {  # variables that differ from one terminal or call to the next
    *("_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "WINDOWID", "DISPLAY", "TERM", "XDG_RUNTIME_DIR"),
    *("GOLDEN_SAVE_DATA", "GOLDEN_DATA", "GOLDEN_RUNTIME_DIR"),
}
_PASSING_PREFIXES = ("SSH_", "XDG_SESSION_", "DBUS_", "TERM_", "VTE_", "TMUX", "PYTEST_")


def is_of_tools(path: str) -> bool:
    """Whether a path lies in a folder that a tool keeps for itself."""
    return not _OF_TOOLS.isdisjoint(path.split(os.sep))


def at(path: str) -> str:
    """Whether a path is absent, a file or a folder."""
    return _FOLDER if os.path.isdir(path) else _FILE if os.path.exists(path) else ABSENT


def names_in(path: str) -> str:
    """The digest of the names in a folder, without those of tools."""
    try:
        return _NAMES + digest.of_text("/".join(sorted(set(os.listdir(path)) - _OF_TOOLS)))
    except OSError:
        return ABSENT


def is_place(was: str) -> bool:
    """Whether a text is what `at` or `names_in` says, and not the digest of a file."""
    return was in (ABSENT, _FOLDER, _FILE) or was.startswith(_NAMES)


def place_now(path: str, was: str) -> str:
    """What is to be compared with `was`, which `at` or `names_in` has said of a path."""
    return names_in(path) if was.startswith(_NAMES) else at(path)


def stable_names(environment: Iterable[str]) -> list[str]:
    """The names of variables, without those that say something of the terminal, the session or this run only."""
    return sorted(name for name in environment if name not in _PASSING and not name.startswith(_PASSING_PREFIXES))


def variable_now(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """A variable's value, None if it is not set; for `ALL` the digest of the names of all variables."""
    environment = os.environ if environment is None else environment
    return environment.get(name) if name != ALL else digest.of_text(" ".join(stable_names(environment)))
