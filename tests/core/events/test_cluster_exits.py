"""Exits in the words of services that run a job."""

from __future__ import annotations

import pytest

from tests.core.events.lines import records
from triage.core.events.exits import extract_exits
from triage.core.events.model import Exit

PADDLE = "Container rank 6 status failed cmd ['/usr/bin/python', '-u', 'train.py'] code 1 log log/default.fxemxd.6.log"


@pytest.mark.parametrize(
    ("text", "by", "rank", "code"),
    [
        (PADDLE, "paddle", 6, 1),
        (PADDLE.replace("code 1", "code -9"), "paddle", 6, -9),
        ("ERROR: Job 1 failed with return code list: [1]", "skypilot", None, 1),
        ("ERROR: Job 7 failed with return code list: [0, 137, 2, 137]", "skypilot", None, 2),
        ("The replica workerpool0-0 exited with a non-zero status of 1", "vertex", None, 1),
        (
            "resources failed with non-zero exit code: container failed with non-zero exit code: 247 (exit code 247)",
            "determined",
            None,
            247,
        ),
    ],
)
def test_rank_and_code(text: str, by: str, rank: int | None, code: int) -> None:
    events, _ = extract_exits(records(text), 0)
    (got,) = [e for e in events if isinstance(e, Exit)]
    assert (got.by, got.rank, got.exitcode) == (by, rank, code)


@pytest.mark.parametrize(
    "text",
    [
        "Container rank 6 status running cmd ['python'] code None log log/x.6.log",
        "a job that failed with return code list: [1] is shown in red",
        "Run dev container failed !!!",
    ],
)
def test_near_misses(text: str) -> None:
    assert extract_exits(records(text), 0)[0] == []
