"""Guards around a run: what one run alone cannot tell. Faulty C++ kernels are in `faulty_kernels`."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Project
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks import Case, ScalarSpec, TensorSpec
from golden_tasks.guards import GUARDS, Guards, bits
from golden_tasks.guards.golden import GoldenGuard
from golden_tasks.guards.runs import Execution, execute
from golden_tasks.guards.zones import Zoned
from golden_tasks.records import Build
from golden_tasks.results import Failure, Status
from golden_tasks.specs import arguments_of
from golden_tasks.stages import compute_golden

ALL = tuple(GUARDS)
DTYPES = (
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.complex64,
    torch.complex128,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)


class Calls:
    """A backend whose build is a Python function, called in this process on the arguments' memory."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self.calls = 0

    def execute(self, work_dir: Path, build: Build, values: Any, device: int) -> float:
        self.calls += 1
        self.function(*values)
        return 0.25


SPECS = [
    TensorSpec("x", [4, 8], torch.float32, torch.randn),
    TensorSpec("state", [8], torch.float32, 1.0, is_output=True),
    ScalarSpec("factor", torch.float32, 2.0),
    TensorSpec("y", [4, 8], torch.float32, is_output=True),
]


def inputs() -> dict[str, torch.Tensor]:
    return {"x": torch.arange(1.0, 33.0).view(4, 8), "state": torch.ones(8), "factor": torch.tensor(2.0)}


def guarded(
    function: Callable[..., object], on: tuple[str, ...] = ALL, repeat: int = 1
) -> tuple[Execution, Calls, dict[str, torch.Tensor]]:
    backend, given = Calls(function), inputs()
    build = Build(made_from={}, platform="cpu", backend="", binary="", arguments=arguments_of(SPECS), sources={})
    return execute(backend, Path(), build, given, 0, on, repeat), backend, given  # type: ignore[arg-type]


def found(ran: Execution) -> list[tuple[str, str]]:
    return [(finding.status, finding.argument) for finding in ran.findings]


def sound(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
    y[:] = x * factor
    state += 1


def test_a_sound_kernel_runs_twice_and_nothing_is_found() -> None:
    ran, backend, given = guarded(sound)

    assert found(ran) == []
    assert backend.calls == 2
    assert torch.equal(ran.outputs["y"], given["x"] * 2)
    assert torch.equal(ran.outputs["state"], torch.full((8,), 2.0))
    assert all(torch.equal(tensor, inputs()[name]) for name, tensor in given.items())


def test_without_guards_a_kernel_runs_once_on_the_inputs_themselves() -> None:
    seen = []
    ran, backend, given = guarded(lambda x, state, factor, y: seen.append(x), on=())

    assert backend.calls == 1
    assert seen[0] is given["x"]
    assert ran.seconds == 0.25


def test_the_inputs_guard_alone_needs_no_second_run() -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        sound(x, state, factor, y)
        x[1, 2] = 0.5

    ran, backend, given = guarded(kernel, on=("inputs",))

    assert backend.calls == 1
    assert found(ran) == [("INPUT_CHANGED", "x")]
    assert ran.findings[0].message == (
        "the run changed 1 of 32 elements of this input: [1, 2] was 11, is 0.5; "
        "if it is meant to, make it an inout: is_output=True beside its init_value"
    )
    assert given["x"][1, 2] == 11


def test_elements_that_are_never_written_are_counted() -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y[:, :6] = x[:, :6] * factor

    ran, *_ = guarded(kernel)

    assert found(ran) == [("NOT_WRITTEN", "y")]
    assert "8 of 32 elements were never written" in ran.findings[0].message
    assert "[0, 6]" in ran.findings[0].message


def test_a_zero_that_is_written_is_not_taken_for_unwritten() -> None:
    ran, *_ = guarded(lambda x, state, factor, y: y.zero_())

    assert found(ran) == []


def test_an_output_that_is_added_to_depends_on_what_was_there() -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y += x * factor

    ran, *_ = guarded(kernel)

    assert found(ran) == [("NOT_WRITTEN", "y")]
    assert "32 of 32 elements depend on what it held before the run" in ran.findings[0].message


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.float8_e4m3fn, torch.int8, torch.uint8, torch.int64]
)
@pytest.mark.parametrize("combine", [torch.fmax, torch.fmin], ids=["maximum", "minimum"])
def test_an_extreme_that_takes_in_what_the_output_held_shows_it(dtype: torch.dtype, combine: Any) -> None:
    side = 1 if combine is torch.fmax else -1  # so that zeros are no extreme, and the judged run is right
    if combine is torch.fmin and not dtype.is_signed:
        pytest.skip("zero is the least of all")
    specs = [TensorSpec("x", [6], dtype, torch.ones), TensorSpec("y", [6], dtype, is_output=True)]
    build = Build(made_from={}, platform="cpu", backend="", binary="", arguments=arguments_of(specs), sources={})
    given = {"x": (torch.arange(1, 7) * side).to(dtype)}

    def kernel(x: torch.Tensor, y: torch.Tensor) -> None:
        y.copy_(combine(y.double(), x.double()).to(dtype))

    backend: Any = Calls(kernel)
    ran = execute(backend, Path(), build, given, 0, ALL)

    assert torch.equal(ran.outputs["y"].double(), given["x"].double())
    assert found(ran) == [("NOT_WRITTEN", "y")]
    assert "depend on what it held before the run" in ran.findings[0].message


