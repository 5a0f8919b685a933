// Matrix product c = a @ b in tiles; only the valid part of a tile at the edge is loaded and stored.
#include "golden_tasks.h"

namespace matmul {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<float, 2>;
using std::int64_t;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// A tile of sums. `Sum` is the type that they are kept in.
template <class Sum>
struct Sums {
    Sum at[TILE_M][TILE_N] = {};

    // Adds the product of the tile of a at (m0, k0) and the tile of b at (k0, n0).
    void add(In a, In b, int64_t m0, int64_t n0, int64_t k0) {
        for (int64_t i = 0; i < smaller(TILE_M, a.shape[0] - m0); ++i)
            for (int64_t p = 0; p < smaller(TILE_K, a.shape[1] - k0); ++p)
                for (int64_t j = 0; j < smaller(TILE_N, b.shape[1] - n0); ++j)
                    at[i][j] += a(m0 + i, k0 + p) * b(k0 + p, n0 + j);
    }

    void store(Out c, int64_t m0, int64_t n0) const {
        for (int64_t i = 0; i < smaller(TILE_M, c.shape[0] - m0); ++i)
            for (int64_t j = 0; j < smaller(TILE_N, c.shape[1] - n0); ++j) c(m0 + i, n0 + j) = at[i][j];
    }
};

static void sound(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            sums.store(c, m0, n0);
        }
}

static void unwritten_tail(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 + TILE_M <= c.shape[0]; m0 += TILE_M)  // bug: whole row tiles only
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            sums.store(c, m0, n0);
        }
}

static void missing_core(In a, In b, Out c) {
    const int64_t across = (c.shape[1] + TILE_N - 1) / TILE_N, tiles = (c.shape[0] + TILE_M - 1) / TILE_M * across;
    for (int64_t core = 0; core < CORES - 1; ++core)  // bug: the last core is never started
        for (int64_t tile = core; tile < tiles; tile += CORES) {
            const int64_t m0 = tile / across * TILE_M, n0 = tile % across * TILE_N;
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            sums.store(c, m0, n0);
        }
}

static void stale_output(In a, In b, Out c) {
    for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K)  // bug: the first of these tiles adds to what c held before
        for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
            for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
                Sums<float> sums;
                for (int64_t i = 0; i < smaller(TILE_M, c.shape[0] - m0); ++i)
                    for (int64_t j = 0; j < smaller(TILE_N, c.shape[1] - n0); ++j) sums.at[i][j] = c(m0 + i, n0 + j);
                sums.add(a, b, m0, n0, k0);
                sums.store(c, m0, n0);
            }
}

static void last_k_tile_left_out(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 + TILE_K < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);  // bug: one short
            sums.store(c, m0, n0);
        }
}

static void tail_counted_twice(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K)
                sums.add(a, b, m0, n0, smaller(k0, a.shape[1] - TILE_K));  // bug: moved back, the tail tile overlaps
            sums.store(c, m0, n0);
        }
}

static void wrong_stride(In a, In b, Out c) {
    const In by_rows{b.data, b.shape, {a.strides[0], 1}};  // bug: the rows of b are as long as those of a
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, by_rows, m0, n0, k0);
            sums.store(c, m0, n0);
        }
}

static void transposed_tile(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            const bool whole = m0 + TILE_M <= c.shape[0] && n0 + TILE_N <= c.shape[1];
            if (!whole) sums.store(c, m0, n0);
            for (int64_t i = 0; whole && i < TILE_M; ++i)
                for (int64_t j = 0; j < TILE_N; ++j) c(m0 + i, n0 + j) = sums.at[j][i];  // bug: [j][i]
        }
}

static void swapped_tiles(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            const bool swizzled = m0 < 2 * TILE_M && n0 < 2 * TILE_N;
            swizzled ? sums.store(c, n0, m0) : sums.store(c, m0, n0);  // bug: the swizzle of the load is not undone
        }
}

static void half_sums(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<gt::float16> sums;  // bug: fp16 sums where fp32 ones are due
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            sums.store(c, m0, n0);
        }
}

static void stores_rows_past_end(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K) sums.add(a, b, m0, n0, k0);
            for (int64_t i = 0; i < TILE_M; ++i)  // bug: all rows of the tile, also those below the last of c
                for (int64_t j = 0; j < smaller(TILE_N, c.shape[1] - n0); ++j) c(m0 + i, n0 + j) = sums.at[i][j];
        }
}

static void sums_past_end(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K)
                for (int64_t i = 0; i < smaller(TILE_M, c.shape[0] - m0); ++i)
                    for (int64_t p = 0; p < TILE_K; ++p)  // bug: all of the tile, also what is behind the last row of b
                        for (int64_t j = 0; j < smaller(TILE_N, c.shape[1] - n0); ++j)
                            sums.at[i][j] += a(m0 + i, k0 + p) * b(k0 + p, n0 + j);
            sums.store(c, m0, n0);
        }
}

static void pads_one_operand(In a, In b, Out c) {
    for (int64_t m0 = 0; m0 < c.shape[0]; m0 += TILE_M)
        for (int64_t n0 = 0; n0 < c.shape[1]; n0 += TILE_N) {
            Sums<float> sums;
            for (int64_t k0 = 0; k0 < a.shape[1]; k0 += TILE_K)
                for (int64_t i = 0; i < smaller(TILE_M, c.shape[0] - m0); ++i)
                    for (int64_t p = 0; p < TILE_K; ++p) {
                        const float left = k0 + p < a.shape[1] ? a(m0 + i, k0 + p) : 0.0f;
                        for (int64_t j = 0; j < smaller(TILE_N, c.shape[1] - n0); ++j)
                            sums.at[i][j] += left * b(k0 + p, n0 + j);  // bug: 0 * NaN, if NaN lies behind b
                    }
            sums.store(c, m0, n0);
        }
}

static void previous_run(In a, In b, Out c) {
    static float result[TILE_M * 8][TILE_N * 8];
    for (int64_t i = 0; i < c.shape[0]; ++i)
        for (int64_t j = 0; j < c.shape[1]; ++j) c(i, j) = result[i][j];  // bug: before this call's tiles are in it
    const Out buffer{&result[0][0], c.shape, {TILE_N * 8, 1}};
    sound(a, b, buffer);
}

}  // namespace matmul
