"""Contract and policy, part by part: what a case's specs, golden function and comparators put into them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from golden_tasks import ScalarSpec, TensorSpec
from golden_tasks.inspection import contract_of, policy_of
from golden_tasks.specs import Spec

THREADS = torch.get_num_threads()
ROOT = Path(__file__).resolve().parent


def golden(values: dict[str, Any]) -> None:
    values["c"][:] = values["a"]


def ones() -> torch.Tensor:
    return torch.ones(2)


def twos() -> torch.Tensor:
    return torch.full((2,), 2.0)


def filled(value: float) -> torch.Tensor:
    return torch.full((2,), value)


def close(actual: Any, expected: Any, *, allowed: int = 0) -> tuple[bool, str]:
    return True, ""


def specs(**changed: Any) -> list[Spec]:
    a = {"name": "a", "shape": (2,), "dtype": torch.float32, "init_value": torch.randn, **changed}
    c = TensorSpec("c", (2,), torch.float32, is_output=True)
    return [TensorSpec(**a), ScalarSpec("n", torch.int32, 3), c]


def parts(specs: list[Spec], seed: int = 0) -> dict[str, str]:
    return contract_of("case", specs, golden, seed, ROOT).parts


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {part for part in before.keys() | after if before.get(part) != after.get(part)}


BASE = specs()
SPEC_EDITS = {
    "name": (specs(name="b"), {"argument 1", "input a initial value", "input b initial value"}),
    "order": ([BASE[1], BASE[0], BASE[2]], {"argument 1", "argument 2"}),
    "shape": (specs(shape=(3,)), {"argument 1"}),
    "dtype": (specs(dtype=torch.int32), {"argument 1"}),
    "direction": (specs(is_output=True), {"argument 1"}),
    "a kind of initial value": (specs(init_value=torch.rand), {"input a initial value"}),
    "no initial value": (specs(init_value=None), {"input a initial value"}),
    "a number": (specs(init_value=0.5), {"input a initial value"}),
    "a tensor": (specs(init_value=torch.ones(2)), {"input a initial value"}),
    "a function": (specs(init_value=ones), {"input a initial value", "input a ones", "input a torch"}),
    "a scalar's value": ([BASE[0], ScalarSpec("n", torch.int32, 4), BASE[2]], {"scalar n"}),
    "a scalar's dtype": ([BASE[0], ScalarSpec("n", torch.int64, 3), BASE[2]], {"argument 2"}),
    "one argument less": ([BASE[0], BASE[2]], {"argument 2", "argument 3", "scalar n"}),
}


@pytest.mark.parametrize(("edited", "expected"), SPEC_EDITS.values(), ids=SPEC_EDITS)
def test_an_edit_of_a_spec_changes_the_parts_that_name_it(edited: list[Spec], expected: set[str]) -> None:
    assert changed(parts(BASE), parts(edited)) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (torch.ones(2), torch.zeros(2)),
        (ones, twos),
        (lambda: filled(1), lambda: filled(2)),
        (functools.partial(filled, 1), functools.partial(filled, 2)),
        (1, 2),
    ],
    ids=["tensor", "function", "lambda", "partial", "number"],
)
def test_an_edit_of_an_initial_value_changes_its_part(before: Any, after: Any) -> None:
    one, other = parts(specs(init_value=before)), parts(specs(init_value=after))

    assert changed(one, other)
    assert all(part.startswith("input a ") for part in changed(one, other))


def test_each_part_of_the_project_is_found_in_its_file() -> None:
    where: dict[str, str] = {}

    contract_of("case", specs(init_value=functools.partial(filled, 2)), golden, 0, ROOT, where)
    policy_of(1e-5, 1e-6, {"c": close}, ROOT, where)

    assert where.items() >= dict.fromkeys(["golden golden", "comparator of c: close"], "test_contract.py").items()
    assert where["input a filled"] == "test_contract.py"


def test_the_seed_is_a_part() -> None:
    assert changed(parts(BASE, seed=0), parts(BASE, seed=1)) == {"seed"}


def test_the_same_specs_give_the_same_parts() -> None:
    assert parts(specs()) == parts(specs())


def test_the_parts_show_arguments_and_values_in_words() -> None:
    found = parts(BASE)

    assert found.pop("golden golden").startswith("blake3:")
    assert found == {
        "seed": "0",
        "argument 1": "a: float32 [2] in",
        "input a initial value": "torch.randn",
        "argument 2": "n: int32 scalar",
        "scalar n": "3",
        "argument 3": "c: float32 [2] out",
    }


@pytest.mark.parametrize(
    ("setting", "back", "part"),
    [
        (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32), "dtype"),
        (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None), "device"),
        (
            lambda: torch.set_float32_matmul_precision("high"),
            lambda: torch.set_float32_matmul_precision("highest"),
            "precision",
        ),
        (
            lambda: torch.use_deterministic_algorithms(True),
            lambda: torch.use_deterministic_algorithms(False),
            "deterministic",
        ),
        (lambda: torch.set_num_threads(THREADS + 1), lambda: torch.set_num_threads(THREADS), "threads"),
        (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True), "gradients"),
    ],
    ids=["dtype", "device", "precision", "deterministic", "threads", "gradients"],
)
def test_a_setting_of_torch_that_a_module_makes_is_a_part(
    setting: Callable[[], None], back: Callable[[], None], part: str
) -> None:
    before = parts(BASE)
    setting()
    try:
        after = parts(BASE)
    finally:
        back()

    (found,) = changed(before, after)
    assert part in found


def test_what_an_initial_value_could_not_resolve_is_listed_by_its_argument() -> None:
    numbers = (float(i) for i in range(2))
    found = contract_of("case", specs(init_value=lambda: next(numbers)), golden, 0, ROOT)

    assert found.conservative
    assert all(what.startswith("input a ") for what in found.conservative)
    assert any(part.startswith("input a all of ") for part in found.parts)


def test_tolerances_and_comparators_with_their_arguments_are_the_policy() -> None:
    base = policy_of(1e-5, 1e-6, {"c": functools.partial(close, allowed=1)}, ROOT).parts

    assert (base["rtol"], base["atol"]) == ("1e-05", "1e-06")
    assert changed(base, policy_of(1e-4, 1e-6, {"c": functools.partial(close, allowed=1)}, ROOT).parts) == {"rtol"}
    assert changed(base, policy_of(1e-5, 1e-4, {"c": functools.partial(close, allowed=1)}, ROOT).parts) == {"atol"}
    (part,) = changed(base, policy_of(1e-5, 1e-6, {"c": functools.partial(close, allowed=2)}, ROOT).parts)
    assert part.startswith("comparator of c: ")
