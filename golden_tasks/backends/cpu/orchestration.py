"""The C++ that stands between the harness and a kernel, generated from the arguments.

It defines the tile parameters, unpacks the arguments, checks the kernel's signature while it compiles, in the specs'
words, and turns a C++ exception into a message.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence

from golden_tasks.records import Argument
from golden_tasks.results import Failure, Status

ENTRY = "golden_tasks_launch"
CPP_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "gt::float16",
    "bfloat16": "gt::bfloat16",
    "float8_e4m3fn": "gt::float8_e4m3fn",
    "float8_e5m2": "gt::float8_e5m2",
    "int8": "std::int8_t",
    "int16": "std::int16_t",
    "int32": "std::int32_t",
    "int64": "std::int64_t",
    "uint8": "std::uint8_t",
    "uint16": "std::uint16_t",
    "uint32": "std::uint32_t",
    "uint64": "std::uint64_t",
    "bool": "bool",
    "complex64": "std::complex<float>",
    "complex128": "std::complex<double>",
}
_WORDS_OF_CPP = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
    const_cast constexpr continue decltype default defined delete do double dynamic_cast else enum explicit export
    extern false float for friend goto gt if inline int long mutable namespace new noexcept not not_eq nullptr operator
    or or_eq private protected public register reinterpret_cast return short signed sizeof static static_assert
    static_cast std struct switch template this thread_local throw true try typedef typeid typename union unsigned using
    virtual void volatile wchar_t while xor xor_eq
"""
RESERVED = frozenset(_WORDS_OF_CPP.split())
_ROLES = {"in": "input", "out": "output", "inout": "inout"}
_CHECK = re.compile(
    r'static_assert\(Signature<KERNEL>::(?:template )?(?P<asks>\w+)(?:<\d+, (?P<position>\d+),)?.*?, (?P<says>".*")\);'
)
_TILE = re.compile(r"^#define (\w+) (.*)", re.MULTILINE)
_AT = r"^(?P<file>.+?):(?P<line>\d+):(?:\d+:)?"
_ERROR = re.compile(rf"{_AT} (?:fatal )?error: (?P<text>.*)\n?", re.MULTILINE)
_EXPANDED = re.compile(rf"{_AT} note: .*(?:in expansion of|expanded from) macro .*\n?", re.MULTILINE)
_REQUIRED = re.compile(rf"(?!orchestration/){_AT} .*(?:required from|requested here).*", re.MULTILINE)
_INCLUDED = re.compile(r"^In file included from orchestration/.*(?:\n +from .*)*\n", re.MULTILINE)
_SIGNATURE = re.compile(r"Check\d+<[^<>]*? \(\*\)\((.*)\)(?: noexcept)?>'")
_STORED = re.compile(r"gt::detail::Small<[^,<>]*, (\d+, \d+), \w+>")
_STORED_TYPES = {
    "8, 7": "gt::bfloat16",
    "5, 10": "gt::float16",
    "4, 3": "gt::float8_e4m3fn",
    "5, 2": "gt::float8_e5m2",
}


def cpp_type(argument: Argument) -> str:
    """The parameter type that a kernel must have for an argument. Raises `Failure` for a dtype without one."""
    element = CPP_TYPES.get(argument.dtype)
    if element is None:
        known = ", ".join(CPP_TYPES)
        raise Failure(
            Status.COMPILE_ERROR,
            f"spec {argument.name!r}: platform cpu has no dtype {argument.dtype}; it has {known}",
        )
    if argument.kind == "scalar":
        return element
    const = "" if argument.is_output else "const "
    return f"gt::Tensor<{const}{element}, {len(argument.shape)}>"


def declaration(function: str, arguments: Sequence[Argument]) -> str:
    """The kernel as its specs ask for it."""
    names = [f" {a.name}" if a.name.isidentifier() and a.name not in RESERVED else "" for a in arguments]
    types = [cpp_type(a) for a in arguments]
    return f"void {function}({', '.join(t + n for t, n in zip(types, names, strict=True))})"


def complaints(entry: str, generated: str, said: str) -> list[str]:
    """What the checks in generated code, the file `entry`, say in a compiler's output, with what the kernel takes.

    Nothing if the compiler stumbled over something else before, a syntax error say. But over wrong parameters it has
    stumbled in the kernel's body too.
    """
    errors = list(_ERROR.finditer(said))
    failed = [_CHECK.search(_line(entry, generated, error)) for error in errors]
    # g++ says "FILE: In function ..." first; where it does not, it may be a parameter's type that it could not read.
    in_body = errors and (": In " in said[: errors[0].start()] or "required from here" not in said)
    found = [check for check in failed if check and (failed[0] or (in_body and check["asks"] in ("counts", "takes")))]
    signature = _SIGNATURE.search(said)
    return [_complaint(check, _parameters(signature[1]) if signature else None) for check in found]


