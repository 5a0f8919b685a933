"""What the golden function did with the values that it was given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from golden_tasks.results import Failure, Status
from golden_tasks.specs import Spec, TensorSpec


class GoldenGuard:
    """Looks at the values before and after a golden function; `unused` outputs need not be written.

    Raises `Failure` (GOLDEN_ERROR) for an output that was never written, a name that no spec has, and an output that
    was rebound to an input's memory.
    """

    def __init__(self, unused: Collection[str] = ()) -> None:
        self._unused = unused

    def __call__(
        self, function: str, specs: Sequence[Spec], given: Mapping[str, Any], values: Mapping[str, Any]
    ) -> None:
        unknown = [name for name in values if name not in given]
        outputs = [spec.name for spec in specs if isinstance(spec, TensorSpec) and spec.is_output]
        if unknown:
            raise Failure(
                Status.GOLDEN_ERROR, f"{function} added {unknown}, which no spec names; the outputs are {outputs}"
            )
        inputs = {
            given[spec.name].untyped_storage().data_ptr(): spec.name
            for spec in specs
            if isinstance(spec, TensorSpec) and (not spec.is_output or spec.is_inout) and given[spec.name].numel()
        }
        for name in outputs:
            was, now = given[name], values[name]
            if now is not was and now.numel() and now.untyped_storage().data_ptr() in inputs:
                whose = inputs[now.untyped_storage().data_ptr()]
                raise Failure(
                    Status.GOLDEN_ERROR,
                    f"{function} made output {name!r} share the memory of input {whose!r}: "
                    f"fill it in place, values[{name!r}][:] = ...",
                )
            if now is was and name not in self._unused and _is_untouched(now) and not _is_inout(specs, name):
                raise Failure(
                    Status.GOLDEN_ERROR,
                    f"{function} never wrote output {name!r}: fill it in place, values[{name!r}][:] = ...; "
                    "zeros that are meant are written too, and a comparator that uses no expected value says so by "
                    "golden_tasks.ignores_expected",
                )


def _is_inout(specs: Sequence[Spec], name: str) -> bool:
    return any(spec.name == name and isinstance(spec, TensorSpec) and spec.is_inout for spec in specs)


def _is_untouched(tensor: torch.Tensor) -> bool:
    """Whether nothing was written to a tensor that was made as zeros: torch counts writes, NumPy's are seen as values.

    A write of zeros through NumPy or C alone is not seen.
    """
    return tensor.numel() > 0 and tensor._version == 0 and not bool(tensor.any())
