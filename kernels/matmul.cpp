// Matrix product c = a @ b in TILE_M x TILE_N x TILE_K tiles.
//
// Tiles of a and b are copied into buffers of their own, as into an accelerator's on-chip memory, and the
// whole tile is multiplied. Past the edge of a matrix a tile is padded with zeros, which add nothing to the
// product; only the valid part of the result is stored.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "golden_tasks.h"

namespace {

template <std::size_t COLUMNS>
using Tile = std::vector<std::array<float, COLUMNS>>;

template <std::size_t COLUMNS>
void load(Tile<COLUMNS>& tile, gt::Tensor<const float, 2> from, std::int64_t row, std::int64_t column) {
    const std::int64_t rows = tile.size(), columns = COLUMNS;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            const bool valid = row + i < from.shape[0] && column + j < from.shape[1];
            tile[i][j] = valid ? from(row + i, column + j) : 0.0f;
        }
}

}  // namespace

void matmul(gt::Tensor<const float, 2> a, gt::Tensor<const float, 2> b, gt::Tensor<float, 2> c) {
    const std::int64_t m = c.shape[0], n = c.shape[1], k = a.shape[1];
    Tile<TILE_K> a_tile(TILE_M);
    Tile<TILE_N> b_tile(TILE_K), c_tile(TILE_M);

    for (std::int64_t m0 = 0; m0 < m; m0 += TILE_M) {
        for (std::int64_t n0 = 0; n0 < n; n0 += TILE_N) {
            for (auto& row : c_tile) row.fill(0.0f);

            for (std::int64_t k0 = 0; k0 < k; k0 += TILE_K) {
                load(a_tile, a, m0, k0);
                load(b_tile, b, k0, n0);
                for (std::int64_t i = 0; i < TILE_M; ++i)
                    for (std::int64_t p = 0; p < TILE_K; ++p)
                        for (std::int64_t j = 0; j < TILE_N; ++j) c_tile[i][j] += a_tile[i][p] * b_tile[p][j];
            }

            const std::int64_t valid_m = std::min<std::int64_t>(TILE_M, m - m0);
            const std::int64_t valid_n = std::min<std::int64_t>(TILE_N, n - n0);
            for (std::int64_t i = 0; i < valid_m; ++i)
                for (std::int64_t j = 0; j < valid_n; ++j) c(m0 + i, n0 + j) = c_tile[i][j];
        }
    }
}
