"""The teeth test: damaged expected outputs that a policy must not let pass."""

from __future__ import annotations

import pytest
import torch
from conftest import Project, stages_run
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_tasks.records import Bite, OutputVerdict
from golden_tasks.validation import judge
from golden_tasks.validation.teeth import DAMAGES, Grid, bite

TILES = {"TILE_M": 4, "TILE_N": 8}
POLICY = "    atol=1e-3,\n"


def bites(expected: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-5, tiles: dict[str, int] = TILES) -> list[Bite]:
    wanted = {"y": expected}
    return bite(wanted, lambda outputs: judge(outputs, wanted, rtol, atol), tiles)


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_a_close_policy_catches_every_damage() -> None:
    found = bites(randn(10, 20))

    assert [bite.damage for bite in found] == list(DAMAGES)
    assert all(bite.caught and not bite.left_out for bite in found)
    assert found[0].said.startswith("200 of 200 elements differ")


def test_a_wide_policy_lets_small_damages_pass() -> None:
    passing = [bite.damage for bite in bites(randn(10, 20), rtol=0.1) if not bite.caught]

    assert passing == ["scaled by 1.01", "rounded to bf16"]


@pytest.mark.parametrize(
    ("expected", "left_out"),
    [
        (torch.tensor(3.5), {"another run's output", "first tile everywhere", "swapped tiles", "missing tail"}),
        (torch.arange(1, 41).view(5, 8), {"one NaN", "one infinity", "scaled by 1.01", "rounded to bf16"}),
        (randn(6, 20).bfloat16(), {"rounded to bf16"}),
        (torch.ones(12, 20), {"another run's output", "first tile everywhere", "swapped tiles", "transposed tile"}),
        (torch.randn(0, 5), set(DAMAGES)),
        (torch.ones(4, 4).to(torch.float8_e4m3fn), {"one infinity", "scaled by 1.01"}),
        (torch.arange(2**40, 2**40 + 40).view(5, 8).to(torch.uint64), {"one NaN", "scaled by 1.01"}),
        (torch.tensor([[1 + 2j, 3j], [0j, 1 + 0j]]), {"rounded to bf16"}),
    ],
    ids=["one element", "integers", "bf16", "all the same", "no elements", "fp8", "uint64", "complex"],
)
def test_what_does_not_apply_is_left_out_by_name(expected: torch.Tensor, left_out: set[str]) -> None:
    found = bites(expected)

    assert left_out <= {bite.damage for bite in found if bite.left_out}
    assert all(bite.caught for bite in found if not bite.left_out)


@given(
    shape=st.lists(st.integers(0, 6), max_size=4),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.bool]),
    sizes=st.lists(st.integers(1, 5), max_size=3),
    seed=st.integers(0, 9),
)
@settings(max_examples=150, deadline=None)
def test_a_damage_leaves_the_expected_output_as_it_is_and_changes_something(
    shape: list[int], dtype: torch.dtype, sizes: list[int], seed: int
) -> None:
    expected = (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)
    before = expected.clone()

    found = bites(expected, tiles={f"T{i}": size for i, size in enumerate(sizes)})

    assert torch.equal(expected, before)
    assert [bite.damage for bite in found] == list(DAMAGES)
    exact = not dtype.is_floating_point
    assert all(bite.caught or bite.left_out for bite in found if exact or bite.damage == "one NaN")


@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=4), sizes=st.lists(st.integers(1, 9), max_size=3))
def test_the_tiles_of_a_grid_cover_every_element_once(shape: list[int], sizes: list[int]) -> None:
    covered = torch.zeros(shape, dtype=torch.int)
    grid = Grid.of(covered, {f"T{i}": size for i, size in enumerate(sizes)})
    matrix = covered.view(grid.rows, grid.columns)

    for number in range(grid.count):
        matrix[grid.tile(number)] += 1

    assert bool((covered == 1).all())


def test_other_outputs_are_as_expected_while_one_is_damaged() -> None:
    expected = {"a": randn(4, 4), "b": randn(4, 4)}
    seen = []

    def judged(outputs: dict[str, torch.Tensor]) -> list[OutputVerdict]:
        seen.append([name for name in outputs if not torch.equal(outputs[name], expected[name])])
        return judge(outputs, expected, 0.0, 0.0)

    bite(expected, judged, {})  # type: ignore[arg-type]

    assert all(len(damaged) == 1 for damaged in seen)


# in the graph


def test_teeth_shows_what_became_of_every_damage(project: Project) -> None:
    done = project.doit("teeth:matmul")

    assert done.returncode == 0, done.stdout
    assert stages_run(done.stdout) == ["inspect:matmul", "golden:matmul", "teeth:matmul"]
    for damage in DAMAGES:
        assert f"  {damage:<21}   caught" in done.stdout
    again = project.doit("teeth:matmul")
    assert stages_run(again.stdout) == []
    assert "  zeros                   caught   65" in again.stdout


def test_a_damage_that_passes_fails_the_teeth_test_until_the_case_explains_it(project: Project) -> None:
    project.edit("kernels/matmul.py", POLICY, "    atol=1.0,\n")

    toothless = project.doit("teeth:matmul")

    assert toothless.returncode == 1
    assert (
        "MISTRUSTED  2 damages pass: c: scaled by 1.01, c: rounded to bf16: tighten the policy, or give the reason in"
        in (toothless.stdout)
    )
    assert "  rounded to bf16         PASSES   nothing notices it" in toothless.stdout

    blind = '{"scaled by 1.01": "the inputs are bf16", "c: rounded to bf16": "as these"}'
    project.edit("kernels/matmul.py", "    atol=1.0,\n", f"    atol=1.0,\n    blind={blind},\n")
    explained = project.doit("teeth:matmul")

    assert explained.returncode == 0, explained.stdout
    assert "  rounded to bf16         blind    as these" in explained.stdout
    assert project.doit("teeth:all").returncode == 0


def test_a_policy_edit_asks_the_teeth_again_and_a_kernel_edit_does_not(project: Project) -> None:
    project.doit("teeth:matmul")
    project.edit("kernels/matmul.cpp", "m0 += TILE_M", "m0 += TILE_M + 0")
    assert stages_run(project.doit("teeth:matmul").stdout) == []
    project.edit("kernels/matmul.py", "rtol=1e-3", "rtol=2e-3")

    assert stages_run(project.doit("teeth:matmul").stdout) == ["inspect:matmul", "teeth:matmul"]


def test_a_blind_spot_of_another_name_is_refused_with_the_names_that_exist(project: Project) -> None:
    project.edit("kernels/matmul.py", POLICY, POLICY + '    blind={"zeroes": "why not"},\n')

    done = project.doit("teeth:matmul")

    assert done.returncode != 0
    assert "CASE_ERROR  blind names ['zeroes']; the damages are zeros, another run's output" in done.stdout


def test_expected_outputs_that_do_not_pass_themselves_are_told(project: Project) -> None:
    project.edit("kernels/matmul.py", 'values["a"] @ values["b"]', 'values["a"] @ values["b"] * float("nan")')

    done = project.doit("teeth:matmul")

    assert done.returncode == 1
    assert "MISTRUSTED  the expected outputs themselves do not pass: c: 65536 of 65536 elements differ" in done.stdout


def test_a_failing_teeth_test_is_no_verdict_of_the_case(project: Project) -> None:
    project.edit("kernels/matmul.py", POLICY, "    atol=1.0,\n")

    done = project.doit("replay:matmul", "teeth:matmul")

    assert done.returncode == 1
    assert "1 case: 1 passed" in done.stdout
