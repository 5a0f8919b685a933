// Rotary position embedding: the two halves of every row are rotated into each other by the angles of its position.
#include "golden_tasks.h"

namespace rope {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<float, 2>;
using std::int64_t;

static void sound(In x, In cos, In sin, Out y) {
    const int64_t half = x.shape[1] / 2;
    for (int64_t r = 0; r < x.shape[0]; ++r)
        for (int64_t c = 0; c < half; ++c) {
            y(r, c) = x(r, c) * cos(r, c) - x(r, half + c) * sin(r, c);
            y(r, half + c) = x(r, half + c) * cos(r, c) + x(r, c) * sin(r, c);
        }
}

static void pairs_of_neighbours(In x, In cos, In sin, Out y) {
    const int64_t half = x.shape[1] / 2;
    for (int64_t r = 0; r < x.shape[0]; ++r)
        for (int64_t c = 0; c < half; ++c) {
            const int64_t lo = 2 * c, hi = 2 * c + 1;  // bug: (0, 1), (2, 3), ... are the pairs of the other layout
            y(r, lo) = x(r, lo) * cos(r, c) - x(r, hi) * sin(r, c);
            y(r, hi) = x(r, hi) * cos(r, c) + x(r, lo) * sin(r, c);
        }
}

static void rotated_half_read_again(In x, In cos, In sin, Out y) {
    const int64_t half = x.shape[1] / 2;
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = x(r, c);
        for (int64_t c = 0; c < half; ++c) {
            y(r, c) = y(r, c) * cos(r, c) - y(r, half + c) * sin(r, c);
            y(r, half + c) = y(r, half + c) * cos(r, c) + y(r, c) * sin(r, c);  // bug: y(r, c) is rotated already
        }
    }
}

static void position_off_by_one(In x, In cos, In sin, Out y) {
    const int64_t half = x.shape[1] / 2;
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        const int64_t at = r > 0 ? r - 1 : 0;  // bug: positions count from 0 already
        for (int64_t c = 0; c < half; ++c) {
            y(r, c) = x(r, c) * cos(at, c) - x(r, half + c) * sin(at, c);
            y(r, half + c) = x(r, half + c) * cos(at, c) + x(r, c) * sin(at, c);
        }
    }
}

}  // namespace rope
