"""Two real clusters with one accounting: the same number exists on each, and only the one that is meant is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.minislurm.cluster import MiniSlurm, missing, start
from tests.minislurm.processes import wait_until
from tests.watch.real import SLOW, RealSite, hold
from triage.core.jobs.identity import JobId
from triage.schedulers.slurm.client import Slurm
from triage.store.jobs import all_jobs
from triage.watch.options import Options

WRITES = 'echo "{\\"job_id\\": $SLURM_JOB_ID, \\"restart\\": 0, \\"slurm_cluster_name\\": \\"$SLURM_CLUSTER_NAME\\"}" > p-$SLURM_CLUSTER_NAME; mv p-$SLURM_CLUSTER_NAME m-$SLURM_CLUSTER_NAME.json\n'
BODY = f"sleep 1\n{WRITES}sleep 600\n"


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[MiniSlurm, MiniSlurm]]:
    """`mini`, which answers without `-M`, and `west`."""
    if reason := missing():
        pytest.skip(reason)
    mini = start(nodes=1)
    try:
        west = mini.sibling("west")
        try:
            yield mini, west
        finally:
            west.stop()
    finally:
        mini.stop()


@pytest.fixture
def site(
    clusters: tuple[MiniSlurm, MiniSlurm], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RealSite]:
    real = RealSite(clusters[0], tmp_path)

    def connect(_: str, environment: Mapping[str, str]) -> Slurm:
        return Slurm(environment, real.runner)

    monkeypatch.setattr("triage.cli.following.connect", connect)
    yield real
    for mini in clusters:
        mini.start_daemon("slurmctld")
        mini.clear()


def both(site: RealSite) -> tuple[JobId, JobId]:
    """A job on each, with the same number."""
    near, far = site.submit(BODY), site.submit(BODY, "-M", "west")
    while near.number != far.number:
        fill = site.submit("true\n", *(("-M", "west") if far.number < near.number else ()))
        near, far = (
            (site.submit(BODY), far) if fill.cluster is None else (near, site.submit(BODY, "-M", "west"))
        )
    site.mini.output("scontrol", "show", "job", str(near.number))
    return near, far


def states(site: RealSite, near: JobId) -> tuple[str, str]:
    asked = ("-h", "-t", "all", "-j", str(near.number), "-o", "%T")
    far = site.mini.run("squeue", "-M", "west", *asked).stdout.split()
    return site.mini.run("squeue", *asked).stdout.strip(), far[-1] if far else ""


def running(site: RealSite, near: JobId) -> None:
    site.until("both run", lambda: states(site, near) == ("RUNNING", "RUNNING"))


@SLOW
@pytest.mark.parametrize("cluster", ["west", "mini", None])
def test_only_the_job_of_the_named_cluster_is_ended(site: RealSite, cluster: str | None) -> None:
    near, _ = both(site)
    running(site, near)
    where = cluster or "mini"
    watching = site.watch(replace(near, cluster=cluster), Options(artifacts=(f"m-{where}.json",)))
    assert watching.ended() == 0, watching.said()
    flag = [] if cluster is None else ["-M", cluster]
    assert site.hits == [" ".join(["scancel", *flag, str(near.number)])]
    left = states(site, near)
    assert left[0 if cluster == "west" else 1] == "RUNNING"
    shown = site.mini.output(
        "scontrol", *([] if cluster == "west" else ["-M", "west"]), "show", "job", str(near.number)
    )
    assert "Requeue=1 Restarts=0" in shown


@SLOW
def test_a_result_of_the_job_with_the_same_number_on_the_other_cluster_ends_nothing(site: RealSite) -> None:
    near, far = both(site)
    running(site, near)
    watching = site.watch(far, Options(artifacts=("m-mini.json",)))
    assert "of a job on mini" in watching.until("artifact").message
    assert site.acts == []
    assert states(site, near) == ("RUNNING", "RUNNING")


@SLOW
@pytest.mark.parametrize(("held", "ends"), [("{n};west", False), ("{n}", False), ("{n};mini", True)])
def test_a_hold_counts_on_the_cluster_that_it_names_or_on_all(site: RealSite, held: str, ends: bool) -> None:
    near, far = both(site)
    running(site, near)
    hold(site, held.format(n=near.number))
    watching = site.watch(far, Options(artifacts=("m-west.json",)))
    if ends:
        assert watching.ended() == 0, watching.said()
        assert states(site, near)[0] == "RUNNING"
    else:
        assert "is held" in watching.until("refused").message
        assert site.hits == []


@SLOW
def test_a_cluster_that_does_not_answer_is_not_asked_elsewhere_and_its_jobs_are_not_concluded(
    clusters: tuple[MiniSlurm, MiniSlurm], site: RealSite
) -> None:
    near, far = both(site)
    running(site, near)
    watching = site.watch(far)
    watching.until("found")
    clusters[1].stop_daemon("slurmctld")
    watching.until("scheduler", words="is not known about", seconds=90)
    wait_until("mini still answers", lambda: site.state(near) == "RUNNING", seconds=10)
    clusters[1].start_daemon("slurmctld")
    watching.until("scheduler", words="is known about again", seconds=120)
    site.mini.output("scancel", "-M", "west", str(far.number))
    assert watching.ended(seconds=120) == 12, watching.said()
    assert states(site, near)[0] == "RUNNING"
    assert [str(known.job) for known in all_jobs(site.database)] == [str(far)]


@SLOW
def test_an_id_that_only_the_other_cluster_has_is_unknown(site: RealSite) -> None:
    both(site)
    far = site.submit("sleep 600\n", "-M", "west")
    assert site.watch(replace(far, cluster=None)).ended() == 3
    watching = site.watch(JobId(999_999, cluster="west"))
    assert watching.ended() == 3, watching.said()
