"""`run` and `run_jit` in the caller's own process, with a real C++ kernel behind them."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from datetime import datetime
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from golden_tasks import CppKernel, RunResult, ScalarSpec, TensorSpec, harness, records, run, run_jit
from golden_tasks.records import Manifest
from golden_tasks.results import Failure, Status
from golden_tasks.snapshot import layout

SOURCE = """\
#include <stdexcept>

#include "golden_tasks.h"

#ifndef TILE
#define TILE 4
#endif

// y = x * factor; total += y
void step(gt::Tensor<const float, 1> x, float factor, gt::Tensor<float, 1> total, gt::Tensor<float, 1> y) {
    if (factor < 0) throw std::runtime_error("factor is negative");
    for (std::int64_t i = 0; i < x.size(); ++i) {
        y(i) = x(i) * factor;
        total(i) += y(i);
    }
}
"""
X = torch.tensor([1.0, 2.0, 3.0, 4.0])
DATA_FILES = ["in/factor.pt", "in/total.pt", "in/x.pt", "out/total.pt", "out/y.pt"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the run is started without the environment's overrides."""
    for name in ("GOLDEN_SAVE_DATA", "GOLDEN_DATA", "GOLDEN_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> CppKernel:
    source = tmp_path_factory.mktemp("source") / "step.cpp"
    source.write_text(SOURCE)
    return CppKernel(source)


@pytest.fixture(scope="module")
def build(step: CppKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of `step`, shared by all tests: none changes it."""
    place = tmp_path_factory.mktemp("build") / "step"
    assert run(step, specs(), compile_only=True, compile_cfg={"output_dir": place}).work_dir == place
    return place


@pytest.fixture
def own_build(build: Path, folder: Path) -> Path:
    """A copy of the build, to be changed."""
    return Path(shutil.copytree(build, folder / "own_build"))


@pytest.fixture
def data(folder: Path) -> Path:
    """A snapshot as another harness writes it: tensors and no manifest."""
    data = folder / "snapshot"
    tensors = {"in/x": X, "in/factor": torch.tensor(2.0), "in/total": torch.ones(4)}
    tensors |= {"out/total": X * 2 + 1, "out/y": X * 2}
    for name, tensor in tensors.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        torch.save(tensor, data / f"{name}.pt")
    return data


def specs(**changed: Any) -> list[TensorSpec | ScalarSpec]:
    """The arguments of `step`; `x=` and others replace one of them."""
    made: dict[str, TensorSpec | ScalarSpec] = {
        "x": TensorSpec("x", [4], torch.float32, X),
        "factor": ScalarSpec("factor", torch.float32, 2.0),
        "total": TensorSpec("total", [4], torch.float32, 1.0, is_output=True),
        "y": TensorSpec("y", [4], torch.float32, is_output=True),
    }
    return list({**made, **changed}.values())


def golden(values: dict[str, Any]) -> None:
    values["y"][:] = values["x"] * values["factor"]
    values["total"] += values["y"]


def wrong_golden(values: dict[str, Any]) -> None:
    golden(values)
    values["y"][2] += 1


def never_called(*_: object, **__: object) -> Any:
    raise AssertionError("called although the snapshot has it all")


def lines(capsys: pytest.CaptureFixture[str], *folders: Path) -> list[str]:
    """What was printed, with times as T and the given folders' paths as A, B."""
    said = re.sub(r"\d+\.\d\ds", "T", capsys.readouterr().out)
    for letter, path in zip("AB", folders, strict=False):
        said = said.replace(str(path), letter)
    return said.splitlines()


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder with its bytes and modification time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def new_folders(folder: Path) -> list[Path]:
    return sorted((folder / "build_output").glob("*"))


# stages and console


@pytest.mark.parametrize(("runner", "first"), [(run, "program"), (run_jit, "fn")])
def test_arguments_have_the_names_order_and_defaults_that_scripts_know(
    runner: Callable[..., RunResult], first: str
) -> None:
    parameters = [p for p in signature(runner).parameters.values() if p.kind is not p.KEYWORD_ONLY]

    assert [(p.name, p.default) for p in parameters[2:]] == [
        ("golden_fn", None),
        ("golden_data", None),
        ("compile_cfg", None),
        ("runtime_cfg", None),
        ("rtol", 1e-5),
        ("atol", 1e-5),
        ("compare_fn", None),
        ("compile_only", False),
        ("runtime_dir", None),
        ("save_data", False),
    ]
    assert [p.name for p in parameters[:2]] == [first, "specs"]


@pytest.mark.parametrize(("runner", "label"), [(run, "compile"), (run_jit, "JIT compile")])
def test_a_run_prints_its_stages_in_order(
    runner: Callable[..., RunResult], label: str, step: CppKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    result = runner(step, specs(), golden)

    assert result.passed and result.error is None
    assert result.execution_time is not None and result.execution_time > 0
    assert lines(capsys) == [
        f"[RUN] {label} ...",
        f"[RUN] {label} done (T)",
        "[RUN] generate inputs ...",
        "[RUN] generate inputs done (T)",
        "[RUN] compute golden ...",
        "[RUN] compute golden done (T)",
        "[RUN] runtime ...",
        "[RUN] runtime done (T)",
        "[RUN] validate ...",
        "[RUN]   'total' PASS  shape=(4,) dtype=torch.float32",
        "[RUN]   'y' PASS  shape=(4,) dtype=torch.float32",
        "[RUN] validate done (T)",
        "[RUN] PASS (T)",
    ]


@pytest.mark.parametrize(("runner", "label"), [(run, "compile"), (run_jit, "JIT compile")])
def test_a_run_of_snapshot_and_build_compiles_generates_and_computes_nothing(
    runner: Callable[..., RunResult],
    label: str,
    step: CppKernel,
    build: Path,
    data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = runner(step, specs(), golden, golden_data=data, runtime_dir=build)

    assert result.passed
    assert lines(capsys, data, build) == [
        f"[RUN] runtime_only: skipping {label}, using B",
        "[cpp->.so] no cpp edits since last build; reusing cached binaries",
        "[RUN]   origin unverified: A has no manifest",
        "[RUN]   cache hit: A/in",
        "[RUN]   cache hit: A/out",
        "[RUN] runtime ...",
        "[RUN] runtime done (T)",
        "[RUN] validate ...",
        "[RUN]   'total' PASS  shape=(4,) dtype=torch.float32",
        "[RUN]   'y' PASS  shape=(4,) dtype=torch.float32",
        "[RUN] validate done (T)",
        "[RUN] PASS (T)",
    ]


def test_a_stage_that_raised_is_not_said_to_be_done(
    step: CppKernel, build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Failure):
        run(step, specs(factor=ScalarSpec("factor", torch.float32, -1.0)), golden, runtime_dir=build)

    assert lines(capsys)[-1] == "[RUN] runtime failed (T)"


def test_without_a_golden_a_run_passes_and_says_that_validation_was_skipped(
    step: CppKernel, build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(step, specs(), runtime_dir=build)

    assert result.passed
    assert lines(capsys)[-1] == "[RUN] PASS (T, validation skipped: no golden_fn or golden_data)"


def test_compile_only_makes_no_initial_value(step: CppKernel, folder: Path) -> None:
    result = run(step, specs(x=TensorSpec("x", [4], torch.float32, never_called)), never_called, compile_only=True)

    assert result.passed
    assert new_folders(folder) == [result.work_dir]
    assert {"kernels", "orchestration", "kernel_config.json", "build.json"} <= set(os.listdir(result.work_dir))


# inputs and golden


def test_inputs_are_drawn_in_the_order_of_the_specs(step: CppKernel, build: Path) -> None:
    drawn = []

    def draw(name: str) -> Callable[[], torch.Tensor]:
        return lambda: drawn.append(name) or torch.zeros(4)  # type: ignore[func-returns-value]

    total = TensorSpec("total", [4], torch.float32, draw("total"), is_output=True)
    run(step, specs(x=TensorSpec("x", [4], torch.float32, draw("x")), total=total), golden, runtime_dir=build)

    assert drawn == ["x", "total"]


def test_one_seed_makes_one_set_of_inputs(step: CppKernel, build: Path) -> None:
    seen = []

    def python_too() -> torch.Tensor:
        return torch.tensor([random.random() for _ in range(4)])

    for seed in (1, 1, 2):
        total = TensorSpec("total", [4], torch.float32, python_too, is_output=True)
        drawn = specs(x=TensorSpec("x", [4], torch.float32, torch.randn), total=total)
        run(step, drawn, lambda v: seen.append((*v["x"].tolist(), *v["total"].tolist())), runtime_dir=build, seed=seed)

    assert seen[0] == seen[1] != seen[2]


def test_the_golden_function_gets_clones_zeros_and_python_scalars(step: CppKernel, build: Path) -> None:
    own, seen = X.clone(), {}

    def spoil(values: dict[str, Any]) -> None:
        seen.update({n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()})
        golden(values)
        values["x"].zero_()

    result = run(step, specs(x=TensorSpec("x", [4], torch.float32, own)), spoil, runtime_dir=build)

    assert result.passed
    assert torch.equal(own, X)
    assert seen["factor"] == 2.0 and isinstance(seen["factor"], float)
    assert seen["total"].tolist() == [1, 1, 1, 1] and seen["y"].tolist() == [0, 0, 0, 0]


def test_a_golden_function_may_rebind_its_outputs(step: CppKernel, build: Path) -> None:
    def rebind(values: dict[str, Any]) -> None:
        values["y"] = values["x"] * values["factor"]
        values["total"] = values["total"] + values["y"]

    assert run(step, specs(), rebind, runtime_dir=build).passed


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(5), r"made output 'y' float32 \[5\], its spec says float32 \[4\]"),
        (torch.zeros(4, dtype=torch.float64), r"made output 'y' float64 \[4\], its spec says float32 \[4\]"),
        ([0.0] * 4, "left output 'y' as list, not a tensor"),
    ],
)
def test_a_golden_output_that_is_not_as_its_spec_says_is_a_failed_result(
    value: Any, words: str, step: CppKernel, build: Path
) -> None:
    def rebind(values: dict[str, Any]) -> None:
        values["y"] = value

    result = run(step, specs(), rebind, runtime_dir=build)

    assert not result.passed
    assert re.search(words, result.error or "")


def test_an_initial_value_of_another_shape_is_a_failed_result(step: CppKernel, build: Path) -> None:
    result = run(step, specs(x=TensorSpec("x", [4], torch.float32, torch.zeros(5))), golden, runtime_dir=build)

    assert result.error == "the initial value of 'x' is of shape [5], its spec says [4]"


def test_an_inout_tensor_given_by_the_caller_stays_as_it_is(step: CppKernel, build: Path) -> None:
    own = torch.ones(4)
    total = TensorSpec("total", [4], torch.float32, own, is_output=True)

    results = [run(step, specs(total=total), golden, runtime_dir=build) for _ in range(2)]

    assert all(result.passed for result in results)
    assert own.tolist() == [1, 1, 1, 1]


# verdicts


def test_a_mismatch_is_a_failed_result_that_names_the_output_and_the_element(
    step: CppKernel, build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(step, specs(), wrong_golden, runtime_dir=build)

    assert not result.passed
    assert result.error is not None and result.error.startswith("Output(s) does not match golden: ['y']")
    assert result.work_dir == build
    said = lines(capsys)
    assert "[RUN]     [2] expected 7, got 6, off by 1 (allowed 8e-05)" in said
    assert said[-1].startswith("[RUN] FAIL: Output(s) does not match golden: ['y']")


def test_a_comparator_gets_the_inputs_as_they_were_before_the_kernel_ran(step: CppKernel, build: Path) -> None:
    seen: dict[str, Any] = {}

    def keep(actual: torch.Tensor, expected: torch.Tensor, **keywords: Any) -> tuple[bool, str]:
        seen.update(keywords)
        return True, ""

    assert run(step, specs(), golden, compare_fn={"total": keep}, rtol=0.5, atol=0.25, runtime_dir=build).passed

    assert {name: value.tolist() for name, value in seen["inputs"].items()} == {
        "x": X.tolist(),
        "factor": 2.0,
        "total": [1, 1, 1, 1],
    }
    assert seen["actual_outputs"]["total"].tolist() == seen["expected_outputs"]["total"].tolist() == [3, 5, 7, 9]
    assert (seen["rtol"], seen["atol"]) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"rtol": -1.0}, "rtol=-1.0 is no tolerance"),
        ({"atol": float("nan")}, "atol=nan is no tolerance"),
        ({"compare_fn": {"x": never_called}}, "compare_fn names ['x'], but the outputs are ['total', 'y']"),
    ],
)
def test_a_policy_that_cannot_be_is_a_failed_result_before_anything_runs(
    policy: dict[str, Any], words: str, step: CppKernel, folder: Path
) -> None:
    result = run(step, specs(), never_called, **policy)

    assert words in (result.error or "")
    assert new_folders(folder) == []