def test_a_later_run_cannot_repair_the_judged_outputs() -> None:
    kept: list[torch.Tensor] = []

    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        kept.append(y)
        if len(kept) > 1:
            for output in kept:
                output.copy_(x * factor)

    ran, *_ = guarded(kernel)

    assert not bool(ran.outputs["y"].any())
    assert found(ran) == [("NOT_REPEATABLE", "y")]


@pytest.mark.parametrize("on", [("written",), ("repeat",), ("written", "repeat")])
def test_every_run_starts_from_the_inputs_though_changing_them_is_accepted(on: tuple[str, ...]) -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        x.mul_(factor)
        y.copy_(x)

    ran, _, given = guarded(kernel, on=on, repeat=2)

    assert found(ran) == []
    assert torch.equal(given["x"], inputs()["x"])


def test_a_write_into_the_gaps_of_an_input_is_found() -> None:
    specs = [TensorSpec("x", [4, 4], torch.float32, torch.ones), TensorSpec("y", [4], torch.float32, is_output=True)]
    build = Build(made_from={}, platform="cpu", backend="", binary="", arguments=arguments_of(specs), sources={})

    def kernel(x: torch.Tensor, y: torch.Tensor) -> None:
        y.copy_(x.sum(1))
        x.as_strided((1,), (1,), x.storage_offset() + 5).fill_(7)

    backend: Any = Calls(kernel)
    ran = execute(backend, Path(), build, {"x": torch.ones(4, 8)[:, :4]}, 0, ALL)

    assert found(ran) == [("INPUT_CHANGED", "x")]
    assert "gaps" in ran.findings[0].message


@pytest.mark.parametrize("on", [(), ALL], ids=["without guards", "with guards"])
@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        (lambda x, state, factor, y: y.resize_(3), "WRONG_SHAPE", "'y' another form: shape [4, 8] -> [3]"),
        (lambda x, state, factor, y: y.unsqueeze_(0), "WRONG_SHAPE", "shape [4, 8] -> [1, 4, 8]"),
        (lambda x, state, factor, y: setattr(y, "data", y.double()), "WRONG_DTYPE", "dtype float32 -> float64"),
        (lambda x, state, factor, y: y.set_(x), "NOT_WRITTEN", "other memory, by set_ or .data"),
        (lambda x, state, factor, y: x.resize_(3), "INPUT_CHANGED", "'x' another form: shape [4, 8] -> [3]"),
        (lambda x, state, factor, y: setattr(x, "data", x.double()), "INPUT_CHANGED", "dtype float32 -> float64"),
    ],
    ids=["resized", "unsqueezed", "another dtype", "rebound", "an input resized", "an input's dtype"],
)
def test_an_argument_that_comes_back_in_another_form_is_a_failure(
    function: Callable[..., object], status: str, words: str, on: tuple[str, ...]
) -> None:
    with pytest.raises(Failure) as raised:
        guarded(function, on=on)

    assert raised.value.status.value == status
    assert words in raised.value.message


