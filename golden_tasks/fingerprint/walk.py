"""Walks live objects: a function, everything that it names, and so on while the definition is the project's own.

Each thing reached is a part with a name that a reader knows (`golden_matmul`, `EPS`) and a value: the value's own
text where it is short, else a digest. What cannot be resolved puts the whole file that defines it in, and is listed
in `conservative`.
"""

from __future__ import annotations

import ast
import ctypes
import dis
import enum
import functools
import importlib.util
import inspect
import sys
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden_tasks import digest
from golden_tasks.fingerprint.source import normal_form, of_python_file

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_LONGEST_TEXT = 60
_HARNESS = Path(__file__).resolve().parent.parent


@dataclass
class Fingerprint:
    """Named parts, and the names of what could not be resolved."""

    parts: dict[str, str] = field(default_factory=dict)
    conservative: list[str] = field(default_factory=list)


def fingerprint(value: object, name: str, root: Path) -> Fingerprint:
    """The parts that `value` depends on. `root` is the project's folder: what lies below it is followed."""
    walk = _Walk(root.resolve())
    walk.add(name, value, None)
    return Fingerprint(walk.parts, sorted(set(walk.conservative)))


def is_local(file: str | None, root: Path) -> bool:
    """Whether a source file is the project's own: below its folder, and neither installed nor the harness itself."""
    if not file or file.startswith("<"):
        return False
    path = Path(file).resolve()
    return (
        path.is_relative_to(root)
        and not path.is_relative_to(_HARNESS)
        and not path.is_relative_to(Path(sys.prefix).resolve())
        and "site-packages" not in path.parts
    )


