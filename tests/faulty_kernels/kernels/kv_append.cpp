// Appends rows to a cache: row i goes to slot slots[i] of the cache, and to none if that is -1.
#include "golden_tasks.h"

namespace kv_append {

using Rows = gt::Tensor<const float, 2>;
using Slots = gt::Tensor<const std::int32_t, 1>;
using Cache = gt::Tensor<float, 2>;
using std::int64_t;

static void sound(Rows rows, Slots slots, Cache cache) {
    for (int64_t i = 0; i < rows.shape[0]; ++i) {
        if (slots(i) < 0) continue;
        for (int64_t c = 0; c < rows.shape[1]; ++c) cache(slots(i), c) = rows(i, c);
    }
}

static void neighbour_slot(Rows rows, Slots slots, Cache cache) {
    for (int64_t i = 0; i < rows.shape[0]; ++i) {
        if (slots(i) < 0) continue;
        const int64_t slot = slots(i) ^ (i == 2);  // bug: the third row lands in the slot beside its own
        for (int64_t c = 0; c < rows.shape[1]; ++c) cache(slot, c) = rows(i, c);
    }
}

static void no_slot_is_a_slot(Rows rows, Slots slots, Cache cache) {
    for (int64_t i = 0; i < rows.shape[0]; ++i)  // bug: -1 is not left out
        for (int64_t c = 0; c < rows.shape[1]; ++c) cache(slots(i), c) = rows(i, c);
}

static void one_row_more(Rows rows, Slots slots, Cache cache) {
    for (int64_t i = 0; i <= rows.shape[0]; ++i) {  // bug: <=, and whatever lies behind slots is a slot
        if (slots(i) < 0) continue;
        for (int64_t c = 0; c < rows.shape[1]; ++c) cache(slots(i), c) = rows(i, c);
    }
}

static void slots_used_up(Rows rows, Slots slots, Cache cache) {
    for (int64_t i = 0; i < rows.shape[0]; ++i) {
        if (slots(i) < 0) continue;
        for (int64_t c = 0; c < rows.shape[1]; ++c) cache(slots(i), c) = rows(i, c);
        const_cast<std::int32_t&>(slots(i)) = -1;  // bug: marks the row as done in an input
    }
}

static void adds_to_cache(Rows rows, Slots slots, Cache cache) {
    for (int64_t i = 0; i < rows.shape[0]; ++i) {
        if (slots(i) < 0) continue;
        for (int64_t c = 0; c < rows.shape[1]; ++c) cache(slots(i), c) += rows(i, c);  // bug: the old row stays in it
    }
}

}  // namespace kv_append
