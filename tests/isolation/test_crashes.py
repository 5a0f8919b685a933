"""Kernels, golden functions and specs that die, hang, flood or exit: named, kept, repeatable, and alone in it."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from small_project import SmallProject, wait_for


@dataclass
class Bad:
    """A case that misbehaves in one place, and what must be said about it."""

    where: str  # kernel, golden, specs, module
    code: str
    status: str
    said: str
    limits: str = ""

    @property
    def stage(self) -> str:
        return {"kernel": "execute", "golden": "golden"}.get(self.where, "inspect")


FLOOD = """static char line[100001];
    std::memset(line, '0', 99999), line[99999] = 10;
    for (int i = 0; i < 1000; ++i) std::fputs(line, stdout);"""
FORK_TEN = "for (int i = 0; i < 10; ++i) if (!fork()) for (;;)"
NEW = "volatile char* p = new char[std::size_t(8) << 30]; p[0] = 1;"
TOUCH = """volatile char* p = (volatile char*)std::malloc(std::size_t(8) << 30);
    for (std::size_t i = 0; i < std::size_t(8) << 30; i += 4096) p[i] = 1;"""
LIMITED = "memory=2**30"
BAD = {
    "segfault": Bad("kernel", "*(volatile int*)8 = 1;", "CRASHED", "SIGSEGV"),
    "aborts": Bad("kernel", "std::abort();", "CRASHED", "SIGABRT"),
    "illegal": Bad("kernel", "__builtin_trap();", "CRASHED", "SIGILL"),
    "throws": Bad("kernel", 'throw std::runtime_error("too large");', "RUNTIME_ERROR", "too large"),
    "in_thread": Bad(
        "kernel", 'std::thread([] { throw std::runtime_error("too large"); }).join();', "CRASHED", "too large"
    ),
    "no_except": Bad("kernel", '[]() noexcept { throw std::runtime_error("too large"); }();', "CRASHED", "too large"),
    "exits": Bad("kernel", "std::exit(0);", "CRASHED", "exited with status 0 and without a result"),
    "exits_now": Bad("kernel", "_exit(0);", "CRASHED", "exited with status 0 and without a result"),
    "ends_itself": Bad("kernel", "raise(SIGTERM);", "CRASHED", "SIGTERM"),
    "hangs": Bad("kernel", f"{FORK_TEN} pause();\n    for (;;) pause();", "TIMEOUT", "running after 5 s", "timeout=5"),
    "news": Bad("kernel", NEW, "OUT_OF_MEMORY", "1024 MiB", LIMITED),
    "mallocs": Bad("kernel", TOUCH, "CRASHED", "limit of 1024 MiB", LIMITED),
    "floods_and_aborts": Bad("kernel", f'{FLOOD} std::puts("the end"); std::abort();', "CRASHED", "the end"),
    "system_exits": Bad("golden", "sys.exit(0)", "GOLDEN_ERROR", "SystemExit: 0"),
    "os_exits": Bad("golden", "os._exit(0)", "CRASHED", "exited with status 0 and without a result"),
    "golden_segfault": Bad("golden", "ctypes.string_at(8)", "CRASHED", "in golden_golden_segfault"),
    "golden_hangs": Bad("golden", "while True: pass", "TIMEOUT", "in golden_golden_hangs", "timeout=2"),
    "empties": Bad("golden", "torch.empty(2**31)", "OUT_OF_MEMORY", "1024 MiB", LIMITED),
    "shouts": Bad("golden", "raise ValueError('x' * 10**7)", "GOLDEN_ERROR", "ValueError: xxx"),
    "undecodable": Bad("golden", "open(b'undecodable_\\xff').read()", "GOLDEN_ERROR", "not UTF-8: "),
    "specs_exit": Bad("specs", "sys.exit('no specs')", "CASE_ERROR", "SystemExit: no specs"),
    "specs_exit_now": Bad("specs", "os._exit(0)", "CRASHED", "exited with status 0 and without a result"),
    "specs_hang": Bad("specs", "while True: time.sleep(0.01)", "TIMEOUT", "in build_specs"),
    "module_exits": Bad("module", "os._exit(0)", "CRASHED", "exited with status 0 and without a result"),
}
GOOD = {
    "plain": {},
    "forks": {"kernel": f"{FORK_TEN} pause();"},
    "closes": {"kernel": 'close(1); close(2); std::puts("lost");'},
    "closes_all": {"kernel": "for (int i = 0; i < 256; ++i) close(i);"},
    "starts": {"golden": "[subprocess.Popen(['sleep', '60']) for _ in range(10)]"},
    "starts_sessions": {"golden": "[subprocess.Popen(['sleep', '60'], start_new_session=True) for _ in range(10)]"},
    "golden_closes": {"golden": "os.close(1); os.close(2)"},
    "golden_floods": {"golden": "[print('x' * 99999) for _ in range(1000)]"},
}
VICTIMS = {
    "child_killed": ("child", signal.SIGKILL),
    "child_terminated": ("child", signal.SIGTERM),
    "server_killed": ("server", signal.SIGKILL),
    "server_terminated": ("server", signal.SIGTERM),
}
MODES = {"one process": (), "two workers": ("-n", "2")}


@dataclass
class Done:
    """One `doit` over many cases: what it printed, and what it left behind."""

    project: SmallProject
    status: int
    output: str
    left: dict[int, str]
    remains: list[str]


@pytest.fixture(scope="module")
def run_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Done]:
    """One `doit` over all the cases above in a project of their own, once in each mode that is asked for."""

    @cache
    def run_in(mode: str) -> Done:
        project = SmallProject(tmp_path_factory.mktemp("crashes") / "project", "timeout=6")
        for name, bad in BAD.items():
            platform = "cpu" if bad.where == "kernel" else "torch"  # what needs no kernel is not compiled
            project.case(name, limits=bad.limits, platform=platform, **{bad.where: bad.code})
        for name, code in GOOD.items():
            project.case(name, platform="torch" if "golden" in code else "cpu", **code)
        project.path(os.fsdecode(b"undecodable_\xff")).write_text("1")
        run = project.doit(*MODES[mode])
        return Done(project, run.returncode, run.stdout, project.left(), project.remains())

    return run_in


@pytest.fixture(scope="module", params=MODES)
def done(request: pytest.FixtureRequest, run_in: Callable[[str], Done]) -> Done:
    """That run in each mode in turn."""
    return run_in(request.param)


def row_of(name: str, output: str) -> tuple[str, list[str]]:
    """A case's line in the table of verdicts, and the lines below it."""
    table = output[output.index("\ncase ") :].splitlines()
    start = next(i for i, line in enumerate(table) if line.startswith(f"{name} "))
    below = []
    for line in table[start + 1 :]:
        if not line.startswith("    "):
            break
        below.append(line.strip())
    return table[start], below


