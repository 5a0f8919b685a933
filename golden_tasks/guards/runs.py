"""The judged run of a build, and the runs beside it that the guards need.

The judged run comes first and is the one that is timed; every run starts from the same inputs and the same random
numbers. One run beside it, with other memory around the arguments and with something else in the outputs, is enough
for a sound kernel: it gives the same bits. More runs are made only to tell why it does not.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from golden_tasks.backends import Backend
from golden_tasks.guards import bits, heap
from golden_tasks.guards.zones import Sides, Zoned
from golden_tasks.records import Argument, Build, Finding
from golden_tasks.results import Failure, Status
from golden_tasks.specs import dtype_name
from golden_tasks.validation import where

Tensors = dict[str, torch.Tensor]


@dataclass
class Execution:
    """The judged run's outputs and the kernel's seconds, and what the guards found."""

    outputs: Tensors
    seconds: float
    findings: list[Finding] = field(default_factory=list)


def execute(
    backend: Backend,
    work_dir: Path,
    build: Build,
    inputs: Mapping[str, torch.Tensor],
    device: int,
    on: Sequence[str] = (),
    repeat: int = 1,
    before_run: Callable[[str], None] = lambda which: None,
    tiles: Mapping[str, object] | None = None,
    keeps_inputs: bool = False,
) -> Execution:
    """Runs a build on inputs. `on` names the guards that hold.

    Inouts stay as they are. So do inputs, whatever the kernel does to them, with guards or `keeps_inputs`; else it
    gets the inputs themselves.

    `before_run` is told of each run beside the judged one before it begins; findings are placed on the grid of
    `tiles`. Raises what the backend raises.
    """
    runs = _Runs(backend, work_dir, build, inputs, device, on, tiles, keeps_inputs)
    judged = runs.run()
    findings = dict(judged.findings)
    if {"written", "bounds", "repeat"} & set(on):
        beside = _Beside(runs, judged, before_run)
        findings |= {key: found for key, found in beside.look(repeat).items() if key not in findings}
    order = [Status.OUT_OF_BOUNDS, Status.INPUT_CHANGED, Status.NOT_WRITTEN, Status.NOT_REPEATABLE]
    told = sorted(findings.values(), key=lambda found: order.index(Status(found.status)))
    return Execution(judged.outputs, judged.seconds, told)


_Findings = dict[tuple[str, str, str], Finding]  # (status, argument, kind) -> what was found


@dataclass(frozen=True)
class Other:
    """What is other in a run than in the judged one; nothing of it may matter to the outputs."""

    fill: bool = False  # what the outputs hold before
    in_front: Sequence[str] = ()  # the arguments that have other memory in front of them
    behind: Sequence[str] = ()  # and those that have it behind them
    heap: bool = False  # what `malloc` hands out

    def __str__(self) -> str:
        places = ["in the outputs"] if self.fill else []
        if self.in_front or self.behind:
            side = "around" if self.in_front == self.behind else "behind" if self.behind else "in front of"
            places.append(f"{side} {', '.join(self.behind or self.in_front)}")
        places += ["in new memory"] if self.heap else []
        return f"with other values {', '.join(places)}" if places else "with nothing else changed"


@dataclass
class _Run:
    """One run: its outputs, and what can be seen of it alone."""

    outputs: Tensors
    seconds: float
    findings: _Findings


class _Runs:
    """Runs of one build on one set of inputs."""

    def __init__(
        self,
        backend: Backend,
        work_dir: Path,
        build: Build,
        inputs: Mapping[str, torch.Tensor],
        device: int,
        on: Sequence[str],
        tiles: Mapping[str, object] | None,
        keeps_inputs: bool,
    ) -> None:
        self.build = build
        self._tiles = tiles
        self._keeps_inputs = keeps_inputs
        self.inputs = inputs
        self.on = on
        self._call: Callable[[Sequence[Any]], float] = lambda values: backend.execute(work_dir, build, values, device)
        self._random = _RandomState()

    def run(self, other: Other | None = None) -> _Run:
        """One run, with what is other than in the judged one."""
        other = other or Other()
        self._random.restore()
        zones: dict[str, Zoned] = {}
        values = []
        for argument in self.build.arguments:
            sides = (argument.name in other.in_front, argument.name in other.behind)
            value = self._value(argument, zones, sides)
            if other.fill and not argument.is_input:
                bits.fill(value)
            values.append(value)
        before = [_form(value) for value in values]
        with heap.filled() if other.heap else nullcontext():
            seconds = self._call(values)
        for argument, value, form in zip(self.build.arguments, values, before, strict=True):
            _check_form(argument, form, _form(value))
        by_name = {a.name: value for a, value in zip(self.build.arguments, values, strict=True)}
        findings: _Findings = {}
        for name, zone in zones.items():
            damage = zone.damage()
            if damage:
                _add(findings, Status.OUT_OF_BOUNDS, name, "written", f"the kernel wrote outside of it: {damage}")
        if "inputs" in self.on:
            for argument in self.build.arguments:
                if argument.kind == "tensor" and not argument.is_output:
                    self._compare_input(findings, argument.name, by_name[argument.name])
        outputs = {a.name: by_name[a.name] for a in self.build.arguments if a.is_output}
        if self.on:  # a later run must not reach them
            outputs = {name: bits.copy_of(output) for name, output in outputs.items()}
        return _Run(outputs, seconds, findings)

    def places(self, mask: torch.Tensor) -> str:
        """Where the elements of a mask lie, in a few words, and the first of them."""
        return f"{self.area(mask)}the first at {_index(mask)}"

    def area(self, mask: torch.Tensor) -> str:
        """Where the elements of a mask lie, if a few words say it."""
        shape = where.summary(where.locate(mask, self._tiles))
        return f"{shape}, " if shape else ""

    def _value(self, argument: Argument, zones: dict[str, Zoned], other: Sides) -> torch.Tensor:
        """What the kernel gets: an input, an inout as a copy that it may change, an output as zeros."""
        zoned = "bounds" in self.on and argument.kind == "tensor"
        if not argument.is_input:
            dtype = getattr(torch, argument.dtype)
            if not zoned:
                return torch.zeros(argument.shape, dtype=dtype)
            zones[argument.name] = Zoned(argument.shape, None, dtype, other)
            bits.of(zones[argument.name].tensor).zero_()
            return zones[argument.name].tensor
        given = self.inputs[argument.name]
        if zoned:
            zones[argument.name] = Zoned.copy_of(given, other)
            return zones[argument.name].tensor
        if argument.kind == "tensor" and (argument.is_output or self.on or self._keeps_inputs):
            return bits.copy_of(given)
        return given

    def _compare_input(self, findings: _Findings, name: str, now: torch.Tensor) -> None:
        was = bits.plain(self.inputs[name].detach())
        if bits.equal(bits.extent(now), bits.extent(was)):
            return
        changed = ~bits.holding(now, was)
        if not bool(changed.any()):
            words = "the run wrote into the gaps that the strides of this input leave between its elements"
            _add(findings, Status.INPUT_CHANGED, name, "gaps", words)
            return
        words = (
            f"the run changed {_share(changed)} elements of this input: {self.area(changed)}"
            f"{_example(changed, was, now)}; "
            "if it is meant to, make it an inout: is_output=True beside its init_value"
        )
        _add(findings, Status.INPUT_CHANGED, name, "changed", words)


class _Beside:
    """The runs beside the judged one, and what their differences tell."""

    def __init__(self, runs: _Runs, judged: _Run, before_run: Callable[[str], None]) -> None:
        self._runs = runs
        self._judged = judged
        self._before_run = before_run
        self._findings: _Findings = {}
        self._number = 1

    def look(self, repeat: int) -> _Findings:
        on = self._runs.on
        around = self._tensors() if "bounds" in on else ()
        other = self._run(Other("written" in on, around, around, "repeat" in on))
        unwritten = self._unwritten(other) if "written" in on else {}
        for name, mask in unwritten.items():
            words = f"{_share(mask)} elements were never written: they hold what was there before the run"
            dropped = "; outputs are written in place, what a kernel returns is dropped" if bool(mask.all()) else ""
            self._tell(Status.NOT_WRITTEN, name, "kept", f"{words}, {self._runs.places(mask)}{dropped}")
        differing = dict(self._differences(other, unwritten))
        repetitions = repeat - 1 if "repeat" in on else 0
        for _ in range(max(1, repetitions) if differing else repetitions):
            if self._differs_on_repetition():
                return self._findings
        if differing:
            self._explain(differing, unwritten)
        return self._findings

    def _explain(self, differing: Tensors, unwritten: Tensors) -> None:
        """Why a run with everything else changed differs, though a mere repetition does not: one thing at a time."""
        unset = dict(self._differences(self._run(Other(heap=True)), {}))  # comes and goes in the runs below, too
        for name, mask in unset.items():
            words = f"{_share(mask)} elements depend on new memory that the kernel has not set"
            self._tell(Status.NOT_REPEATABLE, name, "heap", f"{words}, {self._runs.places(mask)}")
        told = set(unset)
        if "written" in self._runs.on:
            known = {**unset, **unwritten}
            known |= {name: unset[name] | unwritten[name] for name in unset.keys() & unwritten}
            for name, mask in self._differences(self._run(Other(fill=True)), known):
                told.add(name)
                words = (
                    f"{_share(mask)} elements depend on what it held before the run, {self._runs.places(mask)}: "
                    "the kernel reads it before it has written it"
                )
                self._tell(Status.NOT_WRITTEN, name, "read", words)
        for argument in self._tensors() if "bounds" in self._runs.on else ():
            sides = (("its end", Other(behind=[argument])), ("its start", Other(in_front=[argument])))
            for side, other in sides:
                for name, mask in self._differences(self._run(other), unset):
                    told.add(name)
                    words = (
                        f"{_share(mask)} elements of {name!r} depend on memory outside of it, "
                        f"{self._runs.places(mask)}: the kernel reads past {side}"
                    )
                    self._tell(Status.OUT_OF_BOUNDS, argument, f"read into {name} past {side}", words)
        for name in differing.keys() - told:  # only all together do it, or it comes and goes
            self._not_repeatable(name, differing[name], "which something outside of the inputs decides")

    def _differs_on_repetition(self) -> bool:
        again = self._run(Other())
        found = list(self._differences(again, {}))
        for name, mask in found:
            example = _example(mask, self._judged.outputs[name], again.outputs[name])
            self._not_repeatable(name, mask, example)
        return bool(found)

    def _not_repeatable(self, name: str, mask: torch.Tensor, more: str) -> None:
        words = (
            f"{_share(mask)} elements differ from run to run on the same inputs: {more}; "
            "a race, kept state or memory that nothing has set"
        )
        self._tell(Status.NOT_REPEATABLE, name, "run to run", words)

    def _run(self, other: Other) -> _Run:
        self._number += 1
        which = f"in run {self._number} on the same inputs, {other}"
        self._before_run(which)
        try:
            found = self._runs.run(other)
        except Failure as failure:
            raise Failure(failure.status, f"{which}: {failure.message}") from failure
        for key, finding in found.findings.items():
            self._findings.setdefault(key, finding)
        return found

    def _unwritten(self, other: _Run) -> Tensors:
        """Which elements of outputs kept their fill in both runs, for those outputs that have any."""
        found = {}
        for argument in self._runs.build.arguments:
            if argument.is_input or other.outputs[argument.name].numel() == 0:
                continue
            now = other.outputs[argument.name]
            filled, zeros = torch.empty_like(now), torch.zeros_like(now)
            bits.fill(filled)
            kept = bits.holding(now, filled) & bits.holding(self._judged.outputs[argument.name], zeros)
            if bool(kept.any()):
                found[argument.name] = kept
        return found

    def _differences(self, other: _Run, leaving_out: Tensors) -> Iterator[tuple[str, torch.Tensor]]:
        """The outputs that differ from the judged run's, and where."""
        for name, judged in self._judged.outputs.items():
            if bits.equal(judged, other.outputs[name]):
                continue
            mask = bits.differing(judged, other.outputs[name])
            if name in leaving_out:
                mask &= ~leaving_out[name]
            if bool(mask.any()):
                yield name, mask

    def _tensors(self) -> list[str]:
        return [a.name for a in self._runs.build.arguments if a.kind == "tensor"]

    def _tell(self, status: Status, name: str, kind: str, words: str) -> None:
        if status is Status.NOT_REPEATABLE and "repeat" not in self._runs.on:
            return  # it is known and accepted
        _add(self._findings, status, name, kind, words)


