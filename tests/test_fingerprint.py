"""What an edit changes in a fingerprint: every part that the golden function reaches, and nothing else."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import subprocess
import sys
import textwrap
import types
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from fingerprint_rows import CHANGES, CONSERVATIVE, KEEPS, NUMPY_CHANGES, Files
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.fingerprint import Fingerprint, fingerprint, normal_form
from golden_tasks.fingerprint.local import is_local


@contextmanager
def imported(folder: Path, name: str) -> Iterator[Any]:
    """A module of a project, imported afresh and forgotten with all its siblings at the end."""
    before = dict(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        for other, module in list(sys.modules.items()):
            if module is not before.get(other) and lies_in(module, folder):
                del sys.modules[other]
                sys.modules.update({other: before[other]} if other in before else {})


def lies_in(module: Any, folder: Path) -> bool:
    if not isinstance(module, types.ModuleType):
        return type(module).__module__ == "lazy"  # a row's object in a module's place
    places = [module.__file__] if getattr(module, "__file__", None) else getattr(module, "__path__", [])
    return any(Path(place).is_relative_to(folder) for place in places)


def write(folder: Path, files: str | Files, side: int) -> Path:
    """Writes a row's project, with the edit (`side` 1) or without (0)."""
    for name, text in ({"kernel.py": files} if isinstance(files, str) else files).items():
        chosen = re.sub("«([^|]*)\\|([^»]*)»", lambda found: found[side + 1], textwrap.dedent(text))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(chosen + "\n")
    return folder


def fingerprint_in(folder: Path) -> Fingerprint:
    with imported(folder, "kernel") as module:
        return fingerprint(module.golden, "golden", folder)


def before_and_after(folder: Path, files: str | Files) -> tuple[Fingerprint, Fingerprint]:
    first, second = (fingerprint_in(write(folder / str(side), files, side)) for side in (0, 1))
    return first, second


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in CHANGES.items()])
def test_an_edit_of_what_the_golden_reaches_is_seen_exactly(tmp_path: Path, files: str | Files) -> None:
    before, after = before_and_after(tmp_path, files)

    assert before.parts != after.parts
    assert before.conservative == after.conservative == []


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in NUMPY_CHANGES.items()])
def test_an_edit_of_a_numpy_value_is_seen_exactly(tmp_path: Path, files: str | Files) -> None:
    pytest.importorskip("numpy")

    before, after = before_and_after(tmp_path, files)

    assert before.parts != after.parts
    assert before.conservative == after.conservative == []


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in KEEPS.items()])
def test_an_edit_that_changes_no_behaviour_changes_no_part(tmp_path: Path, files: str | Files) -> None:
    before, after = before_and_after(tmp_path, files)

    assert (before.parts, before.conservative) == (after.parts, after.conservative)


@pytest.fixture
def usual_depth() -> Iterator[None]:
    """The recursion limit that Python starts with, which libraries raise."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("usual_depth")
@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in CONSERVATIVE.items()])
def test_what_cannot_be_resolved_counts_as_its_whole_file_and_is_listed(tmp_path: Path, files: str | Files) -> None:
    before, after = before_and_after(tmp_path, files)

    assert before.parts != after.parts
    assert before.conservative
    assert any(part.startswith("all of ") for part in before.parts)


def test_parts_carry_names_and_values_that_a_reader_knows(tmp_path: Path) -> None:
    files = {
        "kernel.py": "import torch\nimport helpers as h\nfrom helpers import scale\n"
        "class Config:\n    rows = 32 * 2\n"
        "def golden(v, eps=1e-5): return scale(v) + h.EPS + Config.rows + torch.pi",
        "helpers.py": "import math\nEPS, FACTOR = 0.5, [1, 'a']\ndef scale(v): return math.sin(v) * FACTOR",
    }

    found = fingerprint_in(write(tmp_path, files, 0))

    digests = {part for part, text in found.parts.items() if text.startswith("blake3:")}
    assert digests == {"golden", "scale"}
    assert found.files == {
        **dict.fromkeys(["golden", "golden default eps", "h", "Config.rows", "torch"], "kernel.py"),
        **dict.fromkeys(["scale", "EPS", "math", "FACTOR"], "helpers.py"),
    }
    assert {part: text for part, text in found.parts.items() if part not in digests} == {
        "golden default eps": "1e-05",
        "h": "module helpers",
        "EPS": "0.5",
        "Config.rows": "64",
        "torch": "module torch",
        "math": "module math",
        "FACTOR": "[1, 'a']",
    }


def test_one_edit_changes_the_part_that_bears_its_name(tmp_path: Path) -> None:
    files = {
        "kernel.py": "from helpers import f, EPS\ndef golden(v): return f(v) + EPS",
        "helpers.py": "EPS = 1\nN = «2|3»\ndef f(v): return v + N",
    }

    before, after = before_and_after(tmp_path, files)

    assert {part for part in before.parts if before.parts[part] != after.parts[part]} == {"N"}
    assert (before.parts["N"], after.parts["N"]) == ("2", "3")


VALUES = {  # what is written -> its text
    "1": "1",
    "True": "True",
    "1.0": "1.0",
    "-0.0": "-0.0",
    "math.inf": "float('inf')",
    "'1'": "'1'",
    "b'1'": "b'1'",
    "None": "None",
    "[1, 'a', [2]]": "[1, 'a', [2]]",
    "(1,)": "(1,)",
    "()": "()",
    "{3, 1}": "{1, 3}",
    "set()": "set()",
    "frozenset({1})": "frozenset({1})",
    "{'a': 1, 2: (3, 4)}": "{'a': 1, 2: (3, 4)}",
    "slice(1, None)": "slice(1, None, None)",
    "Mode.FAST": "Mode.FAST",
    "{Mode.FAST: 1}": "{Mode.FAST: 1}",
    "Flags.A | Flags.B": "Flags(3)",
    "Config(1)": "Config(eps)",
    "[helper]": "[helper]",
    "int": "int",
    "len": "len",
    "list[int]": "list[int]",
    "math.sin": "math.sin",
    "math": "module math",
    "Path('a')": "PosixPath('a')",
    "torch.float32": "torch.float32",
    "torch.Size([1, 2])": "torch.Size([1, 2])",
    "torch.tensor([1.0, 2.0])": "torch.tensor([1.0, 2.0], dtype=torch.float32)",
    "numpy.float32(0.5)": "float32(0.5)",
}


@pytest.mark.parametrize(("written", "text"), VALUES.items())
def test_a_value_is_shown_as_python_writes_it(tmp_path: Path, written: str, text: str) -> None:
    module = f"""
