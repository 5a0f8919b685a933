"""Reasons: what changed, from what to what, and the line that a reader should look at."""

from pathlib import Path

import pytest

from golden_tasks.graph import reasons
from golden_tasks.graph.lines import line_of


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\nTILE = 64", 2),
        ("\nTILE: int = 64", 2),
        ("\nA, (TILE, *B) = 1, (2, 3)", 2),
        ("A = \\\n    TILE = 64", 1),
        ("\nif FAST:\n    TILE = 64", 3),
        ("\ndef TILE(): ...", 2),
        ("\nasync def TILE(): ...", 2),
        ("\nclass TILE: ...", 2),
        ("case = Case(\n    tiles={\n        'OTHER': 1,\n        'TILE': 64,\n    },\n)", 4),
        ("case = Case(\n    tiles=dict(\n        TILE=64,\n    ),\n)", 3),
        ("x = {'TILE': 64}\nTILE = 64", 2),
        ("TABLE[TILE] = 1\nTILE = 64", 2),
        ("def f():\n    TILE = 1\nTILE = 64", 3),
        ("print(TILE)", None),
        ("def f(:", None),
        ("", None),
    ],
)
def test_the_line_that_gives_a_name_its_value_is_found(text: str, line: int | None) -> None:
    Path("k.py").write_text(text)

    assert line_of("k.py", "TILE") == line


def test_no_line_is_found_in_a_file_that_is_not_there() -> None:
    assert line_of("absent.py", "TILE") is None


SOURCE = """\
class Config:
    rows = 1

    def scale(self, by=2):
        return by


def helper(x, by=3):
    return x


def build_specs():
    return [TensorSpec("x", (1,)), ScalarSpec(name="alpha", value=1)]


rows = 7
case = Case("k", tiles={"TILE": 4}, rtol=1e-3)
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Config.rows", 2),
        ("Config.scale", 4),
        ("Config.scale default by", 4),
        ("helper default by", 8),
        ("module.helper", 8),
        ("rows", 16),
        ("helper (2)", 8),
        ("Config[3]", 1),
        ("rtol", 17),
        ("nothing", None),
    ],
)
def test_the_line_of_what_has_a_longer_name_is_found(name: str, line: int | None) -> None:
    Path("k.py").write_text(SOURCE)

    assert line_of("k.py", name) == line


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
    [
        ("tile TILE", "4", "8", "TILE 4 -> 8 (k.py:17)"),
        ("golden helper", "blake3:a", "blake3:b", "helper changed (k.py:8)"),
        ("golden Config.rows", "1", "2", "Config.rows 1 -> 2 (k.py:2)"),
        ("golden other", None, "1", "other is new (k.py)"),
        ("golden other", "1", None, "other is gone (k.py)"),
        ("golden all of util.py", "blake3:a", "blake3:b", "util.py changed, which counts as a whole"),
        (
            "input x initial value",
            "torch.randn",
            "torch.rand",
            "initial value of x: torch.randn -> torch.rand (k.py:13)",
        ),
        ("input x helper", "blake3:a", "blake3:b", "helper changed (k.py:8)"),
        (
            "argument 1",
            "x: int8 [1] in",
            "x: int8 [2] in",
            "argument x: int8 [1] in -> int8 [2] in (k.py:13)",
        ),
        (
            "argument 1",
            "y: int8 [1] in",
            "x: int8 [1] in",
            "argument 1 y: int8 [1] in -> x: int8 [1] in (k.py:13)",
        ),
        ("scalar alpha", "1", "2", "scalar alpha 1 -> 2 (k.py:13)"),
        ("comparator of y: helper", "blake3:a", "blake3:b", "helper changed (k.py:8)"),
        ("rtol", "0.1", "0.2", "rtol 0.1 -> 0.2 (k.py:17)"),
        ("sanitize", "", "address", "sanitize none -> address (k.py)"),
    ],
)
def test_a_changed_part_is_told_in_the_readers_words(part: str, old: str | None, new: str | None, said: str) -> None:
    Path("k.py").write_text(SOURCE)

    assert reasons.change(part, old, new, "k.py") == said


def test_a_short_value_is_told_before_a_longer_thing_and_before_what_came_or_went() -> None:
    was = {"golden helper": "blake3:a", "tile TILE": "4", "golden gone": "1"}
    now = {"golden helper": "blake3:b", "tile TILE": "8", "golden new": "1"}

    parts = sorted(was.keys() | now.keys(), key=lambda part: reasons.importance(part, was, now))

    assert parts == ["tile TILE", "golden helper", "golden gone", "golden new"]


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("absent", "blake3:a", "has appeared"),
        ("blake3:a", "absent", "is gone"),
        ("blake3:a", "blake3:b", "changed"),
        ("names blake3:a", "names blake3:b", "holds other files"),
    ],
)
def test_what_happened_to_a_file_is_told(was: str, now: str, said: str) -> None:
    assert reasons.became(was, now) == said


def test_a_variable_is_told_with_what_it_was() -> None:
    assert reasons.variable("GAIN", None, "2") == "environment variable GAIN: not set -> 2"
    assert reasons.variable("GAIN", "2", "") == "environment variable GAIN: 2 -> none"
