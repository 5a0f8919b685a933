"""y = rate * x + lift + bonus: the golden function is a method's work, and the class has a base."""

import torch

from golden_tasks import Case, TensorSpec

SIZE = 8


class Base:
    base_rate = 2.0

    def rated(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.base_rate


class Model(Base):
    lift = 0.5

    def __init__(self, bonus: float) -> None:
        self.bonus = bonus

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return self.rated(x) + self.lift + self.bonus


MODEL = Model(bonus=0.125)


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.rand),
        TensorSpec("y", (SIZE,), torch.float32, is_output=True),
    ]


def golden_objects(values: dict) -> None:
    values["y"][:] = MODEL.run(values["x"])


def objects_torch(x: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * 2.0 + 0.625


case = Case("objects", specs=build_specs, golden=golden_objects, programs={"torch": objects_torch})
