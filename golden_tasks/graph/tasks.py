"""The stages of a case: what each is made from, how it is made, and where it is kept."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from golden_tasks import digest, isolation, records
from golden_tasks.backends import Backend, available_backend, backend_for
from golden_tasks.graph import locks, reasons
from golden_tasks.graph.stage import BUILDING, WORK, Stage
from golden_tasks.guards import Guards
from golden_tasks.records import (
    ABSENT,
    Build,
    Contract,
    Entry,
    Finding,
    Inspection,
    Manifest,
    OutputVerdict,
    Policy,
    Program,
    Proof,
    Run,
    Verdict,
)
from golden_tasks.results import Failure, Status
from golden_tasks.snapshot import layout

_KEPT_FAILURES = 5
_KEPT_BUILDS = 4  # earlier builds of a program on one platform


class Inspect(Stage):
    verb = "inspect"
    about = "Read {file}: contract, policy and programs."
    raises = Status.CASE_ERROR
    makes = ("inspection",)
    repeats = True

    def record_file(self) -> str:
        return self.in_case("inspect.json")

    def record(self) -> Inspection | None:
        return self.inspection()

    def parts(self) -> dict[str, str]:
        return {
            self.case.file: self.project.digest_of_source(self.case.file) or ABSENT,
            "interpreter": _interpreter(),
            "platforms": ", ".join(self.case.platforms),
        }

    def depends_on(self) -> str:
        return ", ".join(self.case.platforms)

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part.endswith(".py"):
            return f"{part} {reasons.became(old or ABSENT, new or ABSENT)}"
        return super().words(part, old, new)

    def look(self, log: Path | None = None) -> dict[str, Any]:
        """What a child finds in the kernel's file; it makes nothing but its log."""
        return self.child("inspect", {"platforms": list(self.case.platforms)}, log=log)

    def make(self, parts: dict[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
        return parts, self.look()

    def keep(self, made: tuple[dict[str, str], dict[str, Any]]) -> None:
        parts, answer = made
        found = self.found(self.contents(answer))
        files = self.described(answer)
        for path, record in files.items():
            records.write_if_changed(path, record)
        inspection = Inspection(
            made_from=parts,
            found=found,
            environment=answer["environment"],
            unseen=answer["unseen"],
            made={path: digest.of_file(path) for path in files},
            timeout=answer["timeout"],
            memory=answer["memory"],
            where=answer["where"],
        )
        records.write(self.record_file(), inspection)

    def described(self, answer: dict[str, Any]) -> dict[str, Contract | Policy | Program]:
        """The records that an answer of `look` says, by their paths."""
        files: dict[str, Contract | Policy | Program] = {
            self.in_case("contract.json"): msgspec.convert(answer["contract"], Contract),
            self.in_case("policy.json"): msgspec.convert(answer["policy"], Policy),
        }
        for platform, program in answer["programs"].items():
            files[self.in_case(f"{platform}/program.json")] = msgspec.convert(program, Program)
        return files


class Golden(Stage):
    verb = "golden"
    about = "Generate {name}'s inputs and compute its golden, as a pending snapshot."
    raises = Status.GOLDEN_ERROR
    reads = ("inspection",)
    makes = ("snapshot",)

    def record_file(self) -> str:
        return self.in_case(f"data/{layout.MANIFEST}")

    def record(self) -> Manifest | None:
        current = self.current()
        if current is not None:
            return current[1]
        return self.manifest("data") or self.manifest("pending")

    def parts(self) -> dict[str, str]:
        return self.contract().parts

    def current(self) -> tuple[Path, Manifest] | None:
        """The snapshot of the current contract, pending or published; None if there is none."""
        for folder in ("pending", "data"):
            manifest = self.manifest(folder)
            if manifest is not None and next(self.outdated(manifest), None) is None:
                return self.folder / folder, manifest
        return None

    def altered(self, record: Manifest) -> Iterator[str]:
        return iter(())  # a damaged snapshot is refused, not made again: see `failure`

    def causes(self) -> Iterator[str]:
        return iter(()) if self._without_manifest() else super().causes()

    def failure(self) -> Failure | None:
        folder = self._without_manifest()
        if folder:
            return self._damaged([f"{folder / layout.MANIFEST} is missing or damaged"], folder)
        current = self.current()
        if current is None:
            return None
        damage = layout.damage(*current, self.project.memory.file)
        return self._damaged(damage, current[0]) if damage else None

    def _without_manifest(self) -> Path | None:
        """A snapshot's folder that has lost its manifest: what is in it cannot be told."""
        for folder in ("pending", "data"):
            if self.manifest(folder) is None and self.project.memory.look(self.in_case(folder)) is not None:
                return self.folder / folder
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
                Path(self.in_case("inspect.json")).unlink(missing_ok=True)
            raise

    def keep(self, made: tuple[Path, dict[str, str], dict[str, Any]]) -> None:
        place, parts, answer = made
        contract = self.contract()
        files = msgspec.convert(answer["files_made"], dict[str, Entry])
        manifest = Manifest(
            made_from=parts,
            found=self.found(self.contents(answer)),
            environment=answer["environment"],
            unseen=answer["unseen"],
            case=self.case.name,
            seed=contract.seed,
            arguments=contract.arguments,
            files=files,
            inputs=layout.digest_of(files, "in"),
            outputs=layout.digest_of(files, "out"),
            **answer["origin"],
        )
        records.write(place / layout.MANIFEST, manifest)
        layout.replace_folder(place, self.folder / "pending")


class Compile(Stage):
    verb = "compile"
    about = "Build {name}'s program for {platform} into its runtime_dir."
    raises = Status.COMPILE_ERROR
    reads = ("inspection",)
    makes = ("build",)
    repeats = True
    follows = ("orchestration",)

    def record_file(self) -> str:
        return self.on_platform("runtime/build.json")

    def record(self) -> Build | None:
        return self.known(self.record_file(), Build)

    def backend(self) -> Backend:
        return available_backend(self.platform)

    def parts(self) -> dict[str, str]:
        program = self.program()
        if program.unavailable:
            raise Failure(Status.SKIPPED, program.unavailable)
        return self.backend().parts(program, self.contract().arguments, self.project.memory.get)

    def depends_on(self) -> str:
        return self.project.toolchain(self.platform)

    def content(self, file: str, was: str) -> str:
        memory = self.project.memory
        return ABSENT if memory.look(file) is None else self.backend().content(file, was, memory.get)

    def altered(self, record: Build) -> Iterator[str]:
        return self.altered_files({**record.sources, **record.made}, self.on_platform("runtime"))

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part.startswith("source "):
            return f"{part.removeprefix('source ')} {reasons.became(old or ABSENT, new or ABSENT)}"
        if part == "orchestration":
            return "the generated code changed, with golden_tasks itself"
        if part.startswith("compiler "):
            return f"{part} {reasons.became(old or ABSENT, new or ABSENT)}"
        if part == "compiler":
            return f"{part} {reasons.value(old)} -> {reasons.value(new)}"
        return super().words(part, old, new)

    def make(self, parts: dict[str, str]) -> Path:
        earlier = None if self.again else self._earlier_build()
        if earlier is not None:
            self.note = "an earlier build is used again"
            return earlier.rename(self.beside)
        backend, place = self.backend(), _empty(self.beside)
        program, arguments = self.program(), self.contract().arguments
        waits = isolation.is_started(BUILDING) or not isolation.is_started(WORK)  # for torch, if it were in `WORK`
        isolation.start(WORK)  # what follows needs torch: it is imported while the compiler runs
        module = BUILDING if waits and not backend.compiles_with_torch else WORK
        self.child(
            "compile", msgspec.to_builtins({"program": program, "arguments": arguments, "place": str(place)}), module
        )
        return place

    def keep(self, made: Path) -> None:
        build = records.read(made / "build.json", Build)
        if build is None:
            raise Failure(Status.STALE, f"{made / 'build.json'} is missing or damaged: run doit compile:{self.label}")
        self.found(build.found)
        runtime = self.place / "runtime"
        if self.record() is not None:
            self._keep_earlier(runtime)
        layout.replace_folder(made, runtime)

    def _earlier_build(self) -> Path | None:
        """A kept build that is made from just what is there now, the latest first."""
        for folder in reversed(self._earlier()):
            build = records.read(folder / "build.json", Build)
            if build is None or next(self.outdated(build), None) is not None:
                continue
            if next(self.altered_files({**build.sources, **build.made}, str(folder)), None) is None:
                return folder
        return None

    def _keep_earlier(self, runtime: Path) -> None:
        """Puts the build that is being replaced aside; the oldest of many goes away."""
        for old in self._earlier()[: -_KEPT_BUILDS + 1]:
            shutil.rmtree(old, ignore_errors=True)
        place = self.place / "builds" / _moment()
        place.parent.mkdir(exist_ok=True)
        runtime.rename(place)

    def _earlier(self) -> list[Path]:
        builds = self.place / "builds"
        return sorted(path for path in builds.iterdir() if path.is_dir()) if builds.is_dir() else []


class Execute(Stage):
    verb = "execute"
    about = "Run {name}'s build on {platform} over the snapshot's inputs."
    raises = Status.RUNTIME_ERROR
    reads = ("inspection", "snapshot", "build")
    makes = ("run",)
    repeats = True

    def record_file(self) -> str:
        return self.on_platform("run.json")

    def record(self) -> Run | None:
        return self.known(self.record_file(), Run)

    def parts(self) -> dict[str, str]:
        return {
            "build": self.build().binary,
            "inputs": snapshot_of(self)[1].inputs,
            **{f"guard {name}": told.partition(":")[0] for name, told in self.guards().items()},
        }

    def guards(self) -> dict[str, str]:
        """The guards with what is said of each: `on`, or why it is off."""
        backend, build = backend_for(self.platform), self.build()
        return self._choice().told(backend.usual_guards, backend.possible_guards(build))

    def _choice(self) -> Guards:
        policy = self.policy()
        return Guards(policy.guards, policy.without, policy.repeat)

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part.startswith("guard "):
            return f"{part} {reasons.value(old)} -> {reasons.value(new)}"
        return f"new {part}"

    def repeat(self, status: Status) -> str:
        if status is Status.OUT_OF_MEMORY:  # a script has no limit
            return super().repeat(status)
        try:
            return self.script(snapshot_of(self)[0])
        except Failure:
            return super().repeat(status)

    def make(self, parts: dict[str, str]) -> tuple[Path, dict[str, str], dict[str, Any]]:
        build, (snapshot, _) = self.build(), snapshot_of(self)
        backend = backend_for(self.platform)
        device = self.project.device
        place = _empty(self.beside)
        request = {
            "build": msgspec.to_builtins(build),
            "runtime_dir": str(self.place / "runtime"),
            "snapshot": str(snapshot),
            "place": str(place),
            "device": device,
            "guards": self._choice().on(backend.usual_guards, backend.possible_guards(build)),
            "repeat": self.policy().repeat,
            "tiles": dict(self.program().tiles),
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
            made={self.on_platform(f"replay/{name}"): entry.digest for name, entry in files.items()},
            outputs=layout.digest_of(files, "out"),
            seconds=answer["seconds"],
            guards=self.guards(),
            findings=msgspec.convert(answer["findings"], list[Finding]),
        )
        records.write(self.record_file(), run)


class Validate(Stage):
    verb = "validate"
    about = "Hold {name}'s outputs on {platform} against the snapshot."
    raises = Status.CASE_ERROR
    reads = ("inspection", "snapshot", "run")
    makes = ("verdict",)
    repeats = True
    of_data = ("outputs", "expected outputs", "inputs", "findings")  # the parts that are no policy

    def record_file(self) -> str:
        return self.on_platform("verdict.json")

    def record(self) -> Verdict | None:
        return self.known(self.record_file(), Verdict)

    def parts(self) -> dict[str, str]:
        _, manifest = snapshot_of(self)
        policy = self.policy()
        run = self.run()
        parts = {"outputs": run.outputs, "expected outputs": manifest.outputs, **policy.parts}
        if policy.comparators:
            parts["inputs"] = manifest.inputs
        if run.findings:
            parts["findings"] = digest.of_parts({f"{f.status} {f.argument}": f.message for f in run.findings})
        return parts

    def absence(self) -> str:
        published = self.manifest("data")
        judged = published is not None and published.proof is not None and published.proof.platform == self.platform
        gone = judged and self.project.memory.look(self.record_file()) is None
        return f"{self.record_file()} is gone" if gone else super().absence()

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part in self.of_data:
            return f"new {part}"
        return super().words(part, old, new)

    def failure(self) -> Failure | None:
        verdict = self.record()
        if verdict is None or verdict.status == Status.PASSED.value:
            return None
        return Failure(Status(verdict.status), "\n".join(verdict.wrong()))

    def make(self, parts: dict[str, str]) -> Verdict:
        snapshot, manifest = snapshot_of(self)
        request = {
            "arguments": msgspec.to_builtins(manifest.arguments),
            "policy": msgspec.to_builtins(self.policy()),
            "snapshot": str(snapshot),
            "run": str(self.place / "replay"),
            "pictures": str(self.beside),
            "tiles": dict(self.program().tiles),
        }
        outputs = msgspec.convert(self.child("validate", request)["verdicts"], list[OutputVerdict])
        distrust = [f"{output.name}: {output.weak}" for output in outputs if output.weak]
        if not any(output.elements for output in outputs):
            distrust = ["no element was compared: every output is empty"]
        run, trust = self.run(), self.policy().trust
        failed = [f.status for f in run.findings] + [o.status for o in outputs if o.status != Status.PASSED.value]
        status = failed[0] if failed else Status.PASSED.value
        if distrust and not failed and not trust:
            status = Status.MISTRUSTED.value
        return Verdict(
            made_from=parts,
            status=status,
            outputs=outputs,
            findings=run.findings,
            distrust=[] if failed else distrust,
            trust=trust if distrust and not failed else "",
            seconds=run.seconds,
        )

    def keep(self, made: Verdict) -> None:
        if made.status not in (Status.PASSED.value, Status.MISTRUSTED.value):
            made.failed_dir = str(self._keep_failed_run())
        records.write(self.record_file(), made)
        if made.failed_dir:
            records.write(Path(made.failed_dir) / "verdict.json", made)

    def _keep_failed_run(self) -> Path:
        """Inputs, expected and actual outputs of the run, in a folder of their own; the oldest of many goes away."""
        snapshot, _ = snapshot_of(self)
        parent = self.folder / "failed"
        parent.mkdir(parents=True, exist_ok=True)
        for old in sorted(p for p in parent.iterdir() if p.is_dir())[: -_KEPT_FAILURES + 1]:
            shutil.rmtree(old, ignore_errors=True)
        place = parent / _moment()
        layout.copy_files(snapshot / "in", place / "data" / "in")
        layout.copy_files(snapshot / "out", place / "data" / "out")
        shutil.copyfile(snapshot / layout.MANIFEST, place / "data" / layout.MANIFEST)
        layout.copy_files(self.place / "replay" / "out", place / "actual")
        for picture in sorted(self.beside.glob("*.png")):
            picture.rename(place / picture.name)
        return place


class Capture(Stage):
    verb = "capture"
    about = "Publish {name}'s snapshot as data/, once a run on {platform} has proved it."
    raises = Status.STALE
    reads = ("inspection", "build", "run", "verdict")
    makes = ("snapshot",)

    def record_file(self) -> str:
        return self.in_case(f"data/{layout.MANIFEST}")

    def record(self) -> Manifest | None:
        return self.manifest("data")

    def parts(self) -> dict[str, str]:
        return self.contract().parts

    def altered(self, record: Manifest) -> Iterator[str]:
        return iter(())  # `golden` refuses a damaged snapshot before this stage is reached

    def make(self, parts: dict[str, str]) -> tuple[Path, Manifest]:
        validate = Validate(self.project, self.case, self.platform)
        reason = validate.stale()
        verdict = validate.record()
        if reason is not None or verdict is None or verdict.status != Status.PASSED.value:
            said = reason or (verdict.status if verdict else "never made")
            raise Failure(Status.STALE, f"not proved by a passing run ({said}): run doit replay:{self.label}")
        folder, manifest = snapshot_of(self)
        proof = Proof(
            platform=self.platform,
            build=self.build().binary,
            run=self.run().outputs,
            policy=self.policy().parts,
        )
        return folder, msgspec.structs.replace(manifest, proof=proof)

    def keep(self, made: tuple[Path, Manifest]) -> None:
        folder, manifest = made
        records.write(folder / layout.MANIFEST, manifest)
        layout.replace_folder(folder, self.folder / "data")


STAGES: tuple[type[Stage], ...] = (Inspect, Golden, Compile, Execute, Validate, Capture)


def snapshot_of(stage: Stage) -> tuple[Path, Manifest]:
    """The snapshot of the current contract, pending or published. Raises `Failure` if there is none."""
    found = Golden(stage.project, stage.case, stage.platform).current()
    if found is None:
        raise Failure(Status.STALE, f"no snapshot of the current contract: run doit golden:{stage.case.name}")
    return found


def _interpreter() -> str:
    """What the normal form and the meaning of sources depend on."""
    optimized = f" -{'O' * sys.flags.optimize}" if sys.flags.optimize else ""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}{optimized}"


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _moment() -> str:
    """Now, as the name of a folder that sorts after all earlier ones."""
    return datetime.now().strftime("%Y%m%d_%H%M%S_%f")[:-3]
