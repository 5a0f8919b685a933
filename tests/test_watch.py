"""What the project's code sees while it runs: files, folders, variables; what it starts and cannot be seen through."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from golden_tasks.fingerprint import outside
from golden_tasks.fingerprint.local import is_local
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
        is_local.cache_clear()  # to tell whose a file is looks at places too, and that must not be watched
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


def test_a_file_outside_the_project_is_recorded_by_its_path_from_there_or_its_whole_path(
    run: Run, tmp_path: Path
) -> None:
    beside = tmp_path.parent / f"{tmp_path.name}_beside" / "data.bin"
    elsewhere = tmp_path.parent.parent / f"{tmp_path.name}_elsewhere.bin"
    beside.parent.mkdir()
    for file in (beside, elsewhere):
        file.write_bytes(b"")

    assert run(f"open({str(beside)!r}).close()").files == {f"../{tmp_path.name}_beside/data.bin"}
    assert run(f"open({str(elsewhere)!r}).close()").files == {str(elsewhere)}


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
        "import torch; torch.save(torch.ones(1), 'new.bin')",
    ],
)
def test_a_file_that_is_only_written_is_not_recorded(run: Run, code: str) -> None:
    watch = run(code)

    assert (watch.files, watch.absent, watch.folders) == (set(), set(), {})


LOOKS = [
    "import os; os.path.exists(P)",
    "import os; os.path.isfile(P)",
    "import os; os.path.isdir(P)",
    "import os; os.access(P, os.R_OK)",
    "import os\ntry: os.stat(P)\nexcept OSError: pass",
    "import os; os.path.lexists(P)",
    "import glob; glob.glob(P)",
    "from os.path import exists; exists(P)",
    "from pathlib import Path; Path(P).exists()",
    "from pathlib import Path; Path(P).is_file()",
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_file_that_is_looked_at_is_recorded_like_one_that_is_read(run: Run, look: str) -> None:
    watch = run(look, {"P": "data.bin"})

    assert (watch.files, watch.absent, watch.folders) == ({"data.bin"}, set(), {})


@pytest.mark.parametrize(
    "look",
    [
        *LOOKS,
        "try: open(P)\nexcept OSError: pass",
        "from pathlib import Path\ntry: Path(P).read_text()\nexcept OSError: pass",
        "import numpy\ntry: numpy.load(P)\nexcept OSError: pass",
        "import torch\ntry: torch.load(P)\nexcept OSError: pass",
        "import os\ntry: os.listdir(P)\nexcept OSError: pass",
        "import glob; glob.glob(P + '/*.bin')",
    ],
)
def test_a_file_that_is_missing_is_recorded_as_absent(run: Run, look: str) -> None:
    watch = run(look, {"P": "absent.bin"})

    assert (watch.files, watch.absent, watch.folders) == (set(), {"absent.bin"}, {})
    assert outside.place_now("absent.bin", "absent") == "absent"
    Path("absent.bin").touch()
    assert outside.place_now("absent.bin", "absent") != "absent"


def test_a_folder_that_is_looked_at_is_recorded_as_one(run: Run) -> None:
    Path("data").mkdir()

    assert run("import os; os.path.exists('data')").folders == {"data": "a folder"}
    assert outside.place_now("data", "a folder") == "a folder"
    Path("data").rmdir()
    assert outside.place_now("data", "a folder") == "absent"


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.listdir('data')",
        "import os; list(os.scandir('data'))",
        "import os; list(os.walk('data'))",
        "import glob; glob.glob('data/*.bin')",
        "import glob; list(glob.iglob('data/*.bin'))",
        "from pathlib import Path; list(Path('data').iterdir())",
        "from pathlib import Path; list(Path('data').glob('*.bin'))",
        "from pathlib import Path; list(Path('data').rglob('*.bin'))",
        "import os; os.chdir('data'); os.listdir(); os.chdir('..')",
    ],
)
def test_a_folder_that_is_listed_is_recorded_by_the_names_in_it(run: Run, code: str) -> None:
    Path("data").mkdir()
    Path("data/a.bin").touch()

    names = run(code).folders["data"]

    Path("data/a.bin").write_text("other content")
    Path("data/__pycache__").mkdir()
    assert outside.place_now("data", names) == names
    Path("data/b.bin").touch()
    assert outside.place_now("data", names) not in (names, "absent")


def test_what_the_projects_code_makes_or_removes_itself_is_not_recorded(run: Run) -> None:
    code = """
