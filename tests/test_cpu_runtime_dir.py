"""Platform cpu: a runtime_dir stands alone, its edits are found by content, its record says what it was made from."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from cpp_project import BACKEND, SPECS, CppProject, scale, scaled

from golden_tasks import digest, records
from golden_tasks.backends.cpu.source import digest_text
from golden_tasks.records import Build
from golden_tasks.results import Failure, Status
from golden_tasks.specs import ScalarSpec, TensorSpec

# A kernel with headers in its own folder, below it and beside it, which include each other by relative paths.
FILES = {
    "kernels/scale.cpp": scale("factor * own() * far()", '#include "own.h"\n#include "../common/far.h"'),
    "kernels/own.h": '#pragma once\n#include "sub/deep.h"\ninline float own() { return deep(); }\n',
    "kernels/sub/deep.h": "#pragma once\ninline float deep() { return 3; }\n",
    "kernels/never_included.h": "#error\n",
    "common/far.h": '#include "near.h"\n#include "../kernels/own.h"\ninline float far() { return near(); }\n',
    "common/near.h": "#pragma once\ninline float near() { return 5; }\n",
}
COPIES = ["kernels/common/far.h", "kernels/common/near.h"]
COPIES += ["kernels/kernels/own.h", "kernels/kernels/scale.cpp", "kernels/kernels/sub/deep.h"]
GENERATED = ["orchestration/golden_tasks.h", "orchestration/golden_tasks_orchestration.h", "orchestration/scale.cpp"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> CppProject:
    """A project with a build of `FILES` in `runtime`; tests read it, or copy it."""
    project = CppProject(tmp_path_factory.mktemp("built"), FILES)
    project.compile(project.describe())
    return project


@pytest.fixture
def runtime(built: CppProject, tmp_path: Path) -> Path:
    """A copy of the build alone, in another place."""
    return shutil.copytree(built.path("runtime"), tmp_path / "moved" / "runtime")


def build_in(runtime: Path) -> Build:
    build = records.read(runtime / "build.json", Build)
    assert build is not None
    return build


def present(build: Build) -> dict[str, str]:
    """What a build found out about that is there."""
    return {name: content for name, content in build.found.items() if content != "absent"}


def edit(path: Path, old: str, new: str) -> None:
    """Edits a file and sets its modification time back to what it was."""
    before = path.stat()
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_build_holds_its_sources_binary_configuration_and_record_and_nothing_else(tmp_path: Path) -> None:
    project = CppProject(tmp_path, {"kernels/scale.cpp": scale("factor * TILE")})
    build = project.compile(project.describe(tiles={"TILE": 16}))

    runtime = project.path("runtime")
    assert sorted(files_of(runtime)) == sorted(
        ["build.json", "kernel_config.json", "kernels/scale.cpp", "kernels/scale.so", *GENERATED]
    )
    assert runtime.joinpath("kernels/scale.cpp").read_bytes() == project.path("kernels/scale.cpp").read_bytes()
    assert json.loads(runtime.joinpath("kernel_config.json").read_text()) == {
        "platform": "cpu",
        "kernel": "scale",
        "binary": "kernels/scale.so",
        "source": "kernels/scale.cpp",
        "orchestration": "orchestration/scale.cpp",
        "defines": {"TILE": "16"},
        "arguments": [
            {"name": "x", "kind": "tensor", "dtype": "float32", "shape": [4, 8], "direction": "in"},
            {"name": "factor", "kind": "scalar", "dtype": "float32", "shape": [], "direction": "in"},
            {"name": "y", "kind": "tensor", "dtype": "float32", "shape": [4, 8], "direction": "out"},
        ],
    }
    assert build_in(runtime) == build
    assert build.made == {"kernels/scale.so": digest.of_file(runtime / "kernels/scale.so")}
    assert sorted(build.sources) == sorted(["kernels/scale.cpp", *GENERATED])
    assert build.found == {"kernels/golden_tasks.h": "absent"}
    assert BACKEND.edited(runtime, build) == []
    assert scaled(runtime, build) == 32


def test_own_headers_are_copied_as_they_lie_around_the_kernel_and_recorded_as_found(built: CppProject) -> None:
    build = build_in(built.path("runtime"))
    assert sorted(build.sources) == sorted([*COPIES, *GENERATED])
    headers = ["common/far.h", "common/near.h", "kernels/own.h", "kernels/sub/deep.h"]
    assert present(build) == {name: digest_text(str(built.path(name))) for name in headers}
    assert scaled(built.path("runtime"), build) == 30


def test_the_recorded_command_repeats_the_build_in_its_folder(runtime: Path) -> None:
    build = build_in(runtime)
    (runtime / "kernels/scale.so").unlink()
    subprocess.run(build.command[1:], cwd=runtime, check=True)
    assert scaled(runtime, build) == 30


@pytest.mark.parametrize("name", [*COPIES, *GENERATED])
def test_a_hand_edit_of_any_source_is_found_by_content_though_its_time_is_set_back(runtime: Path, name: str) -> None:
    with open(runtime / name, "r+") as file:
        first = file.read(1)
        file.seek(0)
        file.write("/" if first == "#" else "#")
    before = runtime / "build.json"
    os.utime(runtime / name, ns=(before.stat().st_atime_ns, before.stat().st_mtime_ns - 10**12))
    assert BACKEND.edited(runtime, build_in(runtime)) == [name]


def test_a_source_that_was_touched_only_is_no_edit(runtime: Path) -> None:
    for name in (*COPIES, *GENERATED):
        os.utime(runtime / name)
    assert BACKEND.edited(runtime, build_in(runtime)) == []


def test_an_added_and_a_removed_source_are_edits(runtime: Path) -> None:
    (runtime / "kernels/new.h").write_text("")
    (runtime / "kernels/common/near.h").unlink()
    assert BACKEND.edited(runtime, build_in(runtime)) == ["kernels/common/near.h", "kernels/new.h"]


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x")])
def test_a_missing_or_damaged_binary_is_found(runtime: Path, damage: Callable[[Path], object]) -> None:
    damage(runtime / "kernels/scale.so")
    assert BACKEND.edited(runtime, build_in(runtime)) == ["kernels/scale.so"]


def test_a_rebuild_needs_the_folder_alone_wherever_it_was_moved(built: CppProject, tmp_path: Path) -> None:
    project = CppProject(shutil.copytree(built.folder, tmp_path / "project"))
    shutil.move(project.path("runtime"), tmp_path / "else where")
    shutil.rmtree(project.folder)
    runtime = tmp_path / "else where"
    edit(runtime / "kernels/common/near.h", "return 5", "return 7")
    edit(runtime / "kernels/kernels/scale.cpp", "factor * own()", "10 * own()")
    edit(runtime / "orchestration/golden_tasks.h", "Bounds are not checked.", "No bound is checked.")

    build = BACKEND.rebuild(runtime, build_in(runtime))

    assert scaled(runtime, build) == 10 * 3 * 7
    assert BACKEND.edited(runtime, build) == []
    assert build_in(runtime) == build


def test_a_rebuild_changes_the_builds_digest_and_says_that_it_was_made_from_a_hand_edit(runtime: Path) -> None:
    before = build_in(runtime)
    edit(runtime / "kernels/common/near.h", "return 5", "return 7")

    build = BACKEND.rebuild(runtime, build_in(runtime))

    assert build.binary != before.binary and build.made != before.made
    assert changed(build.made_from, before.made_from) == {"hand edit"}
    assert (build.found, build.arguments) == (before.found, before.arguments)


def test_a_rebuild_of_unedited_sources_is_the_same_build(runtime: Path) -> None:
    before = files_of(runtime)
    (runtime / "kernels/scale.so").unlink()
    BACKEND.rebuild(runtime, build_in(runtime))
    assert files_of(runtime) == before


def test_a_rebuild_that_fails_leaves_binary_and_record_and_shows_the_edited_file(runtime: Path) -> None:
    edit(runtime / "kernels/kernels/own.h", "return deep();", "return deep(;")
    before = files_of(runtime)

    with pytest.raises(Failure) as failed:
        BACKEND.rebuild(runtime, build_in(runtime))

    assert failed.value.status is Status.COMPILE_ERROR
    assert failed.value.message.startswith(f"{runtime}/kernels/kernels/own.h:3:34: error: expected ")
    assert files_of(runtime) == before


def test_a_rebuild_with_a_signature_edited_away_from_the_specs_says_so(runtime: Path) -> None:
    edit(runtime / "kernels/kernels/scale.cpp", "float factor", "double factor")
    with pytest.raises(Failure) as failed:
        BACKEND.rebuild(runtime, build_in(runtime))
    said = "argument 2 of kernel 'scale' must be float: spec 'factor' is float32 scalar; the kernel takes double\n"
    assert failed.value.message.startswith(f"{runtime}/kernels/kernels/scale.cpp: {said}")


def test_a_build_that_was_rebuilt_in_place_runs_its_new_code_in_the_same_process(runtime: Path) -> None:
    first = scaled(runtime, build_in(runtime))
    edit(runtime / "kernels/common/near.h", "return 5", "return 7")
    second = scaled(runtime, BACKEND.rebuild(runtime, build_in(runtime)))
    edit(runtime / "kernels/common/near.h", "return 7", "return 5")
    third = scaled(runtime, BACKEND.rebuild(runtime, build_in(runtime)))
    assert [first, second, third] == [30, 42, 30]


def test_a_binary_that_is_none_is_a_runtime_error_that_names_it(runtime: Path) -> None:
    build = build_in(runtime)
    (runtime / "kernels/scale.so").write_bytes(b"")
    with pytest.raises(Failure) as failed:
        scaled(runtime, build)
    assert failed.value.status is Status.RUNTIME_ERROR
    assert failed.value.message.startswith(f"{runtime}/kernels/scale.so cannot be loaded: ")


def test_a_header_that_a_flag_leads_to_stays_where_it_is_and_is_recorded_as_found(tmp_path: Path) -> None:
    files = {"kernels/scale.cpp": scale("by()", "#include <lib.h>"), "lib/lib.h": "inline float by() { return 9; }"}
    project = CppProject(tmp_path / "project", files | {"kernels/include/in.h": "", "kernels/x.h": ""})
    project.write("kernels/scale.cpp", scale("by()", '#include <lib.h>\n#include <in.h>\n#include "x.h"'))
    flags = [f"-I{project.path('lib')}", f"-I{project.path('kernels/include')}"]

    build = project.compile(project.describe(flags=flags))

    assert sorted(present(build)) == ["kernels/include/in.h", "kernels/x.h", "lib/lib.h"]
    assert sorted(build.sources) == sorted(["kernels/scale.cpp", "kernels/x.h", *GENERATED])
    assert scaled(project.path("runtime"), build) == 9


@pytest.mark.parametrize("debug", [False, True])
def test_a_build_is_the_same_to_the_byte_wherever_it_is_made(built: CppProject, tmp_path: Path, debug: bool) -> None:
    names = scale("factor * (__FILE__[0] + sizeof(__FILE__))", '#include "own.h"\n#include "../common/far.h"')
    here = CppProject(tmp_path / "here", FILES | {"kernels/scale.cpp": names})
    there = CppProject(shutil.copytree(here.folder, tmp_path / "there" / "in a longer place"))

    here.compile(here.describe(debug=debug))
    there.compile(there.describe(debug=debug), runtime="build_output/scale/cpu/compile.new")

    assert files_of(here.path("runtime")) == files_of(there.path("build_output/scale/cpu/compile.new"))


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("a b", "sc ale.cpp"),
        ('it\'s "quoted" = 1', "it's.cpp"),
        ("größe 数", "größe 数.cpp"),
        ("$HOME #1 %d", "$x #1 %s.cpp"),
        ("-o", "-c.cpp"),
    ],
)
def test_files_and_folders_may_have_odd_names(tmp_path: Path, folder: str, file: str) -> None:
    project = CppProject(tmp_path / folder)
    project.write(f"kernels/{file}", scale("by()", f'#include "{file}.h"\n#include "../{file}/far.h"'))
    project.write(f"kernels/{file}.h", "inline float by() { return far(); }\n".replace("far()", "6"))
    project.write(f"{file}/far.h", "\n")
    program = project.describe(f"kernels/{file}", "scale")

    build = project.compile(program, runtime=folder)

    assert sorted(present(build)) == sorted([f"kernels/{file}.h", f"{file}/far.h"])
    assert scaled(project.path(folder), build) == 6
    assert BACKEND.edited(project.path(folder), build) == []


def test_a_file_name_that_cpp_cannot_include_is_refused(tmp_path: Path) -> None:
    project = CppProject(tmp_path, {'sc"ale.cpp': scale()})
    with pytest.raises(Failure) as failed:
        project.compile(project.describe('sc"ale.cpp', "scale"))
    assert failed.value.status is Status.COMPILE_ERROR
    assert failed.value.message == "'sc\"ale.cpp': C++ cannot include a file of this name"


def test_a_source_that_is_edited_while_it_is_compiled_is_stale_not_blessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = CppProject(tmp_path, {"kernels/scale.cpp": scale()})
    program = project.describe()
    compiler = tmp_path / "c++"
    real = os.environ.get("CXX") or "c++"
    compiler.write_text(f'#!/bin/sh\necho "int edited;" >> "{project.path("kernels/scale.cpp")}"\nexec {real} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(Failure) as failed:
        project.compile(program)
    assert failed.value.status is Status.STALE
    assert failed.value.message == "kernels/scale.cpp was edited while it was compiled: run again"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> CppProject:
    return CppProject(tmp_path_factory.mktemp("plain"), {"kernels/scale.cpp": scale(), "kernels/other.cpp": scale()})


OTHER_FILE = ["orchestration", "source kernels/other.cpp", "source kernels/scale.cpp"]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"tiles": {"TILE": 2}}, ["tile TILE"]),
        ({"tiles": {"TILE": 1, "NEW": 1}}, ["tile NEW"]),
        ({"defines": {"DEFINE": 2}}, ["tile DEFINE"]),
        ({"flags": ["-O3"]}, ["flags"]),
        ({"options": {"flags": "-O3 -DA='b c'"}}, ["flags"]),
        ({"debug": True}, ["build"]),
        ({"options": {"debug": True}}, ["build"]),
        ({"sanitize": ("undefined",)}, ["sanitize"]),
        ({"options": {"sanitize": "address,undefined"}}, ["sanitize"]),
        ({"function": "other"}, ["function", "orchestration"]),
        ({"source": "kernels/other.cpp", "function": "scale"}, OTHER_FILE),
    ],
    ids=str,
)
def test_a_change_of_the_program_changes_its_own_part_and_no_other(
    plain: CppProject, change: dict[str, object], parts: list[str]
) -> None:
    usual = {"tiles": {"TILE": 1}, "defines": {"DEFINE": 1}}
    before = plain.parts(plain.describe(**usual))
    after = plain.parts(plain.describe(**(usual | change)))
    assert sorted(changed(before, after)) == parts


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {part for part in before.keys() | after.keys() if before.get(part) != after.get(part)}


X, FACTOR, Y = SPECS


@pytest.mark.parametrize(
    "specs",
    [
        (TensorSpec("renamed", (4, 8), torch.float32, 1.0), FACTOR, Y),
        (FACTOR, X, Y),
        (TensorSpec("x", (4, 9), torch.float32, 1.0), FACTOR, Y),
        (TensorSpec("x", (4, 8), torch.float16, 1.0), FACTOR, Y),
        (X, FACTOR, TensorSpec("y", (4, 8), torch.float32, 0, is_output=True)),
        (X, Y),
    ],
    ids=["name", "order", "shape", "dtype", "direction", "count"],
)
def test_a_change_of_the_argument_list_changes_the_arguments_and_the_generated_code(
    plain: CppProject, specs: tuple[TensorSpec | ScalarSpec, ...]
) -> None:
    program = plain.describe()
    parts = changed(plain.parts(program), plain.parts(program, specs))
    assert {part.rstrip(" 123") for part in parts} == {"argument", "orchestration"}


def test_values_and_times_change_no_part(plain: CppProject) -> None:
    before = plain.parts(plain.describe())
    os.utime(plain.path("kernels/scale.cpp"), ns=(0, 0))
    specs = (TensorSpec("x", (4, 8), torch.float32, torch.randn), ScalarSpec("factor", torch.float32, 7.0), Y)
    assert plain.parts(plain.describe(), specs) == before


def test_equal_options_in_other_words_change_no_part(plain: CppProject) -> None:
    kernel = plain.describe(flags=["-O3", "-g"], sanitize=("undefined", "address"), defines={"A": 1, "B": 2})
    options = plain.describe(options={"flags": "-O3 -g", "sanitize": "address, undefined"}, tiles={"B": 2, "A": 1})
    assert plain.parts(kernel) == plain.parts(options)


def test_an_option_can_take_back_what_the_kernel_says(plain: CppProject) -> None:
    kernel = plain.describe(debug=True, sanitize="address", options={"debug": False, "sanitize": ()})
    assert plain.parts(kernel) == plain.parts(plain.describe())


def test_a_source_is_named_relative_to_the_python_file_and_recorded_relative_to_the_current_folder(
    plain: CppProject,
) -> None:
    plain.write("kernels/case.py", "from golden_tasks import CppKernel\nkernel = CppKernel('scale.cpp')\n")
    kernel = runpy.run_path(str(plain.path("kernels/case.py")))["kernel"]
    with plain.current():
        program = BACKEND.describe(kernel, "cpu", {}, {})
    assert (kernel.source, kernel.function) == (plain.path("kernels/scale.cpp"), "scale")
    assert program.sources == ["kernels/scale.cpp"]


def test_an_edit_of_the_source_changes_its_part_and_no_other(tmp_path: Path) -> None:
    project = CppProject(tmp_path, {"kernels/scale.cpp": scale()})
    before = project.parts(project.describe())
    project.write("kernels/scale.cpp", scale("3"))
    assert changed(before, project.parts(project.describe())) == {"source kernels/scale.cpp"}


def test_another_compiler_changes_its_part_and_no_other(
    plain: CppProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = plain.parts(plain.describe())
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nexec c++ "$@"\n')
    wrapper.chmod(0o755)

    monkeypatch.setenv("CXX", str(wrapper))
    wrapped = plain.parts(plain.describe())
    monkeypatch.setenv("CXX", f"{wrapper} -O1")
    with_flag = plain.parts(plain.describe())
    wrapper.write_text('#!/bin/sh\n# upgraded\nexec c++ "$@"\n')
    upgraded = plain.parts(plain.describe())

    assert changed(wrapped, with_flag) == {"compiler"}
    assert changed(with_flag, upgraded) == {f"compiler {wrapper}"}
    assert changed(before, wrapped) > {"compiler", f"compiler {wrapper}"}


def test_both_programs_of_a_compiler_behind_a_launcher_count(
    plain: CppProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.write_text('#!/bin/sh\nexec c++ "$@"\n')
    real.chmod(0o755)
    monkeypatch.setenv("CXX", f"env {real}")
    before = plain.parts(plain.describe())
    real.write_text('#!/bin/sh\n# upgraded\nexec c++ "$@"\n')
    assert changed(before, plain.parts(plain.describe())) == {f"compiler {real}"}
