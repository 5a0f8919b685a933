"""docs/validation.md shows what is really printed: its edits are made, its commands run, its Python typed in."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import PATH, REPOSITORY

import golden_tasks
from golden_tasks.guards import GUARDS
from golden_tasks.validation.teeth import DAMAGES

PAGE = (REPOSITORY / "docs" / "validation.md").read_text()
NUMBER = r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf)"


@dataclass(frozen=True)
class Example:
    """Edits, each (file, old text, new text), a command, and what the page says that it prints."""

    edits: tuple[tuple[str, str, str], ...]
    command: str
    shown: str
    line: int

    @property
    def case(self) -> str:
        return re.findall(r"[:/](\w+)", self.command)[-1]


def blocks() -> Iterator[tuple[int, str, str]]:
    """The fenced blocks of the page: line, language, text."""
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        yield PAGE.count("\n", 0, found.start()) + 1, found[1], found[2]


def examples() -> list[Example]:
    found, edits = [], list[tuple[str, str, str]]()
    for line, language, text in blocks():
        if language == "diff":
            edits += edits_of(text)
        elif language == "console":
            command, _, shown = text.partition("\n")
            found.append(Example(tuple(edits), command.removeprefix("$ "), shown, line))
            edits = []
    return found


def edits_of(diff: str) -> Iterator[tuple[str, str, str]]:
    file, *lines = diff.splitlines()
    pairs = re.findall(r"((?:-.*\n)+)((?:\+.*\n)+)", "\n".join(lines) + "\n")
    for pair in pairs:
        old, new = ("\n".join(line[1:] for line in part.splitlines()) for part in pair)
        yield file.removeprefix("--- "), old, new


def rounds() -> list[list[Example]]:
    """The examples in groups in which no case is edited twice, so that one `doit` replays a group."""
    groups: list[list[Example]] = []
    for example in examples():
        free = (group for group in groups if example.case not in [other.case for other in group])
        group = next(free, None)
        if group is None:
            groups.append(group := [])
        group.append(example)
    return groups


def printed(group: list[Example], folder: Path) -> dict[Example, str]:
    """What each example of a group prints, in one project of its own."""
    shutil.copy(REPOSITORY / "dodo.py", folder)
    shutil.copytree(REPOSITORY / "kernels", folder / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in (edit for example in group for edit in example.edits):
        text = (folder / file).read_text()
        assert text.count(old) == 1, f"{file} has this {text.count(old)} times:\n{old}"
        (folder / file).write_text(text.replace(old, new))
    of_doit = [example for example in group if example.command.startswith("doit ")]
    tasks = [example.command.split()[-1] for example in of_doit]
    together = output(f"doit -v 2 {' '.join(tasks)}", folder)  # as without -v 2, but for what passes tell of themselves
    return {e: together if e in of_doit else output(e.command, folder) for e in group}


def output(command: str, folder: Path) -> str:
    done = subprocess.run(
        command.split(),
        cwd=folder,
        env={**os.environ, **PATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.stdout


def words(text: str) -> list[str]:
    """Lines without what differs from run to run and machine to machine: figures, times, bars, padding."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\d{8}_\d{6}(_\d+)*", "STAMP", line)
        line = re.sub(r"(?<![\w.])[\d.]+ (us|ms|s)\b", "TIME", line)
        line = re.sub(r"\([\d.]+s\)", "(TIME)", line)
        line = re.sub(rf"(?<![\w.]){NUMBER}(?![\w.])", "N", line)
        line = re.sub(r"(?<= )([.#])\1*$", "BAR", line.rstrip())
        line = re.sub(r" +", " ", line).strip()
        if not lines or lines[-1] != line:  # a histogram has a line more or less elsewhere
            lines.append(line)
    return lines


@pytest.mark.parametrize("group", rounds(), ids=lambda group: "+".join(e.case for e in group))
def test_commands_print_what_the_page_shows(group: list[Example], tmp_path: Path) -> None:
    for example, text in printed(group, tmp_path).items():
        real, at = words(text), 0
        for part in re.split(r"^ *\.\.\.\n", example.shown, flags=re.MULTILINE):
            wanted = words(part)
            places = [i for i in range(at, len(real) + 1 - len(wanted)) if real[i : i + len(wanted)] == wanted]
            assert places, f"docs/validation.md:{example.line}: this is not printed:\n{part}\nbut this is:\n{text}"
            at = places[0] + len(wanted)


def test_python_prints_what_the_page_shows() -> None:
    text = "\n".join(text for _, language, text in blocks() if language == "pycon")
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/validation.md", None, 0)
    assert len(test.examples) > 20
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.failed == 0, "".join(said)


def test_every_comparator_guard_damage_and_failure_of_a_run_is_on_the_page() -> None:
    homes = ("combine", "distribution", "pool", "ratio", "topk", "whole")
    comparators = [n for n in golden_tasks.__all__ if golden_tasks._HOME[n] in {f"validation.{home}" for home in homes}]
    titles = "\n".join(re.findall(r"^###? .*", PAGE, re.MULTILINE))
    assert [name for name in comparators if f"`{name}(" not in titles] == []
    failures = ("WRONG_SHAPE", "WRONG_DTYPE", "WRONG_VALUE", "NOT_WRITTEN", "INPUT_CHANGED", "OUT_OF_BOUNDS")
    failures += ("NOT_REPEATABLE", "MISTRUSTED", "GOLDEN_ERROR", "CASE_ERROR")
    assert [status for status in failures if status not in titles] == []
    assert [guard for guard in GUARDS if f"| `{guard}` |" not in PAGE] == []
    assert [damage for damage in DAMAGES if damage not in PAGE] == []
