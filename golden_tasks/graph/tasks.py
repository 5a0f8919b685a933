"""The seven stages of a case. Records are the truth about what is stale; doit's own state is a hint."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from golden_tasks import digest, isolation, records
from golden_tasks.backends import Backend, available_backend, backend_for
from golden_tasks.fingerprint import of_python_file
from golden_tasks.graph import locks
from golden_tasks.graph.discovery import CaseRef, line_of
from golden_tasks.isolation import ChildError
from golden_tasks.records import (
    Build,
    Contract,
    Entry,
    Manifest,
    OutputVerdict,
    Policy,
    Program,
    Proof,
    Record,
    Run,
    Verdict,
)
from golden_tasks.results import Failure, Status
from golden_tasks.snapshot import layout

if TYPE_CHECKING:
    from golden_tasks.graph.project import Project

WORK = "golden_tasks.graph.work"
BUILDING = "golden_tasks.graph.building"
_KEPT_FAILURES = 5


class Inspection(Record, kw_only=True):
    """`inspect.json`: what was read to find contract, policy and programs."""

    timeout: float | None
    memory: int | None


class Stage:
    """One stage of one case on one platform.

    `stale` says why it must run, `act` runs it. `uptodate` is what doit asks before.
    """

    verb: ClassVar[str]
    about: ClassVar[str]  # the sentence for a case in `doit list`
    raises: ClassVar[Status]  # the status if the user's code raises in this stage
    reads: ClassVar[tuple[str, ...]] = ()  # the artefacts that it is made from
    makes: ClassVar[tuple[str, ...]]  # the artefacts that it makes
    repeats: ClassVar[bool] = False  # whether `doit -a` runs it though it is current

    def __init__(self, project: Project, case: CaseRef, platform: str) -> None:
        self.project = project
        self.case = case
        self.platform = platform
        self.folder = project.output / case.name
        self.place = self.folder / platform
        self.beside = self.place / f"{self.verb}.new"  # where an artefact is made before it is moved to its place
        self.reason: str | None = None  # why it ran, as `uptodate` found it
        self.began = 0  # when the stage began to make, in ns

    def __repr__(self) -> str:
        return f"{self.verb} of {self.case.name} on {self.platform}: {self.reason or 'current'}"

    def parts(self) -> dict[str, str]:
        """What the artefact is made from now. Raises `Failure` if an earlier stage has not made its own."""
        raise NotImplementedError

    def record(self) -> Record | None:
        """What the artefact on disk was made from."""
        raise NotImplementedError

    def make(self, parts: dict[str, str]) -> Any:
        """Makes the artefact beside its place."""
        raise NotImplementedError

    def keep(self, made: Any) -> None:
        """Moves what `make` made to its place and writes the record last."""
        raise NotImplementedError

    def altered(self, record: Any) -> str | None:
        """What of the artefact is missing or was changed by hand; None if it is as the record says."""
        return self._altered_files(record.made)

    def failure(self) -> Failure | None:
        """What the current record says against the case; None if nothing."""
        return None

    def repeat(self, status: Status) -> str:
        """The command that fails again as the stage did."""
        return f"doit {self.verb}:{self.case.name if self.verb in PER_CASE else self.label}"

    def script(self, data: Path) -> str:
        """The command that runs the build on a snapshot, in a process of the user's own if the file is a script."""
        if not self.case.has_main:
            return f"doit -a replay:{self.label}"
        device = f" -d {self.project.device}" if self.project.device else ""
        options = f"--golden-data {data} --runtime-dir {self.place / 'runtime'}"
        return f"python {self.case.file} -p {self.platform}{device} {options}"

    def stale(self) -> str | None:
        """Why the stage must run; None if its artefact is current."""
        record = self.record()
        if record is None:
            return "never made"
        return self.outdated(record) or self.altered(record)

    def outdated(self, record: Record) -> str | None:
        """How what a record was made from differs from what is there now; None if it does not."""
        now = self.parts()
        for part in sorted(now.keys() | record.made_from.keys(), key=_importance):
            if now.get(part) != record.made_from.get(part):
                return self.words(part, record.made_from.get(part), now.get(part))
        for file, was in record.found.items():
            if self.project.digest_of_source(file) != was:
                return f"{file} changed" if Path(file).exists() else f"{file} is gone"
        for name, value in record.environment.items():
            if os.environ.get(name) != value:
                return f"environment variable {name}: {value} -> {os.environ.get(name)}"
        return None

    def words(self, part: str, old: str | None, new: str | None) -> str:
        """A changed part in the reader's terms: what it was and is, and where."""
        name = part.rpartition(" ")[2]
        line = line_of(self.case.file, name)
        where = f" ({self.case.file}:{line})" if line else ""
        kind = part.partition(" ")[0]
        shown = name if kind in ("tile", "golden", "program") else part
        if old is None or new is None:
            return f"{shown} {'added' if old is None else 'removed'}{where}"
        if "blake3:" in old + new or len(old + new) > 60:
            return f"{shown} changed{where}"
        return f"{shown} {old} -> {new}{where}"

    def uptodate(self) -> bool:
        """doit's question. A recorded failure is current, but never up to date."""
        try:
            self.reason = self.stale()
            return self.reason is None and self.failure() is None
        except Failure as failure:
            self.reason = failure.message
            return False

    def act(self, again: bool) -> dict[str, Any]:
        """Brings the artefact up to date, or with `again` makes it anew. Raises `Failure`, a recorded one too."""
        start = time.perf_counter()
        with locks.held(self.folder, self._names(self.reads), self._names(self.makes)):
            made = self._make_if_needed(again)
            failure = self.failure()
        if failure is not None:
            raise failure
        return {"made": made, "seconds": time.perf_counter() - start}

    def _names(self, artefacts: tuple[str, ...]) -> list[str]:
        """The names of artefacts' locks: those of a platform hold its name."""
        return [name if name in ("inspection", "snapshot") else f"{name}@{self.platform}" for name in artefacts]

    def _make_if_needed(self, again: bool) -> bool:
        made = False
        if self.stale() is not None or (again and self.repeats):
            made = True
            self.began = time.time_ns()
            parts = self.parts()
            try:
                result = self.make(parts)
                if self.parts() != parts:
                    raise Failure(Status.STALE, f"{self.case.file} was edited while {self.verb} ran: run doit again")
                self.keep(result)
            except ChildError as error:
                traceback_text = error.traceback_text.rstrip().removesuffix(error.raised)
                raise Failure(self.raises, f"{self.case.file}: {error.raised}\n{traceback_text}".rstrip()) from None
            finally:
                shutil.rmtree(self.beside, ignore_errors=True)
        return made

    def child(self, function: str, request: dict[str, Any], module: str = WORK, **options: Any) -> dict[str, Any]:
        """Calls a function of a module in a child process, its output in `<verb>.log`."""
        inspection = records.read(self.folder / "inspect.json", Inspection)
        log = self.place / f"{self.verb}.log" if self.verb not in PER_CASE else self.folder / f"{self.verb}.log"
        return isolation.call(
            f"{module}:{function}",
            {"case": self.case.name, "file": self.case.file, **request},
            log=log,
            timeout=(inspection.timeout if inspection else None) or self.project.timeout,
            memory=(inspection.memory if inspection else None) or self.project.memory_limit,
            **options,
        )

    def _altered_files(self, files: Mapping[str, str], folder: Path | None = None) -> str | None:
        for name, made in files.items():
            path = str(folder / name if folder else name)
            try:
                if self.project.digests.file(path) != made:
                    return f"{path} was altered"
            except OSError:
                return f"{path} is missing"
        return None

    def _found(self, files: list[str]) -> dict[str, str]:
        """Digests of files found out about. Raises `Failure` if one was changed since the stage began."""
        found = {}
        for file in files:
            now = self.project.digest_of_source(file)
            if now is None:
                continue
            info = os.stat(file)
            if max(info.st_mtime_ns, info.st_ctime_ns) >= self.began:
                raise Failure(Status.STALE, f"{file} was edited while {self.verb} ran: run doit again")
            found[file] = now
        return found

    def contract(self) -> Contract:
        return _needed(self.folder / "contract.json", Contract, f"doit inspect:{self.case.name}")

    def policy(self) -> Policy:
        return _needed(self.folder / "policy.json", Policy, f"doit inspect:{self.case.name}")

    def program(self) -> Program:
        return _needed(self.place / "program.json", Program, f"doit inspect:{self.case.name}")

    def build(self) -> Build:
        return _needed(self.place / "runtime" / "build.json", Build, f"doit compile:{self.label}")

    def run(self) -> Run:
        return _needed(self.place / "run.json", Run, f"doit execute:{self.label}")

    def snapshot(self) -> tuple[Path, Manifest]:
        """The snapshot of the current contract, pending or published. Raises `Failure` if there is none."""
        golden = Golden(self.project, self.case, self.platform)
        found = golden.current()
        if found is None:
            raise Failure(Status.STALE, f"no snapshot of the current contract: run doit golden:{self.case.name}")
        return found

    @property
    def label(self) -> str:
        """`matmul`, or `matmul@platform` away from the default platform."""
        return self.project.label(self.case, self.platform)


