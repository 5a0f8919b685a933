"""C++ sources in normal form: what compiles to the same has one digest, and what does not has another."""

from __future__ import annotations

from pathlib import Path

import pytest
from cpp_project import BACKEND, CppProject, scale
from hypothesis import given
from hypothesis import strategies as st

from golden_tasks.backends import unremembered
from golden_tasks.backends.cpu.source import digest_text, included, is_positional

SAME = {
    "comment": ("int a = 1;", "int a = 1;  // one"),
    "block comment": ("int a = 1;", "int /* of\nmany lines */ a = 1;"),
    "blanks": ("f((x)[1]);", "f( ( x ) [ 1 ] ) ;"),
    "lines": ("if (a) b(); else c();", "if (a)\n    b();\nelse\n    c();\n"),
    "line ends": ("int a;\nint b;\n", "int a;\r\nint b;\r\n"),
    "a line that goes on": ("int ab;", "int a\\\nb;"),
    "blanks in a directive": ("#define F(x) (x)\nF(1)", "  #  define   F(x)   (x)   // twice\nF(1)"),
    "a comment in a directive": ("#define A 1\n", "#define /* the */ A 1\n"),
    "a comment with a quote": ("int a;", "int a; // don't"),
    "an apostrophe in a number": ("int a = 1'000;", "int a = 1'000 ;"),
    "a comment sign in a text": ('f("//", 1);', 'f( "//" , 1 );  // two'),
}
OTHER = {
    "a value": ("int a = 1;", "int a = 2;"),
    "a blank in a text": ('f("a b");', 'f("a  b");'),
    "a comment sign in a text": ('f("/* a */");', 'f("/* b */");'),
    "a character": ("f(' ');", "f('  ');"),
    "joined words": ("int ab;", "int a b;"),
    "joined signs": ("a = b + +c;", "a = b ++c;"),
    "a macro with and without arguments": ("#define F(x) x\n", "#define F (x) x\n"),
    "the end of a directive": ("#define A 1\nb", "#define A 1 b\n"),
    "a condition": ("#if A\nint a;\n#endif\n", "#if B\nint a;\n#endif\n"),
    "a sign in a comment": ("int a; /* # */ # define A", "int a;\n# define A"),
    "a raw text": ('f(R"(a // b)");', 'f(R"(a // c)");'),
    "a path with two slashes": ("#include <a//b.h>\n", "#include <a//c.h>\n"),
    "a number": ("x = 1'000;", "x = 1000;"),
    "a suffix": ('f("a"s);', 'f("a" s);'),
}


def digest(folder: Path, text: str) -> str:
    (folder / "x.cpp").write_bytes(text.encode())
    return digest_text(str(folder / "x.cpp"))


@pytest.mark.parametrize("name", SAME)
def test_what_compiles_to_the_same_has_one_digest(tmp_path: Path, name: str) -> None:
    first, second = SAME[name]

    assert digest(tmp_path, first) == digest(tmp_path, second)


@pytest.mark.parametrize("name", OTHER)
def test_what_may_compile_to_something_else_has_another_digest(tmp_path: Path, name: str) -> None:
    first, second = OTHER[name]

    assert digest(tmp_path, first) != digest(tmp_path, second)


TOKENS = st.lists(
    st.sampled_from(["a", "bc", "1", "1.5e-3", "+", "++", "-", "->", ">", ">>=", "(", ")", '"x // y"', "'c'", "#", ";"])
)
GAPS = st.sampled_from([" ", "\t ", " /* c */ ", " /* c\n */ ", " \\\n "])


@given(TOKENS, TOKENS, GAPS)
def test_tokens_alone_make_the_digest(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str], gap: str
) -> None:
    folder = tmp_path_factory.getbasetemp()

    same = digest(folder, "int " + " ".join(first)) == digest(folder, "int" + gap + gap.join(second))

    assert same is (first == second)


@pytest.mark.parametrize(
    ("text", "positional"),
    [
        ("int a = __LINE__;", True),
        ("assert(a == b);", True),
        ("#define TEXT(x) #x\n", True),
        ("#define JOIN(a, b) a##b\n", False),
        ("#ifdef A\n#define B 1\n#endif\n", False),
        ("static_assert(a == b);", False),
        ("// __LINE__\nint a;", False),
    ],
)
def test_what_shows_lines_or_spellings_is_told_apart(tmp_path: Path, text: str, positional: bool) -> None:
    (tmp_path / "x.cpp").write_text(text)

    assert is_positional(str(tmp_path / "x.cpp")) is positional


def test_what_is_included_and_asked_for_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.cpp").write_text(
        '#include "own.h"\n#  include <vector> // c\n/* #include "not.h" */\n'
        '#if __has_include("maybe.h") && __has_include( <sys/x.h> )\n#endif\n'
    )

    assert included(str(tmp_path / "x.cpp")) == {'"own.h', "<vector", '"maybe.h', "<sys/x.h"}


LINES = 'extern "C" int line() { return __LINE__; }\n'


@pytest.mark.parametrize(("extra", "kept"), [("", True), (LINES, False)], ids=["plain", "with lines"])
def test_a_comment_makes_a_build_stale_only_where_lines_show(tmp_path: Path, extra: str, kept: bool) -> None:
    project = CppProject(tmp_path, {"kernels/scale.cpp": f"{scale()}{extra}"})
    build = project.compile(project.describe())
    project.write("kernels/scale.cpp", f"// a comment\n{scale()}{extra}")

    with project.current():
        found = {path: BACKEND.content(path, was, unremembered) for path, was in build.found.items()}
    parts = project.parts(project.describe())

    assert parts == {part: build.made_from[part] for part in parts}
    assert (found == build.found) is kept
