"""Digests of bytes, texts, files and named parts: `blake3:` and 32 hex digits."""

from __future__ import annotations

import os

import msgspec
from blake3 import blake3


def of_bytes(content: bytes | memoryview) -> str:
    """The digest of bytes."""
    return "blake3:" + blake3(content).hexdigest(16)


def of_text(text: str) -> str:
    """The digest of a text."""
    return of_bytes(text.encode("utf-8", "surrogatepass"))


def of_parts(parts: dict[str, str]) -> str:
    """One digest of named parts, in any order."""
    return of_bytes(msgspec.json.encode(sorted(parts.items())))


def of_file(path: str | os.PathLike[str]) -> str:
    """The digest of a file's bytes. Raises `OSError`."""
    hasher = blake3(max_threads=blake3.AUTO)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > 1 << 20:
            hasher.update_mmap(path)
        else:
            hasher.update(file.read())
    return "blake3:" + hasher.hexdigest(16)
