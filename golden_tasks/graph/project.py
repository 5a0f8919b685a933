"""`Project`: a folder of kernel files as doit tasks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doit.exceptions import InvalidDodoFile, TaskFailed

from golden_tasks import digest
from golden_tasks.backends import backend_for, default_platform
from golden_tasks.fingerprint import of_python_file, outside
from golden_tasks.graph import state
from golden_tasks.graph.discovery import CaseRef, DiscoveryError, discover
from golden_tasks.graph.memory import Memory
from golden_tasks.graph.reporter import VerdictReporter
from golden_tasks.graph.stage import PER_CASE, Stage
from golden_tasks.graph.tasks import STAGES
from golden_tasks.graph.teeth import Bites
from golden_tasks.records import ABSENT
from golden_tasks.results import Failure, of_os_error

_BYTES = "bytes "  # before the digest of a file that counts as it is, though it may be a source
_GROUPS = {
    "inspect": "Read kernel files: each case's contract, policy and programs.",
    "golden": "Generate inputs and compute goldens, as pending snapshots.",
    "compile": "Build programs into reusable runtime_dirs.",
    "execute": "Run builds over the snapshots' inputs.",
    "validate": "Hold outputs against the snapshots.",
    "capture": "Publish snapshots that a passing run has proved.",
    "replay": "Bring everything up to date and show the verdicts.",
    "teeth": "Damage expected outputs as kernels do, and see that the policies catch it.",
}
_NEEDS = {
    "inspect": (),
    "golden": ("inspect",),
    "compile": ("inspect",),
    "execute": ("golden", "compile"),
    "validate": ("execute",),
    "capture": ("validate",),
    "replay": ("capture", "validate"),
    "teeth": ("golden",),
}


class StageFailed(TaskFailed):  # type: ignore[misc]
    """A stage's failure, as doit carries it to the reporter."""

    def __init__(self, failure: Failure, seconds: float = 0.0) -> None:
        super().__init__(failure.message)
        self.status = failure.status


