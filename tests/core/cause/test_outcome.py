"""The scheduler's word against progress, silence and tracebacks; ends without a message; last words."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import (
    cancelled,
    dist_backend,
    launcher_died,
    log,
    oom,
    prefixed,
    stamped,
    step,
    steps,
    tagged,
    trace,
    verdict,
    watchdog,
)
from triage.core.cause.verdict import Verdict

DONE = "[after training is done] datetime: 2026-12-01 10:00:20 "
SIGTERM = trace("torch.distributed.elastic.multiprocessing.api.SignalException: Process 44 got signal: 15")
EXIT_1 = "srun: error: gpu1: task 0: Exited with exit code 1"
ABORTED = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."


def run(*parts: str) -> Verdict:
    return verdict(log("slurm-1234.out", *parts))


def test_a_time_limit_with_progress_until_the_end_is_timeout() -> None:
    found = run(steps(1, 50, 0, 10), cancelled(495, "TIME LIMIT"))
    assert (found.category, found.rule, found.confidence) == ("timeout", "timeout/time-limit", "high")
    assert found.root is not None
    assert (found.root.time, found.root.time_source) == ("2026-12-01T10:08:15", "line")
    assert (found.root.rank, found.root.exception) == (None, None)


@pytest.mark.parametrize(
    ("gap", "silence", "category"),
    [(1, 299, "timeout"), (1, 301, "hang"), (60, 599, "timeout"), (60, 602, "hang")],
)
def test_silence_is_a_hang_beyond_five_minutes_and_beyond_ten_gaps(
    gap: int, silence: int, category: str
) -> None:
    found = run(steps(1, 20, 0, gap), cancelled(19 * gap + silence, "TIME LIMIT"))
    assert found.category == category
    if category == "hang":
        assert found.rule == "hang/no-progress"
        assert any(f"no progress for {silence} s" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("why", "rule"),
    [
        ("TIME LIMIT", "timeout/time-limit"),
        ("PREEMPTION", "preempted/preemption"),
        ("NODE FAILURE", "hardware/node-failure"),
        ("JOB REQUEUE", "preempted/requeue"),
        ("", "cancelled/scancel"),
    ],
)
def test_what_slurm_says_of_a_job_and_again_of_its_steps_is_one_event(why: str, rule: str) -> None:
    lines = [cancelled(495, why, "JOB 1234"), cancelled(495, why), cancelled(496, why, "STEP 1234.batch")]
    for told in (lines, lines[::-1]):
        found = run(steps(1, 50, 0, 10), *map(prefixed, ("", "0: ", "0: "), told))
        assert found.root is not None
        assert (found.rule, found.root.rank) == (rule, None)
        assert rule not in [row.rule for row in (*found.downstream, *found.unexplained)]
        assert not any("could be the root" in reason for reason in found.reasons)


def test_a_steps_own_time_limit_is_another_event_than_that_of_the_job() -> None:
    found = run(
        steps(1, 50, 0, 10),
        cancelled(495, "TIME LIMIT", "STEP 1234.0"),
        steps(51, 99, 500, 10),
        cancelled(1000, "TIME LIMIT", "JOB 1234"),
    )
    assert [row.rule for row in found.downstream] == ["timeout/time-limit"]


def test_silence_before_the_first_step_is_told_with_the_place_that_there_is() -> None:
    found = run(stamped(0), cancelled(3600, "TIME LIMIT"))
    assert found.category == "hang"
    assert "no progress for 3600 s before the kill (slurm-1234.out:2)" in found.reasons


def test_a_time_limit_after_the_end_of_training_is_a_hang_at_exit() -> None:
    found = run(steps(1, 20), DONE, cancelled(1200, "TIME LIMIT"))
    assert (found.category, found.rule, found.ended) == ("hang", "hang/at-exit", True)


def test_a_kill_within_a_minute_of_the_end_of_training_is_no_hang_at_exit() -> None:
    assert run(steps(1, 20), DONE, cancelled(25, "TIME LIMIT")).category == "timeout"


def test_a_scancel_after_the_end_of_training_is_a_hang_at_exit_too() -> None:
    assert run(steps(1, 20), DONE, cancelled(1200)).rule == "hang/at-exit"


def test_without_stamps_a_time_limit_is_timeout_with_low_confidence() -> None:
    bars = "\n".join(
        f"Training:  {n}%|##   | {n}/100 [00:{n:02d}<01:00,  1.00it/s, loss=2.1]" for n in range(1, 50)
    )
    for found in (run(bars, cancelled(9000, "TIME LIMIT")), run("hello", cancelled(9000, "TIME LIMIT"))):
        assert (found.category, found.confidence) == ("timeout", "low")


def test_another_files_chatter_is_no_progress() -> None:
    found = verdict(
        log("slurm-1234.out", steps(1, 50), cancelled(449, "TIME LIMIT")),
        log("rank_1.out", tagged(1, stamped(440))),
    )
    assert found.category == "hang"


def test_a_traceback_long_before_the_time_limit_is_the_root() -> None:
    found = run(steps(1, 20), tagged(3, trace()), cancelled(3600, "TIME LIMIT"))
    assert found.category == "python"
    assert found.root is not None
    assert found.root.rank == 3
    assert [row.category for row in found.downstream] == ["timeout"]


def test_a_traceback_in_a_rank_file_of_a_job_that_stood_still_is_the_root() -> None:
    found = verdict(
        log("slurm-1234.out", steps(1, 50), cancelled(3600, "TIME LIMIT")),
        log("rank_1.err", tagged(1, stamped(0)), tagged(1, trace())),
    )
    assert found.category == "python"


def test_a_traceback_behind_the_time_limit_is_what_it_provoked() -> None:
    found = run(steps(1, 50), cancelled(52, "TIME LIMIT"), tagged(1, trace()))
    assert (found.category, found.confidence) == ("timeout", "high")
    assert any("comes before the traceback it provoked" in reason for reason in found.reasons)


def test_a_traceback_right_before_the_time_limit_lowers_the_confidence() -> None:
    found = run(steps(1, 50), tagged(1, trace()), cancelled(52, "TIME LIMIT"))
    assert (found.category, found.confidence) == ("timeout", "medium")
    assert any("nothing says that slurm-1234.out:51 came after" in reason for reason in found.reasons)


@pytest.mark.parametrize("before", [True, False])
def test_preemption_outranks_the_sigterm_tracebacks_wherever_they_stand(before: bool) -> None:
    told = cancelled(20, "PREEMPTION")
    found = run(steps(1, 20), *((SIGTERM, told) if before else (told, SIGTERM)))
    assert (found.category, found.confidence) == ("preempted", "high")
    assert [row.rule for row in found.downstream] == ["cancelled/sigterm"]


def test_a_node_failure_outranks_the_collectives_that_it_breaks() -> None:
    found = run(
        steps(1, 5), tagged(1, dist_backend()), "srun: error: Node failure on gpu2",
        cancelled(30, "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "JOB 1234"),
    )  # fmt: skip
    assert found.category == "hardware"
    assert found.root is not None
    assert found.root.node == "gpu2"


def test_the_host_after_on_is_not_the_culprit_when_others_are_known() -> None:
    found = run(
        "srun: error: Node failure on gpu7",
        cancelled(30, "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", host="gpu1"),
    )
    assert found.root is not None
    assert found.root.node == "gpu7"


def test_the_node_that_failed_is_known_from_the_launchers_word_behind_the_steps() -> None:
    found = run(cancelled(30, "NODE FAILURE", host="gpu1"), "srun: error: Node failure on gpu7")
    assert found.root is not None
    assert found.root.node == "gpu7"


def test_an_oom_kill_explains_the_sigkill_that_stands_before_it() -> None:
    told = "slurmstepd: error: Detected 1 oom_kill event in StepId=1234.0. Some of the step tasks have been OOM Killed."
    found = run(steps(1, 5), launcher_died((2, -9, 70), (0, -15, 68)), told)
    assert (found.category, found.rule, found.confidence) == ("host-oom", "host-oom/slurm-oom-kill", "high")
    assert found.root is not None
    assert (found.root.rank, found.root.attribution) == (2, "inferred")


def test_a_plain_cancel_is_a_cancel() -> None:
    assert run(steps(1, 20), cancelled(25)).category == "cancelled"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((steps(1, 20), cancelled(25, what="JOB 1234")), "high"),
        ((steps(1, 20), cancelled(25)), "medium"),
        ((cancelled(25, what="JOB 1234"),), "medium"),
        ((steps(1, 20), cancelled(25), EXIT_1), "low"),
        ((steps(1, 20), cancelled(25), EXIT_1.replace("code 1", "code 143")), "medium"),
        ((steps(1, 20), cancelled(25, what="JOB 1234"), cancelled(25), EXIT_1), "high"),
    ],
    ids=[
        "the job",
        "the step alone",
        "without progress",
        "a bad exit beside",
        "a signal's exit",
        "job and step",
    ],
)
def test_srun_cancels_a_step_by_itself_but_never_a_job(parts: tuple[str, ...], expected: str) -> None:
    found = run(*parts)
    assert (found.category, found.confidence) == ("cancelled", expected)


def test_a_failed_task_and_a_cancel_in_different_files_are_not_ordered_by_luck() -> None:
    found = verdict(log("node1.err", steps(1, 20), cancelled(25)), log("slurm-1.out", EXIT_1, ABORTED))
    assert found.confidence == "low"


def test_a_plain_cancel_behind_a_traceback_is_its_aftermath() -> None:
    found = run(steps(1, 20), tagged(3, trace()), EXIT_1, ABORTED, cancelled(25))
    assert found.category == "python"
    assert "cancelled" in {row.category for row in found.downstream}


def test_a_plain_cancel_behind_a_task_that_failed_without_a_word_is_unknown_not_cancelled() -> None:
    found = run(steps(1, 20), EXIT_1, ABORTED, cancelled(25))
    assert (found.category, found.confidence) == ("unknown", "low")


def test_a_cancel_of_a_run_that_had_outlived_a_failed_helper_is_a_cancel() -> None:
    assert run(EXIT_1, steps(1, 20), cancelled(25)).category == "cancelled"


def test_a_plain_cancel_behind_collective_failures_is_their_aftermath() -> None:
    assert run(steps(1, 5), tagged(1, dist_backend()), cancelled(30)).category == "nccl"


def test_only_sigterms_are_a_cancel_by_an_unknown_hand() -> None:
    found = run(steps(1, 5), SIGTERM)
    assert (found.failed, found.category) == (True, "cancelled")
    assert any("nothing in the logs says by whom" in reason for reason in found.reasons)


@pytest.mark.parametrize("text", ["", "hello\nworld", "loading the data\n"])
def test_absence_is_never_success(text: str) -> None:
    found = run(text)
    assert (found.failed, found.category, found.ended, found.confidence) == (False, "none", False, "low")
    assert found.root is None


def test_a_run_that_still_goes_shows_its_last_sign_of_life() -> None:
    found = run(steps(1, 5))
    assert (found.category, found.ended, found.confidence) == ("none", False, "low")
    assert any("iteration 5 (slurm-1234.out:5)" in reason for reason in found.reasons)


def test_no_logs_at_all_are_no_success() -> None:
    found = verdict()
    assert (found.category, found.ended, found.confidence) == ("none", False, "low")


def test_the_end_of_training_is_an_end() -> None:
    found = run(steps(1, 5), DONE)
    assert (found.failed, found.ended, found.confidence) == (False, True, "high")


def test_a_result_line_without_a_result_is_no_success() -> None:
    """MLPerf's run_and_time.sh writes it at its end, whatever came before."""
    found = run("+ ret_code=0", "RESULT,DLRM,,")
    assert (found.category, found.confidence, found.ended) == ("unknown", "low", True)
    assert run(steps(1, 5), DONE, "RESULT,DLRM,,").category == "none"
    assert run("+ ret_code=0", "RESULT,IMAGE_CLASSIFICATION,,3514,,2023-05-08 12:45:17 PM").category == "none"


