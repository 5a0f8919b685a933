"""The table of faulty kernels: what is wrong with each, the status that it must end in, and what must be said of it.

`python tests/faulty_kernels/faults.py` prints the table of README.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A case that must fail: which sound case it stands beside, its bug, and the words that a developer needs."""

    case: str
    beside: str
    bug: str
    status: str
    says: tuple[str, ...]


SOUND = {  # case -> what it computes; it passes with every guard
    "attention": "causal attention of one head",
    "block_sums": "sums of blocks, the last block half empty",
    "block_max": "maxima of fp16 blocks",
    "block_min": "minima of uint8 blocks",
    "cores": "sum of rows on four cores, added in the order of the cores",
    "golden": "y = 2 * x, its golden function and its policy",
    "histogram": "histogram with empty bins and a closed last bin",
    "kv_append": "rows appended to the slots of a cache (inout)",
    "layer_norm": "layer norm in two groups, with a tiny row and one far from zero",
    "matmul": "matrix product in tiles, with a tail on every axis",
    "policy_trusted": "zeros on both sides, accepted with a reason",
    "quantise": "fp32 to int8 with saturation, ties to even",
    "rope": "rotary position embedding",
    "row_count": "exact sum of integers",
    "row_max": "maximum of rows",
    "row_mean": "mean of bf16 rows in fp32",
    "running_sum": "running sum",
    "softmax": "online softmax, with a large row and a masked tile",
    "to_bf16": "fp32 to bf16, ties to even",
    "topk": "top k with ties, the lower index first",
    "topk_other_tie_order": "top k with ties, the higher index first: right as well",
    "transpose": "transpose in tiles, bit for bit",
}

