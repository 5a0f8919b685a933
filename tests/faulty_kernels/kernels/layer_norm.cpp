// Layer norm of every row, TILE_ROWS rows at a time: y = (x - mean) / sqrt(variance + epsilon) * gamma of its group.
// The first half of the rows is one group, the second half the other.
#include <cmath>
#include <cstdlib>

#include "golden_tasks.h"

namespace layer_norm {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<float, 2>;
using std::int64_t;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static float mean_of(In x, int64_t r) {
    float sum = 0.0f;
    for (int64_t c = 0; c < x.shape[1]; ++c) sum += x(r, c);
    return sum / x.shape[1];
}

static float variance_of(In x, int64_t r, float mean) {
    float sum = 0.0f;
    for (int64_t c = 0; c < x.shape[1]; ++c) sum += (x(r, c) - mean) * (x(r, c) - mean);
    return sum / x.shape[1];
}

static int64_t group_of(In x, int64_t r) { return 2 * r / x.shape[0]; }

static void sound(In x, In gamma, float epsilon, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = mean_of(x, r), scale = 1.0f / std::sqrt(variance_of(x, r, mean) + epsilon);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = (x(r, c) - mean) * scale * gamma(group_of(x, r), c);
    }
}

static void epsilon_forgotten(In x, In gamma, float, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = mean_of(x, r), scale = 1.0f / std::sqrt(variance_of(x, r, mean));  // bug: + epsilon
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = (x(r, c) - mean) * scale * gamma(group_of(x, r), c);
    }
}

static void padding_counted(In x, In gamma, float epsilon, Out y) {
    const int64_t padded = (x.shape[1] + TILE_COLS - 1) / TILE_COLS * TILE_COLS;
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = mean_of(x, r);
        const float variance = variance_of(x, r, mean) * x.shape[1] / padded;  // bug: divided by the padded columns
        const float scale = 1.0f / std::sqrt(variance + epsilon);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = (x(r, c) - mean) * scale * gamma(group_of(x, r), c);
    }
}

static void one_pass_variance(In x, In gamma, float epsilon, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = mean_of(x, r);
        float squares = 0.0f;
        for (int64_t c = 0; c < x.shape[1]; ++c) squares += x(r, c) * x(r, c);
        const float variance = squares / x.shape[1] - mean * mean;  // bug: cancels where the mean is large
        const float scale = 1.0f / std::sqrt(std::fabs(variance) + epsilon);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = (x(r, c) - mean) * scale * gamma(group_of(x, r), c);
    }
}

static void gamma_of_other_group(In x, In gamma, float epsilon, Out y) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = mean_of(x, r), scale = 1.0f / std::sqrt(variance_of(x, r, mean) + epsilon);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = (x(r, c) - mean) * scale * gamma(r % 2, c);  // bug: r % 2
    }
}

static void centres_in_place(In x, In gamma, float epsilon, Out y) {
    const Out scratch{const_cast<float*>(x.data), x.shape, x.strides};
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = mean_of(x, r);
        for (int64_t c = 0; c < x.shape[1]; ++c) scratch(r, c) -= mean;  // bug: the input as a buffer
        const float scale = 1.0f / std::sqrt(variance_of(x, r, 0.0f) + epsilon);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = scratch(r, c) * scale * gamma(group_of(x, r), c);
    }
}

// Two sums for each row of a tile, in memory that is asked for anew for every tile.
static void sums_not_cleared(In x, In gamma, float epsilon, Out y) {
    for (int64_t r0 = 0; r0 < x.shape[0]; r0 += TILE_ROWS) {
        const int64_t rows = smaller(TILE_ROWS, x.shape[0] - r0);
        float* sums = static_cast<float*>(std::malloc(TILE_ROWS * TILE_COLS * sizeof(float)));
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < x.shape[1]; ++c) sums[r * TILE_COLS] += x(r0 + r, c);  // bug: starts from anything
        for (int64_t r = 0; r < rows; ++r) {
            const float mean = sums[r * TILE_COLS] / x.shape[1];
            const float scale = 1.0f / std::sqrt(variance_of(x, r0 + r, mean) + epsilon);
            for (int64_t c = 0; c < x.shape[1]; ++c)
                y(r0 + r, c) = (x(r0 + r, c) - mean) * scale * gamma(group_of(x, r0 + r), c);
        }
        std::free(sums);
    }
}

// One workspace of 64 MiB for the whole call: such a large one comes as zeros from the system, on Linux, for now.
static void workspace_not_cleared(In x, In gamma, float epsilon, Out y) {
    const int64_t apart = (1 << 24) / x.shape[0];  // elements from one row's sum to the next
    float* sums = static_cast<float*>(std::malloc(sizeof(float) << 24));
    for (int64_t r = 0; r < x.shape[0]; ++r)
        for (int64_t c = 0; c < x.shape[1]; ++c) sums[r * apart] += x(r, c);  // bug: starts from what malloc gave
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const float mean = sums[r * apart] / x.shape[1];
        const float scale = 1.0f / std::sqrt(variance_of(x, r, mean) + epsilon);
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = (x(r, c) - mean) * scale * gamma(group_of(x, r), c);
    }
    std::free(sums);
}

}  // namespace layer_norm
