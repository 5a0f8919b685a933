// Typed tensor views and 16- and 8-bit floating-point types for C++ kernels run by golden_tasks.
//
// A kernel is a plain function whose parameters follow the specs, in their order:
//
//     #include "golden_tasks.h"
//     void scale(gt::Tensor<const float, 2> x, float factor, gt::Tensor<float, 2> y);
//
// An input tensor is a `gt::Tensor<const T, RANK>`, an output or inout tensor a `gt::Tensor<T, RANK>`,
// a scalar a plain `T`. A kernel whose parameters disagree with the specs does not compile.
#ifndef GOLDEN_TASKS_H
#define GOLDEN_TASKS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gt {

// A view of `RANK` dimensions over memory that the harness owns. `shape` and `strides` count elements.
template <class T, std::size_t RANK>
struct Tensor {
    T* data;
    std::array<std::int64_t, RANK> shape;
    std::array<std::int64_t, RANK> strides;

    // The element at an index of RANK integers: `x(row, column)`. Bounds are not checked.
    template <class... Index>
    T& operator()(Index... index) const {
        static_assert(sizeof...(Index) == RANK, "gt::Tensor: one index for each dimension");
        return data[offset(std::array<std::int64_t, RANK>{static_cast<std::int64_t>(index)...})];
    }

    // The number of elements.
    std::int64_t size() const {
        std::int64_t n = 1;
        for (std::int64_t extent : shape) n *= extent;
        return n;
    }

private:
    std::int64_t offset(const std::array<std::int64_t, RANK>& index) const {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < RANK; ++d) at += index[d] * strides[d];
        return at;
    }
};

namespace detail {

inline std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Rounds a float to a smaller IEEE-like format of `EXPONENT` and `MANTISSA` bits, to nearest, ties to even.
// `FINITE`: the format has no infinity and its all-ones pattern is NaN (float8_e4m3fn). What is too large for it,
// infinity included, becomes its largest number, as in torch since 2.12.
template <int EXPONENT, int MANTISSA, bool FINITE>
inline std::uint32_t narrow(float value) {
    constexpr int bias = (1 << (EXPONENT - 1)) - 1;
    constexpr int dropped = 23 - MANTISSA;
    constexpr std::uint32_t infinity = ((1u << EXPONENT) - 1) << MANTISSA;
    constexpr std::uint32_t nan = FINITE ? infinity | ((1u << MANTISSA) - 1) : infinity | (1u << (MANTISSA - 1));
    constexpr std::uint32_t overflow = FINITE ? nan - 1 : infinity;
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t sign = (bits >> 31) << (EXPONENT + MANTISSA);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | nan;
    const bool normal = magnitude >= 0x00800000u;  // a subnormal float has exponent 1 and no implicit leading bit
    const std::uint32_t mantissa = (magnitude & 0x007fffffu) | (normal ? 0x00800000u : 0u);
    const int exponent = (normal ? static_cast<int>(magnitude >> 23) : 1) - 127 + bias;
    const int shift = exponent > 0 ? dropped : dropped + 1 - exponent;  // longer if subnormal in the small format
    if (shift > 24) return sign;
    if (exponent > (1 << EXPONENT)) return sign | overflow;
    // The leading bit, where there is one, carries into the exponent, and so may the rounding.
    std::uint32_t result = exponent > 0 ? static_cast<std::uint32_t>(exponent - 1) << MANTISSA : 0u;
    result += mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    if (rest > half || (rest == half && (result & 1))) ++result;
    return sign | (result > overflow ? overflow : result);
}

template <int EXPONENT, int MANTISSA, bool FINITE>
inline float widen(std::uint32_t bits) {
    constexpr int bias = (1 << (EXPONENT - 1)) - 1;
    const std::uint32_t sign = (bits >> (EXPONENT + MANTISSA)) << 31;
    const std::uint32_t exponent = (bits >> MANTISSA) & ((1u << EXPONENT) - 1);
    std::uint32_t mantissa = bits & ((1u << MANTISSA) - 1);
    const bool top = exponent == (1u << EXPONENT) - 1;
    if (top && !FINITE) return float_of(sign | 0x7f800000u | (mantissa << (23 - MANTISSA)));
    if (top && FINITE && mantissa == (1u << MANTISSA) - 1) return float_of(sign | 0x7fc00000u);
    if (exponent == 0) {
        if (mantissa == 0) return float_of(sign);
        int shift = 0;
        while (!(mantissa >> MANTISSA)) { mantissa <<= 1; ++shift; }
        mantissa &= (1u << MANTISSA) - 1;
        const int wide = 127 - bias + 1 - shift;
        if (wide <= 0) return float_of(sign | ((mantissa | (1u << MANTISSA)) << (23 - MANTISSA + wide - 1)));
        return float_of(sign | (static_cast<std::uint32_t>(wide) << 23) | (mantissa << (23 - MANTISSA)));
    }
    return float_of(sign | ((exponent + 127 - bias) << 23) | (mantissa << (23 - MANTISSA)));
}

// A stored floating-point number: converts to and from float, and all arithmetic is float's.
template <class Bits, int EXPONENT, int MANTISSA, bool FINITE>
struct Small {
    Bits bits;
    Small() = default;
    Small(float value) : bits(static_cast<Bits>(narrow<EXPONENT, MANTISSA, FINITE>(value))) {}
    operator float() const { return widen<EXPONENT, MANTISSA, FINITE>(bits); }
    Small& operator+=(float other) { return *this = Small(float(*this) + other); }
    Small& operator-=(float other) { return *this = Small(float(*this) - other); }
    Small& operator*=(float other) { return *this = Small(float(*this) * other); }
    Small& operator/=(float other) { return *this = Small(float(*this) / other); }
};

}  // namespace detail

using bfloat16 = detail::Small<std::uint16_t, 8, 7, false>;
using float16 = detail::Small<std::uint16_t, 5, 10, false>;
using float8_e4m3fn = detail::Small<std::uint8_t, 4, 3, true>;
using float8_e5m2 = detail::Small<std::uint8_t, 5, 2, false>;

}  // namespace gt

#endif  // GOLDEN_TASKS_H
