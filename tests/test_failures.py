"""A case that fails: its status, what is kept of it, how to repeat it, and what it leaves alone."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATH, Project, stages_run

KERNEL, SOURCE, DATA = "kernels/matmul.py", "kernels/matmul.cpp", "build_output/matmul/data"
BODY = 'values["c"][:] = values["a"] @ values["b"]'
RIGHT, WRONG = "= c_tile[i][j];", "= c_tile[i][j] + (m0 + i == 3 && n0 + j == 5);"


@pytest.fixture
def replayed(project: Project) -> Project:
    done = project.doit()
    assert done.returncode == 0, done.stdout
    return project


def test_a_wrong_kernel_fails_and_leaves_the_published_snapshot_alone(replayed: Project) -> None:
    snapshot = replayed.files(DATA)
    replayed.edit(SOURCE, RIGHT, WRONG)

    done = replayed.doit("replay:matmul")

    assert done.returncode != 0
    assert "WRONG_VALUE" in done.stdout and "0 passed, 1 failed" in done.stdout
    assert "c: 1 of 65536 elements differ" in done.stdout and "[3, 5] expected" in done.stdout
    assert replayed.files(DATA) == snapshot


def test_a_recorded_failure_fails_again_without_running_again(replayed: Project) -> None:
    replayed.edit(SOURCE, RIGHT, WRONG)
    first = replayed.doit()
    before, compiled = replayed.files(), replayed.count("compile")

    second = replayed.doit("replay:matmul")

    assert first.returncode != 0 and second.returncode != 0
    assert "nothing has changed since" in second.stdout and "WRONG_VALUE" in second.stdout
    assert "1 case: 0 passed, 1 failed; 0 replayed, 1 current" in second.stdout
    assert replayed.files() == before
    assert replayed.count("compile") == compiled


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_failure_that_is_judged_again_is_not_called_recorded(replayed: Project, workers: tuple[str, ...]) -> None:
    replayed.edit(SOURCE, RIGHT, WRONG)
    replayed.doit()

    again = replayed.doit(*workers, "-a", "replay:matmul")

    assert "F  validate:matmul   WRONG_VALUE\n" in again.stdout and "as recorded" not in again.stdout
    assert "1 case: 0 passed, 1 failed; 1 replayed, 0 current" in again.stdout


@pytest.mark.parametrize(
    ("asked_for", "said"),
    [
        ("compile:matmul", "compile:matmul is current\n"),
        ("golden:matmul compile:all", "2 stages: all current\n"),
        ("-a golden:matmul", ".  inspect:matmul   asked for"),
        ("compile:matmul@torch", ".  compile:matmul@torch   "),
    ],
)
def test_stages_with_nothing_to_do_say_that_they_are_current(replayed: Project, asked_for: str, said: str) -> None:
    done = replayed.doit(*asked_for.split())

    assert done.returncode == 0 and done.stdout.startswith(said)
    assert len(done.stdout.splitlines()) == 1


def test_replayed_and_current_add_up_to_the_judged_cases(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", ("layer_norm", "matmul", "rope", "softmax"))
    project.edit(SOURCE, RIGHT, WRONG)
    project.doit()
    project.path("kernels/rope.cpp").write_text("#error broken")
    project.edit("kernels/softmax.py", "rtol=", "rtol=2 *")

    done = project.doit()

    assert "4 cases: 2 passed, 2 failed; 1 replayed, 2 current" in done.stdout


def test_a_wrong_kernel_publishes_nothing_of_a_new_contract(replayed: Project) -> None:
    snapshot = replayed.files(DATA)
    replayed.edit(KERNEL, BODY, f"{BODY} + 1e-5")
    replayed.edit(SOURCE, RIGHT, WRONG)

    done = replayed.doit()

    assert done.returncode != 0
    assert "golden:matmul" in stages_run(done.stdout) and "capture:matmul" not in stages_run(done.stdout)
    assert replayed.files(DATA) == snapshot
    assert replayed.path("build_output/matmul/pending/manifest.json").exists()


def test_a_repaired_kernel_publishes_what_was_pending_without_calling_golden_again(project: Project) -> None:
    project.edit(SOURCE, RIGHT, WRONG)
    assert project.doit().returncode != 0
    assert not project.path(DATA).exists()

    project.edit(SOURCE, WRONG, RIGHT)
    done = project.doit()

    assert done.returncode == 0
    assert stages_run(done.stdout)[-1] == "capture:matmul"
    assert project.count("golden") == 1


def test_a_failing_run_keeps_its_data_and_prints_the_command_that_repeats_it(replayed: Project) -> None:
    import torch

    replayed.edit(SOURCE, RIGHT, WRONG)
    output = replayed.doit().stdout

    kept = next(line.split()[1] for line in output.splitlines() if line.split()[:1] == ["kept:"])
    expected, actual = (
        torch.load(replayed.path(f"{kept}/{name}"), weights_only=True) for name in ("data/out/c.pt", "actual/c.pt")
    )
    assert (expected != actual)[3, 5] and actual[3, 5] - expected[3, 5] > 0.9
    command = next(line.partition("repeat:")[2] for line in output.splitlines() if "repeat:" in line)
    repeated = replayed.run(*shlex.split(command))
    assert repeated.returncode == 1
    assert "[3, 5] expected" in repeated.stdout and "cache hit" in repeated.stdout


def test_the_command_that_repeats_a_run_is_quoted_for_a_shell(project: Project) -> None:
    project.path(KERNEL).rename(project.path("kernels/mat mul.py"))
    project.edit(SOURCE, RIGHT, WRONG)

    command = project.doit().stdout.partition("repeat:  ")[2].splitlines()[0]

    assert command.startswith("python 'kernels/mat mul.py' -p cpu --golden-data build_output/matmul/failed/")
    repeated = project.run("sh", "-c", command)
    assert repeated.returncode == 1 and "[3, 5] expected" in repeated.stdout


def test_only_the_last_failing_runs_are_kept(replayed: Project) -> None:
    for step in range(7):
        replayed.edit(SOURCE, RIGHT, f"= c_tile[i][j] + {step + 1};")
        replayed.doit()
        replayed.edit(SOURCE, f"= c_tile[i][j] + {step + 1};", RIGHT)

    assert len(list(replayed.path("build_output/matmul/failed").iterdir())) == 5


def test_a_broken_compile_costs_no_golden_and_no_other_case_when_it_is_repaired(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", ("matmul", "rope"))
    for name in ("matmul", "rope"):
        project.count_golden(name)
    project.edit(SOURCE, RIGHT, "= c_tile[i][j]")
    broken = project.doit("--continue")
    goldens, compiled = project.count("golden"), project.count("compile")

    project.edit(SOURCE, "= c_tile[i][j]", RIGHT)
    repaired = project.doit("--continue")

    assert broken.returncode != 0 and "COMPILE_ERROR" in broken.stdout and "1 passed, 1 failed" in broken.stdout
    assert "kernels/matmul.cpp:51:" in broken.stdout and "error" in broken.stdout
    assert "UnmetDependency" not in broken.stdout and "Traceback" not in broken.stdout
    assert repaired.returncode == 0 and "2 cases: 2 passed" in repaired.stdout
    assert (goldens, compiled) == (2, 2)
    assert project.count("golden") == goldens
    assert project.count("compile") == compiled + 1
    assert not [stage for stage in stages_run(repaired.stdout) if "rope" in stage]


def test_a_broken_compile_is_tried_again_and_leaves_nothing_half_made(replayed: Project) -> None:
    replayed.edit(SOURCE, RIGHT, "= c_tile[i][j]")
    before = replayed.files()

    first, second = replayed.doit(), replayed.doit()

    assert first.returncode != 0 and second.returncode != 0
    assert replayed.count("compile") == 3
    log = "build_output/matmul/cpu/compile.log"
    assert replayed.files() | {log: before[log]} == before


def test_tolerances_that_fail_judge_again_without_running(replayed: Project) -> None:
    replayed.edit(KERNEL, "rtol=1e-3,\n    atol=1e-3", "rtol=0,\n    atol=0")

    done = replayed.doit()

    assert done.returncode != 0
    assert stages_run(done.stdout) == ["inspect:matmul", "validate:matmul"]
    assert "WRONG_VALUE" in done.stdout


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('no reference')", "RuntimeError: no reference"),
        ("values['c'] = values['a'][:3]", "made output 'c' float32 [3, 256], its spec says float32 [256, 256]"),
        ("values['c'] = values['a'].double()", "made output 'c' float64"),
        ("del values['c']", "left output 'c' as NoneType"),
    ],
    ids=["raises", "wrong shape", "wrong dtype", "missing output"],
)
def test_a_golden_function_that_fails_is_a_golden_error_in_the_users_words(
    project: Project, body: str, said: str
) -> None:
    project.edit(KERNEL, BODY, body)

    done = project.doit()

    assert done.returncode != 0
    assert "GOLDEN_ERROR" in done.stdout and said in done.stdout
    assert not project.path("build_output/matmul/pending").exists()
    assert not list(project.path("build_output").rglob("*.new"))


def test_a_golden_error_shows_the_users_line_and_none_of_the_harness(project: Project) -> None:
    project.edit(KERNEL, BODY, "raise RuntimeError('no reference')")

    done = project.doit()

    assert "kernels/matmul.py" in done.stdout and "raise RuntimeError('no reference')" in done.stdout
    assert "golden_tasks/" not in done.stdout


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("__builtin_trap();", "CRASHED", "SIG"),
        ("*(volatile int*)8 = 1;", "CRASHED", "SIGSEGV"),
        ("std::abort();", "CRASHED", "SIGABRT"),
        ("std::_Exit(0);", "CRASHED", "exited with status 0 and without a result"),
        ('throw std::runtime_error("tile too large");', "RUNTIME_ERROR", "tile too large"),
        ('std::printf("was here\\n"); std::abort();', "CRASHED", "was here"),
        ('std::printf("no end"); std::fflush(stdout); std::abort();', "CRASHED", "\n       no end\n"),
    ],
    ids=["trap", "segfault", "abort", "exit", "exception", "printed before", "no line's end"],
)
def test_a_kernel_that_dies_is_named_and_its_log_is_shown(project: Project, code: str, status: str, said: str) -> None:
    source = project.path(SOURCE)
    text = "#include <cstdio>\n#include <cstdlib>\n#include <stdexcept>\n" + source.read_text()
    head, brace, rest = text.partition("c) {") if "c) {" in text else text.partition("{")
    source.write_text(f"{head}{brace}\n    if (TILE_M) {{ {code} }}\n{rest}")

    done = project.doit()

    assert done.returncode != 0
    assert status in done.stdout and said in done.stdout, done.stdout
    assert "Fatal Python error" not in done.stdout
    assert "validate:matmul" not in stages_run(done.stdout)


def test_a_kernel_that_hangs_is_ended_at_its_time_limit(project: Project) -> None:
    source = project.path(SOURCE)
    head, brace, rest = source.read_text().partition("c) {")
    assert brace
    source.write_text(f"{head}{brace}\n    for (volatile bool on = true; on;) {{}}\n{rest}")
    project.edit(KERNEL, "rtol=1e-3", "timeout=1, rtol=1e-3")

    done = project.doit()

    assert done.returncode != 0
    more = "Case(timeout=...) or Project(timeout=...) allows more"
    assert f"TIMEOUT  still running after 1 s, and was ended ({more}); log: " in done.stdout


@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        (KERNEL, 'torch.empty(2**31); values["c"][:]', "RuntimeError: "),
        (
            SOURCE,
            "volatile char* p = new char[std::size_t(8) << 30]; p[0] = 1;",
            "kernel 'matmul' threw: std::bad_alloc",
        ),
    ],
    ids=["golden", "kernel"],
)
def test_what_needs_more_memory_than_it_may_says_how_to_allow_it(
    project: Project, place: str, code: str, said: str
) -> None:
    project.edit(KERNEL, "rtol=1e-3", "memory=2**30, rtol=1e-3")
    if place == KERNEL:
        project.edit(KERNEL, 'values["c"][:]', code)
    else:
        project.edit(SOURCE, "Tile<TILE_K> a_tile(TILE_M);", f"Tile<TILE_K> a_tile(TILE_M); {code}")

    done = project.doit()

    more = "Case(memory=...) or Project(memory=...) allows more"
    assert f"OUT_OF_MEMORY  needed more than its limit of 1024 MiB ({more}): {said}" in done.stdout


@pytest.mark.parametrize(
    ("sanitize", "code", "said"),
    [
        ("address", "c.data[c.size()] = 1;", "AddressSanitizer: heap-buffer-overflow on address 0x"),
        ("address", "*(volatile int*)8 = 1;", "AddressSanitizer: SEGV on unknown address 0x000000000008; log: "),
        ("undefined", "volatile int big = 2147483647; big = big + 1;", "signed integer overflow"),
    ],
    ids=["overflow", "segfault", "undefined"],
)
def test_what_a_sanitizer_found_comes_first(project: Project, sanitize: str, code: str, said: str) -> None:
    project.edit(KERNEL, 'function="matmul"', f'function="matmul", sanitize="{sanitize}"')
    project.edit(SOURCE, "Tile<TILE_K> a_tile(TILE_M);", f"Tile<TILE_K> a_tile(TILE_M); {code}")

    done = project.doit()

    first = next(line for line in done.stdout.splitlines() if line.startswith("F  execute:matmul"))
    assert "CRASHED  " in first and said in first and "log: build_output/matmul/cpu/execute.log" in first
    assert "kernels/matmul.cpp:33" in done.stdout


@pytest.mark.parametrize("stage", ["compile", "golden"])
def test_an_interrupted_script_says_so_and_leaves_no_half_of_a_folder(project: Project, stage: str) -> None:
    asleep = project.path("asleep")
    if stage == "golden":
        project.edit(KERNEL, BODY, "import time; open('asleep', 'w'); time.sleep(60)")
    else:
        compiler = project.counters / "c++"
        compiler.write_text(compiler.read_text().replace(";;", f"; touch {asleep}; sleep 60;;"))
    script = subprocess.Popen(
        [sys.executable, KERNEL, "--save-data"],
        cwd=project.folder,
        env={**os.environ, **PATH, "CXX": str(project.counters / "c++")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 60
    while not asleep.exists() and time.monotonic() < deadline:
        time.sleep(0.01)

    os.killpg(script.pid, signal.SIGINT)
    said, _ = script.communicate(timeout=30)

    assert script.returncode == 130
    assert said.splitlines()[-1] == "[RUN] interrupted" and "Traceback" not in said
    folders = list(project.path("build_output").iterdir())
    assert [(folder / "build.json").is_file() for folder in folders] == [True] * (stage == "golden")
    assert not [path for folder in folders for path in folder.glob("*data*")]


def test_an_interrupt_of_a_run_in_the_users_own_code_is_the_users_to_handle(project: Project) -> None:
    project.edit(KERNEL, BODY, "raise KeyboardInterrupt")
    project.path("kernels/own.py").write_text(
        "import golden_tasks, matmul\n"
        "case = matmul.case\n"
        "config = dict(compile_cfg={'tiles': case.tiles}, runtime_cfg={'platform': 'torch'})\n"
        "try:\n"
        "    golden_tasks.run(case.programs['torch'], case.specs(), case.golden, **config)\n"
        "except KeyboardInterrupt:\n"
        "    print('mine')\n"
    )

    done = project.script("own")

    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "mine"


@pytest.mark.parametrize("damage", ["one byte", "truncated", "removed", "manifest removed", "manifest damaged"])
@pytest.mark.parametrize("place", ["data", "pending"])
def test_a_damaged_snapshot_is_refused_by_name_and_nothing_is_judged(project: Project, damage: str, place: str) -> None:
    project.doit("replay:matmul" if place == "data" else "validate:matmul")
    folder = project.path(f"build_output/matmul/{place}")
    file = folder / ("manifest.json" if "manifest" in damage else "out/c.pt")
    content = file.read_bytes()
    if "removed" in damage:
        file.unlink()
    else:
        file.write_bytes(
            content[: len(content) // 2] + (b"" if damage == "truncated" else b"?" + content[len(content) // 2 + 1 :])
        )

    done = project.doit("replay:matmul")

    assert done.returncode != 0
    assert "DAMAGED" in done.stdout and str(file.relative_to(project.folder)) in done.stdout
    assert "doit capture:matmul" in done.stdout
    assert "PASSED" not in done.stdout
    assert project.count("golden") == 1
    file.write_bytes(content)
    assert project.doit("replay:matmul").returncode == 0


def test_an_edit_made_while_golden_runs_never_ends_as_current(project: Project) -> None:
    """The golden function itself edits the kernel file after it has computed."""
    project.edit(
        KERNEL,
        BODY,
        f"{BODY}\n    text = open(__file__).read()\n"
        '    open(__file__, "w").write(text.replace("+ 0.0", "+ 1e-5"))\n    EXTRA = 0 + 0.0',
    )

    done = project.doit()
    again = project.doit()

    assert "golden:matmul" in stages_run(again.stdout) or done.returncode != 0, (done.stdout, again.stdout)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import torch\n", "import torch\nimport nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
        ("rtol=1e-3", "rtol=-1.0", "rtol=-1.0 is no tolerance"),
        ("rtol=1e-3", 'compare_fn={"d": max}, rtol=1e-3', "compare_fn names ['d'], but the outputs are ['c']"),
        ('TensorSpec("b"', 'TensorSpec("a"', "two arguments are named 'a'"),
        ('"c", (M, N), torch.float32, is_output=True', '"c", (M, N), torch.float32', "has no output"),
        ("    return [", "    raise LookupError('no specs today')\n    return [", "LookupError: no specs today"),
    ],
    ids=["import fails", "impossible tolerance", "unknown output", "doubled name", "no output", "specs raise"],
)
def test_a_case_that_cannot_be_is_refused_with_one_clear_message(
    project: Project, old: str, new: str, said: str
) -> None:
    project.edit(KERNEL, old, new)

    done = project.doit()

    assert done.returncode != 0
    assert "CASE_ERROR" in done.stdout and said in done.stdout
    assert not list(project.path("build_output/matmul").rglob("*.json"))


def test_a_kernel_file_with_a_syntax_error_is_named_with_its_line(project: Project) -> None:
    project.edit(KERNEL, "TILE_M = 64", "TILE_M = = 64")
    line = project.path(KERNEL).read_text().splitlines().index("TILE_M = = 64") + 1

    done = project.doit()

    assert done.returncode != 0
    assert f"kernels/matmul.py:{line}: invalid syntax" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_hand_edit_that_a_script_rebuilt_is_not_taken_for_the_kernel_s_own_build(replayed: Project) -> None:
    """The kernel is wrong, its copy in the runtime_dir is mended and passes in a script: `doit` must still fail."""
    replayed.edit(SOURCE, RIGHT, WRONG)
    assert replayed.doit().returncode != 0
    runtime = "build_output/matmul/cpu/runtime"
    replayed.edit(f"{runtime}/kernels/matmul.cpp", WRONG, RIGHT)
    script = replayed.script("matmul", "--runtime-dir", runtime)
    assert script.returncode == 0 and "rebuilding" in script.stdout, script.stdout

    done = replayed.doit()

    assert done.returncode != 0
    assert "hand edit" in done.stdout and "WRONG_VALUE" in done.stdout


@pytest.mark.parametrize("how", ["ignore", "no-continue", "single"])
def test_a_case_that_a_run_did_not_bring_up_to_date_is_never_shown_as_passed(tmp_path: Path, how: str) -> None:
    project = Project(tmp_path / "project", ("layer_norm", "matmul"))
    assert project.doit().returncode == 0
    project.edit(SOURCE, RIGHT, "= c_tile[i][j]")
    if how == "no-continue":  # layer_norm comes first and ends the run
        project.path("kernels/layer_norm.cpp").write_text("#error broken")
    if how == "ignore":
        project.doit("ignore", "compile:matmul")

    done = project.doit(*{"ignore": (), "no-continue": ("--no-continue",), "single": ("-s", "replay:matmul")}[how])

    if how == "single":
        assert "what comes before them may be stale" in done.stdout
    else:
        assert done.returncode != 0
    assert ["matmul", "cpu", "PASSED"] not in [line.split()[:3] for line in done.stdout.splitlines()]


def test_a_case_that_was_inspected_otherwise_than_it_is_mends_itself_at_the_next_doit(project: Project) -> None:
    """A module that the golden function imports while it runs, and that changed since the inspection."""
    project.path("kernels/consts.py").write_text("def offset():\n    return 0.00001\n")
    project.edit(KERNEL, BODY, f"import consts\n    {BODY} + consts.offset()")
    assert project.doit().returncode == 0

    project.edit("kernels/consts.py", "0.00001", "0.00002")
    done = project.doit()

    assert done.returncode == 0, done.stdout
    assert "golden:matmul" in stages_run(done.stdout)


def test_the_run_time_is_that_of_the_last_run_though_the_outputs_kept_their_bits(replayed: Project) -> None:
    import json
    import re

    replayed.edit(KERNEL, "TILE_M = 64", "TILE_M = 1")

    output = replayed.doit().stdout

    seconds = json.loads(replayed.path("build_output/matmul/cpu/run.json").read_text())["seconds"]
    assert "validate:matmul" not in stages_run(output)
    shown = re.search(r"PASSED .* ([0-9.]+) (us|ms) ", output)
    assert shown and float(shown[1]) * {"us": 1e-6, "ms": 1e-3}[shown[2]] == pytest.approx(seconds, rel=0.1)


def test_an_infinite_tolerance_is_no_tolerance(project: Project) -> None:
    project.edit(KERNEL, "rtol=1e-3", "rtol=float('inf')")

    assert "CASE_ERROR  rtol=inf is no tolerance" in project.doit().stdout


def test_an_edit_of_kept_data_leaves_the_snapshot_as_it_is(replayed: Project) -> None:
    replayed.edit(SOURCE, RIGHT, WRONG)
    output = replayed.doit().stdout
    kept = next(line.split()[1] for line in output.splitlines() if line.split()[:1] == ["kept:"])
    for file in replayed.path(kept).rglob("*.pt"):
        file.write_bytes(b"edited")
    replayed.edit(SOURCE, WRONG, RIGHT)

    done = replayed.doit()

    assert done.returncode == 0 and "PASSED" in done.stdout
