"""A snapshot's files, without their tensors: what belongs to one, what is damaged, how one is published."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from golden_tasks import digest
from golden_tasks.records import Argument, Entry, Manifest

MANIFEST = "manifest.json"


def input_files(arguments: Iterable[Argument]) -> list[str]:
    """The files that hold the inputs, scalars among them."""
    return [f"in/{a.name}.pt" for a in arguments if a.is_input]


def output_files(arguments: Iterable[Argument]) -> list[str]:
    """The files that hold the expected outputs. An inout tensor has a file in both folders."""
    return [f"out/{a.name}.pt" for a in arguments if a.is_output]


def missing(folder: Path, arguments: Iterable[Argument]) -> list[str]:
    """The required files that are not there, as paths."""
    arguments = list(arguments)
    needed = input_files(arguments) + output_files(arguments)
    return [str(folder / name) for name in needed if not (folder / name).is_file()]


def digest_of(files: dict[str, Entry], folder: str) -> str:
    """One digest of all files in `in` or `out`."""
    return digest.of_parts({n: e.digest for n, e in files.items() if n.startswith(f"{folder}/")})


def damage(folder: Path, manifest: Manifest, digest_file: Callable[[str], str]) -> list[str]:
    """What is wrong with a snapshot's files, one sentence a file; empty if all are as the manifest says."""
    found = []
    for name, entry in manifest.files.items():
        path = folder / name
        try:
            if path.stat().st_size != entry.bytes or digest_file(str(path)) != entry.digest:
                found.append(f"{path} is not what its manifest says: it was edited or damaged")
        except FileNotFoundError:
            found.append(f"{path} is missing")
        except OSError as error:
            found.append(f"{path} cannot be read: {error.strerror}")
    return found


def replace_folder(new: Path, place: Path) -> None:
    """Moves a finished folder to its place; what was there goes away afterwards."""
    old = place.with_name(f"{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def copy_files(source: Path, target: Path) -> None:
    """Makes `target` hold copies of the files of `source`: links would let an edit of one damage the other."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        shutil.copyfile(path, target / path.name)
