"""Finds the line of a source that a reader should look at, for messages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_NUMBER_OR_ITEM = re.compile(r" \(\d+\)$|\[.*")


def line_of(file: str, name: str, parameters: bool = True) -> int | None:
    """The line that gives `name` its value: `TILE`, `Config.rows`, `f default x`; None if it is not found.

    `parameters` says whether a function's parameter of that name counts.
    """
    tree = _parsed(file)
    if tree is None:
        return None
    first, *rest = _NUMBER_OR_ITEM.sub("", name).split(" ")
    line, scope = None, tree
    for word in [*first.split("."), *rest[-1:]]:
        found = next((node for node in _givers(scope, word) if parameters or not isinstance(node, ast.arg)), None)
        if found is not None:
            line = found.lineno
            scope = found if isinstance(found, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else scope
    return line


def line_of_spec(file: str, name: str) -> int | None:
    """The line of the spec of an argument; None if it is not found."""
    tree = _parsed(file)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Spec"):
            named = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "name")]
            if any(isinstance(value, ast.Constant) and value.value == name for value in named):
                return node.lineno
    return None


def _parsed(file: str) -> ast.AST | None:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _givers(scope: ast.AST, name: str) -> Iterator[ast.stmt | ast.expr | ast.arg]:
    """The nodes that give a name its value, those in front that most likely are meant."""
    nodes = list(ast.walk(scope))
    for node in nodes:
        if isinstance(node, ast.Assign) and any(_stores(target, name) for target in node.targets):
            yield node
        if isinstance(node, ast.AnnAssign) and _stores(node.target, name):
            yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            yield node
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
            yield from [node] if name in names else []
    for node in nodes:
        if isinstance(node, ast.arg) and node.arg == name:
            yield node
        if isinstance(node, ast.Dict):
            yield from (key for key in node.keys if isinstance(key, ast.Constant) and key.value == name)
        if isinstance(node, ast.keyword) and node.arg == name:
            yield node.value


def _stores(target: ast.expr, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name for node in ast.walk(target)
    )