def tile_complaint(entry: str, generated: str, said: str) -> str:
    """What is wrong if a compiler's first error lies in a tile parameter's value: which, its value, where it is used.

    Empty if the error lies elsewhere.
    """
    error = _ERROR.search(said)
    if error is None:
        return ""
    after = _up_to_next_error(said, error)
    expanded = list(_EXPANDED.finditer(after))
    for at in (error, *expanded):
        tile = _TILE.match(_line(entry, generated, at))
        if tile and expanded:  # g++ calls the value an error and notes its use, clang++ the other way about
            use, rest = (expanded[0], after[expanded[0].end() :]) if at is error else (error, after)
            line_and_mark = re.match("(?: .*\n?)*", rest)
            said_of_it = f"{use['file']}:{use['line']}: tile parameter {tile[1]} is {tile[2]}: {error['text']}"
            return f"{said_of_it}\n{line_and_mark[0] if line_and_mark else ''}".rstrip()
    return ""


def first_error(said: str) -> str:
    """A compiler's first error, in one line; empty if none has a place."""
    error = _ERROR.search(said)
    return error[0].rstrip() if error else ""


def readable(entry: str, generated: str, said: str) -> str:
    """A compiler's output without our checks, which say nothing true of a kernel that the compiler could not read.

    Its first error names the tile parameters in its line that are no plain numbers. If that error lies in a header of
    ours, the output begins with the kernel's line that led there.
    """
    said = _INCLUDED.sub("", said)
    error = _ERROR.search(said)
    if error is None:
        return said
    if error["file"].startswith("orchestration/"):
        before = max(0, said.rfind("In instantiation of", 0, error.start()))
        use = _REQUIRED.search(said, before, error.start()) or _REQUIRED.search(_up_to_next_error(said, error))
        return f"{use['file']}:{use['line']}: error: {error['text']}\n{said}" if use else said
    checks = re.search(rf"^{re.escape(entry)}:.*(?:struct .*::Check\d+<|error: static assertion)", said, re.MULTILINE)
    end, line = error.end("text"), said[error.end() :].partition("\n")[0]
    tiles = [f"{name} is {value}" for name, value in _TILE.findall(generated) if not value.isdigit()]
    named = [tile for tile in tiles if re.search(rf"\b{tile.partition(' ')[0]}\b", line)]
    return said[:end] + (f" ({', '.join(named)})" if named else "") + said[end : checks.start() if checks else None]


def generate(
    function: str, source: str, arguments: Sequence[Argument], defines: Mapping[str, str] | None = None
) -> str:
    """The orchestration source for a kernel function whose file is `../kernels/<source>`."""
    types = [cpp_type(a) for a in arguments]
    unpacked = "\n".join(_unpack(i, a, t) for i, (a, t) in enumerate(zip(arguments, types, strict=True)))
    passed = ", ".join(f"a{i}" for i in range(len(arguments)))
    checks = "\n".join(_checks(function, arguments, types))
    defined = "".join(f"#define {tile} {value}\n" for tile, value in (defines or {}).items())
    undefined = "".join(f"#undef {tile}\n" for tile in defines or {})
    space, _, name = function.rpartition("::")
    fallback = "using namespace golden_tasks_undeclared;"
    return f"""\
// Generated by golden_tasks from the specs of kernel '{function}'. Edits here are rebuilt like any other source.
#include "golden_tasks_orchestration.h"

{defined}#include "../kernels/{source}"
{undefined}
// Name lookup falls back on this where the kernel's file does not declare the kernel.
namespace golden_tasks_undeclared {{
inline constexpr golden_tasks_orchestration::Undeclared {name}{{}};
}}
{f"namespace {space} {{ {fallback} }}" if space else fallback}

namespace golden_tasks_orchestration {{

// The type of the kernel's address: its own, or if there are several, that of the one which the specs ask for.
template <class ONLY>
auto declared(int) -> decltype(ONLY::of(&::{function}));
template <class ONLY>
Several declared(...);
template <class... TYPES>
auto chosen(int) -> decltype(static_cast<void (*)(TYPES...)>(&::{function}));
template <class... TYPES>
Several chosen(...);
using Declared = decltype(declared<Only>(0));
using Chosen = decltype(chosen<{", ".join(types)}>(0));
using Kernel = std::conditional_t<std::is_same_v<Declared, Several>, Chosen, Declared>;

// Templates, so that a compiler's message of a failed check names the kernel's type.
{checks}

template <class KERNEL>
void launch(const Argument* arguments) {{
{unpacked}
    if constexpr (std::is_invocable_v<KERNEL, {", ".join(types)}>) static_cast<KERNEL>(&::{function})({passed});
}}

}}  // namespace golden_tasks_orchestration

extern "C" __attribute__((visibility("default"))) const char* {ENTRY}(
    const golden_tasks_orchestration::Argument* arguments) {{
    static thread_local std::string error;
    try {{
        golden_tasks_orchestration::launch<golden_tasks_orchestration::Kernel>(arguments);
        return nullptr;
    }} catch (const std::exception& raised) {{
        error = raised.what();
    }} catch (...) {{
        error = "an exception that is no std::exception";
    }}
    return error.c_str();
}}
"""


