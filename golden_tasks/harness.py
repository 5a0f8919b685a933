"""`run` and `run_jit`: one run of a kernel in the caller's own process, compared with its golden."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from golden_tasks import digest, environment, records, stages
from golden_tasks.backends import DEFAULT_PLATFORM, Backend, available_backend, backend_for, unremembered
from golden_tasks.backends.torch import loading
from golden_tasks.guards import Guards, runs
from golden_tasks.guards.choice import wrong
from golden_tasks.guards.golden import GoldenGuard
from golden_tasks.inspection import contract_of, policy_of, program_of
from golden_tasks.records import Argument, Build, Contract, Manifest, Program, Proof
from golden_tasks.results import Failure, RunResult, Status, of_os_error
from golden_tasks.snapshot import layout, tensors
from golden_tasks.specs import Spec, arguments_of
from golden_tasks.validation import Comparator, validate_golden
from golden_tasks.validation.comparator import is_ignoring_expected
from golden_tasks.validation.judge import GoldenMismatch, check_policy

if TYPE_CHECKING:
    from golden_tasks.case import Case

OUTPUT = "build_output"
_RUNTIME_KEYS = ("platform", "device_id")
_RESULTS = (  # failures that end as a failed result, not as an exception
    *(Status.DAMAGED, Status.GOLDEN_ERROR, Status.CASE_ERROR),
    *(Status.WRONG_SHAPE, Status.WRONG_DTYPE, Status.NOT_WRITTEN, Status.INPUT_CHANGED),
)
_OPTIONS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("rtol", lambda value: isinstance(value, Real), "a number"),
    ("atol", lambda value: isinstance(value, Real), "a number"),
    (
        "compare_fn",
        lambda value: value is None or (isinstance(value, Mapping) and all(map(callable, value.values()))),
        "a dict of a comparator for each output's name",
    ),
    ("equal_nan", lambda value: isinstance(value, bool), "True or False"),
    ("guards", lambda value: isinstance(value, bool), "True or False"),
    ("repeat", lambda value: type(value) is int and value >= 1, "a whole number of runs from 1 on"),
)


def run(
    program: Any,
    specs: Sequence[Spec],
    golden_fn: Callable[[dict[str, Any]], object] | None = None,
    golden_data: str | Path | None = None,
    compile_cfg: Mapping[str, Any] | None = None,
    runtime_cfg: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Comparator] | None = None,
    compile_only: bool = False,
    runtime_dir: str | Path | None = None,
    save_data: bool = False,
    *,
    seed: int | None = None,
    equal_nan: bool = False,
    guards: bool = False,
    unguarded: Mapping[str, str] | None = None,
    repeat: int = 1,
) -> RunResult:
    """Compiles a program, runs it on inputs made from the specs and compares its outputs with the golden ones.

    `golden_data` replays a snapshot: no input is generated, `golden_fn` is not called, the folder is only read.
    `runtime_dir` runs an earlier build instead of compiling. `save_data` keeps inputs and expected outputs in
    `work_dir/data`. `compile_only` stops after compiling. `runtime_cfg` names the `platform` and `device_id`;
    `compile_cfg` holds the backend's compile options, `tiles`, and `output_dir` for another place than
    `build_output/<name>_<timestamp>`. `seed` seeds the inputs; without it they differ from run to run.
    `equal_nan` lets NaN equal NaN in the default comparison.

    `guards` runs the build once more, on the same inputs with other memory around them, and looks for inputs that
    changed, outputs that were not written and accesses out of bounds; `unguarded` switches some of that off, each with
    its reason, and `repeat` is how many runs beside the judged one must give the same bits.

    The environment reaches scripts that wire none of this: `GOLDEN_SAVE_DATA=1`, `GOLDEN_DATA`, `GOLDEN_RUNTIME_DIR`.

    Returns a failed result for a mismatch, missing or damaged files and a `runtime_dir` that does not fit. Raises
    `ValueError` for an unknown platform, `TypeError` for an unknown configuration key, either for specs that cannot
    be, `Failure` if compiling or the kernel fails or a file cannot be written; what the golden function, an
    initialiser or a comparator raises passes through.
    """
    return _run("compile", "output_dir", **locals())


def run_jit(
    fn: Any,
    specs: Sequence[Spec],
    golden_fn: Callable[[dict[str, Any]], object] | None = None,
    golden_data: str | Path | None = None,
    compile_cfg: Mapping[str, Any] | None = None,
    runtime_cfg: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Comparator] | None = None,
    compile_only: bool = False,
    runtime_dir: str | Path | None = None,
    save_data: bool = False,
    *,
    seed: int | None = None,
    equal_nan: bool = False,
    guards: bool = False,
    unguarded: Mapping[str, str] | None = None,
    repeat: int = 1,
) -> RunResult:
    """`run` for a just-in-time compiled kernel; its folder is named by `save_kernels_dir` in `compile_cfg`."""
    options = dict(locals())
    return _run("JIT compile", "save_kernels_dir", program=options.pop("fn"), **options)


def run_case(case: Case, options: argparse.Namespace, tiles: Mapping[str, object]) -> RunResult:
    """Runs a case once with the options of `add_arguments` and returns the result.

    Raises `Failure` for a platform that cannot be used and for specs that cannot be, and what `run` raises.
    """
    seed = case.seed if options.seed is None else options.seed
    stages.seed_everything(seed)
    specs = case.specs()
    program = case.program(options.platform)
    backend_for(options.platform)
    try:
        arguments_of(specs)
    except (TypeError, ValueError) as error:
        raise Failure(Status.CASE_ERROR, str(error)) from error
    contract = contract_of(case.name, specs, case.golden, seed, _project_of(case))
    return _run(
        "compile",
        "output_dir",
        program=program,
        specs=specs,
        golden_fn=case.golden,
        golden_data=options.golden_data,
        compile_cfg={"tiles": tiles},
        runtime_cfg={"platform": options.platform, "device_id": options.device},
        rtol=case.rtol,
        atol=case.atol,
        compare_fn=case.compare_fn,
        compile_only=options.compile_only,
        runtime_dir=options.runtime_dir,
        save_data=options.save_data,
        seed=seed,
        equal_nan=case.equal_nan,
        guards=options.guards,
        unguarded=case.guards.without if options.guards else None,
        repeat=case.guards.repeat if options.guards else 1,
        contract=contract,
    )


def _project_of(case: Case) -> Path:
    """The folder of a case's project: the nearest one above its file with a `dodo.py`, else the current folder."""
    above = case.file.parents if case.file is not None else ()
    return next((folder for folder in above if (folder / "dodo.py").is_file()), Path.cwd())


