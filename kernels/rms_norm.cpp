// Root mean square normalisation over the last axis in TILE_ROWS x TILE_COLS tiles, bf16 in and out.
//
// A row is longer than a tile, so a first pass carries its sum of squares from one column tile to the next.
// A second pass over the tiles scales, with a tile of gamma loaded once for all rows of the row tile. All
// arithmetic is fp32, rounded to bf16 once. Only the valid part of a tile at the edge is touched.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "golden_tasks.h"

void rms_norm(gt::Tensor<const gt::bfloat16, 2> x, gt::Tensor<const gt::bfloat16, 2> gamma,
              gt::Tensor<gt::bfloat16, 2> y) {
    constexpr float eps = 1e-6f;
    const std::int64_t rows = x.shape[0], columns = x.shape[1];
    std::vector<float> gamma_tile(TILE_COLS), sum_square(TILE_ROWS), scale(TILE_ROWS);

    for (std::int64_t r0 = 0; r0 < rows; r0 += TILE_ROWS) {
        const std::int64_t valid_rows = std::min<std::int64_t>(TILE_ROWS, rows - r0);
        std::fill(sum_square.begin(), sum_square.end(), 0.0f);

        for (std::int64_t c0 = 0; c0 < columns; c0 += TILE_COLS) {
            const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, columns - c0);
            for (std::int64_t r = 0; r < valid_rows; ++r) {
                float tile_sum = 0.0f;
                for (std::int64_t c = 0; c < valid_columns; ++c) {
                    const float value = x(r0 + r, c0 + c);
                    tile_sum += value * value;
                }
                sum_square[r] += tile_sum;
            }
        }

        for (std::int64_t r = 0; r < valid_rows; ++r)
            scale[r] = 1.0f / std::sqrt(sum_square[r] / static_cast<float>(columns) + eps);

        for (std::int64_t c0 = 0; c0 < columns; c0 += TILE_COLS) {
            const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, columns - c0);
            for (std::int64_t c = 0; c < valid_columns; ++c) gamma_tile[c] = gamma(0, c0 + c);
            for (std::int64_t r = 0; r < valid_rows; ++r)
                for (std::int64_t c = 0; c < valid_columns; ++c)
                    y(r0 + r, c0 + c) = x(r0 + r, c0 + c) * scale[r] * gamma_tile[c];
        }
    }
}
