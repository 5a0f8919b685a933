// y = SCALE * x + shift, in tiles of TILE_ROWS rows.
#include "affine.h"
#include "golden_tasks.h"

void affine(gt::Tensor<const float, 2> x, float shift, gt::Tensor<float, 2> y) {
    for (std::int64_t r0 = 0; r0 < y.shape[0]; r0 += TILE_ROWS) {
        for (std::int64_t r = r0; r < r0 + TILE_ROWS && r < y.shape[0]; ++r)
            for (std::int64_t c = 0; c < y.shape[1]; ++c) y(r, c) = scaled(x(r, c)) + shift;
    }
}
