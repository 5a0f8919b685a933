"""The normal form of Python source: its syntax tree without docstrings, comments, formatting, positions and dead code.

The form is our own, since `ast.dump` differs between Python versions: fields that are empty are left out, and so a
field that a newer Python adds changes nothing until it is used. Annotations count where a decorator may read them.
"""

from __future__ import annotations

import ast

from golden_tasks import digest

_LEFT_OUT = {"ctx", "kind", "type_comment", "type_ignores"}
_STATEMENTS = ("body", "orelse", "finalbody")
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BINDS = (  # what changes a function even where it is never reached: which names are its own, whether it is a generator
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal),
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.ExceptHandler),
    *(ast.MatchAs, ast.MatchStar, ast.MatchMapping),
)


def normal_form(node: ast.AST) -> str:
    """The normal form of a syntax tree."""
    out: list[str] = []
    _write(node, out)
    return "".join(out)


def of_python_file(path: str) -> str:
    """The digest of a Python file's normal form; of its bytes if it is no valid Python or nested too deeply.

    Raises `OSError`.
    """
    with open(path, "rb") as file:
        content = file.read()
    try:
        return digest.of_text(normal_form(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return digest.of_bytes(content)


def _write(value: object, out: list[str]) -> None:
    if isinstance(value, ast.AST):
        out.append(type(value).__name__)
        out.append("(")
        for name, field in ast.iter_fields(value):
            if name in _STATEMENTS and isinstance(field, list):
                field = live(field)
            if name == "values" and isinstance(value, ast.JoinedStr):
                field = [item for item in field if not _is_empty_text(item)]  # Python 3.12.0 to 3.12.3 write them
            if name in _LEFT_OUT or (field in (None, []) and not isinstance(value, ast.Constant)):
                continue
            out.append(f"{name}=")
            _write(field, out)
            out.append(" ")
        out.append(")")
    elif isinstance(value, list):
        out.append("[")
        for item in value:
            _write(item, out)
            out.append(" ")
        out.append("]")
    else:
        out.append(f"{type(value).__name__}:{value!a}")  # which letters `repr` escapes differs between versions


def _is_empty_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == ""


def live(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without those that do nothing, docstrings among them, and without those that are never reached."""
    kept: list[ast.stmt] = []
    for i, statement in enumerate(body):
        if not _does_nothing(statement):
            branch = _only_branch(statement)
            kept += [statement] if branch is None else live(branch)
        if kept and isinstance(kept[-1], _ENDS) and not any(map(_binds, body[i + 1 :])):
            break
    return kept


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _only_branch(statement: ast.stmt) -> list[ast.stmt] | None:
    """What runs of an `if` or `while` with a constant as its condition, if the rest can be left out."""
    if not isinstance(statement, (ast.If, ast.While)) or not isinstance(statement.test, ast.Constant):
        return None
    if isinstance(statement, ast.While) and statement.test.value:
        return None
    run, never = (statement.body, statement.orelse) if statement.test.value else (statement.orelse, statement.body)
    return None if any(map(_binds, never)) else run


def _binds(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, _BINDS) or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
        for node in ast.walk(statement)
    )