class Inspect(Stage):
    verb = "inspect"
    about = "Read {file}: contract, policy and programs."
    raises = Status.CASE_ERROR
    makes = ("inspection",)
    repeats = True

    def parts(self) -> dict[str, str]:
        file = self.case.file
        return {
            file: self.project.digest_of_source(file) or "gone",
            "interpreter": f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}",
            "platforms": ", ".join(self.case.platforms),
        }

    def record(self) -> Inspection | None:
        return records.read(self.folder / "inspect.json", Inspection)

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part == self.case.file:
            return f"{part} changed"
        return super().words(part, old, new)

    def make(self, parts: dict[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
        return parts, self.child("inspect", {"platforms": list(self.case.platforms)})

    def keep(self, made: tuple[dict[str, str], dict[str, Any]]) -> None:
        parts, answer = made
        found = self._found(answer["modules"] + answer["files"])
        files: dict[Path, Any] = {
            self.folder / "contract.json": msgspec.convert(answer["contract"], Contract),
            self.folder / "policy.json": msgspec.convert(answer["policy"], Policy),
        }
        for platform, program in answer["programs"].items():
            files[self.folder / platform / "program.json"] = msgspec.convert(program, Program)
        for path, record in files.items():
            records.write_if_changed(path, record)
        inspection = Inspection(
            made_from=parts,
            found=found,
            environment=answer["environment"],
            made={str(path): digest.of_file(path) for path in files},
            timeout=answer["timeout"],
            memory=answer["memory"],
        )
        records.write(self.folder / "inspect.json", inspection)


class Golden(Stage):
    verb = "golden"
    about = "Generate {name}'s inputs and compute its golden, as a pending snapshot."
    raises = Status.GOLDEN_ERROR
    reads = ("inspection",)
    makes = ("snapshot",)

    def parts(self) -> dict[str, str]:
        return self.contract().parts

    def current(self) -> tuple[Path, Manifest] | None:
        """The snapshot of the current contract, pending or published; None if there is none."""
        for folder in (self.folder / "pending", self.folder / "data"):
            manifest = layout.read_manifest(folder)
            if manifest is not None and self.outdated(manifest) is None:
                return folder, manifest
        return None

    def record(self) -> Manifest | None:
        current = self.current()
        if current is not None:
            return current[1]
        return layout.read_manifest(self.folder / "data") or layout.read_manifest(self.folder / "pending")

    def altered(self, record: Manifest) -> str | None:
        return None  # a damaged snapshot is refused, not made again: see `failure`

    def stale(self) -> str | None:
        return None if self._without_manifest() else super().stale()

    def failure(self) -> Failure | None:
        folder = self._without_manifest()
        if folder:
            return self._damaged([f"{folder / layout.MANIFEST} is missing or damaged"], folder)
        current = self.current()
        if current is None:
            return None
        damage = layout.damage(*current, self.project.digests.file)
        return self._damaged(damage, current[0]) if damage else None

    def _without_manifest(self) -> Path | None:
        """A snapshot's folder that has lost its manifest: what is in it cannot be told."""
        for folder in (self.folder / "pending", self.folder / "data"):
            if folder.is_dir() and layout.read_manifest(folder) is None:
                return folder
        return None

    def _damaged(self, damage: list[str], folder: Path) -> Failure:
        mend = f"put the saved file back, or remove {folder} and run doit capture:{self.case.name}"
        return Failure(Status.DAMAGED, "\n".join([*damage, f"nothing is judged against it: {mend}"]))

    def make(self, parts: dict[str, str]) -> tuple[Path, dict[str, str], dict[str, Any]]:
        place = _empty(self.beside)
        try:
            return place, parts, self.child("golden", {"place": str(place), "parts": parts})
        except Failure as failure:
            if failure.status is Status.STALE:  # inspected otherwise than it is: inspect it again next time
                (self.folder / "inspect.json").unlink(missing_ok=True)
            raise

    def keep(self, made: tuple[Path, dict[str, str], dict[str, Any]]) -> None:
        place, parts, answer = made
        contract = self.contract()
        files = msgspec.convert(answer["files_made"], dict[str, Entry])
        manifest = Manifest(
            made_from=parts,
            found=self._found(answer["files"]),
            environment=answer["environment"],
            case=self.case.name,
            seed=contract.seed,
            arguments=contract.arguments,
            files=files,
            inputs=layout.digest_of(files, "in"),
            outputs=layout.digest_of(files, "out"),
            **answer["origin"],
        )
        layout.write_manifest(place, manifest)
        layout.replace_folder(place, self.folder / "pending")


class Compile(Stage):
    verb = "compile"
    about = "Build {name}'s program for {platform} into its runtime_dir."
    raises = Status.COMPILE_ERROR
    reads = ("inspection",)
    makes = ("build",)
    repeats = True

    def backend(self) -> Backend:
        return available_backend(self.platform)

    def parts(self) -> dict[str, str]:
        program = self.program()
        if program.unavailable:
            raise Failure(Status.SKIPPED, program.unavailable)
        return self.backend().parts(program, self.contract().arguments, self.project.digests.file)

    def record(self) -> Build | None:
        return records.read(self.place / "runtime" / "build.json", Build)

    def altered(self, record: Build) -> str | None:
        return self._altered_files({**record.sources, **record.made}, self.place / "runtime")

    def make(self, parts: dict[str, str]) -> Path:
        backend, place = self.backend(), _empty(self.beside)
        program, arguments = self.program(), self.contract().arguments
        isolation.start(WORK)  # what follows needs torch: it is imported while the compiler runs
        request = {"program": program, "arguments": arguments, "place": str(place)}
        self.child("compile", msgspec.to_builtins(request), module=WORK if backend.compiles_with_torch else BUILDING)
        return place

    def keep(self, made: Path) -> None:
        build = _needed(made / "build.json", Build, f"doit compile:{self.label}")
        self._found(list(build.found))
        layout.replace_folder(made, self.place / "runtime")

    def words(self, part: str, old: str | None, new: str | None) -> str:
        name = part.removeprefix("source ")
        if name != part:
            return f"{next((s for s in self.program().sources if Path(s).name == name), name)} changed"
        return super().words(part, old, new)


class Execute(Stage):
    verb = "execute"
    about = "Run {name}'s build on {platform} over the snapshot's inputs."
    raises = Status.RUNTIME_ERROR
    reads = ("inspection", "snapshot", "build")
    makes = ("run",)
    repeats = True

    def parts(self) -> dict[str, str]:
        return {"build": self.build().binary, "inputs": self.snapshot()[1].inputs}

    def record(self) -> Run | None:
        return records.read(self.place / "run.json", Run)

    def words(self, part: str, old: str | None, new: str | None) -> str:
        return f"new {part}"

    def repeat(self, status: Status) -> str:
        if status is Status.OUT_OF_MEMORY:  # a script has no limit
            return super().repeat(status)
        try:
            return self.script(self.snapshot()[0])
        except Failure:
            return super().repeat(status)

    def make(self, parts: dict[str, str]) -> tuple[Path, dict[str, str], dict[str, Any]]:
        build, (snapshot, _) = self.build(), self.snapshot()
        backend = backend_for(self.platform)
        device = self.project.device
        place = _empty(self.beside)
        request = {
            "build": msgspec.to_builtins(build),
            "runtime_dir": str(self.place / "runtime"),
            "snapshot": str(snapshot),
            "place": str(place),
            "device": device,
        }
        lease = locks.device_lease(self.platform, device) if backend.leases_devices else nullcontext()
        with lease:
            return place, parts, self.child("execute", request, environment=backend.child_environment(build))

    def keep(self, made: tuple[Path, dict[str, str], dict[str, Any]]) -> None:
        place, parts, answer = made
        files = msgspec.convert(answer["files"], dict[str, Entry])
        layout.replace_folder(place, self.place / "replay")
        run = Run(
            made_from=parts,
            made={str(self.place / "replay" / name): entry.digest for name, entry in files.items()},
            outputs=layout.digest_of(files, "out"),
            seconds=answer["seconds"],
        )
        records.write(self.place / "run.json", run)


class Validate(Stage):
    verb = "validate"
    about = "Hold {name}'s outputs on {platform} against the snapshot."
    raises = Status.CASE_ERROR
    reads = ("inspection", "snapshot", "run")
    makes = ("verdict",)
    repeats = True

    def parts(self) -> dict[str, str]:
        _, manifest = self.snapshot()
        policy = self.policy()
        parts = {"outputs": self.run().outputs, "expected outputs": manifest.outputs, **policy.parts}
        if policy.comparators:
            parts["inputs"] = manifest.inputs
        return parts

    def record(self) -> Verdict | None:
        return records.read(self.place / "verdict.json", Verdict)

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part in ("outputs", "expected outputs", "inputs"):
            return f"new {part}"
        return super().words(part, old, new)

    def failure(self) -> Failure | None:
        verdict = self.record()
        if verdict is None or verdict.status == Status.PASSED.value:
            return None
        lines = [f"{o.name}: {o.message}" for o in verdict.outputs if o.status != Status.PASSED.value]
        return Failure(Status(verdict.status), "\n".join(lines))

    def make(self, parts: dict[str, str]) -> Verdict:
        snapshot, manifest = self.snapshot()
        request = {
            "arguments": msgspec.to_builtins(manifest.arguments),
            "policy": msgspec.to_builtins(self.policy()),
            "snapshot": str(snapshot),
            "run": str(self.place / "replay"),
        }
        outputs = msgspec.convert(self.child("validate", request)["verdicts"], list[OutputVerdict])
        failed = [o.status for o in outputs if o.status != Status.PASSED.value]
        status = failed[0] if failed else Status.PASSED.value
        return Verdict(made_from=parts, status=status, outputs=outputs, seconds=self.run().seconds)

    def keep(self, made: Verdict) -> None:
        if made.status != Status.PASSED.value:
            made.failed_dir = str(self._keep_failed_run())
        records.write(self.place / "verdict.json", made)
        if made.failed_dir:
            records.write(Path(made.failed_dir) / "verdict.json", made)

    def _keep_failed_run(self) -> Path:
        """Inputs, expected and actual outputs of the run, in a folder of their own; the oldest of many goes away."""
        snapshot, _ = self.snapshot()
        parent = self.folder / "failed"
        parent.mkdir(parents=True, exist_ok=True)
        for old in sorted(p for p in parent.iterdir() if p.is_dir())[: -_KEPT_FAILURES + 1]:
            shutil.rmtree(old, ignore_errors=True)
        place = parent / datetime.now().strftime("%Y%m%d_%H%M%S_%f")[:-3]
        layout.copy_files(snapshot / "in", place / "data" / "in")
        layout.copy_files(snapshot / "out", place / "data" / "out")
        shutil.copyfile(snapshot / layout.MANIFEST, place / "data" / layout.MANIFEST)
        layout.copy_files(self.place / "replay" / "out", place / "actual")
        return place


class Capture(Stage):
    verb = "capture"
    about = "Publish {name}'s snapshot as data/, once a run on {platform} has proved it."
    raises = Status.STALE
    reads = ("inspection", "build", "run", "verdict")
    makes = ("snapshot",)

    def parts(self) -> dict[str, str]:
        return self.contract().parts

    def record(self) -> Manifest | None:
        return layout.read_manifest(self.folder / "data")

    def altered(self, record: Manifest) -> str | None:
        return None  # `golden` refuses a damaged snapshot before this stage is reached

    def make(self, parts: dict[str, str]) -> tuple[Path, Manifest]:
        validate = Validate(self.project, self.case, self.platform)
        reason = validate.stale()
        verdict = validate.record()
        if reason is not None or verdict is None or verdict.status != Status.PASSED.value:
            said = reason or (verdict.status if verdict else "never made")
            raise Failure(Status.STALE, f"not proved by a passing run ({said}): run doit replay:{self.label}")
        folder, manifest = self.snapshot()
        manifest.proof = Proof(
            platform=self.platform,
            build=self.build().binary,
            run=self.run().outputs,
            policy=self.policy().parts,
        )
        return folder, manifest

    def keep(self, made: tuple[Path, Manifest]) -> None:
        folder, manifest = made
        layout.write_manifest(folder, manifest)
        layout.replace_folder(folder, self.folder / "data")


STAGES: tuple[type[Stage], ...] = (Inspect, Golden, Compile, Execute, Validate, Capture)
T = TypeVar("T", bound=msgspec.Struct)
PER_CASE = ("inspect", "golden")  # the stages that exist once a case, whatever its platforms


def _needed(path: Path, kind: type[T], command: str) -> T:
    record = records.read(path, kind)
    if record is None:
        raise Failure(Status.STALE, f"{path} is missing or damaged: run {command}")
    return record


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _importance(part: str) -> tuple[bool, str]:
    """What a reader wants to hear first: a short value that changed, before a digest of something larger."""
    return (not part.startswith(("tile ", "argument ", "scalar ", "seed")), part)


def python_or_bytes(path: str) -> str:
    """A Python file's digest in normal form, any other file's by its bytes. Raises `OSError`."""
    return of_python_file(path) if path.endswith(".py") else digest.of_file(path)
