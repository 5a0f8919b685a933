"""What runs in a child process: the parts of stages that import the user's code or torch. See also `building`.

Each function takes and returns plain JSON data; paths are relative to the project, which is the current folder.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import torch

from golden_tasks import isolation, stages
from golden_tasks.backends import backend_for
from golden_tasks.case import Case
from golden_tasks.fingerprint.imports import absent_modules, import_from_source, module_from_file
from golden_tasks.fingerprint.local import is_local, on_disk, shown
from golden_tasks.fingerprint.watch import watching
from golden_tasks.graph.building import compile as compile
from golden_tasks.guards import runs
from golden_tasks.guards.golden import GoldenGuard
from golden_tasks.inspection import contract_of, policy_of, program_of
from golden_tasks.records import Argument, Build, OutputVerdict, Policy, Program
from golden_tasks.results import Failure, Status
from golden_tasks.snapshot import tensors
from golden_tasks.specs import InitialValueError, Spec, arguments_of
from golden_tasks.validation import judge, plot
from golden_tasks.validation.comparator import is_ignoring_expected
from golden_tasks.validation.judge import check_policy
from golden_tasks.validation.teeth import Judge, bite, check_blind


def inspect(request: dict[str, Any]) -> dict[str, Any]:
    """Imports a kernel file and describes one of its cases: contract, policy, and a program for each platform."""
    root, where, before = Path.cwd(), dict[str, str](), set(sys.modules)
    with watching(root) as watch:
        case = _load(request["file"], request["case"])
        specs = _specs(case)
        contract = contract_of(case.name, specs, case.golden, case.seed, root, where)
        policy = _policy(case, root, where)
        outputs = [a.name for a in contract.arguments if a.is_output]
        if not outputs:
            raise Failure(Status.CASE_ERROR, f"case {case.name!r} has no output: mark one with is_output=True")
        check_policy(case.rtol, case.atol, case.compare_fn, outputs)
        check_blind(case.blind, outputs)
        programs = {platform: _describe(case, platform, where) for platform in request["platforms"]}
    absent = {shown(file, root) for file in absent_modules(_modules(), before)}
    return {
        "contract": msgspec.to_builtins(contract),
        "policy": msgspec.to_builtins(policy),
        "programs": msgspec.to_builtins(programs),
        "timeout": case.timeout,
        "memory": case.memory,
        "modules": sorted({*_files(root), *watch.code, *where.values()} - {request["file"]}),
        "where": where,
        "files": sorted(watch.files),
        "environment": {"PYTHONPATH": os.environ.get("PYTHONPATH"), **watch.variables},
        "absent": sorted(absent | watch.absent),
        "folders": watch.folders,
        "unseen": sorted(watch.unseen),
    }


def golden(request: dict[str, Any]) -> dict[str, Any]:
    """Generates the inputs and computes the golden, into the folder `place`."""
    root, place = Path.cwd(), Path(request["place"])
    environment = dict(os.environ)
    case = _load(request["file"], request["case"])
    specs = _specs(case)
    before = _files(root)
    contract = contract_of(case.name, specs, case.golden, case.seed, root)
    _same(request["parts"], contract.parts, case)
    with watching(root, environment) as watch:
        stages.seed_everything(case.seed)
        try:
            inputs = stages.make_inputs(specs)
        except InitialValueError as error:
            raise Failure(Status.CASE_ERROR, str(error)) from error
        files = tensors.save(place / "in", inputs)
        unused = [output for output, comparator in case.compare_fn.items() if is_ignoring_expected(comparator)]
        expected = stages.compute_golden(case.golden, specs, inputs, GoldenGuard(unused))
        files |= tensors.save(place / "out", expected)
    return {
        "files_made": msgspec.to_builtins(files),
        "origin": tensors.origin(),
        "modules": sorted((watch.code | _files(root)) - before),
        "files": sorted(watch.files),
        "environment": watch.variables,
        "absent": sorted(watch.absent),
        "folders": watch.folders,
        "unseen": sorted(watch.unseen),
    }


def execute(request: dict[str, Any]) -> dict[str, Any]:
    """Runs a build on a snapshot's inputs, guarded, and saves the outputs below `place`."""
    import_from_source()
    build = msgspec.convert(request["build"], Build)
    inputs = tensors.load_inputs(Path(request["snapshot"]), build.arguments)
    backend, runtime_dir, device = backend_for(build.platform), Path(request["runtime_dir"]), request["device"]
    ran = runs.execute(
        backend,
        runtime_dir,
        build,
        inputs,
        device,
        request["guards"],
        request["repeat"],
        isolation.restart_clock,
        request["tiles"],
    )
    files = tensors.save(Path(request["place"]) / "out", ran.outputs)
    return {
        "files": msgspec.to_builtins(files),
        "seconds": ran.seconds,
        "findings": msgspec.to_builtins(ran.findings),
    }