def test_a_result_that_differs_from_run_to_run_is_found_without_extra_runs_for_others() -> None:
    calls = iter(range(100))

    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y[:] = x * factor
        y[2, 3] += next(calls)

    ran, *_ = guarded(kernel)

    assert found(ran) == [("NOT_REPEATABLE", "y")]
    assert "1 of 32 elements differ from run to run" in ran.findings[0].message
    assert "[2, 3]" in ran.findings[0].message


def test_memory_that_a_kernel_has_not_set_is_told_as_such() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p

    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        block = libc.malloc(1 << 20)
        y[:] = x * factor + ctypes.c_float.from_address(block + 4096).value
        libc.free(ctypes.c_void_p(block))

    ran, *_ = guarded(kernel)

    assert found(ran) == [("NOT_REPEATABLE", "y")]
    assert re.search("that the kernel has not set|memory that nothing has set", ran.findings[0].message)


def test_what_is_never_written_and_what_is_added_to_are_both_told() -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y[:, :6] += x[:, :6]

    ran, *_ = guarded(kernel)

    assert found(ran) == [("NOT_WRITTEN", "y"), ("NOT_WRITTEN", "y")]
    assert "8 of 32 elements were never written" in ran.findings[0].message
    assert "24 of 32 elements depend on what it held before" in ran.findings[1].message


def test_repeat_finds_what_differs_in_a_later_run_only() -> None:
    def rarely() -> Callable[..., None]:
        calls = iter(range(1, 100))

        def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
            y[:] = x * factor + (1.0 if next(calls) == 4 else 0.0)

        return kernel

    assert found(guarded(rarely())[0]) == []
    assert found(guarded(rarely(), repeat=3)[0]) == [("NOT_REPEATABLE", "y")]


def test_a_kernel_that_differs_on_purpose_is_still_looked_at_for_unwritten_elements() -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y[:3] = x[:3] + random.SystemRandom().random()

    ran, *_ = guarded(kernel, on=("inputs", "written", "bounds"))

    assert found(ran) == [("NOT_WRITTEN", "y")]
    assert "8 of 32" in ran.findings[0].message


def test_a_guard_that_needs_a_comparison_of_runs_holds_where_repetition_may_differ_but_does_not() -> None:
    def adds(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y += x

    ran, *_ = guarded(adds, on=("written",))

    assert found(ran) == [("NOT_WRITTEN", "y")]


def test_random_numbers_that_a_kernel_draws_are_the_same_in_every_run() -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        y[:] = torch.rand(4, 8) + random.random()

    assert found(guarded(kernel)[0]) == []


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        (32, "1 element behind its end, right beside it"),
        (35, "1 element behind its end, the nearest 3 elements away"),
        (-1, "1 element in front of its start, right beside it"),
    ],
)
def test_a_write_outside_of_an_argument_is_told_with_its_distance(elements: int, words: str) -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        sound(x, state, factor, y)
        ctypes.c_float.from_address(y.data_ptr() + 4 * elements).value = 1.5

    ran, *_ = guarded(kernel)

    assert found(ran) == [("OUT_OF_BOUNDS", "y")]
    assert words in ran.findings[0].message


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_lies_around_an_argument_is_far_from_what_lies_there_in_another_run(dtype: torch.dtype) -> None:
    ours, theirs = (Zoned([4], None, dtype, other) for other in ((False, False), (True, True)))
    outside = [zoned.tensor.as_strided((1,), (1,), zoned.tensor.storage_offset() + 4) for zoned in (ours, theirs)]
    low, high = (value.to(torch.float64 if not dtype.is_complex else torch.complex128).abs() for value in outside)

    assert not torch.equal(bits.of(outside[0]), bits.of(outside[1]))
    assert dtype in (torch.bool, torch.uint8) or (bool(low.abs() >= 100) and bool(high.abs() >= 100))


