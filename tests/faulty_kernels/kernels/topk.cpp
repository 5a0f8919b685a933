// The top k of every row with their indices, TILE columns at a time. A tile's scores are inserted into the row's
// best so far, k of them, in descending order.
#include <limits>

#include "golden_tasks.h"

namespace topk {

using In = gt::Tensor<const float, 2>;
using Values = gt::Tensor<float, 2>;
using Indices = gt::Tensor<std::int32_t, 2>;
using std::int32_t;
using std::int64_t;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// The best k so far. Of equal scores the first one inserted stays in front, or the last one.
struct Best {
    int64_t k;
    bool last_in_front;
    float scores[K];
    int32_t indices[K];

    explicit Best(int64_t k, bool last_in_front = false) : k(k), last_in_front(last_in_front) {
        for (int64_t i = 0; i < K; ++i) scores[i] = -std::numeric_limits<float>::infinity(), indices[i] = -1;
    }

    void insert(float score, int32_t index) {
        for (int64_t i = 0; i < k; ++i) {
            const bool before = score > scores[i] || (last_in_front && score == scores[i]);
            if (!before) continue;
            for (int64_t j = k - 1; j > i; --j) scores[j] = scores[j - 1], indices[j] = indices[j - 1];
            scores[i] = score, indices[i] = index;
            return;
        }
    }
};

static void sound(In x, Values values, Indices indices) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        Best best(values.shape[1]);
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE)
            for (int64_t c = c0; c < smaller(c0 + TILE, x.shape[1]); ++c) best.insert(x(r, c), c);
        for (int64_t i = 0; i < best.k; ++i) values(r, i) = best.scores[i], indices(r, i) = best.indices[i];
    }
}

static void other_tie_order(In x, Values values, Indices indices) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        Best best(values.shape[1], true);
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE)
            for (int64_t c = c0; c < smaller(c0 + TILE, x.shape[1]); ++c) best.insert(x(r, c), c);
        for (int64_t i = 0; i < best.k; ++i) values(r, i) = best.scores[i], indices(r, i) = best.indices[i];
    }
}

static void indices_in_tile(In x, Values values, Indices indices) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        Best best(values.shape[1]);
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE)
            for (int64_t c = c0; c < smaller(c0 + TILE, x.shape[1]); ++c) best.insert(x(r, c), c - c0);  // bug: - c0
        for (int64_t i = 0; i < best.k; ++i) values(r, i) = best.scores[i], indices(r, i) = best.indices[i];
    }
}

static void index_of_first_equal(In x, Values values, Indices indices) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        Best best(values.shape[1]);
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE)
            for (int64_t c = c0; c < smaller(c0 + TILE, x.shape[1]); ++c) best.insert(x(r, c), c);
        for (int64_t i = 0; i < best.k; ++i) {
            int32_t index = 0;
            while (x(r, index) != best.scores[i]) ++index;  // bug: equal scores all get the index of the first
            values(r, i) = best.scores[i], indices(r, i) = index;
        }
    }
}

static void garbage_indices(In x, Values values, Indices indices) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        Best best(values.shape[1]);
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE)
            for (int64_t c = c0; c < smaller(c0 + TILE, x.shape[1]); ++c) best.insert(x(r, c), c);
        for (int64_t i = 0; i < best.k; ++i) values(r, i) = best.scores[i], indices(r, i) = i;  // bug: places
    }
}

}  // namespace topk
