"""Several jobs in one folder: the newest is explained and the others are named."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import log, oom, stamped, trace, verdict
from triage.errors import InputError


def test_the_job_with_the_latest_stamp_is_the_newest_not_the_highest_number() -> None:
    found = verdict(
        log("slurm-100.out", stamped(500), trace(), stamped(501)),
        log("slurm-200.out", stamped(0), oom(), stamped(1)),
    )
    assert (found.job, found.category, found.other_jobs) == ("100", "python", ("200",))


def test_without_stamps_numbers_compare_as_numbers_not_as_text() -> None:
    found = verdict(log("slurm-1000.out", trace()), log("slurm-999.out", oom()))
    assert (found.job, found.other_jobs) == ("1000", ("999",))


def test_the_order_of_the_files_does_not_choose_the_job() -> None:
    logs = (log("slurm-1000.out", trace()), log("slurm-999.out", oom()))
    assert verdict(*logs).job == verdict(*reversed(logs)).job == "1000"


def test_the_asked_job_is_explained_alone() -> None:
    found = verdict(log("slurm-1000.out", trace()), log("slurm-999.out", oom()), job="999")
    assert (found.job, found.category, found.downstream, found.unexplained) == ("999", "oom", (), ())


def test_a_job_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(InputError, match="no file of job 7; jobs here: 999, 1000"):
        verdict(log("slurm-1000.out", trace()), log("slurm-999.out", oom()), job="7")


def test_a_file_that_names_no_job_belongs_to_the_one_explained() -> None:
    found = verdict(log("slurm-1000.out", stamped(0)), log("rank_3.err", oom()))
    assert (found.job, found.category) == ("1000", "oom")


def test_slurms_own_time_dates_a_job_that_prints_no_other() -> None:
    cancel = "slurmstepd: error: *** JOB 100 ON gpu1 CANCELLED AT 2026-12-02T10:00:00 ***"
    found = verdict(log("slurm-100.out", cancel), log("slurm-200.out", stamped(0), oom()))
    assert found.job == "100"


def test_array_tasks_are_jobs_of_their_own() -> None:
    found = verdict(log("slurm-50_1.out", oom()), log("slurm-50_2.out", trace()), job="50_1")
    assert (found.job, found.category, found.other_jobs) == ("50_1", "oom", ("50_2",))