@pytest.mark.parametrize(
    "combine", [lambda a, b: a + b, max, min, lambda a, b: a + 0 * b], ids=["sum", "max", "min", "0 *"]
)
def test_a_result_that_takes_in_memory_outside_names_the_argument_that_was_left(combine: Any) -> None:
    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        sound(x, state, factor, y)
        y[0, 0] = combine(float(x[3, 7]), ctypes.c_float.from_address(x.data_ptr() + 4 * 32).value)

    ran, *_ = guarded(kernel)

    assert found(ran) == [("OUT_OF_BOUNDS", "x")]
    assert "1 of 32 elements of 'y' depend on memory outside of it" in ran.findings[0].message
    assert ran.findings[0].message.endswith("the kernel reads past its end")


def test_what_a_guard_run_raises_says_which_run_it_was() -> None:
    calls = iter(range(100))

    def kernel(x: torch.Tensor, state: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        if next(calls):
            raise Failure(Status.RUNTIME_ERROR, "kernel 'scale' threw: busy")
        sound(x, state, factor, y)

    with pytest.raises(
        Failure, match=r"in run 2 on the same inputs, with other values in the outputs, around .*: kernel.* threw: busy"
    ):
        guarded(kernel)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_guarded(dtype: torch.dtype) -> None:
    specs = [TensorSpec("x", [6], dtype, torch.ones), TensorSpec("y", [6], dtype, is_output=True)]
    build = Build(made_from={}, platform="cpu", backend="", binary="", arguments=arguments_of(specs), sources={})
    given = {"x": torch.ones(6).to(dtype)}

    def half(x: torch.Tensor, y: torch.Tensor) -> None:
        bits.of(y)[:3] = bits.of(x)[:3]

    for function, expected in ((lambda x, y: bits.of(y).copy_(bits.of(x)), []), (half, [("NOT_WRITTEN", "y")])):
        backend: Any = Calls(function)
        assert found(execute(backend, Path(), build, given, 0, ALL)) == expected


@given(
    shape=st.lists(st.integers(0, 5), max_size=3),
    order=st.permutations(range(3)),
    dtype=st.sampled_from(DTYPES),
    other=st.booleans(),
    expand=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_zoned_copy_has_the_values_and_strides_of_the_tensor(
    shape: list[int], order: list[int], dtype: torch.dtype, other: bool, expand: bool
) -> None:
    axes = [axis for axis in order if axis < len(shape)]
    tensor = torch.randint(0, 2, shape).to(dtype).permute(axes)
    if expand:
        tensor = tensor.unsqueeze(0).expand(3, *tensor.shape)

    zoned = Zoned.copy_of(tensor, (other, not other))

    assert zoned.tensor.stride() == tensor.stride()
    assert bits.equal(zoned.tensor, tensor)
    assert zoned.damage() is None
    assert zoned.tensor.data_ptr() % 64 == 0 or tensor.numel() == 0


# the golden function


def golden(function: Callable[[dict[str, Any]], object], unused: tuple[str, ...] = ()) -> dict[str, torch.Tensor]:
    return compute_golden(function, SPECS, inputs(), GoldenGuard(unused))


def fills(values: dict[str, Any]) -> None:
    values["y"][:] = values["x"] * values["factor"]


@pytest.mark.parametrize(
    "function",
    [
        fills,
        lambda values: values.update(y=values["x"] * 2),
        lambda values: values["y"].zero_(),
        lambda values: values["y"].numpy().__setitem__(0, 1.0),
        lambda values: values["y"].view(-1)[3:4].fill_(1),
    ],
    ids=["in place", "rebound", "zeros that are meant", "through numpy", "a view"],
)
def test_a_golden_that_writes_its_output_is_fine(function: Callable[[dict[str, Any]], object]) -> None:
    assert list(golden(function)) == ["state", "y"]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda values: None, r"never wrote output 'y': fill it in place, values\['y'\]\[:\] = \.\.\."),
        (lambda values: values.update(z=values["x"]), r"added \['z'\], which no spec names; the outputs are \['state'"),
        (lambda values: values.update(y=values["x"]), "made output 'y' share the memory of input 'x': fill it in"),
        (lambda values: values.update(y=values["x"].view(8, 4).view(4, 8)), "share the memory of input 'x'"),
        (lambda values: values.update(y=values["x"].double()), r"made output 'y' float64 \[4, 8\]"),
        (lambda values: values.update(y=values["x"][:2]), r"made output 'y' float32 \[2, 8\]"),
    ],
    ids=["never written", "unknown name", "an input", "a view of an input", "another dtype", "another shape"],
)
def test_what_a_golden_did_wrong_is_a_golden_error(function: Callable[[dict[str, Any]], object], words: str) -> None:
    with pytest.raises(Failure, match=words) as raised:
        golden(function)

    assert raised.value.status is Status.GOLDEN_ERROR


