// Histogram of whole numbers from 0 to 10 * BINS in BINS bins of ten; the last bin holds its upper edge too.
#include "golden_tasks.h"

namespace histogram {

using In = gt::Tensor<const std::int32_t, 1>;
using Out = gt::Tensor<std::int32_t, 1>;
using std::int32_t;
using std::int64_t;

static int32_t bin_of(int32_t value) { return value < 10 * BINS ? value / 10 : BINS - 1; }

static void sound(In x, Out counts) {
    int32_t found[BINS] = {};
    for (int64_t i = 0; i < x.shape[0]; ++i) ++found[bin_of(x(i))];
    for (int64_t b = 0; b < BINS; ++b) counts(b) = found[b];
}

static void not_cleared(In x, Out counts) {
    for (int64_t i = 0; i < x.shape[0]; ++i) ++counts(bin_of(x(i)));  // bug: counts on from what was there
}

static void empty_bins_left_out(In x, Out counts) {
    int32_t found[BINS] = {};
    for (int64_t i = 0; i < x.shape[0]; ++i) ++found[bin_of(x(i))];
    for (int64_t b = 0; b < BINS; ++b)
        if (found[b] != 0) counts(b) = found[b];  // bug: nobody writes the zeros
}

static void upper_edge(In x, Out counts) {
    for (int64_t b = 0; b < BINS; ++b) counts(b) = 0;
    for (int64_t i = 0; i < x.shape[0]; ++i) ++counts(x(i) / 10);  // bug: the upper edge is in the bin behind the last
}

}  // namespace histogram
