"""The environment variables that golden_tasks reads, all in one place."""

from __future__ import annotations

import os


def save_data() -> bool:
    """`GOLDEN_SAVE_DATA`: 1 makes every run save its inputs and expected outputs."""
    return os.environ.get("GOLDEN_SAVE_DATA", "").strip().lower() not in ("", "0", "false", "no", "off")


def golden_data() -> str | None:
    """`GOLDEN_DATA`: a snapshot's folder, replayed by every run that names none itself."""
    return os.environ.get("GOLDEN_DATA") or None


def runtime_dir() -> str | None:
    """`GOLDEN_RUNTIME_DIR`: a build's folder, used by every run that names none itself."""
    return os.environ.get("GOLDEN_RUNTIME_DIR") or None


def cxx() -> str | None:
    """`CXX`: the C++ compiler."""
    return os.environ.get("CXX") or None
