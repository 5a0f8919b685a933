// Reductions: sums, maxima and minima of blocks, running sums, maxima and means of rows, and exact sums of integers.
#include <limits>

#include "golden_tasks.h"

namespace reduce {

template <class T, std::size_t RANK>
using In = gt::Tensor<const T, RANK>;
template <class T, std::size_t RANK>
using Out = gt::Tensor<T, RANK>;
using std::int64_t;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void block_sums(In<float, 1> x, Out<float, 1> sums) {
    for (int64_t b = 0; b < sums.shape[0]; ++b) {
        float sum = 0.0f;
        for (int64_t i = b * BLOCK; i < smaller((b + 1) * BLOCK, x.shape[0]); ++i) sum += x(i);
        sums(b) = sum;
    }
}

static void block_sums_read_past_end(In<float, 1> x, Out<float, 1> sums) {
    for (int64_t b = 0; b < sums.shape[0]; ++b) {
        float sum = 0.0f;
        for (int64_t i = b * BLOCK; i < (b + 1) * BLOCK; ++i) sum += x(i);  // bug: the last block is not a whole one
        sums(b) = sum;
    }
}

static void block_sums_one_block_more(In<float, 1> x, Out<float, 1> sums) {
    for (int64_t b = 0; b <= sums.shape[0]; ++b) {  // bug: <=, an empty block behind the last one
        float sum = 0.0f;
        for (int64_t i = b * BLOCK; i < smaller((b + 1) * BLOCK, x.shape[0]); ++i) sum += x(i);
        sums(b) = sum;
    }
}

static void block_max(In<gt::float16, 1> x, Out<gt::float16, 1> highest) {
    for (int64_t b = 0; b < highest.shape[0]; ++b) {
        gt::float16 found = -std::numeric_limits<float>::infinity();
        for (int64_t i = b * BLOCK; i < smaller((b + 1) * BLOCK, x.shape[0]); ++i) found = found < x(i) ? x(i) : found;
        highest(b) = found;
    }
}

static void block_max_past_end(In<gt::float16, 1> x, Out<gt::float16, 1> highest) {
    for (int64_t b = 0; b < highest.shape[0]; ++b) {
        gt::float16 found = -std::numeric_limits<float>::infinity();
        for (int64_t i = b * BLOCK; i < (b + 1) * BLOCK; ++i) found = found < x(i) ? x(i) : found;  // bug: whole blocks
        highest(b) = found;
    }
}

static void block_min(In<std::uint8_t, 1> x, Out<std::uint8_t, 1> lowest) {
    for (int64_t b = 0; b < lowest.shape[0]; ++b) {
        std::uint8_t found = 255;
        for (int64_t i = b * BLOCK; i < smaller((b + 1) * BLOCK, x.shape[0]); ++i) found = x(i) < found ? x(i) : found;
        lowest(b) = found;
    }
}

static void block_min_past_end(In<std::uint8_t, 1> x, Out<std::uint8_t, 1> lowest) {
    for (int64_t b = 0; b < lowest.shape[0]; ++b) {
        std::uint8_t found = 255;
        for (int64_t i = b * BLOCK; i < (b + 1) * BLOCK; ++i) found = x(i) < found ? x(i) : found;  // bug: whole blocks
        lowest(b) = found;
    }
}

static void running_sum(In<float, 1> x, Out<float, 1> sums) {
    float carry = 0.0f;
    for (int64_t i = 0; i < x.shape[0]; ++i) sums(i) = carry += x(i);
}

static void running_sum_carry_kept(In<float, 1> x, Out<float, 1> sums) {
    static float carry = 0.0f;  // bug: static, so the next call goes on from this one's total
    for (int64_t i = 0; i < x.shape[0]; ++i) sums(i) = carry += x(i);
}

static void running_sum_before_start(In<float, 1> x, Out<float, 1> sums) {
    float carry = 0.0f;
    for (int64_t i = 0; i < x.shape[0]; ++i) {
        sums(i - 1) = carry;  // bug: a sum is stored one step later, and so one is stored before the first
        carry += x(i);
    }
    sums(x.shape[0] - 1) = carry;
}

static void row_max(In<float, 2> x, Out<float, 2> highest) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float found = std::numeric_limits<float>::lowest();
        for (int64_t c = 0; c < x.shape[1]; ++c) found = found < x(r, c) ? x(r, c) : found;
        highest(r, 0) = found;
    }
}

static void row_max_from_zero(In<float, 2> x, Out<float, 2> highest) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float found = 0.0f;  // bug: a row of negative numbers has a maximum below it
        for (int64_t c = 0; c < x.shape[1]; ++c) found = found < x(r, c) ? x(r, c) : found;
        highest(r, 0) = found;
    }
}

static void row_mean(In<gt::bfloat16, 2> x, Out<float, 2> means) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float sum = 0.0f;
        for (int64_t c = 0; c < x.shape[1]; ++c) sum += x(r, c);
        means(r, 0) = sum / x.shape[1];
    }
}

static void row_mean_bf16_sum(In<gt::bfloat16, 2> x, Out<float, 2> means) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        gt::bfloat16 sum = 0.0f;  // bug: a bf16 sum where an fp32 one is due
        for (int64_t c = 0; c < x.shape[1]; ++c) sum += x(r, c);
        means(r, 0) = sum / x.shape[1];
    }
}

static void row_count(In<std::int32_t, 2> x, Out<int64_t, 2> totals) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        int64_t sum = 0;
        for (int64_t c = 0; c < x.shape[1]; ++c) sum += x(r, c);
        totals(r, 0) = sum;
    }
}

static void row_count_through_float(In<std::int32_t, 2> x, Out<int64_t, 2> totals) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float sum = 0.0f;  // bug: an fp32 number holds no odd integer above 2^24
        for (int64_t c = 0; c < x.shape[1]; ++c) sum += x(r, c);
        totals(r, 0) = static_cast<int64_t>(sum);
    }
}

}  // namespace reduce
