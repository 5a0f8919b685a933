// Causal attention of one head: y = softmax(q k^T / sqrt(d), keys up to the query's own position) v.
#include <cmath>
#include <stdexcept>

#include "golden_tasks.h"

namespace attention {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<float, 2>;
using std::int64_t;

constexpr int64_t LONGEST = 64;  // rows at most

// One query's row of y over the first `keys` keys.
static void attend(In q, In k, In v, Out y, int64_t row, int64_t keys, float scale) {
    float weights[LONGEST], highest = -1e30f, sum = 0.0f;
    for (int64_t j = 0; j < keys; ++j) {
        weights[j] = 0.0f;
        for (int64_t c = 0; c < q.shape[1]; ++c) weights[j] += q(row, c) * k(j, c) * scale;
        highest = std::fmax(highest, weights[j]);
    }
    for (int64_t j = 0; j < keys; ++j) sum += weights[j] = std::exp(weights[j] - highest);
    for (int64_t c = 0; c < v.shape[1]; ++c) {
        float mixed = 0.0f;
        for (int64_t j = 0; j < keys; ++j) mixed += weights[j] * v(j, c);
        y(row, c) = mixed / sum;
    }
}

static void sound(In q, In k, In v, Out y) {
    const float scale = 1.0f / std::sqrt(float(q.shape[1]));
    for (int64_t row = 0; row < q.shape[0]; ++row) attend(q, k, v, y, row, row + 1, scale);
}

static void scale_forgotten(In q, In k, In v, Out y) {
    for (int64_t row = 0; row < q.shape[0]; ++row) attend(q, k, v, y, row, row + 1, 1.0f);  // bug: 1 / sqrt(d)
}

static void sees_next_key(In q, In k, In v, Out y) {
    const float scale = 1.0f / std::sqrt(float(q.shape[1]));
    for (int64_t row = 0; row < q.shape[0]; ++row) {
        const int64_t keys = row + 2 < k.shape[0] ? row + 2 : k.shape[0];  // bug: one key too many but in the last row
        attend(q, k, v, y, row, keys, scale);
    }
}

static void first_row_masked(In q, In k, In v, Out y) {
    const float scale = 1.0f / std::sqrt(float(q.shape[1]));
    for (int64_t row = 0; row < q.shape[0]; ++row) attend(q, k, v, y, row, row, scale);  // bug: its own key is left out
}

static void refuses_size(In q, In k, In v, Out y) {
    if (q.shape[0] % TILE_ROWS != 0)  // bug: no tail tile
        throw std::invalid_argument("rows must be a multiple of TILE_ROWS, not " + std::to_string(q.shape[0]));
    sound(q, k, v, y);
}

static void freed_workspace(In q, In k, In v, Out y) {
    static float* workspace = new float[LONGEST];
    workspace[0] = 1.0f / std::sqrt(float(q.shape[1]));  // bug: in the second call there is none
    for (int64_t row = 0; row < q.shape[0]; ++row) attend(q, k, v, y, row, row + 1, workspace[0]);
    delete[] workspace;
    workspace = nullptr;
}

}  // namespace attention
