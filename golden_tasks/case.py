"""`Case`: a kernel's contract and policy with its programs, one for each platform."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from golden_tasks.backends import default_platform
from golden_tasks.guards import Guards
from golden_tasks.guards.choice import wrong
from golden_tasks.results import Failure, Status
from golden_tasks.specs import Spec


def _is_positive(value: object) -> bool:
    return value is None or (isinstance(value, Real) and float(value) > 0)


def _is_mapping(value: object) -> bool:
    return value is None or (isinstance(value, Mapping) and all(isinstance(key, str) for key in value))


def _is_reason(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_reasons(value: object) -> bool:
    return _is_mapping(value) and all(map(_is_reason, (value or {}).values()))  # type: ignore[attr-defined]


_OPTIONS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("specs", callable, "a function that returns the list of specs"),
    ("golden", callable, "a function that fills the outputs among {name: tensor or scalar}"),
    ("programs", lambda value: isinstance(value, Mapping), "a dict of a program for each platform"),
    ("tiles", _is_mapping, "a dict of a value for each tile parameter's name"),
    ("rtol", lambda value: isinstance(value, Real), "a number"),
    ("atol", lambda value: isinstance(value, Real), "a number"),
    (
        "compare_fn",
        lambda value: _is_mapping(value) and all(map(callable, (value or {}).values())),
        "a dict of a comparator for each output's name",
    ),
    ("equal_nan", lambda value: isinstance(value, bool), "True or False"),
    ("seed", lambda value: isinstance(value, Integral), "a whole number"),
    ("timeout", _is_positive, "a number of seconds above 0"),
    ("memory", _is_positive, "a number of bytes above 0"),
    ("guards", lambda value: value is None or value is True, "None or True; `unguarded` switches one off by its name"),
    ("repeat", lambda value: isinstance(value, Integral) and int(value) >= 1, "a whole number of runs from 1 on"),
    ("trust", lambda value: value is None or _is_reason(value), "the reason why a pass that means little is accepted"),
    ("blind", _is_reasons, "a dict of a reason for each damage that the policy need not catch"),
)


class Case:
    """What a kernel computes, how that is judged, and the programs that compute it.

    `name` must be written as a literal, since `doit` reads it without importing the file. `specs` returns the arguments
    in parameter order, `golden` is the PyTorch reference: it gets `{name: tensor or scalar}` and fills the outputs in
    place. `programs` maps each platform to its program: an object, or `"module:attribute"`, which is imported when that
    platform is used. `tiles` are the program's parameters with their defaults. `rtol`, `atol` and `compare_fn` (a
    comparator for an output by name) judge the outputs; `equal_nan` lets NaN equal NaN in the default comparison.
    `seed` seeds the inputs. `timeout` (seconds) and `memory` (bytes) limit each stage of the case, and each run of a
    kernel; without them the project's limits hold.

    `guards=True` asks for the guards on a platform where they are not usual, `unguarded` switches some off, each with
    its reason, and `repeat` is how many runs beside the judged one must give the same bits. `trust` is the reason why
    a pass that means little is accepted, `blind` has one for each damage of the teeth test that the policy need not
    catch. See docs/validation.md.

    Raises `TypeError` for an option of another kind than that.
    """

    declared: ClassVar[list[Case]] = []  # all cases of this process, in the order of their declaration

    def __init__(
        self,
        name: str,
        *,
        specs: Callable[[], Sequence[Spec]],
        golden: Callable[[dict[str, Any]], object],
        programs: Mapping[str, object],
        tiles: Mapping[str, object] | None = None,
        rtol: float = 1e-5,
        atol: float = 1e-5,
        compare_fn: Mapping[str, Callable[..., tuple[bool, str]]] | None = None,
        equal_nan: bool = False,
        seed: int = 0,
        timeout: float | None = None,
        memory: int | None = None,
        guards: bool | None = None,
        unguarded: Mapping[str, str] | None = None,
        repeat: int = 1,
        trust: str | None = None,
        blind: Mapping[str, str] | None = None,
    ) -> None:
        given = locals()
        for option, fits, wanted in _OPTIONS:
            if not fits(given[option]):
                raise TypeError(f"case {name!r}: {option} is {given[option]!r}: give {wanted}")
        mistake = wrong(unguarded or {})
        if mistake:
            raise TypeError(f"case {name!r}: unguarded is {unguarded!r}: {mistake}")
        self.name = name
        self.specs = specs
        self.golden = golden
        self.programs = dict(programs)
        self.tiles = dict(tiles or {})
        self.rtol = rtol
        self.atol = atol
        self.compare_fn = dict(compare_fn or {})
        self.equal_nan = equal_nan
        self.seed = seed
        self.timeout = timeout
        self.memory = memory
        self.guards = Guards(guards, dict(unguarded or {}), int(repeat))
        self.trust = trust or ""
        self.blind = dict(blind or {})
        namer = sys._getframe(1).f_globals.get("__file__")
        self.file = Path(namer).resolve() if namer else None
        Case.declared.append(self)

    def __repr__(self) -> str:
        return f"Case({self.name!r}, platforms={list(self.programs)})"

    @property
    def default_platform(self) -> str:
        """`cpu` if the case has a program for it, else the first platform."""
        return default_platform(self.programs)

    def program(self, platform: str) -> object:
        """The program for a platform, imported if it is named as `"module:attribute"`.

        Raises `Failure` (SKIPPED) if there is none or its module is not installed.
        """
        if platform not in self.programs:
            known = ", ".join(self.programs)
            raise Failure(
                Status.SKIPPED, f"case {self.name!r} has no program for platform {platform!r}; it has {known}"
            )
        program = self.programs[platform]
        if not isinstance(program, str):
            return program
        module, separator, attribute = program.partition(":")
        if not separator:
            raise Failure(Status.CASE_ERROR, f"program {program!r} of case {self.name!r}: write 'module:attribute'")
        if self.file is not None and str(self.file.parent) not in sys.path:
            sys.path.insert(0, str(self.file.parent))
        try:
            imported = import_module(module)
        except ModuleNotFoundError as error:
            raise Failure(
                Status.SKIPPED, f"platform {platform!r} of case {self.name!r} is not available: {error}"
            ) from None
        if not hasattr(imported, attribute):
            raise Failure(
                Status.CASE_ERROR, f"program {program!r} of case {self.name!r}: {module} has no {attribute!r}"
            )
        return getattr(imported, attribute)

    def main(self, argv: Sequence[str] | None = None) -> NoReturn:
        """The script's command line: runs the case once and exits, 0 if it passed, 130 if it was interrupted."""
        from golden_tasks.arguments import add_arguments
        from golden_tasks.harness import run_case

        parser = argparse.ArgumentParser(description=f"Run the case {self.name} once and compare with its golden.")
        add_arguments(parser, self.default_platform)
        parser.add_argument(
            "--tile",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"another value for a tile parameter ({', '.join(self.tiles) or 'this case has none'})",
        )
        options = parser.parse_args(argv)
        try:
            tiles = {**self.tiles, **dict(self._tile(text) for text in options.tile)}
            result = run_case(self, options, tiles)
        except Failure as failure:
            print(f"[RUN] FAIL: {failure.message}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("[RUN] interrupted", file=sys.stderr)
            sys.exit(130)
        sys.exit(0 if result.passed else 1)

    def _tile(self, text: str) -> tuple[str, object]:
        name, separator, value = text.partition("=")
        if not separator or name not in self.tiles:
            known = ", ".join(self.tiles) or "none"
            raise Failure(Status.CASE_ERROR, f"--tile {text}: write NAME=VALUE; the tile parameters are {known}")
        kind: Any = type(self.tiles[name])
        try:
            return name, kind(int(value)) if kind is bool else kind(value)
        except ValueError:
            raise Failure(Status.CASE_ERROR, f"--tile {text}: {name} takes {kind.__name__} values") from None
