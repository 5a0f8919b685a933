"""Walks live objects: a function, everything that it names, and so on while the definition is the project's own.

Each thing reached is a part with a name that a reader knows (`golden_matmul`, `EPS`, `Config.rows`) and a text: the
value itself, as Python writes it, where it is short, else a digest. A text names the parts that it refers to, so that
the same parts mean the same behaviour. What cannot be resolved puts the whole file that defines it in, and is listed in
`conservative`. So do attributes that the project sets in libraries' modules and classes, as far as they are used.
"""

from __future__ import annotations

import abc
import ast
import builtins
import collections
import contextlib
import copyreg
import enum
import functools
import importlib.util
import inspect
import itertools
import operator
import os
import sys
import types
import warnings
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden_tasks import digest
from golden_tasks.fingerprint import code
from golden_tasks.fingerprint.local import is_local, is_local_module, on_disk, shown
from golden_tasks.fingerprint.source import normal_form, of_python_file
from golden_tasks.fingerprint.values import LOCKS, PLAIN, content, plain
from golden_tasks.fingerprint.watch import Looking

_LONGEST_TEXT = 60
_LONGEST_IMPORT = 20  # modules that pass a name on
_MISSING = object()
_CONTAINERS = (list, tuple, set, frozenset, dict, slice, types.MappingProxyType)
_BY_MEMBERS = (types.MethodType, functools.partial, property, classmethod, staticmethod)
_TYPE_HINTS = (types.GenericAlias, types.UnionType)
_ABOUT = {*functools.WRAPPER_ASSIGNMENTS, "__type_params__"}  # attributes that only describe
_KEPT_IN_CLASSES = {  # by Python itself, `abc`, `typing` and `dataclasses`; the class's source says the same
    *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__match_args__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__type_params__"),
    *("__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl", "__orig_bases__"),
    *("__parameters__", "__protocol_attrs__", "__non_callable_proto_members__", "__callable_proto_members_only__"),
    *("__total__", "__required_keys__", "__optional_keys__", "__readonly_keys__", "__mutable_keys__"),
    *("__dataclass_fields__", "__dataclass_params__"),
}
_FIELDS = (  # descriptors that only say where a value lies
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    type(collections.namedtuple("_", "x").x),  # type: ignore[attr-defined]
)
_NAMES_OF_BUILTINS = {name: value for name, value in vars(builtins).items() if not name.startswith("_")}
_BY_TEXT = {  # functions that reach what is named by a text: in the module that calls them, or in any
    **dict.fromkeys(["eval", "exec", "globals", "sys._getframe", "inspect.getmodule", "inspect.currentframe"], False),
    **dict.fromkeys(["importlib.import_module", "__import__", "pkgutil.resolve_name", "pydoc.locate"], True),
}
_OPERATORS = {"aten", "prim", "prims", "quantized", "higher_order"}  # the namespaces of `torch.ops` that are its own
_INTERPRETERS = {"sys", "os"}  # modules whose attributes say how the process runs, not what is computed
_C_METHODS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)


@dataclass
class Fingerprint:
    """Named parts, the names of what could not be resolved, and which file of the project defines a part."""

    parts: dict[str, str] = field(default_factory=dict)
    conservative: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def fingerprint(value: object, name: str, root: Path) -> Fingerprint:
    """The parts that `value` depends on. `root` is the project's folder: paths are relative to it."""
    walk = _Walk(root.resolve())
    walk.begin(name, value)
    walk.visit_all()
    return Fingerprint(walk.parts, sorted(set(walk.conservative)), walk.files)


