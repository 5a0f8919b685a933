// What the generated orchestration of a kernel is written with. Included before the kernel, whose macros do not reach it.
#ifndef GOLDEN_TASKS_ORCHESTRATION_H
#define GOLDEN_TASKS_ORCHESTRATION_H

#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <type_traits>

#include "golden_tasks.h"

namespace golden_tasks_orchestration {

// An argument as the harness passes it: a tensor's memory, shape and strides, or a scalar's memory.
struct Argument {
    void* data;
    const std::int64_t* shape;
    const std::int64_t* strides;
};

template <class T, std::size_t RANK>
gt::Tensor<T, RANK> tensor(const Argument& argument) {
    gt::Tensor<T, RANK> view{static_cast<T*>(argument.data), {}, {}};
    for (std::size_t d = 0; d < RANK; ++d) {
        view.shape[d] = argument.shape[d];
        view.strides[d] = argument.strides[d];
    }
    return view;
}

template <class T>
T scalar(const Argument& argument) {
    return *static_cast<const T*>(argument.data);
}

// Stands for a kernel that its file does not declare.
struct Undeclared {};

// Stands for a kernel that is overloaded or a template.
struct Several {};

// Has `of(&f)` for a function `f` that is neither overloaded nor a template.
struct Only {
    template <class F>
    static F* of(F*);
};

// What there is to say of a kernel's type. Of what is no function: that alone.
template <class F>
struct Signature {
    static constexpr bool is_declared = !std::is_same_v<F, const Undeclared*>;
    static constexpr bool is_chosen = !std::is_same_v<F, Several>;
    static constexpr bool is_function = !is_declared || !is_chosen;
    static constexpr bool returns_void = true;
    template <std::size_t COUNT>
    static constexpr bool counts = true;
    template <std::size_t COUNT, std::size_t I, class T>
    static constexpr bool takes() {
        return true;
    }
};

template <class R, class... P>
struct Signature<R (*)(P...)> {
    static constexpr bool is_declared = true, is_chosen = true, is_function = true;
    static constexpr bool returns_void = std::is_void_v<R>;
    template <std::size_t COUNT>
    static constexpr bool counts = sizeof...(P) == COUNT;
    // Whether parameter I is a T, by value or by const reference; asked only of a kernel with the right count.
    template <std::size_t COUNT, std::size_t I, class T>
    static constexpr bool takes() {
        if constexpr (counts<COUNT>) {
            using Parameter = std::tuple_element_t<I, std::tuple<P...>>;
            return std::is_same_v<Parameter, T> || std::is_same_v<Parameter, const T&>;
        } else {
            return true;
        }
    }
};

template <class R, class... P>
struct Signature<R (*)(P...) noexcept> : Signature<R (*)(P...)> {};

}  // namespace golden_tasks_orchestration

#endif  // GOLDEN_TASKS_ORCHESTRATION_H