@pytest.mark.parametrize(
    "told", [launcher_died((2, 1, 70), (0, -15, 68)), "srun: error: gpu1: task 2: Exited with exit code 3"]
)
def test_an_exit_code_without_a_message_is_unknown(told: str) -> None:
    found = run(steps(1, 5), told)
    assert (found.failed, found.category, found.confidence) == (True, "unknown", "low")
    assert any("left no message" in reason for reason in found.reasons)


def test_sigkill_alone_is_host_memory_only_weakly() -> None:
    found = run(steps(1, 5), launcher_died((2, -9, 70), (0, -15, 68)))
    assert found.category == "host-oom"
    assert found.confidence in ("low", "medium")
    assert found.root is not None
    assert found.root.rank == 2


def test_the_launchers_sigterm_and_sigkill_of_victims_are_no_cause() -> None:
    found = run(steps(1, 5), tagged(2, oom(2)), launcher_died((2, 1, 70), (0, -15, 68), (1, -9, 69)))
    assert found.category == "oom"
    assert found.root is not None
    assert found.root.rank == 2


@pytest.mark.parametrize(
    "told",
    [
        launcher_died((2, -11, 70), (0, -15, 68)),
        "srun: error: gpu1: task 2: Segmentation fault (core dumped)",
    ],
)
def test_a_segmentation_fault_without_a_cause_is_a_signal(told: str) -> None:
    assert run(steps(1, 5), told).rule == "signal/segfault"


