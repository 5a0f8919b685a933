"""C++ source text in a normal form: the preprocessing tokens, without comments and the blanks between them.

Two texts of one normal form compile to the same code, unless something in them asks for line numbers or for a macro
argument's spelling: see `is_positional`. The rules are those of [lex] in the C++17 standard.
"""

from __future__ import annotations

import re
from pathlib import Path

from golden_tasks import digest

_LITERAL = r"(?:u8|[uUL])?(?:\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')\w*"
_NUMBER = r"\.?\d(?:[eEpP][+-]|'?\w|\.)*"
_PUNCTUATION = (
    r"<=>|<<=|>>=|->\*|\.\.\.|%:%:|::|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|->|\.\*|\#\#|<:|:>|<%|%>|%:"
)
_TOKEN = re.compile(
    rf"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<blank>[^\S\n]+)|(?P<newline>\n)"
    rf"|(?P<token>{_NUMBER}|{_LITERAL}|[^\W\d]\w*|{_PUNCTUATION}|.)",
    re.DOTALL,
)
_UNSURE = re.compile(r'R"|/\*(?!.*\*/)|^\s*#[^\n]*<[^>\n]*/[/*]', re.DOTALL | re.MULTILINE)
_POSITIONAL = re.compile(r"\b(?:__LINE__|__builtin_LINE|source_location|assert)\b")
_INCLUDE = re.compile(r"(?:\n#(?:include|include_next|import)\b ?|\b__has_include ?\( ?)([\"<][^\">\n]+)[\">]")
_SPELLING = re.compile(r"\n#define [^\n]*[^#\n]#[^#\n]")


def digest_text(path: str) -> str:
    """The digest of a source's normal form, or of its bytes where that is not sure. Raises `OSError`."""
    return "text " + digest.of_text(_normal_form(path))


def is_positional(path: str) -> bool:
    """Whether what is compiled from a source depends on its lines or on how macro arguments are spelled."""
    text = _normal_form(path)
    return bool(_POSITIONAL.search(text) or _SPELLING.search(text))


def included(path: str) -> set[str]:
    """What a source includes, or asks for by `__has_include`: `"name` or `<name`, as far as its text says."""
    return set(_INCLUDE.findall(re.sub(r"\n__has_include\n\(\n", "\n__has_include(", _normal_form(path))))


def _normal_form(path: str) -> str:
    content = Path(path).read_bytes()
    text = content.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    if _UNSURE.search(text):
        return text
    spliced = text.replace("\\\n", "")
    found: list[str] = []
    directive: list[str] | None = None  # the tokens of the directive that is being read
    begins = True  # whether nothing but blanks has come on the line
    for match in _TOKEN.finditer(spliced + "\n"):
        kind, token = match.lastgroup, match[0]
        if kind == "newline":
            if directive is not None:
                found.append(" ".join("".join(directive).split()).replace("# ", "#", 1))
            directive, begins = None, True
        elif kind != "token":
            if directive is not None:
                directive.append(" ")
        elif directive is not None:
            directive.append(token)
        elif begins and token in ("#", "%:"):
            directive, begins = ["#"], False
        else:
            found.append(token)
            begins = False
    return "\n" + "\n".join(found)