# save_data


def test_save_data_keeps_inputs_and_expected_outputs_below_the_work_dir(step: CppKernel, folder: Path) -> None:
    result = run(step, specs(), golden, save_data=True)

    assert result.work_dir is not None and result.work_dir.parent == folder / "build_output"
    saved = result.work_dir / "data"
    assert sorted(contents(saved)) == sorted([*DATA_FILES, "manifest.json"])
    assert torch.equal(torch.load(saved / "in/x.pt"), X)
    assert torch.equal(torch.load(saved / "in/total.pt"), torch.ones(4))
    assert torch.equal(torch.load(saved / "out/total.pt"), X * 2 + 1)
    assert torch.load(saved / "in/factor.pt").item() == 2.0


def test_saved_data_replays(step: CppKernel, build: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(step, specs(), golden, save_data=True, runtime_dir=shutil.copytree(build, folder / "copy"))
    capsys.readouterr()

    result = run(step, specs(), never_called, golden_data=folder / "copy/data", runtime_dir=build)

    assert result.passed
    assert "unverified" not in capsys.readouterr().out


@pytest.mark.parametrize(("golden_fn", "proved"), [(golden, True), (wrong_golden, False)], ids=["right", "wrong"])
def test_a_manifest_names_the_passing_run_that_proved_it(
    golden_fn: Callable[..., None], proved: bool, step: CppKernel, own_build: Path
) -> None:
    run(step, specs(), golden_fn, save_data=True, runtime_dir=own_build, seed=5)

    manifest = records.read(own_build / "data" / layout.MANIFEST, Manifest)
    assert manifest is not None
    assert (manifest.case, manifest.seed, [a.name for a in manifest.arguments]) == (
        "step",
        5,
        ["x", "factor", "total", "y"],
    )
    assert (manifest.proof is not None) is proved


def test_save_data_without_a_golden_keeps_the_inputs_only(step: CppKernel, own_build: Path) -> None:
    run(step, specs(), save_data=True, runtime_dir=own_build)

    assert sorted(contents(own_build / "data")) == [*DATA_FILES[:3], "manifest.json"]


def test_save_data_with_runtime_dir_never_overwrites_a_snapshot(
    step: CppKernel, own_build: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(step, specs(), golden, save_data=True, runtime_dir=own_build)
    before = contents(own_build / "data")

    result = run(step, specs(x=TensorSpec("x", [4], torch.float32, 7.0)), golden, save_data=True, runtime_dir=own_build)

    assert result.passed
    assert contents(own_build / "data") == before
    (elsewhere,) = new_folders(folder)
    assert torch.load(elsewhere / "data/in/x.pt").tolist() == [7, 7, 7, 7]
    assert f"[RUN]   saved: {elsewhere / 'data'}" in capsys.readouterr().out


def test_golden_data_with_save_data_writes_nothing(step: CppKernel, own_build: Path, data: Path, folder: Path) -> None:
    before = contents(folder)

    assert run(step, specs(), golden_data=data, save_data=True, runtime_dir=own_build).passed

    assert contents(folder) == before


def test_a_tensor_that_is_a_view_is_saved_without_the_memory_around_it(step: CppKernel, own_build: Path) -> None:
    wide = torch.randn(4, 100_000)
    x = TensorSpec("x", [4], torch.float32, wide[:, 3])

    run(step, specs(x=x), golden, save_data=True, runtime_dir=own_build)

    assert torch.equal(torch.load(own_build / "data/in/x.pt"), wide[:, 3])
    assert (own_build / "data/in/x.pt").stat().st_size < 10_000


# golden_data


def test_golden_data_wins_over_the_golden_function_and_the_initialisers(
    step: CppKernel, build: Path, data: Path
) -> None:
    guarded = specs(
        x=TensorSpec("x", [4], torch.float32, never_called),
        total=TensorSpec("total", [4], torch.float32, never_called, is_output=True),
    )

    assert run(step, guarded, never_called, golden_data=data, runtime_dir=build).passed


def test_golden_data_is_only_read(step: CppKernel, build: Path, data: Path) -> None:
    before = contents(data)

    run(step, specs(), golden_data=data, runtime_dir=build)
    run(step, specs(), wrong_golden, golden_data=str(data), runtime_dir=build, rtol=0, atol=0)

    assert contents(data) == before


def test_the_scalars_of_golden_data_win_over_the_specs(step: CppKernel, build: Path, data: Path) -> None:
    other = specs(factor=ScalarSpec("factor", torch.float32, 99.0))

    assert run(step, other, golden_data=data, runtime_dir=build).passed


def test_every_missing_file_is_named(step: CppKernel, build: Path, data: Path) -> None:
    for name in ("in/factor.pt", "in/total.pt", "out/total.pt"):
        (data / name).unlink()

    result = run(step, specs(), never_called, golden_data=data, runtime_dir=build)

    named = [str(data / name) for name in ("in/factor.pt", "in/total.pt", "out/total.pt")]
    assert result.error == f"golden_data is missing files: {named}"


@pytest.mark.parametrize("name", DATA_FILES)
def test_any_one_missing_file_fails_and_is_named(name: str, step: CppKernel, build: Path, data: Path) -> None:
    (data / name).unlink()

    result = run(step, specs(), never_called, golden_data=data, runtime_dir=build)

    assert result.error == f"golden_data is missing files: ['{data / name}']"


def test_a_golden_data_folder_that_does_not_exist_lacks_every_file(step: CppKernel, build: Path, folder: Path) -> None:
    result = run(step, specs(), never_called, golden_data="nowhere", runtime_dir=build)

    assert result.error is not None
    assert all(f"nowhere/{name}" in result.error for name in DATA_FILES)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def scribble(path: Path) -> None:
    path.write_bytes(b"golden" * 100)


def legacy_cut(path: Path) -> None:
    torch.save(torch.zeros(4), path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes()[:-4])


def saved(value: Any) -> Callable[[Path], None]:
    return lambda path: torch.save(value, path)


DAMAGE = [
    ("in/x.pt", cut, "cannot be read as a saved tensor"),
    ("in/x.pt", legacy_cut, "cannot be read as a saved tensor"),
    ("in/x.pt", scribble, "cannot be read as a saved tensor"),
    ("in/x.pt", lambda path: path.write_bytes(b""), "cannot be read as a saved tensor"),
    ("in/x.pt", saved([1.0, 2.0]), "holds a list, not a tensor"),
    ("in/x.pt", saved(Path("code")), "cannot be read as a saved tensor"),
    ("in/x.pt", saved(X.double()), "dtype mismatch: the file holds float64, the spec says float32"),
    ("in/x.pt", saved(X[:2].clone()), "shape mismatch: the file holds [2], the spec says [4]"),
    ("in/x.pt", saved(X.reshape(2, 2)), "shape mismatch: the file holds [2, 2], the spec says [4]"),
    ("in/x.pt", saved(X.to_sparse()), "holds a tensor without plain memory: torch.sparse_coo"),
    ("in/x.pt", saved(X.to("meta")), "holds a tensor without plain memory: torch.strided, meta"),
    ("in/total.pt", saved(X.int()), "dtype mismatch"),
    ("in/factor.pt", saved(torch.ones(1)), "scalar 'factor' must be 0-dim, not [1]"),
    ("in/factor.pt", saved(torch.tensor(2)), "dtype mismatch: the file holds int64, the spec says float32"),
    ("in/factor.pt", saved(2.0), "holds a float, not a tensor"),
    ("out/y.pt", cut, "cannot be read as a saved tensor"),
    ("out/y.pt", saved(X.half()), "dtype mismatch"),
    ("out/total.pt", saved(torch.ones(1)), "shape mismatch"),
]


@pytest.mark.parametrize(("name", "damage", "words"), DAMAGE)
def test_a_file_that_is_not_the_tensor_of_its_spec_is_a_failed_result_naming_it(
    name: str, damage: Callable[[Path], object], words: str, step: CppKernel, build: Path, data: Path
) -> None:
    damage(data / name)

    result = run(step, specs(), never_called, golden_data=data, runtime_dir=build)

    assert not result.passed
    assert (result.error or "").startswith(str(data / name))
    assert words in (result.error or "")


def test_a_saved_file_with_one_byte_changed_is_refused_by_name(step: CppKernel, own_build: Path) -> None:
    run(step, specs(), golden, save_data=True, runtime_dir=own_build)
    file = own_build / "data/in/x.pt"
    content = file.read_bytes()
    at = content.index(bytes(X.untyped_storage()))
    file.write_bytes(content[:at] + b"\1" + content[at + 1 :])

    result = run(step, specs(), never_called, golden_data=own_build / "data", runtime_dir=own_build)

    assert result.error == f"{file} is not what its manifest says: it was edited or damaged"


def test_a_damaged_manifest_is_refused_by_name(step: CppKernel, own_build: Path) -> None:
    run(step, specs(), golden, save_data=True, runtime_dir=own_build)
    manifest = own_build / "data/manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-10])

    result = run(step, specs(), never_called, golden_data=own_build / "data", runtime_dir=own_build)

    assert result.error == f"{manifest} is damaged; remove it to replay the folder unverified"


# runtime_dir and the combinations


@pytest.mark.parametrize(
    ("with_runtime_dir", "with_golden_data", "save_data", "compile_only"), list(product([False, True], repeat=4))
)
def test_the_ways_to_run_combine_freely_and_each_validates(
    with_runtime_dir: bool,
    with_golden_data: bool,
    save_data: bool,
    compile_only: bool,
    step: CppKernel,
    build: Path,
    data: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    used = shutil.copytree(build, folder / "used") if with_runtime_dir else None

    result = run(
        step,
        specs(),
        golden,
        golden_data=data if with_golden_data else None,
        runtime_dir=used,
        save_data=save_data,
        compile_only=compile_only,
    )

    said = capsys.readouterr().out
    if compile_only and with_runtime_dir:
        assert result.error == "runtime_dir is incompatible with compile_only: leave one of them out"
        return
    assert result.passed
    assert result.work_dir is not None and (result.work_dir == used) == with_runtime_dir
    assert ("skipping compile" in said) == with_runtime_dir
    assert ("cache hit" in said) == (with_golden_data and not compile_only)
    assert ("compute golden" in said) == (not with_golden_data and not compile_only)
    assert (result.work_dir / "data").exists() == (save_data and not with_golden_data and not compile_only)
    assert ("'y' PASS" in said) == (not compile_only)


@pytest.mark.parametrize(("with_runtime_dir", "with_golden_data"), list(product([False, True], repeat=2)))
def test_a_wrong_output_fails_whatever_was_not_made_again(
    with_runtime_dir: bool, with_golden_data: bool, step: CppKernel, build: Path, data: Path
) -> None:
    torch.save(torch.zeros(4), data / "out/y.pt")

    result = run(
        step,
        specs(),
        wrong_golden,
        golden_data=data if with_golden_data else None,
        runtime_dir=build if with_runtime_dir else None,
    )

    assert "Output(s) does not match golden: ['y']" in (result.error or "")


def test_a_runtime_dir_is_only_read_when_nothing_in_it_was_edited(step: CppKernel, own_build: Path) -> None:
    before = contents(own_build)

    assert run(step, specs(), golden, runtime_dir=own_build).passed

    assert contents(own_build) == before


def test_the_work_dir_is_absolute_after_a_compile_and_as_given_for_runtime_dir(
    step: CppKernel, own_build: Path
) -> None:
    compiled = run(step, specs(), golden, compile_cfg={"output_dir": "here"})
    reused = run(step, specs(), golden, runtime_dir="own_build")

    assert compiled.work_dir == own_build.with_name("here")
    assert reused.passed and reused.work_dir == Path("own_build")


def test_a_runtime_dir_that_does_not_exist_is_a_failed_result(step: CppKernel) -> None:
    result = run(step, specs(), never_called, runtime_dir="nowhere")

    assert result.error == "runtime_dir does not exist: nowhere"


@pytest.mark.parametrize("content", [None, "", "{}", '{"schema": 1}'], ids=repr)
def test_a_folder_that_holds_no_build_is_refused(content: str | None, step: CppKernel, folder: Path) -> None:
    (folder / "other").mkdir()
    if content is not None:
        (folder / "other/build.json").write_text(content)

    result = run(step, specs(), never_called, runtime_dir="other")

    assert result.error == "runtime_dir other holds no build for cpu: build.json is missing or not one"


X_SPEC, FACTOR, TOTAL, Y_SPEC = specs()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            [TensorSpec("a", [4], torch.float32), FACTOR, TOTAL, Y_SPEC],
            "x, factor, total, y instead of a, factor, total, y",
        ),
        ([X_SPEC, FACTOR, Y_SPEC, TOTAL], "x, factor, total, y instead of x, factor, y, total"),
        ([X_SPEC, FACTOR, TOTAL], "x, factor, total, y instead of x, factor, total"),
        (specs(x=TensorSpec("x", [4], torch.float16)), "x was float32 [4] in, is float16 [4] in"),
        (specs(x=TensorSpec("x", [2, 2], torch.float32)), "x was float32 [4] in, is float32 [2, 2] in"),
        (specs(factor=ScalarSpec("factor", torch.int32, 2)), "factor was float32 scalar, is int32 scalar"),
        (
            specs(total=TensorSpec("total", [4], torch.float32, is_output=True)),
            "total was float32 [4] inout, is float32 [4] out",
        ),
    ],
    ids=["name", "order", "count", "dtype", "shape", "scalar", "direction"],
)
def test_a_build_for_other_arguments_is_refused_before_it_runs(
    other: list[TensorSpec | ScalarSpec], words: str, step: CppKernel, build: Path
) -> None:
    result = run(step, other, never_called, runtime_dir=build)

    assert result.error == f"runtime_dir {build} was built for other arguments: {words}; compile again without it"


