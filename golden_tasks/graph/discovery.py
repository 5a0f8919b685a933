"""Finds the cases that kernel files declare, by reading the files without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec

from golden_tasks.graph.memory import Memory

_REFUSED = set("@=:*?[]/\\")


class CaseRef(msgspec.Struct, frozen=True):
    """A case as its file's text shows it."""

    name: str
    file: str  # relative to the project
    line: int
    platforms: tuple[str, ...]
    has_main: bool  # whether the file can be run as a script


class DiscoveryError(Exception):
    """A kernel file declares its cases in a way that cannot be read; the message names file and line."""


class _Found(msgspec.Struct):
    cases: list[CaseRef] = []
    error: str = ""


def discover(files: list[str], memory: Memory) -> list[CaseRef]:
    """The cases of all files, in order. Raises `DiscoveryError`."""
    cases: dict[str, CaseRef] = {}
    for file in files:
        if not file.isprintable():
            raise DiscoveryError(f"{file!r}: a kernel file needs a name that can be printed: rename it")
        try:
            answer = memory.get("cases", file, _read)
        except OSError as error:
            raise DiscoveryError(f"{file}: cannot be read: {error.strerror}") from None
        try:
            found = msgspec.json.decode(answer, type=_Found)
        except msgspec.DecodeError:  # remembered by another version
            found = msgspec.json.decode(_read(file), type=_Found)
        if found.error:
            raise DiscoveryError(found.error)
        for case in found.cases:
            twin = cases.get(case.name)
            if twin is not None:
                raise DiscoveryError(
                    f"two cases are named {case.name!r}: {twin.file}:{twin.line} and {case.file}:{case.line}; "
                    "rename one of them"
                )
            cases[case.name] = case
    return list(cases.values())


def check_name(name: str) -> str | None:
    """Why a name cannot be a case's; None if it can."""
    if not name:
        return 'a case needs a name, such as Case("matmul", ...)'
    if name == "all":
        return "'all' names the group of all cases: name the case otherwise"
    wrong = sorted({c for c in name if c in _REFUSED or c.isspace() or not c.isprintable()})
    if wrong or name.startswith((".", "-")):
        return f"{name!r} cannot name a case: leave out @ = : * ? [ ] / and blanks, and begin with no . or -"
    return None


def _read(file: str) -> str:
    try:
        found = _Found(list(_cases(file, ast.parse(Path(file).read_bytes(), file))))
    except DiscoveryError as error:
        found = _Found(error=str(error))
    except SyntaxError as error:
        where = f"{file}:{error.lineno}" if error.lineno else file
        found = _Found(error=f"{where}: {error.msg}; mend the file, no case in it can be read")
    except (ValueError, RecursionError, MemoryError) as error:  # the last is what deep nesting ends in
        found = _Found(error=f"{file}: {error or 'nested too deeply'}; mend the file, no case in it can be read")
    return msgspec.json.encode(found).decode()


def _cases(file: str, tree: ast.Module) -> Iterator[CaseRef]:
    has_main = any(_is_main(node) for node in tree.body)
    for call in _module_level_calls(tree):
        where = f"{file}:{call.lineno}"
        name = call.args[0] if call.args else _keyword(call, "name")
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            raise DiscoveryError(
                f"{where}: write the case's name as a literal text: doit reads it without importing the file"
            )
        refused = check_name(name.value)
        if refused:
            raise DiscoveryError(f"{where}: {refused}")
        programs = _keyword(call, "programs")
        keys = programs.keys if isinstance(programs, ast.Dict) else []
        platforms = tuple(k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
        if not platforms or len(platforms) != len(keys):
            raise DiscoveryError(
                f"{where}: write programs of case {name.value!r} as a dict with a literal platform for each, "
                'such as {"cpu": CppKernel("kernel.cpp")}'
            )
        wrong = next((p for p in platforms if check_name(p) or platforms.count(p) > 1), None)
        if wrong is not None:
            raise DiscoveryError(
                f"{where}: case {name.value!r} cannot have the platform {wrong!r}: name each platform once, "
                "without @ = : * ? [ ] / and blanks"
            )
        yield CaseRef(name.value, file, call.lineno, platforms, has_main)


def _module_level_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls of `Case` that run when the module is imported, in order."""
    names = {"Case", *_other_names(tree)}
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)) or _is_main(node):
            continue
        if isinstance(node, ast.Call):
            called = node.func
            if (isinstance(called, ast.Name) and called.id in names) or (
                isinstance(called, ast.Attribute) and called.attr == "Case"
            ):
                yield node
                continue
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _other_names(tree: ast.Module) -> Iterator[str]:
    """What `Case` is called where it is imported under another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "golden_tasks":
            yield from (alias.asname for alias in node.names if alias.name == "Case" and alias.asname)


def _is_main(node: ast.AST) -> bool:
    """Whether a statement runs only when the file is run as a script."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)
