"""golden_tasks.h: its 16- and 8-bit floats convert as torch's do, and its views index as torch's do."""

import ctypes
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

INCLUDE = Path(__file__).parents[1] / "golden_tasks/backends/cpu/include"

SOURCE = """
#include "golden_tasks.h"

#define CONVERSIONS(TYPE, BITS)                                                        \\
    extern "C" void widen_##TYPE(const gt::TYPE* from, float* to, std::int64_t n) {    \\
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];                          \\
    }                                                                                  \\
    extern "C" void narrow_##TYPE(const float* from, gt::TYPE* to, std::int64_t n) {   \\
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];                          \\
    }                                                                                  \\
    static_assert(sizeof(gt::TYPE) == sizeof(std::BITS), "stored as its bits alone");
CONVERSIONS(bfloat16, uint16_t)
CONVERSIONS(float16, uint16_t)
CONVERSIONS(float8_e4m3fn, uint8_t)
CONVERSIONS(float8_e5m2, uint8_t)

extern "C" void accumulate(gt::bfloat16* sum, gt::bfloat16 by) {
    sum[0] += by;
    sum[1] -= by;
    sum[2] *= by;
    sum[3] /= by;
}

extern "C" std::int64_t size(const gt::Tensor<const float, 3>* x) { return x->size(); }

extern "C" void copy(const gt::Tensor<const float, 3>* x, const gt::Tensor<float, 3>* y) {
    for (std::int64_t i = 0; i < x->shape[0]; ++i)
        for (std::int64_t j = 0; j < x->shape[1]; ++j)
            for (std::int64_t k = 0; k < x->shape[2]; ++k) (*y)(i, j, k) = (*x)(i, j, k);
}
"""

FORMATS = {
    "bfloat16": (torch.bfloat16, torch.int16),
    "float16": (torch.float16, torch.int16),
    "float8_e4m3fn": (torch.float8_e4m3fn, torch.int8),
    "float8_e5m2": (torch.float8_e5m2, torch.int8),
}


