"""Restarts and requeues: counted from 1 in time, the last decides unless it stumbled over the one before."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import (
    cancelled,
    dist_backend,
    launcher_died,
    log,
    oom,
    steps,
    tagged,
    trace,
    verdict,
)
from triage.core.cause.attempts import split_attempts
from triage.core.cause.keeper import Kept
from triage.core.cause.verdict import Verdict
from triage.core.events.model import Mark, Progress, Span
from triage.core.logs.source import Source
from triage.errors import InputError

RESTART = (
    "[2026-12-01 10:01:00,000] torch.distributed.elastic.agent.server.api: [INFO] [default] Worker group FAILED."
    " 1/1 attempts left; will restart worker group"
)
DONE = "[after training is done] datetime: 2026-12-01 10:10:20 "
IN_USE = trace(
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500,"
    " useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
)
STALE_STORE = trace(
    "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//timeline_0"
)
REQUEUE = cancelled(30, "JOB REQUEUE", "JOB 1")


def run(*parts: str, attempt: int | None = None) -> Verdict:
    return verdict(log("train.log", *parts), attempt=attempt)


def counted(found: Verdict) -> tuple[str, int, int]:
    return found.category, found.attempt, found.attempts


def test_a_failed_attempt_before_one_that_succeeds_is_no_failure() -> None:
    found = run(steps(1, 5), tagged(0, oom()), RESTART, steps(1, 9, 200), DONE)
    assert (found.failed, found.ended, *counted(found)) == (False, True, "none", 2, 2)


def test_of_two_failed_attempts_the_last_decides() -> None:
    found = run(
        steps(1, 5),
        tagged(0, oom()),
        RESTART,
        steps(1, 9, 200),
        tagged(2, trace()),
        launcher_died((2, 1, 70)),
    )
    assert counted(found) == ("python", 2, 2)


def test_the_asked_attempt_is_explained_as_if_the_other_had_not_been() -> None:
    parts = (
        steps(1, 5),
        tagged(0, oom()),
        RESTART,
        steps(1, 9, 200),
        tagged(2, trace()),
        launcher_died((2, 1, 70)),
    )
    found = run(*parts, attempt=1)
    assert counted(found) == ("oom", 1, 2)
    assert found.downstream == ()


@pytest.mark.parametrize("wanted", [0, 3, -1])
def test_an_attempt_that_is_not_there_is_an_error_that_says_how_many_are(wanted: int) -> None:
    with pytest.raises(InputError, match=rf"no attempt {wanted}: the logs show 2"):
        run(steps(1, 5), oom(), RESTART, steps(1, 9, 200), trace(), attempt=wanted)


@pytest.mark.parametrize("stumble", [IN_USE, tagged(1, STALE_STORE), tagged(1, dist_backend())])
def test_an_attempt_that_stumbles_over_what_was_left_is_explained_by_the_one_before(stumble: str) -> None:
    found = run(steps(1, 5), tagged(0, oom()), RESTART, stumble, launcher_died((0, 1, 70)))
    assert (found.category, found.attempt) == ("oom", 1)


def test_the_reason_says_which_attempt_decides() -> None:
    found = run(steps(1, 5), tagged(0, oom()), RESTART, IN_USE, launcher_died((0, 1, 70)))
    assert any("right after attempt 1: its cause decides" in reason for reason in found.reasons)


def test_an_attempt_that_trained_did_not_stumble_over_the_one_before() -> None:
    found = run(
        steps(1, 5),
        tagged(0, oom()),
        RESTART,
        steps(1, 50, 100),
        tagged(0, dist_backend()),
        tagged(1, dist_backend()),
    )
    assert counted(found) == ("nccl", 2, 2)


def test_an_address_in_use_in_the_only_attempt_is_itself_the_cause() -> None:
    assert counted(run(IN_USE)) == ("launcher", 1, 1)


def test_an_unexplained_failure_before_explains_nothing() -> None:
    found = run(steps(1, 5), launcher_died((0, 1, 70)), RESTART, IN_USE)
    assert found.category == "launcher"


def test_requeues_in_one_file_are_attempts() -> None:
    parts = (steps(1, 5), tagged(0, oom()), REQUEUE, steps(1, 9, 200), tagged(2, trace()))
    assert counted(run(*parts)) == ("python", 2, 2)
    assert counted(run(*parts, attempt=1)) == ("oom", 1, 2)


def test_the_requeues_own_line_belongs_to_the_attempt_that_it_ends() -> None:
    found = run(steps(1, 5), REQUEUE, steps(1, 9, 200), tagged(2, trace()), attempt=1)
    assert found.category == "preempted"


def test_a_requeued_job_that_did_not_start_again_is_its_first_attempt() -> None:
    assert counted(run(steps(1, 5), tagged(0, oom()), REQUEUE)) == ("oom", 1, 1)


def test_a_second_start_after_a_preemption_is_another_attempt() -> None:
    start = "using world size: 8, data-parallel size: 8"
    found = run(start, steps(1, 5), cancelled(30, "PREEMPTION", "JOB 1"), start, steps(1, 9, 200), DONE)
    assert counted(found) == ("none", 2, 2)


def test_attempts_in_paths_count_from_one_by_their_order() -> None:
    logs = (
        log("run/attempt_3/0/stderr.log", tagged(0, trace())), log("run/attempt_1/1/stderr.log", tagged(1, oom())),
    )  # fmt: skip
    assert counted(verdict(*logs)) == ("python", 2, 2)
    assert counted(verdict(*logs, attempt=1)) == ("oom", 1, 2)


def marks(*offsets: int, source: int = 0, kind: str = "restart") -> list[Kept]:
    return [Kept(Mark(Span(source, n, n + 1), kind=kind)) for n in offsets]


def progress(*offsets: int, source: int = 0) -> list[Kept]:
    return [Kept(Progress(Span(source, n, n + 1), iteration=n)) for n in offsets]


def test_marks_with_nothing_between_them_are_one_restart() -> None:
    kept = [*progress(0, 5), *marks(10, 11, 12), *progress(20)]
    attempts = split_attempts([Source("a")], kept)
    assert [a.number for a in attempts] == [1, 2]


def test_a_mark_before_anything_happened_begins_the_first_attempt() -> None:
    assert len(split_attempts([Source("a")], [*marks(0), *progress(5, 9)])) == 1


def test_a_file_that_saw_fewer_restarts_shares_the_last_ones() -> None:
    """A node that joined late lacks the first restart's line; what it says is of the latest attempts."""
    kept = [*progress(0), *marks(5), *progress(6), *marks(9), *progress(12), *progress(0, source=1)]
    kept += [*marks(5, source=1), *progress(9, source=1)]
    attempts = split_attempts([Source("a"), Source("b")], kept)
    by_attempt = [
        [(k.event.span.source, k.event.span.first) for k in a.kept if isinstance(k.event, Progress)]
        for a in attempts
    ]
    assert by_attempt == [[(0, 0)], [(0, 6), (1, 0)], [(0, 12), (1, 9)]]


def test_nothing_kept_is_one_attempt() -> None:
    assert [(a.number, a.kept) for a in split_attempts([], [])] == [(1, ())]
