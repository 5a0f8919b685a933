// Top-k gate of a mixture of experts in TILE_TOKENS x TILE_EXPERTS tiles.
//
// Each tile's own top k are sorted and merged into those of the tiles before it, which are cut to k again. The
// order is total, by descending score and then by ascending index, so ties fall alike for every tile size.
// Only the valid part of a tile at the edge is touched. k is at most the number of experts, and no score is NaN.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "golden_tasks.h"

namespace {

struct Expert {
    float score;
    std::int32_t index;
};

bool before(const Expert& a, const Expert& b) {
    return a.score > b.score || (a.score == b.score && a.index < b.index);
}

}  // namespace

void topk_gate(gt::Tensor<const float, 2> scores, gt::Tensor<float, 2> values, gt::Tensor<std::int32_t, 2> indices) {
    const std::int64_t tokens = scores.shape[0], experts = scores.shape[1], k = values.shape[1];
    std::vector<Expert> tile(TILE_EXPERTS), merged;
    std::vector<std::vector<Expert>> top(TILE_TOKENS);

    for (std::int64_t t0 = 0; t0 < tokens; t0 += TILE_TOKENS) {
        const std::int64_t valid_tokens = std::min<std::int64_t>(TILE_TOKENS, tokens - t0);
        for (auto& row : top) row.clear();

        for (std::int64_t e0 = 0; e0 < experts; e0 += TILE_EXPERTS) {
            const std::int64_t valid_experts = std::min<std::int64_t>(TILE_EXPERTS, experts - e0);
            const auto tile_end = tile.begin() + valid_experts;
            const auto tile_top = tile.begin() + std::min(k, valid_experts);
            for (std::int64_t t = 0; t < valid_tokens; ++t) {
                for (std::int64_t e = 0; e < valid_experts; ++e)
                    tile[e] = {scores(t0 + t, e0 + e), static_cast<std::int32_t>(e0 + e)};
                std::partial_sort(tile.begin(), tile_top, tile_end, before);

                merged.resize(top[t].size() + (tile_top - tile.begin()));
                std::merge(top[t].begin(), top[t].end(), tile.begin(), tile_top, merged.begin(), before);
                const std::int64_t found = merged.size();
                top[t].assign(merged.begin(), merged.begin() + std::min(k, found));
            }
        }

        for (std::int64_t t = 0; t < valid_tokens; ++t)
            for (std::int64_t i = 0; i < k; ++i) {
                values(t0 + t, i) = top[t][i].score;
                indices(t0 + t, i) = top[t][i].index;
            }
    }
}