class View3(ctypes.Structure):
    """gt::Tensor<float, 3> as it lies in memory."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 3),
        ("strides", ctypes.c_int64 * 3),
    )


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("header")
    (folder / "header.cpp").write_text(SOURCE)
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no C++ compiler: {compiler[0]} is not on the PATH; set CXX")
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}"]
    subprocess.run([*compiler, *flags, "header.cpp", "-o", "header.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "header.so"))
    library.size.restype = ctypes.c_int64
    return library


def view(tensor: torch.Tensor) -> View3:
    triple = ctypes.c_int64 * 3
    return View3(tensor.data_ptr(), triple(*tensor.shape), triple(*tensor.stride()))


def convert(function: "ctypes._NamedFuncPointer", source: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    result = torch.empty(source.shape, dtype=dtype)
    pointers = (ctypes.c_void_p(t.data_ptr()) for t in (source, result))
    function(*pointers, ctypes.c_int64(source.numel()))
    return result


def every_pattern(name: str) -> torch.Tensor:
    dtype, bits = FORMATS[name]
    limits = torch.iinfo(bits)
    return torch.arange(limits.min, limits.max + 1, dtype=torch.int32).to(bits).view(dtype)


def neighbourhood(values: torch.Tensor) -> torch.Tensor:
    """The float32 values with the three bit patterns on either side of each."""
    steps = torch.arange(-3, 4, dtype=torch.int32)
    return (values.view(torch.int32)[:, None] + steps).flatten().view(torch.float32)


def spread(name: str) -> torch.Tensor:
    """Float32 values around every number of a format and every tie, and far beyond them."""
    numbers = every_pattern(name).float().double().unique()
    numbers = numbers[numbers.isfinite()]
    beyond = numbers[-1] + (numbers[-1] - numbers[-2])  # the next number, were there a larger exponent
    numbers = torch.cat([-beyond[None], numbers, beyond[None]])
    midpoints = (numbers[1:] + numbers[:-1]) / 2  # the ties
    edges = [0.0, -0.0, torch.inf, -torch.inf, torch.nan, torch.finfo(torch.float32).max]
    edges += [torch.finfo(torch.float32).tiny, -torch.finfo(torch.float32).max]
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (500_000,), generator=generator).to(torch.int32)
    subnormals = bits & torch.tensor(0x807FFFFF, dtype=torch.int64).to(torch.int32)
    near = neighbourhood(torch.cat([numbers.float(), midpoints.float(), torch.tensor(edges)]))
    return torch.cat([near, torch.tensor(edges), bits.view(torch.float32), subnormals.view(torch.float32)])


def assert_same_bits(actual: torch.Tensor, expected: torch.Tensor, inputs: torch.Tensor) -> None:
    """Bit for bit, negative zero included; of a NaN only that it is one."""
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}[actual.element_size()]
    same = actual.view(integers) == expected.view(integers)
    same |= actual.float().isnan() & expected.float().isnan()
    bad = (~same).nonzero().flatten()[:5]
    shown = [f"{inputs[i].item()!r} -> {actual[i].item()!r} != {expected[i].item()!r}" for i in bad.tolist()]
    assert not shown, f"{(~same).sum().item()} of {same.numel()} differ: " + "; ".join(shown)


@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_pattern_widens_as_in_torch(header: ctypes.CDLL, name: str) -> None:
    patterns = every_pattern(name)
    actual = convert(getattr(header, f"widen_{name}"), patterns, torch.float32)
    assert_same_bits(actual, patterns.float(), patterns)


@pytest.mark.parametrize("name", FORMATS)
def test_float32_narrows_as_in_torch(header: ctypes.CDLL, name: str) -> None:
    values = spread(name)
    dtype = FORMATS[name][0]
    actual = convert(getattr(header, f"narrow_{name}"), values, dtype)
    # torch before 2.12 made NaN of what float8_e4m3fn cannot hold; clamped, every version says the same.
    finite = dtype == torch.float8_e4m3fn
    expected = (values.clamp(-448, 448) if finite else values).to(dtype)
    assert_same_bits(actual, expected, values)


def test_float8_e4m3fn_saturates(header: ctypes.CDLL) -> None:
    values = torch.tensor([448.0, 464.1, 1e9, torch.inf, -480.0, -torch.inf])
    actual = convert(header.narrow_float8_e4m3fn, values, torch.float8_e4m3fn)
    assert actual.float().tolist() == [448, 448, 448, 448, -448, -448]


@pytest.mark.parametrize("name", FORMATS)
def test_every_number_survives_widening_and_narrowing(header: ctypes.CDLL, name: str) -> None:
    patterns = every_pattern(name)
    wide = convert(getattr(header, f"widen_{name}"), patterns, torch.float32)
    assert_same_bits(convert(getattr(header, f"narrow_{name}"), wide, patterns.dtype), patterns, patterns)


def test_compound_assignment_computes_in_float_and_rounds_once(header: ctypes.CDLL) -> None:
    values = torch.tensor([1.5, -0.0078125, 3.0, 10.0], dtype=torch.bfloat16)
    by = torch.tensor(0.3, dtype=torch.bfloat16)
    expected = torch.stack([values[0] + by, values[1] - by, values[2] * by, values[3] / by])
    bits = ctypes.c_uint16(by.view(torch.int16).item())
    header.accumulate(ctypes.c_void_p(values.data_ptr()), bits)
    assert_same_bits(values, expected, values)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24.0).reshape(2, 3, 4),
        torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0),
        torch.arange(192.0).reshape(4, 6, 8)[1::2, ::3, 2::2],
        torch.arange(3.0).reshape(1, 3, 1).expand(2, 3, 4),
        torch.empty(2, 0, 4),
    ],
    ids=["contiguous", "permuted", "sliced", "expanded", "empty"],
)
def test_a_view_is_read_through_its_strides(header: ctypes.CDLL, tensor: torch.Tensor) -> None:
    result = torch.full(tensor.shape, torch.nan)
    header.copy(ctypes.byref(view(tensor)), ctypes.byref(view(result)))
    assert torch.equal(result, tensor)


def test_a_view_is_written_through_its_strides_and_nowhere_else(header: ctypes.CDLL) -> None:
    tensor = torch.arange(1.0, 25.0).reshape(2, 3, 4)
    memory = torch.zeros(8, 7, 6)
    expected = torch.zeros(8, 7, 6)
    expected.permute(2, 1, 0)[1:5:2, ::3, ::2] = tensor
    header.copy(ctypes.byref(view(tensor)), ctypes.byref(view(memory.permute(2, 1, 0)[1:5:2, ::3, ::2])))
    assert torch.equal(memory, expected)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (5, 0, 2), (70_000, 70_000, 2)])
def test_size_is_the_number_of_elements(header: ctypes.CDLL, shape: tuple[int, int, int]) -> None:
    tensor = torch.zeros(1).expand(shape)
    assert header.size(ctypes.byref(view(tensor))) == tensor.numel()
