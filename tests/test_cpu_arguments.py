"""Platform cpu: every dtype, rank and stride of an argument reaches the kernel as it is, and nothing else does."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from cpp_project import SPECS, CppProject, run, scale

from golden_tasks.backends.cpu.orchestration import CPP_TYPES, cpp_type
from golden_tasks.records import Build
from golden_tasks.results import Failure, Status
from golden_tasks.specs import ScalarSpec, Spec, TensorSpec, argument_of

SHAPES = {
    "rank0": (),
    "rank1": (5,),
    "rank2": (2, 3),
    "rank3": (2, 3, 4),
    "rank4": (2, 1, 3, 2),
    "rank5": (2, 3, 1, 2, 2),
}
SHAPES |= {"empty": (3, 0, 2)}
SCALARS: dict[str, list[bool | int | float]] = {
    "int8": [-128, 127],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1, 2**53 + 1],
    "uint8": [0, 255],
    "bool": [True, False],
    "float32": [0.1, -0.0, math.inf, math.nan, 1e-45, 3.4028234663852886e38],
    "float16": [0.1, -0.0, -math.inf, math.nan, 6e-8, 65504.0],
    "bfloat16": [0.1, -0.0, math.inf, math.nan, 9.2e-41, 3.3895e38],
}
COPY = """#include "golden_tasks.h"
template <class T, std::size_t RANK>
void copy(gt::Tensor<const T, RANK> from, gt::Tensor<T, RANK> to) {
    for (std::int64_t n = 0; n < from.size(); ++n) {
        std::int64_t rest = n, read = 0, written = 0;
        for (std::size_t d = RANK; d-- > 0; rest /= from.shape[d]) {
            read += rest % from.shape[d] * from.strides[d];
            written += rest % from.shape[d] * to.strides[d];
        }
        to.data[written] = from.data[read];
    }
}
"""


def pair(name: str, shape: tuple[int, ...], dtype: str) -> list[Spec]:
    kind = getattr(torch, dtype)
    return [TensorSpec(f"{name}_in", shape, kind, 0), TensorSpec(f"{name}_out", shape, kind, is_output=True)]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, torch.Tensor]]:
    """Runs one kernel that copies a tensor of each dtype and of each rank, and a scalar of each dtype."""
    specs: list[Spec] = []
    for dtype in CPP_TYPES:
        specs += pair(dtype, (64,), dtype)
    for name, shape in SHAPES.items():
        specs += pair(name, shape, "float32")
    calls = [f"copy({given.name}, {made.name});" for given, made in zip(specs[::2], specs[1::2], strict=True)]
    for dtype in SCALARS:
        specs.append(ScalarSpec(f"{dtype}_scalar", getattr(torch, dtype), False if dtype == "bool" else 0))
        specs.append(TensorSpec(f"{dtype}_scalar_out", (), getattr(torch, dtype), is_output=True))
        calls.append(f"{dtype}_scalar_out() = {dtype}_scalar;")
    parameters = ", ".join(f"{cpp_type(argument_of(spec))} {spec.name}" for spec in specs)
    source = f"#include <complex>\n{COPY}void copy_all({parameters}) {{ {' '.join(calls)} }}\n"
    project = CppProject(tmp_path_factory.mktemp("copied"), {"copy_all.cpp": source})
    build = project.compile(project.describe("copy_all.cpp"), specs)
    return lambda **inputs: run(project.path("runtime"), build, **inputs)


def assert_same_bits(actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    assert actual.reshape(-1).view(torch.uint8).tolist() == expected.reshape(-1).view(torch.uint8).tolist()


@pytest.mark.parametrize("dtype", CPP_TYPES)
def test_a_tensor_of_every_dtype_crosses_bit_for_bit(
    copied: Callable[..., dict[str, torch.Tensor]], dtype: str
) -> None:
    kind = getattr(torch, dtype)
    size = 64 * torch.empty(0, dtype=kind).element_size()
    patterns = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    tensor = patterns > 127 if dtype == "bool" else patterns.view(kind)

    values = copied(**{f"{dtype}_in": tensor})

    assert_same_bits(values[f"{dtype}_out"], tensor)


@pytest.mark.parametrize(("dtype", "value"), [(d, value) for d, values in SCALARS.items() for value in values])
def test_a_scalar_of_every_dtype_crosses_bit_for_bit(
    copied: Callable[..., dict[str, torch.Tensor]], dtype: str, value: bool | int | float
) -> None:
    scalar = ScalarSpec("value", getattr(torch, dtype), value).value

    values = copied(**{f"{dtype}_scalar": scalar})

    assert_same_bits(values[f"{dtype}_scalar_out"], scalar)


@pytest.mark.parametrize("name", SHAPES)
def test_every_rank_and_no_elements_cross(copied: Callable[..., dict[str, torch.Tensor]], name: str) -> None:
    tensor = torch.arange(1.0, 1.0 + math.prod(SHAPES[name])).reshape(SHAPES[name])

    values = copied(**{f"{name}_in": tensor})

    assert torch.equal(values[f"{name}_out"], tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0),
        torch.arange(192.0).reshape(4, 6, 8)[1::2, ::2, ::2],
        torch.arange(3.0).reshape(1, 3, 1).expand(2, 3, 4),
    ],
    ids=["permuted", "sliced", "expanded"],
)
def test_an_input_is_read_through_its_strides(
    copied: Callable[..., dict[str, torch.Tensor]], tensor: torch.Tensor
) -> None:
    assert torch.equal(copied(rank3_in=tensor)["rank3_out"], tensor)


def test_an_output_is_written_through_its_strides_and_nowhere_else(
    copied: Callable[..., dict[str, torch.Tensor]],
) -> None:
    memory = torch.zeros(6, 8)

    copied(rank2_in=torch.ones(2, 3), rank2_out=memory.T[1:5:2, ::2])

    expected = torch.zeros(6, 8)
    expected.T[1:5:2, ::2] = 1
    assert torch.equal(memory, expected)


def test_inputs_are_left_as_they_were(copied: Callable[..., dict[str, torch.Tensor]]) -> None:
    tensor = torch.randn(2, 3)
    before = tensor.clone()
    copied(rank2_in=tensor)
    assert torch.equal(tensor, before)


def test_a_lazily_conjugated_or_negated_tensor_crosses_by_its_values(
    copied: Callable[..., dict[str, torch.Tensor]],
) -> None:
    tensor = torch.randn(64, dtype=torch.complex64)
    result = torch.zeros(64, dtype=torch.complex64).conj()

    values = copied(complex64_in=tensor.conj(), complex64_out=result, float32_in=tensor.conj().imag)

    assert torch.equal(result, tensor.conj().resolve_conj())
    assert torch.equal(values["float32_out"], -tensor.imag)


@pytest.mark.parametrize(
    ("tensor", "named"),
    [
        (torch.zeros(2, 2), "float32 [2, 2]"),
        (torch.zeros(2, 3, dtype=torch.float64), "float64 [2, 3]"),
        (torch.zeros(2, 3).to_sparse(), "float32 [2, 3] on cpu, torch.sparse_coo"),
        (torch.zeros(2, 3, device="meta"), "float32 [2, 3] on meta"),
    ],
    ids=["shape", "dtype", "sparse", "device"],
)
def test_a_tensor_that_the_build_was_not_made_for_is_refused_before_the_kernel_runs(
    copied: Callable[..., dict[str, torch.Tensor]], tensor: torch.Tensor, named: str
) -> None:
    with pytest.raises(Failure) as failed:
        copied(rank2_in=tensor)
    assert failed.value.status is Status.RUNTIME_ERROR
    assert f"argument 'rank2_in' is {named}" in failed.value.message
    assert "its build takes float32 [2, 3] in" in failed.value.message


def test_an_inout_tensor_is_changed_in_place(stateful: tuple[CppProject, Build]) -> None:
    project, build = stateful
    state = torch.arange(4.0)
    run(project.path("runtime"), build, state=state)
    assert state.tolist() == [1, 2, 3, 4]


@pytest.fixture(scope="module")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> tuple[CppProject, Build]:
    """A kernel that adds 1 to its state, and throws as its scalar `how` asks."""
    source = """#include <stdexcept>