class _Walk:
    """`add` makes a value a part, `_text` is what stands for it; an object with parts of its own is visited later."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts: dict[str, str] = {}
        self.conservative: list[str] = []
        self.files: dict[str, str] = {}
        self._libraries = {"builtins", "torch"}  # the packages that are used
        self._claimed: dict[str, object] = dict(_NAMES_OF_BUILTINS)  # every name given so far -> what it names
        self._names: dict[int, str] = {}  # id of an object or container -> where it was met first
        self._patches: set[tuple[str, str | None]] = set()  # attributes that the project sets in libraries
        self._alive: list[object] = []  # keeps ids from being used again
        self._waiting: collections.deque[tuple[str, Any, types.ModuleType | None]] = collections.deque()

    def add(self, name: str, value: object, holder: types.ModuleType | None) -> str:
        """Adds what `value` is, as the part `name`; `holder` is the module that names it.

        Returns the part's name, which is another one if `name` stands for something else already.
        """
        if isinstance(value, enum.Enum) and self._text(name, value, holder) == name:
            return name  # the name of its value, which is a part of its class
        name = self._claim(value, *_names(name, holder))
        if name not in self.parts or isinstance(value, types.ModuleType):
            text = self._text(name, value, holder)
            if text != name:
                self._put(name, text, self._file_of(None, holder))
        return name

    def begin(self, name: str, value: object) -> None:
        """Adds the value that all others are reached from."""
        try:
            self.add(name, value, None)
        except RecursionError:
            self._put(name, self._unresolved(name, value, None), None)

    def visit_all(self) -> None:
        """Adds what the objects met so far are made of, and what those are made of."""
        self._visit_waiting()
        while self._add_patches():
            self._visit_waiting()

    def _visit_waiting(self) -> None:
        while self._waiting:
            name, value, holder = self._waiting.popleft()
            home = _loaded(getattr(value, "__module__", None)) or holder
            try:
                text = self._visit(name, value, holder)
            except RecursionError:
                text = self._unresolved(name, value, home)
            self._put(name, text, self._file_of(value, home if isinstance(value, type) else holder))

    def _put(self, name: str, text: str, file: str | None) -> None:
        self.parts[name] = text if len(text) <= _LONGEST_TEXT else digest.of_text(text)
        if file and is_local(file):
            self.files[name] = shown(file, self.root)

    def _file_of(self, value: object, holder: types.ModuleType | None) -> str | None:
        if isinstance(value, types.FunctionType) and self._is_own(value):
            return value.__code__.co_filename
        return getattr(holder, "__file__", None)

    def _claim(self, value: object, *names: str) -> str:
        """The first of several names that is free or stands for the value already, else a numbered one."""
        numbered = (f"{names[-1]} ({i})" for i in itertools.count(2))
        for name in itertools.chain(names, numbered):
            if name not in self._claimed or self._same(self._claimed[name], value):
                break
        self._claimed[name] = value
        return name

    def _same(self, a: object, b: object) -> bool:
        if a is b:
            return True
        by_value = type(a) is type(b) and type(a) in (*PLAIN, tuple, frozenset)
        return by_value and self._order(a) is not None and self._order(a) == self._order(b)

    # What stands for a value

    def _text(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        if isinstance(value, Looking):
            value = value.function
        kind = type(value)
        if kind in PLAIN:
            return plain(value, self.root)
        known = self._names.get(id(value))
        if known is not None:
            return known
        if isinstance(value, enum.Enum):
            return self._member(name, value, holder)
        if isinstance(value, types.ModuleType):
            return self._module(name, value)
        if value is sys.modules:
            self._whole(None, f"{name} is sys.modules")
            return "sys.modules"
        if kind in _CONTAINERS:
            if kind not in (tuple, frozenset, slice):  # equal ones may or may not be one object: it makes no difference
                self._remember(name, value)
            return self._container(name, value, holder)
        if kind in _TYPE_HINTS or (kind.__module__ == "typing" and not issubclass(kind, type)):
            return self._type_hint(name, value, holder)
        if not self._is_own(value if isinstance(value, (types.FunctionType, type)) else kind):
            text = content(value, self.root)
            if text is not None and hasattr(kind, "__setitem__"):
                if kind.__module__.startswith("torch") and vars(value):
                    return self._part(name, value, holder)  # a tensor with attributes
                self._remember(name, value)
            text = text or self._library_name(value)
            if text is not None:
                self._reaches_by_text(text, name, holder)
                return text
        return self._part(name, value, holder)

    def _part(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        """The name of the part that an object becomes: its own if it has one."""
        names = [name]
        if isinstance(value, type):
            names = [value.__qualname__, f"{value.__module__}.{value.__qualname__}", name]
        elif isinstance(value, types.FunctionType):
            names = [value.__qualname__, name]
        name = self._claim(value, *(n for n in names if n == name or "<" not in n))
        self._remember(name, value)
        self._waiting.append((name, value, holder))
        return name

    def _remember(self, name: str, value: object) -> None:
        self._names[id(value)] = name
        self._alive.append(value)

    def _member(self, name: str, value: enum.Enum, holder: types.ModuleType | None) -> str:
        cls = self._text(name, type(value), holder)
        if isinstance(value, enum.Flag):
            return f"{cls}({self._text(f'{name} value', value._value_, holder)})"
        return f"{cls}.{value.name}"

    def _type_hint(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        """`list[int]` and the like: a class of the project may stand in it."""
        inner = [*getattr(value, "__args__", ()), *getattr(value, "__metadata__", ())]
        if not inner:
            return repr(value)
        origin = getattr(value, "__origin__", None) or type(value)
        texts = [self._text(f"{name}[{i}]", item, holder) for i, item in enumerate([origin, *inner])]
        return f"{texts[0]}[{', '.join(texts[1:])}]"

    def _module(self, name: str, module: types.ModuleType) -> str:
        """A module that is used as a value: its name, and the whole file if it is the project's own."""
        if is_local_module(module):
            self._whole(module, f"module {module.__name__} is used as a value by {name}")
        else:
            self._libraries.add(module.__name__.partition(".")[0])
        return f"module {module.__name__}"

    def _container(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        if isinstance(value, types.MappingProxyType):
            return f"mappingproxy({self._container(name, dict(value), holder)})"
        if isinstance(value, dict):
            return self._dict(name, value, holder)
        items = self._items(value)
        if items is None:
            return self._unresolved(name, value, holder)
        inside = ", ".join(self._text(f"{name}[{i}]", item, holder) for i, item in enumerate(items))
        if isinstance(value, list):
            return f"[{inside}]"
        if isinstance(value, tuple):
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        if isinstance(value, slice):
            return f"slice({inside})"
        written = f"{{{inside}}}" if inside else "set()"
        return written if isinstance(value, set) else f"frozenset({written})"

    def _dict(self, name: str, value: dict[Any, Any], holder: types.ModuleType | None) -> str:
        items = []
        for i, (key, item) in enumerate(value.items()):
            text = self._text(f"{name} key {i}", key, holder)
            label = text if len(text) <= _LONGEST_TEXT else i
            items.append(f"{text}: {self._text(f'{name}[{label}]', item, holder)}")
        return f"{{{', '.join(items)}}}"

    def _items(self, value: Any) -> list[Any] | None:
        """A container's items in an order that is the same in every process; None if there is no such order."""
        if isinstance(value, slice):
            return [value.start, value.stop, value.step]
        if not isinstance(value, (set, frozenset)):
            return list(value)
        keys = {self._order(item): item for item in value}
        return None if None in keys or len(keys) != len(value) else [keys[key] for key in sorted(keys, key=str)]

    def _order(self, item: Any) -> str | None:
        """What a set's items are sorted by, the same in every process; None if there is no such thing."""
        if type(item) in PLAIN:
            return plain(item, self.root)
        if type(item) in (tuple, frozenset):
            orders = [self._order(inner) for inner in item]
            known = [order for order in orders if order is not None]
            if len(known) < len(orders):
                return None
            return f"{type(item).__name__}({', '.join(sorted(known) if isinstance(item, frozenset) else known)})"
        if isinstance(item, enum.Enum):
            return f"{type(item).__qualname__}.{item.name}"
        if isinstance(item, (types.FunctionType, type)):
            return f"{item.__module__}.{item.__qualname__}"
        return self._library_name(item) or content(item, self.root)

    def _library_name(self, value: Any) -> str | None:
        """`module.name` of a thing that a library offers under a name; None for a thing that was made."""
        home = getattr(value, "__module__", None)
        module = _loaded(home)
        if isinstance(home, str) and module is not None and not is_local_module(module):
            self._libraries.add(home.partition(".")[0])
        if isinstance(value, type):
            return f"{home}.{value.__qualname__}".removeprefix("builtins.")
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            if not isinstance(owner, (types.NoneType, types.ModuleType, type)):
                return None
            if isinstance(owner, type) and self._is_own(owner):
                return None
            if is_local_module(module):
                self._file(str(module.__file__), "")  # type: ignore[union-attr]
            return f"{home or getattr(owner, '__qualname__', '')}.{value.__qualname__}".removeprefix("builtins.")
        if module is None or is_local_module(module):
            return None
        for name in (getattr(value, "__qualname__", None), getattr(value, "__name__", None)):
            if isinstance(name, str) and _attribute(module, name) is value:
                return f"{home}.{name}"
        return None

    def _unresolved(self, name: str, value: object, holder: types.ModuleType | None) -> str:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        self._whole(holder, f"{name} ({kind})")
        return f"an object of {kind}"

    # What an object is made of

    def _visit(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        if isinstance(value, types.FunctionType):
            return self._function(name, value, holder)
        if isinstance(value, type):
            return self._class(name, value, holder)
        texts = [self._text(f"{name} class", type(value), holder)]
        state = _state(value, content(value, self.root) is None)
        if not all(self._is_own(cls) for cls in type(value).__mro__[:-1]):
            # Such attributes are what a library adds from one version to the next.
            state = {key: item for key, item in state.items() if not _says_nothing(key, item)}
        for key in sorted(state):
            self.add(f"{name}.{key}", state[key], holder)
        if not isinstance(value, _BY_MEMBERS) and "__wrapped__" not in state:
            texts.append(self._inner(name, value, holder))
        return f"{' '.join(filter(None, texts))}({', '.join(sorted(state))})"

    def _inner(self, name: str, value: Any, holder: types.ModuleType | None) -> str:
        """What an object holds beside its attributes: the content that its class has from a class written in C."""
        text = content(value, self.root)
        base = next((cls for cls in type(value).__mro__ if _is_c(cls)), object)
        if text is not None or base is object:
            return text or ""
        if isinstance(value, weakref.ref):
            return self._text(f"{name} target", value(), holder)
        if base in _CONTAINERS:
            return self._container(name, value, holder)
        reduced = _reduced(value)
        if reduced is None:
            return self._unresolved(name, value, holder)
        self._alive.append(reduced)
        return self._text(f"{name} content", reduced, holder)

    def _function(self, name: str, function: types.FunctionType, holder: types.ModuleType | None) -> str:
        own = self._is_own(function)
        namespace = function.__globals__
        module = (_loaded(namespace.get("__name__")) or holder) if own else holder
        for key, item in _inputs(function):
            self.add(f"{name}{key}", item, module)
        if not own:
            return f"{namespace.get('__name__')}.{function.__code__.co_name}"
        used = set(code.globals_used(function.__code__))
        nodes = code.definitions_of(function)
        if not nodes:
            self._whole(module, f"{name}: its source was not found")
        for node in nodes:
            self._by_text(name, node, used, namespace, module)
        chains = [chain for node in nodes for chain in code.chains(node) if chain[0] in used]
        chains += [[other] for other in sorted(used - {chain[0] for chain in chains})]
        texts = [*(normal_form(node) for node in nodes), *self._named(chains, namespace, module)]
        return digest.of_text(" ".join(texts))

    def _class(self, name: str, cls: type, holder: types.ModuleType | None) -> str:
        """A class of the project: its bases, its attributes, and of its source what they do not show."""
        module = _loaded(cls.__module__) or holder
        above = [*cls.__bases__, *([] if type(cls) in map(type, cls.__bases__) else [type(cls)])]
        texts = [self._text(f"{name} base {i}", base, module) for i, base in enumerate(above)]
        attributes = dict(_attributes(cls))
        for key in sorted(attributes):
            self.add(f"{name}.{key}", attributes[key], module)
        if isinstance(cls, abc.ABCMeta):
            registered = sorted((ref() for ref in abc._get_dump(cls)[0]), key=repr)  # type: ignore[attr-defined]
            texts += [self._text(f"{name} registered {i}", item, module) for i, item in enumerate(registered)]
        if issubclass(cls, enum.Enum):
            for key, member in cls.__members__.items():
                self.add(f"{name}.{key}", member._value_, module)
            texts += cls.__members__
            attributes.update(cls.__members__)
        covered = {_unmangled(cls, key) for key, item in attributes.items() if not self._is_library_function(item)}
        nodes = code.class_definitions_of(cls)
        if not nodes and not issubclass(cls, (tuple, enum.Enum)):
            self._whole(module, f"{name}: its source was not found")
        for node in nodes:
            rest = code.skeleton(node, covered)
            texts += [normal_form(rest), *self._named(code.chains(rest), vars(module) if module else {}, module)]
        return digest.of_text(" ".join(texts))

    # What code names

    def _named(
        self, chains: Iterable[list[str]], namespace: dict[str, Any], module: types.ModuleType | None
    ) -> list[str]:
        """Adds what code names, and returns what it calls by another name than the part's."""
        renamed = {}
        for chain in chains:
            if chain[0] in namespace:
                part = self._reach(chain, namespace[chain[0]], module)
                if part != chain[-1]:
                    renamed[".".join(chain)] = part
        return [f"{name} is {part}" for name, part in sorted(renamed.items())]

    def _reach(self, chain: list[str], value: Any, holder: types.ModuleType | None) -> str:
        """Adds what the expression a.b.c reads, as far as that can be followed, and returns its part's name."""
        name, holder = self._origin(chain[0], value, holder)
        for position, attribute in enumerate(chain[1:], 1):
            if isinstance(value, types.ModuleType):
                if not is_local_module(value):
                    full = ".".join([value.__name__, *chain[position:]]).removeprefix("builtins.")
                    self._reaches_by_text(full, chain[-1], holder)
                    break
                item = self._global(value, attribute)
                if item is _MISSING:
                    break
                if value.__name__ != name:
                    part = self._claim(value, *_names(name, holder))
                    self._put(part, f"module {value.__name__}", self._file_of(None, holder))
                (name, holder), value = self._origin(attribute, item, value), item
            else:
                item = _datum(value, attribute) if self._is_followed(value) else _MISSING
                if item is _MISSING:
                    break
                name, value = f"{self._claim(value, *_names(name, holder))}.{attribute}", item
        return self.add(name, value, holder)

    def _origin(self, name: str, value: object, holder: types.ModuleType | None) -> tuple[str, types.ModuleType | None]:
        """What a global is called where it is defined, and the module that defines it: follows its imports by name."""
        for _ in range(_LONGEST_IMPORT):
            package = getattr(holder, "__package__", None) or ""
            found = code.imported_from(self._file_of(None, holder), name, package)
            module = _loaded(found[0]) if found else None
            if not found or not module or not is_local_module(module) or vars(module).get(found[1]) is not value:
                break
            name, holder = found[1], module
        return name, holder

    def _global(self, module: types.ModuleType, attribute: str) -> object:
        """What a module of the project holds under a name; nothing if its class may say otherwise."""
        file = getattr(module, "__file__", None)
        if file and not file.endswith(".py"):
            self._file(file, "")
        if type(module) is not types.ModuleType:
            return _MISSING
        if attribute in vars(module):
            return vars(module)[attribute]
        maker = vars(module).get("__getattr__")
        if maker is None:
            return _MISSING
        self.add("__getattr__", maker, module)
        return _attribute(module, attribute)

    def _is_followed(self, value: object) -> bool:
        """Whether an object's attribute is read without the rest of the object, as far as its class allows that."""
        cls = value if isinstance(value, type) else type(value)
        return self._is_own(cls) or str(cls.__module__).partition(".")[0] in ("types", "golden_tasks")

    def _reaches_by_text(self, name: str, called: str, holder: types.ModuleType | None) -> None:
        """Puts whole files in if a library's function is named that gets at code of the project by a text."""
        names = name.split(".")
        if name in _BY_TEXT and called.rpartition(".")[2] not in code.IMPORTS:
            self._whole(None if _BY_TEXT[name] else holder, f"{name} is used")
        elif names[:2] == ["torch", "ops"] and len(names) > 2 and names[2] not in _OPERATORS:
            self._whole(holder, f"{name} is an operator that a module registers")

    # What the project sets in modules and classes

    def _add_patches(self) -> bool:
        """Adds attributes that the project sets in modules and classes of used libraries; whether there were any."""
        added = False
        for target, attribute, module in self._stores():
            home = target.__name__ if isinstance(target, types.ModuleType) else target.__module__
            package = home.partition(".")[0]
            own = is_local_module(target) if isinstance(target, types.ModuleType) else self._is_own(target)
            if own or package in _INTERPRETERS or package not in self._libraries:
                continue
            name = home if isinstance(target, types.ModuleType) else f"{home}.{target.__qualname__}"
            if (name, attribute) in self._patches:
                continue
            self._patches.add((name, attribute))
            added = True
            value = _attribute(target, attribute) if attribute else _MISSING
            if attribute is None:
                self._whole(module, f"{module.__name__} sets attributes of {name}")
            elif value is not _MISSING:
                self.add(f"{name}.{attribute}", value, module)
        return added

    def _stores(self) -> Iterator[tuple[types.ModuleType | type, str | None, types.ModuleType]]:
        """Which attributes of modules and classes the project's modules set, and which module does."""
        for module in list(sys.modules.values()):
            if not isinstance(module, types.ModuleType) or not is_local_module(module):
                continue
            for chain, attribute in code.stores(getattr(module, "__file__", None)):
                target = vars(module).get(chain[0], sys.modules.get(chain[0]))
                target = _attribute(target, ".".join(chain[1:])) if len(chain) > 1 else target
                if isinstance(target, (types.ModuleType, type)):
                    yield target, attribute, module

    def _by_text(
        self, name: str, node: ast.AST, used: set[str], namespace: dict[str, Any], module: types.ModuleType | None
    ) -> None:
        """Adds what code imports while it runs, and all that it may reach by a name in a text."""
        before = set(self.parts)
        for imported in code.imports(node, namespace.get("__package__") or ""):
            self._imported(imported)
        if self.parts.keys() - before:
            self.conservative.append(f"{name} imports modules while it runs")
        for use, text in code.uses_by_text(node, used):
            if use in code.IMPORTS and text:
                self.conservative.append(f"{name} uses {use}")
                self._imported(text)
            else:
                self._whole(None if use in (*code.IMPORTS, "sys.modules") else module, f"{name} uses {use}")

    # Whole files

    def _whole(self, module: types.ModuleType | None, why: str) -> None:
        """Puts a module's file in, and those of the project that it imports; without a module, all that are loaded."""
        self.conservative.append(why)
        if is_local_module(module):
            found = [module, *(by for target, _, by in self._stores() if target is module)]
        else:
            found = [one for one in sys.modules.values() if is_local_module(one)]
        for one in found:
            file = getattr(one, "__file__", None)
            if file:
                self._file(file, getattr(one, "__package__", None) or "")

    def _file(self, file: str, package: str) -> None:
        place = on_disk(file)
        part = f"all of {shown(place, self.root)}"
        if part in self.parts or not os.path.exists(place):  # loaded from a file that is gone: nothing to edit
            return
        self._put(part, of_python_file(place), place)
        for name in code.imports_of_file(place, package):
            self._imported(name)

    def _imported(self, name: str) -> None:
        """Puts a module of the project in, and the packages that it lies in, whole."""
        names = name.split(".")
        for full in (".".join(names[:i]) for i in range(1, len(names) + 1)):
            places, package = _places(full)
            if not any(is_local(place) for place in places):
                return  # a library's module is not imported just to look
            for file in places[:1]:
                if Path(file).is_file():
                    self._file(file, package)

    # Whose a thing is

    def _is_own(self, value: types.FunctionType | type) -> bool:
        """Whether a function or class is the project's own; one made from a text counts where it was made."""
        if isinstance(value, types.FunctionType):
            file = value.__code__.co_filename
            if os.path.exists(file):
                return is_local(file)
            return is_local_module(_loaded(value.__globals__.get("__name__")))
        if value.__module__ == "types" and _attribute(types, value.__qualname__) is not value:
            return True  # made by a function of the library, which did not say for whom
        defined_in = code.file_of_class(value)
        if defined_in:
            return is_local(defined_in)
        module = _loaded(value.__module__) or _loaded(str(value.__module__).partition(".")[0])
        return module is None or is_local_module(module)  # None: in a module that is imported and not kept

    def _is_library_function(self, value: object) -> bool:
        return isinstance(value, types.FunctionType) and not self._is_own(value)


def _names(name: str, holder: types.ModuleType | None) -> list[str]:
    """What a global may be called: its name, or that with the module's if the name is taken."""
    return [name, f"{holder.__name__}.{name}"] if holder else [name]


def _inputs(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """What a function holds beside its code: defaults, closure and attributes."""
    compiled = vars(function).get("_torchdynamo_orig_callable")
    if compiled is not None:  # by `torch.compile`, whose own state differs between processes
        yield ".__wrapped__", compiled
        return
    if function.__globals__.get("__name__") == "functools" and "registry" in vars(function):  # a `singledispatch`
        yield ".registry", function.registry  # type: ignore[attr-defined]
        return
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    defaults = [*zip(names[len(names) - len(values) :], values, strict=True), *(function.__kwdefaults__ or {}).items()]
    yield from ((f" default {key}", item) for key, item in defaults)
    for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f" closure {key}", cell.cell_contents
        except ValueError:
            continue  # a name that is not bound yet
    yield from ((f".{key}", item) for key, item in sorted(vars(function).items()))


def _attributes(cls: type) -> Iterator[tuple[str, object]]:
    """A class's own attributes, without what Python or a library writes for it from what it declares."""
    for key, item in vars(cls).items():
        if key in _KEPT_IN_CLASSES or isinstance(item, _FIELDS) or _is_generated(cls, item):
            continue
        kept_by_enum = issubclass(cls, enum.Enum) and (key in cls.__members__ or key.startswith("_"))
        if not kept_by_enum or (isinstance(item, types.FunctionType) and item.__module__ != "enum"):
            yield key, item


def _is_generated(cls: type, item: Any) -> bool:
    made = getattr(item, "__func__", item)
    if not isinstance(made, types.FunctionType):
        return False
    if made.__globals__.get("__name__") in ("collections", "dataclasses", "typing"):
        return True
    function = inspect.unwrap(made)
    from_text = isinstance(function, types.FunctionType) and function.__code__.co_filename.startswith("<")
    return from_text and made.__qualname__.startswith(f"{cls.__qualname__}.")


def _unmangled(cls: type, key: str) -> str:
    return key.removeprefix(f"_{cls.__name__.lstrip('_')}") if key.startswith("_") and "__" in key[1:] else key


def _state(value: object, with_slots: bool) -> dict[str, object]:
    """An object's attributes, those in slots too."""
    state: dict[str, object] = {}
    slotted = [cls for cls in type(value).__mro__ if with_slots and (cls in _BY_MEMBERS or not _is_c(cls))]
    for cls in slotted:
        for key, item in vars(cls).items():
            if isinstance(item, types.MemberDescriptorType) and key not in state and not key.endswith("offset__"):
                try:
                    state[key] = item.__get__(value, cls)
                except AttributeError:
                    continue
    with contextlib.suppress(AttributeError):
        state.update((str(key), item) for key, item in object.__getattribute__(value, "__dict__").items())
    if type(value).__name__ == "OptimizedModule":  # by `torch.compile`: see `_inputs`
        return {"__wrapped__": value._orig_mod}  # type: ignore[attr-defined]
    return {key: item for key, item in state.items() if key not in _ABOUT}


@functools.lru_cache(maxsize=1024)
def _is_c(cls: type) -> bool:
    """Whether a class is written in C, so that its objects may hold more than attributes."""
    return cls is not object and any(
        isinstance(item, _C_METHODS) and item.__objclass__ is cls for item in vars(cls).values()
    )


def _reduced(value: Any) -> tuple[object, ...] | None:
    """What an object says that it can be made again from (as for `pickle`); None if it does not say."""
    if str(type(value).__module__).partition(".")[0] == "torch":
        return None  # its storages say where in memory they lie
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reduce = copyreg.dispatch_table.get(type(value))
            made = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception:
        return None
    return tuple(list(item) if i > 2 and item else item for i, item in enumerate(made)) if type(made) is tuple else None


def _says_nothing(key: str, item: object) -> bool:
    """Whether an attribute of a library's object is a lock, or private and empty."""
    empty = item is None or item is False or (isinstance(item, (list, tuple, dict, set, frozenset)) and not item)
    return isinstance(item, LOCKS) or (key.startswith("_") and empty)


def _datum(value: object, attribute: str) -> object:
    """An attribute that is read without running code, so that the rest of its class or object does not matter."""
    if type(value).__getattribute__ not in (object.__getattribute__, type.__getattribute__):
        return _MISSING
    if isinstance(value, enum.EnumMeta):
        return value.__members__.get(attribute, _MISSING)
    if isinstance(value, type) and hasattr(type(value), attribute):
        return _MISSING  # a metaclass's property goes before the class's own attribute
    item = inspect.getattr_static(value, attribute, _MISSING)
    return _MISSING if hasattr(type(item), "__get__") else item


def _loaded(name: object) -> types.ModuleType | None:
    """The module of a name; None if there is none, or another object in its place."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module if isinstance(module, types.ModuleType) else None


def _attribute(module: object, name: str) -> object:
    try:
        return operator.attrgetter(name)(module)
    except Exception:
        return _MISSING


def _places(name: str) -> tuple[list[str], str]:
    """Where a module's source is, a package's folders if it has none, and what its relative imports start from."""
    module = sys.modules.get(name)
    if module is not None:
        file = getattr(module, "__file__", None)
        return [file] if file else list(getattr(module, "__path__", ())), getattr(module, "__package__", None) or ""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return [], ""
    if spec is None:
        return [], ""
    return [spec.origin] if spec.has_location and spec.origin else list(
        spec.submodule_search_locations or ()
    ), spec.parent or ""
