"""Tracebacks after which the same run went on, and those after which nothing came."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import launcher_died, log, oom, stamped, step, steps, tagged, trace, verdict
from triage.core.cause.verdict import Verdict

DONE = "[after training is done] datetime: 2026-12-01 10:00:20 "
RUN_STOP = (
    ':::MLLOG {"namespace": "", "time_ms": 1796119200000, "event_type": "INTERVAL_END", "key": "run_stop", "value": null,'
    ' "metadata": {"file": "/w/train.py", "lineno": 4, "status": "success"}}'
)
FINALIZER = trace(
    "FileNotFoundError: [Errno 2] No such file or directory",
    "sem_unlink",
    "/usr/lib/python3.10/multiprocessing/synchronize.py",
)


def run(*parts: str) -> Verdict:
    return verdict(log("train.log", *parts))


def test_a_traceback_after_which_training_goes_on_is_no_failure() -> None:
    found = run(steps(1, 5), tagged(0, trace()), steps(6, 20, 6))
    assert (found.failed, found.ended) == (False, False)
    assert any("training went on after it (iteration 20)" in reason for reason in found.reasons)


def test_one_step_behind_it_may_be_another_ranks_last_and_proves_nothing() -> None:
    assert run(steps(1, 5), tagged(0, trace()), step(6, 6)).category == "python"


def test_a_traceback_after_which_nothing_more_comes_is_a_failure() -> None:
    assert run(steps(1, 5), tagged(0, trace())).category == "python"


def test_steps_before_it_are_no_steps_behind_it_whatever_file_they_are_in() -> None:
    found = verdict(
        log("rank_0.err", stamped(50), tagged(0, trace()), stamped(50.5)),
        log("rank_7.out", tagged(7, steps(1, 40))),
    )
    assert found.category == "python"


def test_steps_in_another_file_count_by_the_clock() -> None:
    found = verdict(
        log("rank_0.err", stamped(50), tagged(0, trace()), stamped(50.5)),
        log("rank_7.out", tagged(7, steps(1, 90))),
    )
    assert not found.failed


def test_old_stamps_behind_it_are_a_late_buffer_and_no_progress() -> None:
    assert run(stamped(100), tagged(0, trace()), steps(1, 20)).category == "python"


def test_a_rank_that_its_launcher_saw_die_survived_nothing() -> None:
    """The others run on for a while, by the clock, until the launcher notices."""
    found = verdict(
        log("rank_3.err", stamped(10), tagged(3, trace()), stamped(10.5)), log("rank_7.out", tagged(7, steps(1, 40))),
        log("main.err", launcher_died((3, 1, 73))),
    )  # fmt: skip
    assert found.category == "python"


@pytest.mark.parametrize("behind", [(), (step(6, 6),), (DONE,)])
def test_what_python_itself_ignored_is_never_a_failure(behind: tuple[str, ...]) -> None:
    ignored = "Exception ignored in: <function IndexedDataset.__del__ at 0x7f>\n" + trace()
    assert not run(steps(1, 5), ignored, *behind).failed


def test_ignored_tracebacks_hide_no_real_one() -> None:
    ignored = "Exception ignored in: <function IndexedDataset.__del__ at 0x7f>\n" + trace()
    assert run(steps(1, 5), oom(), ignored).category == "oom"


def test_finalizers_after_success_are_no_failure() -> None:
    found = run(steps(1, 5), RUN_STOP, FINALIZER, FINALIZER)
    assert (found.failed, found.ended) == (False, True)


def test_success_does_not_excuse_a_rank_that_ended_badly() -> None:
    assert run(steps(1, 5), RUN_STOP, FINALIZER, launcher_died((0, 1, 70))).failed


def test_the_end_of_training_behind_a_traceback_clears_it() -> None:
    found = run(steps(1, 5), tagged(0, trace()), DONE)
    assert (found.failed, found.ended) == (False, True)


def test_a_traceback_behind_the_end_of_training_is_a_failure() -> None:
    assert run(steps(1, 5), DONE, tagged(0, trace())).category == "python"


def test_a_warning_of_the_store_behind_the_end_of_training_is_no_failure() -> None:
    warning = "[rank1]:[W1201 10:00:40.100000000 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=3): Broken pipe\n"
    found = run(steps(1, 20), DONE + "\n", warning)
    assert (found.category, found.confidence) == ("none", "high")


def test_a_nameless_traceback_is_not_lent_the_rank_of_one_that_has_its_name() -> None:
    early = trace("ModuleNotFoundError: No module named 'apex'")
    found = run(early, steps(1, 40), tagged(2, trace("KeyError: 'x'")), launcher_died((2, 2, 1)))
    assert found.root is not None
    assert (found.root.rank, found.root.exception) == (2, "KeyError")
    assert any("survived" in reason for reason in found.reasons)


def test_a_nameless_traceback_beside_a_finished_run_is_a_failure_of_low_confidence() -> None:
    found = verdict(
        log("t.out", steps(1, 20), DONE + "\n"),
        log("t.err", trace("ModuleNotFoundError: No module named 'apex'")),
    )
    assert (found.category, found.confidence) == ("import", "low")
    assert any("training finished" in reason for reason in found.reasons)


def test_training_that_goes_on_is_no_part_of_an_exceptions_message() -> None:
    found = run(
        "step 100 loss 2.1\n", trace("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        "step 200 loss 1.9\nstep 300 loss 1.8\n",
    )  # fmt: skip
    assert not found.failed
