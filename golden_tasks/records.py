"""The JSON files beside artefacts, which say what each was made from. Written last, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from golden_tasks import digest

SCHEMA = 1
ABSENT = "absent"  # the content of a file that was looked for and was not there


class Argument(msgspec.Struct, frozen=True):
    """One argument of a kernel, as plain data: a spec without its values."""

    name: str
    kind: str  # "tensor" or "scalar"
    dtype: str  # torch's name without the prefix: "float32"
    shape: tuple[int, ...]  # () for a scalar
    direction: str  # "in", "out" or "inout"

    @property
    def is_input(self) -> bool:
        return self.direction != "out"

    @property
    def is_output(self) -> bool:
        return self.direction != "in"

    def __str__(self) -> str:
        if self.kind == "scalar":
            return f"{self.dtype} scalar"
        return f"{self.dtype} {list(self.shape)} {self.direction}"


class Record(msgspec.Struct, kw_only=True):
    """What an artefact was made from, what its making found out about, and what was made."""

    schema: int = SCHEMA
    made_from: dict[str, str]  # part -> digest, or the value itself where it is short
    found: dict[str, str] = {}  # file found out about while making -> its content, as a digest or `ABSENT`
    environment: dict[str, str | None] = {}  # environment variable read while making -> its value
    made: dict[str, str] = {}  # file that was made -> digest of its bytes
    check: str = ""  # digest of all the rest: a record that was edited by hand is none
    unseen: list[str] = []  # what the project's code did meanwhile that cannot be seen through: a process, a socket


class Inspection(Record, kw_only=True):
    """What was read to find a case's contract, policy and programs, and what a reader wants to know of their parts."""

    timeout: float | None
    memory: int | None
    where: dict[str, str] = {}  # part -> the project's file that defines it


class Contract(msgspec.Struct, kw_only=True):
    """What a case computes: its arguments, and the parts that its snapshot depends on."""

    schema: int = SCHEMA
    case: str
    seed: int
    arguments: tuple[Argument, ...]
    parts: dict[str, str]
    conservative: list[str] = []  # what could not be resolved, and so counts as a whole file


class Policy(msgspec.Struct, kw_only=True):
    """How a case's outputs are judged. A comparator is code: only its parts are here."""

    schema: int = SCHEMA
    rtol: float
    atol: float
    equal_nan: bool = False
    comparators: list[str] = []  # the outputs that have a comparator of their own
    trust: str = ""  # why a pass that means little is accepted
    guards: bool | None = None  # what `golden_tasks.guards.Guards` is made of
    without: dict[str, str] = {}
    repeat: int = 1
    blind: dict[str, str] = {}  # damage that the policy cannot catch -> why that is accepted
    parts: dict[str, str]
    conservative: list[str] = []  # as in a contract


class Program(msgspec.Struct, kw_only=True):
    """How a case is computed on one platform, as its backend described it."""

    schema: int = SCHEMA
    platform: str
    backend: str = ""
    name: str = ""  # of the kernel's function
    unavailable: str = ""  # why there is no program; the rest is then empty
    plan: dict[str, Any] = {}  # what the backend compiles from
    tiles: list[tuple[str, int]] = []  # the case's tile parameters that are whole numbers, in its own order
    sources: list[str] = []  # files whose contents the build depends on
    parts: dict[str, str] = {}
    conservative: list[str] = []  # as in a contract


class Build(Record, kw_only=True):
    """A compiled program: a `runtime_dir`'s `build.json`."""

    platform: str
    backend: str
    binary: str  # digest of what is executed: the binary and its argument list
    arguments: tuple[Argument, ...]
    sources: dict[str, str]  # the runtime_dir's own sources -> digest
    command: list[str] = []  # the compiler call, relative to the runtime_dir
    plan: dict[str, Any] = {}


class Finding(msgspec.Struct, kw_only=True):
    """What a guard found around a run: something wrong that the outputs alone may not show."""

    status: str
    argument: str
    message: str


class Run(Record, kw_only=True):
    """One execution of a build over a snapshot's inputs."""

    outputs: str  # digest of all outputs
    seconds: float  # the kernel's own wall time, of the judged run
    guards: dict[str, str] = {}  # guard -> `on`, or why it is off
    findings: list[Finding] = []


