"""Bad input, message by message, through the real doit and the real scripts.

Each message names the thing, says how to mend it, shows no traceback of the harness, and leaves every file as it was.
Lower down tests hold more of the same: names and files that cannot be (`test_discovery`), specs (`test_specs`),
parameters and tiles (`test_cpu_messages`), snapshots and builds that do not fit (`test_run`), golden functions that
fail (`test_failures`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Project, stages_run

CASE = '''\
"""y = 2 * x."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE = 4


def build_specs():
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.randn),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_twice(values):
    values["y"][:] = 2 * values["x"]


case = Case(
    "{name}",
    specs=build_specs,
    golden=golden_twice,
    programs={{"cpu": CppKernel("twice.cpp")}},
    tiles={{"SIZE": SIZE}},
)

if __name__ == "__main__":
    case.main()
'''
KERNEL = """\
#include "golden_tasks.h"

void twice(gt::Tensor<const float, 1> x, gt::Tensor<float, 1> y) {
    for (int i = 0; i < SIZE; ++i) y(i) = 2 * x(i);
}
"""
X = 'TensorSpec("x", (SIZE,), torch.float32, torch.randn)'
BOTH = f'[\n        {X},\n        TensorSpec("y", (SIZE,), torch.float32, is_output=True),\n    ]'
GOLDEN = 'values["y"][:] = 2 * values["x"]'
PROGRAMS = 'programs={"cpu": CppKernel("twice.cpp")}'
TILES = 'tiles={"SIZE": SIZE}'
IMPORT = "import torch\n"
NO_COMPILER = {"CXX": "", "PATH": "/nowhere"}


class Twice(Project):
    """A project of small cases, all with one kernel; no compiler but the host's, and none in Python packages."""

    def __init__(self, folder: Path, *names: str) -> None:
        super().__init__(folder, ())
        self.path("kernels/twice.cpp").write_text(KERNEL)
        for name in names:
            self.path(f"kernels/{name}.py").write_text(CASE.format(name=name))
        self.no_packages = folder.parent / f"{folder.name}_no_packages"
        self.no_packages.mkdir()
        (self.no_packages / "ziglang.py").touch()

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        packages = [str(self.no_packages), *filter(None, [os.environ.get("PYTHONPATH")])]
        overrides = {"GOLDEN_DATA": "", "GOLDEN_RUNTIME_DIR": "", "GOLDEN_SAVE_DATA": ""}
        return super().run(*command, env={"PYTHONPATH": os.pathsep.join(packages), **overrides, **(env or {})})

    def contents(self, below: str = ".") -> dict[str, bytes | None]:
        """Every file with its bytes, and every folder; without logs, locks and doit's state."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(self.path(below).rglob("*"))
            if not path.name.startswith(".") and path.suffix != ".log"
        }


class Done(NamedTuple):
    """A script that has ended."""

    returncode: int
    said: list[str]


IN_FORKS = """\
import json, os, runpy, sys, traceback
import golden_tasks.arguments, golden_tasks.harness

for (file, *arguments), environment, output in json.loads(sys.argv[1]):
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        continue
    for stream in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.environ.update(environment)
    sys.argv[:] = [file, *arguments]
    sys.path[0] = os.path.dirname(file)
    status = 0
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        sys.stdout.flush()
        os._exit(status)
"""


def run_scripts(project: Twice, calls: Sequence[tuple[str, Mapping[str, str]]]) -> list[Done]:
    """Runs command lines of scripts, each in a fork of one process that has imported torch, as Python runs a file."""
    outputs = [project.counters / f"script_{number}" for number in range(len(calls))]
    orders = [(shlex.split(call), env, str(out)) for (call, env), out in zip(calls, outputs, strict=True)]
    done = project.run(sys.executable, "-c", IN_FORKS, json.dumps(orders))
    assert done.returncode == 0, done.stdout
    codes = [int(line) for line in done.stdout.split()]
    return [Done(code, out.read_text().splitlines()) for code, out in zip(codes, outputs, strict=True)]


def in_mounts(commands: str) -> list[str]:
    """A shell script in a mount namespace of its own, so that no mount outlives it."""
    for options in ("-m", "-rm"):
        shell = ["unshare", options, "--propagation", "private", "sh", "-ec"]
        try:
            tried = subprocess.run([*shell, "mount -t tmpfs tmpfs /mnt"], capture_output=True)
        except FileNotFoundError:
            pytest.skip("unshare is not installed: nothing can be mounted for a test")
        if tried.returncode == 0:
            return [*shell, commands]
    pytest.skip(f"nothing can be mounted here: {tried.stderr.decode().strip()}")


READ_ONLY = "mount --bind build_output build_output\nmount -o remount,ro,bind build_output\n"


def small_disk(size: str) -> str:
    """The commands that put `build_output` on a disk of `size`, with what is in it."""
    return (
        f"mkdir ../disk\nmount -t tmpfs -o size={size} tmpfs ../disk\n"
        "cp -a build_output/. ../disk\nmount --bind ../disk build_output\n"
    )


def then_keep(command: str) -> str:
    """Runs a command and keeps what is on the small disk then in `build_output` itself."""
    return f"{command} || status=$?\numount build_output\nrm -rf build_output\ncp -a ../disk build_output\nexit $status"


PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def project(tmp_path: Path) -> Twice:
    return Twice(tmp_path / "project", "twice")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    """A project whose case has passed: shared by tests that change nothing."""
    project = Twice(tmp_path_factory.mktemp("replayed") / "project", "twice")
    done = project.doit()
    assert done.returncode == 0, done.stdout
    return project


# names of tasks


@pytest.fixture(scope="module")
def two_cases(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    project = Twice(tmp_path_factory.mktemp("two_cases") / "project", "matmul", "rope")
    project.edit("kernels/rope.py", PROGRAMS, 'programs={"cpu": None, "torch": None}')
    return project


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("zzz", "there is no task 'zzz'; `doit list` shows all tasks"),
        (
            "replay:matmul2",
            "there is no task 'replay:matmul2'; did you mean replay:matmul? `doit list` shows all tasks",
        ),
        ("matmul", "there is no task 'matmul'; did you mean replay:matmul? `doit list` shows all tasks"),
        ("Matmul", "there is no task 'Matmul'; did you mean replay:matmul? `doit list` shows all tasks"),
        (
            "replay:matmul rope",
            "there is no task 'rope'; did you mean replay:rope or replay:rope@torch? `doit list` shows all tasks",
        ),
        (
            "replay:rope@gpu",
            "there is no task 'replay:rope@gpu'; did you mean replay:rope or replay:rope@torch? "
            "`doit list` shows all tasks",
        ),
        (
            "compile:all@gpu",
            "there is no task 'compile:all@gpu'; did you mean compile:all or compile:all@cpu or compile:all@torch? "
            "`doit list` shows all tasks",
        ),
        (
            "-n2 repaly:rope",
            "there is no task 'repaly:rope'; did you mean replay:rope or replay:rope@torch or compile:rope? "
            "`doit list` shows all tasks",
        ),
        ("replay:z*", "no task matches the pattern 'replay:z*'; `doit list` shows all tasks"),
        ("list nope", "'nope' is not a task."),
        ("forget nope", "'nope' is not a task."),
    ],
)
def test_a_name_that_no_task_has_runs_nothing_and_offers_the_nearest(
    two_cases: Twice, arguments: str, message: str
) -> None:
    two_cases.doit("list")
    before = two_cases.contents()

    done = two_cases.doit(*shlex.split(arguments))

    assert (done.returncode, done.stdout) == (3, f"ERROR: {message}\n")
    assert two_cases.contents() == before


# kernel files that cannot be read

MEND = "leave out @ = : * ? [ ] / and blanks, and begin with no . or -"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SIZE = 4", "SIZE = = 4", "kernels/twice.py:7: invalid syntax; mend the file, no case in it can be read"),
        ('"twice",', '"two words",', f"kernels/twice.py:21: 'two words' cannot name a case: {MEND}"),
        ('"twice",', '"../twice",', f"kernels/twice.py:21: '../twice' cannot name a case: {MEND}"),
        ('"twice",', '"",', 'kernels/twice.py:21: a case needs a name, such as Case("matmul", ...)'),
        (
            '"twice",',
            '"all",',
            "kernels/twice.py:21: 'all' names the group of all cases: name the case otherwise",
        ),
        (
            '"twice",',
            "NAME,",
            "kernels/twice.py:21: write the case's name as a literal text: doit reads it without importing the file",
        ),
        (
            '"twice",',
            '"other",',
            "two cases are named 'other': kernels/other.py:21 and kernels/twice.py:21; rename one of them",
        ),
        (
            PROGRAMS,
            "programs=PROGRAMS",
            "kernels/twice.py:21: write programs of case 'twice' as a dict with a literal platform for each, such as "
            '{"cpu": CppKernel("kernel.cpp")}',
        ),
    ],
    ids=["syntax", "blank", "path", "empty", "all", "no literal", "two of one name", "programs"],
)
def test_a_kernel_file_that_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    project = Twice(tmp_path / "project", "twice", "other")
    project.edit("kernels/twice.py", old, new)
    before = project.contents("kernels")

    done = project.doit()

    assert (done.returncode, done.stdout) == (3, f"ERROR: {message}\n")
    assert project.contents("kernels") == before and project.contents("build_output") == {}


def test_a_folder_without_cases_says_where_they_are_looked_for(project: Twice) -> None:
    file = project.path("kernels/twice.py")

    file.write_text("case = 1\n")
    without_case = project.doit()
    file.unlink()
    without_file = project.doit()

    where = f"kernels/*.py below {project.folder}"
    said = "Project(kernels=...) in the dodo.py says where kernel files are\n"
    assert (without_case.returncode, without_file.returncode) == (3, 3)
    assert without_case.stdout == f"ERROR: no case is declared in {where}: write Case(...) in one; {said}"
    assert without_file.stdout == f"ERROR: there is no file {where}; {said}"


def test_a_file_name_that_cannot_be_printed_is_refused(project: Twice) -> None:
    try:
        project.path("kernels/twice.py").rename(os.fsdecode(bytes(project.path("kernels")) + b"/\xff.py"))
    except OSError as error:
        pytest.skip(f"the file system refuses the name: {error}")

    done = project.doit()

    message = "'kernels/\\udcff.py': a kernel file needs a name that can be printed: rename it"
    assert (done.returncode, done.stdout) == (3, f"ERROR: {message}\n")


def test_doit_in_another_folder_than_the_projects_says_how_to_name_its_file(replayed: Twice) -> None:
    before = replayed.contents()
    inside = f"cd kernels && {PYTHON} -m doit"

    without = replayed.run("sh", "-c", inside)
    named = replayed.run("sh", "-c", f"{inside} -f ../dodo.py")
    sought = replayed.run("sh", "-c", f"{inside} -k")

    assert without.returncode == 3
    assert without.stdout.split("\n")[:2] == [
        f"ERROR: Could not find dodo file '{replayed.path('kernels/dodo.py')}'.",
        "Please use '-f' to specify file name.",
    ]
    for done in (named, sought):
        assert done.returncode == 0, done.stdout
        assert "1 case: 1 passed; 0 replayed, 1 current" in done.stdout
    assert replayed.contents() == before


# cases that cannot be: all in one project, first replayed as good cases, then edited, then run again


class Bad(NamedTuple):
    """An edit that makes a case impossible, and what doit says in the stage that finds it."""

    old: str
    new: str
    stage: str
    says: str
    shows: str = ""  # the place, below


def option(text: str, says: str) -> Bad:
    return Bad(
        TILES, f"{TILES}, {text}", "inspect", f"CASE_ERROR  {{file}}:21: TypeError: case '{{name}}': {says}", "line 21"
    )


def initial(value: str, says: str, stage: str = "golden", dtype: str = "float32") -> Bad:
    return Bad(X, f'TensorSpec("x", (SIZE,), torch.{dtype}, {value})', stage, says)


def named(name: str, says: str) -> Bad:
    return Bad('TensorSpec("x"', f"TensorSpec({name}", "inspect", f"CASE_ERROR  case '{{name}}': {says}")


def specs(value: str, says: str) -> Bad:
    return Bad(BOTH, value, "inspect", f"CASE_ERROR  case '{{name}}': {says}")


def tile(value: str, says: str) -> Bad:
    return Bad('"SIZE": SIZE', value, "inspect", f"COMPILE_ERROR  {says}")


A_MACRO = "a C++ macro takes a finite number, a bool or a text of one line"
NO_FILE = "cannot name an argument, since it names a file too"
A_LIST = "return a list of TensorSpec and ScalarSpec"
EXITS = 'move what is for scripts only below `if __name__ == "__main__":`'
LATER = ("golden", "compile", "validate")

BAD = {
    "import_missing": Bad(
        IMPORT,
        f"{IMPORT}import nowhere\n",
        "inspect",
        "CASE_ERROR  {file}:4: ModuleNotFoundError: No module named 'nowhere'",
        "line 4",
    ),
    "import_name": Bad(
        IMPORT,
        f"{IMPORT}from json import nothing\n",
        "inspect",
        f"CASE_ERROR  {{file}}:4: ImportError: cannot import name 'nothing' from 'json' ({json.__file__})",
        "line 4",
    ),
    "import_raises": Bad(
        IMPORT,
        f"{IMPORT}1 / 0\n",
        "inspect",
        "CASE_ERROR  {file}:4: ZeroDivisionError: division by zero",
        "line 4",
    ),
    "import_exits": Bad(
        IMPORT,
        f"{IMPORT}import sys\nsys.exit('no toolchain')\n",
        "inspect",
        f"CASE_ERROR  {{file}}:5: the import ends the process by sys.exit('no toolchain'): {EXITS}",
    ),
    "import_broken": Bad(
        IMPORT,
        f"{IMPORT}import broken.module\n",
        "inspect",
        "CASE_ERROR  kernels/broken/module.py:1: SyntaxError: invalid syntax",
        'kernels/broken/module.py", line 1',
    ),
    "import_helper_missing": Bad(
        IMPORT,
        f"{IMPORT}import broken.imports\n",
        "inspect",
        "CASE_ERROR  kernels/broken/imports.py:3: ModuleNotFoundError: No module named 'nowhere'",
        'kernels/broken/imports.py", line 3',
    ),
    "import_helper_raises": Bad(
        IMPORT,
        f"{IMPORT}import broken.raises\n",
        "inspect",
        "CASE_ERROR  kernels/broken/raises.py:4: json.decoder.JSONDecodeError: "
        "Expecting value: line 1 column 1 (char 0)",
        'kernels/broken/raises.py", line 4, in read',
    ),
    "two_of_one_name": named('"y"', "two arguments are named 'y': rename one of them"),
    "empty_name": named('""', f"argument 1: '' {NO_FILE}"),
    "path_name": named('"../x"', f"argument 1: '../x' {NO_FILE}"),
    "long_name": named('"x" * 300', "argument 1: a name of 300 letters is too long for a file"),
    "specs_none": specs("None", f"the specs are None: {A_LIST}"),
    "specs_one": specs(X, f"the specs are of type TensorSpec: {A_LIST}"),
    "specs_other": specs("[1]", "argument 1 is a int, not a TensorSpec or ScalarSpec"),
    "specs_empty": specs(
        "[]", "there are no specs: give a TensorSpec or ScalarSpec for each of the kernel's parameters"
    ),
    "specs_raise": Bad(
        f"    return {BOTH}",
        "    raise LookupError('no specs today')",
        "inspect",
        "CASE_ERROR  {file}:11: LookupError: no specs today",
        "line 11, in build_specs",
    ),
    "specs_called": Bad(
        "specs=build_specs",
        "specs=3",
        "inspect",
        "CASE_ERROR  {file}:21: TypeError: case '{name}': specs is 3: give a function that returns the list of specs",
        "line 21",
    ),
    "dtype_text": Bad(
        "(SIZE,), torch.float32, torch.randn",
        "(SIZE,), 'float32', torch.randn",
        "inspect",
        "CASE_ERROR  case '{name}': the dtype of 'x' is 'float32': give a torch.dtype such as torch.float32",
    ),
    "shape_text": Bad(
        'TensorSpec("x", (SIZE,)',
        'TensorSpec("x", "SIZE"',
        "inspect",
        "CASE_ERROR  case '{name}': the shape of 'x' is ['S', 'I', 'Z', 'E']: give whole numbers",
    ),
    "shape_negative": Bad(
        'TensorSpec("x", (SIZE,)',
        'TensorSpec("x", (-SIZE,)',
        "inspect",
        "CASE_ERROR  case '{name}': the shape of 'x' is [-4]: give no negative size",
    ),
    "init_kind": initial(
        "[1, 2, 3, 4]",
        "CASE_ERROR  case '{name}': Unsupported init_value type for tensor 'x': list; "
        "give a number, a tensor or a function",
        "inspect",
    ),
    "init_size": initial("torch.zeros(5)", "CASE_ERROR  the initial value of 'x' is of shape [5], its spec says [4]"),
    "init_function_size": initial(
        "lambda: torch.zeros(2, 2)", "CASE_ERROR  the initial value of 'x' is of shape [2, 2], its spec says [4]"
    ),
    "init_text": initial(
        "lambda: 'abcd'",
        "CASE_ERROR  the initial value of 'x' cannot become float32 [4]: new(): invalid data type 'str'",
    ),
    "init_overflow": initial(
        "300",
        "CASE_ERROR  the initial value of 'x' cannot become int8 [4]: "
        "value cannot be converted to type int8_t without overflow",
        dtype="int8",
    ),
    "init_raises": initial("lambda: 1 / 0", "GOLDEN_ERROR  {file}:12: ZeroDivisionError: division by zero")._replace(
        shows="line 12, in <lambda>"
    ),
    "golden_raises": Bad(
        GOLDEN,
        "raise RuntimeError('no reference')",
        "golden",
        "GOLDEN_ERROR  {file}:18: RuntimeError: no reference",
        "line 18, in golden_twice",
    ),
    "golden_shape": Bad(
        GOLDEN,
        'values["y"] = values["x"][:3]',
        "golden",
        "GOLDEN_ERROR  golden_twice made output 'y' float32 [3], its spec says float32 [4]: fill it in place",
    ),
    "golden_dtype": Bad(
        GOLDEN,
        'values["y"] = values["x"].double()',
        "golden",
        "GOLDEN_ERROR  golden_twice made output 'y' float64 [4], its spec says float32 [4]: fill it in place",
    ),
    "golden_none": Bad(
        "golden=golden_twice",
        "golden=None",
        "inspect",
        "CASE_ERROR  {file}:21: TypeError: case '{name}': golden is None: "
        "give a function that fills the outputs among {{name: tensor or scalar}}",
        "line 21",
    ),
    "source_missing": Bad(
        '"twice.cpp"',
        '"nowhere.cpp", "twice"',
        "compile",
        "COMPILE_ERROR  kernels/nowhere.cpp: No such file or directory; "
        "CppKernel(...) names it from its kernel file's folder",
    ),
    "program_none": Bad(
        'CppKernel("twice.cpp")',
        "None",
        "inspect",
        "COMPILE_ERROR  platform 'cpu' takes a CppKernel as its program, not a NoneType",
    ),
    "tile_list": tile('"SIZE": [4]', f"tile parameter SIZE is [4]: {A_MACRO}"),
    "tile_infinite": tile('"SIZE": float("inf")', f"tile parameter SIZE is inf: {A_MACRO}"),
    "tile_name": tile(
        '"SIZE": SIZE, "A-B": 1',
        "tile parameter 'A-B' cannot be a C++ macro: use letters, digits and _, and no word of C++",
    ),
    "tolerance_text": option("rtol='tight'", "rtol is 'tight': give a number"),
    "tolerance_negative": Bad(
        TILES,
        f"{TILES}, rtol=-1.0",
        "inspect",
        "CASE_ERROR  rtol=-1.0 is no tolerance: give a finite number of at least 0",
    ),
    "comparator_unknown": Bad(
        TILES,
        f"{TILES}, compare_fn={{'z': max}}",
        "inspect",
        "CASE_ERROR  compare_fn names ['z'], but the outputs are ['y']",
    ),
    "comparator_no_function": option(
        "compare_fn={'y': 3}", "compare_fn is {{'y': 3}}: give a dict of a comparator for each output's name"
    ),
    "comparator_raises": Bad(
        TILES,
        f"{TILES}, compare_fn={{'y': lambda *a, **k: 1 / 0}}",
        "validate",
        "CASE_ERROR  {file}:26: ZeroDivisionError: division by zero",
        "line 26, in <lambda>",
    ),
    "seed_text": option("seed='x'", "seed is 'x': give a whole number"),
    "timeout_zero": option("timeout=0", "timeout is 0: give a number of seconds above 0"),
    "memory_text": option("memory='1G'", "memory is '1G': give a number of bytes above 0"),
}


class Refused(NamedTuple):
    """The cases of `BAD` after the run that refused them all."""

    done: subprocess.CompletedProcess[str]
    said: dict[str, list[str]]  # task -> its lines
    before: dict[str, bytes | None]
    after: dict[str, bytes | None]


def lines_by_task(output: str) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    task = ""
    for line in output.partition("\n\n")[0].splitlines():
        if line[:3] in ("F  ", ".  "):
            task, _, line = line[3:].partition(" ")
        said.setdefault(task, []).append(line.strip())
    return said


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Refused:
    project = Twice(tmp_path_factory.mktemp("refused") / "project", *BAD)
    project.path("kernels/broken").mkdir()
    project.path("kernels/broken/module.py").write_text("x = = 1\n")
    project.path("kernels/broken/imports.py").write_text("import json\n\nimport nowhere\n")
    project.path("kernels/broken/raises.py").write_text(
        "import json\n\ndef read():\n    return json.loads('')\n\nread()\n"
    )
    tasks = [f"{'golden' if bad.stage in LATER else 'inspect'}:{name}" for name, bad in BAD.items()]
    tasks.append("validate:comparator_raises")
    good = project.doit(*tasks)
    assert good.returncode == 0, good.stdout
    for name, bad in BAD.items():
        project.edit(f"kernels/{name}.py", bad.old, bad.new)
    before = project.contents("build_output")

    done = project.doit(*tasks, "compile:source_missing")

    return Refused(done, lines_by_task(done.stdout), before, project.contents("build_output"))


@pytest.mark.parametrize("name", BAD)
def test_a_case_that_cannot_be_is_refused_in_one_message_that_says_what_to_mend(name: str, refused: Refused) -> None:
    bad = BAD[name]

    first, *rest = refused.said[f"{bad.stage}:{name}"]

    assert first == bad.says.format(name=name, file=f"kernels/{name}.py")
    assert bad.shows in "\n".join(rest)
    assert bool(bad.shows) == any("File " in line for line in rest)


@pytest.mark.parametrize("name", BAD)
def test_a_case_that_cannot_be_leaves_its_artefacts_as_they_were(name: str, refused: Refused) -> None:
    """What `inspect` finds changes nothing at all; after it, the records that it wrote are those of the edited case."""
    own = ("inspect.json", "contract.json", "policy.json", "program.json") if BAD[name].stage in LATER else ()

    before, after = (
        {
            path: content
            for path, content in contents.items()
            if path.startswith(f"build_output/{name}/") and not path.endswith(own)
        }
        for contents in (refused.before, refused.after)
    )

    assert before and after == before


def test_a_run_of_cases_that_cannot_be_fails_without_a_traceback_of_the_harness(refused: Refused) -> None:
    assert refused.done.returncode in (1, 2)
    assert "Traceback" not in refused.done.stdout
    assert "golden_tasks/" not in refused.done.stdout


# a script: the same messages


SCRIPTS = {
    name: (says, BAD[name])
    for name, says in {
        "two_of_one_name": "two arguments are named 'y': rename one of them",
        "empty_name": f"argument 1: '' {NO_FILE}",
        "path_name": f"argument 1: '../x' {NO_FILE}",
        "specs_none": f"the specs are None: {A_LIST}",
        "specs_empty": "there are no specs: give a TensorSpec or ScalarSpec for each of the kernel's parameters",
        "dtype_text": "the dtype of 'x' is 'float32': give a torch.dtype such as torch.float32",
        "shape_negative": "the shape of 'x' is [-4]: give no negative size",
        "init_kind": "Unsupported init_value type for tensor 'x': list; give a number, a tensor or a function",
        "source_missing": "kernels/nowhere.cpp: No such file or directory; "
        "CppKernel(...) names it from its kernel file's folder",
        "tile_list": f"tile parameter SIZE is [4]: {A_MACRO}",
    }.items()
}
DATA, RUNTIME = "build_output/twice/data", "build_output/twice/cpu/runtime"
NO_BUILD = "holds no build for cpu: build.json is missing or not one"


def missing(folder: str) -> str:
    return f"golden_data is missing files: ['{folder}/in/x.pt', '{folder}/out/y.pt']"


OPTIONS: list[tuple[str, dict[str, str], str]] = [
    (f"--golden-data {DATA}/in", {}, f"{missing(f'{DATA}/in')}; did you mean {DATA}?"),
    (f"--golden-data {DATA}/out", {}, f"{missing(f'{DATA}/out')}; did you mean {DATA}?"),
    (f"--golden-data {DATA}/in/x.pt", {}, f"{missing(f'{DATA}/in/x.pt')}; did you mean {DATA}?"),
    ("--golden-data build_output/twice", {}, f"{missing('build_output/twice')}; did you mean {DATA}?"),
    (
        "--golden-data kernels/twice.py",
        {},
        f"{missing('kernels/twice.py')}; kernels/twice.py is no folder",
    ),
    ("--golden-data nowhere", {}, f"{missing('nowhere')}; there is no folder nowhere"),
    ("--golden-data kernels", {}, missing("kernels")),
    ("", {"GOLDEN_DATA": f"{DATA}/in"}, f"{missing(f'{DATA}/in')}; did you mean {DATA}?"),
    ("--runtime-dir nowhere", {}, "runtime_dir does not exist: nowhere"),
    ("--runtime-dir kernels", {}, f"runtime_dir kernels {NO_BUILD}"),
    (
        "--runtime-dir build_output/twice",
        {},
        f"runtime_dir build_output/twice {NO_BUILD}; did you mean {RUNTIME}?",
    ),
    (
        "--runtime-dir build_output/twice/cpu",
        {},
        f"runtime_dir build_output/twice/cpu {NO_BUILD}; did you mean {RUNTIME}?",
    ),
    (f"--runtime-dir {RUNTIME}/kernels", {}, f"runtime_dir {RUNTIME}/kernels {NO_BUILD}; did you mean {RUNTIME}?"),
    (
        f"--runtime-dir {RUNTIME}/build.json",
        {},
        f"runtime_dir {RUNTIME}/build.json {NO_BUILD}; did you mean {RUNTIME}?",
    ),
    (
        f"--compile-only --runtime-dir {RUNTIME}",
        {},
        "runtime_dir is incompatible with compile_only: leave one of them out",
    ),
    ("-p gpu", {}, "case 'twice' has no program for platform 'gpu'; it has cpu"),
    ("--tile SIZES=4", {}, "--tile SIZES=4: write NAME=VALUE; the tile parameters are SIZE"),
    (
        "",
        {"CXX": "nowhere"},
        "platform 'cpu' is not available: CXX=nowhere is no command that can be run: "
        "set CXX to a C++17 compiler, or unset it",
    ),
    (
        "",
        NO_COMPILER,
        "platform 'cpu' is not available: no C++17 compiler was found (c++, g++, clang++): install one, set CXX to it, "
        "or pip install 'golden-tasks[toolchain]'",
    ),
]


class Scripts(NamedTuple):
    """What scripts said that could not run, by call, and the project's files before and after all of them."""

    done: dict[str, Done]
    before: dict[str, bytes | None]
    after: dict[str, bytes | None]


@pytest.fixture(scope="module")
def scripts(replayed: Twice, tmp_path_factory: pytest.TempPathFactory) -> Scripts:
    project = Twice(tmp_path_factory.mktemp("scripts") / "project", "twice", *SCRIPTS)
    subprocess.run(["cp", "-a", replayed.path("build_output"), project.folder], check=True)
    for name, (_, bad) in SCRIPTS.items():
        project.edit(f"kernels/{name}.py", bad.old, bad.new)
    calls: dict[str, tuple[str, Mapping[str, str]]] = {name: (f"kernels/{name}.py", {}) for name in SCRIPTS}
    calls |= {f"{options} {env}": (f"kernels/twice.py {options}", env) for options, env, _ in OPTIONS}
    before = project.contents()

    done = run_scripts(project, list(calls.values()))

    return Scripts(dict(zip(calls, done, strict=True)), before, project.contents())


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_whose_case_cannot_be_ends_with_1_and_one_message(name: str, scripts: Scripts) -> None:
    done = scripts.done[name]

    assert done.returncode == 1
    assert [line for line in done.said if "FAIL" in line] == [f"[RUN] FAIL: {SCRIPTS[name][0]}"]
    assert "Traceback" not in "\n".join(done.said)


@pytest.mark.parametrize(("options", "env", "message"), OPTIONS)
def test_an_option_that_cannot_be_ends_a_script_with_1_and_offers_what_was_meant(
    options: str, env: dict[str, str], message: str, scripts: Scripts
) -> None:
    done = scripts.done[f"{options} {env}"]

    assert done.returncode == 1
    (said,) = (line for line in done.said if "FAIL" in line)
    assert re.sub(r" \(\d+\.\d\ds\)$", "", said) == f"[RUN] FAIL: {message}"
    assert "Traceback" not in "\n".join(done.said)


def test_scripts_that_cannot_run_leave_every_file_as_it_was(scripts: Scripts) -> None:
    assert scripts.after == scripts.before


# the compiler


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (
            NO_COMPILER,
            "SKIPPED  platform 'cpu' is not available: no C++17 compiler was found (c++, g++, clang++): install one, "
            "set CXX to it, or pip install 'golden-tasks[toolchain]'",
        ),
        (
            {"CXX": "nowhere"},
            "SKIPPED  platform 'cpu' is not available: CXX=nowhere is no command that can be run: "
            "set CXX to a C++17 compiler, or unset it",
        ),
        ({"CXX": "true"}, "COMPILE_ERROR  true made nothing: is it a C++ compiler?"),
    ],
    ids=["none", "wrong", "no compiler"],
)
def test_a_missing_compiler_is_no_pass_and_says_what_to_install(
    replayed: Twice, env: dict[str, str], says: str
) -> None:
    before = replayed.contents()

    done = replayed.doit(env=env)

    assert done.returncode in (1, 2)
    assert lines_by_task(done.stdout)["compile:twice"] == [says]
    assert "0 passed" in done.stdout and "Traceback" not in done.stdout
    assert replayed.contents() == before


# disks


def test_a_file_in_the_place_of_build_output_is_named_and_kept(project: Twice) -> None:
    project.path("build_output").write_text("mine")

    doit = project.doit()
    script = project.script("twice")

    place = project.path("build_output")
    why = f"{place}: File exists: something else is in its place: remove that"
    assert (doit.returncode, script.returncode) == (3, 1)
    assert doit.stdout == f"ERROR: {why}; doit keeps its state and all artefacts there\n"
    assert script.stdout.splitlines()[-1] == f"[RUN] FAIL: {why}"
    assert "Traceback" not in script.stdout
    assert place.read_text() == "mine"


def test_a_new_project_on_a_read_only_disk_says_so(project: Twice) -> None:
    project.path("build_output").mkdir()

    doit = project.run(*in_mounts(f"{READ_ONLY}{PYTHON} -m doit"))
    script = project.run(*in_mounts(f"{READ_ONLY}{PYTHON} kernels/twice.py"))

    place = project.path("build_output")
    why = "Read-only file system: make it writable"
    assert (doit.returncode, script.returncode) == (3, 1)
    assert doit.stdout == f"ERROR: {place}/.doit.sqlite3: {why}; doit keeps its state and all artefacts there\n"
    assert script.stdout.splitlines()[-1].startswith(f"[RUN] FAIL: {place}/twice_")
    assert script.stdout.splitlines()[-1].endswith(f": {why}")
    assert "Traceback" not in script.stdout
    assert list(place.iterdir()) == []


def test_a_read_only_disk_shows_current_verdicts_and_refuses_what_is_stale(replayed: Twice, tmp_path: Path) -> None:
    project = Twice(tmp_path / "project", "twice")
    subprocess.run(["cp", "-a", replayed.path("build_output"), project.folder], check=True)
    project.doit()
    before = project.contents("build_output")

    current = project.run(*in_mounts(f"{READ_ONLY}{PYTHON} -m doit"))
    project.edit("kernels/twice.py", "2 * values", "3 * values")
    stale = project.run(*in_mounts(f"{READ_ONLY}{PYTHON} -m doit"))

    assert current.returncode == 0, current.stdout
    assert "1 case: 1 passed; 0 replayed, 1 current" in current.stdout
    assert stale.returncode in (1, 2)
    assert lines_by_task(stale.stdout) == {
        "inspect:twice": ["STALE  build_output/twice/inspect.log: Read-only file system: make it writable"]
    }
    assert "Traceback" not in stale.stdout
    assert project.contents("build_output") == before


def test_a_full_disk_without_room_for_the_state_is_named(project: Twice) -> None:
    project.path("build_output").mkdir()

    done = project.run(*in_mounts(small_disk("4k") + then_keep(f"{PYTHON} -m doit")))

    place = project.path("build_output/.doit.sqlite3")
    why = "database or disk is full: free some space there and run again"
    said = f"ERROR: {place}: {why}; doit keeps its state and all artefacts there\n"
    assert (done.returncode, done.stdout) == (3, said)
    assert project.contents("build_output") == {}


@pytest.mark.parametrize("size", ["16k", "20k", "24k"])
def test_a_disk_that_is_full_before_a_stage_has_ended_is_no_crash(project: Twice, size: str) -> None:
    """The record of what was found does not fit, or the child's result does not."""
    project.path("build_output").mkdir()

    done = project.run(*in_mounts(small_disk(size) + then_keep(f"{PYTHON} -m doit inspect:twice")))

    assert done.returncode == 1
    (said,) = lines_by_task(done.stdout)["inspect:twice"]
    assert said.startswith("STALE  ") and "build_output/twice/" in said
    assert said.endswith(": No space left on device: free some space there and run again")
    assert not [name for name in project.contents("build_output") if name.endswith((".new", ".result"))]


def test_a_disk_that_is_full_while_a_snapshot_is_saved_keeps_the_old_one_and_nothing_of_the_new(
    project: Twice,
) -> None:
    project.edit("kernels/twice.py", "SIZE = 4", "SIZE = 25_000")
    assert project.doit().returncode == 0
    before = project.contents("build_output")
    used = int(project.run("du", "-sk", "build_output").stdout.split()[0])
    project.edit("kernels/twice.py", "2 * values", "2.0 * values")

    done = project.run(*in_mounts(small_disk(f"{used + 150}k") + then_keep(f"{PYTHON} -m doit")))

    assert done.returncode in (1, 2)
    assert lines_by_task(done.stdout)["golden:twice"] == [
        "STALE  build_output/twice/cpu/golden.new/out/y.pt: "
        "No space left on device: free some space there and run again"
    ]
    assert "Traceback" not in done.stdout
    records = ("inspect.json", "contract.json")
    after = project.contents("build_output")
    assert [name for name in after if not name.endswith(records) and after[name] != before.get(name, b"new")] == []
    again = project.doit()
    assert again.returncode == 0, again.stdout


def test_a_disk_that_is_full_while_a_script_saves_its_data_leaves_no_half_of_it(
    project: Twice,
) -> None:
    project.edit("kernels/twice.py", "SIZE = 4", "SIZE = 25_000")
    project.path("build_output").mkdir()
    script = then_keep(f"{PYTHON} kernels/twice.py --save-data")

    done = project.run(*in_mounts(small_disk("200k") + script))

    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"[RUN] FAIL: {project.path('build_output')}/twice_")
    assert last.endswith("/out/y.pt: No space left on device: free some space there and run again")
    assert "Traceback" not in done.stdout
    assert not [name for name in project.contents("build_output") if name.endswith(".pt") or "data" in name]
    assert not list(project.path("build_output").glob("*/.data*"))


def test_a_limit_on_the_size_of_files_is_named(project: Twice) -> None:
    project.edit("kernels/twice.py", "SIZE = 4", "SIZE = 250_000")
    limited = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)); "

    done = project.run(
        sys.executable,
        "-c",
        f"{limited}os.execv(sys.argv[1], sys.argv[1:])",
        sys.executable,
        "-m",
        "doit",
        "golden:twice",
    )

    assert done.returncode in (1, 2)
    assert lines_by_task(done.stdout)["golden:twice"] == [
        "STALE  build_output/twice/cpu/golden.new/in/x.pt: File too large: raise the limit on a file's size (ulimit -f)"
    ]
    assert not list(project.path("build_output").rglob("*.pt"))


# damaged records and state


@pytest.mark.parametrize("damage", ["cut", "emptied"])
def test_damaged_records_are_made_again_and_no_golden_is_called(project: Twice, damage: str) -> None:
    project.count_golden("twice")
    assert project.doit().returncode == 0
    snapshot = project.contents("build_output/twice/data")
    damaged = [
        project.path(f"build_output/twice/{name}.json")
        for name in (
            *("inspect", "contract", "policy"),
            *("cpu/program", "cpu/runtime/build", "cpu/run", "cpu/verdict"),
        )
    ]
    for path in damaged:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 if damage == "cut" else 0])

    done = project.doit()

    assert done.returncode == 0, done.stdout
    assert set(stages_run(done.stdout)) == {f"{verb}:twice" for verb in ("inspect", "compile", "execute", "validate")}
    assert all(json.loads(path.read_bytes()) for path in damaged)
    assert project.count("golden") == 1
    assert project.contents("build_output/twice/data") == snapshot


@pytest.mark.parametrize("damage", ["scribbled", "cut", "emptied"])
@pytest.mark.parametrize("name", [".doit.sqlite3", ".memory.json"])
def test_a_damaged_state_costs_nothing(replayed: Twice, name: str, damage: str) -> None:
    before = replayed.contents()
    file = replayed.path(f"build_output/{name}")
    content = file.read_bytes()
    file.write_bytes({"scribbled": b"no state " * 1000, "cut": content[: len(content) // 2], "emptied": b""}[damage])

    listed = replayed.doit("list", "replay")
    done = replayed.doit()

    assert listed.returncode == 0, listed.stdout
    assert done.returncode == 0, done.stdout
    assert "1 case: 1 passed; 0 replayed, 1 current" in done.stdout
    assert replayed.contents() == before


@pytest.mark.parametrize("pattern", ["/somewhere/*.py", "../elsewhere/*.py"])
def test_kernels_outside_the_project_are_refused(project: Project, pattern: str) -> None:
    project.edit("dodo.py", '"kernels/*.py"', repr(pattern))

    done = project.doit()

    assert done.returncode == 3
    assert f"ERROR: kernels={pattern!r}: name files below {project.folder}, by a path relative to it" in done.stdout
    assert "Traceback" not in done.stdout
