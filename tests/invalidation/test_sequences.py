"""Edits in any order, done and undone, with doit now and then: what it says is what a run from nothing says.

A state of the project is a set of edits that are done. After each doit the verdicts, what was judged, and the
contracts, policies and programs must be those of a project of the same sources that was never run before.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from edit_batches import ALL, FIXTURES, REPOSITORY, lines_of, locked, run, shared_folder, verdicts_of

SEEDS = range(2)
STEPS = 3  # runs of doit for each seed
Sources = dict[str, str]

KERNELS = (
    "ported.py",
    "ported.cpp",
    "packaged.py",
    "readers.py",
    "reading.py",
    "toolbox/*",
    "tables/*",
    "tables/parts/*",
)
EDITS: dict[str, tuple[str, str, str]] = {
    # edit: (file, old, new); a file that is not there has the text ""
    "tile": ("kernels/ported.py", "TILE = 2", "TILE = 4"),
    "constant of all programs": ("kernels/ported.py", "WEIGHT = 0.25", "WEIGHT = 0.5"),
    "wrong golden": ("kernels/ported.py", '.add_(values["x"] *', '.add_(3 * values["x"] *'),
    "torch program": ("kernels/ported.py", "return part * part", "return part.square()"),
    "seed": ("kernels/ported.py", "golden=golden_ported,", "golden=golden_ported, seed=2,"),
    "loose policy": ("kernels/ported.py", "\n    specs=", "\n    rtol=100.0,\n    specs="),
    "initial value": ("kernels/ported.py", "torch.float32, torch.ones", "torch.float32, torch.rand"),
    "C++ body": ("kernels/ported.cpp", "+ x(r, c)", "+ 1.000001f * x(r, c)"),
    "C++ comment": ("kernels/ported.cpp", "\nvoid", "\n// on both platforms\nvoid"),
    "C++ error": ("kernels/ported.cpp", "void ported(", "void ported(("),
    "package's constant": ("kernels/toolbox/numbers.py", "STEPS = 4", "STEPS = 8 // 2"),
    "package's helper": ("kernels/toolbox/mixing.py", "WEIGHT * x", "1.000001 * x * WEIGHT"),
    "package's error": ("kernels/toolbox/mixing.py", "    return", "    x = MISSING\n    return"),
    "package's comment": ("kernels/toolbox/__init__.py", "from", "# from inside\nfrom"),
    "data file": ("kernels/tables/bias.txt", "1.0", "1.00001"),
    "wrong data file": ("kernels/tables/points.txt", "3.5", "3.5 4.5"),
    "new data file": ("kernels/tables/correction.txt", "", "0.000001"),
    "new file in a listed folder": ("kernels/tables/parts/two.txt", "", "2"),
    "data file of an import": ("kernels/tables/scales.json", '"unused": 1', '"unused": 2'),
}


def _lose(*paths: str) -> Callable[[Path], None]:
    def lose(project: Path) -> None:
        for path in paths:
            place = project / "build_output" / path
            shutil.rmtree(place, ignore_errors=True)
            place.unlink(missing_ok=True)

    return lose


def _spoil(path: str) -> Callable[[Path], None]:
    def spoil(project: Path) -> None:
        place = project / "build_output" / path
        if place.exists():
            place.write_bytes(place.read_bytes()[:-9])

    return spoil


ACCIDENTS: dict[str, Callable[[Path], None]] = {  # after which the next doit must mend all by itself
    "state lost": _lose(".doit.sqlite3", ".memory.json"),
    "snapshots lost": _lose("ported/data", "ported/pending", "readers/data"),
    "builds lost": _lose("ported/cpu/runtime", "packaged/torch/runtime"),
    "runs lost": _lose("ported/cpu/run.json", "readers/torch/replay"),
    "verdicts lost": _lose("ported/torch/verdict.json", "packaged/torch/verdict.json"),
    "a case lost": _lose("packaged"),
    "inspection spoilt": _spoil("readers/inspect.json"),
    "contract spoilt": _spoil("ported/contract.json"),
    "binary spoilt": _spoil("ported/cpu/runtime/kernels/ported.so"),
    "outputs spoilt": _spoil("packaged/torch/replay/out/y.pt"),
    "verdict spoilt": _spoil("ported/cpu/verdict.json"),
}


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return shared_folder(tmp_path_factory, request.config)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_any_edits_doit_says_what_it_says_from_nothing(seed: int, shared: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    original = _originals()
    project, done, story = tmp_path / "project_0", set[str](), list[str]()
    _write(project, original)
    for step in range(STEPS):
        done ^= set(chance.sample(list(EDITS), k=chance.choice((0, 1, 2, 4))))
        accidents = chance.sample(list(ACCIDENTS), k=chance.choice((0, 0, 1, 2)))
        story.append(f"{sorted(done)} {accidents}")
        _write(project, _edited(original, done))
        for accident in accidents:
            ACCIDENTS[accident](project)
        if chance.random() < 0.3:
            project = project.rename(tmp_path / f"project_{step + 1}")

        status, output = run(project, *ALL)

        told = "\n".join([*story, output])
        assert _result(project, status, output) == _from_nothing(_edited(original, done), shared), told
        if status == 0:
            assert lines_of(run(project, *ALL)[1]) == {}, told


def _originals() -> Sources:
    """The files of a small project: three cases, one of them on two platforms."""
    files = [path for pattern in KERNELS for path in (FIXTURES / "kernels").glob(pattern) if path.is_file()]
    return {"dodo.py": (REPOSITORY / "dodo.py").read_text()} | {
        str(path.relative_to(FIXTURES)): path.read_text() for path in files
    }


def _edited(original: Sources, edits: set[str]) -> Sources:
    sources = dict(original)
    for name, (file, old, new) in EDITS.items():
        if name in edits:
            text = sources.get(file, "")
            assert not old or text.count(old) == 1, f"{name}: {file} holds {old!r} {text.count(old)} times"
            sources[file] = text.replace(old, new) if old else new
    return sources


def _write(project: Path, sources: Sources) -> None:
    """Makes the project's files those of `sources`; files that are so already are not touched."""
    for file in {file for file, _, _ in EDITS.values()} - sources.keys():
        (project / file).unlink(missing_ok=True)
    for file, text in sources.items():
        place = project / file
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)


