"""Marks of a new attempt: announced, and the beginnings of a program."""

from __future__ import annotations

import pytest

from tests.core.events.lines import records
from triage.core.events.attempts import extract_marks
from triage.core.events.model import Mark

WORLD = "using world size: 4, data-parallel size: 4, context-parallel size: 1"
DUMP = "------------------------ arguments ------------------------"
END = "-------------------- end of arguments ---------------------"
PREEMPTED = "*** JOB 7 ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE TO PREEMPTION ***"


def marks(*lines: str) -> list[tuple[str, int | None, int]]:
    stream = records("\n".join(lines))
    events, rest = extract_marks(stream, 0)
    assert len(rest) <= len(stream)
    at = {record.offset: index for index, record in enumerate(stream)}
    return [(e.kind, e.number, at[e.span.first]) for e in events if isinstance(e, Mark)]


def test_torchrun_restart_with_its_number() -> None:
    line = "[default] Worker group FAILED. {}/3 attempts left; will restart worker group"
    assert marks("x", line.format(3), "y", line.format(2)) == [("restart", 1, 1), ("restart", 2, 3)]


def test_rendezvous_of_the_first_attempt_is_no_mark() -> None:
    assert marks("  restart_count=0") == []
    assert marks("  restart_count=2") == [("restart", 2, 0)]


def test_one_requeue_is_announced_by_job_and_step() -> None:
    line = "*** {} ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE TO JOB REQUEUE ***"
    assert marks(line.format("JOB 7"), line.format("STEP 7.0")) == [("requeue", None, 0)]
    assert len(marks(line.format("JOB 7"), *["x"] * 100, line.format("JOB 7"))) == 2


def test_beginnings_and_a_preemption_are_told_each_time() -> None:
    found = marks(WORLD, DUMP, END, PREEMPTED, "x", WORLD)
    assert [(kind, line) for kind, _, line in found] == [
        ("begin", 0),
        ("begin", 1),
        ("preempted", 3),
        ("begin", 5),
    ]


@pytest.mark.parametrize(
    "line", ["==== attempt 2 ====", "===== Attempt #2 at 10:00 =====", "--- attempt 2/5 ---"]
)
def test_header_lines(line: str) -> None:
    assert marks(line) == [("start", 2, 0)]


def test_slurm_restart_count() -> None:
    assert marks("SLURM_RESTART_COUNT=1") == [("requeue", 1, 0)]
    assert marks("SLURM_RESTART_COUNT=0") == []
    assert marks("MY_SLURM_RESTART_COUNT=4") == []


@pytest.mark.parametrize(
    "line", ["attempt 2 failed", "retry attempt 3 of 5", END, "will restart the server", "restart_count=1 x"]
)
def test_ordinary_lines_are_no_marks(line: str) -> None:
    assert marks(line, line) == []


def test_beginnings_stay_for_their_own_reader() -> None:
    _, rest = extract_marks(records("\n".join([WORLD, DUMP, PREEMPTED, "==== attempt 2 ===="])), 0)
    assert [r.text for r in rest] == [WORLD, DUMP, PREEMPTED]
