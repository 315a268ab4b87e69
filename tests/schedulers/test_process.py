"""Running a command: nothing that it does may hang, flood or outlive the tool."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path

from triage.schedulers.process import Call, run


def shell(script: str, *, limit: float = 10, cap: int = 1 << 20, **environment: str) -> Call:
    return Call(("/bin/sh", "-c", script), {"PATH": "/usr/bin:/bin", **environment}, limit, cap=cap)


def test_output_and_code_come_back_apart() -> None:
    answer = run(shell("echo out; echo err >&2; exit 3"))
    assert (answer.code, answer.out, answer.err, answer.whole) == (3, "out\n", "err\n", True)


def test_nothing_of_the_own_environment_reaches_the_command() -> None:
    answer = run(shell("env", A="1"))
    assert {line.split("=")[0] for line in answer.out.splitlines()} <= {
        "A",
        "PATH",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }


def test_stdin_is_closed_so_that_a_question_cannot_hang() -> None:
    assert run(shell("read x; echo got:$x")).out == "got:\n"


def test_a_command_over_its_time_is_killed_and_what_it_printed_is_kept() -> None:
    start = time.monotonic()
    answer = run(shell("echo 42; exec sleep 60", limit=0.5))
    assert (answer.code, answer.timed_out, answer.out) == (None, True, "42\n")
    assert time.monotonic() - start < 10


def test_a_child_that_keeps_the_pipe_open_is_killed_too(tmp_path: Path) -> None:
    marker = tmp_path / "alive"
    answer = run(shell(f"(sleep 3; touch {marker}) & echo 42", limit=0.5))
    assert answer.timed_out
    time.sleep(0.1)
    assert not marker.exists()


def test_a_flood_is_cut_and_not_kept_in_memory() -> None:
    answer = run(shell("yes", cap=100_000))
    assert answer.cut
    assert not answer.whole
    assert len(answer.out) < 1_000_000


def test_a_missing_program_is_an_answer() -> None:
    answer = run(Call(("no-such-program-here",), {"PATH": "/usr/bin"}, 5))
    assert answer.missing
    assert answer.code is None


def test_bytes_that_are_no_text_are_readable() -> None:
    answer = run(Call((sys.executable, "-c", "import os; os.write(1, b'\\xff\\xfeok')"), {}, 20))
    assert answer.out.endswith("ok")


def test_command_that_stays_after_its_first_line_is_not_waited_for() -> None:
    call = shell("echo 42; exec sleep 60", limit=50)
    start = time.monotonic()
    answer = run(dataclasses.replace(call, settle=0.3))
    assert time.monotonic() - start < 20
    assert (answer.out, answer.timed_out) == ("42\n", True)
    ended = run(dataclasses.replace(shell("echo 42; sleep 0.1; echo more; exit 3"), settle=5.0))
    assert (ended.out, ended.code) == ("42\nmore\n", 3)