def validate(request: dict[str, Any]) -> dict[str, Any]:
    """Judges saved outputs against a snapshot under the policy; a picture of each that differs goes to `pictures`."""
    expected, judge = _judge(request, doubting=True)
    outputs = tensors.load_outputs(Path(request["run"]), msgspec.convert(request["arguments"], tuple[Argument, ...]))
    verdicts = judge(outputs)
    if plot.unavailable() is None:
        policy = msgspec.convert(request["policy"], Policy)
        for verdict in verdicts:
            if verdict.status == Status.WRONG_VALUE.value and not verdict.comparator:
                folder = Path(request["pictures"])
                folder.mkdir(parents=True, exist_ok=True)
                plot.save_picture(
                    folder / f"{verdict.name}.png",
                    outputs[verdict.name],
                    expected[verdict.name],
                    policy.rtol,
                    policy.atol,
                    equal_nan=policy.equal_nan,
                    tiles=request["tiles"],
                    title=f"{request['case']}: {verdict.name}",
                )
    return {"verdicts": msgspec.to_builtins(verdicts)}


def teeth(request: dict[str, Any]) -> dict[str, Any]:
    """Judges damaged expected outputs; `refused` says why there is nothing to judge."""
    expected, judge = _judge(request, brief=True)
    wrong = [verdict for verdict in judge(expected) if verdict.status != Status.PASSED.value]
    if wrong:
        said = "; ".join(f"{verdict.name}: {verdict.message.splitlines()[0]}" for verdict in wrong)
        return {"bites": [], "refused": f"the expected outputs themselves do not pass: {said}"}
    return {"bites": msgspec.to_builtins(bite(expected, judge, request["tiles"])), "refused": ""}


def _judge(request: dict[str, Any], brief: bool = False, doubting: bool = False) -> tuple[stages.Tensors, Judge]:
    """The expected outputs of a snapshot, and what judges outputs against them under the policy."""
    arguments = msgspec.convert(request["arguments"], tuple[Argument, ...])
    policy = msgspec.convert(request["policy"], Policy)
    comparators, inputs = {}, {}
    if policy.comparators:
        case = _load(request["file"], request["case"])
        _same(policy.parts, _policy(case, Path.cwd()).parts, case)
        comparators = case.compare_fn
        inputs = tensors.load_inputs(Path(request["snapshot"]), arguments)
    expected = tensors.load_outputs(Path(request["snapshot"]), arguments)

    def judged(outputs: Mapping[str, torch.Tensor]) -> list[OutputVerdict]:
        return judge(
            outputs,
            expected,
            policy.rtol,
            policy.atol,
            comparators,
            inputs,
            equal_nan=policy.equal_nan,
            tiles=request["tiles"],
            brief=brief,
            doubting=doubting,
        )

    return expected, judged


def _load(file: str, name: str) -> Case:
    """Imports a kernel file as the script that it is and returns one of its cases."""
    path = Path(file).resolve()
    sys.argv = [file]
    sys.path.insert(0, str(path.parent))
    stages.seed_everything(0)  # a module-level random constant is the same in every child
    import_from_source()
    try:
        module_from_file(path.stem, path)
    except SystemExit as ended:
        lines = [entry.lineno for entry in traceback.extract_tb(ended.__traceback__) if entry.filename == str(path)]
        raise Failure(
            Status.CASE_ERROR,
            f"{file}:{lines[-1] if lines else 1}: the import ends the process by sys.exit({ended.code!r}): move what "
            'is for scripts only below `if __name__ == "__main__":`',
        ) from None
    case = next((c for c in Case.declared if c.name == name and c.file == path), None)
    if case is None:
        raise Failure(Status.STALE, f"{file} declares no case {name!r} any more: run doit again")
    return case


def _specs(case: Case) -> list[Spec]:
    stages.seed_everything(case.seed)
    specs = case.specs()
    try:
        arguments_of(specs)
    except (TypeError, ValueError) as error:
        raise Failure(Status.CASE_ERROR, f"case {case.name!r}: {error}") from error
    return list(specs)


def _policy(case: Case, root: Path, where: dict[str, str] | None = None) -> Policy:
    policy = policy_of(case.rtol, case.atol, case.compare_fn, root, where, equal_nan=case.equal_nan, trust=case.trust)
    policy.guards, policy.without, policy.repeat = case.guards.asked, dict(case.guards.without), case.guards.repeat
    policy.blind = case.blind
    return policy


def _describe(case: Case, platform: str, where: dict[str, str]) -> Program:
    try:
        backend = backend_for(platform)
        return program_of(backend, case.program(platform), platform, case.tiles, {}, Path.cwd(), where)
    except Failure as failure:
        if failure.status is not Status.SKIPPED:
            raise
        return Program(platform=platform, unavailable=failure.message)


def _same(wanted: dict[str, str], now: dict[str, str], case: Case) -> None:
    """Raises `Failure` (STALE) if a case is not what was inspected a moment ago."""
    changed = [part for part in sorted(wanted.keys() | now) if wanted.get(part) != now.get(part)]
    if changed:
        raise Failure(
            Status.STALE,
            f"case {case.name!r} is not what was inspected: {', '.join(changed)} changed. It was edited while doit ran "
            "(run doit again), or it is not reproducible: a clock, a random number or a process id is in it",
        )


def _modules() -> list[ModuleType]:
    """The project's own modules that are imported from a file."""
    return [module for module in sys.modules.values() if is_local(getattr(module, "__file__", None))]


def _files(root: Path) -> set[str]:
    """The files of the project's own modules that are imported, the kernel file's too."""
    return {shown(on_disk(str(module.__file__)), root) for module in _modules()}


for _module in list(sys.modules.values()):  # asked once, before any child is forked
    is_local(getattr(_module, "__file__", None))
