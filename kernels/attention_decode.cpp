// One decode step of grouped-query attention with a KV cache, over sequence tiles of TILE_SEQ positions.
//
// The new key and value are written at position seq_len, which must lie inside the caches. The positions
// 0..seq_len are then visited one tile at a time (FlashAttention, Dao et al. 2022): a tile of keys and values
// is loaded once for all query heads that share it, and each head carries its running maximum, sum and
// weighted values to the next tile. The last tile is masked: no position past seq_len is read.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "golden_tasks.h"

void attention_decode(gt::Tensor<const float, 2> q, gt::Tensor<const float, 2> k_new,
                      gt::Tensor<const float, 2> v_new, gt::Tensor<float, 3> k_cache,
                      gt::Tensor<float, 3> v_cache, std::int32_t seq_len, gt::Tensor<float, 2> out) {
    const std::int64_t heads = q.shape[0], dim = q.shape[1], kv_heads = k_cache.shape[0];
    const std::int64_t length = std::int64_t{seq_len} + 1;
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
    std::vector<std::vector<float>> k_tile(TILE_SEQ, std::vector<float>(dim)), v_tile = k_tile;
    std::vector<float> weights(TILE_SEQ);

    for (std::int64_t kv = 0; kv < kv_heads; ++kv) {
        for (std::int64_t d = 0; d < dim; ++d) {
            k_cache(kv, seq_len, d) = k_new(kv, d);
            v_cache(kv, seq_len, d) = v_new(kv, d);
        }

        const std::int64_t group = heads / kv_heads, first = kv * group;
        std::vector<float> head_max(group, std::numeric_limits<float>::lowest()), head_sum(group, 0.0f);
        std::vector<std::vector<float>> weighted(group, std::vector<float>(dim, 0.0f));

        for (std::int64_t s0 = 0; s0 < length; s0 += TILE_SEQ) {
            const std::int64_t valid = std::min<std::int64_t>(TILE_SEQ, length - s0);
            for (std::int64_t s = 0; s < valid; ++s)
                for (std::int64_t d = 0; d < dim; ++d) {
                    k_tile[s][d] = k_cache(kv, s0 + s, d);
                    v_tile[s][d] = v_cache(kv, s0 + s, d);
                }

            for (std::int64_t h = 0; h < group; ++h) {
                float new_max = head_max[h];
                for (std::int64_t s = 0; s < valid; ++s) {
                    float score = 0.0f;
                    for (std::int64_t d = 0; d < dim; ++d) score += q(first + h, d) * k_tile[s][d];
                    weights[s] = score * scale;
                    new_max = std::max(new_max, weights[s]);
                }

                const float shrink = std::exp(head_max[h] - new_max);
                head_max[h] = new_max;
                head_sum[h] *= shrink;
                for (std::int64_t d = 0; d < dim; ++d) weighted[h][d] *= shrink;
                for (std::int64_t s = 0; s < valid; ++s) {
                    weights[s] = std::exp(weights[s] - new_max);
                    head_sum[h] += weights[s];
                    for (std::int64_t d = 0; d < dim; ++d) weighted[h][d] += weights[s] * v_tile[s][d];
                }
            }
        }

        for (std::int64_t h = 0; h < group; ++h)
            for (std::int64_t d = 0; d < dim; ++d) out(first + h, d) = weighted[h][d] / head_sum[h];
    }
}