def _from_nothing(sources: Sources, shared: Path) -> dict[str, object]:
    """What a project of these sources says that was never run; remembered by the sources."""
    known = shared / f"nothing_{sha256(json.dumps(sorted(sources.items())).encode()).hexdigest()[:16]}.json"
    with locked(known):
        if not known.exists():
            project = known.with_suffix("")
            _write(project, sources)
            known.write_text(json.dumps(_result(project, *run(project, *ALL))))
            shutil.rmtree(project)
    return dict(json.loads(known.read_text()))


def _result(project: Path, status: int, output: str) -> dict[str, object]:
    """The verdicts, what was judged and how, and what it was made from."""
    verdicts = verdicts_of(output)
    records = {str(path.relative_to(project)): json.loads(path.read_text()) for path in _records(project)}
    judged = {}
    for label, verdict in verdicts.items():
        case, platform = label.split(" on ")
        record = _read(project / "build_output" / case / platform / "verdict.json")
        if record.get("status") == verdict:  # else a stage before it has failed
            judged[label] = {"made from": record["made_from"], "outputs": record["outputs"]}
    return {"status": status, "verdicts": verdicts, "judged": judged, "records": records}


def _records(project: Path) -> Iterator[Path]:
    for name in ("contract.json", "policy.json", "program.json"):
        yield from sorted((project / "build_output").rglob(name))


def _read(record: Path) -> dict[str, object]:
    """A record; nothing if it is not there, or spoilt and not made again."""
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(record.read_text()))
    return {}