def test_a_segmentation_fault_behind_a_traceback_of_its_rank_is_not_the_root() -> None:
    assert run(tagged(2, trace()), launcher_died((2, -11, 70))).category == "python"


def test_the_text_of_sys_exit_is_found_when_the_others_complain_about_its_rank() -> None:
    found = run(
        steps(1, 5), "giving up: the lock file is held by somebody else", tagged(0, dist_backend()),
        tagged(1, dist_backend()), launcher_died((2, 1, 70), (0, -15, 68), (1, -15, 69)),
    )  # fmt: skip
    assert (found.category, found.rule) == ("python", "python/exit-text")
    assert found.root is not None
    assert (found.root.rank, found.root.attribution) == (2, "inferred")
    assert "lock file" in found.root.message
    assert found.confidence == "low"


def test_a_system_exit_with_a_number_tells_nothing() -> None:
    found = run(steps(1, 5), trace("SystemExit: 3"), launcher_died((2, 3, 70)))
    assert found.rule != "python/exit-text"


def test_argparse_under_its_usage_wall_is_config() -> None:
    usage = "usage: pretrain.py [-h] [--foo FOO]\n" + "".join(
        f"                   [--bar{n} BAR{n}]\n" for n in range(700)
    )
    found = run(
        usage, "pretrain.py: error: unrecognized arguments: --bla 3", launcher_died((2, 2, 70), (0, 2, 68))
    )
    assert (found.category, found.rule) == ("config", "config/unknown-argument")


