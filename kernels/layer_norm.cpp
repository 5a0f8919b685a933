// Layer normalisation over the last axis in TILE_ROWS x TILE_COLS tiles.
//
// A first pass finds each column tile's mean and sum of squared deviations and merges them into the row's
// (Chan, Golub and LeVeque 1979), which cancels nothing as E[x^2] - E[x]^2 would; tiles may differ in width,
// so a tail needs no padding. A second pass normalises, scales by gamma and shifts by beta.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "golden_tasks.h"

void layer_norm(gt::Tensor<const float, 2> x, gt::Tensor<const float, 2> gamma, gt::Tensor<const float, 2> beta,
                gt::Tensor<float, 2> y) {
    constexpr float eps = 1e-5f;
    const std::int64_t rows = x.shape[0], columns = x.shape[1];
    std::vector<std::array<float, TILE_COLS>> tile(TILE_ROWS);
    std::vector<float> mean(TILE_ROWS), deviation(TILE_ROWS);

    for (std::int64_t r0 = 0; r0 < rows; r0 += TILE_ROWS) {
        const std::int64_t valid_rows = std::min<std::int64_t>(TILE_ROWS, rows - r0);
        std::fill(mean.begin(), mean.end(), 0.0f);
        std::fill(deviation.begin(), deviation.end(), 0.0f);

        for (std::int64_t c0 = 0; c0 < columns; c0 += TILE_COLS) {
            const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, columns - c0);
            const float seen = static_cast<float>(c0), added = static_cast<float>(valid_columns);
            for (std::int64_t r = 0; r < valid_rows; ++r) {
                float sum = 0.0f, tile_deviation = 0.0f;
                for (std::int64_t c = 0; c < valid_columns; ++c) {
                    tile[r][c] = x(r0 + r, c0 + c);
                    sum += tile[r][c];
                }
                const float tile_mean = sum / added;
                for (std::int64_t c = 0; c < valid_columns; ++c)
                    tile_deviation += (tile[r][c] - tile_mean) * (tile[r][c] - tile_mean);

                const float delta = tile_mean - mean[r], share = added / (seen + added);
                mean[r] += delta * share;
                deviation[r] += tile_deviation + delta * delta * seen * share;
            }
        }

        for (std::int64_t c0 = 0; c0 < columns; c0 += TILE_COLS) {
            const std::int64_t valid_columns = std::min<std::int64_t>(TILE_COLS, columns - c0);
            for (std::int64_t r = 0; r < valid_rows; ++r) {
                const float scale = 1.0f / std::sqrt(deviation[r] / static_cast<float>(columns) + eps);
                for (std::int64_t c = 0; c < valid_columns; ++c)
                    y(r0 + r, c0 + c) = (x(r0 + r, c0 + c) - mean[r]) * scale * gamma(0, c0 + c) + beta(0, c0 + c);
            }
        }
    }
}