FAULTS = (
    Fault(
        "matmul_unwritten_tail",
        "matmul",
        "the row tile at the edge is never stored",
        "NOT_WRITTEN",
        ("c: 112 of 560 elements were never written", "the first at [16, 0]", "all in the last row tile (TILE_M=8"),
    ),
    Fault(
        "matmul_missing_core",
        "matmul",
        "the last of five cores is not started: its tiles are missing",
        "NOT_WRITTEN",
        (
            "c: 96 of 560 elements were never written",
            "the first at [8, 0]",
            "all in tiles 4, 9 of 12 (TILE_M=8 x TILE_N=8), every 5th",
        ),
    ),
    Fault(
        "matmul_stale_output",
        "matmul",
        "adds to what the output held; right only while that is zero",
        "NOT_WRITTEN",
        ("c: 560 of 560 elements depend on what it held before the run", "reads it before it has written it"),
    ),
    Fault(
        "matmul_last_k_tile_left_out",
        "matmul",
        "the loop over k ends one tile early",
        "WRONG_VALUE",
        ("c: 560 of 560 elements differ", "everywhere: no element is right", "11.5 at [2, 6]"),
    ),
    Fault(
        "matmul_tail_counted_twice",
        "matmul",
        "the k tail's tile is moved back and overlaps: products counted twice",
        "WRONG_VALUE",
        ("c: 560 of 560 elements differ", "everywhere: no element is right", "16.4 at [19, 10]"),
    ),
    Fault(
        "matmul_wrong_stride",
        "matmul",
        "b is read with the row length of a",
        "WRONG_VALUE",
        ("c: 560 of 560 elements differ", "everywhere: no element is right", "23.7 at [16, 25]"),
    ),
    Fault(
        "matmul_transposed_tile",
        "matmul",
        "whole tiles are stored transposed",
        "WRONG_VALUE",
        ("c: 336 of 560 elements differ", "22.3 at [4, 5]"),
    ),
    Fault(
        "matmul_swapped_tiles",
        "matmul",
        "two tiles are stored in each other's place",
        "WRONG_VALUE",
        ("c: 128 of 560 elements differ", "all in 2 of 12 tiles (TILE_M=8 x TILE_N=8): (0, 1), (1, 0)"),
    ),
    Fault(
        "matmul_half_sums",
        "matmul",
        "sums are kept in fp16, not in fp32",
        "WRONG_VALUE",
        ("c: 488 of 560 elements differ", "c holds only values that float16 can hold, expected does not"),
    ),
    Fault(
        "matmul_stores_rows_past_end",
        "matmul",
        "the tile at the edge is stored whole: four rows behind the end",
        "OUT_OF_BOUNDS",
        ("c: the kernel wrote outside of it", "behind its end, right beside it"),
    ),
    Fault(
        "matmul_sums_past_end",
        "matmul",
        "the k tail is not cut: rows behind the end of b are added",
        "OUT_OF_BOUNDS",
        ("b: 560 of 560 elements of 'c' depend on memory outside of it", "the kernel reads past its end"),
    ),
    Fault(
        "matmul_pads_one_operand",
        "matmul",
        "only a is padded with zeros; 0 * what lies behind b is NaN if that is",
        "OUT_OF_BOUNDS",
        ("b: 560 of 560 elements of 'c' depend on memory outside of it", "the kernel reads past its end"),
    ),
    Fault(
        "matmul_previous_run",
        "matmul",
        "returns a static buffer before it is filled: the previous run's result",
        "NOT_REPEATABLE",
        ("c: 560 of 560 elements differ from run to run", "[0, 0] was 0, is 1.60366", "kept state"),
    ),
    Fault(
        "softmax_max_not_reset",
        "softmax",
        "a row starts from the maximum of the rows above",
        "WRONG_VALUE",
        ("y: 140 of 240 elements differ", "140 got nan", "all in the last 7 rows (5..11)"),
    ),
    Fault(
        "softmax_sum_not_rescaled",
        "softmax",
        "the sum is not scaled down when a tile raises the maximum",
        "WRONG_VALUE",
        ("y: 140 of 240 elements differ", "0.214 at [2, 19]"),
    ),
    Fault(
        "softmax_masked_tile",
        "softmax",
        "the maximum starts at -infinity: NaN in a row that begins with a masked tile",
        "WRONG_VALUE",
        ("y: 20 of 240 elements differ", "20 got nan", "all in row 7"),
    ),
    Fault(
        "softmax_max_past_end",
        "softmax",
        "the maximum is taken over the tile's padding, behind the end of x too",
        "OUT_OF_BOUNDS",
        ("x: 20 of 240 elements of 'y' depend on memory outside of it", "the first at [11, 0]", "all in row 3"),
    ),
    Fault(
        "softmax_zero_output",
        "softmax",
        "stores the zeroed buffer instead of the computed tile",
        "WRONG_VALUE",
        ("y: 232 of 240 elements differ", "y is 0 everywhere"),
    ),
    Fault(
        "layer_norm_epsilon_forgotten",
        "layer_norm",
        "no epsilon below the root: wrong where the variance is tiny",
        "WRONG_VALUE",
        ("y: 20 of 240 elements differ", "all in row 3"),
    ),
    Fault(
        "layer_norm_padding_counted",
        "layer_norm",
        "the variance is divided by the padded number of columns",
        "WRONG_VALUE",
        ("y: 239 of 240 elements differ", "0.499 at [1, 1]"),
    ),
    Fault(
        "layer_norm_one_pass_variance",
        "layer_norm",
        "mean of squares less square of the mean: cancels in a row far from zero",
        "WRONG_VALUE",
        ("elements differ", "all in row 9"),
    ),
    Fault(
        "layer_norm_gamma_of_other_group",
        "layer_norm",
        "gamma is broadcast from row r % groups, not from the row's group",
        "WRONG_VALUE",
        ("y: 120 of 240 elements differ", "first [1, 0]", "1.42 at [10, 12]"),
    ),
    Fault(
        "layer_norm_centres_in_place",
        "layer_norm",
        "uses its input as a buffer",
        "INPUT_CHANGED",
        ("x: the run changed 240 of 240 elements of this input", "[0, 0] was -1.1258", "make it an inout"),
    ),
    Fault(
        "layer_norm_sums_not_cleared",
        "layer_norm",
        "small heap buffers are added to as malloc gave them",
        "NOT_REPEATABLE",
        ("of 240 elements differ from run to run", "memory that nothing has set"),
    ),
    Fault(
        "layer_norm_workspace_not_cleared",
        "layer_norm",
        "a large workspace is added to as malloc gave it: zeros from the system, for now",
        "NOT_REPEATABLE",
        ("of 240 elements depend on new memory that the kernel has not set",),
    ),
    Fault(
        "transpose_row_length_of_input",
        "transpose",
        "writes with the row length of the input: rows behind the end",
        "OUT_OF_BOUNDS",
        (
            "y: the kernel wrote outside of it",
            "behind its end, right beside it",
            "y: 160 of 560 elements were never written",
        ),
    ),
    Fault(
        "transpose_last_tile_off_by_one",
        "transpose",
        "the last tile is moved back by one row too many",
        "NOT_WRITTEN",
        ("y: 28 of 560 elements were never written", "the first at [0, 19]", "all in the last column (19)"),
    ),
    Fault(
        "block_sums_read_past_end",
        "block_sums",
        "the last block is summed whole, behind the end of x",
        "OUT_OF_BOUNDS",
        ("x: 1 of 13 elements of 'sums' depend on memory outside of it", "the first at [12]"),
    ),
    Fault(
        "block_max_past_end",
        "block_max",
        "the last block's maximum is of a whole one, behind the end of x",
        "OUT_OF_BOUNDS",
        ("x: 1 of 13 elements of 'highest' depend on memory outside of it", "the first at [12]"),
    ),
    Fault(
        "block_min_past_end",
        "block_min",
        "the last block's minimum is of a whole one, behind the end of x",
        "OUT_OF_BOUNDS",
        ("x: 1 of 13 elements of 'lowest' depend on memory outside of it", "the first at [12]"),
    ),
    Fault(
        "block_sums_one_block_more",
        "block_sums",
        "<= for <: one element behind the end of the output",
        "OUT_OF_BOUNDS",
        ("sums: the kernel wrote outside of it", "behind its end, right beside it"),
    ),
    Fault(
        "running_sum_carry_kept",
        "running_sum",
        "the carry is static: the next call goes on from the last total",
        "NOT_REPEATABLE",
        ("sums: 100 of 100 elements differ from run to run", "[0] was -1.1258", "kept state"),
    ),
    Fault(
        "running_sum_before_start",
        "running_sum",
        "stores one element before the output's start",
        "OUT_OF_BOUNDS",
        ("sums: the kernel wrote outside of it", "in front of its start, right beside it"),
    ),
    Fault(
        "row_max_from_zero",
        "row_max",
        "the maximum starts at 0: wrong in rows of negative numbers",
        "WRONG_VALUE",
        ("highest: 2 of 6 elements differ", "every mismatch got 0", "[1, 0]"),
    ),
    Fault(
        "row_mean_bf16_sum",
        "row_mean",
        "sums are kept in bf16, not in fp32",
        "WRONG_VALUE",
        ("means: 6 of 6 elements differ", "0.0038 at [1, 0]"),
    ),
    Fault(
        "row_count_through_float",
        "row_count",
        "integers are summed in fp32: 16777217 becomes 16777216",
        "WRONG_VALUE",
        ("totals: 1 of 6 elements differ", "[3, 0]", "16777217", "16777216"),
    ),
    Fault(
        "quantise_wraps",
        "quantise",
        "int32 is narrowed to int8 without saturation",
        "WRONG_VALUE",
        ("q: 7 of 240 elements differ", "[0, 7] -128 120 248"),
    ),
    Fault(
        "quantise_truncates",
        "quantise",
        "rounds to zero",
        "WRONG_VALUE",
        ("q: 59 of 240 elements differ", "[0, 11] 20 19 1"),
    ),
    Fault(
        "quantise_ties_away",
        "quantise",
        "rounds ties away from zero, not to even",
        "WRONG_VALUE",
        ("q: 53 of 240 elements differ", "[0, 4] 54 55 1"),
    ),
    Fault(
        "quantise_dithers_by_address",
        "quantise",
        "random rounding is seeded by the output's address",
        "NOT_REPEATABLE",
        ("of 240 elements differ from run to run",),
    ),
    Fault(
        "quantise_pads_amax",
        "quantise",
        "stores a tile's padding: in a packed buffer, into the next output",
        "OUT_OF_BOUNDS",
        ("amax: the kernel wrote outside of it", "behind its end, right beside it"),
    ),
    Fault(
        "to_bf16_truncates",
        "to_bf16",
        "cuts the mantissa off instead of rounding it",
        "WRONG_VALUE",
        ("y: 105 of 240 elements differ", "first [0, 1]"),
    ),
    Fault(
        "topk_indices_in_tile",
        "topk",
        "indices count from the tile's start",
        "WRONG_VALUE",
        ("indices: 41 of 60 indices are wrong", "[0, 0] expected 23 (score 1.75), got 7"),
    ),
    Fault(
        "topk_index_of_first_equal",
        "topk",
        "looks the index up by its score: tied scores get one and the same",
        "WRONG_VALUE",
        ("indices: 18 of 60 indices are wrong", "[0, 4] expected 5, got 4, which the row holds at [0, 3] too"),
    ),
    Fault(
        "topk_garbage_indices",
        "topk",
        "values are right, indices are 0, 1, 2, ...",
        "WRONG_VALUE",
        ("indices: 53 of 60 indices are wrong", "[0, 0] expected 23 (score 1.75), got 0"),
    ),
    Fault(
        "rope_pairs_of_neighbours",
        "rope",
        "rotates neighbours into each other, not the halves",
        "WRONG_VALUE",
        ("y: 176 of 192 elements differ", "all in the last 11 rows (1..11)"),
    ),
    Fault(
        "rope_rotated_half_read_again",
        "rope",
        "works in place: the second half is made from the rotated first",
        "WRONG_VALUE",
        ("y: 71 of 192 elements differ", "all in columns 8..14"),
    ),
    Fault(
        "rope_position_off_by_one",
        "rope",
        "takes the angles of the position before",
        "WRONG_VALUE",
        ("y: 175 of 192 elements differ", "first [1, 0]", "1.65 at [4, 0]"),
    ),
    Fault(
        "attention_scale_forgotten",
        "attention",
        "no 1 / sqrt(d)",
        "WRONG_VALUE",
        ("y: 176 of 192 elements differ", "all in the last 11 rows (1..11)"),
    ),
    Fault(
        "attention_sees_next_key",
        "attention",
        "the causal mask is off by one: a key of the future is seen",
        "WRONG_VALUE",
        ("y: 176 of 192 elements differ", "all in rows 0..10"),
    ),
    Fault(
        "attention_first_row_masked",
        "attention",
        "the causal mask is off by one: a query does not see its own key, the first sees none",
        "WRONG_VALUE",
        ("y: 192 of 192 elements differ", "16 got nan", "[0, 0]"),
    ),
    Fault(
        "attention_refuses_size",
        "attention",
        "throws for a number of rows that is no multiple of the tile",
        "RUNTIME_ERROR",
        ("kernel 'attention::refuses_size' threw: rows must be a multiple of TILE_ROWS, not 12",),
    ),
    Fault(
        "attention_freed_workspace",
        "attention",
        "frees a static workspace: the second call crashes",
        "CRASHED",
        ("in run 2 on the same inputs", "SIGSEGV", "cpu/execute.log"),
    ),
    Fault(
        "kv_append_neighbour_slot",
        "kv_append",
        "one row is written to the slot beside its own",
        "WRONG_VALUE",
        ("cache: 16 of 512 elements differ", "all in rows 10..11"),
    ),
    Fault(
        "kv_append_no_slot_is_a_slot",
        "kv_append",
        "slot -1 (none) is written to: a row before the cache's start",
        "OUT_OF_BOUNDS",
        ("cache: the kernel wrote outside of it", "in front of its start, right beside it"),
    ),
    Fault(
        "kv_append_one_row_more",
        "kv_append",
        "<= for <: what lies behind the slots is taken as one, and written to",
        "CRASHED",
        ("in run 2 on the same inputs", "around rows, slots, cache", "SIGSEGV"),
    ),
    Fault(
        "kv_append_slots_used_up",
        "kv_append",
        "marks slots as done in the input that names them",
        "INPUT_CHANGED",
        ("slots: the run changed 5 of 6 elements of this input", "[0] was 4 (int32), is -1 (int32)"),
    ),
    Fault(
        "kv_append_adds_to_cache",
        "kv_append",
        "adds to the old row of the cache instead of replacing it",
        "WRONG_VALUE",
        ("cache: 40 of 512 elements differ", "rows 0, 4, 5, 10, 47"),
    ),
    Fault(
        "histogram_not_cleared",
        "histogram",
        "counts on from what the output held",
        "NOT_WRITTEN",
        ("counts: 10 of 12 elements depend on what it held before the run",),
    ),
    Fault(
        "histogram_empty_bins_left_out",
        "histogram",
        "writes no zeros: empty bins keep what was there",
        "NOT_WRITTEN",
        ("counts: 2 of 12 elements were never written", "the first at [5]"),
    ),
    Fault(
        "histogram_upper_edge",
        "histogram",
        "the upper edge is counted in the bin behind the last",
        "OUT_OF_BOUNDS",
        ("counts: the kernel wrote outside of it", "behind its end, right beside it", "[11]"),
    ),
    Fault(
        "cores_race",
        "cores",
        "four cores add to one output without a lock",
        "NOT_REPEATABLE",
        ("elements differ from run to run on the same inputs", "a race"),
    ),
    Fault(
        "cores_missing_signal",
        "cores",
        "one core waits for a signal that nobody sends",
        "TIMEOUT",
        ("still running after 8 s, and was ended", "cpu/execute.log"),
    ),
    Fault(
        "golden_never_written",
        "golden",
        "golden: the result is a local name, the output stays zero",
        "GOLDEN_ERROR",
        ("golden_never_written never wrote output 'y'", "fill it in place"),
    ),
    Fault(
        "golden_unknown_name",
        "golden",
        "golden: the result has a name that no spec has",
        "GOLDEN_ERROR",
        ("golden_unknown_name added ['z'], which no spec names; the outputs are ['y']",),
    ),
    Fault(
        "golden_input_storage",
        "golden",
        "golden: the output is rebound to an input's memory",
        "GOLDEN_ERROR",
        ("golden_input_storage made output 'y' share the memory of input 'x'", "fill it in place"),
    ),
    Fault(
        "golden_other_shape",
        "golden",
        "golden: the output is rebound to another shape",
        "GOLDEN_ERROR",
        ("golden_other_shape made output 'y' float32 [20, 12], its spec says float32 [12, 20]",),
    ),
    Fault(
        "golden_other_dtype",
        "golden",
        "golden: the output is rebound to another dtype",
        "GOLDEN_ERROR",
        ("golden_other_dtype made output 'y' float64 [12, 20], its spec says float32 [12, 20]",),
    ),
    Fault(
        "policy_zeros_on_both_sides",
        "policy_trusted",
        "policy: the input is zero, so a kernel that writes zeros passes",
        "MISTRUSTED",
        ("y: the expected values and the output are zeros throughout", "trust="),
    ),
    Fault(
        "policy_zeros_would_pass",
        "golden",
        "policy: the tolerance is larger than every expected value",
        "MISTRUSTED",
        ("y: the tolerance is larger than every expected value: zeros would pass as well", "trust="),
    ),
)


def table() -> str:
    """Both tables of README.md: the faulty cases, and the sound ones beside them."""
    faulty = ["| case | bug | status | what is said of it |", "| --- | --- | --- | --- |"]
    faulty += [f"| `{f.case}` | {f.bug} | `{f.status}` | {' ... '.join(f.says)} |" for f in FAULTS]
    sound = ["| sound case | what it computes |", "| --- | --- |"]
    sound += [f"| `{case}` | {computes} |" for case, computes in SOUND.items()]
    return "\n".join([*faulty, "", *sound, ""])


if __name__ == "__main__":
    print(table(), end="")