def test_a_step_after_the_time_limits_line_changes_nothing() -> None:
    found = run(
        steps(1, 50, 0, 10), cancelled(495, "TIME LIMIT"), step(51, 500), step(52, 510), step(53, 520)
    )
    assert found.category == "timeout"


def test_slurmstepds_line_behind_a_task_label_still_decides() -> None:
    told = prefixed("0: ", cancelled(22, "TIME LIMIT"))
    assert run(prefixed("0: ", steps(1, 20)), prefixed("1: ", steps(1, 20)), told).category == "timeout"


def zulu(minute: int, text: str) -> str:
    """A line as `kubectl logs --timestamps` prints it."""
    return f"2026-12-01T10:{minute:02d}:00.000000417Z {text}"


def test_a_hang_at_exit_shows_in_a_log_whose_collector_stamps_in_utc() -> None:
    found = run(
        *(zulu(n, f"INFO:root:Epoch 1 step {n} of 5, loss 0.12, 3.9 batches/s") for n in range(5)),
        zulu(6, "INFO:root:Training complete: 1 epochs"),
        "2026-12-01T10:51:08.000000417Z " + cancelled(3068, "TIME LIMIT"),
    )
    assert (found.category, found.rule) == ("hang", "hang/at-exit")


def test_a_servers_chatter_behind_the_last_step_hides_no_hang() -> None:
    chatter = "\n".join(stamped(60 + n, f'"GET /metrics HTTP/1.1" 200 OK {n}') for n in range(3000))
    last = "\n".join(stamped(n, f"step {n}: {{'train/loss': 0.5, 'train/step': {n}}}") for n in range(5))
    assert run(last, chatter, cancelled(3100, "TIME LIMIT")).category == "hang"


