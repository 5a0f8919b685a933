"""Platforms and who serves them: one small protocol, open to others by entry points of `golden_tasks.backends`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from golden_tasks.records import Argument, Build, Program
from golden_tasks.results import Failure, Status

DEFAULT_PLATFORM = "cpu"

Read = Callable[[str, str, Callable[[str], str]], str]  # (kind, path, compute) -> compute(path), maybe remembered
DigestFile = Callable[[str], str]


class Backend(Protocol):
    """What a backend does. `cpu` in `golden_tasks.backends.cpu` is the model.

    A program goes through two forms: the object that the user wrote, and the `Program` that `describe` makes of it,
    which is plain data. `compile` needs the data only, so that a build can be made without the user's module.
    """

    name: str
    platforms: tuple[str, ...]
    options: tuple[str, ...]  # the compile options that it knows
    compiles_with_torch: bool  # whether compiling imports torch or the user's code
    leases_devices: bool  # whether runs on one device must follow each other
    bakes_scalars: bool  # whether a build holds the scalars' values
    usual_guards: tuple[str, ...]  # those of `golden_tasks.guards` that hold unless a case says otherwise

    def unavailable(self) -> str | None:
        """Why the backend cannot be used here; None if it can."""

    def accepts(self, program: object) -> bool:
        """Whether a program object is of the backend's kind."""

    def describe(self, program: Any, platform: str, tiles: Mapping[str, object], options: Mapping[str, Any]) -> Program:
        """A program as plain data. Raises `Failure` for options and tile values that cannot be."""

    def reaches(self, program: Any) -> Mapping[str, object]:
        """The Python objects that a program's result depends on, by name; what they reach counts too."""

    def parts(self, program: Program, arguments: Sequence[Argument], read: Read) -> dict[str, str]:
        """All that a build of the program is made from, part by part; the toolchain is among them."""

    def toolchain(self, digest_file: DigestFile) -> dict[str, str]:
        """What compiles here, part by part. Raises `Failure` (SKIPPED) if nothing does."""

    def content(self, path: str, was: str, read: Read) -> str:
        """What is in a file that a build found out about, in the form in which its record says it."""

    def compile(self, program: Program, arguments: Sequence[Argument], work_dir: Path) -> Build:
        """Builds into an empty folder and writes its `build.json`. Raises `Failure`, the compiler's words in it."""

    def edited(self, work_dir: Path, build: Build) -> list[str]:
        """The sources in a `runtime_dir` whose contents are not what its binaries were built from."""

    def rebuild(self, work_dir: Path, build: Build) -> Build:
        """Builds a `runtime_dir` again from its own sources. Raises `Failure`."""

    def possible_guards(self, build: Build) -> tuple[str, ...]:
        """The guards that can be had for a build. `bounds` needs arguments in this process's own memory."""

    def child_environment(self, build: Build) -> dict[str, str]:
        """Environment variables that a process needs from its start to execute the build."""

    def execute(self, work_dir: Path, build: Build, values: Sequence[Any], device: int) -> float:
        """Runs the build on tensors and 0-dim scalar tensors, outputs changed in place; returns seconds.

        Raises `Failure` if the kernel reports an error.
        """


def arguments_as_parts(arguments: Sequence[Argument]) -> dict[str, str]:
    """A build's arguments as parts of what it is made from."""
    return {f"argument {position}": f"{a.name}: {a}" for position, a in enumerate(arguments, 1)}


def unremembered(kind: str, path: str, compute: Callable[[str], str]) -> str:
    """`compute(path)`: a `Read` without a memory."""
    return compute(path)


def default_platform(platforms: Mapping[str, object] | Sequence[str]) -> str:
    """`cpu` if it is among the platforms, else the first."""
    return DEFAULT_PLATFORM if DEFAULT_PLATFORM in platforms else next(iter(platforms))


def backend_for(platform: str) -> Backend:
    """The backend that serves a platform. Raises `Failure` (SKIPPED) naming those that exist."""
    from golden_tasks.backends.cpu import CpuBackend
    from golden_tasks.backends.torch import TorchBackend

    ours: tuple[Backend, ...] = (CpuBackend(), TorchBackend())
    known: list[str] = []
    for backend in ours:
        if platform in backend.platforms:
            return backend
        known += backend.platforms
    for point in entry_points(group="golden_tasks.backends"):
        plugin: Backend = point.load()()
        if platform in plugin.platforms:
            return plugin
        known += plugin.platforms
    raise Failure(Status.SKIPPED, f"Unknown runtime platform {platform!r}: known here are {', '.join(known)}")


def available_backend(platform: str) -> Backend:
    """The backend that serves a platform and can be used here. Raises `Failure` (SKIPPED) with the reason."""
    backend = backend_for(platform)
    reason = backend.unavailable()
    if reason is not None:
        raise Failure(Status.SKIPPED, f"platform {platform!r} is not available: {reason}")
    return backend


def shown(path: Path) -> str:
    """A path below the current folder relative to it, so that a copied project finds its builds current."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
