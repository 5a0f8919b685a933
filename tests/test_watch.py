"""What the project's code reads while it runs: files, directly or through a library, and environment variables."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from golden_tasks.fingerprint.watch import Watch, watching

Run = Callable[..., Watch]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs code as a file of a project in the current folder, with `data.bin` and `NAME` to read; what it read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NAME", "value")
    monkeypatch.setenv("ABSENT", "")
    monkeypatch.delenv("ABSENT")  # and so it is taken away again if the code sets it
    Path("data.bin").write_bytes(b"[1]")

    def run(code: str, names: dict[str, Any] | None = None, **options: Any) -> Watch:
        compiled = compile(code, str(tmp_path / "kernel.py"), "exec")
        with watching(tmp_path, **options) as watch:
            exec(compiled, names if names is not None else {})
        return watch

    return run


@pytest.mark.parametrize(
    "code",
    [
        "open('data.bin', 'rb').close()",
        "open(b'data.bin').close()",
        "open('data.bin', 'r+b').close()",
        "open('data.bin', 'a+').close()",
        "import os; open(os.path.abspath('data.bin')).close()",
        "import os; os.close(os.open('data.bin', os.O_RDONLY))",
        "from pathlib import Path; Path('data.bin').read_bytes()",
        "from pathlib import Path; Path('data.bin').read_text()",
        "import json; json.load(open('data.bin'))",
        "import mmap; f = open('data.bin', 'rb'); mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)",
        "[open(name).close() for name in ['data.bin']]",
        "(lambda: open('data.bin').close())()",
        "import threading; t = threading.Thread(target=lambda: open('data.bin').close()); t.start(); t.join()",
    ],
)
def test_a_file_that_the_project_opens_is_recorded_by_its_path_in_the_project(run: Run, code: str) -> None:
    assert run(code).files == {"data.bin"}


def test_a_file_that_a_library_opens_for_the_project_is_recorded(run: Run) -> None:
    torch.save(torch.ones(1), "data.bin")

    assert run("import torch; torch.load('data.bin')").files == {"data.bin"}
    assert run("import torch; torch.load('data.bin', mmap=True)").files == {"data.bin"}


def test_a_file_that_numpy_opens_for_the_project_is_recorded(run: Run) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save("array.npy", numpy.ones(1))

    assert run("import numpy; numpy.load('array.npy')").files == {"array.npy"}
    assert run("import numpy; numpy.load('array.npy', mmap_mode='r')").files == {"array.npy"}
    assert run("import numpy; numpy.fromfile('data.bin', 'u1')").files == {"data.bin"}


def test_a_library_that_the_project_loads_by_ctypes_is_recorded(run: Run) -> None:
    shutil.copy(sys.modules["_ctypes"].__file__ or "", "lib.so")

    assert run("import ctypes; ctypes.CDLL('./lib.so')").files == {"lib.so"}


def test_a_python_file_that_the_project_reads_as_data_is_recorded(run: Run) -> None:
    Path("table.py").write_text("N = 1")

    assert run("from pathlib import Path; exec(Path('table.py').read_text())").files == {"table.py"}


def test_a_file_outside_the_project_is_recorded_by_its_whole_path(
    run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "data.bin"
    outside.write_bytes(b"")

    assert run(f"open({str(outside)!r}).close()").files == {str(outside)}


def test_a_file_is_recorded_by_its_path_in_the_project_even_through_a_link(run: Run, tmp_path: Path) -> None:
    link = tmp_path.parent / f"{tmp_path.name}_link"
    link.symlink_to(tmp_path)

    assert run(f"open({str(link / 'data.bin')!r}).close()").files == {"data.bin"}


@pytest.mark.parametrize(
    "code",
    [
        "open('new.bin', 'wb').close()",
        "open('data.bin', 'ab').close()",
        "open('new.bin', 'x').close()",
        "open('new.bin', 'w+').close()",
        "open('new.bin', 'w').close(); open('new.bin').close()",
        "import tempfile; tempfile.TemporaryFile().close()",
        "from pathlib import Path; Path('new.bin').write_text('a')",
        "import os; os.stat('data.bin'); os.listdir('.')",
        "import torch; torch.save(torch.ones(1), 'new.bin')",
    ],
)
def test_a_file_that_is_only_written_or_looked_at_is_not_recorded(run: Run, code: str) -> None:
    assert run(code).files == set()


@pytest.mark.parametrize(
    "code",
    [
        "try: open('absent.bin')\nexcept OSError: pass",
        "try: open('.')\nexcept OSError: pass",
        "open('/proc/self/status').close(); open('/dev/null').close()",
        "import ctypes; ctypes.CDLL(None)",
        "import this_is_imported",
        "import json.tool, colorsys, importlib.metadata; importlib.metadata.version('torch')",
        "import inspect, json; inspect.getsource(json)",
    ],
)
def test_what_is_no_file_of_data_is_not_recorded(run: Run, tmp_path: Path, code: str) -> None:
    (tmp_path / "this_is_imported.py").write_text("")
    sys.path.insert(0, str(tmp_path))
    try:
        assert run(code).files == set()
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("this_is_imported", None)


def test_a_file_that_others_read_is_not_recorded(run: Run) -> None:
    def read() -> None:
        json.loads(Path("data.bin").read_text())

    with watching(Path.cwd()) as watch:
        read()  # this file is no part of the project

    assert watch.files == set()


@pytest.mark.parametrize(
    "code",
    [
        "os.environ['NAME']",
        "os.environ.get('NAME')",
        "os.environ.get('NAME', 'other')",
        "os.getenv('NAME')",
        "'NAME' in os.environ",
        "os.environ.setdefault('NAME', 'other')",
        "os.environ.pop('NAME')",
        "os.path.expandvars('$NAME')",
        "dict(os.environ)",
        "os.environ.copy()",
        "[key for key in os.environ]",
    ],
)
def test_a_variable_that_the_project_asks_for_is_recorded_with_its_value(run: Run, code: str) -> None:
    assert run(f"import os\n{code}").variables.get("NAME") == "value"


@pytest.mark.parametrize(
    "code",
    [
        "os.environ.get('ABSENT')",
        "os.getenv('ABSENT', 'default')",
        "'ABSENT' in os.environ",
        "os.environ.setdefault('ABSENT', 'default')",
        "try: os.environ['ABSENT']\nexcept KeyError: pass",
    ],
)
def test_a_variable_that_is_not_set_is_recorded_as_such(run: Run, code: str) -> None:
    assert run(f"import os\n{code}").variables == {"ABSENT": None}


def test_a_variable_is_recorded_as_it_was_before_the_project_set_it(run: Run) -> None:
    changed = "import os\nos.environ.setdefault('ABSENT', '1'); os.environ['NAME'] = '2'\n"

    assert run(changed + "os.environ['ABSENT'], os.environ['NAME']").variables == {"ABSENT": None, "NAME": "value"}


def test_a_variable_that_an_import_set_is_recorded_as_the_process_got_it(run: Run) -> None:
    given = dict(os.environ)
    os.environ["ABSENT"] = "set while the kernel's file was imported"

    watch = run("import os\nos.environ['ABSENT']", environment=given)

    assert watch.variables == {"ABSENT": None}


@pytest.mark.parametrize(
    "code", ["import subprocess; subprocess.run(['true'])", "import tempfile; tempfile.gettempdir()", "import locale"]
)
def test_a_variable_that_a_library_asks_for_is_not_recorded(run: Run, code: str) -> None:
    assert run(code).variables == {}


def test_a_variable_that_others_ask_for_is_not_recorded(run: Run) -> None:
    with watching(Path.cwd()) as watch:
        assert os.environ["NAME"] == "value"

    assert watch.variables == {}


def test_the_environment_works_as_ever_while_it_is_watched(run: Run) -> None:
    before, kind = dict(os.environ), type(os.environ)
    seen: dict[str, Any] = {}

    run(
        "import os\n"
        "os.environ['NEW'] = '1'\n"
        "del os.environ['NEW']\n"
        "try: os.environ['ABSENT']\n"
        "except KeyError as error: missing = error.args\n"
        "try: os.environ[1]\n"
        "except TypeError as error: wrong = str(error)\n"
        "size, known, whole = len(os.environ), 'NAME' in os.environ, dict(os.environ)\n"
        "is_mapping = isinstance(os.environ, kind)\n"
        "os.environ |= {'NEW': '2'}\n"
        "child = os.popen('echo $NEW').read()\n"
        "os.environ.pop('NEW')",
        seen := {"kind": kind},
    )

    assert (seen["missing"], seen["size"], seen["known"], seen["child"]) == (("ABSENT",), len(before), True, "2\n")
    assert "str expected" in seen["wrong"]
    assert seen["whole"] == before == dict(os.environ)
    assert seen["is_mapping"]
    assert type(os.environ) is kind


def test_nothing_is_recorded_outside_the_block(run: Run) -> None:
    code = "import os\ndef read(): open('data.bin').close(); os.environ['NAME']"
    names: dict[str, Any] = {}
    watch = run(code, names)

    names["read"]()

    assert (watch.files, watch.variables, watch.active) == (set(), {}, False)


def test_the_block_ends_when_the_project_raises(run: Run) -> None:
    kind = type(os.environ)

    with pytest.raises(ZeroDivisionError):
        run("1 / 0")

    assert type(os.environ) is kind


def test_a_file_object_of_a_descriptor_is_no_file_by_name(run: Run) -> None:
    descriptor = os.open("data.bin", os.O_RDONLY)

    assert run(f"open({descriptor}).close()").files == set()