class _Walk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts: dict[str, str] = {}
        self.conservative: list[str] = []
        self._names: dict[int, str] = {}  # id of an object walked -> its part's name
        self._alive: list[object] = []  # keeps ids from being reused

    def add(self, name: str, value: object, holder: types.ModuleType | None) -> None:
        """Adds what `value` is, as the part `name`; `holder` is the module that named it."""
        if not isinstance(value, _PLAIN):
            known = self._names.get(id(value))
            if known == name:
                return
            if known is not None:
                self._put(name, f"is {known}")
                return
            self._names[id(value)] = name
            self._alive.append(value)
        text = self._text(name, value, holder)
        if text is not None:
            self._put(name, text)

    def _put(self, name: str, text: str) -> None:
        if self.parts.get(name, text) != text:
            name = f"{name} ({sum(part.startswith(name) for part in self.parts) + 1})"
        self.parts[name] = text if len(text) <= _LONGEST_TEXT else digest.of_text(text)

    def _text(self, name: str, value: Any, holder: types.ModuleType | None) -> str | None:
        """What stands for a value; what it refers to is added beside."""
        if isinstance(value, enum.Enum):
            self._add_class(type(value), holder)
            return f"{type(value).__qualname__}.{value.name} = {value.value!r}"
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            self._add_class(type(value), holder)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._container(name, value, holder)
        if isinstance(value, dict):
            items = [(self._item(f"{name} key", k, holder), k, v) for k, v in value.items()]
            texts = [f"{key}: {self._item(f'{name}[{k!r}]', v, holder)}" for key, k, v in items]
            return f"{type(value).__qualname__}{{{', '.join(texts)}}}"
        if isinstance(value, functools.partial):
            self.add(f"{name} function", value.func, holder)
            self.add(f"{name} arguments", (value.args, value.keywords), holder)
            return "partial"
        if isinstance(value, types.MethodType):
            self.add(f"{name} object", value.__self__, holder)
            self.add(f"{name} function", value.__func__, holder)
            return "method"
        if isinstance(value, types.ModuleType):
            return self._module(name, value)
        if isinstance(value, types.FunctionType):
            return self._function(value, holder)
        if isinstance(value, type):
            self._add_class(value, holder)
            return f"{value.__module__}.{value.__qualname__}"
        if isinstance(value, (property, classmethod, staticmethod)):
            for part in ("fget", "fset", "fdel", "__func__"):
                if getattr(value, part, None) is not None:
                    self.add(f"{name} {part}", getattr(value, part), holder)
            return type(value).__name__
        content = _content(value)
        if content is not None:
            return content
        wrapped = inspect.unwrap(value) if callable(value) else value
        if wrapped is not value:
            self.add(f"{name} wrapped", wrapped, holder)
        if is_local(_file_of(type(value)), self.root) or _is_plain_python(type(value)):  # type: ignore[arg-type]
            return self._instance(name, value, holder)
        if callable(value) and getattr(value, "__module__", None) and getattr(value, "__qualname__", None):
            return f"{value.__module__}.{value.__qualname__}"
        if callable(value) and getattr(value, "__name__", None):
            return f"{type(value).__module__}.{type(value).__qualname__} {value.__name__}"
        return self._unresolved(name, value, holder)

    def _item(self, name: str, value: object, holder: types.ModuleType | None) -> str:
        """A container's item as a text; an item that is no plain value becomes a part of its own."""
        if isinstance(value, enum.Enum) or not isinstance(value, _PLAIN):
            self.add(name, value, holder)
            return name
        return repr(value)

    def _container(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        items = list(value)
        texts = [self._item(f"{name}[{i}]", item, holder) for i, item in enumerate(items)]
        if isinstance(value, (set, frozenset)):
            if not all(isinstance(item, _PLAIN) for item in items):
                return self._unresolved(name, value, holder)
            texts.sort()
        return f"{type(value).__qualname__}({', '.join(texts)})"

    def _instance(self, name: str, value: object, holder: types.ModuleType | None) -> str:
        self._add_class(type(value), holder)
        state = _state(value)
        for key, item in sorted(state.items()):
            self.add(f"{name}.{key}", item, holder)
        return f"{type(value).__module__}.{type(value).__qualname__}({', '.join(sorted(state))})"

    def _module(self, name: str, module: types.ModuleType) -> str:
        """A module that is used as a value: its name, and the whole file if it is the project's own."""
        if is_local(getattr(module, "__file__", None), self.root):
            self._whole_file(module, f"module {module.__name__} is used as a value by {name}")
        return f"module {module.__name__}"

    def _unresolved(self, name: str, value: object, holder: types.ModuleType | None) -> str:
        self._whole_file(holder, f"{name} ({type(value).__module__}.{type(value).__qualname__})")
        return f"an object of {type(value).__module__}.{type(value).__qualname__}"

    def _whole_file(self, module: types.ModuleType | None, why: str) -> None:
        self.conservative.append(why)
        file = getattr(module, "__file__", None)
        if module is None or not file:
            return
        self.parts[f"all of {_shown(file, self.root)}"] = of_python_file(file)
        self._imports_of(file)

    def _imports_of(self, file: str) -> None:
        """Puts the project's own modules that a file imports in, whole."""
        for node in ast.walk(ast.parse(Path(file).read_bytes())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                self._whole_module(name)

    def _whole_module(self, name: str) -> None:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            try:
                spec = importlib.util.find_spec(name)
            except (ImportError, ValueError):
                return
            file = spec.origin if spec else None
        part = f"all of {_shown(file, self.root)}" if file else ""
        if file and is_local(file, self.root) and part not in self.parts:
            self.parts[part] = of_python_file(file)
            self._imports_of(file)

    def _function(self, function: types.FunctionType, holder: types.ModuleType | None) -> str:
        module = sys.modules.get(function.__module__) or holder
        if not is_local(function.__code__.co_filename, self.root):
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:
                self.add(f"{function.__qualname__} wrapped", wrapped, holder)
            self._closure(function, holder)
            return f"{function.__module__}.{function.__qualname__}"
        nodes = list(_nodes_of(function))
        if not nodes:
            self._whole_file(module, f"{function.__qualname__}: its source was not found")
            return function.__qualname__
        name = function.__qualname__
        for key, item in _defaults(function):
            self.add(f"{name} default {key}", item, module)
        for key, item in vars(function).items():
            if key != "__wrapped__":
                self.add(f"{name}.{key}", item, module)
        if hasattr(function, "__wrapped__"):
            self.add(f"{name} wrapped", function.__wrapped__, module)
        self._closure(function, module)
        for node in nodes:
            self._names_in(node, function, module)
        return digest.of_text(" ".join(normal_form(node) for node in nodes))

    def _closure(self, function: types.FunctionType, holder: types.ModuleType | None) -> None:
        for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.add(f"{function.__qualname__} closure {key}", cell.cell_contents, holder)
            except ValueError:
                continue  # a name that is not bound yet

    def _names_in(self, node: ast.AST, function: types.FunctionType, module: types.ModuleType | None) -> None:
        """Adds what a function's code names: globals, through modules by attribute, and what it imports."""
        used = set(_globals_used(function.__code__))
        inside: set[ast.AST] = set()
        for item in ast.walk(node):
            if isinstance(item, (ast.Import, ast.ImportFrom)):
                self._import(item, function)
            chain = _chain(item)
            if chain is None or item in inside:
                continue
            inside.update(ast.walk(item))
            inside.discard(item)
            if chain[0] in used and chain[0] in function.__globals__:
                self._reach(chain, function.__globals__[chain[0]], module)
        for name in sorted(used):  # names that stand in no expression of their own, as in `global X`
            if name in function.__globals__:
                value = function.__globals__[name]
                if not isinstance(value, types.ModuleType):
                    self._add_global(name, value, module)

    def _reach(self, chain: list[str], value: object, module: types.ModuleType | None) -> None:
        name, holder = chain[0], module
        for attribute in chain[1:]:
            if not isinstance(value, types.ModuleType) or not hasattr(value, attribute):
                break
            if not is_local(getattr(value, "__file__", None), self.root):
                self._put_third_party(value)
                return
            holder, value, name = value, getattr(value, attribute), attribute
        if isinstance(value, types.ModuleType) and not is_local(getattr(value, "__file__", None), self.root):
            self._put_third_party(value)
            return
        self._add_global(name, value, holder)

    def _add_global(self, name: str, value: object, holder: types.ModuleType | None) -> None:
        if isinstance(value, (types.FunctionType, type)) and is_local(_file_of(value), self.root):
            name = value.__qualname__
            home = sys.modules.get(value.__module__)
            if home is not None and home is not holder and name in self.parts and id(value) not in self._names:
                name = f"{value.__module__}.{name}"
        elif holder is not None and name in self.parts and id(value) not in self._names:
            name = f"{holder.__name__}.{name}"
        self.add(name, value, holder)

    def _put_third_party(self, module: types.ModuleType) -> None:
        top = module.__name__.partition(".")[0]
        self.parts[f"module {top}"] = "by name"

    def _import(self, node: ast.Import | ast.ImportFrom, function: types.FunctionType) -> None:
        """A module that a function imports while it runs: the whole of it, if it is the project's own."""
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            package = function.__globals__.get("__package__") or ""
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], base]).strip(".")
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        before = set(self.parts)
        for name in names:
            self._whole_module(name)
        if set(self.parts) != before:
            self.conservative.append(f"{function.__qualname__} imports {names[0]} while it runs")

    def _add_class(self, cls: type, holder: types.ModuleType | None) -> None:
        """A class of the project: its source, what its methods name, and its bases."""
        if not is_local(_file_of(cls), self.root):
            return
        name = f"class {cls.__qualname__}"
        if name in self.parts:
            return
        self.parts[name] = ""
        module = sys.modules.get(cls.__module__) or holder
        try:
            source = inspect.getsource(cls)
            self.parts[name] = digest.of_text(normal_form(ast.parse(textwrap.dedent(source))))
        except (OSError, TypeError, SyntaxError):
            self._whole_file(module, f"{cls.__qualname__}: its source was not found")
        for base in cls.__bases__:
            self._add_class(base, holder)
        for key, item in vars(cls).items():
            if isinstance(item, (types.FunctionType, property, classmethod, staticmethod)) or (
                not key.startswith("__") and not isinstance(item, enum.Enum) and not _is_descriptor(item)
            ):
                self.add(f"{cls.__qualname__}.{key}", item, module)