def test_a_build_with_other_tiles_runs_with_a_warning_that_names_them(
    step: CppKernel, own_build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(step, specs(), compile_only=True, compile_cfg={"output_dir": "tiled", "tiles": {"TILE": 64}})
    capsys.readouterr()

    result = run(step, specs(), golden, runtime_dir="tiled", compile_cfg={"tiles": {"TILE": 128}})

    assert result.passed
    assert "[RUN]   warning: tiled was built from another version: TILE 64 -> 128" in capsys.readouterr().out


def test_a_build_from_another_version_of_its_source_runs_with_a_warning_that_names_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = folder / "step.cpp"
    source.write_text(SOURCE)
    kernel = CppKernel(source)
    built = run(kernel, specs(), compile_only=True).work_dir
    source.write_text(SOURCE.replace("x(i) * factor", "x(i) * factor + 1"))
    capsys.readouterr()

    result = run(kernel, specs(), golden, runtime_dir=built)

    assert result.passed
    assert f"[RUN]   warning: {built} was built from another version: step.cpp changed" in capsys.readouterr().out


def test_a_build_from_another_version_of_an_included_header_runs_with_a_warning_that_names_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "scale.h").write_text("inline float scale(float x, float by) { return x * by; }\n")
    (folder / "step.cpp").write_text(
        SOURCE.replace("#include <stdexcept>", '#include "scale.h"\n#include <stdexcept>').replace(
            "x(i) * factor", "scale(x(i), factor)"
        )
    )
    kernel = CppKernel(folder / "step.cpp")
    built = run(kernel, specs(), compile_only=True).work_dir
    (folder / "scale.h").write_text("inline float scale(float x, float) { return x; }\n")
    capsys.readouterr()

    result = run(kernel, specs(), golden, runtime_dir=built)

    assert result.passed
    assert f"[RUN]   warning: {built} was built from another version: scale.h changed" in capsys.readouterr().out


