"""Exits in the words of MPI launchers, of Composer, Lightning, Horovod, containers and other schedulers."""

from __future__ import annotations

import pytest

from tests.core.events.lines import records
from triage.core.events.exits import extract_exits
from triage.core.events.model import Exit
from triage.core.logs.record import Tags


def exits(text: str, tags: Tags | None = None) -> list[Exit]:
    events, _ = extract_exits(records(text, tags or Tags()), 0)
    return [e for e in events if isinstance(e, Exit)]


@pytest.mark.parametrize(
    ("text", "by", "rank", "code", "victim"),
    [
        ("Rank 2 crashed with exit code -7.", "composer", 2, -7, False),
        ("Global rank 2 (PID 1187) exited with code -7", "composer", 2, -7, False),
        ("Global rank 0 (PID 1185) exited with code -15", "composer", 0, -15, True),
        ("Global rank 5 (PID 1190) exited with code -9", "composer", 5, -9, True),
        ("Process 3 exit with status code 1.", "horovod", 3, 1, False),
        ("x3006c0s19b1n0.hsn.cm: rank 2 exited with code 1", "mpirun", 2, 1, False),
        ("x3006c0s19b1n0.hsn.cm: rank 2 died from signal 11 and dumped core", "mpirun", 2, -11, False),
        ("x3006c0s19b1n0.hsn.cm: rank 12 died from signal 15", "mpirun", 12, -15, True),
        (
            "ERROR:  One or more process (first noticed rank 6) terminated with signal 9",
            "jsrun",
            6,
            -9,
            False,
        ),
    ],
)
def test_rank_and_code_of_one_line(text: str, by: str, rank: int, code: int, victim: bool) -> None:
    (got,) = exits(text)
    assert (got.by, got.rank, got.exitcode, got.victim) == (by, rank, code, victim)
    assert got.signal == (-code if code < 0 else None)


def test_composer_names_as_first_only_the_rank_that_it_saw_crash() -> None:
    got = exits(
        "Rank 2 crashed with exit code -7.\nGlobal rank 2 (PID 1187) exited with code -7\n"
        "Global rank 0 (PID 1185) exited with code -15"
    )
    assert [(e.rank, e.first, e.victim) for e in got] == [
        (2, True, False),
        (2, False, False),
        (0, False, True),
    ]


def test_intel_mpi_block_gives_rank_host_and_signal() -> None:
    block = (
        "===================================\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        "=   RANK {0} PID 549{0} RUNNING AT gn59\n=   KILLED BY SIGNAL: 9 (Killed)\n==================================="
    )
    got = exits(block.format(0) + "\n" + block.format(1))
    assert [(e.rank, e.pid, e.host, e.signal) for e in got] == [(0, 5490, "gn59", 9), (1, 5491, "gn59", 9)]


def test_mpich_exit_code_is_a_signal_only_where_its_exit_string_says_so() -> None:
    block = "=   PID 12196 RUNNING AT e16\n=   EXIT CODE: 9\n=   CLEANING UP REMAINING PROCESSES\n"
    (plain,) = exits(block)
    assert (plain.exitcode, plain.signal) == (9, None)
    (killed,) = exits(block + "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)")
    assert (killed.exitcode, killed.signal, killed.host, killed.rank) == (-9, 9, "e16", None)


def test_signal_that_the_help_text_wrapped_is_found_on_the_next_line() -> None:
    (got,) = exits(
        "prterun noticed that process rank 3 with PID 77 on node gpu2 exited on\nsignal 9 (Killed)."
    )
    assert (got.rank, got.pid, got.host, got.signal) == (3, 77, "gpu2", 9)


def test_improper_exit_has_a_rank_but_no_code() -> None:
    (got,) = exits("mpirun has exited due to process rank 4 with PID 0 on node cn7 exiting improperly.")
    assert (got.rank, got.pid, got.host, got.exitcode) == (4, None, "cn7", None)


def test_hpe_mpt_names_host_and_pid_on_its_second_line() -> None:
    (got,) = exits(
        "MPT ERROR: Rank 3(g:11) received signal SIGSEGV(11).\n\tProcess ID: 20477, Host: r1i1n0, Program: /opt/python"
    )
    assert (got.rank, got.pid, got.host, got.signal) == (11, 20477, "r1i1n0", 11)


def test_pals_line_whose_host_was_read_as_a_label() -> None:
    (got,) = exits("rank 2 exited with code 1", Tags(node="x1000c0s0b0n0"))
    assert (got.rank, got.host) == (2, "x1000c0s0b0n0")


@pytest.mark.parametrize(
    "text",
    [
        "rank 2 exited with code 1",
        "worker: rank 2 exited with code",
        "Process 3 exit with status code 1. Retrying",
        "training on rank 3 died from signal loss",
        "the global rank 2 exited with code -7 yesterday",
        "Worker exit type: INTENDED_USER_EXIT Worker PID: 77",
    ],
)
def test_prose_is_no_exit(text: str) -> None:
    assert exits(text) == []


def test_lightning_observer_speaks_of_its_child_not_of_the_rank_in_front() -> None:
    (got,) = exits(
        "Child process with PID 4711 terminated with code -9. Forcefully terminating all other processes",
        Tags(rank=0),
    )
    assert (got.by, got.rank, got.pid, got.signal) == ("lightning", None, 4711, 9)


@pytest.mark.parametrize(
    ("text", "by", "host", "code"),
    [
        ("trainer-1 exited with code 137", "container", "trainer-1", 137),
        ("Pod: default.train-worker-1 exited with code 139", "kubernetes", "train-worker-1", 139),
        ("    Reason:       OOMKilled\n    Exit Code:    137", "kubernetes", None, 137),
        ('ExecuteUserScriptError:\nExitCode 1\nErrorMessage "x"', "sagemaker", None, 1),
        ("Exited with exit code 134.", "lsf", None, 134),
        ("Exited with signal termination: Killed.", "lsf", None, -9),
        ("flux-job: task(s) exited with exit code 1", "flux", None, 1),
        ("flux-job: task(s) Killed", "flux", None, -9),
    ],
)
def test_exits_without_a_rank(text: str, by: str, host: str | None, code: int) -> None:
    (got,) = exits(text)
    assert (got.by, got.host, got.exitcode, got.rank) == (by, host, code, None)


def test_ray_tells_how_its_worker_exited() -> None:
    (got,) = exits(
        "Worker IP address: 10.0.0.2 Worker port: 10 Worker PID: 31 Worker exit type: SYSTEM_ERROR x"
    )
    assert (got.pid, got.host, got.reason) == (31, "10.0.0.2", "Ray worker died: SYSTEM_ERROR")
