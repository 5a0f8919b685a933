"""Which guards hold for a run, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

GUARDS = {
    "inputs": "inputs are the same after the run",
    "written": "every element of every output is written, whatever it held before",
    "bounds": "nothing outside of the arguments is written, or read into a result",
    "repeat": "every run on the same inputs gives the same bits",
}

IMPOSSIBLE = "off: not possible for this build"


@dataclass(frozen=True)
class Guards:
    """The guards of a run.

    `asked` is None for what is usual on the platform, True for all that can be had there. `without` holds a reason
    for each guard that is switched off. `repeat` is how many runs beside the judged one must give the same bits; the
    runs of other guards count.
    """

    asked: bool | None = None
    without: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1

    def on(self, usual: Sequence[str], possible: Sequence[str]) -> list[str]:
        """The names of the guards that hold, on a platform where some are usual and some are possible."""
        chosen = possible if self.asked else usual if self.asked is None else ()
        return [name for name in GUARDS if name in chosen and name in possible and name not in self.without]

    def told(self, usual: Sequence[str], possible: Sequence[str]) -> dict[str, str]:
        """For a record: `on` for each guard that holds, with its runs for `repeat`, else why it is off."""
        on = self.on(usual, possible)
        told = {}
        for name in GUARDS:
            if name in on:
                told[name] = f"on in {self.repeat} runs" if name == "repeat" and self.repeat > 1 else "on"
            elif name in self.without:
                told[name] = f"off: {self.without[name]}"
            else:
                told[name] = "off: not asked for" if name in possible else IMPOSSIBLE
        return told


def wrong(without: object) -> str | None:
    """What is wrong with a choice of guards to switch off; None if nothing is."""
    if not isinstance(without, Mapping):
        return "give a dict of a reason for each guard that is switched off"
    unknown = [name for name in without if name not in GUARDS]
    if unknown:
        return f"there is no guard {unknown}: the guards are {list(GUARDS)}"
    if not all(isinstance(reason, str) and reason.strip() for reason in without.values()):
        return "give the reason for switching each one off, as a text"
    return None