import enum, math, numpy, torch
from collections.abc import Iterator
from pathlib import Path
class Mode(enum.Enum):
    FAST = 2
class Flags(enum.Flag):
    A, B = 1, 2
class Config:
    def __init__(self, eps): self.eps = eps
def helper(v): return v
VALUE = {written}
def golden(v): return VALUE
"""

    assert fingerprint_in(write(tmp_path, module, 0)).parts["VALUE"] == text


def test_an_enum_member_that_changes_is_named_with_its_values(tmp_path: Path) -> None:
    text = """
        import enum
        class Mode(enum.Enum):
            SLOW, FAST = 1, «2|3»
        MODE = Mode.FAST
        def golden(v): return MODE
    """

    before, after = before_and_after(tmp_path, text)

    changed = {part: (old, after.parts[part]) for part, old in before.parts.items() if old != after.parts[part]}
    assert changed == {"Mode.FAST": ("2", "3")}


def test_a_part_is_found_in_the_file_that_defines_it(tmp_path: Path) -> None:
    files = {
        "kernel.py": "from near import EPS as eps, Config as C, f\nimport pkg\n"
        "def golden(v): return f(v) + eps + C.rows + pkg.LIMIT + pkg.m.g(v)",
        "near.py": "from far import *\nfrom far import Config",
        "far.py": "EPS = 1\nclass Config:\n    rows = 2\ndef f(v): return v",
        "pkg/__init__.py": "from .m import LIMIT",
        "pkg/m.py": "LIMIT = 3\ndef g(v): return v",
    }

    found = fingerprint_in(write(tmp_path, files, 0))

    names = {"golden": "kernel.py", "EPS": "far.py", "Config.rows": "far.py", "f": "far.py"}
    assert found.files.items() >= {**names, "LIMIT": "pkg/m.py", "g": "pkg/m.py"}.items()


@pytest.mark.parametrize(("place", "shown"), [("project/../lib", "../lib/helpers.py"), ("../lib", "{}/helpers.py")])
def test_a_helper_outside_the_projects_folder_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, shown: str
) -> None:
    project, library = tmp_path / "project", (tmp_path / place).resolve()
    helpers = {f"{library}/helpers.py": "N = «1|2»\ndef f(v): return v + N\ndef other(v): return «1|2»"}
    monkeypatch.syspath_prepend(library)
    found = []
    for side in (0, 1):
        write(project, {"kernel.py": "import helpers\ndef golden(v): return helpers.f(v)", **helpers}, side)
        found.append(fingerprint_in(project))
        del sys.modules["helpers"]

    before, after = found

    assert {part for part in before.parts if before.parts[part] != after.parts[part]} == {"N"}
    assert before.files["N"] == shown.format(library)
    assert before.conservative == []


def test_a_helper_in_an_archive_counts_as_the_whole_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path / "lib.zip")
    found = []
    for n in (1, 2):
        with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
            archive.writestr("helpers_in_zip.py", f"def f(v): return v + {n}")
        found.append(fingerprint_in(write(tmp_path, "from helpers_in_zip import f\ndef golden(v): return f(v)", 0)))

    before, after = found

    assert before.parts["all of lib.zip"] != after.parts["all of lib.zip"]
    assert before.conservative


@pytest.mark.parametrize("text", ["N = 1", "def golden(v): return v", "class K:\n    N = 1"])
def test_an_unresolved_value_without_a_module_counts_as_all_modules_of_the_project(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"kernel.py": text, "helpers.py": "import kernel"}, 0)

    with imported(tmp_path, "helpers"):
        found = fingerprint((i for i in ()), "initial value", tmp_path)

    assert found.conservative == ["initial value (builtins.generator)"]
    assert {"all of kernel.py", "all of helpers.py"} <= found.parts.keys()


def test_what_torch_compile_is_given_is_seen_and_nothing_of_its_own(tmp_path: Path) -> None:
    text = """
        import torch
        M = torch.compile(torch.nn.LeakyReLU(«0.1|0.2»))
        @torch.compile
        def golden(v): return M(v)
    """

    before, after = before_and_after(tmp_path, text)

    assert {part for part in before.parts if before.parts[part] != after.parts[part]} == {
        "M.__wrapped__.negative_slope"
    }


def test_a_library_is_named_and_not_looked_into(tmp_path: Path) -> None:
    text = "from torch.nn.functional import softmax, max_pool2d\ndef golden(v): return softmax(max_pool2d(v, 2))"

    found = fingerprint_in(write(tmp_path, text, 0))

    assert found.parts.keys() == {"golden", "softmax", "max_pool2d"}
    assert found.parts["softmax"] == "torch.nn.functional.softmax"


def test_parts_are_the_same_in_every_process_and_folder(tmp_path: Path) -> None:
    processes = []
    for seed in ("1", "2"):
        command = [sys.executable, str(Path(__file__).resolve()), str(tmp_path / seed)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE))

    here, there = (json.loads(process.communicate()[0]) for process in processes)

    assert len(here) == len(CHANGES) + len(KEEPS) + len(CONSERVATIVE)
    assert {row: (found, there[row]) for row, found in here.items() if found != there[row]} == {}


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("kernel.py", True),
        ("pkg/m.py", True),
        ("linked.py", True),
        (".venv/lib/python3.11/site-packages/torch/nn.py", False),
        ("../other/kernel.py", True),
        ("/somewhere/else/kernel.py", True),
        (torch.__file__, False),
        (json.__file__, False),
        (normal_form.__code__.co_filename, False),
        ("<string>", False),
        ("", False),
    ],
)
def test_the_projects_own_files_are_those_that_are_not_installed(tmp_path: Path, file: str, own: bool) -> None:
    (tmp_path / "linked.py").symlink_to(tmp_path.parent / "elsewhere.py")

    assert is_local(file if file in ("", "<string>") else str(tmp_path / file)) is own


def test_a_project_may_lie_below_the_folder_that_python_is_installed_in() -> None:
    assert is_local(str(Path(sys.base_prefix) / "src" / "app" / "kernel.py"))


# Plain values


def scalars() -> st.SearchStrategy[Any]:
    numbers = st.sampled_from([0, 1, 2, -1, True, False, 0.0, -0.0, 1.0, math.nan, math.inf, 1j, 0j, 2**70])
    return numbers | st.sampled_from(["", "a", "b'", '"', "1", "é", b"", b"a", None, ..., range(2), range(0)])


def hashables() -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars(), lambda inner: st.lists(inner, max_size=2).map(tuple) | st.frozensets(inner), max_leaves=4
    )


def values() -> st.SearchStrategy[Any]:
    def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner, max_size=3)
        return (
            lists
            | lists.map(tuple)
            | st.dictionaries(hashables(), inner, max_size=3)
            | st.sets(hashables(), max_size=3)
        )

    return st.recursive(hashables(), containers, max_leaves=8)


def meaning(value: Any) -> Any:
    """What a value is to the code that reads it: its type, its content, and a dict's order."""
    kind = type(value)
    if isinstance(value, dict):
        return kind, tuple((meaning(key), meaning(item)) for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return kind, frozenset(meaning(item) for item in value)
    if isinstance(value, (list, tuple)):
        return kind, tuple(meaning(item) for item in value)
    return kind, repr(value)


def rebuilt(value: Any) -> Any:
    """An equal value that shares no object with it and was put together in another order where there is none."""
    if isinstance(value, dict):
        return {rebuilt(key): rebuilt(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return type(value)(rebuilt(item) for item in reversed(list(value)))
    if isinstance(value, (list, tuple)):
        return type(value)(rebuilt(item) for item in value)
    return value


def parts_of(value: object) -> dict[str, str]:
    found = fingerprint(value, "value", Path("/nowhere"))
    assert found.conservative == []
    return found.parts


@settings(max_examples=300, deadline=None)
@given(values(), values())
def test_plain_values_have_the_same_parts_exactly_if_they_are_equal(one: Any, other: Any) -> None:
    assert parts_of(one) == parts_of(rebuilt(one))
    assert (parts_of(one) == parts_of(other)) == (meaning(one) == meaning(other))


def fingerprints_of_all_rows(folder: Path) -> dict[str, list[Any]]:
    found = {}
    for i, (name, files) in enumerate({**CHANGES, **KEEPS, **CONSERVATIVE}.items()):
        one = fingerprint_in(write(folder / str(i), files, 0))
        found[name] = [one.parts, one.conservative]
    return found


if __name__ == "__main__":
    print(json.dumps(fingerprints_of_all_rows(Path(sys.argv[1]))))
