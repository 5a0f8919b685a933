"""TensorSpec and ScalarSpec: initial values, scalars that fit or are refused, names that can be files."""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from golden_tasks import ScalarSpec, TensorSpec
from golden_tasks.specs import argument_of, arguments_of

INTEGERS = (torch.int8, torch.int32, torch.int64, torch.uint8)
FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def spec(name: str = "x", **options: Any) -> TensorSpec:
    return TensorSpec(name, (2, 3), torch.float32, **options)


def test_a_spec_takes_its_fields_by_position_and_keeps_them() -> None:
    made = TensorSpec("x", (2, 3), torch.int8, 7, True, "stacked")

    fields = (made.name, made.shape, made.dtype, made.init_value, made.is_output, made.resident)
    assert fields == ("x", [2, 3], torch.int8, 7, True, "stacked")


def test_no_initial_value_makes_zeros() -> None:
    assert torch.equal(spec().create_tensor(), torch.zeros(2, 3))


@pytest.mark.parametrize("value", [2, 2.0])
def test_a_number_fills_the_tensor(value: float) -> None:
    made = spec(init_value=value).create_tensor()

    assert torch.equal(made, torch.full((2, 3), 2.0))


def test_a_tensor_is_converted_to_the_dtype() -> None:
    made = spec(init_value=torch.arange(6).reshape(2, 3)).create_tensor()

    assert made.dtype == torch.float32
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_tensor_of_the_right_dtype_is_the_callers_own() -> None:
    own = torch.randn(2, 3)

    assert spec(init_value=own).create_tensor() is own


def test_the_shape_of_a_given_tensor_is_not_enforced() -> None:
    assert spec(init_value=torch.zeros(5)).create_tensor().shape == (5,)


@pytest.mark.parametrize("draw", [torch.randn, torch.rand, torch.zeros, torch.ones])
def test_torchs_own_initialisers_get_the_shape_and_dtype(draw: Callable[..., torch.Tensor]) -> None:
    torch.manual_seed(5)
    expected = draw((2, 3), dtype=torch.bfloat16)
    torch.manual_seed(5)

    made = TensorSpec("x", [2, 3], torch.bfloat16, draw).create_tensor()

    assert made.dtype == torch.bfloat16
    assert torch.equal(made, expected)


@pytest.mark.parametrize("value", [lambda: [[1, 2]], lambda: torch.tensor([[1, 2]])], ids=["list", "tensor"])
def test_any_other_callable_is_called_without_arguments_and_its_result_converted(value: Callable[[], Any]) -> None:
    made = spec(init_value=value).create_tensor()

    assert made.dtype == torch.float32
    assert made.tolist() == [[1, 2]]


@pytest.mark.parametrize("value", ["zeros", [1.0], {}], ids=repr)
def test_an_initial_value_of_an_unknown_kind_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match=f"Unsupported init_value type for tensor 'x': {type(value).__name__}"):
        spec(init_value=value).create_tensor()


@pytest.mark.parametrize(
    ("options", "direction"),
    [
        ({}, "in"),
        ({"init_value": 1.0}, "in"),
        ({"is_output": True}, "out"),
        ({"is_output": True, "init_value": 0}, "inout"),
    ],
)
def test_an_output_with_an_initial_value_is_inout(options: dict[str, Any], direction: str) -> None:
    made = spec(**options)

    assert argument_of(made).direction == direction
    assert made.is_inout is (direction == "inout")


@pytest.mark.parametrize(
    ("resident", "is_resident"), [(None, False), (False, False), (0, True), (3, True), ("stacked", True)]
)
def test_a_resident_tensor_lives_on_a_worker_or_stacked_over_all(resident: Any, is_resident: bool) -> None:
    assert spec(resident=resident).is_resident is is_resident


def test_resident_true_does_not_say_where() -> None:
    with pytest.raises(ValueError, match="resident=True is ambiguous"):
        spec(resident=True)


@pytest.mark.parametrize("resident", [-1, "all", 1.0])
def test_a_resident_tensor_anywhere_else_is_refused(resident: Any) -> None:
    with pytest.raises(ValueError, match=r"resident=.* is neither a worker id from 0 nor 'stacked'"):
        spec(resident=resident)


def test_scripts_may_assign_to_a_specs_attributes() -> None:
    made = spec()

    made.shape, made.dtype, made.init_value, made.is_output = (4,), torch.int32, 9, True

    assert made.create_tensor().tolist() == [9, 9, 9, 9]
    assert str(argument_of(made)) == "int32 [4] inout"


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool, *FLOATS])
def test_a_scalar_is_always_a_0_dim_tensor_of_its_dtype(dtype: torch.dtype) -> None:
    made = ScalarSpec("n", dtype, dtype == torch.bool or 1)

    assert made.value.shape == ()
    assert made.value.dtype == dtype
    assert made.to_python() == 1


