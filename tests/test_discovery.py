"""Cases are found by reading kernel files, which are not imported; what cannot be read is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden_tasks.graph.discovery import CaseRef, DiscoveryError, check_name, discover
from golden_tasks.graph.memory import Memory

ONE = 'Case("one", programs={"cpu": None})'
TWO = 'Case("two", programs={"cpu": None})'


def cases(*texts: str | bytes) -> list[CaseRef]:
    """The cases of kernel files `k1.py`, `k2.py`... in the current folder."""
    files = [f"k{i}.py" for i in range(1, len(texts) + 1)]
    for file, text in zip(files, texts, strict=True):
        Path(file).write_bytes(text.encode() if isinstance(text, str) else text)
    return discover(files, Memory(Path("digests.json")))


def names(*texts: str) -> list[str]:
    return [case.name for case in cases(*texts)]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_case_is_read_with_its_place_and_platforms_and_nothing_is_imported() -> None:
    text = (
        "import no_such_module\n\nraise SystemExit\n\n"
        'case = Case(\n    "matmul",\n    programs={"cpu": Kernel(), "a2a3sim": "m:f"},\n)\n\n'
        'if __name__ == "__main__":\n    case.main()\n'
    )

    assert cases(text) == [CaseRef("matmul", "k1.py", 5, ("cpu", "a2a3sim"), True)]


@pytest.mark.parametrize(
    "text",
    [
        f"case = {ONE}",
        f"case: Case = {ONE}",
        'case = Case(name="one", programs={"cpu": None})',
        'case = Case("o" "ne", programs={"cpu": None})',
        f"import golden_tasks\ncase = golden_tasks.{ONE}",
        f"import golden_tasks as gt\ncase = gt.{ONE}",
        f"from golden_tasks import Case as C\ncase = C{ONE[4:]}",
        f"from golden_tasks.case import Case as C\ncase = C{ONE[4:]}",
        f"if True:\n    case = {ONE}",
        f"try:\n    case = {ONE}\nexcept ImportError:\n    pass",
        f"cases = register({ONE})",
        f"CASES = {{'one': {ONE}}}",
        f"# -*- coding: latin-1 -*-\ntext = 'ä'\ncase = {ONE}",
    ],
)
def test_a_case_is_found_however_it_is_written(text: str) -> None:
    assert names(text) == ["one"]


def test_cases_come_in_the_order_of_files_and_lines() -> None:
    assert names(f"a = {TWO}", f"b = [{ONE}, {ONE.replace('one', 'three')}]") == ["two", "one", "three"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "from golden_tasks import Case",
        f"def make():\n    return {ONE}",
        f"async def make():\n    return {ONE}",
        f"make = lambda: {ONE}",
        f"class Kernels:\n    case = {ONE}",
        f'if __name__ == "__main__":\n    case = {ONE}',
        'text = "Case(1)"',
        "case = Cases(1)",
    ],
)
def test_what_makes_no_case_on_import_declares_none(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    "name", ["", "all", ".one", "-one", *(f"a{c}b" for c in "@=:*?[]/\\ \t\n\x00\x1b\u00a0\u2028")]
)
def test_a_name_that_cannot_be_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(DiscoveryError, match=r"^k1\.py:2: ") as raised:
        cases(f"\ncase = Case({name!r}, programs={{'cpu': None}})")

    assert str(raised.value) == f"k1.py:2: {check_name(name)}"


@pytest.mark.parametrize("name", ["matmul", "a-b.c", "Größe", "_a", "1", "all_", "a,b", "a+b"])
def test_any_other_name_can_be(name: str) -> None:
    assert names(f"case = Case({name!r}, programs={{'cpu': None}})") == [name]


@pytest.mark.parametrize(
    "arguments", ["NAME", "'a' + 'b'", "f'a'", "f'{x}'", "b'a'", "1", "None", "name=NAME", "*args", "**options", ""]
)
def test_a_name_that_is_no_literal_text_is_refused_with_its_place(arguments: str) -> None:
    with pytest.raises(DiscoveryError) as raised:
        cases(f"case = Case({arguments})")

    assert str(raised.value) == (
        "k1.py:1: write the case's name as a literal text: doit reads it without importing the file"
    )


@pytest.mark.parametrize(
    "programs",
    ["PROGRAMS", "{}", "dict(cpu=None)", "{CPU: None}", "{**BASE}", "{1: None}", "{p: None for p in P}", None],
)
def test_programs_that_are_no_literal_dict_are_refused_with_an_example(programs: str | None) -> None:
    with pytest.raises(DiscoveryError) as raised:
        cases(f"\ncase = Case('one'{f', programs={programs}' if programs else ''})")

    assert str(raised.value).startswith(
        "k1.py:2: write programs of case 'one' as a dict with a literal platform for each"
    )
    assert '{"cpu": CppKernel("kernel.cpp")}' in str(raised.value)


@pytest.mark.parametrize("platforms", ["'cpu': 1, 'cpu': 2", "'': 1", "'a b': 1", "'../x': 1", "'all': 1", "'a@b': 1"])
def test_a_platform_that_cannot_be_is_refused_with_its_place(platforms: str) -> None:
    with pytest.raises(DiscoveryError, match=r"^k1\.py:1: case 'one' cannot have the platform '"):
        cases(f"case = Case('one', programs={{{platforms}}})")


def test_two_cases_of_one_name_are_refused_with_both_places() -> None:
    with pytest.raises(DiscoveryError) as raised:
        cases(f"case = {ONE}", f"\nother = {ONE}")

    assert str(raised.value) == "two cases are named 'one': k1.py:1 and k2.py:2; rename one of them"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"x = 1\ndef f(:\n", "k1.py:2: "),
        (b"x = '", "k1.py:1: "),
        (b"x = '\xff'", "k1.py"),
        (b"x = 1\x00", "k1.py"),
        (b"# coding: nonsense\n", "k1.py: "),
        (b"x = " + b"-" * 100_000 + b"1", "k1.py"),
    ],
)
def test_a_file_that_is_no_python_is_refused_with_its_place(text: bytes, place: str) -> None:
    with pytest.raises(DiscoveryError) as raised:
        cases(text)

    assert str(raised.value).startswith(place)
    assert str(raised.value).endswith("; mend the file, no case in it can be read")


def test_a_file_that_cannot_be_opened_is_refused_by_name() -> None:
    Path("folder.py").mkdir()

    with pytest.raises(DiscoveryError, match=r"^folder\.py: cannot be read: "):
        discover(["folder.py"], Memory(Path("digests.json")))
