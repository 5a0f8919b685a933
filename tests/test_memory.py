"""The memory of files: trusted only while nothing can hide; a question is settled only while nothing has changed."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from golden_tasks import digest
from golden_tasks.graph import memory as memory_module
from golden_tasks.graph.memory import Memory


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets this many seconds pass for the memory's clock."""

    def move(seconds: float) -> None:
        monkeypatch.setattr(memory_module, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + int(seconds * 1e9)))

    return move


class Counting:
    """Computes digests and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, path: str) -> str:
        self.calls += 1
        return digest.of_file(path)


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


def settled(memory: Memory, files: list[Path]) -> None:
    """Settles the question `q` after a look at files and at the variable GAIN."""
    with memory.answering("all of it") as seen:
        for path in files:
            memory.look(str(path))
        memory.variable("GAIN")
    memory.settle("q", seen)


@pytest.fixture
def looked_at(tmp_path: Path, later: Callable[[float], None]) -> tuple[Path, Path, Path]:
    """The memory's file, a file that was there when `q` was settled, and one that was not."""
    here, missing = tmp_path / "here", tmp_path / "missing"
    here.write_bytes(b"content")
    later(3)
    memory = Memory(tmp_path / "memory.json")
    settled(memory, [here, missing])
    memory.save()
    return tmp_path / "memory.json", here, missing


def test_a_question_stays_settled_in_later_runs_while_nothing_changes(looked_at: tuple[Path, Path, Path]) -> None:
    memory = Memory(looked_at[0])

    assert memory.is_settled("q", "all of it")
    assert not memory.is_settled("q", "a part of it")
    assert not memory.is_settled("another", "all of it")


@pytest.mark.parametrize("change", ["content", "touch", "removal", "appearance", "variable", "version"])
def test_whatever_changes_reopens_a_question(
    looked_at: tuple[Path, Path, Path], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, here, missing = looked_at
    if change == "content":
        here.write_bytes(b"changed")
    elif change == "touch":
        here.touch()
    elif change == "removal":
        here.unlink()
    elif change == "appearance":
        missing.mkdir()
    elif change == "variable":
        monkeypatch.setenv("GAIN", "2")
    else:
        monkeypatch.setattr(memory_module, "_harness", lambda: "another")

    assert not Memory(kept).is_settled("q", "all of it")


def test_a_question_about_a_young_file_is_not_settled(tmp_path: Path) -> None:
    (tmp_path / "young").write_bytes(b"content")
    memory = Memory(tmp_path / "memory.json")

    settled(memory, [tmp_path / "young"])

    assert not memory.is_settled("q", "all of it")
