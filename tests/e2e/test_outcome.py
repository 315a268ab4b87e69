"""How the lab judges: what it must not let through, and from when it counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fault import Fault, Right
from tests.e2e.growth import Growth
from tests.e2e.outcome import NO_RANK, RIGHT, UNKNOWN, WRONG, judged, same_answer
from tests.e2e.run import objects
from tests.e2e.table import markdown


def verdict(category: str, rank: int | None = None) -> dict[str, Any]:
    return {"category": category, "root": None if rank is None else {"rank": rank}}


@pytest.mark.parametrize(
    ("found", "code", "outcome", "expected"),
    [
        (verdict("oom", 2), 10, "failed", RIGHT),
        (verdict("oom", 1), 10, "failed", WRONG),
        (verdict("oom"), 10, "failed", NO_RANK),
        (verdict("shape"), 10, "failed", WRONG),
        (verdict("oom", 2), 0, "failed", WRONG),
        (verdict("oom", 2), 10, "cancelled", WRONG),
        (verdict("host-oom", 2), 10, "failed", RIGHT),
        (verdict("shape", 2), 10, "failed", WRONG),
        (verdict("unknown"), 11, "unknown", UNKNOWN),
        (verdict("none"), 0, "completed", WRONG),
    ],
)
def test_right_is_category_rank_exit_code_and_outcome(
    found: dict[str, Any], code: int, outcome: str, expected: str
) -> None:
    fault = Fault("oom", Right("oom", 2, also=("host-oom",), outcome="failed"))
    assert judged(fault, found, code, outcome) == expected


def test_no_rank_is_asked_for_where_no_single_one_is_to_blame() -> None:
    assert judged(Fault("all", Right("shape")), verdict("shape", 3), 10, "failed") == RIGHT


def test_a_job_that_is_ended_before_its_last_step_is_judged_wrong() -> None:
    fault = Fault("early", Right("none", outcome="completed-early", step=30))
    assert judged(fault, verdict("none"), 0, "completed-early", 29) == WRONG
    assert judged(fault, verdict("none"), 0, "completed-early", 30) == RIGHT


def test_a_line_counts_from_when_its_last_byte_was_there(tmp_path: Path) -> None:
    log = tmp_path / "node.err"
    growth = Growth(tmp_path)
    log.write_bytes(b"one\ntw")
    growth.look()
    assert growth.when(log, 1) is not None
    log.write_bytes(b"one\ntwo\n")
    assert growth.when(log, 2) is None
    growth.look()
    first, second = growth.when(log, 1), growth.when(log, 2)
    assert first is not None
    assert second is not None
    assert first < second


def test_objects_are_read_whatever_lines_they_stretch_over() -> None:
    lines = ["{\n", '  "a": {\n', '    "b": 1}\n', "}\n", '{"c": 2}\n']
    assert list(objects(lines)) == [{"a": {"b": 1}}, {"c": 2}]


def test_table_shows_what_was_judged_and_what_the_rounds_disagree_on() -> None:
    row = {"fault": "stop", "category": "nccl", "rank": 1, "outcome": "failed", "confidence": "high", "exit": 10,
           "seconds": 0.44, "same": True, "judged": RIGHT}  # fmt: skip
    other = {**row, "category": "signal", "confidence": "low", "seconds": None, "judged": WRONG}
    text = markdown([Fault("stop", Right("nccl", 1)), Fault("later", Right("oom"))], [row, other])
    assert (
        "| stop | nccl, rank 1 | nccl, rank 1; **signal, rank 1: wrong** | high; low | 10 | 0.4, ? | yes |"
        in text
    )
    assert "| later | oom | not run |" in text
    assert "2 runs: 1 right, 1 wrong." in text


def test_more_lines_after_the_end_change_no_answer_and_another_answer_is_told() -> None:
    told: dict[str, Any] = {
        "category": "oom", "rule": "oom/cuda", "confidence": "high", "summary": "s", "slurm": None, "downstream": [],
        "root": {"rank": 2}, "scanned": {"bytes": 10},
    }  # fmt: skip
    later = {**told, "downstream": ["srun"], "scanned": {"bytes": 12}}
    assert same_answer(told, later)
    assert not same_answer(told, {**later, "root": {"rank": 1}})
    assert not same_answer(told, {**told, "downstream": ["srun"]})
    assert not same_answer(told, None)
