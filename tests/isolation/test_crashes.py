"""Kernels, golden functions and specs that die, hang, flood or exit: named, kept, repeatable, and alone in it."""

from __future__ import annotations

import os
import re
import shlex
import signal
from dataclasses import dataclass

import pytest
from small_project import SmallProject


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


LIMITED = "memory=2**30"
EIGHT_GIB = "std::size_t(8) << 30"
BAD = {
    "segfault": Bad("kernel", "*(volatile int*)8 = 1;", "CRASHED", "SIGSEGV"),
    "overflow": Bad("kernel", "struct F { static int f(volatile int n) { return n ? 1 + f(n + 1) : 0; } }; F::f(1);", "CRASHED", "SIGSEGV"),
    "aborts": Bad("kernel", "std::abort();", "CRASHED", "SIGABRT"),
    "illegal": Bad("kernel", "__builtin_trap();", "CRASHED", "SIGILL"),
    "throws": Bad("kernel", 'throw std::runtime_error("tile too large");', "RUNTIME_ERROR", "tile too large"),
    "in_thread": Bad("kernel", 'std::thread([] { throw std::runtime_error("tile too large"); }).join();', "CRASHED", "tile too large"),
    "no_except": Bad("kernel", '[]() noexcept { throw std::runtime_error("tile too large"); }();', "CRASHED", "tile too large"),
    "exits": Bad("kernel", "std::exit(0);", "CRASHED", "exited with status 0 and without a result"),
    "_exits": Bad("kernel", "_exit(0);", "CRASHED", "exited with status 0 and without a result"),
    "ends_itself": Bad("kernel", "raise(SIGTERM);", "CRASHED", "SIGTERM"),
    "hangs": Bad("kernel", "for (volatile bool on = true; on;) {}", "TIMEOUT", "still running after 1 s", "timeout=1"),
    "forks_and_hangs": Bad("kernel", "for (int i = 0; i < 10; ++i) if (!fork()) for (;;) pause();\n    wait(nullptr);", "TIMEOUT", "still running after 1 s", "timeout=1"),
    "news": Bad("kernel", f"volatile char* p = new char[{EIGHT_GIB}]; p[0] = 1;", "OUT_OF_MEMORY", "1024 MiB", LIMITED),
    "mallocs": Bad("kernel", f"std::memset(std::malloc({EIGHT_GIB}), 1, {EIGHT_GIB});", "CRASHED", "limit of 1024 MiB", LIMITED),
    "floods_and_aborts": Bad("kernel", 'for (int i = 0; i < 1000000; ++i) std::printf("%0100d\\n", i);\n    std::abort();', "CRASHED", "999999"),
    "system_exits": Bad("golden", "sys.exit(0)", "GOLDEN_ERROR", "SystemExit"),
    "os_exits": Bad("golden", "os._exit(0)", "CRASHED", "exited with status 0 and without a result"),
    "golden_segfault": Bad("golden", "ctypes.string_at(8)", "CRASHED", "in golden_golden_segfault"),
    "golden_hangs": Bad("golden", "while True: pass", "TIMEOUT", "still running after 1 s", "timeout=1"),
    "empties": Bad("golden", "torch.empty(2**31)", "OUT_OF_MEMORY", "1024 MiB", LIMITED),
    "zeros": Bad("golden", "torch.zeros(2**31)", "OUT_OF_MEMORY", "1024 MiB", LIMITED),
    "shouts": Bad("golden", "raise ValueError('x' * 10**8)", "GOLDEN_ERROR", "ValueError: xxx"),
    "undecodable": Bad("golden", "open(b'undecodable_\\xff').read()", "GOLDEN_ERROR", "undecodable_"),
    "specs_system_exit": Bad("specs", "sys.exit('no specs')", "CASE_ERROR", "SystemExit: no specs"),
    "specs_os_exit": Bad("specs", "os._exit(0)", "CRASHED", "exited with status 0 and without a result"),
    "specs_hang": Bad("specs", "while True: time.sleep(0.01)", "TIMEOUT", "still running after 5 s"),
    "module_exits": Bad("module", "os._exit(0)", "CRASHED", "exited with status 0 and without a result"),
}
GOOD = {
    "plain": {},
    "forks": {"kernel": "for (int i = 0; i < 10; ++i) if (!fork()) for (;;) pause();"},
    "forks_spinning": {"kernel": "for (int i = 0; i < 10; ++i) if (!fork()) for (volatile bool on = true; on;) {}"},
    "closes": {"kernel": 'close(1); close(2); std::printf("lost\\n");'},
    "closes_all": {"kernel": "for (int i = 0; i < 256; ++i) close(i);"},
    "floods": {"kernel": 'for (int i = 0; i < 1000000; ++i) std::printf("%0100d\\n", i);'},
    "starts": {"golden": "[subprocess.Popen(['sleep', '60']) for _ in range(10)]"},
    "starts_sessions": {"golden": "[subprocess.Popen(['sleep', '60'], start_new_session=True) for _ in range(10)]"},
    "golden_closes": {"golden": "os.close(1); os.close(2)"},
    "golden_floods": {"golden": "[print('x' * 999) for _ in range(100000)]"},
}  # fmt: skip
MODES = {"one process": (), "two workers": ("-n", "2")}