#include "golden_tasks.h"
struct Mine : std::runtime_error { using std::runtime_error::runtime_error; };
void step(gt::Tensor<float, 1> state, std::int32_t how) {
    if (how == 1) throw std::out_of_range("seq_len 300 is past the cache, grösser");
    if (how == 2) throw 42;
    if (how == 3) throw Mine("of the kernel's own kind");
    for (std::int64_t i = 0; i < state.shape[0]; ++i) state(i) += 1.0f;
}
"""
    project = CppProject(tmp_path_factory.mktemp("stateful"), {"step.cpp": source})
    specs = [TensorSpec("state", (4,), torch.float32, 0, is_output=True), ScalarSpec("how", torch.int32, 0)]
    return project, project.compile(project.describe("step.cpp"), specs)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (1, "seq_len 300 is past the cache, grösser"),
        (2, "an exception that is no std::exception"),
        (3, "of the kernel's own kind"),
    ],
)
def test_what_a_kernel_throws_is_a_runtime_error_with_its_text(
    stateful: tuple[CppProject, Build], how: int, said: str
) -> None:
    project, build = stateful
    with pytest.raises(Failure) as failed:
        run(project.path("runtime"), build, how=torch.tensor(how, dtype=torch.int32))
    assert failed.value.status is Status.RUNTIME_ERROR
    assert failed.value.message == f"kernel 'step' threw: {said}"


def test_a_kernel_that_threw_can_be_called_again(stateful: tuple[CppProject, Build]) -> None:
    project, build = stateful
    with pytest.raises(Failure):
        run(project.path("runtime"), build, how=torch.tensor(1, dtype=torch.int32))
    assert run(project.path("runtime"), build)["state"].tolist() == [1, 1, 1, 1]


def test_a_dtype_without_a_cpp_type_is_refused_by_name() -> None:
    with pytest.raises(Failure) as failed:
        cpp_type(argument_of(TensorSpec("z", (2,), torch.complex32)))
    assert failed.value.status is Status.COMPILE_ERROR
    assert failed.value.message.startswith("spec 'z': platform cpu has no dtype complex32; it has float64, float32")


def test_two_builds_in_one_process_share_no_variable(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Inline variables are one per process by the linker's rules, so the first build's table would serve the second."""
    results = []
    for factor in (3, 5):
        source = scale(
            "table()[0]", f"inline float* table() {{ static float values[] = {{{factor}}}; return values; }}"
        )
        project = CppProject(tmp_path_factory.mktemp("twice"), {"scale.cpp": source})
        build = project.compile(project.describe("scale.cpp"), SPECS)
        results.append(float(run(project.path("runtime"), build, x=torch.ones(4, 8))["y"][0, 0]))
    assert results == [3, 5]
