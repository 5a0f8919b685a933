// Softmax of every row in TILE_ROWS x TILE_COLS tiles.
//
// A row is longer than a tile, so its maximum and sum are carried from one column tile to the next (online
// softmax, Milakov and Gimelshein 2018): when a tile raises the maximum, the sum so far is scaled down to it.
// A second pass over the tiles writes the result. Only the valid part of a tile at the edge is touched.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "golden_tasks.h"

void softmax(gt::Tensor<const float, 2> x, gt::Tensor<float, 2> y) {
    const std::int64_t rows = x.shape[0], columns = x.shape[1];
    std::vector<std::array<float, TILE_COLS>> tile(TILE_ROWS);
    std::vector<float> row_max(TILE_ROWS), row_sum(TILE_ROWS);

    for (std::int64_t r0 = 0; r0 < rows; r0 += TILE_ROWS) {
        const std::int64_t valid_rows = std::min<std::int64_t>(TILE_ROWS, rows - r0);
        // The lowest finite number rather than -infinity, so that a tile of -infinity (a masked one) adds 0, not NaN.
        std::fill(row_max.begin(), row_max.end(), std::numeric_limits<float>::lowest());
        std::fill(row_sum.begin(), row_sum.end(), 0.0f);

        for (std::int64_t c0 = 0; c0 < columns; c0 += TILE_COLS) {
            const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, columns - c0);
            for (std::int64_t r = 0; r < valid_rows; ++r) {
                float new_max = row_max[r];
                for (std::int64_t c = 0; c < valid_columns; ++c) {
                    tile[r][c] = x(r0 + r, c0 + c);
                    new_max = std::max(new_max, tile[r][c]);
                }
                row_sum[r] *= std::exp(row_max[r] - new_max);
                row_max[r] = new_max;
                for (std::int64_t c = 0; c < valid_columns; ++c) row_sum[r] += std::exp(tile[r][c] - new_max);
            }
        }

        for (std::int64_t c0 = 0; c0 < columns; c0 += TILE_COLS) {
            const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, columns - c0);
            for (std::int64_t r = 0; r < valid_rows; ++r)
                for (std::int64_t c = 0; c < valid_columns; ++c)
                    y(r0 + r, c0 + c) = std::exp(x(r0 + r, c0 + c) - row_max[r]) / row_sum[r];
        }
    }
}
