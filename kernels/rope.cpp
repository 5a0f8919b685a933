// Rotary position embedding in tiles of TILE_ROWS rows x TILE_COLS columns of a half.
//
// A tile holds the same columns of both halves, which are rotated into each other; the angles of these
// columns are loaded once for all row tiles. Only the valid part of a tile at the edge is touched.
// The last axis is even.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "golden_tasks.h"

void rope(gt::Tensor<const float, 2> x, gt::Tensor<const float, 2> cos, gt::Tensor<const float, 2> sin,
          gt::Tensor<float, 2> y) {
    const std::int64_t rows = x.shape[0], half = x.shape[1] / 2;
    std::vector<float> cos_lo(TILE_COLS), cos_hi(TILE_COLS), sin_lo(TILE_COLS), sin_hi(TILE_COLS);
    std::vector<std::array<float, TILE_COLS>> x_lo(TILE_ROWS), x_hi(TILE_ROWS);

    for (std::int64_t c0 = 0; c0 < half; c0 += TILE_COLS) {
        const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, half - c0);
        for (std::int64_t c = 0; c < valid_columns; ++c) {
            cos_lo[c] = cos(0, c0 + c);
            cos_hi[c] = cos(0, half + c0 + c);
            sin_lo[c] = sin(0, c0 + c);
            sin_hi[c] = sin(0, half + c0 + c);
        }

        for (std::int64_t r0 = 0; r0 < rows; r0 += TILE_ROWS) {
            const std::int64_t valid_rows = std::min<std::int64_t>(TILE_ROWS, rows - r0);
            for (std::int64_t r = 0; r < valid_rows; ++r)
                for (std::int64_t c = 0; c < valid_columns; ++c) {
                    x_lo[r][c] = x(r0 + r, c0 + c);
                    x_hi[r][c] = x(r0 + r, half + c0 + c);
                }

            for (std::int64_t r = 0; r < valid_rows; ++r)
                for (std::int64_t c = 0; c < valid_columns; ++c) {
                    y(r0 + r, c0 + c) = x_lo[r][c] * cos_lo[c] - x_hi[r][c] * sin_lo[c];
                    y(r0 + r, half + c0 + c) = x_hi[r][c] * cos_hi[c] + x_lo[r][c] * sin_hi[c];
                }
        }
    }
}
