"""Which waiting jobs a cancel would harm; dependencies as squeue prints them."""

from __future__ import annotations

import pytest

from triage.core.jobs.dependents import Waiting, harmed_by_cancel
from triage.core.jobs.identity import JobId


@pytest.mark.parametrize(
    ("dependency", "harmed"),
    [
        ("afterok:18(unfulfilled)", True),
        ("afternotok:18(unfulfilled)", True),
        ("aftercorr:18_*(unfulfilled)", True),
        ("afterany:18(unfulfilled)", False),
        ("after:18+30(unfulfilled)", False),
        ("afterok:181(unfulfilled)", False),
        ("afterok:17:18(unfulfilled)", True),
        ("afterany:18(unfulfilled),afterok:5(unfulfilled)", False),
        ("afterany:5(unfulfilled)?afternotok:18(failed)", True),
        ("singleton(unfulfilled)", False),
        ("afterwhatever:18(unfulfilled)", True),
        ("(null)", False),
        ("", False),
    ],
)
def test_kinds_that_a_cancel_harms(dependency: str, harmed: bool) -> None:
    assert bool(harmed_by_cancel(JobId(18), (), [Waiting("62", dependency)])) is harmed


def test_a_task_is_meant_by_its_own_number_the_array_and_its_raw_number() -> None:
    task = JobId(18, task=3)
    for text, harmed in (
        ("afterok:18_3", True),
        ("afterok:18_*", True),
        ("afterok:18_4", False),
        ("afterok:25", True),
    ):
        assert bool(harmed_by_cancel(task, (25,), [Waiting("62", text)])) is harmed, text


def test_each_is_named_with_its_kind() -> None:
    waiting = [
        Waiting("62", "afterok:18"),
        Waiting("63", "afterany:18"),
        Waiting("64_[1-4]", "aftercorr:18_*"),
    ]
    assert harmed_by_cancel(JobId(18), (), waiting) == ("62 (afterok)", "64_[1-4] (aftercorr)")
