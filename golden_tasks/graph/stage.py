"""`Stage`: why an artefact must be made again, and how it is made. Records are the truth; doit's state is a hint."""

from __future__ import annotations

import inspect
import itertools
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from golden_tasks import isolation, records
from golden_tasks.fingerprint import outside
from golden_tasks.graph import locks, reasons
from golden_tasks.graph.discovery import CaseRef
from golden_tasks.isolation import ChildError
from golden_tasks.records import ABSENT, Build, Contract, Inspection, Manifest, Policy, Program, Record, Run
from golden_tasks.results import Failure, Status
from golden_tasks.snapshot import layout

if TYPE_CHECKING:
    from golden_tasks.graph.project import Project

WORK = "golden_tasks.graph.work"
BUILDING = "golden_tasks.graph.building"
PER_CASE = ("inspect", "golden", "teeth")  # the stages that exist once a case, whatever its platforms
T = TypeVar("T", bound=msgspec.Struct)


class Stage:
    """One stage of one case on one platform.

    `causes` says why it must run, `act` runs it. doit calls the stage itself to ask whether it is up to date.
    """

    verb: ClassVar[str]
    about: ClassVar[str]  # the sentence for a case in `doit list`
    raises: ClassVar[Status]  # the status if the user's code raises in this stage
    reads: ClassVar[tuple[str, ...]] = ()  # the artefacts that it is made from
    makes: ClassVar[tuple[str, ...]]  # the artefacts that it makes
    repeats: ClassVar[bool] = False  # whether `doit -a` runs it though it is current
    follows: ClassVar[tuple[str, ...]] = ()  # parts that follow from others, and are told only if alone
    __signature__ = inspect.Signature()  # doit asks for it before each call

    def __init__(self, project: Project, case: CaseRef, platform: str) -> None:
        self.project = project
        self.case = case
        self.platform = platform
        self.reason: str | None = None  # why it ran, as doit was told
        self.note = ""  # what else is to be said of how it ran
        self.began = 0  # when the stage began to make, in ns
        self.again = False  # whether it is asked to make what is current

    def __repr__(self) -> str:
        return f"{self.verb} of {self.case.name} on {self.platform}: {self.reason or 'current'}"

    @property
    def label(self) -> str:
        """`matmul`, or `matmul@platform` away from the default platform."""
        return self.project.label(self.case, self.platform)

    @property
    def task(self) -> str:
        """The name of its task in doit."""
        return f"{self.verb}:{self.case.name if self.verb in PER_CASE else self.label}"

    @cached_property
    def folder(self) -> Path:
        """Where the case's artefacts are."""
        return self.project.output / self.case.name

    @cached_property
    def place(self) -> Path:
        """Where the case's artefacts of the platform are."""
        return self.folder / self.platform

    @property
    def beside(self) -> Path:
        """Where an artefact is made before it is moved to its place."""
        return self.place / f"{self.verb}.new"

    # What is there, and why it is not current

    def record_file(self) -> str:
        """The file of the record that says what the artefact was made from."""
        raise NotImplementedError

    def record(self) -> Record | None:
        """The record; None if there is none that can be read."""
        raise NotImplementedError

    def parts(self) -> dict[str, str]:
        """What the artefact is made from now. Raises `Failure` if an earlier stage has not made its own."""
        raise NotImplementedError

    def altered(self, record: Any) -> Iterator[str]:
        """What of the artefact is missing or was changed by hand."""
        return self.altered_files(record.made)

    def failure(self) -> Failure | None:
        """What the current record says against the case; None if nothing."""
        return None

    def depends_on(self) -> str:
        """What the answer of `causes` depends on beside files and environment variables."""
        return ""

    def causes(self) -> Iterator[str]:
        """Why the stage must run, the first thing to be told in front; nothing if its artefact is current."""
        record = self.record()
        if record is None:
            yield self.absence()
            return
        told = set()
        for cause in itertools.chain(self.outdated(record), self.altered(record)):
            if cause not in told:
                yield cause
            told.add(cause)

    def stale(self) -> str | None:
        """The first reason why the stage must run; None if its artefact is current."""
        return next(self.causes(), None)

    def absence(self) -> str:
        """Why there is no record."""
        file = self.record_file()
        if self.project.memory.look(file) is not None:
            return f"{file} was edited or damaged"
        made = [stage.record_file() for stage in self.project.made_with(self)]
        return f"{file} is gone" if any(map(os.path.exists, made)) else "never made"

    def outdated(self, record: Record) -> Iterator[str]:
        """How what a record was made from differs from what is there now."""
        now, was = self.parts(), record.made_from
        if now != was:
            changed = [part for part in now.keys() | was.keys() if now.get(part) != was.get(part)]
            changed = [part for part in changed if part not in self.follows] or changed
            for part in sorted(changed, key=lambda part: reasons.importance(part, was, now)):
                yield self.words(part, was.get(part), now.get(part))
        for file, content in record.found.items():
            found = self.content(file, content)
            if found != content:
                yield f"{file} {reasons.became(content, found)}"
        for name, value in record.environment.items():
            given = self.project.memory.variable(name)
            if given != value:
                yield reasons.variable(name, value, given)

    def content(self, file: str, was: str) -> str:
        """What is in a file that a record found out about, in the form in which the record says it."""
        return self.project.content(file, was)

    def words(self, part: str, old: str | None, new: str | None) -> str:
        """A changed part in the reader's terms: what it was and is, and where."""
        inspection = self.inspection()
        file = (inspection.where.get(part) if inspection else None) or self.case.file
        return reasons.change(part, old, new, file)

    def altered_files(self, files: Mapping[str, str], folder: str = "") -> Iterator[str]:
        """Which files of an artefact are missing or not as they were made."""
        for name, made in files.items():
            path = f"{folder}/{name}" if folder else name
            try:
                if self.project.memory.file(path) != made:
                    yield f"{path} was altered"
            except OSError:
                yield f"{path} is missing"

    def __call__(self) -> bool:
        """doit's question: whether it is up to date. A recorded failure is current, but never up to date."""
        memory = self.project.memory
        question, depends_on = f"{self.verb} {self.case.name} {self.platform} {self.case.file}", self.depends_on()
        if memory.is_settled(question, depends_on):
            self.reason = None
            return True
        with memory.answering(depends_on) as seen:
            try:
                causes = list(self.causes())
                up_to_date = not causes and self.failure() is None
            except Failure as failure:
                causes, up_to_date = [failure.message], False
        self.reason = reasons.first_of(causes)
        if up_to_date:
            memory.settle(question, seen)
        return up_to_date

    # How it runs

    def make(self, parts: dict[str, str]) -> Any:
        """Makes the artefact beside its place."""
        raise NotImplementedError

    def keep(self, made: Any) -> None:
        """Moves what `make` made to its place and writes the record last."""
        raise NotImplementedError

    def repeat(self, status: Status) -> str:
        """The command that fails again as the stage did."""
        return f"doit {self.task}"

    def script(self, data: Path, guards: bool = False) -> str:
        """The command that runs the build on a snapshot, in a process of the user's own if the file is a script."""
        if not self.case.has_main:
            return f"doit -a replay:{self.label}"
        device = f" -d {self.project.device}" if self.project.device else ""
        options = f"--golden-data {data} --runtime-dir {self.place / 'runtime'}{' --guards' if guards else ''}"
        return f"python {self.case.file} -p {self.platform}{device} {options}"

    def act(self, again: bool) -> dict[str, Any]:
        """Brings the artefact up to date, or with `again` makes it anew. Raises `Failure`, a recorded one too."""
        start = time.perf_counter()
        with locks.held(self.folder, self._names(self.reads), self._names(self.makes)):
            made = self._make_if_needed(again)
            failure = self.failure()
        if failure is not None:
            raise failure
        return {"made": made, "seconds": time.perf_counter() - start, "note": self.note}

    def _names(self, artefacts: tuple[str, ...]) -> list[str]:
        """The names of artefacts' locks: those of a platform hold its name."""
        return [name if name in ("inspection", "snapshot") else f"{name}@{self.platform}" for name in artefacts]

    def _make_if_needed(self, again: bool) -> bool:
        self.again = again and self.repeats
        if self.stale() is None and not self.again:
            return False
        self.began = time.time_ns()
        parts = self.parts()
        try:
            result = self.make(parts)
            if self.parts() != parts:
                raise Failure(Status.STALE, f"{self.case.file} was edited while {self.verb} ran: run doit again")
            self.keep(result)
        except ChildError as error:
            traceback_text = error.traceback_text.rstrip().removesuffix(error.raised)
            where = error.where or self.case.file
            raise Failure(self.raises, f"{where}: {error.raised}\n{traceback_text}".rstrip()) from None
        finally:
            shutil.rmtree(self.beside, ignore_errors=True)
        return True

    def child(
        self,
        function: str,
        request: dict[str, Any],
        module: str = WORK,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Calls a function of a module in a child process, its output in `<verb>.log`."""
        inspection = self.inspection()
        folder = self.folder if self.verb in PER_CASE else self.place
        return isolation.call(
            f"{module}:{function}",
            {"case": self.case.name, "file": self.case.file, **request},
            log=log or folder / f"{self.verb}.log",
            timeout=(inspection.timeout if inspection else None) or self.project.timeout,
            memory=(inspection.memory if inspection else None) or self.project.memory_limit,
            environment=environment,
        )

    def contents(self, answer: Mapping[str, Any]) -> dict[str, str]:
        """The contents of all that a child has found out about; files that it has removed are left out."""
        files = {file: self.project.digest_of_source(file) for file in answer["modules"]}
        files |= {file: self.project.digest_of_bytes(file) for file in answer["files"]}
        found = {file: content for file, content in files.items() if content is not None}
        folders: dict[str, str] = answer["folders"]
        return found | dict.fromkeys(answer["absent"], ABSENT) | folders

    def found(self, files: Mapping[str, str]) -> dict[str, str]:
        """Files found out about, as they were when the stage began. Raises `Failure` if one was changed since."""
        for file, content in files.items():
            edited = not outside.is_place(content) and reasons.changed_since(file, self.began)
            if edited or self.content(file, content) != content:
                raise Failure(Status.STALE, f"{file} was edited while {self.verb} ran: run doit again")
        return dict(files)

    # What other stages have made

    def inspection(self) -> Inspection | None:
        return self.known(self.in_case("inspect.json"), Inspection)

    def contract(self) -> Contract:
        return self._needed(self.in_case("contract.json"), Contract, f"doit inspect:{self.case.name}")

    def policy(self) -> Policy:
        return self._needed(self.in_case("policy.json"), Policy, f"doit inspect:{self.case.name}")

    def program(self) -> Program:
        return self._needed(self.on_platform("program.json"), Program, f"doit inspect:{self.case.name}")

    def build(self) -> Build:
        return self._needed(self.on_platform("runtime/build.json"), Build, f"doit compile:{self.label}")

    def run(self) -> Run:
        return self._needed(self.on_platform("run.json"), Run, f"doit execute:{self.label}")

    def manifest(self, folder: str) -> Manifest | None:
        """The manifest of `data` or `pending`; None if it has none, or one that was edited or damaged."""
        return self.known(self.in_case(f"{folder}/{layout.MANIFEST}"), Manifest)

    def in_case(self, name: str) -> str:
        """The path of one of the case's files."""
        return f"{self.project.output}/{self.case.name}/{name}"

    def on_platform(self, name: str) -> str:
        """The path of one of the case's files on the platform."""
        return f"{self.project.output}/{self.case.name}/{self.platform}/{name}"

    def known(self, path: str, kind: type[T]) -> T | None:
        """The record in a file; None if there is none that can be read."""
        return self.project.memory.read(path, lambda path: records.read(path, kind))

    def _needed(self, path: str, kind: type[T], command: str) -> T:
        record = self.known(path, kind)
        if record is None:
            raise Failure(Status.STALE, f"{path} is missing or damaged: run {command}")
        return record
