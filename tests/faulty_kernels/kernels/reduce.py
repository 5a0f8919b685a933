"""Reductions: of the blocks of 100 numbers, their running sum, and maxima, means and totals of the rows of a matrix."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

SIZE, BLOCK = 100, 8
BLOCKS = -(-SIZE // BLOCK)  # the last one is half of one
ROWS, COLS = 6, 40
ODD = 2**24 + 1  # the first whole number that fp32 has not


def block_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.randn),
        TensorSpec("sums", (BLOCKS,), torch.float32, is_output=True),
    ]


def running_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float32, torch.randn),
        TensorSpec("sums", (SIZE,), torch.float32, is_output=True),
    ]


def block_max_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.float16, torch.randn),
        TensorSpec("highest", (BLOCKS,), torch.float16, is_output=True),
    ]


def init_bytes() -> torch.Tensor:
    return torch.randint(20, 100, (SIZE,))


def block_min_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (SIZE,), torch.uint8, init_bytes),
        TensorSpec("lowest", (BLOCKS,), torch.uint8, is_output=True),
    ]


def init_signs() -> torch.Tensor:
    """Rows of both signs, but for two that are negative throughout."""
    x = torch.randn(ROWS, COLS)
    x[[1, 4]] = -x[[1, 4]].abs() - 1
    return x


def max_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, init_signs),
        TensorSpec("highest", (ROWS, 1), torch.float32, is_output=True),
    ]


def mean_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.bfloat16, torch.rand),
        TensorSpec("means", (ROWS, 1), torch.float32, is_output=True),
    ]


def init_counts() -> torch.Tensor:
    """Small counts, but for one row whose total is odd and above 2^24."""
    counts = torch.randint(0, 100, (ROWS, COLS))
    counts[3] = 0
    counts[3, :2] = torch.tensor([ODD - 1, 1])
    return counts


def count_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.int32, init_counts),
        TensorSpec("totals", (ROWS, 1), torch.int64, is_output=True),
    ]


def golden_blocks(values: dict[str, torch.Tensor]) -> None:
    for block in range(BLOCKS):
        values["sums"][block] = values["x"][block * BLOCK : (block + 1) * BLOCK].sum()


def golden_block_max(values: dict[str, torch.Tensor]) -> None:
    for block in range(BLOCKS):
        values["highest"][block] = values["x"][block * BLOCK : (block + 1) * BLOCK].max()


def golden_block_min(values: dict[str, torch.Tensor]) -> None:
    for block in range(BLOCKS):
        values["lowest"][block] = values["x"][block * BLOCK : (block + 1) * BLOCK].min()


def golden_running(values: dict[str, torch.Tensor]) -> None:
    values["sums"][:] = values["x"].cumsum(0)


def golden_max(values: dict[str, torch.Tensor]) -> None:
    values["highest"][:] = values["x"].amax(dim=1, keepdim=True)


def golden_mean(values: dict[str, torch.Tensor]) -> None:
    values["means"][:] = values["x"].float().mean(dim=1, keepdim=True)


def golden_count(values: dict[str, torch.Tensor]) -> None:
    values["totals"][:] = values["x"].sum(dim=1, keepdim=True)


def kernel(function: str) -> CppKernel:
    return CppKernel("reduce.cpp", function=f"reduce::{function}", defines={"BLOCK": BLOCK})


BLOCK_SUMS = {"specs": block_specs, "golden": golden_blocks}
BLOCK_MAX = {"specs": block_max_specs, "golden": golden_block_max, "rtol": 0.0, "atol": 0.0}
BLOCK_MIN = {"specs": block_min_specs, "golden": golden_block_min}
RUNNING_SUM = {"specs": running_specs, "golden": golden_running, "atol": 1e-4}
ROW_MAX = {"specs": max_specs, "golden": golden_max, "rtol": 0.0, "atol": 0.0}
ROW_MEAN = {"specs": mean_specs, "golden": golden_mean}
ROW_COUNT = {"specs": count_specs, "golden": golden_count}

Case("block_sums", programs={"cpu": kernel("block_sums")}, **BLOCK_SUMS)
Case("block_sums_read_past_end", programs={"cpu": kernel("block_sums_read_past_end")}, **BLOCK_SUMS)
Case("block_sums_one_block_more", programs={"cpu": kernel("block_sums_one_block_more")}, **BLOCK_SUMS)
Case("block_max", programs={"cpu": kernel("block_max")}, **BLOCK_MAX)
Case("block_max_past_end", programs={"cpu": kernel("block_max_past_end")}, **BLOCK_MAX)
Case("block_min", programs={"cpu": kernel("block_min")}, **BLOCK_MIN)
Case("block_min_past_end", programs={"cpu": kernel("block_min_past_end")}, **BLOCK_MIN)
Case("running_sum", programs={"cpu": kernel("running_sum")}, **RUNNING_SUM)
Case("running_sum_carry_kept", programs={"cpu": kernel("running_sum_carry_kept")}, **RUNNING_SUM)
Case("running_sum_before_start", programs={"cpu": kernel("running_sum_before_start")}, **RUNNING_SUM)
Case("row_max", programs={"cpu": kernel("row_max")}, **ROW_MAX)
Case("row_max_from_zero", programs={"cpu": kernel("row_max_from_zero")}, **ROW_MAX)
Case("row_mean", programs={"cpu": kernel("row_mean")}, **ROW_MEAN)
Case("row_mean_bf16_sum", programs={"cpu": kernel("row_mean_bf16_sum")}, **ROW_MEAN)
Case("row_count", programs={"cpu": kernel("row_count")}, **ROW_COUNT)
Case("row_count_through_float", programs={"cpu": kernel("row_count_through_float")}, **ROW_COUNT)