def _content(value: Any) -> str | None:
    """What stands for a value of a well-known library type: its content."""
    home = type(value).__module__.partition(".")[0]
    if isinstance(value, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            return None
        return f"{value.__module__}.{value.__qualname__}"
    if home == "torch":
        import torch

        if isinstance(value, torch.Tensor):
            return _tensor(value)
        if isinstance(value, (torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format)):
            return repr(value)
        return None
    if home == "numpy":
        if hasattr(value, "tobytes") and hasattr(value, "dtype") and value.dtype != object:
            return f"array {value.dtype} {list(value.shape)} {digest.of_bytes(value.tobytes())}"
        return repr(value) if type(value).__name__.endswith("DType") or type(value).__name__ == "dtype" else None
    if home == "logging":
        return f"{type(value).__name__} {getattr(value, 'name', '')}"
    if home == "pathlib" or isinstance(value, Path):
        return f"{type(value).__name__} {value}"
    if home == "re" and type(value).__name__ == "Pattern":
        return f"pattern {value.pattern!r} {value.flags}"
    return None


def _tensor(value: Any) -> str | None:
    import torch

    if value.layout is not torch.strided or value.is_meta or value.is_quantized:
        return None
    held = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    size = held.numel() * held.element_size()
    content = (ctypes.c_char * size).from_address(held.data_ptr()) if size else b""
    return f"tensor {held.dtype} {list(held.shape)} {digest.of_bytes(memoryview(content))}"


def _state(value: object) -> dict[str, object]:
    """An instance's attributes, those in slots too."""
    state = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
    return state


@functools.lru_cache(maxsize=256)
def _is_plain_python(cls: type) -> bool:
    """Whether all that an instance holds is in its attributes: its class and their bases are written in Python."""
    for base in cls.__mro__[:-1]:
        try:
            inspect.getsource(base)
        except (OSError, TypeError):
            return False
    return True


def _file_of(value: object) -> str | None:
    if isinstance(value, types.FunctionType):
        return value.__code__.co_filename
    return getattr(sys.modules.get(getattr(value, "__module__", "") or ""), "__file__", None)


def _shown(file: str, root: Path) -> str:
    path = Path(file).resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _is_descriptor(value: object) -> bool:
    return hasattr(type(value), "__get__")


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    yield from zip(names[len(names) - len(values) :], values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


@functools.lru_cache(maxsize=256)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _nodes_of(function: types.FunctionType) -> Iterator[ast.AST]:
    """The definition of a function in its file's tree; several lambdas on one line cannot be told apart, and all
    are given."""
    code = function.__code__
    tree = _tree(code.co_filename)
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                yield node


def _globals_used(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals_used(constant)


def _chain(node: ast.AST) -> list[str] | None:
    """`["a", "b", "c"]` for the expression a.b.c; None for another."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(names)]
