"""Platform cpu: what does not compile is explained in the user's words, at the user's own file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

import pytest
import torch
from cpp_project import BACKEND, SIGNATURE, SPECS, CppProject, run, scale, scaled

from golden_tasks.results import Failure, Status
from golden_tasks.specs import ScalarSpec, Spec, TensorSpec

X, FACTOR, Y = SIGNATURE.replace(", gt", "; gt").replace(", float f", "; float f").split("; ")
WANTED = f"the specs ask for\n    void scale({SIGNATURE})"


@pytest.fixture
def project(tmp_path: Path) -> CppProject:
    return CppProject(tmp_path)


def kernel(parameters: str = SIGNATURE, before: str = "", after: str = "", returns: str = "void") -> str:
    body = "{ return 0; }" if returns == "int" else "{}"
    return f'#include "golden_tasks.h"\n{before}{returns} scale({parameters}) {after} {body}\n'


def refusal(project: CppProject, source: str, specs: Sequence[Spec] = SPECS, **options: object) -> str:
    """The message with which a kernel does not compile."""
    project.write("kernels/scale.cpp", source)
    with pytest.raises(Failure) as failed:
        project.compile(project.describe(**options), specs)
    assert failed.value.status is Status.COMPILE_ERROR
    return failed.value.message


def test_a_wrong_number_of_arguments_names_the_specs_and_the_declaration_that_they_ask_for(project: CppProject) -> None:
    expected = (
        "kernels/scale.cpp: kernel 'scale' must take 3 arguments, one for each spec: x, factor, y; the kernel takes"
    )
    assert refusal(project, kernel(f"{X}, {Y}")) == f"{expected} 2\n{WANTED}"
    assert refusal(project, kernel(f"{X}, {FACTOR}, {Y}, int extra")) == f"{expected} 4\n{WANTED}"
    assert refusal(project, kernel("")) == f"{expected} 0\n{WANTED}"


FIRST = (
    "argument 1 of kernel 'scale' must be gt::Tensor<const float, 2>: spec 'x' is float32 [4, 8], input; "
    "the kernel takes"
)
SECOND = "argument 2 of kernel 'scale' must be float: spec 'factor' is float32 scalar; the kernel takes"
THIRD = (
    "argument 3 of kernel 'scale' must be gt::Tensor<float, 2>: spec 'y' is float32 [4, 8], output; the kernel takes"
)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (f"{X}, {FACTOR}, gt::Tensor<double, 2> y", [f"{THIRD} gt::Tensor<double, 2>"]),
        (f"{X}, {FACTOR}, gt::Tensor<gt::bfloat16, 2> y", [f"{THIRD} gt::Tensor<gt::bfloat16, 2>"]),
        (f"gt::Tensor<float, 2> x, {FACTOR}, {Y}", [f"{FIRST} gt::Tensor<float, 2>"]),
        (f"{X}, {FACTOR}, gt::Tensor<const float, 2> y", [f"{THIRD} gt::Tensor<const float, 2>"]),
        (f"gt::Tensor<const float, 3> x, {FACTOR}, {Y}", [f"{FIRST} gt::Tensor<const float, 3>"]),
        (f"{X}, double factor, {Y}", [f"{SECOND} double"]),
        (f"{X}, const float* factor, {Y}", [f"{SECOND} const float*"]),
        (f"{X}, float& factor, {Y}", [f"{SECOND} float&"]),
        (f"{X}, void (*factor)(int, {Y}), {Y}", [f"{SECOND} void (*)(int, gt::Tensor<float, 2>)"]),
        (f"{Y}, {FACTOR}, {X}", [f"{FIRST} gt::Tensor<float, 2>", f"{THIRD} gt::Tensor<const float, 2>"]),
    ],
    ids=[
        *("element", "stored element", "const missing", "const output", "rank", "scalar type", "pointer", "reference"),
        *("function", "order"),
    ],
)
def test_an_argument_that_disagrees_with_its_spec_is_named_with_the_type_that_it_must_have(
    project: CppProject, parameters: str, said: list[str]
) -> None:
    message = refusal(project, kernel(parameters))
    assert message == "kernels/scale.cpp: " + "\n".join([*said, WANTED])


def test_every_role_and_odd_names_are_worded(project: CppProject) -> None:
    specs = [
        TensorSpec('the "größte" value', (), torch.bfloat16, 0),
        TensorSpec("cache", (2,), torch.int8, 0, is_output=True),
        ScalarSpec("int", torch.int64, 0),
    ]
    message = refusal(project, kernel("int a, int b, int c"), specs)
    assert message == (
        "kernels/scale.cpp: argument 1 of kernel 'scale' must be gt::Tensor<const gt::bfloat16, 0>: "
        "spec 'the \"größte\" value' is bfloat16 [], input; the kernel takes int\n"
        "argument 2 of kernel 'scale' must be gt::Tensor<std::int8_t, 1>: spec 'cache' is int8 [2], inout; "
        "the kernel takes int\n"
        "argument 3 of kernel 'scale' must be std::int64_t: spec 'int' is int64 scalar; the kernel takes int\n"
        "the specs ask for\n"
        "    void scale(gt::Tensor<const gt::bfloat16, 0>, gt::Tensor<std::int8_t, 1> cache, std::int64_t)"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("void other() {}\n", "there is no function 'scale'"),
        (kernel(returns="int"), "kernel 'scale' must return void: its results are its output tensors"),
        ("int scale = 3;\n", "'scale' is no function"),
        (kernel(f"{SIGNATURE}, ..."), "'scale' is no function"),
        (
            kernel(before="void scale(int) {}\nvoid scale(double) {}\n", parameters=f"{X}, {Y}"),
            "kernel 'scale' is overloaded or a template, and none of them is what the specs ask for",
        ),
    ],
    ids=["missing", "not void", "variable", "variadic", "overloaded"],
)
def test_what_is_no_kernel_for_the_specs_is_told_in_one_sentence(project: CppProject, source: str, said: str) -> None:
    assert refusal(project, source) == f"kernels/scale.cpp: {said}\n{WANTED}"


@pytest.mark.parametrize(
    ("parameters", "said", "stumbles"),
    [
        (f"{X}, {FACTOR}, gt::Tensor<const float, 2> y", f"{THIRD} gt::Tensor<const float, 2>", True),
        (f"{X}, {FACTOR}, gt::Tensor<float, 1> y", f"{THIRD} gt::Tensor<float, 1>", False),
        (
            f"{X}, {Y}",
            "kernel 'scale' must take 3 arguments, one for each spec: x, factor, y; the kernel takes 2",
            True,
        ),
    ],
    ids=["const output", "rank", "argument missing"],
)
def test_wrong_parameters_are_told_before_what_the_compiler_says_of_their_use(
    project: CppProject, parameters: str, said: str, stumbles: bool
) -> None:
    lines = refusal(project, scale().replace(SIGNATURE, parameters), tiles={"TILE": 1}).splitlines()
    first, rest = f"kernels/scale.cpp: {said}", lines[3:]
    assert lines[:3] == [first, *WANTED.splitlines()]
    assert bool(rest) == stumbles
    if stumbles:
        assert rest[0] == "the compiler's first error is" and rest[1].startswith("    kernels/scale.cpp:5:")


def test_a_parameter_whose_type_cannot_be_read_is_told_as_the_compiler_tells_it(project: CppProject) -> None:
    message = refusal(project, scale().replace(Y, Y.replace("float", "flaot")))
    assert message.startswith("kernels/scale.cpp:3:") and "'flaot'" in message.splitlines()[0]
    assert "must be" not in message and "overloaded" not in message and "there is no function" not in message


@pytest.mark.parametrize("tiles", range(4))
def test_a_wrong_number_of_indices_is_told_at_the_kernels_own_line(project: CppProject, tiles: int) -> None:
    source = scale().replace("y(i, j) =", "y(i) =")
    message = refusal(project, source, tiles={f"TILE_{number}": 1 for number in range(tiles)})
    first = message.splitlines()[0]
    assert first.startswith("kernels/scale.cpp:5: error: static assertion failed")
    assert first.endswith("gt::Tensor: one index for each dimension")
    assert "there is no function" not in message and "overloaded" not in message


BODY = "{ y(3, 7) = 2 * factor; }"


@pytest.mark.parametrize(
    "definition",
    [
        f"void scale(const gt::Tensor<const float, 2>& x, const float& factor, const gt::Tensor<float, 2>& y) {BODY}",
        f"void scale(const {X}, const {FACTOR}, const {Y}) noexcept {BODY}",
        f"static void scale({SIGNATURE}) {BODY}",
        f'extern "C" void scale({SIGNATURE}) {BODY}',
        f"void scale(int) {{}}\nvoid scale({SIGNATURE}) {BODY}",
        f"template <class T> void scale(gt::Tensor<const T, 2> x, T factor, gt::Tensor<T, 2> y) {BODY}",
    ],
    ids=["const references", "const and noexcept", "static", "extern C", "overloaded", "template"],
)
def test_every_way_to_write_the_kernel_that_the_specs_ask_for_is_accepted(project: CppProject, definition: str) -> None:
    project.write("kernels/scale.cpp", f'#include "golden_tasks.h"\n{definition}\n')
    build = project.compile(project.describe())
    assert run(project.path("runtime"), build, factor=torch.tensor(4.0))["y"][3, 7] == 8


def test_a_kernel_may_have_the_name_of_a_function_of_the_c_library(project: CppProject) -> None:
    project.write(
        "kernels/exp.cpp",
        scale().replace("void scale", "void exp").replace("#include", "#include <cmath>\n#include", 1),
    )
    build = project.compile(project.describe("kernels/exp.cpp"))
    assert scaled(project.path("runtime"), build) == 2


def test_a_kernel_may_lie_in_a_namespace(project: CppProject) -> None:
    source = scale().replace("void scale", "namespace ops::v2 {\nvoid scale") + "}\n"
    project.write("kernels/scale.cpp", source)

    build = project.compile(project.describe(function="ops::v2::scale"))
    message = refusal(project, source, function="ops::scale")

    assert scaled(project.path("runtime"), build) == 2
    assert message.startswith("kernels/scale.cpp: there is no function 'ops::scale'\n")


@pytest.mark.parametrize("function", ["two words", "3d", "scale()", "a::", " ", "a.b", "double"])
def test_a_function_that_c_cannot_name_is_refused_before_the_compiler_is_called(
    project: CppProject, function: str
) -> None:
    with pytest.raises(Failure, match="is no name of a C\\+\\+ function") as failed:
        project.describe(function=function)
    assert failed.value.status is Status.COMPILE_ERROR


def test_macros_that_a_kernel_leaves_defined_do_not_reach_the_generated_code(project: CppProject) -> None:
    macros = "".join(
        f"#define {name} 7\n" for name in ("T", "F", "R", "P", "I", "N", "RANK", "COUNT", "x", "data", "view")
    )
    project.write("kernels/scale.cpp", scale() + macros)
    assert scaled(project.path("runtime"), project.compile(project.describe())) == 2


def test_generated_code_raises_no_warning(project: CppProject) -> None:
    project.write("kernels/scale.cpp", scale())
    flags = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Werror"
    assert scaled(project.path("runtime"), project.compile(project.describe(flags=flags))) == 2


def test_a_warning_does_not_fail(project: CppProject) -> None:
    project.write("kernels/scale.cpp", scale(before="static int unused() { int never; }"))
    assert scaled(project.path("runtime"), project.compile(project.describe(flags=["-Wall"]))) == 2


def test_a_syntax_error_is_shown_first_with_the_users_file_and_line(project: CppProject) -> None:
    message = refusal(project, scale(before="\nint broken = ;"))
    first, *rest = message.splitlines()
    assert first.startswith("kernels/scale.cpp:3:14: error: expected ")
    assert "int broken = ;" in message and "runtime" not in message
    assert not any(line.startswith("In file included from orchestration") for line in rest)


@pytest.mark.parametrize(
    ("header", "shown"),
    [("kernels/own.h", "own.h"), ("kernels/sub/own.h", "sub/own.h"), ("common/own.h", "../common/own.h")],
)
def test_an_error_in_a_header_is_shown_at_the_users_own_header(project: CppProject, header: str, shown: str) -> None:
    project.write(header, "#pragma once\n\nint broken = ;\n")
    first = refusal(project, scale(before=f'#include "{shown}"')).splitlines()[0]
    path, _, rest = first.partition(":")
    assert os.path.normpath(path) == header
    assert rest.startswith("3:14: error: expected ")


def test_a_missing_header_is_shown_where_it_is_included(project: CppProject) -> None:
    first = refusal(project, scale(before='#include "nowhere.h"')).splitlines()[0]
    assert first.startswith("kernels/scale.cpp:2:10: fatal error: ") and "nowhere.h" in first


def test_an_error_directive_is_shown_with_its_text(project: CppProject) -> None:
    source = scale(before='#if TILE > 64\n#error "TILE must be 64 or less"\n#endif')
    first = refusal(project, source, tiles={"TILE": 65}).splitlines()[0]
    assert first.startswith("kernels/scale.cpp:3:2: error: ") and "TILE must be 64 or less" in first


def test_a_function_that_is_declared_but_nowhere_defined_is_a_compile_error(project: CppProject) -> None:
    message = refusal(project, scale("elsewhere()", before="float elsewhere();"))
    assert "undefined reference to `elsewhere()'" in message.splitlines()[0]


def test_the_compilers_words_are_cut_after_forty_lines(project: CppProject) -> None:
    message = refusal(project, scale(before="\n".join(f"int broken{i} = ;" for i in range(60))))
    assert len(message.splitlines()) <= 42
    assert message.splitlines()[-1].startswith("... and ") and message.endswith(" more lines")


def test_a_source_that_does_not_exist_is_named(project: CppProject) -> None:
    with pytest.raises(Failure) as failed:
        project.compile(project.describe("kernels/gone.cpp"))
    assert failed.value.status is Status.COMPILE_ERROR
    mend = "CppKernel(...) names it from its kernel file's folder"
    assert failed.value.message == f"kernels/gone.cpp: No such file or directory; {mend}"


def test_tile_parameters_reach_the_kernel_as_macros_of_every_kind(project: CppProject) -> None:
    tiles = {
        "INT": 3,
        "NEGATIVE": -2,
        "FLOAT": 0.25,
        "SMALL": 1e-3,
        "ON": True,
        "OFF": False,
        "TEXT": "3 + 4",
        "KIND": "float",
    }
    project.write(
        "kernels/scale.cpp",
        scale("INT * 100 + -NEGATIVE * 10 + FLOAT + ON + (OFF ? 9000 : 0) + KIND((TEXT) * 1000) + (SMALL > 0)"),
    )
    build = project.compile(project.describe(tiles=tiles))
    assert scaled(project.path("runtime"), build) == 320 + 0.25 + 1 + 7000 + 1


@pytest.mark.parametrize(
    ("value", "says"),
    [("3x", "'operator\"\"x'|suffix 'x'"), ("nowhere", "'nowhere'")],
    ids=["no number", "unknown name"],
)
@pytest.mark.parametrize("place", ["kernels/scale.cpp", "kernels/own.h"])
def test_a_tile_value_that_does_not_compile_is_named_with_the_line_that_uses_it(
    project: CppProject, place: str, value: object, says: str
) -> None:
    use = "inline float used() { return TILE_M; }"
    project.write("kernels/own.h", f"{use}\n")
    source = scale(before=use if place.endswith(".cpp") else '#include "own.h"')
    first, *rest = refusal(project, source, tiles={"OTHER": 1, "TILE_M": value}).splitlines()
    line = 2 if place.endswith(".cpp") else 1
    assert re.fullmatch(rf"{place}:{line}: tile parameter TILE_M is {value}: .*(?:{says}).*", first)
    assert len(rest) == 2 and rest[0].endswith(use) and rest[1].strip(" |~") == "^"


@pytest.mark.parametrize(
    ("value", "shown"), [("3 +", " (TILE_M is 3 +)"), (-1, " (TILE_M is -1)"), (2.5, " (TILE_M is 2.5)"), (0, "")]
)
def test_an_error_shows_the_values_of_the_tile_parameters_in_its_line(
    project: CppProject, value: object, shown: str
) -> None:
    before = "inline float used() { return 2 * sizeof(std::array<char, (TILE_M)>) + missing; }"
    first = refusal(project, scale(before=before), tiles={"OTHER": -1, "TILE_M": value}).splitlines()[0]
    assert re.fullmatch(rf"kernels/scale.cpp:2(:\d+: error: .*{re.escape(shown)}|: tile parameter TILE_M is .*)", first)


def test_a_tile_parameter_may_have_a_name_that_the_headers_use_themselves(project: CppProject) -> None:
    names = ("T", "N", "F", "R", "P", "I", "RANK", "COUNT", "MANTISSA", "Bits", "n", "bits", "half", "view", "tensor")
    project.write("kernels/scale.cpp", scale(" + ".join(names)))
    build = project.compile(project.describe(tiles=dict.fromkeys(names, 1)))
    assert scaled(project.path("runtime"), build) == len(names)


@pytest.mark.parametrize(
    "name", ["TILE M", "2D", "TILE-M", "", "int", "float", "defined", "std", "gt", "scale", "A(x)"]
)
def test_a_tile_parameter_that_cannot_be_a_macro_is_refused_by_name(project: CppProject, name: str) -> None:
    with pytest.raises(Failure) as failed:
        project.describe(tiles={name: 1})
    assert failed.value.status is Status.COMPILE_ERROR
    assert f"tile parameter {name!r} " in failed.value.message


@pytest.mark.parametrize(
    "value", [None, [1], float("inf"), float("nan"), "two\nlines", "end\\", 1j, torch.tensor(1)], ids=repr
)
def test_a_tile_value_that_cannot_be_a_macro_is_refused_by_name(project: CppProject, value: object) -> None:
    with pytest.raises(Failure) as failed:
        project.describe(tiles={"TILE_M": value})
    assert failed.value.status is Status.COMPILE_ERROR
    assert failed.value.message.startswith(f"tile parameter TILE_M is {value!r}: a C++ macro takes ")


def test_a_subclass_of_int_as_a_tile_value_counts_as_its_number(project: CppProject) -> None:
    class Tile(IntEnum):
        SMALL = 16

    class Number(int):
        def __str__(self) -> str:
            return "something else"

    plan = project.describe(tiles={"A": Tile.SMALL, "B": Number(3)}).plan
    assert plan["defines"] == {"A": "16", "B": "3"}


def test_an_unknown_sanitizer_is_refused_with_those_that_exist(project: CppProject) -> None:
    with pytest.raises(Failure, match=r"no sanitizer \['thread'\]: choose from \['address', 'undefined'\]"):
        project.describe(sanitize="thread")


def test_a_program_of_another_kind_is_refused(project: CppProject) -> None:
    with pytest.raises(Failure) as failed:
        BACKEND.describe(print, "cpu", {}, {})
    assert failed.value.message == "platform 'cpu' takes a CppKernel as its program, not a builtin_function_or_method"
