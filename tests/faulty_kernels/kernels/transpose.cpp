// Transpose of an fp16 matrix in tiles of TILE x TILE; only the valid part of a tile at the edge is moved.
#include "golden_tasks.h"

namespace transpose {

using In = gt::Tensor<const gt::float16, 2>;
using Out = gt::Tensor<gt::float16, 2>;
using std::int64_t;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void move(In x, Out y, int64_t r0, int64_t c0) {
    for (int64_t r = r0; r < smaller(r0 + TILE, x.shape[0]); ++r)
        for (int64_t c = c0; c < smaller(c0 + TILE, x.shape[1]); ++c) y(c, r) = x(r, c);
}

static void sound(In x, Out y) {
    for (int64_t r0 = 0; r0 < x.shape[0]; r0 += TILE)
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE) move(x, y, r0, c0);
}

static void row_length_of_input(In x, Out y) {
    const Out wide{y.data, y.shape, {x.strides[0], 1}};  // bug: y's rows are as long as x has rows, not as x's
    for (int64_t r0 = 0; r0 < x.shape[0]; r0 += TILE)
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE) move(x, wide, r0, c0);
}

static void last_tile_off_by_one(In x, Out y) {
    for (int64_t r0 = 0; r0 < x.shape[0]; r0 += TILE)
        for (int64_t c0 = 0; c0 < x.shape[1]; c0 += TILE)
            move(x, y, smaller(r0, x.shape[0] - TILE - 1), c0);  // bug: moved back by one row too many
}

}  // namespace transpose
