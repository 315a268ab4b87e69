from __future__ import annotations

import pytest

from triage.core.jobs.identity import JobId, parse_job


@pytest.mark.parametrize("text", ["18", "18_3", "18+1", "18;west", "18_3;west-2.a"])
def test_ids_print_as_they_are_read(text: str) -> None:
    job = parse_job(text)
    assert job is not None
    assert str(job) == text


@pytest.mark.parametrize(
    "text", ["", "18_", "18_[0-3]", "18.batch", "18.0", "-1", "18 19", "١٨", "18;", "18;a b", "x18"]
)
def test_what_is_no_single_job_is_refused(text: str) -> None:
    assert parse_job(text) is None


def test_cluster_is_not_part_of_what_the_commands_take() -> None:
    assert JobId(18, task=3, cluster="west").local == "18_3"
