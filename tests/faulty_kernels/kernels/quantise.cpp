// Quantisation of a matrix to int8 with one scale, rounded to nearest with ties to even, and the largest magnitude of
// every row, TILE_ROWS rows at a time. And fp32 to bf16, rounded in the same way.
#include <cmath>

#include "golden_tasks.h"

namespace quantise {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<std::int8_t, 2>;
using Amax = gt::Tensor<float, 1>;
using std::int64_t;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static std::int8_t saturated(float value) { return value < -128.0f ? -128 : value > 127.0f ? 127 : value; }

static float largest(In x, int64_t r) {
    float found = 0.0f;
    for (int64_t c = 0; c < x.shape[1]; ++c) found = std::fmax(found, std::fabs(x(r, c)));
    return found;
}

static void sound(In x, float scale, Out q, Amax amax) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        amax(r) = largest(x, r);
        for (int64_t c = 0; c < x.shape[1]; ++c) q(r, c) = saturated(std::nearbyint(x(r, c) * scale));
    }
}

static void wraps(In x, float scale, Out q, Amax amax) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        amax(r) = largest(x, r);
        for (int64_t c = 0; c < x.shape[1]; ++c)
            q(r, c) = static_cast<std::int32_t>(std::nearbyint(x(r, c) * scale));  // bug: 128 becomes -128
    }
}

static void truncates(In x, float scale, Out q, Amax amax) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        amax(r) = largest(x, r);
        for (int64_t c = 0; c < x.shape[1]; ++c) q(r, c) = saturated(std::trunc(x(r, c) * scale));  // bug: to zero
    }
}

static void ties_away(In x, float scale, Out q, Amax amax) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        amax(r) = largest(x, r);
        for (int64_t c = 0; c < x.shape[1]; ++c) q(r, c) = saturated(std::round(x(r, c) * scale));  // bug: 2.5 to 3
    }
}

static void dithers_by_address(In x, float scale, Out q, Amax amax) {
    for (int64_t r = 0; r < x.shape[0]; ++r) {
        amax(r) = largest(x, r);
        for (int64_t c = 0; c < x.shape[1]; ++c) {
            const std::uint64_t seed = reinterpret_cast<std::uint64_t>(&q(r, c));  // bug: where q lies is not the same
            const float dither = (seed * 0x9E3779B97F4A7C15u >> 40) / float(1 << 24);
            q(r, c) = saturated(std::floor(x(r, c) * scale + dither));
        }
    }
}

// In a packed buffer, what lies behind amax is the next output.
static void pads_amax(In x, float scale, Out q, Amax amax) {
    for (int64_t r0 = 0; r0 < x.shape[0]; r0 += TILE_ROWS) {
        const int64_t rows = smaller(TILE_ROWS, x.shape[0] - r0);
        float tile[TILE_ROWS] = {};
        for (int64_t r = 0; r < rows; ++r) tile[r] = largest(x, r0 + r);
        for (int64_t r = 0; r < TILE_ROWS; ++r) amax(r0 + r) = tile[r];  // bug: the tile's padding too
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < x.shape[1]; ++c) q(r0 + r, c) = saturated(std::nearbyint(x(r0 + r, c) * scale));
    }
}

static void to_bf16(In x, gt::Tensor<gt::bfloat16, 2> y) {
    for (int64_t r = 0; r < x.shape[0]; ++r)
        for (int64_t c = 0; c < x.shape[1]; ++c) y(r, c) = x(r, c);
}

static void to_bf16_truncates(In x, gt::Tensor<gt::bfloat16, 2> y) {
    for (int64_t r = 0; r < x.shape[0]; ++r)
        for (int64_t c = 0; c < x.shape[1]; ++c) {
            std::uint32_t bits;
            std::memcpy(&bits, &x(r, c), sizeof bits);
            y(r, c).bits = bits >> 16;  // bug: cut off, not rounded
        }
}

}  // namespace quantise
