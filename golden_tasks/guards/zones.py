"""Red zones: memory around a tensor that a kernel must neither write nor read."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from golden_tasks.guards import bits

_LEAST, _MOST = 1 << 16, 1 << 20  # bytes of a zone: as many as the tensor has, within these
_ALIGNMENT = 64
Sides = tuple[bool, bool]  # for the zone in front and the one behind, whether it is the other one
_FAR_BELOW = 0xF7  # this byte throughout is a large negative number in every floating-point dtype but fp8


class Zoned:
    """A tensor in memory of its own, with a zone in front of it and one behind it.

    What lies there is far from zero: below it, or in an `other` zone above it. A sum, a maximum or a minimum that
    takes it in changes with the other, and so does 0 times it.
    """

    def __init__(
        self, shape: Sequence[int], stride: Sequence[int] | None, dtype: torch.dtype, other: Sides = (False, False)
    ) -> None:
        strides = tuple(stride) if stride is not None else torch.empty(tuple(shape), device="meta").stride()
        item = torch.empty(0, dtype=dtype).element_size()
        held = bits.extent_of(shape, strides) * item
        zone = min(max(_LEAST, held), _MOST) // _ALIGNMENT * _ALIGNMENT
        memory = torch.empty(zone + held + zone, dtype=torch.uint8)  # torch aligns it by 64 bytes
        self._before, self._after = (bits.of(part.view(dtype)) for part in (memory[:zone], memory[zone + held :]))
        self._fills = [bits.of(_fill(dtype, side)) for side in other]
        for part, fill in zip((self._before, self._after), self._fills, strict=True):
            part.copy_(fill)
        self._held = memory[zone : zone + held].view(dtype)
        self.tensor = self._held.as_strided(tuple(shape), strides)

    @classmethod
    def copy_of(cls, tensor: torch.Tensor, other: Sides = (False, False)) -> Zoned:
        """A copy with the same strides, and the same between them."""
        tensor = bits.plain(tensor)
        zoned = cls(tuple(tensor.shape), tensor.stride(), tensor.dtype, other)
        zoned._held.copy_(bits.extent(tensor))
        zoned.tensor.requires_grad_(tensor.requires_grad)
        return zoned

    def damage(self) -> str | None:
        """What was written outside of the tensor, in words; None if nothing was."""
        zones = zip((self._before, self._after), self._fills, strict=True)
        front, behind = (_changed(zone, fill) for zone, fill in zones)
        words = []
        if len(behind):
            words.append(f"{_count(len(behind))} behind its end, {_away(int(behind[0]))}")
        if len(front):
            words.append(f"{_count(len(front))} in front of its start, {_away(len(self._before) - 1 - int(front[-1]))}")
        return " and ".join(words) or None


def _changed(zone: torch.Tensor, fill: torch.Tensor) -> torch.Tensor:
    """The elements of a zone that do not hold what it was filled with."""
    changed = zone != fill
    return torch.nonzero(changed.any(dim=-1) if changed.dim() > 1 else changed).flatten()


def _fill(dtype: torch.dtype, other: bool) -> torch.Tensor:
    """What an element of a zone holds: a large negative number or infinity, the least or the largest integer."""
    if other:
        return bits.highest(dtype)
    if dtype == torch.bool:
        return torch.tensor([False])
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.tensor([torch.iinfo(dtype).min], dtype=dtype)
    size = torch.empty(0, dtype=dtype).element_size()
    return torch.full((size,), _FAR_BELOW, dtype=torch.uint8).view(dtype)


def _count(found: int) -> str:
    return f"{found} element{'s' if found > 1 else ''}"


def _away(gap: int) -> str:
    return "right beside it" if gap == 0 else f"the nearest {gap} element{'s' if gap > 1 else ''} away"
