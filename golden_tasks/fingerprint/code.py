"""Finds the source of live functions and classes, and what it names."""

from __future__ import annotations

import ast
import dis
import functools
import os
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

from golden_tasks.fingerprint.local import is_local

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
IMPORTS = ("import_module", "__import__")
_UNUSED_LINE = 10_000_000


def definitions_of(function: types.FunctionType) -> list[ast.AST]:
    """The definition of a function in its file: one node, but several for lambdas that cannot be told apart."""
    code = function.__code__
    source = _source(code.co_filename)
    if source is None:
        return []
    found = source.functions.get((code.co_name, code.co_firstlineno), [])
    return found if len(found) < 2 else _told_apart(found, source.tree, code)


def file_of_class(cls: type) -> str | None:
    """The file that defines a class: that of its methods in the project, else of its module, which may be another."""
    for key, item in vars(cls).items():
        function = getattr(item, "__func__", item)
        own = isinstance(function, types.FunctionType) and function.__qualname__ == f"{cls.__qualname__}.{key}"
        if own and is_local(function.__code__.co_filename):
            return str(function.__code__.co_filename)
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


def class_definitions_of(cls: type) -> list[ast.ClassDef]:
    """All definitions in a class's file that bear its qualified name."""
    source = _source(file_of_class(cls))
    if source is None:
        return []
    nodes: list[ast.AST] = [source.tree]
    for name in cls.__qualname__.replace(".<locals>", "").split("."):
        nodes = [n for node in nodes for n in _scope(node) if isinstance(n, _Definition) and n.name == name]
    return [node for node in nodes if isinstance(node, ast.ClassDef)]


def skeleton(node: ast.ClassDef, covered: set[str]) -> ast.ClassDef:
    """A class's definition without what the live class shows better: the methods and values that `covered` names."""
    body: list[ast.stmt] = []
    for item in node.body:
        if isinstance(item, _Definition) and item.name in covered:
            continue
        if isinstance(item, ast.Assign) and all(_is_covered(target, covered) for target in item.targets):
            continue
        if isinstance(item, ast.AnnAssign):
            item = _without_value(item, covered)
        body.append(item)
    fields = {**dict(ast.iter_fields(node)), "body": body}
    return ast.ClassDef(**fields)


def _is_covered(target: ast.expr, covered: set[str]) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(_is_covered(item, covered) for item in target.elts)
    return isinstance(target, ast.Name) and target.id in covered


def _without_value(item: ast.AnnAssign, covered: set[str]) -> ast.AnnAssign:
    """A class's `name: type = value` without the value; `field(default=1, compare=False)` says more than its value."""
    if isinstance(item.value, ast.Call) or not (isinstance(item.target, ast.Name) and item.target.id in covered):
        return item
    return ast.AnnAssign(item.target, item.annotation, None, item.simple)


def globals_used(code: types.CodeType) -> Iterator[str]:
    """The global names that a function's code loads, and those of the code inside it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from globals_used(constant)


def chains(node: ast.AST) -> Iterator[list[str]]:
    """`["a", "b", "c"]` for every expression a.b.c outside annotations, in order."""
    chain = _chain(node)
    if chain is not None:
        yield chain
        return
    for name, field in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for item in field if isinstance(field, list) else [field]:
                if isinstance(item, ast.AST):
                    yield from chains(item)


def imports(node: ast.AST, package: str) -> Iterator[str]:
    """The names of the modules that code imports; `package` is where relative imports start."""
    for item in ast.walk(node):
        if isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            start = package.split(".")[: package.count(".") + 2 - item.level] if item.level else []
            base = ".".join([*filter(None, start), *filter(None, [item.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in item.names)


def imports_of_file(file: str, package: str) -> Iterator[str]:
    """The names of the modules that a file imports; none if it is no Python."""
    source = _source(file)
    if source is not None:
        yield from imports(source.tree, package)


def imported_from(file: str | None, name: str, package: str) -> tuple[str, str] | None:
    """The module that a file imports a global from, and what it is called there; None if it is not imported so."""
    source = _source(file)
    found = source.imported.get(name, source.imported.get("*")) if source else None
    if found is None:
        return None
    item, original = found
    return next(imports(item, package)), name if original == "*" else original


def stores(file: str | None) -> list[tuple[list[str], str | None]]:
    """What a file sets attributes of, each with the attribute's name: None if that is computed."""
    source = _source(file)
    return source.stores if source else []