class Project:
    """The cases below a folder and the tasks that freeze, build, run and judge them.

    `kernels` are glob patterns of the files that declare cases, relative to the folder of the `dodo.py` that makes the
    project. `timeout` (seconds) and `memory` (bytes) limit each stage of a case that says nothing else: 600 seconds,
    and as much memory as the machine has. `device` is the number of the device that runs are made on.
    """

    def __init__(
        self,
        kernels: str | list[str] = "kernels/*.py",
        *,
        timeout: float = 600,
        memory: int | None = None,
        device: int = 0,
    ) -> None:
        dodo = sys._getframe(1).f_globals.get("__file__")
        self.root = Path(dodo).resolve().parent if dodo else Path.cwd()
        self.kernels = [kernels] if isinstance(kernels, str) else list(kernels)
        for pattern in self.kernels:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise InvalidDodoFile(f"kernels={pattern!r}: name files below {self.root}, by a path relative to it")
        self.timeout = timeout
        self.device = device
        self.memory_limit = memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.output = Path("build_output")
        state.prepare(self.root / self.output)
        self.memory = Memory(self.output / ".memory.json")
        self.stages: dict[str, Stage] = {}  # task -> its stage
        self._toolchains: dict[str, str] = {}

    @property
    def doit_config(self) -> dict[str, Any]:
        """What `DOIT_CONFIG` must be."""
        return {
            "default_tasks": ["replay:all"],
            "backend": "sqlite3",
            "dep_file": str(self.output / state.STATE),
            "check_file_uptodate": "timestamp",
            "continue": True,
            "reporter": VerdictReporter,
            "subtasks": True,
            "sort": "definition",
        }

    def digest_of_source(self, file: str) -> str | None:
        """A file's digest, a Python file's in normal form; None if it is not there."""
        try:
            return self.memory.get("source", file, _python_or_bytes)
        except OSError:
            return None

    def digest_of_bytes(self, file: str) -> str | None:
        """A file's digest, for one that is read as it is; None if it is not there."""
        try:
            return f"{_BYTES}{self.memory.file(file)}"
        except OSError:
            return None

    def content(self, file: str, was: str) -> str:
        """What is at a place on disk, in the form in which it was said before."""
        self.memory.look(file)
        if outside.is_place(was):
            return outside.place_now(file, was)
        now = self.digest_of_bytes(file) if was.startswith(_BYTES) else self.digest_of_source(file)
        return now or ABSENT

    def toolchain(self, platform: str) -> str:
        """What compiles for a platform; looked for once."""
        if platform not in self._toolchains:
            try:
                self._toolchains[platform] = str(backend_for(platform).toolchain(self.memory.file))
            except Failure as failure:
                return failure.message
        return self._toolchains[platform]

    def made_with(self, stage: Stage) -> list[Stage]:
        """The stages of a case that need what a stage makes, on its platform if it has one."""
        needing = {verb for verb, needs in _NEEDS.items() if stage.verb in needs}
        while more := {verb for verb, needs in _NEEDS.items() if needing & set(needs)} - needing:
            needing |= more
        needing -= {"capture"}  # which makes what golden has made, for all platforms
        others = [other for other in self.stages.values() if other.case is stage.case and other.verb in needing]
        return [other for other in others if stage.verb in PER_CASE or other.platform == stage.platform]

    def label(self, case: CaseRef, platform: str) -> str:
        """`K`, or `K@platform` away from the case's default platform."""
        return case.name if platform == default_platform(case.platforms) else f"{case.name}@{platform}"

    def tasks(self) -> Iterator[dict[str, Any]]:
        """All stages of all cases, as doit's task dictionaries. Raises `InvalidDodoFile` for what cannot be read."""
        files = sorted({str(path.relative_to(self.root)) for g in self.kernels for path in self.root.glob(g)})
        try:
            cases = discover(files, self.memory)
        except DiscoveryError as error:
            raise InvalidDodoFile(str(error)) from None
        if not cases:
            where = f"{', '.join(self.kernels)} below {self.root}"
            what = f"no case is declared in {where}: write Case(...) in one" if files else f"there is no file {where}"
            raise InvalidDodoFile(f"{what}; Project(kernels=...) in the dodo.py says where kernel files are")
        stages: tuple[type[Stage], ...] = (*STAGES, Bites)
        classes: dict[str, type[Stage] | None] = {stage.verb: stage for stage in stages}
        for verb in _NEEDS:
            yield {"basename": verb, "name": None, "doc": _GROUPS[verb]}
            yield from self._stage(verb, classes.get(verb), cases)

    def _stage(self, verb: str, stage_class: type[Stage] | None, cases: list[CaseRef]) -> Iterator[dict[str, Any]]:
        for case in cases:
            default = default_platform(case.platforms)
            platforms = (default,) if verb in PER_CASE else case.platforms
            for platform in platforms:
                label = self.label(case, platform)
                needs = [f"{n}:{case.name if n in PER_CASE else label}" for n in _NEEDS[verb]]
                task: dict[str, Any] = {"basename": verb, "name": label, "task_dep": needs}
                if stage_class is None:
                    yield {**task, "actions": None, "doc": f"Show {case.name}'s verdict on {platform}."}
                    continue
                stage = self.stages[f"{verb}:{label}"] = stage_class(self, case, platform)
                yield {
                    **task,
                    "actions": [(act, [stage], {"again": False})],
                    "uptodate": [stage],
                    "file_dep": self._files(verb, case, platform),
                    "doc": stage.about.format(name=case.name, file=case.file, platform=platform),
                }
        yield from self._groups(verb, cases)

    def _groups(self, verb: str, cases: list[CaseRef]) -> Iterator[dict[str, Any]]:
        names = [f"{verb}:{case.name}" for case in cases]
        yield {
            "basename": verb,
            "name": "all",
            "actions": None,
            "task_dep": names,
            "doc": f"All cases: {_lower(_GROUPS[verb])}",
        }
        if verb in PER_CASE:
            return
        for platform in sorted({p for case in cases for p in case.platforms}):
            names = [f"{verb}:{self.label(case, platform)}" for case in cases if platform in case.platforms]
            doc = f"All cases on {platform}: {_lower(_GROUPS[verb])}"
            yield {
                "basename": verb,
                "name": f"all@{platform}",
                "actions": None,
                "task_dep": names,
                "doc": doc,
            }

    def _files(self, verb: str, case: CaseRef, platform: str) -> list[str]:
        """What `doit list --deps` shows: the kernel's file, and the records between stages."""
        folder = f"{self.output}/{case.name}"
        place = f"{folder}/{platform}"
        if verb == "inspect":
            return [case.file]
        if verb == "golden":
            return [f"{folder}/contract.json"]
        if verb == "teeth":
            return [f"{folder}/policy.json"]
        if verb == "compile":
            return [f"{folder}/contract.json", f"{place}/program.json"]
        if verb == "execute":
            return [f"{place}/runtime/build.json"]
        if verb == "validate":
            return [f"{place}/run.json", f"{folder}/policy.json"]
        return [f"{place}/verdict.json"]


def act(stage: Stage, again: bool) -> dict[str, Any] | StageFailed:
    """A stage's action in doit: its result as plain data, or its failure."""
    try:
        return stage.act(again)
    except Failure as failure:
        return StageFailed(failure)
    except OSError as error:
        return StageFailed(of_os_error(error))


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _python_or_bytes(path: str) -> str:
    """A Python file's digest in normal form, any other file's by its bytes. Raises `OSError`."""
    return of_python_file(path) if path.endswith(".py") else digest.of_file(path)