@dataclass
class _Golden:
    """The expected outputs, and where they came from."""

    expected: dict[str, torch.Tensor] | None
    saved: Path | None = None
    manifest: Manifest | None = None


def _run(
    label: str,
    folder_key: str,
    program: Any,
    specs: Sequence[Spec],
    golden_fn: Callable[[dict[str, Any]], object] | None,
    golden_data: str | Path | None,
    compile_cfg: Mapping[str, Any] | None,
    runtime_cfg: Mapping[str, Any] | None,
    rtol: float,
    atol: float,
    compare_fn: Mapping[str, Comparator] | None,
    compile_only: bool,
    runtime_dir: str | Path | None,
    save_data: bool,
    seed: int | None,
    equal_nan: bool,
    guards: bool,
    unguarded: Mapping[str, str] | None,
    repeat: int,
    contract: Contract | None = None,
) -> RunResult:
    given = locals()
    for option, fits, wanted in _OPTIONS:
        if not fits(given[option]):
            raise TypeError(f"{option} is {given[option]!r}: give {wanted}")
    start = time.perf_counter()
    golden_data = golden_data or environment.golden_data()
    runtime_dir = runtime_dir or environment.runtime_dir()
    save_data = (save_data or environment.save_data()) and not golden_data
    work_dir: Path | None = None
    try:
        if compile_only and runtime_dir:
            raise _Refused("runtime_dir is incompatible with compile_only: leave one of them out")
        mistake = wrong(unguarded or {})
        if mistake:
            raise TypeError(f"unguarded is {unguarded!r}: {mistake}")
        if (unguarded or repeat > 1) and not guards:
            raise TypeError("unguarded and repeat are for guards=True, which is not given")
        if loading():
            raise Failure(
                Status.CASE_ERROR,
                f'{loading()} calls run() while a build loads it: put the call below `if __name__ == "__main__":`',
            )
        backend, platform, device = _backend(runtime_cfg)
        arguments = arguments_of(specs)
        check_policy(rtol, atol, compare_fn or {}, [a.name for a in arguments if a.is_output])
        compile_options = dict(compile_cfg or {})
        place = compile_options.pop(folder_key, None)
        if golden_data and not compile_only:
            _check_saved(Path(golden_data), arguments)
        known = ("tiles", *backend.options)
        unknown = [name for name in compile_options if name not in known]
        if unknown:
            raise TypeError(f"compile_cfg has no {unknown} for platform {platform!r}: known are {[folder_key, *known]}")
        described = program_of(
            backend, program, platform, compile_options.pop("tiles", {}), compile_options, Path.cwd()
        )
        name = contract.case if contract else described.name
        if runtime_dir:
            work_dir = Path(runtime_dir)
            print(f"[RUN] runtime_only: skipping {label}, using {work_dir}", flush=True)
            build = _reuse(backend, described, arguments, work_dir)
        else:
            with _stage(label):
                work_dir, build = _compile(backend, described, arguments, name, place)
        if compile_only:
            return _finish(RunResult(True, work_dir=work_dir), start)
        inputs = _inputs(specs, arguments, golden_data, seed)
        unused = [output for output, comparator in (compare_fn or {}).items() if is_ignoring_expected(comparator)]
        guard = GoldenGuard(unused) if guards else None
        golden = _golden(specs, arguments, inputs, golden_fn, golden_data, contract, guard)
        if save_data:
            saved = _new_data_folder(work_dir, name)
            golden.manifest = _save(saved, name, seed, arguments, inputs, golden.expected, contract)
            golden.saved = saved
        with _stage("runtime"):
            usual, possible = backend.usual_guards, backend.possible_guards(build)
            on = Guards(guards, unguarded or {}, repeat).on(usual, possible)
            tiles, keeps_inputs = dict(described.tiles), bool(compare_fn)  # a comparator is to see them as they were
            ran = runs.execute(
                backend, work_dir, build, inputs, device, on, repeat, _say_run, tiles, keeps_inputs=keeps_inputs
            )
        for finding in ran.findings:
            print(f"[RUN]   {finding.argument!r} {finding.status}  {finding.message}", flush=True)
        failed = [f"{found.status} {found.argument!r} {found.message.partition(': ')[0]}" for found in ran.findings]
        if golden.expected:
            try:
                with _stage("validate"):
                    validate_golden(
                        ran.outputs,
                        golden.expected,
                        rtol,
                        atol,
                        compare_fn,
                        inputs,
                        equal_nan=equal_nan,
                        tiles=tiles,
                    )
            except GoldenMismatch as mismatch:
                failed.append(str(mismatch))
        if failed:
            if golden.saved is not None:
                _keep_outputs(golden.saved.parent / "actual", ran.outputs)
            return _finish(RunResult(False, "; ".join(failed), work_dir=work_dir), start)
        if not golden.expected:
            why = "no golden_fn or golden_data" if golden.expected is None else "no spec is an output"
            return _finish(RunResult(True, work_dir=work_dir), start, f"validation skipped: {why}")
        if golden.saved is not None and golden.manifest is not None:
            policy = policy_of(rtol, atol, compare_fn or {}, Path.cwd(), equal_nan=equal_nan)
            golden.manifest.proof = Proof(platform=platform, build=build.binary, run="script", policy=policy.parts)
            with _writing():
                records.write(golden.saved / layout.MANIFEST, golden.manifest)
        return _finish(RunResult(True, work_dir=work_dir), start)
    except _Refused as error:
        return _finish(RunResult(False, str(error), work_dir=work_dir), start)
    except Failure as failure:
        if failure.status in _RESULTS:
            return _finish(RunResult(False, failure.message, work_dir=work_dir), start)
        raise


