"""Whom launchers blame for a failure that names no rank, and when they tell nothing."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import at, launcher_died, log, oom, prefixed, stamped, tagged, trace, verdict
from tests.support import Log, case_logs, verdict_of
from triage.core.cause.verdict import Root

BAD_LUCK = "ValueError: bad luck"


def root(*logs: Log) -> Root:
    found = verdict(*logs).root
    assert found is not None
    return found


MPIRUN = (
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[12345,1],3]\n  Exit code:    1\n"
)


@pytest.mark.parametrize(
    "account",
    [
        launcher_died((3, 1, 700)),
        MPIRUN,
        "Process 3 exit with status code 1.\n",
        "Rank 3 crashed with exit code 1.\n",
        "mpiexec noticed that process rank 3 with PID 70 on node gpu1 exited on signal 6 (Aborted).\n",
        "[rank: 3] Child process with PID 109 terminated with code 1. Forcefully terminating all other processes to avoid zombies\n",
        "srun: error: gpu1: task 3: Exited with exit code 1\nsrun: error: gpu1: tasks 0-2,4-7: Killed\n",
    ],
)
def test_the_process_that_failed_by_its_launchers_account_raised_the_traceback(account: str) -> None:
    found = root(log("job.out", trace(BAD_LUCK), account))
    assert (found.rank, found.attribution) == (3, "inferred")


def test_two_failing_processes_blame_nobody() -> None:
    account = "Process 3 exit with status code 1.\nProcess 4 exit with status code 1.\n"
    assert root(log("job.out", trace(BAD_LUCK), account)).rank is None


def test_command_of_the_last_process_blames_nobody() -> None:
    account = "[2022-12-21 10:43:26,190] [ERROR] [launch.py:292:sigkill_handler] ['python', '-u', 'a.py', '--local_rank=7'] exits with return code = 1\n"
    start = "[2022-12-20 23:31:08,301] [INFO] [launch.py:142:main] WORLD INFO DICT: {'localhost': [0, 1, 2, 3, 4, 5, 6, 7]}\n"
    assert root(log("job.out", start, trace(BAD_LUCK), account)).rank is None


def test_task_that_exited_by_itself_is_the_silent_culprit_and_not_the_killed_ones() -> None:
    account = "srun: error: gpu1: task 5: Exited with exit code 1\n" + "".join(
        f"srun: error: gpu{node}: task {task}: Killed\n" for node, task in ((1, 0), (2, 8))
    )
    logs = [log(f"4357_{n}_log.out", f"JobEnvironment(job_id=4357, hostname=gpu{1 + n // 8}, local_rank={n % 8}(8), "
                f"node={n // 8}(2), global_rank={n}(16))\n") for n in (0, 5, 8)]  # fmt: skip
    found = root(log("4357_0_log.err", account), *logs)
    assert found.rank == 5


def test_node_that_ran_out_of_memory_is_srunns_and_not_the_steps_first() -> None:
    found = root(
        log(
            "job.out",
            stamped(0),
            "slurmstepd: error: Detected 1 oom_kill event in StepId=91.0. Some of the step tasks have been OOM Killed.",
            "srun: error: nid0619: task 494: Out Of Memory",
            f"slurmstepd: error: *** STEP 91.0 ON nid0514 CANCELLED AT {at(9)[:19].replace(' ', 'T')} ***",
            "srun: error: nid0514: tasks 0-7: Terminated",
        )
    )
    assert (found.node, found.rank) == ("nid0619", 494)


SPAWNED = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 9, in <module>\n    spawn(main, nprocs=4)\n'
    '  File "/opt/torch/multiprocessing/spawn.py", line 118, in join\n    raise Exception(msg)\n'
    "{said}\n-- Process 2 terminated with the following error:\n" + trace(BAD_LUCK) + "\n"
)


@pytest.mark.parametrize("said", ["Exception: \n", "torch.multiprocessing.spawn.ProcessRaisedException: \n"])
def test_process_that_spawn_counts_is_the_rank_on_the_only_node(said: str) -> None:
    found = root(log("job.out", SPAWNED.format(said=said)))
    assert (found.rank, found.local_rank, found.attribution) == (2, 2, "inferred")


def test_process_that_spawn_counts_is_no_rank_where_there_may_be_more_nodes() -> None:
    found = root(
        log("job.out", "using world size: 16, data-parallel size: 16\n", SPAWNED.format(said="Exception: \n"))
    )
    assert (found.rank, found.local_rank) == (None, 2)


def test_process_that_a_signal_ended_is_named_by_its_parent() -> None:
    said = trace(
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGSEGV"
    )
    assert root(log("job.out", said)).rank == 1


def pods(*ranks: int, size: int = 3) -> list[Log]:
    return [
        log(f"pod-{chr(97 + n)}.log", f"+ env\nRANK={rank}\nWORLD_SIZE={size}\n+ python train.py\n", trace(BAD_LUCK) if n == 0 else "fine\n")
        for n, rank in enumerate(ranks)
    ]  # fmt: skip


def test_environment_of_each_pod_tells_its_rank() -> None:
    found = root(*pods(2, 0, 1))
    assert (found.rank, found.attribution) == (2, "inferred")


def test_environment_of_one_file_alone_or_the_same_in_two_tells_nothing() -> None:
    assert root(*pods(2)).rank is None
    assert root(*pods(1, 1)).rank is None


def test_environment_of_a_node_whose_launcher_starts_several_tells_nothing() -> None:
    first, *others = pods(1, 0)
    several = log("pod-a.log", first.data.decode(), prefixed("[default1]:", trace("KeyError: 'x'")))
    assert root(several, *others).rank is None


def test_pid_in_a_native_backtrace_leads_to_the_rank_of_its_communicator() -> None:
    comm = "w-0:{pid}:6170 [{n}] NCCL INFO comm 0x7f11 rank {n} nranks 2 cudaDev {n} busId e0000 - Init COMPLETE\n"
    start = comm.format(pid=2120, n=0) + comm.format(pid=2121, n=1)
    caught = "[w-0:2121 :0:7025] Caught signal 7 (Bus error: nonexistent physical address)\n"
    assert root(log("job.out", start, caught)).rank == 1
    glog = "*** SIGSEGV (@0x0) received by PID 2121 (TID 0x7f8) from PID 0; stack trace: ***\n"
    assert root(log("job.out", start, glog)).rank == 1


def test_tagged_traceback_is_its_own_witness() -> None:
    assert root(log("job.out", tagged(1, oom()), launcher_died((3, 1, 700)))).rank == 1


def test_failure_on_the_node_that_srun_saw_fail_first_is_the_root() -> None:
    def waits(node: str, text: str) -> Log:
        return log(
            f"bert-ds-1183121-{node}.out", trace(text, "next_rendezvous", "/opt/torch/elastic/rendezvous.py")
        )

    logs = (
        waits("bun003-0", "TimeoutError: Timed out after 901 seconds waiting for clients. 1/2 clients joined."),
        waits("bun004-1", "RuntimeError: The client socket has failed to connect to any network address of (bun003, 9901)."),
        log("bert-ds-1183121.out", "srun: error: bun004: task 1: Exited with exit code 1\nsrun: error: bun003: task 0: Exited with exit code 1"),
    )  # fmt: skip
    assert [root(*order).node for order in (logs, logs[::-1])] == ["bun004", "bun004"]


def test_traceback_speaks_for_the_line_of_information_before_it() -> None:
    line = "2021-01-15 05:36:52 | INFO | fairseq.nan_detector | Detected nan/inf grad norm, dumping norms..."
    found = root(
        log(
            "job.out",
            line,
            SPAWNED.format(said="Exception: ").replace(
                BAD_LUCK, "FloatingPointError: Minimum loss scale reached"
            ),
        )
    )
    assert (found.exception, found.rank) == ("FloatingPointError", 2)


def test_a_node_that_failed_is_not_blamed_on_the_rank_that_lost_it() -> None:
    root = verdict_of(case_logs("lab-node-failed-rendered")).root
    assert root is not None
    assert (root.node, root.rank, root.ranks) == ("gpu2", None, "")
