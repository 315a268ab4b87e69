from __future__ import annotations

import pytest

from triage.core.jobs.pending import never_starts


@pytest.mark.parametrize(
    "reason",
    [
        "PartitionTimeLimit", "(PartitionTimeLimit)", "PartitionNodeLimit", "PartitionConfig", "DependencyNeverSatisfied",
        "QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit", "QOSMaxGRESPerJob", "QOSMinCpuNotSatisfied",
        "JobHeldUser", "JobHeldAdmin", "InvalidAccount", "InvalidQOS", "BadConstraints", "MaxMemPerLimit",
        "AssocMaxCpuPerNode",
    ],
)  # fmt: skip
def test_reasons_that_only_a_change_can_end_come_with_advice(reason: str) -> None:
    told = never_starts(reason)
    assert told is not None
    assert ": " in told


@pytest.mark.parametrize(
    "reason",
    [
        "None", "Priority", "Resources", "BeginTime", "Dependency", "Licenses", "JobArrayTaskLimit", "ReqNodeNotAvail",
        "QOSMaxJobsPerUserLimit", "QOSMaxCpuPerUserLimit", "AssocGrpCpuLimit", "QOSGrpNodeLimit", "AssocMaxJobsLimit",
        "PartitionDown", "QOSGrpWallLimit", "",
    ],
)  # fmt: skip
def test_reasons_that_pass_by_themselves_raise_no_alarm(reason: str) -> None:
    assert never_starts(reason) is None