@dataclass
class Done:
    project: SmallProject
    status: int
    output: str
    left: dict[int, str]
    remains: list[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Every case above in one project, brought to its verdict by one `doit`, without and with workers."""
    done = {}
    for mode, arguments in MODES.items():
        project = SmallProject(tmp_path_factory.mktemp("crashes") / "project", "timeout=5")
        for name, bad in BAD.items():
            project.case(name, **{bad.where: bad.code}, limits=bad.limits)
        for name, code in GOOD.items():
            project.case(name, **code)
        project.path(os.fsdecode(b"undecodable_\xff")).write_text("1")
        run = project.doit(*arguments)
        done[mode] = Done(project, run.returncode, run.stdout, project.left(), project.remains())
    return done


@pytest.fixture(params=MODES)
def done(request: pytest.FixtureRequest, runs: dict[str, Done]) -> Done:
    return runs[request.param]


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
def test_what_a_case_does_to_its_process_is_named_logged_and_repeatable(name: str, done: Done) -> None:
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
def test_a_case_that_is_only_untidy_passes(name: str, done: Done) -> None:
    assert row_of(name, done.output)[0].split()[2] == "PASSED", told(name, done.output)


def test_no_process_and_nothing_half_made_is_left(done: Done) -> None:
    assert done.status != 0 and f"{len(GOOD)} passed, {len(BAD)} failed" in done.output
    assert done.left == {}
    assert done.remains == []
    assert "Traceback" not in done.output


def test_a_log_of_any_length_keeps_its_beginning_and_its_end(done: Done) -> None:
    for name in ("floods", "floods_and_aborts"):
        log = done.project.path(f"build_output/{name}/cpu/execute.log")
        text = log.read_text()
        assert log.stat().st_size < 20 * 2**20
        assert text.startswith("0" * 99 + "0\n") and "left out" in text and "999999\n" in text


def test_workers_change_no_verdict_no_reason_and_no_line_of_the_table(runs: dict[str, Done]) -> None:
    def comparable(output: str) -> tuple[list[str], str]:
        stages, _, table = output.partition("\n\ncase ")
        stages = re.sub(r" +\d+\.\d s$", "", stages, flags=re.MULTILINE)
        table = re.sub(r"\d+(\.\d+)? (us|ms|s)\b", "", table)
        return sorted(stages.splitlines()), re.sub(" +", " ", table)

    one, two = (comparable(runs[mode].output) for mode in MODES)

    assert one[0] == two[0]
    assert one[1] == two[1]


@pytest.mark.parametrize("name", ["segfault", "throws", "news", "os_exits", "specs_system_exit"])
def test_the_printed_command_repeats_what_happened(name: str, runs: dict[str, Done]) -> None:
    done = runs["one process"]
    command = next(line for line in row_of(name, done.output)[1] if line.startswith("repeat:"))

    repeated = done.project.run(*shlex.split(command.removeprefix("repeat:")), env=done.project.environment)

    assert repeated.returncode == (-signal.SIGSEGV if name == "segfault" else 1), repeated.stdout
    if name != "segfault":
        said = BAD[name].said if name != "news" else "bad_alloc"
        assert said in repeated.stdout