def edit_step(build: Path, new: str) -> None:
    source = build / "kernels/step.cpp"
    source.write_text(source.read_text().replace("x(i) * factor;", new))


def test_an_edit_in_the_runtime_dir_is_found_by_content_and_runs_in_this_process(
    step: CppKernel, own_build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run(step, specs(), golden, runtime_dir=own_build)
    capsys.readouterr()

    edit_step(own_build, "x(i) * factor + 1;")
    os.utime(own_build / "kernels/step.cpp", (0, 0))
    edited = run(step, specs(), golden, runtime_dir=own_build)
    said = lines(capsys)
    settled = run(step, specs(), golden, runtime_dir=own_build)

    assert before.passed
    expected = (
        "[cpp->.so] cpp edits or missing binaries detected (1 file(s)): kernels/step.cpp; rebuilding",
        "[RUN]     first    [0]         2    3           1    3e-05",
    )
    assert set(expected) <= set(said)
    assert not edited.passed and not settled.passed
    assert "[cpp->.so] no cpp edits since last build; reusing cached binaries" in lines(capsys)


def test_an_edit_undone_runs_the_first_binary_again(step: CppKernel, own_build: Path) -> None:
    source = own_build / "kernels/step.cpp"
    verdicts = []
    for new in ("x(i) * factor;", "x(i) * factor + 1;", "x(i) * factor;"):
        source.write_text(SOURCE)
        edit_step(own_build, new)
        verdicts.append(run(step, specs(), golden, runtime_dir=own_build).passed)

    assert verdicts == [True, False, True]


def test_a_touched_source_is_no_edit(step: CppKernel, own_build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.utime(own_build / "kernels/step.cpp")

    run(step, specs(), golden, runtime_dir=own_build)

    assert "[cpp->.so] no cpp edits since last build; reusing cached binaries" in lines(capsys)


def test_a_missing_binary_is_built_again(step: CppKernel, own_build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_build / "kernels/step.so").unlink()

    assert run(step, specs(), golden, runtime_dir=own_build).passed

    expected = "[cpp->.so] cpp edits or missing binaries detected (1 file(s)): kernels/step.so; rebuilding"
    assert expected in lines(capsys)


def test_a_broken_edit_raises_with_file_and_line_until_it_is_mended(step: CppKernel, own_build: Path) -> None:
    source = own_build / "kernels/step.cpp"
    edit_step(own_build, "x(i) * nothing;")
    line = 1 + source.read_text().splitlines().index("        y(i) = x(i) * nothing;")

    for _ in range(2):
        with pytest.raises(Failure, match=rf"kernels/step\.cpp:{line}:.*nothing") as failed:
            run(step, specs(), golden, runtime_dir=own_build)
        assert failed.value.status is Status.COMPILE_ERROR
    source.write_text(SOURCE)

    assert run(step, specs(), golden, runtime_dir=own_build).passed


# where a run writes


def test_two_runs_in_one_second_never_share_a_folder(
    step: CppKernel, own_build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Stopped:
            return cls(2026, 11, 29, 15, 12, 3)

    monkeypatch.setattr(harness, "datetime", Stopped)

    folders = [run(step, specs(), compile_only=True).work_dir for _ in range(2)]

    assert [f.name for f in folders if f] == ["step_20261129_151203", "step_20261129_151203_2"]


@pytest.mark.parametrize(("runner", "key"), [(run, "output_dir"), (run_jit, "save_kernels_dir")])
def test_the_compile_configuration_names_another_place_and_nothing_else_in_it_is_touched(
    runner: Callable[..., RunResult], key: str, step: CppKernel, folder: Path
) -> None:
    for name in ("place/data/in/x.pt", "place/notes.txt", "place.new/notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    before = contents(folder)

    result = runner(step, specs(), golden, compile_cfg={key: "place"}, save_data=True)

    assert result.passed and result.work_dir == folder / "place"
    after = contents(folder)
    assert {name: after[name] for name in before} == before
    assert (folder / "place/build.json").exists()
    assert [f.name for f in new_folders(folder)[0].iterdir()] == ["data"]


def test_a_compile_that_fails_raises_and_leaves_no_folder(folder: Path) -> None:
    (folder / "step.cpp").write_text(SOURCE.replace("x(i) * factor", "x(i) * nothing"))

    with pytest.raises(Failure, match=r"step\.cpp:\d+:\d+: error: .*nothing") as failed:
        run(CppKernel(folder / "step.cpp"), specs(), never_called)

    assert failed.value.status is Status.COMPILE_ERROR
    assert new_folders(folder) == []


# the environment


def test_golden_save_data_reaches_a_call_that_wired_nothing(
    step: CppKernel, own_build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDEN_SAVE_DATA", "1")

    run(step, specs(), golden, runtime_dir=own_build)

    assert (own_build / "data/manifest.json").exists()


@pytest.mark.parametrize("value", ["", "0", "false", "no"])
def test_golden_save_data_can_be_switched_off(
    value: str, step: CppKernel, own_build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDEN_SAVE_DATA", value)

    run(step, specs(), golden, runtime_dir=own_build)

    assert not (own_build / "data").exists()


def test_golden_data_and_golden_runtime_dir_reach_a_call_that_wired_nothing(
    step: CppKernel, build: Path, data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDEN_DATA", str(data))
    monkeypatch.setenv("GOLDEN_RUNTIME_DIR", str(build))

    result = run(step, specs(), never_called)

    assert result.passed and result.work_dir == build
    assert new_folders(folder) == []


def test_what_a_call_names_itself_wins_over_the_environment(
    step: CppKernel, build: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDEN_DATA", "nowhere")
    monkeypatch.setenv("GOLDEN_RUNTIME_DIR", "nowhere")

    assert run(step, specs(), never_called, golden_data=data, runtime_dir=build).passed


# exceptions


@pytest.mark.parametrize("platform", ["gpu", "a9", "", None])
def test_an_unknown_platform_is_a_value_error_that_names_the_known_ones(platform: Any, step: CppKernel) -> None:
    with pytest.raises(ValueError, match=rf"Unknown runtime platform {platform!r}: known here are cpu"):
        run(step, specs(), golden, runtime_cfg={"platform": platform})


def test_an_unknown_key_of_the_runtime_configuration_is_a_type_error(step: CppKernel) -> None:
    with pytest.raises(TypeError, match=r"runtime_cfg has no \['plattform'\]: known are \['platform', 'device_id'\]"):
        run(step, specs(), golden, runtime_cfg={"plattform": "cpu"})


def test_the_log_level_is_no_unknown_key_and_the_configuration_stays_as_it_is(step: CppKernel, build: Path) -> None:
    config = {"platform": "cpu", "device_id": 0, "log_level": "debug"}

    assert run(step, specs(), golden, runtime_cfg=config, runtime_dir=build).passed

    assert config == {"platform": "cpu", "device_id": 0, "log_level": "debug"}


@pytest.mark.parametrize("key", ["tile", "save_kernels_dir"])
def test_an_unknown_key_of_the_compile_configuration_is_named(key: str, step: CppKernel, folder: Path) -> None:
    with pytest.raises(TypeError, match=key):
        run(step, specs(), golden, compile_cfg={key: "x"})

    assert new_folders(folder) == []


class Boom(Exception):
    pass


@pytest.mark.parametrize("kind", [Boom, AssertionError, ValueError, KeyboardInterrupt, SystemExit])
def test_what_the_golden_function_raises_passes_through(
    kind: type[BaseException], step: CppKernel, build: Path
) -> None:
    error = kind("boom")

    def raising(values: dict[str, Any]) -> None:
        raise error

    with pytest.raises(kind) as raised:
        run(step, specs(), raising, runtime_dir=build)

    assert raised.value is error


@pytest.mark.parametrize("kind", [Boom, AssertionError, ValueError])
def test_what_a_comparator_raises_passes_through(kind: type[Exception], step: CppKernel, build: Path) -> None:
    error = kind("boom")

    def raising(*_: object, **__: object) -> tuple[bool, str]:
        raise error

    with pytest.raises(kind) as raised:
        run(step, specs(), golden, compare_fn={"y": raising}, runtime_dir=build)

    assert raised.value is error


@pytest.mark.parametrize("kind", [Boom, AssertionError, TypeError])
def test_what_an_initialiser_raises_passes_through(kind: type[Exception], step: CppKernel, build: Path) -> None:
    def raising() -> None:
        raise kind("boom")

    with pytest.raises(kind, match="boom"):
        run(step, specs(x=TensorSpec("x", [4], torch.float32, raising)), golden, runtime_dir=build)


def test_a_value_error_of_an_initialiser_is_a_failed_result(step: CppKernel, build: Path) -> None:
    def raising() -> None:
        raise ValueError("no such distribution")

    result = run(step, specs(x=TensorSpec("x", [4], torch.float32, raising)), golden, runtime_dir=build)

    assert result.error == "no such distribution"


def test_an_exception_of_the_kernel_is_raised_in_its_own_words(step: CppKernel, build: Path, data: Path) -> None:
    negative = specs(factor=ScalarSpec("factor", torch.float32, -1.0))

    with pytest.raises(Failure, match="kernel 'step' threw: factor is negative") as raised:
        run(step, negative, golden, runtime_dir=build)

    assert raised.value.status is Status.RUNTIME_ERROR
    assert run(step, specs(), golden, runtime_dir=build).passed


def test_an_output_dir_that_holds_something_else_is_refused_and_left_as_it_is(step: CppKernel, folder: Path) -> None:
    (folder / "mine" / "kernels").mkdir(parents=True)
    (folder / "mine" / "kernels" / "precious.cpp").write_text("// mine")

    result = run(step, specs(), golden, compile_cfg={"output_dir": "mine"})

    assert not result.passed
    assert "holds kernels of something that is no build: name another folder" in str(result.error)
    assert [path.name for path in (folder / "mine").rglob("*")] == ["kernels", "precious.cpp"]


def test_a_build_runs_without_a_compiler_and_without_its_original_source(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = folder / "step.cpp"
    source.write_text(SOURCE)
    kernel = CppKernel(source)
    built = run(kernel, specs(), compile_only=True).work_dir
    source.unlink()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)

    result = run(kernel, specs(), golden, runtime_dir=built)

    assert result.passed
    assert "step.cpp: No such file or directory" in capsys.readouterr().out


def test_a_build_used_from_another_folder_is_the_same_version(
    step: CppKernel, build: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")

    assert run(step, specs(), golden, runtime_dir=build).passed
    assert "warning" not in capsys.readouterr().out


def test_a_program_without_outputs_says_that_nothing_was_validated(
    step: CppKernel, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = folder / "nothing.cpp"
    source.write_text('#include "golden_tasks.h"\nvoid nothing(gt::Tensor<const float, 1> x) {}\n')

    result = run(CppKernel(source), [TensorSpec("x", (4,), torch.float32, 1.0)], lambda values: None)

    assert result.passed
    assert "validation skipped: no spec is an output" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rtol": "1"}, "rtol is '1': give a number"),
        ({"atol": None}, "atol is None: give a number"),
        ({"compare_fn": {"y": 3}}, "compare_fn is {'y': 3}: give a dict of a comparator for each output's name"),
        ({"compare_fn": [print]}, "give a dict of a comparator"),
        ({"equal_nan": "no"}, "equal_nan is 'no': give True or False"),
        ({"guards": "no"}, "guards is 'no': give True or False"),
        ({"guards": True, "repeat": "3"}, "repeat is '3': give a whole number of runs from 1 on"),
        ({"guards": True, "repeat": 0}, "repeat is 0: give a whole number"),
        ({"guards": True, "unguarded": {"written": ""}}, "give the reason for switching each one off"),
        ({"repeat": 3}, "unguarded and repeat are for guards=True"),
        ({"unguarded": {"written": "a reason"}}, "unguarded and repeat are for guards=True"),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_anything_is_made(
    options: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TypeError) as raised:
        run(print, specs(), golden, save_data=True, **options)

    assert words in str(raised.value)
    assert not list(tmp_path.iterdir())