def _checks(function: str, arguments: Sequence[Argument], types: Sequence[str]) -> list[str]:
    """One line for each, so that the compiler's line number leads `complaints` to its message."""
    number = len(arguments)
    names = ", ".join(a.name for a in arguments)
    each = "1 argument, for its spec" if number == 1 else f"{number} arguments, one for each spec"
    checks = {
        "is_declared": f"there is no function '{function}'",
        "is_chosen": f"kernel '{function}' is overloaded or a template, and none of them is what the specs ask for",
        "is_function": f"'{function}' is no function",
        "returns_void": f"kernel '{function}' must return void: its results are its output tensors",
        f"template counts<{number}>": f"kernel '{function}' must take {each}: {names}",
    }
    for position, (argument, cpp) in enumerate(zip(arguments, types, strict=True)):
        checks[f"template takes<{number}, {position}, {cpp}>()"] = _wanted(function, position, argument, cpp)
    return [_check(number, *check) for number, check in enumerate(checks.items())]


def _check(number: int, asks: str, message: str) -> str:
    checked = f"static_assert(Signature<KERNEL>::{asks}, {_literal(message)});"
    return f"template <class KERNEL> struct Check{number} {{ {checked} }}; template struct Check{number}<Kernel>;"


def _wanted(function: str, position: int, argument: Argument, cpp: str) -> str:
    what = "scalar" if argument.kind == "scalar" else f"{list(argument.shape)}, {_ROLES[argument.direction]}"
    return (
        f"argument {position + 1} of kernel '{function}' must be {cpp}: "
        f"spec '{argument.name}' is {argument.dtype} {what}"
    )


def _complaint(check: re.Match[str], taken: Sequence[str] | None) -> str:
    """A failed check's message, with what the kernel takes instead, if that is known."""
    says = str(ast.literal_eval(check["says"]))
    if taken is None or check["asks"] not in ("counts", "takes"):
        return says
    return f"{says}; the kernel takes {taken[int(check['position'])] if check['position'] else len(taken)}"


def _parameters(types: str) -> list[str]:
    """The parameters of a function type as a compiler writes them, one by one and in the words that a kernel uses."""
    types = re.sub(" (?=[*&])", "", _STORED.sub(lambda stored: _STORED_TYPES.get(stored[1], stored[0]), types))
    found, depth = [""], 0
    for character in types:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [parameter.strip() for parameter in found if parameter]


def _line(entry: str, generated: str, at: re.Match[str]) -> str:
    """The line of generated code, the file `entry`, that a compiler speaks of; empty if it is another file's."""
    number = int(at["line"]) if at["file"] == entry else 0
    return dict(enumerate(generated.splitlines(), start=1)).get(number, "")


def _up_to_next_error(said: str, error: re.Match[str]) -> str:
    following = _ERROR.search(said, error.end())
    return said[error.end() : following.start() if following else len(said)]


def _unpack(position: int, argument: Argument, cpp: str) -> str:
    made = f"scalar<{cpp}>" if argument.kind == "scalar" else cpp.replace("gt::Tensor", "tensor", 1)
    return f"    const {cpp} a{position} = {made}(arguments[{position}]);"


def _literal(text: str) -> str:
    """A text as a C++ string literal."""
    return json.dumps(text, ensure_ascii=False)
