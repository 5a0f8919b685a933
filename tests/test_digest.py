"""Digests: equal for equal bytes, texts and parts, and for nothing else."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_tasks import digest


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