import os, shutil, tempfile
if not os.path.exists('cache'): os.mkdir('cache')
with tempfile.TemporaryDirectory(dir='.') as place: os.listdir(place)
if not os.path.exists('made.bin'): open('made.bin', 'w').close()
"""

    watch = run(code)

    assert (watch.files, watch.absent, watch.folders) == (set(), set(), {})


@pytest.mark.parametrize("code", ["Path('data.bin').resolve()", "Path('absent').resolve()", "os.path.realpath('a/b')"])
def test_making_a_path_absolute_is_no_look(run: Run, code: str) -> None:
    watch = run(f"import os\nfrom pathlib import Path\n{code}")

    assert (watch.files, watch.absent, watch.folders) == (set(), set(), {})


def test_a_search_of_the_whole_project_leaves_out_what_tools_write(run: Run) -> None:
    for folder in ("data", ".git/objects", "build_output/matmul", "data/__pycache__"):
        Path(folder).mkdir(parents=True)

    assert run("from pathlib import Path; list(Path('.').rglob('*.bin'))").folders.keys() == {".", "data"}


def test_what_a_library_looks_at_for_the_project_is_recorded_if_it_is_the_projects(run: Run, tmp_path: Path) -> None:
    library = "import os\ndef look(path): return os.path.exists(path)"
    names: dict[str, Any] = {}
    exec(compile(library, "/somewhere/site-packages/library.py", "exec"), names)

    watch = run("look('absent.bin'); look('/absent.bin')", names)

    assert watch.absent == {"absent.bin"}


@pytest.mark.parametrize(
    "code",
    [
        "import runpy; runpy.run_path('table.py')",
        "import importlib.util as u; s = u.spec_from_file_location('t', 'table.py'); "
        "s.loader.exec_module(u.module_from_spec(s))",
    ],
)
def test_a_python_file_that_is_run_without_becoming_a_module_is_recorded(run: Run, code: str) -> None:
    Path("table.py").write_text("N = 1")

    for _ in range(2):  # the second time from a cached .pyc, if there is one
        assert run(code).code == {"table.py"}


def test_a_class_of_the_project_that_a_pickle_names_is_recorded_by_its_file(run: Run, tmp_path: Path) -> None:
    Path("models.py").write_text("class Model: pass")
    sys.path.insert(0, str(tmp_path))
    try:
        watch = run("import pickle, models; pickle.loads(pickle.dumps(models.Model))")
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["models"]

    assert watch.files == {"models.py"}


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import subprocess; subprocess.run(['true'])", "a child process"),
        ("import os; os.system('true')", "a child process"),
        ("import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)", "a child process"),
        ("import os\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)", "a child process"),
        ("import socket; socket.socket(socket.AF_UNIX).connect_ex('absent')", "a connection"),
    ],
)
def test_what_cannot_be_seen_through_is_listed(run: Run, code: str, what: str) -> None:
    assert run(code).unseen == {what}


def test_a_function_of_os_that_is_watched_is_equal_to_itself(run: Run) -> None:
    function, names = os.stat, dict[str, Any]()

    run("import os\nfrom os import stat\nfound = stat in os.supports_follow_symlinks", names)

    assert names["found"] and names["stat"] == function
    assert os.stat is function


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
    read = compile("open('data.bin').close()", "/somewhere/site-packages/library.py", "exec")

    thread = threading.Thread(target=exec, args=(read,))  # with no code of the project or of this file around it
    with watching(Path.cwd()) as watch:
        thread.start()
        thread.join()

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
        "os.environb[b'NAME']",
        "os.getenvb(b'NAME')",
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


@pytest.mark.parametrize(
    "code", ["dict(os.environ)", "os.environ.copy()", "[key for key in os.environ]", "os.environ | {}"]
)
def test_who_reads_all_variables_depends_on_each_and_on_which_there_are(
    run: Run, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setenv("SSH_CLIENT", "1")  # differs between two logins, and says nothing to a golden function

    seen = run(f"import os\n{code}").variables

    assert seen["NAME"] == "value" and "SSH_CLIENT" not in seen
    assert {name: outside.variable_now(name) for name in seen} == seen
    monkeypatch.setenv("SSH_TTY", "1")
    assert outside.variable_now(outside.ALL) == seen[outside.ALL]
    monkeypatch.setenv("ABSENT", "1")
    assert outside.variable_now(outside.ALL) != seen[outside.ALL]


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
    ask = compile("import os; os.environ['NAME']", "/somewhere/site-packages/library.py", "exec")

    with watching(Path.cwd()) as watch:
        exec(ask)

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