def told(name: str, output: str) -> str:
    """What was printed when a stage of a case failed."""
    found = re.search(rf"^F  \w+:{name} .*\n(?:       .*\n)*", output, re.MULTILINE)
    return found[0] if found else ""


@pytest.mark.parametrize("name", BAD)
def test_what_a_case_does_to_its_process_is_named_logged_and_repeatable(done: Done, name: str) -> None:
    bad = BAD[name]

    row, below = row_of(name, done.output)
    message = told(name, done.output)

    assert row.split()[2] == bad.status, message
    assert message.startswith(f"F  {bad.stage}:{name} ") and bad.said in message
    assert len(message) < 10_000 and len(message.splitlines()) < 40
    log = "cpu/execute.log" if bad.stage == "execute" else f"{bad.stage}.log"
    assert done.project.path(f"build_output/{name}/{log}").exists()
    if bad.status in ("CRASHED", "TIMEOUT"):
        assert f"log: build_output/{name}/{log}" in message
    assert any(line.startswith("repeat:") for line in below), below


@pytest.mark.parametrize("name", GOOD)
def test_a_case_that_is_only_untidy_passes(done: Done, name: str) -> None:
    assert row_of(name, done.output)[0].split()[2] == "PASSED", told(name, done.output)


def test_no_process_and_nothing_half_made_is_left(done: Done) -> None:
    assert done.status != 0 and f"{len(GOOD)} passed, {len(BAD)} failed" in done.output
    assert done.left == {}
    assert done.remains == []
    assert "Traceback" not in done.output