class _Refused(Exception):
    """The run ends with a failed result that says why."""


@contextmanager
def _stage(name: str) -> Iterator[None]:
    print(f"[RUN] {name} ...", flush=True)
    start = time.perf_counter()
    try:
        yield
    except BaseException:
        print(f"[RUN] {name} failed ({time.perf_counter() - start:.2f}s)", flush=True)
        raise
    print(f"[RUN] {name} done ({time.perf_counter() - start:.2f}s)", flush=True)


@contextmanager
def _writing() -> Iterator[None]:
    """What cannot be written is a failure in the user's words."""
    try:
        yield
    except OSError as error:
        raise of_os_error(error) from error


def _say_run(which: str) -> None:
    print(f"[RUN]   guards: {which}", flush=True)


@_writing()
def _keep_outputs(folder: Path, outputs: Mapping[str, torch.Tensor]) -> None:
    """Saves what a failing run made beside the data that it failed on."""
    tensors.save(folder, outputs)
    print(f"[RUN]   kept: {folder}", flush=True)


def _finish(result: RunResult, start: float, note: str = "") -> RunResult:
    result.execution_time = time.perf_counter() - start
    if note:
        print(f"[RUN] PASS ({result.execution_time:.2f}s, {note})", flush=True)
    else:
        print(f"[RUN] {result}", flush=True)
    return result


