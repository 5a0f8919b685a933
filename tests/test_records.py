"""Records: written whole or not at all, and None when they cannot be trusted."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from golden_tasks import records
from golden_tasks.records import Argument, OutputVerdict, Policy, Record, Verdict


def record(**made_from: str) -> Record:
    """A record as it is once it was written."""
    made = Record(made_from=made_from)
    records.encode(made)
    return made


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = Record(made_from={"tile M": "64"}, found={"a.h": "blake3:1"}, environment={"HOME": None}, made={})

    records.write(tmp_path / "new folder" / "build.json", written)

    assert records.read(tmp_path / "new folder" / "build.json", Record) == written


def test_equal_records_are_equal_bytes_whatever_the_order_of_their_parts() -> None:
    assert records.encode(record(a="1", b="2")) == records.encode(record(b="2", a="1"))


@pytest.mark.parametrize(
    "content",
    [None, b"", b"{", b"[]", b"null", b"\xff", b'{"made_from": {"a": 1}}', b'{"schema": 1}', b'{"made_from": {}'],
    ids=repr,
)
def test_a_record_that_is_missing_or_unreadable_is_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "run.json"
    if content is not None:
        path.write_bytes(content)

    assert records.read(path, Record) is None


@pytest.mark.parametrize(
    ("said", "instead"), [("WRONG_VALUE", "PASSED"), ('"worst": 2.5', '"worst": 0.5'), ("blake3:1", "blake3:2")]
)
def test_a_record_that_was_edited_by_hand_is_none(tmp_path: Path, said: str, instead: str) -> None:
    path = tmp_path / "verdict.json"
    output = OutputVerdict(name="y", status="WRONG_VALUE", message="", worst=2.5)
    records.write(path, Verdict(made_from={"outputs": "blake3:1"}, status="WRONG_VALUE", outputs=[output], seconds=1))
    assert said in path.read_text() and records.read(path, Verdict) is not None

    path.write_text(path.read_text().replace(said, instead))

    assert records.read(path, Verdict) is None


def test_a_folder_in_a_records_place_is_none(tmp_path: Path) -> None:
    assert records.read(tmp_path, Record) is None


@pytest.mark.parametrize("schema", [records.SCHEMA - 1, records.SCHEMA + 1])
def test_a_record_of_another_schema_is_none(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "run.json"
    records.write(path, Record(schema=schema, made_from={}))

    assert records.read(path, Record) is None


@given(st.data())
def test_a_record_cut_short_is_none(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = records.encode(record(a="1", b="2")).rstrip()
    path = tmp_path_factory.getbasetemp() / "cut.json"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])

    assert records.read(path, Record) is None


@given(st.dictionaries(st.text(), st.text()))
@example({"\0\n\u2028": '"\\'})
def test_any_text_can_be_a_part(tmp_path_factory: pytest.TempPathFactory, parts: dict[str, str]) -> None:
    path = tmp_path_factory.getbasetemp() / "parts.json"

    records.write(path, record(**parts))

    assert records.read(path, Record) == record(**parts)


def test_a_write_that_fails_leaves_the_old_record_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    records.write(path, record(a="old"))

    def disk_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", disk_full)
    with pytest.raises(OSError, match="No space left"):
        records.write(path, record(a="new"))

    assert records.read(path, Record) == record(a="old")
    assert list(tmp_path.iterdir()) == [path]


def test_a_record_is_replaced_and_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    records.write(path, record(a="old"))
    with path.open("rb") as reader:
        records.write(path, record(a="new"))

        assert reader.read() == records.encode(record(a="old"))
    assert records.read(path, Record) == record(a="new")


def test_an_unchanged_record_keeps_its_time(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    policy = Policy(rtol=1e-5, atol=0, parts={"rtol": "1e-05"})
    records.write(path, policy)
    os.utime(path, ns=(1, 1))

    records.write_if_changed(path, policy)

    assert path.stat().st_mtime_ns == 1


@pytest.mark.parametrize("content", [None, b"damaged"], ids=repr)
def test_a_changed_damaged_or_missing_record_is_written(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "policy.json"
    if content is not None:
        path.write_bytes(content)

    records.write_if_changed(path, record(a="1"))

    assert records.read(path, Record) == record(a="1")


@pytest.mark.parametrize(
    ("argument", "words", "is_input", "is_output"),
    [
        (Argument("x", "tensor", "float32", (2, 3), "in"), "float32 [2, 3] in", True, False),
        (Argument("y", "tensor", "int8", (), "out"), "int8 [] out", False, True),
        (Argument("s", "tensor", "bool", (1,), "inout"), "bool [1] inout", True, True),
        (Argument("n", "scalar", "int32", (), "in"), "int32 scalar", True, False),
    ],
)
def test_an_argument_says_what_it_is(argument: Argument, words: str, is_input: bool, is_output: bool) -> None:
    assert (str(argument), argument.is_input, argument.is_output) == (words, is_input, is_output)
