"""A script against a cluster: what it would refuse, what would wait for ever, and what nobody can know."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.check_site import site
from triage.core.script.facts import Nothing
from triage.core.script.read import read_script
from triage.core.script.site import Partition, Site

CLUSTER = Site(
    (
        Partition("gpu", True, 86400.0, 4, 4, "a100"),
        Partition("gpu", True, 86400.0, 2, 8, "h100"),
        Partition("short", True, 60.0, 4, 4, "a100"),
        Partition("long", True, None, 4, 4, None),
        Partition("cpu", True, None, 100, 0),
        Partition("closed", False, None, 4, 4),
    ),
    ("ml", "vision"), ("normal", "long"), "gpu", enforced=True,
)  # fmt: skip


@dataclass
class Here(Nothing):
    cluster: Site = CLUSTER

    def site(self) -> Site:
        return self.cluster


def found(line: str, cluster: Site = CLUSTER) -> list[Finding]:
    return list(site(read_script(f"#!/bin/bash\n#SBATCH {line}\nsrun true\n"), Here(cluster)))


@pytest.mark.parametrize(
    ("line", "check", "severity"),
    [
        ("-p gpu", None, None),
        ("-N2", None, None),
        ("-p gpus", "site/partition", "error"),
        ("-p Gpu", "site/partition", "error"),
        ("-p gpu,nope", "site/partition", "error"),
        ("-p $PARTITION", None, None),
        ("-p <PARTITION>", None, None),
        ("-p closed", "site/partition-closed", "warning"),
        ("-p closed,gpu", None, None),
        ("-p short -t 1:00", None, None),
        ("-p short -t 2", "site/time", "error"),
        ("-p short,gpu -t 2", None, None),
        ("-p short -t 2 --qos=long", "site/time", "warning"),
        ("-p long -t 30-00", None, None),
        ("-t 1-00:00:00", None, None),
        ("-t 1-00:00:01", "site/time", "error"),
        ("-t UNLIMITED", None, None),
        ("-N 6", None, None),
        ("-N 7", "site/nodes", "error"),
        ("-N 7-9", None, None),
        ("--gpus-per-node=8", None, None),
        ("--gpus-per-node=9", "site/gpus", "error"),
        ("--gres=gpu:9", "site/gpus", "error"),
        ("-N2 --gpus=18", None, None),
        ("--gres=gpu:h100:8", None, None),
        ("--gres=gpu:H100:8", None, None),
        ("--gres=gpu:b200:4", "site/gpu-type", "error"),
        ("-p long --gres=gpu:b200:4", None, None),
        ("-p cpu --gres=gpu:1", "site/gpus", "error"),
        ("-A ml", None, None),
        ("-A ML", None, None),
        ("-A nope", "site/account", "error"),
        ("-A <ACCOUNT>", None, None),
        ("-q long", None, None),
        ("-q nope", "site/qos", "error"),
    ],
)
def test_request_against_the_cluster(line: str, check: str | None, severity: str | None) -> None:
    findings = found(line)
    assert [(item.check, item.severity.value) for item in findings] == ([(check, severity)] if check else [])
    assert all(item.line == 2 for item in findings)


def test_account_that_nobody_enforces_is_a_warning() -> None:
    (finding,) = found("-A nope", replace(CLUSTER, enforced=False))
    assert finding.severity is Severity.WARNING
    assert "ml, vision" in finding.message


def test_accounts_that_could_not_be_asked_judge_nobody() -> None:
    cluster = replace(CLUSTER, accounts=(), qos=(), unknown=("sacctmgr did not answer",))
    (finding,) = found("-A nope -q nope", cluster)
    assert (finding.check, finding.severity) == ("site/not-checked", Severity.INFO)
    assert "sacctmgr did not answer" in finding.message


def test_a_site_without_a_default_partition_needs_one() -> None:
    cluster = replace(CLUSTER, default_partition=None)
    (finding,) = found("-N2", cluster)
    assert (finding.check, finding.severity) == ("site/partition", Severity.ERROR)
    assert "--partition" in finding.message
    assert found("-p $MINE", cluster) == []


@pytest.mark.parametrize("line", ["-M west -p nope", "--clusters=west -A nope"])
def test_another_cluster_is_not_this_one(line: str) -> None:
    assert [item.check for item in found(line)] == ["site/not-checked"]


def test_misspelt_partition_gets_its_neighbour() -> None:
    assert "did you mean short?" in found("-p shrot")[0].message


def test_script_that_sbatch_never_reads_is_not_judged() -> None:
    asked: list[int] = []

    class Asked(Nothing):
        def site(self) -> Site:
            asked.append(1)
            return Site()

    findings = list(site(read_script("#!/bin/bash\nsrun true\n"), Asked()))
    assert [item.check for item in findings] == ["site/not-checked"]
    assert asked == []