ABORT = "/scratch/run.sh: line 184: 2324239 Aborted                 (core dumped) litgpt pretrain model"
FRAMES = "frame #5: <unknown function> + 0x89c02 (0x7fe21a689c02 in /lib64/libc.so.6)"


def test_the_watchdogs_abort_is_no_cause_however_the_shell_and_srun_tell_it() -> None:
    found = run(
        *(watchdog(rank, 0) for rank in (1, 2, 3)),
        FRAMES,
        "",
        ABORT,
        "srun: error: gpu1: task 3: Exited with exit code 134",
        "srun: error: gpu1: tasks 1-2: Exited with exit code 134",
        "srun: error: gpu1: task 0: Terminated",
    )
    assert (found.category, found.rule) == ("nccl", "nccl/watchdog-timeout")


def test_an_abort_before_the_others_wait_is_the_cause() -> None:
    found = run(
        "terminate called after throwing an instance of 'std::out_of_range'",
        ABORT,
        *(watchdog(rank, 600) for rank in (1, 2, 3)),
    )
    assert found.category == "signal"


TIMED_OUT = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for"
    " 1800911 milliseconds before timing out."
)
TAKEN_DOWN = (
    "[E ProcessGroupNCCL.cpp:341] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA"
    " kernels, subsequent GPU operations might run on corrupted/incomplete data. To avoid this inconsistency, we are taking"
    " the entire process down.\nterminate called after throwing an instance of 'std::runtime_error'\n  what():  "
)


def test_an_old_watchdogs_abort_is_no_cause() -> None:
    said = [TIMED_OUT.format(rank=rank) for rank in range(4)]
    found = run(
        *(f"[E ProcessGroupNCCL.cpp:587] {line}" for line in said),
        *(TAKEN_DOWN + line for line in said),
        ABORT,
    )
    assert (found.category, found.rule) == ("nccl", "nccl/watchdog-timeout")


RAY = "(Actor pid=6150) "
HANG = (
    "[rank0]:[F1225 12:58:33.512000931 ProcessGroupNCCL.cpp:1306] [PG ID 0 PG GUID 0(default_pg) Rank 0] [PG ID 0 PG GUID"
    " 0(default_pg) Rank 0] Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang."
)
ABORTS = ("*** SIGABRT received at time=1735131513 on cpu 41 ***", "Fatal Python error: Aborted")


@pytest.mark.parametrize("label", ["", RAY])
def test_an_abort_behind_the_watchdogs_words_is_its_work_whatever_labels_it_lost(label: str) -> None:
    found = run(label + HANG, *(label + line for line in ABORTS))
    assert (found.category, found.rule) == ("nccl", "nccl/watchdog-timeout")


def test_an_abort_of_another_process_than_the_one_whose_collective_failed_is_its_own() -> None:
    found = run(RAY + HANG, *("(Critic pid=7000) " + line for line in ABORTS))
    assert found.category == "signal"


QUOTED = "Error: failed to run torchrun --nproc_per_node=4 train.py -s on 127.0.0.1"


def test_a_launcher_that_says_that_a_host_failed_is_a_failure() -> None:
    found = run(QUOTED, "", "====== Training on All Nodes =====", "127.0.0.1: failure")
    assert (found.failed, found.category) == (True, "unknown")
    assert found.root is not None
    assert found.root.message == QUOTED