def test_a_value_assigned_to_a_scalar_is_converted_and_checked_too() -> None:
    made = ScalarSpec("n", torch.int8, 1)

    made.value = 5

    assert made.value.dtype == torch.int8
    assert made.to_python() == 5
    with pytest.raises(ValueError, match="out of range"):
        made.value = 128


def test_a_tensor_given_as_a_scalar_is_kept_by_identity() -> None:
    own = torch.tensor(3, dtype=torch.int64)

    assert ScalarSpec("n", torch.int64, own).value is own


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        (torch.float64, 1.0, "unsupported dtype torch.float64; supported are int8, int32, int64, uint8, bool, float32"),
        (torch.int16, 1, "unsupported dtype torch.int16"),
        (torch.int32, 1.0, "requires int value, not 1.0"),
        (torch.int32, True, "requires int value, not True"),
        (torch.int8, 128, "128 is out of range for torch.int8 (-128 to 127)"),
        (torch.int8, -129, "out of range"),
        (torch.uint8, -1, "out of range"),
        (torch.int64, 2**63, "out of range"),
        (torch.bool, 1, "requires bool value, not 1"),
        (torch.float32, "1", "requires int or float, not '1'"),
        (torch.float32, True, "requires int or float, not True"),
        (torch.float16, 70000, "out of range"),
        (torch.float32, -1e39, "out of range"),
        (torch.float32, torch.ones(1), "must be 0-dim, not of shape (1,)"),
        (torch.float32, torch.tensor(1), "the tensor's dtype torch.int64 does not match dtype torch.float32"),
    ],
    ids=str,
)
def test_a_scalar_that_does_not_fit_is_a_value_error_that_names_it(
    dtype: torch.dtype, value: Any, message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        ScalarSpec("n", dtype, value)

    assert "scalar 'n'" in str(refused.value)
    assert message in str(refused.value)


@pytest.mark.parametrize("dtype", INTEGERS)
@given(st.data())
def test_every_integer_of_a_dtype_comes_back_from_python_and_ctypes(dtype: torch.dtype, data: st.DataObject) -> None:
    limits = torch.iinfo(dtype)
    number = data.draw(st.sampled_from([limits.min, limits.max]) | st.integers(limits.min, limits.max))

    made = ScalarSpec("n", dtype, number)

    assert made.to_python() == number
    assert made.to_ctypes().value == number
    assert ctypes.sizeof(made.to_ctypes()) == dtype.itemsize


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@given(value=st.floats(width=16))
def test_a_half_is_handed_on_as_its_16_bit_pattern(dtype: torch.dtype, value: float) -> None:
    scalar = ScalarSpec("s", dtype, value).to_ctypes()

    assert isinstance(scalar, ctypes.c_uint16)
    bits = torch.tensor(value, dtype=dtype).view(torch.uint16)
    assert scalar.value == bits.item()


@given(st.floats(width=32))
def test_a_float32_scalar_keeps_every_value(value: float) -> None:
    scalar = ScalarSpec("s", torch.float32, value).to_ctypes()

    assert isinstance(scalar, ctypes.c_float)
    assert scalar.value == value or (math.isnan(value) and math.isnan(scalar.value))


def test_a_bool_scalar_is_a_ctypes_bool() -> None:
    scalar = ScalarSpec("flag", torch.bool, True).to_ctypes()

    assert isinstance(scalar, ctypes.c_bool)
    assert scalar.value is True


def test_arguments_are_plain_data_in_the_order_of_the_specs() -> None:
    specs = [spec("b"), ScalarSpec("n", torch.int32, 1), spec("a", is_output=True)]

    arguments = arguments_of(specs)

    assert [a.name for a in arguments] == ["b", "n", "a"]
    assert [str(a) for a in arguments] == ["float32 [2, 3] in", "int32 scalar", "float32 [2, 3] out"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0b", None, 3], ids=repr)
def test_a_name_that_cannot_be_a_file_is_refused_with_its_position(name: Any) -> None:
    with pytest.raises(ValueError) as refused:
        arguments_of([spec("x"), spec(name)])

    assert str(refused.value) == f"argument 2: {name!r} cannot name an argument, since it names a file too"


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([spec("x"), ScalarSpec("x", torch.int32, 1)], "two arguments are named 'x'"),
        ([spec("x"), torch.zeros(2)], "argument 2 is a Tensor, not a TensorSpec or ScalarSpec"),
        ([], "there are no specs"),
    ],
)
def test_a_list_that_is_no_argument_list_is_a_value_error(specs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arguments_of(specs)