@dataclass(frozen=True)
class _Form:
    """What a kernel must leave of an argument: where its memory is, and how that is read."""

    address: int
    shape: tuple[int, ...]
    dtype: torch.dtype


def _form(value: torch.Tensor) -> _Form:
    return _Form(value.data_ptr(), tuple(value.shape), value.dtype)


def _check_form(argument: Argument, was: _Form, now: _Form) -> None:
    """Raises `Failure` if a kernel gave an argument another shape, dtype or memory, as a Python kernel can."""
    if now == was:
        return
    if now.shape != was.shape:
        status, change = Status.WRONG_SHAPE, f"shape {list(was.shape)} -> {list(now.shape)}"
    elif now.dtype != was.dtype:
        status, change = Status.WRONG_DTYPE, f"dtype {dtype_name(was.dtype)} -> {dtype_name(now.dtype)}"
    else:
        status, change = Status.NOT_WRITTEN, "other memory, by set_ or .data, and wrote nothing to its own"
    if not argument.is_output:
        status = Status.INPUT_CHANGED
    raise Failure(status, f"the kernel gave {argument.name!r} another form: {change}: leave its form, write in place")


class _RandomState:
    """The state of the random numbers that a Python kernel may draw."""

    def __init__(self) -> None:
        self._torch, self._python = torch.get_rng_state(), random.getstate()
        self._numpy: Any = sys.modules.get("numpy")
        self._state = self._numpy.random.get_state() if self._numpy else None

    def restore(self) -> None:
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        if self._numpy:
            self._numpy.random.set_state(self._state)


def _add(findings: _Findings, status: Status, name: str, kind: str, words: str) -> None:
    findings.setdefault((status.value, name, kind), Finding(status=status.value, argument=name, message=words))


def _share(mask: torch.Tensor) -> str:
    return f"{int(mask.sum())} of {mask.numel()}"


def _example(mask: torch.Tensor, was: torch.Tensor, now: torch.Tensor) -> str:
    index = tuple(torch.nonzero(mask)[0].tolist())
    return f"{list(index)} was {_number(was[index])}, is {_number(now[index])}"


def _index(mask: torch.Tensor) -> list[int]:
    index: list[int] = torch.nonzero(mask)[0].tolist()
    return index


def _number(value: torch.Tensor) -> str:
    return f"{value.item():.9g}" if value.dtype.is_floating_point else f"{value.item()} ({dtype_name(value.dtype)})"