def _backend(runtime_cfg: Mapping[str, Any] | None) -> tuple[Backend, str, int]:
    """The backend, the platform and the device. Raises `ValueError` and `TypeError` for what does not exist."""
    config = dict(runtime_cfg or {})
    config.pop("log_level", None)
    unknown = [key for key in config if key not in _RUNTIME_KEYS]
    if unknown:
        raise TypeError(f"runtime_cfg has no {unknown}: known are {list(_RUNTIME_KEYS)}")
    platform = config.get("platform", DEFAULT_PLATFORM)
    try:
        return backend_for(platform), platform, int(config.get("device_id", 0))
    except Failure as failure:
        raise ValueError(failure.message) from None


@_writing()
def _compile(
    backend: Backend, described: Program, arguments: Sequence[Argument], name: str, place: str | Path | None
) -> tuple[Path, Build]:
    """Builds into a folder of the run's own. A build that fails leaves nothing behind.

    Raises `Failure` if the platform is not available, `_Refused` if `place` holds files that are no build's.
    """
    available_backend(described.platform)
    work_dir = _new_folder(Path(OUTPUT), name) if place is None else Path(place).resolve()
    work_dir.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f"{work_dir.name}.", dir=work_dir.parent))
    try:
        build = backend.compile(described, arguments, beside)
        work_dir.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in sorted(beside.iterdir()) if (work_dir / path.name).exists()]
        if others and not (work_dir / "build.json").is_file():
            raise _Refused(f"{work_dir} holds {', '.join(others)} of something that is no build: name another folder")
        (work_dir / "build.json").unlink(missing_ok=True)
        for path in sorted(beside.iterdir(), key=lambda p: p.name == "build.json"):
            if (work_dir / path.name).is_dir():
                shutil.rmtree(work_dir / path.name)
            path.replace(work_dir / path.name)
    except BaseException:
        if place is None:
            shutil.rmtree(work_dir, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return work_dir, build


def _new_folder(parent: Path, name: str) -> Path:
    """A new, empty `<name>_<timestamp>`; two runs in one second get two folders."""
    stamp = datetime.now().strftime("%Y%m%d_%H%M%S")
    parent = parent.resolve()
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / (f"{name}_{stamp}" if number == 1 else f"{name}_{stamp}_{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1


@_writing()
def _reuse(backend: Backend, described: Program, arguments: Sequence[Argument], work_dir: Path) -> Build:
    """The build in a `runtime_dir`, rebuilt if its sources were edited. Raises `_Refused` if it does not fit."""
    if not work_dir.exists():
        raise _Refused(f"runtime_dir does not exist: {work_dir}")
    build = records.read(work_dir / "build.json", Build)
    if build is None or build.backend != backend.name:
        places = (work_dir.parent, work_dir / "runtime", work_dir / described.platform / "runtime")
        near = [place for place in places if (place / "build.json").is_file()]
        raise _Refused(
            f"runtime_dir {work_dir} holds no build for {described.platform}: build.json is missing or not one"
            f"{_hint(work_dir, near)}"
        )
    different = _difference(build.arguments, arguments)
    if different:
        raise _Refused(f"runtime_dir {work_dir} was built for other arguments: {different}; compile again without it")
    changed = _changed(backend, described, build)
    if changed:
        print(f"[RUN]   warning: {work_dir} was built from another version: {'; '.join(changed)}", flush=True)
    edited = backend.edited(work_dir, build)
    if not edited:
        print("[cpp->.so] no cpp edits since last build; reusing cached binaries", flush=True)
        return build
    print(
        f"[cpp->.so] cpp edits or missing binaries detected ({len(edited)} file(s)): {', '.join(edited)}; rebuilding",
        flush=True,
    )
    return backend.rebuild(work_dir, build)


def _changed(backend: Backend, described: Program, build: Build) -> list[str]:
    """How the program differs from the one that a build was made from, in words."""
    try:
        now = backend.parts(described, build.arguments, unremembered)
    except Failure as failure:
        return [failure.message]
    changed = _changes(build.made_from, now)
    found = build.found.items()
    return changed + [f"{path} changed" for path, was in found if backend.content(path, was, unremembered) != was]


def _difference(built: Sequence[Argument], wanted: Sequence[Argument]) -> str:
    """How two argument lists differ, in words; empty if they do not."""
    if [a.name for a in built] != [a.name for a in wanted]:
        return f"{', '.join(a.name for a in built)} instead of {', '.join(a.name for a in wanted)}"
    return "; ".join(f"{b.name} was {b}, is {w}" for b, w in zip(built, wanted, strict=True) if b != w)


def _changes(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """How parts differ from what they were, in words."""
    return [
        _change(part, was.get(part), now.get(part))
        for part in sorted(now.keys() | was)
        if was.get(part) != now.get(part)
    ]


def _change(part: str, old: str | None, new: str | None) -> str:
    name = part.removeprefix("tile ").removeprefix("source ")
    if old is None or new is None or "blake3:" in old + new:
        return f"{name} changed"
    return f"{name} {old} -> {new}"


def _inputs(
    specs: Sequence[Spec], arguments: Sequence[Argument], golden_data: str | Path | None, seed: int | None
) -> dict[str, torch.Tensor]:
    if golden_data:
        folder = Path(golden_data)
        if not (folder / layout.MANIFEST).exists():
            print(f"[RUN]   origin unverified: {folder} has no manifest", flush=True)
        print(f"[RUN]   cache hit: {folder / 'in'}", flush=True)
        return tensors.load_inputs(folder, arguments)
    with _stage("generate inputs"):
        if seed is not None:
            stages.seed_everything(seed)
        try:
            return stages.make_inputs(specs)
        except ValueError as error:
            raise _Refused(str(error)) from error


def _check_saved(folder: Path, arguments: Sequence[Argument]) -> None:
    """Raises `_Refused` unless a snapshot holds every file that the arguments need, as its manifest says."""
    missing = layout.missing(folder, arguments)
    if missing:
        near = [near for near in (folder / "data", *folder.parents[:2]) if not layout.missing(near, arguments)]
        raise _Refused(f"golden_data is missing files: {missing}{_hint(folder, near)}")
    manifest = records.read(folder / layout.MANIFEST, Manifest)
    if manifest is None and (folder / layout.MANIFEST).exists():
        raise _Refused(f"{folder / layout.MANIFEST} is damaged; remove it to replay the folder unverified")
    damage = layout.damage(folder, manifest, digest.of_file) if manifest else []
    if damage:
        raise _Refused("; ".join(damage))


def _hint(folder: Path, near: Sequence[Path]) -> str:
    """What may have been meant by a folder that is not the right one."""
    if near:
        return f"; did you mean {near[0]}?"
    if folder.is_dir():
        return ""
    return f"; {folder} is no folder" if folder.exists() else f"; there is no folder {folder}"


def _golden(
    specs: Sequence[Spec],
    arguments: Sequence[Argument],
    inputs: Mapping[str, torch.Tensor],
    golden_fn: Callable[[dict[str, Any]], object] | None,
    golden_data: str | Path | None,
    contract: Contract | None,
    guard: stages.Guard | None,
) -> _Golden:
    if golden_data:
        folder = Path(golden_data)
        print(f"[RUN]   cache hit: {folder / 'out'}", flush=True)
        manifest = records.read(folder / layout.MANIFEST, Manifest)
        if contract is not None and manifest is not None and manifest.made_from:
            changed = _changes(manifest.made_from, contract.parts)
            if changed:
                print(f"[RUN]   warning: {folder} was saved under another contract: {'; '.join(changed)}", flush=True)
        return _Golden(tensors.load_outputs(folder, arguments))
    if golden_fn is None:
        return _Golden(None)
    with _stage("compute golden"):
        return _Golden(stages.compute_golden(golden_fn, specs, inputs, guard))


def _new_data_folder(work_dir: Path, name: str) -> Path:
    """`work_dir/data`, or one in a new folder if that holds a snapshot already: saved data is never overwritten."""
    data = work_dir / "data"
    return data if not data.exists() else _new_folder(Path(OUTPUT), name) / "data"


@_writing()
def _save(
    data: Path,
    name: str,
    seed: int | None,
    arguments: Sequence[Argument],
    inputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor] | None,
    contract: Contract | None,
) -> Manifest:
    """Writes `in/`, `out/` if there is a golden, and the manifest, all beside their place and then moved in."""
    beside = Path(tempfile.mkdtemp(prefix=".data_", dir=data.parent))
    try:
        files = tensors.save(beside / "in", inputs)
        if expected is not None:
            files |= tensors.save(beside / "out", expected)
        manifest = Manifest(
            made_from=contract.parts if contract else {},
            case=name,
            seed=seed,
            arguments=tuple(arguments),
            files=files,
            inputs=layout.digest_of(files, "in"),
            outputs=layout.digest_of(files, "out"),
            **tensors.origin(),  # type: ignore[arg-type]
        )
        records.write(beside / layout.MANIFEST, manifest)
        beside.chmod(0o755)
        beside.rename(data)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    print(f"[RUN]   saved: {data}", flush=True)
    return manifest
