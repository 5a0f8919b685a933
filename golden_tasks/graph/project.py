"""`Project`: a folder of kernel files as doit tasks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doit.exceptions import InvalidDodoFile, TaskFailed

from golden_tasks.backends import default_platform
from golden_tasks.digest import Memory
from golden_tasks.graph import state
from golden_tasks.graph.discovery import CaseRef, DiscoveryError, discover
from golden_tasks.graph.reporter import VerdictReporter
from golden_tasks.graph.tasks import PER_CASE, STAGES, Stage, python_or_bytes
from golden_tasks.results import Failure, of_os_error

_GROUPS = {
    "inspect": "Read kernel files: each case's contract, policy and programs.",
    "golden": "Generate inputs and compute goldens, as pending snapshots.",
    "compile": "Build programs into reusable runtime_dirs.",
    "execute": "Run builds over the snapshots' inputs.",
    "validate": "Hold outputs against the snapshots.",
    "capture": "Publish snapshots that a passing run has proved.",
    "replay": "Bring everything up to date and show the verdicts.",
}
_NEEDS = {
    "inspect": (),
    "golden": ("inspect",),
    "compile": ("inspect",),
    "execute": ("golden", "compile"),
    "validate": ("execute",),
    "capture": ("validate",),
    "replay": ("capture", "validate"),
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
        self.digests = Memory(self.output / ".digests.json")

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
            return self.digests.get("source", file, python_or_bytes)
        except OSError:
            return None

    def label(self, case: CaseRef, platform: str) -> str:
        """`K`, or `K@platform` away from the case's default platform."""
        return case.name if platform == default_platform(case.platforms) else f"{case.name}@{platform}"

    def tasks(self) -> Iterator[dict[str, Any]]:
        """All stages of all cases, as doit's task dictionaries. Raises `InvalidDodoFile` for what cannot be read."""
        files = sorted({str(path.relative_to(self.root)) for g in self.kernels for path in self.root.glob(g)})
        try:
            cases = discover(files, self.digests)
        except DiscoveryError as error:
            raise InvalidDodoFile(str(error)) from None
        if not cases:
            where = f"{', '.join(self.kernels)} below {self.root}"
            what = f"no case is declared in {where}: write Case(...) in one" if files else f"there is no file {where}"
            raise InvalidDodoFile(f"{what}; Project(kernels=...) in the dodo.py says where kernel files are")
        classes: dict[str, type[Stage] | None] = {stage.verb: stage for stage in STAGES}
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
                stage = stage_class(self, case, platform)
                yield {
                    **task,
                    "actions": [(act, [stage], {"again": False})],
                    "uptodate": [stage.uptodate],
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
        folder = self.output / case.name
        place = folder / platform
        return {
            "inspect": [case.file],
            "golden": [str(folder / "contract.json")],
            "compile": [str(folder / "contract.json"), str(place / "program.json")],
            "execute": [str(place / "runtime" / "build.json")],
            "validate": [str(place / "run.json"), str(folder / "policy.json")],
            "capture": [str(place / "verdict.json")],
        }[verb]


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
