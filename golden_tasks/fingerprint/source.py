"""The normal form of Python source: its syntax tree without docstrings, comments, formatting and positions.

The form is our own, since `ast.dump` differs between Python versions: fields that are empty are left out, and so a
field that a newer Python adds changes nothing until it is used. Annotations count: decorators may read them.
"""

from __future__ import annotations

import ast

from golden_tasks import digest

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_LEFT_OUT = {"ctx", "kind", "type_comment", "type_ignores"}


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
            if name == "body" and isinstance(value, _DOCUMENTED):
                field = _without_docstring(field)
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


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body
