// Quantised matrix product c = (a @ b) * scale in TILE_M x TILE_N x TILE_K tiles.
//
// Tiles of a and b are copied into buffers of their own; their products are summed in int32, which is exact
// while K is below 2^17. A finished tile of sums is scaled by column in fp32 and rounded once, to bf16. Only
// the valid part of a tile at the edge is touched.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "golden_tasks.h"

namespace {

template <class T, std::size_t COLUMNS>
using Tile = std::vector<std::array<T, COLUMNS>>;

template <std::size_t COLUMNS>
void load(Tile<std::int8_t, COLUMNS>& tile, gt::Tensor<const std::int8_t, 2> from, std::int64_t row,
          std::int64_t column, std::int64_t valid_rows, std::int64_t valid_columns) {
    for (std::int64_t i = 0; i < valid_rows; ++i)
        for (std::int64_t j = 0; j < valid_columns; ++j) tile[i][j] = from(row + i, column + j);
}

}  // namespace

void gemm_int8(gt::Tensor<const std::int8_t, 2> a, gt::Tensor<const std::int8_t, 2> b,
               gt::Tensor<const float, 2> scale, gt::Tensor<gt::bfloat16, 2> c) {
    const std::int64_t m = c.shape[0], n = c.shape[1], k = a.shape[1];
    Tile<std::int8_t, TILE_K> a_tile(TILE_M);
    Tile<std::int8_t, TILE_N> b_tile(TILE_K);
    Tile<std::int32_t, TILE_N> sums(TILE_M);

    for (std::int64_t m0 = 0; m0 < m; m0 += TILE_M) {
        const std::int64_t valid_m = std::min<std::int64_t>(TILE_M, m - m0);
        for (std::int64_t n0 = 0; n0 < n; n0 += TILE_N) {
            const std::int64_t valid_n = std::min<std::int64_t>(TILE_N, n - n0);
            for (auto& row : sums) row.fill(0);

            for (std::int64_t k0 = 0; k0 < k; k0 += TILE_K) {
                const std::int64_t valid_k = std::min<std::int64_t>(TILE_K, k - k0);
                load(a_tile, a, m0, k0, valid_m, valid_k);
                load(b_tile, b, k0, n0, valid_k, valid_n);
                for (std::int64_t i = 0; i < valid_m; ++i)
                    for (std::int64_t p = 0; p < valid_k; ++p)
                        for (std::int64_t j = 0; j < valid_n; ++j) sums[i][j] += a_tile[i][p] * b_tile[p][j];
            }

            for (std::int64_t i = 0; i < valid_m; ++i)
                for (std::int64_t j = 0; j < valid_n; ++j)
                    c(m0 + i, n0 + j) = static_cast<float>(sums[i][j]) * scale(0, n0 + j);
        }
    }
}