def uses_by_text(node: ast.AST, used: set[str]) -> Iterator[tuple[str, str | None]]:
    """What reaches code by its name as a text, each with that text if it is written out; `used` are globals' names."""
    for item in ast.walk(node):
        chain = _chain(item.func) if isinstance(item, ast.Call) else None
        if isinstance(item, ast.Call) and chain and chain[-1] in IMPORTS:
            first = item.args[0] if item.args else None
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
            yield chain[-1], text
        elif isinstance(item, ast.Name) and item.id in ("eval", "exec", "globals") and item.id in used:
            yield item.id, None
        elif isinstance(item, ast.Attribute) and item.attr in ("__globals__", "f_globals"):
            yield item.attr, None
        elif _chain(item) == ["sys", "modules"]:
            yield "sys.modules", None


class _Source:
    """A file's syntax tree, where in it functions start, what it imports by name and which attributes it sets."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.functions: dict[tuple[str, int], list[ast.AST]] = {}
        self.imported: dict[str, tuple[ast.ImportFrom, str]] = {}
        self.stores: list[tuple[list[str], str | None]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                self.functions.setdefault(("<lambda>", node.lineno), []).append(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                self.functions.setdefault((node.name, first), []).append(node)
            elif isinstance(node, ast.ImportFrom):
                self.imported.update({alias.asname or alias.name: (node, alias.name) for alias in node.names})
            else:
                self.stores += _stored(node)


def _stored(node: ast.AST) -> Iterator[tuple[list[str], str | None]]:
    name: object
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        holder, name = node.value, node.attr
    elif isinstance(node, ast.Call) and _chain(node.func) == ["setattr"] and len(node.args) == 3:
        holder, name = node.args[0], getattr(node.args[1], "value", None)
    else:
        return
    chain = _chain(holder)
    if chain is not None and chain[0] not in ("self", "cls"):
        yield chain, name if isinstance(name, str) else None


class _Read(ast.NodeTransformer):
    """Takes out annotations that nothing reads: those of a function's own names, and of undecorated functions."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                statements[:] = [self.visit(item) for item in statements]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if not node.decorator_list:
            node.body = [self.visit(item) if isinstance(item, _Definition) else item for item in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.copy_location(ast.Assign([node.target], node.value), node) if node.value else node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if not node.decorator_list:
            node.returns = None
            given = node.args
            for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
                if argument is not None:
                    argument.annotation = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef


def _source(file: str | None) -> _Source | None:
    try:
        return _parsed(file, os.stat(file).st_mtime_ns) if file else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.lru_cache(maxsize=1024)
def _parsed(file: str, _modified: int) -> _Source:
    return _Source(_Read().visit(ast.parse(Path(file).read_bytes())))


def _told_apart(nodes: list[ast.AST], tree: ast.Module, code: types.CodeType) -> list[ast.AST]:
    """Of several lambdas on one line, the one that compiles to `code`; all of them if none does.

    To know which node becomes which code, each lambda stands on a line of its own while the tree is compiled.
    """
    places = [(n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) for n in nodes]  # type: ignore[attr-defined]
    try:
        for i, node in enumerate(nodes):
            _place(node, (_UNUSED_LINE + i, _UNUSED_LINE + i, 0, 0))
        module = compile(tree, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return nodes
    finally:
        for node, place in zip(nodes, places, strict=True):
            _place(node, place)
    made = {inner.co_firstlineno: inner for inner in _all_code(module)}
    wanted = _without_lines(code)
    same = [
        n for i, n in enumerate(nodes) if _UNUSED_LINE + i in made and _without_lines(made[_UNUSED_LINE + i]) == wanted
    ]
    return same[:1] or nodes


def _place(node: ast.AST, place: Iterable[int | None]) -> None:
    for name, value in zip(("lineno", "end_lineno", "col_offset", "end_col_offset"), place, strict=True):
        setattr(node, name, value)


def _all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _all_code(constant)


def _without_lines(code: types.CodeType) -> tuple[object, ...]:
    constants = [_without_lines(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return code.co_code, tuple(constants), names, counts


def _scope(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node's own scope, definitions in it included but not entered."""
    for item in ast.iter_child_nodes(node):
        yield item
        if not isinstance(item, _SCOPES):
            yield from _scope(item)


def _chain(node: ast.AST) -> list[str] | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(names)]
