"""Faults of the golden function and of the policy, beside one kernel that is right: y = 2 * x."""

import torch

from golden_tasks import Case, TensorSpec

ROWS, COLS = 12, 20


def specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def zero_specs() -> list[TensorSpec]:
    x, y = specs()
    return [TensorSpec("x", x.shape, x.dtype), y]  # bug: no initial value, so x is zero


def small_specs() -> list[TensorSpec]:
    x, y = specs()
    return [TensorSpec("x", x.shape, x.dtype, 1e-6), y]


def double(x: torch.Tensor, y: torch.Tensor) -> None:
    torch.add(x, x, out=y)


def golden_sound(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = 2 * values["x"]


def golden_never_written(values: dict[str, torch.Tensor]) -> None:
    y = 2 * values["x"]  # bug: a local name, not the output
    assert y.shape == values["y"].shape


def golden_unknown_name(values: dict[str, torch.Tensor]) -> None:
    values["y"][:] = 0
    values["z"] = 2 * values["x"]  # bug: the output is y


def golden_input_storage(values: dict[str, torch.Tensor]) -> None:
    values["y"] = values["x"].mul_(2)  # bug: y is now x itself


def golden_other_shape(values: dict[str, torch.Tensor]) -> None:
    values["y"] = 2 * values["x"].T  # bug: transposed


def golden_other_dtype(values: dict[str, torch.Tensor]) -> None:
    values["y"] = 2 * values["x"].double()  # bug: fp64 where fp32 is declared


PROGRAM = double

Case("golden", specs=specs, golden=golden_sound, programs={"torch": PROGRAM})
Case("golden_never_written", specs=specs, golden=golden_never_written, programs={"torch": PROGRAM})
Case("golden_unknown_name", specs=specs, golden=golden_unknown_name, programs={"torch": PROGRAM})
Case("golden_input_storage", specs=specs, golden=golden_input_storage, programs={"torch": PROGRAM})
Case("golden_other_shape", specs=specs, golden=golden_other_shape, programs={"torch": PROGRAM})
Case("golden_other_dtype", specs=specs, golden=golden_other_dtype, programs={"torch": PROGRAM})
Case("policy_zeros_on_both_sides", specs=zero_specs, golden=golden_sound, programs={"torch": PROGRAM})
Case("policy_zeros_would_pass", specs=small_specs, golden=golden_sound, programs={"torch": PROGRAM})
Case(
    "policy_trusted",
    specs=zero_specs,
    golden=golden_sound,
    programs={"torch": PROGRAM},
    trust="the kernel of an empty step must write zeros",
)
