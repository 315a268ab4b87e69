"""Exits as Slurm, DeepSpeed, MPI, shells and Python tell them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.events.lines import records
from triage.core.events.exits import extract_exits
from triage.core.events.model import Exit
from triage.core.events.ranges import expand_hosts, expand_tasks


def exits(text: str) -> tuple[list[Exit], list[str]]:
    events, rest = extract_exits(records(text), 0)
    return [e for e in events if isinstance(e, Exit)], [r.text for r in rest]


def one(text: str) -> Exit:
    got, _ = exits(text)
    assert len(got) == 1, text
    return got[0]


def test_srun_names_one_task_on_one_host() -> None:
    got = one("srun: error: gpu2: task 1: Exited with exit code 3")
    assert (got.by, got.host, got.hosts, got.ranks, got.exitcode, got.signal) == (
        "srun",
        "gpu2",
        ("gpu2",),
        (1,),
        3,
        None,
    )
    assert got.rank is None


def test_srun_ranges_of_hosts_and_tasks() -> None:
    got = one("srun: error: nid[0071-0072,0074]: tasks 0-1,3: Exited with exit code 1")
    assert got.hosts == ("nid0071", "nid0072", "nid0074")
    assert got.host is None
    assert got.ranks == (0, 1, 3)


@pytest.mark.parametrize(
    ("word", "code", "victim"),
    [
        ("Out Of Memory", None, False),
        ("Segmentation fault", -11, False),
        ("Segmentation fault (core dumped)", -11, False),
        ("Aborted (core dumped)", -6, False),
        ("Killed", -9, False),
        ("Terminated", -15, True),
    ],
)
def test_srun_signals_by_their_words(word: str, code: int | None, victim: bool) -> None:
    got = one(f"srun: error: a1: tasks 0-3: {word}")
    assert (got.exitcode, got.victim, got.reason) == (code, victim, word)


def test_srun_glued_to_a_progress_bar_leaves_the_line() -> None:
    got, rest = exits(" 45%|████▌     | 723/1602 [2:12:45<2:59:53]srun: error: gpu2: task 1: Killed")
    assert [e.host for e in got] == ["gpu2"]
    assert len(rest) == 1


def test_host_lists() -> None:
    assert expand_hosts("a1,b[2-3]") == ("a1", "b2", "b3")
    assert expand_hosts("c[1-2]n[08-09]") == ("c1n08", "c1n09", "c2n08", "c2n09")
    assert expand_hosts("odd[") == ("odd[",)
    assert len(expand_hosts("n[0-999999999]")) == 16_384
    assert len(expand_hosts("n[0-9999]x[0-9999]", 1000)) <= 1000
    assert expand_tasks("0-2,9") == (0, 1, 2, 9)
    assert len(expand_tasks("0-999999999")) == 16_384
    assert expand_tasks("5-3") == ()


def test_deepspeed_quotes_its_last_command_whichever_process_failed() -> None:
    got = one(
        "['/usr/bin/python', '-u', 'main.py', '--local_rank=3', '--deepspeed'] exits with return code = -9"
    )
    assert (got.by, got.local_rank, got.exitcode, got.signal, got.binary) == (
        "deepspeed",
        None,
        -9,
        9,
        "/usr/bin/python",
    )
    assert one("Killing subprocess 123").victim


def test_called_process_error_is_read_and_left_to_the_traceback() -> None:
    line = "subprocess.CalledProcessError: Command '['/usr/bin/python3', 'a.py', '--local_rank=1']' returned non-zero exit status 1."
    got, rest = exits(line)
    assert [(e.by, e.exitcode, e.local_rank) for e in got] == [("python", 1, None)]
    assert rest == [line]
    assert one("subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.").signal == 9


def test_mpirun_rank_and_code_come_lines_later() -> None:
    text = (
        "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
        "the job to be terminated. The first process to do so was:\n\n"
        "  Process name: [[12345,1],290]\n  Exit code:    7\n------"
    )
    got, _ = exits(text)
    assert [(e.by, e.rank, e.exitcode) for e in got] == [("mpirun", 290, 7)]


def test_prrte_announcement_without_a_rank_is_still_reported() -> None:
    got, _ = exits("Primary job  terminated normally, but 1 process returned\na non-zero exit code.")
    assert [(e.by, e.rank, e.exitcode) for e in got] == [("mpirun", None, None)]


def test_mpirun_noticed_a_signal() -> None:
    got = one("prterun noticed that process rank 3 with PID 0 on node x exited on signal 9 (Killed).")
    assert (got.rank, got.pid, got.host, got.signal) == (3, None, "x", 9)


def test_mpi_abort_takes_the_code_of_the_next_line() -> None:
    got = one("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\nwith errorcode 15.")
    assert (got.rank, got.exitcode) == (3, 15)


def test_pdsh() -> None:
    got = one("pdsh@head: node-12: ssh exited with exit code 1")
    assert (got.by, got.host, got.exitcode) == ("pdsh", "node-12", 1)


def test_shell_notices() -> None:
    got = one("/var/spool/slurmd/job1/slurm_script: line 12: 70903 Killed                  python train.py")
    assert (got.by, got.pid, got.signal, got.binary) == ("bash", 70903, 9, "python")
    got = one("run.sh: line 3:   88 Segmentation fault      (core dumped) ./a.out")
    assert (got.pid, got.exitcode, got.binary) == (88, -11, "./a.out")
    assert one("Segmentation fault (core dumped)").exitcode == -11


def test_torch_spawn() -> None:
    got, rest = exits(
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL"
    )
    assert [(e.local_rank, e.signal) for e in got] == [(1, 9)]
    assert len(rest) == 1
    assert one("process 0 terminated with exit code 3").exitcode == 3


@pytest.mark.parametrize(
    "line",
    [
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "RuntimeError: DataLoader worker (pid 3) is killed by signal: Killed. ",
        "Killed by the user",
        "training task 3: Exited early",
        "note: task 1: Exited with grace",
        "-- Process 1 terminated with the following error:",
        "config: line 12: 3 Killers",
    ],
)
def test_lines_that_only_resemble_an_exit_stay(line: str) -> None:
    got, rest = exits(line)
    assert got == []
    assert rest == [line]


@given(st.text(alphabet="srun: task[0-9],xKilledExited with code\n", max_size=200))
def test_any_text_is_read(text: str) -> None:
    got, rest = exits(text)
    assert len(rest) <= len(records(text))
    assert all(e.by for e in got)


def test_long_hostile_lines_take_linear_time() -> None:
    began = time.process_time()
    for unit in (
        ": task 1",
        "a[0-9],",
        "exited with ",
        "CalledProcessError: Command ",
        "container ",
        ": line 1: 2 ",
        "'",
        "Worker PID: ",
    ):
        exits(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 2.0


def test_a_rendered_script_tells_its_good_end_only() -> None:
    good = "==== job 7 ended with exit code 0 in attempt 1, 2026-12-01T10:00:00+0000 ===="
    events, _ = extract_exits(records(good), 0)
    assert [(e.by, e.exitcode) for e in events if isinstance(e, Exit)] == [("script", 0)]
    assert extract_exits(records(good.replace("code 0", "code 1")), 0)[0] == []
