// Softmax of every row, TILE_COLS columns at a time: a first pass carries a row's maximum and its sum from tile to
// tile, a second one writes the result.
#include <cmath>
#include <limits>

#include "golden_tasks.h"

namespace softmax {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<float, 2>;
using std::int64_t;

constexpr float LOWEST = std::numeric_limits<float>::lowest();  // finite, so that a tile of -infinity adds 0, not NaN

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static float larger(float a, float b) { return a < b ? b : a; }

static void sound(In x, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float row_max = LOWEST, row_sum = 0.0f;
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE_COLS) {
            const int64_t end = smaller(c0 + TILE_COLS, x.shape[1]);
            float new_max = row_max;
            for (int64_t c = c0; c < end; ++c) new_max = larger(new_max, x(r, c));
            row_sum *= std::exp(row_max - new_max);
            row_max = new_max;
            for (int64_t c = c0; c < end; ++c) row_sum += std::exp(x(r, c) - row_max);
        }
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = std::exp(x(r, c) - row_max) / row_sum;
    }
}

static void max_not_reset(In x, Out y) {
    float row_max = LOWEST;  // bug: before the loop over rows
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float row_sum = 0.0f;
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE_COLS) {
            const int64_t end = smaller(c0 + TILE_COLS, x.shape[1]);
            float new_max = row_max;
            for (int64_t c = c0; c < end; ++c) new_max = larger(new_max, x(r, c));
            row_sum *= std::exp(row_max - new_max);
            row_max = new_max;
            for (int64_t c = c0; c < end; ++c) row_sum += std::exp(x(r, c) - row_max);
        }
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = std::exp(x(r, c) - row_max) / row_sum;
    }
}

static void sum_not_rescaled(In x, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float row_max = LOWEST, row_sum = 0.0f;
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE_COLS) {
            const int64_t end = smaller(c0 + TILE_COLS, x.shape[1]);
            for (int64_t c = c0; c < end; ++c) row_max = larger(row_max, x(r, c));  // bug: the sum keeps its old scale
            for (int64_t c = c0; c < end; ++c) row_sum += std::exp(x(r, c) - row_max);
        }
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = std::exp(x(r, c) - row_max) / row_sum;
    }
}

static void masked_tile(In x, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float row_max = -std::numeric_limits<float>::infinity(), row_sum = 0.0f;  // bug: -inf - -inf in a masked tile
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE_COLS) {
            const int64_t end = smaller(c0 + TILE_COLS, x.shape[1]);
            float new_max = row_max;
            for (int64_t c = c0; c < end; ++c) new_max = larger(new_max, x(r, c));
            row_sum *= std::exp(row_max - new_max);
            row_max = new_max;
            for (int64_t c = c0; c < end; ++c) row_sum += std::exp(x(r, c) - row_max);
        }
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = std::exp(x(r, c) - row_max) / row_sum;
    }
}

// A maximum that is too large by a little cancels out: most rows come out right, though they look into the next one.
static void max_past_end(In x, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float row_max = LOWEST, row_sum = 0.0f;
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE_COLS)
            for (int64_t c = c0; c < c0 + TILE_COLS; ++c) row_max = larger(row_max, x(r, c));  // bug: all of the tile
        for (int64_t c = 0; c < x.shape[1]; ++c) row_sum += std::exp(x(r, c) - row_max);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = std::exp(x(r, c) - row_max) / row_sum;
    }
}

static void zero_output(In x, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        float row_max = LOWEST, row_sum = 0.0f, tile[TILE_COLS] = {}, result[TILE_COLS] = {};
        for (int64_t c = 0; c < x.shape[1]; ++c) row_max = larger(row_max, x(r, c));
        for (int64_t c = 0; c < x.shape[1]; ++c) row_sum += std::exp(x(r, c) - row_max);
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE_COLS) {
            const int64_t end = smaller(c0 + TILE_COLS, x.shape[1]);
            for (int64_t c = c0; c < end; ++c) tile[c - c0] = std::exp(x(r, c) - row_max) / row_sum;
            for (int64_t c = c0; c < end; ++c) y(r, c) = result[c - c0];  // bug: the buffer of zeros, not the tile
        }
    }
}

}  // namespace softmax
