"""Six rows of 8 appended to a cache of 64 slots, one of them to none; the cache is an inout tensor, exact."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SLOTS, ROWS, COLS = 64, 6, 8


def init_slots() -> torch.Tensor:
    return torch.tensor([4, 5, 10, -1, 47, 0])


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("rows", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("slots", (ROWS,), torch.int32, init_slots),
        TensorSpec("cache", (SLOTS, COLS), torch.float32, torch.randn, is_output=True),
    ]


def golden_append(values: dict[str, torch.Tensor]) -> None:
    used = values["slots"] >= 0
    values["cache"][values["slots"][used].long()] = values["rows"][used]


def kernel(function: str) -> CppKernel:
    return CppKernel("kv_append.cpp", function=f"kv_append::{function}")


COMMON = {"specs": build_specs, "golden": golden_append, "rtol": 0.0, "atol": 0.0}

Case("kv_append", programs={"cpu": kernel("sound")}, **COMMON)
Case("kv_append_neighbour_slot", programs={"cpu": kernel("neighbour_slot")}, **COMMON)
Case("kv_append_no_slot_is_a_slot", programs={"cpu": kernel("no_slot_is_a_slot")}, **COMMON)
Case("kv_append_one_row_more", programs={"cpu": kernel("one_row_more")}, **COMMON)
Case("kv_append_slots_used_up", programs={"cpu": kernel("slots_used_up")}, **COMMON)
Case("kv_append_adds_to_cache", programs={"cpu": kernel("adds_to_cache")}, **COMMON)