@pytest.mark.parametrize("log", ["floods_and_aborts/cpu/execute.log", "golden_floods/golden.log"])
def test_a_log_of_any_length_keeps_its_beginning_and_its_end(done: Done, log: str) -> None:
    text = done.project.path(f"build_output/{log}").read_text()

    assert len(text) < 10 * 2**20
    assert set(text[:99_999]) <= {"0", "x"} and "left out" in text
    if "aborts" in log:
        assert "the end\n" in text


def test_workers_change_no_status_no_message_and_no_line_of_the_table(run_in: Callable[[str], Done]) -> None:
    def comparable(done: Done) -> list[str]:
        output = done.output.replace(str(done.project.folder), "")
        output = re.sub(r"[\d.]+ (us|ms|s)(?=\n|  )", "TIME", output)
        stages, _, table = re.sub(" +", " ", output).partition("\n\ncase ")
        return [*sorted(re.split(r"\n(?=[.F] )", stages)), *table.splitlines()]

    one_process, two_workers = (run_in(mode) for mode in MODES)

    assert two_workers.status == one_process.status
    assert comparable(two_workers) == comparable(one_process)


@pytest.mark.parametrize("name", ["segfault", "throws", "news", "os_exits", "specs_exit"])
def test_the_printed_command_repeats_what_happened(run_in: Callable[[str], Done], name: str) -> None:
    done = run_in("one process")
    command = next(line for line in row_of(name, done.output)[1] if line.startswith("repeat:"))

    repeated = done.project.run(*shlex.split(command.removeprefix("repeat:")), env=done.project.environment)

    if name == "segfault":
        assert repeated.returncode == -signal.SIGSEGV, repeated.stdout
    else:
        assert repeated.returncode == 1 and BAD[name].said in repeated.stdout


def test_what_a_sanitizer_found_is_shown(tmp_path: Path) -> None:
    project = SmallProject(tmp_path / "project")
    project.case("overruns", kernel="y.data[4] = 1;")
    project.edit("kernels/overruns.py", 'function="overruns"', 'function="overruns", sanitize="address"')

    done = project.doit()

    message = told("overruns", done.stdout)
    assert "CRASHED" in message and "heap-buffer-overflow" in message and "kernels/overruns.cpp:" in message


@pytest.fixture(scope="module")
def shot(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """One `doit` over cases whose golden function sleeps until someone ends its process, or the fork server's."""
    project = SmallProject(tmp_path_factory.mktemp("signals") / "project")
    project.case("last")
    for name in VICTIMS:
        project.case(name, golden=f"open('{name}', 'w').write(f'{{os.getpid()}} {{os.getppid()}}\\n'); time.sleep(60)")
    doit = project.start("golden:*")
    for name, (whose, number) in VICTIMS.items():
        pids = wait_for(lambda name=name: project.path(name).read_text().splitlines()[0].split())
        os.kill(int(pids[whose == "server"]), number)
    output, _ = doit.communicate(timeout=60)
    return Done(project, doit.returncode, output, project.left(), project.remains())


@pytest.mark.parametrize("name", VICTIMS)
def test_a_signal_from_outside_is_named(shot: Done, name: str) -> None:
    whose, number = VICTIMS[name]

    said = f"ended by {number.name}" if whose == "child" else "the fork server was ended from outside"
    assert f"F  golden:{name} " in told(name, shot.output)
    assert "CRASHED" in told(name, shot.output) and said in told(name, shot.output)


def test_after_a_signal_from_outside_the_other_cases_go_on_and_nothing_is_left(shot: Done) -> None:
    assert ".  golden:last" in shot.output
    assert shot.left == {} and shot.remains == []
