"""The stage `teeth`: a case's policy held against damaged outputs, and the table of what it catches."""

from __future__ import annotations

import shutil

import msgspec

from golden_tasks import records
from golden_tasks.backends import default_platform
from golden_tasks.graph import reasons
from golden_tasks.graph.stage import Stage
from golden_tasks.graph.tasks import snapshot_of
from golden_tasks.records import Bite, Program, Teeth
from golden_tasks.results import Failure, Status

_CAUGHT, _PASSES, _BLIND, _LEFT_OUT = "caught", "PASSES", "blind", "-"


class Bites(Stage):
    verb = "teeth"
    about = "Damage {name}'s expected outputs as kernels do, and see that its policy catches it."
    raises = Status.CASE_ERROR
    reads = ("inspection", "snapshot")
    makes = ("teeth",)
    repeats = True

    def record_file(self) -> str:
        return self.in_case("teeth.json")

    def record(self) -> Teeth | None:
        return self.known(self.record_file(), Teeth)

    def parts(self) -> dict[str, str]:
        policy, (_, manifest) = self.policy(), snapshot_of(self)
        parts = {"expected outputs": manifest.outputs, **policy.parts}
        parts |= {f"blind {damage}": reason for damage, reason in policy.blind.items()}
        parts |= {f"tile {name}": str(size) for name, size in self._tiles().items()}
        if policy.comparators:
            parts["inputs"] = manifest.inputs
        return parts

    def words(self, part: str, old: str | None, new: str | None) -> str:
        if part in ("expected outputs", "inputs"):
            return f"new {part}"
        if part.startswith("blind "):
            return f"{part} {reasons.value(old)} -> {reasons.value(new)}"
        return super().words(part, old, new)

    def _tiles(self) -> dict[str, int]:
        platform = default_platform(self.case.platforms)
        program = self.known(self.in_case(f"{platform}/program.json"), Program)
        return dict(program.tiles) if program else {}

    def failure(self) -> Failure | None:
        record = self.record()
        if record is None:
            return None
        if record.refused:
            return Failure(Status.MISTRUSTED, record.refused)
        passing = [_name(bite) for bite in record.bites if fate(bite, record) == _PASSES]
        if not passing:
            return None
        several = f"{len(passing)} damages pass" if len(passing) > 1 else "a damage passes"
        mend = "tighten the policy, or give the reason in Case(blind={...})"
        return Failure(Status.MISTRUSTED, f"{several}: {', '.join(passing)}: {mend}")

    def make(self, parts: dict[str, str]) -> Teeth:
        snapshot, manifest = snapshot_of(self)
        policy = self.policy()
        answer = self.child(
            "teeth",
            {
                "arguments": msgspec.to_builtins(manifest.arguments),
                "policy": msgspec.to_builtins(policy),
                "snapshot": str(snapshot),
                "tiles": self._tiles(),
            },
        )
        bites = msgspec.convert(answer["bites"], list[Bite])
        return Teeth(made_from=parts, bites=bites, blind=policy.blind, refused=answer["refused"])

    def keep(self, made: Teeth) -> None:
        records.write(self.record_file(), made)


def fate(bite: Bite, record: Teeth) -> str:
    """What became of a damage: `caught`, `PASSES`, `blind` if that is accepted, `-` if it does not apply."""
    if bite.left_out:
        return _LEFT_OUT
    if bite.caught:
        return _CAUGHT
    return _BLIND if _reason(bite, record) else _PASSES


def table(name: str, record: Teeth) -> list[str]:
    """The lines of a case's table: every damage to every output."""
    lines = []
    for output in dict.fromkeys(bite.output for bite in record.bites):
        bites = [bite for bite in record.bites if bite.output == output]
        if len({bite.left_out or bite.damage for bite in bites}) == 1:
            lines.append(f"{name}: {output}   {bites[0].left_out}")
            continue
        lines.append(f"{name}: {output}")
        width = max(len(bite.damage) for bite in bites)
        for bite in bites:
            became = fate(bite, record)
            why = bite.left_out or (bite.said if bite.caught else _reason(bite, record) or "nothing notices it")
            unneeded = "; it need not be in blind" if bite.caught and _reason(bite, record) else ""
            lines.append(_cut(f"  {bite.damage:<{width}}   {became:<6}   {why}{unneeded}"))
    return lines


def summary(name: str, record: Teeth) -> list[str]:
    """A case's table in a line for each output, and one for each damage that passes."""
    lines = []
    for output in dict.fromkeys(bite.output for bite in record.bites):
        bites = [bite for bite in record.bites if bite.output == output]
        fates = [fate(bite, record) for bite in bites]
        counts = [f"{fates.count(_CAUGHT)} caught"]
        for became, word in ((_PASSES, "PASS"), (_BLIND, "blind"), (_LEFT_OUT, "left out")):
            which = ", ".join(bite.damage for bite, f in zip(bites, fates, strict=True) if f == became)
            if which:
                counts.append(f"{fates.count(became)} {word} ({which})")
        lines.append(f"{name}: {output}   {', '.join(counts)}")
    return lines


def _name(bite: Bite) -> str:
    return f"{bite.output}: {bite.damage}"


def _reason(bite: Bite, record: Teeth) -> str:
    return record.blind.get(_name(bite)) or record.blind.get(bite.damage) or ""


def _cut(line: str) -> str:
    """A line that fits the terminal."""
    columns = shutil.get_terminal_size((100, 24)).columns
    return line if len(line) <= columns else f"{line[: columns - 3]}..."
