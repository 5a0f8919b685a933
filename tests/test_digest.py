"""Digests of files: equal for equal bytes, remembered only while nothing can hide."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_tasks import digest
from golden_tasks.digest import Memory


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets this many seconds pass for the memory's clock."""

    def move(seconds: float) -> None:
        monkeypatch.setattr(digest, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + int(seconds * 1e9)))

    return move


class Counting:
    """Computes digests and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, path: str) -> str:
        self.calls += 1
        return digest.of_file(path)


@given(st.binary(max_size=64))
def test_a_files_digest_is_that_of_its_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "content.bin"
    path.write_bytes(content)

    assert digest.of_file(path) == digest.of_bytes(content)


@pytest.mark.parametrize("size", [0, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_large_files_and_small_ones_are_digested_alike(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "large").write_bytes(content)

    assert digest.of_file(tmp_path / "large") == digest.of_bytes(content)


def test_a_digest_names_its_algorithm_and_is_the_same_everywhere() -> None:
    assert digest.of_text("golden") == digest.of_bytes(b"golden") == "blake3:68ca9baf17c67ef7b4560a4455bacf8d"
    assert digest.of_text("\udcff") != digest.of_text("\udcfe")


@given(st.dictionaries(st.text(), st.text(), min_size=1))
def test_the_digest_of_parts_knows_names_and_values_but_no_order(parts: dict[str, str]) -> None:
    backwards = dict(reversed(parts.items()))
    name = next(iter(parts))

    assert digest.of_parts(backwards) == digest.of_parts(parts)
    assert digest.of_parts({**parts, name: parts[name] + "x"}) != digest.of_parts(parts)


def test_parts_cannot_run_into_each_other() -> None:
    assert digest.of_parts({"a": "b", "c": "d"}) != digest.of_parts({"a": "bcd"})
    assert digest.of_parts({"ab": "c"}) != digest.of_parts({"a": "bc"})


def test_a_missing_file_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Memory(tmp_path / "memory.json").file(str(tmp_path / "missing"))


def test_an_untouched_file_is_read_once(tmp_path: Path, later: Callable[[float], None]) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"content")
    later(3)
    compute = Counting()
    memory = Memory(tmp_path / "memory.json")

    first = memory.get("bytes", str(path), compute)
    memory.save()

    assert Memory(tmp_path / "memory.json").get("bytes", str(path), compute) == first
    assert compute.calls == 1


def test_what_was_read_soon_after_a_change_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"content")
    compute = Counting()
    memory = Memory(tmp_path / "memory.json")

    memory.get("bytes", str(path), compute)
    memory.get("bytes", str(path), compute)

    assert compute.calls == 2


def test_an_old_modification_time_does_not_make_a_young_file_trusted(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"content")
    os.utime(path, (0, 0))
    compute = Counting()
    memory = Memory(tmp_path / "memory.json")

    memory.get("bytes", str(path), compute)
    memory.get("bytes", str(path), compute)

    assert compute.calls == 2


def test_a_file_changed_in_place_with_its_size_and_time_restored_is_seen(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"before")
    later(3)
    memory = Memory(tmp_path / "memory.json")
    before = memory.file(str(path))
    stamp = path.stat()
    wait_for_another_change_time(path)

    with path.open("r+b") as file:
        file.write(b"after!")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert path.stat().st_mtime_ns == stamp.st_mtime_ns
    assert path.stat().st_size == stamp.st_size
    assert memory.file(str(path)) == digest.of_bytes(b"after!") != before


def wait_for_another_change_time(path: Path) -> None:
    """Returns once the file system's clock, which ticks every few milliseconds, has moved past the file's change."""
    probe = path.with_name("probe")
    probe.touch()
    while probe.stat().st_ctime_ns == path.stat().st_ctime_ns:
        os.utime(probe)


def test_a_file_replaced_by_another_of_the_same_size_and_time_is_seen(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"before")
    later(3)
    memory = Memory(tmp_path / "memory.json")
    memory.file(str(path))
    (tmp_path / "new").write_bytes(b"after!")
    os.utime(tmp_path / "new", ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))

    (tmp_path / "new").replace(path)

    assert memory.file(str(path)) == digest.of_bytes(b"after!")


def test_a_file_that_changes_while_it_is_read_is_not_remembered(tmp_path: Path, later: Callable[[float], None]) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"before")
    later(3)
    memory = Memory(tmp_path / "memory.json")

    def read_and_change(name: str) -> str:
        found = digest.of_file(name)
        path.write_bytes(b"changed meanwhile")
        return found

    memory.get("bytes", str(path), read_and_change)

    assert memory.file(str(path)) == digest.of_bytes(b"changed meanwhile")


def test_different_kinds_of_one_file_are_remembered_apart(tmp_path: Path, later: Callable[[float], None]) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"content")
    later(3)
    memory = Memory(tmp_path / "memory.json")

    assert memory.get("names", str(path), lambda _: "matmul") == "matmul"
    assert memory.file(str(path)) == digest.of_bytes(b"content")


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[1]", b'{"bytes x": [[1, 2], 3]}', b'{"\xff": 1}', b"\xff\xfe"], ids=repr
)
def test_losing_or_damaging_the_memorys_file_costs_time_only(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"content")
    if content is not None:
        (tmp_path / "memory.json").write_bytes(content)

    assert Memory(tmp_path / "memory.json").file(str(path)) == digest.of_bytes(b"content")


def test_a_memory_that_cannot_be_written_is_no_error(tmp_path: Path, later: Callable[[float], None]) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"content")
    later(3)
    memory = Memory(tmp_path / "no such folder" / "memory.json")

    memory.file(str(path))
    memory.save()

    assert memory.file(str(path)) == digest.of_bytes(b"content")


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.json")

    memory.save()

    assert list(tmp_path.iterdir()) == []
