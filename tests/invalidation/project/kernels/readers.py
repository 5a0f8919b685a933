"""y = gain * x + bias: data files that are read at import, by an initialiser and by the golden function."""

import torch
from reading import FOLDER, number, scales

from golden_tasks import Case, TensorSpec

SIZE = 4
SCALES = scales()


def init_x() -> torch.Tensor:
    return torch.tensor([float(word) for word in (FOLDER / "points.txt").read_text().split()])


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, init_x),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_readers(values: dict) -> None:
    bias = number("bias.txt")
    if (FOLDER / "correction.txt").exists():
        bias += number("correction.txt")
    bias += len(list((FOLDER / "parts").glob("*.txt"))) - 1
    values["y"][:] = values["x"] * SCALES["gain"] + bias


def readers_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * 2 + 1


case = Case("readers", specs=build_specs, golden=golden_readers, programs={"torch": readers_torch})