def test_an_output_whose_comparator_uses_no_expected_value_need_not_be_written() -> None:
    assert list(golden(lambda values: None, unused=("y",))) == ["state", "y"]


# the choice of guards


def test_guards_are_usual_asked_for_or_switched_off_with_a_reason() -> None:
    usual, possible = ("inputs", "written"), ("inputs", "written", "repeat")

    assert Guards().on(usual, possible) == ["inputs", "written"]
    assert Guards(True).on((), possible) == ["inputs", "written", "repeat"]
    assert Guards(False).on(usual, possible) == []
    assert Guards(None, {"written": "padding stays"}, 3).told(usual, possible) == {
        "inputs": "on",
        "written": "off: padding stays",
        "bounds": "off: not possible for this build",
        "repeat": "off: not asked for",
    }
    assert Guards(True, repeat=3).told(usual, possible)["repeat"] == "on in 3 runs"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"guards": False}, "guards is False: give None or True; `unguarded` switches one off by its name"),
        ({"unguarded": ["written"]}, "give a dict of a reason for each guard that is switched off"),
        ({"unguarded": {"writen": "x"}}, "there is no guard ['writen']: the guards are"),
        ({"unguarded": {"written": " "}}, "give the reason for switching each one off"),
        ({"repeat": 0}, "repeat is 0: give a whole number of runs from 1 on"),
        ({"trust": ""}, "trust is '': give the reason why"),
        ({"trust": True}, "trust is True: give the reason why"),
        ({"blind": {"zeros": ""}}, "blind is {'zeros': ''}: give a dict of a reason for each damage"),
        ({"equal_nan": 1}, "equal_nan is 1: give True or False"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError) as raised:
        Case("choosy", specs=list, golden=print, programs={}, **options)

    assert words in str(raised.value)


# in the graph and in scripts

SKIPS_A_ROW = ("for (std::int64_t m0 = 0;", "for (std::int64_t m0 = TILE_M;")


def test_an_unguarded_choice_is_kept_in_the_record_and_runs_the_kernel_again(project: Project) -> None:
    project.doit()
    project.edit("kernels/matmul.py", "    atol=1e-3,\n", '    atol=1e-3,\n    unguarded={"written": "a reason"},\n')

    done = project.doit()

    assert "guard written on -> off" in done.stdout, done.stdout
    run = project.path("build_output/matmul/cpu/run.json").read_text()
    assert '"written": "off: a reason"' in run
    assert '"bounds": "on"' in run


def test_a_crash_in_a_run_beside_the_judged_one_says_so(project: Project) -> None:
    kernel = project.path("kernels/matmul.cpp").read_text()
    start = "    const std::int64_t m = c.shape[0]"
    assert kernel.count(start) == 1
    crash = "    static int calls = 0;\n    if (calls++) __builtin_trap();\n"
    project.path("kernels/matmul.cpp").write_text(kernel.replace(start, crash + start))

    done = project.doit("replay:matmul")

    assert "CRASHED  in run 2 on the same inputs, with other values in the outputs, around a, b, c" in done.stdout
    assert "the process was ended by SIGILL" in done.stdout


def test_a_script_looks_for_what_guards_find_if_it_is_asked_to(project: Project) -> None:
    assert SKIPS_A_ROW[0] in project.path("kernels/matmul.cpp").read_text()
    project.edit("kernels/matmul.cpp", *SKIPS_A_ROW)

    guarded_run = project.script("matmul", "--guards", "--save-data")
    plain_run = project.script("matmul")

    assert guarded_run.returncode == plain_run.returncode == 1
    assert "[RUN]   'c' NOT_WRITTEN  16384 of 65536 elements were never written" in guarded_run.stdout
    assert "NOT_WRITTEN" not in plain_run.stdout
    (kept,) = project.path("build_output").glob("matmul_*/actual/c.pt")
    assert not bool(torch.load(kept, weights_only=True)[:64].any())