COMM = (
    "gpu1:90{rank:02d}:90{rank:02d} [{rank}] NCCL INFO comm 0x5581d2c{rank} rank {rank} nranks 4 cudaDev {rank} nvmlDev {rank}"
    " busId {bus} commId 0x71ad - Init COMPLETE"
)
BUSES = ("17000", "b3000", "1000b3000", "ca000")
LOST = (
    "[ 1843.308145] NVRM: The NVIDIA GPU {at}\n               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
    "               NVRM: fallen off the bus and is not responding to commands."
)


@pytest.mark.parametrize(
    ("at", "rank"), [("0000:b3:00.0", 1), ("1000:b3:00.0", 2), ("0000:ca:00.0", 3), ("0000:ff:00.0", None)]
)
def test_the_driver_names_a_gpu_by_its_place_on_the_bus_and_nccl_tells_whose_it_is(
    at: str, rank: int | None
) -> None:
    comms = [COMM.format(rank=n, bus=bus) for n, bus in enumerate(BUSES)]
    found = verdict(log("train.log", *comms, steps(1, 3)), log("dmesg.txt", LOST.format(at=at)))
    assert found.root is not None
    assert (found.category, found.root.rank) == ("hardware", rank)


def test_a_launcher_that_names_the_rank_which_was_aborted_is_believed() -> None:
    found = run(
        "ERROR 2021-05-24 17:17:14,611 launch_utils.py:545] ABORT!!! Out of all 4 trainers, the trainer process with rank=[3]"
        " was aborted. Please check its log."
    )
    assert found.root is not None
    assert (found.category, found.root.rank) == ("unknown", 3)


def test_an_assertion_without_a_message_speaks_by_its_line() -> None:
    lines = trace("AssertionError").splitlines()
    found = run(*lines[:-2], "    assert accumulation % world_size == 0", lines[-1])
    assert (found.category, found.rule) == ("shape", "shape/asserted-division")
    assert "accumulation % world_size == 0" in found.summary


def test_a_killed_child_is_no_cause_that_its_parents_traceback_shows() -> None:
    found = run(trace("Exception: process 0 terminated with signal SIGKILL", "join", "/torch/spawn.py"))
    assert found.category == "unknown"


def test_a_time_limit_behind_collectives_that_timed_out_is_not_the_cause() -> None:
    dead = [watchdog(rank, 30) for rank in (0, 2, 3)]
    found = run("world_size = 4", *dead, cancelled(9000, "TIME LIMIT"))
    assert (found.category, found.rule) == ("nccl", "nccl/watchdog-timeout")
    assert "timeout/time-limit" in {one.rule for one in found.downstream}


def test_a_time_limit_of_a_run_that_outlived_a_timed_out_collective_is_a_time_limit() -> None:
    assert run(watchdog(0, 30), steps(1, 50, 60, 10), cancelled(555, "TIME LIMIT")).category == "timeout"


def test_a_loss_that_stays_nan_is_told_and_is_no_failure() -> None:
    def step(n: int, loss: str) -> str:
        return f" iteration {n:8d}/     100 | elapsed time per iteration (ms): 100.0 | lm loss: {loss} | loss scale: 1.0 |"

    found = verdict(log("main.out", step(1, "1.2E+01"), step(2, "NAN"), step(3, "NAN")))
    assert (found.category, found.ended) == ("none", False)
    assert "the loss is NaN since iteration 2 (main.out:2)" in found.reasons
    passing = verdict(log("main.out", step(1, "1.2E+01"), step(2, "NAN"), step(3, "1.1E+01")))
    assert not any("NaN" in reason for reason in passing.reasons)


def test_a_step_in_slurms_memory_line_ends_before_the_sentence_does() -> None:
    line = "slurmstepd: error: Detected 1 oom_kill event in StepId=8027146.0. Some of the step tasks have been OOM Killed."
    assert verdict(log("main.out", line)).summary.endswith("step 8027146.0")