class OutputVerdict(msgspec.Struct, kw_only=True):
    """One output held against its expected value."""

    name: str
    status: str
    message: str
    elements: int = 0
    mismatches: int = 0
    worst: float | None = None  # the largest share of the tolerance that was used; 1.0 is all of it
    nonzero: int = 0  # expected elements that are not zero
    finite: int = 0  # expected elements that are finite
    comparator: str = ""  # its label; empty for the default comparison
    weak: str = ""  # why its pass means little


class Verdict(Record, kw_only=True):
    """A run's outputs held against the snapshot under the policy."""

    status: str
    outputs: list[OutputVerdict]
    findings: list[Finding] = []  # the run's own
    distrust: list[str] = []  # why a pass would mean little
    trust: str = ""  # why that was accepted
    seconds: float
    failed_dir: str = ""  # where a failing run's data was kept

    def wrong(self) -> list[str]:
        """What is wrong, each with the argument that it is about: what guards found, then the outputs."""
        found = [f"{finding.argument}: {finding.message}" for finding in self.findings]
        failed = [f"{output.name}: {output.message}" for output in self.outputs if output.status != "PASSED"]
        return found + failed or self.distrust


class Bite(msgspec.Struct, kw_only=True):
    """What a policy says of one damage to one expected output."""

    output: str
    damage: str
    caught: bool = False
    said: str = ""  # the first line of what caught it
    left_out: str = ""  # why the damage does not apply


class Teeth(Record, kw_only=True):
    """A policy held against every damage."""

    bites: list[Bite]
    blind: dict[str, str]  # damage, or `output: damage` -> why the case accepts that it passes
    refused: str = ""  # why nothing was judged: the expected outputs themselves do not pass, for instance


class Entry(msgspec.Struct, kw_only=True):
    """One file of a snapshot."""

    digest: str
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    bytes: int


class Proof(msgspec.Struct, kw_only=True):
    """The passing run that proved a snapshot."""

    platform: str
    build: str
    run: str
    policy: dict[str, str]


class Manifest(Record, kw_only=True):
    """What a snapshot holds and where it came from. `made_from` are the contract's parts."""

    case: str
    seed: int | None
    arguments: tuple[Argument, ...]
    files: dict[str, Entry]  # "in/a.pt" -> entry
    inputs: str  # digest of all inputs
    outputs: str  # digest of all expected outputs
    time: str
    versions: dict[str, str]
    threads: int
    commit: str | None = None
    proof: Proof | None = None


T = TypeVar("T", bound=msgspec.Struct)


def read(path: str | os.PathLike[str], kind: type[T]) -> T | None:
    """The record in a file; None if there is none, or it is damaged, edited by hand or of another schema."""
    try:
        content = Path(path).read_bytes()
        record = msgspec.json.decode(content, type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if isinstance(record, Record) and record.check != _check(msgspec.json.decode(content)):
        return None
    return record if getattr(record, "schema", SCHEMA) == SCHEMA else None


def encode(record: object) -> bytes:
    """A record as the bytes of its file; its `check` is brought up to date."""
    if isinstance(record, Record):
        record.check = _check(msgspec.to_builtins(record))
    return msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=1) + b"\n"


def _check(content: dict[str, Any]) -> str:
    """The digest of all that a record says beside `check`."""
    said = {name: value for name, value in content.items() if name != "check"}
    return digest.of_bytes(msgspec.json.encode(said, order="sorted"))


def write(path: str | os.PathLike[str], record: object) -> None:
    """Writes a record whole, or leaves the old one."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        beside.write_bytes(encode(record))
        beside.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # a full disk names no file, and ours is of no use to a user
        raise
    finally:
        beside.unlink(missing_ok=True)


def write_if_changed(path: str | os.PathLike[str], record: object) -> None:
    """Writes a record unless the file holds exactly it already, so that its time tells of changes only."""
    path = Path(path)
    try:
        if path.read_bytes() == encode(record):
            return
    except OSError:
        pass
    write(path, record)
