"""The normal form of source: the same text for the same code, in every layout and every version of Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from golden_tasks import digest
from golden_tasks.fingerprint import normal_form, of_python_file

VARIED = '''"""Doc."""
from . import m as n
x: int = 0x10 + 1_000.5j
y = f"{x!r:>{n}}{x=}{{}}" "é\U0001fae8"
@dec(1)
async def f(a, /, b=1, *c, d: "T", e=2, **g) -> None:
    """Doc."""
    async with a as b: return await c[1:, ...]
class K(Base, metaclass=M):
    \'\'\'Doc.\'\'\'
    def f(self): "Doc."
match x:
    case [1, *r] | {"k": K(v=None)} if r: pass
'''
PINNED = (
    "Module(body=[ImportFrom(names=[alias(name=str:'m' asname=str:'n' ) ] level=int:1 ) "
    "AnnAssign(target=Name(id=str:'x' ) annotation=Name(id=str:'int' ) value=BinOp(left=Constant(value=int:16 ) "
    "op=Add() right=Constant(value=complex:1000.5j ) ) simple=int:1 ) Assign(targets=[Name(id=str:'y' ) ] "
    "value=JoinedStr(values=[FormattedValue(value=Name(id=str:'x' ) conversion=int:114 "
    "format_spec=JoinedStr(values=[Constant(value=str:'>' ) FormattedValue(value=Name(id=str:'n' ) conversion=int:-1 "
    ") ] ) ) Constant(value=str:'x=' ) FormattedValue(value=Name(id=str:'x' ) conversion=int:114 ) "
    "Constant(value=str:'{}\\xe9\\U0001fae8' ) ] ) ) AsyncFunctionDef(name=str:'f' "
    "args=arguments(posonlyargs=[arg(arg=str:'a' ) ] args=[arg(arg=str:'b' ) ] vararg=arg(arg=str:'c' ) "
    "kwonlyargs=[arg(arg=str:'d' annotation=Constant(value=str:'T' ) ) arg(arg=str:'e' ) ] kw_defaults=[NoneType:None"
    " Constant(value=int:2 ) ] kwarg=arg(arg=str:'g' ) defaults=[Constant(value=int:1 ) ] ) "
    "body=[AsyncWith(items=[withitem(context_expr=Name(id=str:'a' ) optional_vars=Name(id=str:'b' ) ) ] "
    "body=[Return(value=Await(value=Subscript(value=Name(id=str:'c' ) "
    "slice=Tuple(elts=[Slice(lower=Constant(value=int:1 ) ) Constant(value=ellipsis:Ellipsis ) ] ) ) ) ) ] ) ] "
    "decorator_list=[Call(func=Name(id=str:'dec' ) args=[Constant(value=int:1 ) ] ) ] "
    "returns=Constant(value=NoneType:None ) ) ClassDef(name=str:'K' bases=[Name(id=str:'Base' ) ] "
    "keywords=[keyword(arg=str:'metaclass' value=Name(id=str:'M' ) ) ] body=[FunctionDef(name=str:'f' "
    "args=arguments(args=[arg(arg=str:'self' ) ] ) ) ] ) Match(subject=Name(id=str:'x' ) "
    "cases=[match_case(pattern=MatchOr(patterns=[MatchSequence(patterns=[MatchValue(value=Constant(value=int:1 ) ) "
    "MatchStar(name=str:'r' ) ] ) MatchMapping(keys=[Constant(value=str:'k' ) ] "
    "patterns=[MatchClass(cls=Name(id=str:'K' ) kwd_attrs=[str:'v' ] kwd_patterns=[MatchSingleton() ] ) ] ) ] ) "
    "guard=Name(id=str:'r' ) ) ] ) ] )"
)


def test_the_normal_form_is_the_same_in_every_version_of_python() -> None:
    """The text was written down once; a Python that gives another one makes every snapshot stale."""
    assert normal_form(ast.parse(VARIED)) == PINNED


def test_the_normal_form_ignores_how_a_text_is_laid_out() -> None:
    tight = "def f(a,b=(1)):\n  'doc'\n  return {'k':a+b}"
    loose = '# comment\ndef f(\n    a,\n    b=0x1,\n):\n\n    return {  # comment\n        "k": (a + b)\n    }\n'

    assert normal_form(ast.parse(tight)) == normal_form(ast.parse(loose))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - (b - c)", "a - b - c"),
        ("x = 1", "x = True"),
        ("x = 1", "x = 1.0"),
        ("x = '1'", "x = 1"),
        ("x = b'a'", "x = 'a'"),
        ("x = ''", "x = f''"),
        ("f'{a}'", "f'{a!r}'"),
        ("f(*a)", "f(**a)"),
        ("(a,)", "[a]"),
        ("a[b]", "a[b,]"),
        ("{**a}", "{a}"),
        ("x = None", "x"),
        ("def f(a, /): 1", "def f(a): 1"),
        ("def f(*, a): 1", "def f(a): 1"),
        ("def f(a: int): 1", "def f(a): 1"),
        ("async def f(): 1", "def f(): 1"),
        ("from . import a", "from .. import a"),
        ("if x: 1", "if y: 1"),
        ("if True: f()\nelse: g()", "if False: f()\nelse: g()"),
        ("while True: f()", "while False: f()"),
        ("def f():\n return 1", "def f():\n return 1\n yield"),
        ("def f():\n return x", "def f():\n return x\n x = 1"),
        ("def f():\n if 0: yield", "def f(): pass"),
        ("def f():\n if a: return 1\n return 2", "def f():\n if a: return 1"),
    ],
)
def test_the_normal_form_tells_different_code_apart(one: str, other: str) -> None:
    assert normal_form(ast.parse(one)) != normal_form(ast.parse(other))


@pytest.mark.parametrize(
    "without_effect",
    ["pass", "...", "'a text'", "if 0: h()", "while 0: h()", "if False: return h()"],
)
def test_the_normal_form_ignores_what_is_never_run_or_does_nothing(without_effect: str) -> None:
    form = normal_form(ast.parse("def f():\n g()\n return 1"))

    assert normal_form(ast.parse(f"def f():\n g()\n {without_effect}\n return 1")) == form
    assert normal_form(ast.parse(f"def f():\n g()\n return 1\n {without_effect}")) == form
    assert normal_form(ast.parse(f"def f():\n if 1: g()\n else:\n  {without_effect}\n return 1")) == form


def test_a_file_in_another_layout_has_the_same_digest(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_bytes(b"x = 1\n")
    other.write_bytes(b"# -*- coding: latin-1 -*-\r\n# \xe4\r\nx=(1)")

    assert of_python_file(str(one)) == of_python_file(str(other))


@pytest.mark.parametrize(
    "content", [b"def f(:", b"x = '\xff'", b"\x00", b"x = " + b"-" * 9999 + b"1", b"a" + b".a" * 9999]
)
def test_a_file_that_cannot_be_read_as_python_counts_by_its_bytes(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "k.py"
    file.write_bytes(content)

    assert of_python_file(str(file)) == digest.of_bytes(content)
