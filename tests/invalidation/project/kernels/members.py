"""y = x + HIGH + bonus: the golden function reads a member of an enum and a field of a dataclass."""

import enum
from dataclasses import dataclass

import torch

from golden_tasks import Case, TensorSpec

SIZE = 8


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Settings:
    bonus: float = 0.25
    label: str = "plain"


SETTINGS = Settings()


def bonus_of(settings: Settings) -> float:
    return settings.bonus


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_members(values: dict) -> None:
    values["y"][:] = values["x"] + Level.HIGH.value + bonus_of(SETTINGS)


def members_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x + 2.25


case = Case("members", specs=build_specs, golden=golden_members, programs={"torch": members_torch})
