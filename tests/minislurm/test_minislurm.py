"""The mini-Slurm itself: what tests rely on, and that it leaves nothing behind."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from tests.minislurm import cluster
from tests.minislurm.cluster import HOSTS, MiniSlurm, missing, start
from tests.minislurm.config import Settings, database_arguments, slurm_conf
from tests.minislurm.fixture import _refuse
from tests.minislurm.processes import MiniSlurmError, of_slurm


def test_names_of_the_nodes_resolve_to_addresses_of_their_own(mini_slurm: MiniSlurm) -> None:
    addresses = [socket.gethostbyname(node) for node in mini_slurm.nodes]
    assert len(set(addresses)) == len(mini_slurm.nodes)
    assert all(address.startswith("127.") for address in addresses)


def test_lose_ends_all_that_runs_on_a_node_and_nothing_elsewhere(
    mini_slurm: MiniSlurm, tmp_path: Path
) -> None:
    script = tmp_path / "run"
    script.write_text("#!/bin/bash\nsrun sleep 300\n")
    mini_slurm.output(
        "sbatch", "--parsable", f"--output={tmp_path}/out", "-N2", "-w", "gpu1,gpu2", str(script)
    )
    end = time.monotonic() + 20
    while not (set(of_slurm(mini_slurm.conf, "gpu1")) and set(of_slurm(mini_slurm.conf, "gpu2"))):
        assert time.monotonic() < end
        time.sleep(0.1)
    time.sleep(0.5)
    mini_slurm.lose("gpu2")
    time.sleep(0.3)
    assert set(of_slurm(mini_slurm.conf, "gpu2")) == set()
    assert set(of_slurm(mini_slurm.conf, "gpu1"))
    assert "gpu2" not in mini_slurm.running()


def test_limits_are_enforced_only_when_asked_for() -> None:
    settings = Settings(Path("/x"), "h", ("gpu1",), 1, 2, 3, (4,))
    assert "AccountingStorageEnforce" not in slurm_conf(settings)
    strict = Settings(Path("/x"), "h", ("gpu1",), 1, 2, 3, (4,), enforce=True)
    assert "AccountingStorageEnforce=associations,limits,qos" in slurm_conf(strict)


def test_databases_of_two_that_start_at_once_share_no_folder() -> None:
    """MariaDB names its temporary tables by a process id that repeats."""
    settings = Settings(Path("/x"), "h", ("gpu1",), 1, 2, 3, (4,))
    assert "--tmpdir=/x/tmp" in database_arguments(settings)


def test_a_machine_without_slurm_skips_and_ci_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ENVIRONMENT", {"PATH": "/nowhere"})
    reason = missing()
    assert reason is not None
    assert ".ci/slurm-install" in reason or "Linux" in reason
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception):
        _refuse(reason)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        _refuse(reason)


@pytest.mark.skipif(not os.environ.get("TRIAGE_SLOW"), reason="slow: set TRIAGE_SLOW=1")
def test_two_run_side_by_side_and_stop_leaves_nothing_behind(mini_slurm: MiniSlurm) -> None:
    before = HOSTS.read_text()
    second = start(nodes=1)
    daemons = second.running()
    assert set(daemons) == {"slurmctld", "slurmdbd", "database", "munged", "gpu1"}
    second.output("sbatch", "--parsable", "--output=/dev/null", "--wrap", "sleep 300")
    time.sleep(2)
    second.stop()
    assert second.running() == {}
    assert not second.settings.root.exists()
    assert HOSTS.read_text() == before
    assert set(of_slurm(second.conf)) == set()
    assert mini_slurm.output("sinfo", "-h")


@pytest.mark.skipif(missing() is not None, reason="needs Slurm")
def test_a_start_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = HOSTS.read_text()
    monkeypatch.setattr(
        cluster.MiniSlurm, "_start_munge", lambda _: (_ for _ in ()).throw(MiniSlurmError("no munge"))
    )
    roots = set(Path("/tmp").glob("minislurm-*"))
    with pytest.raises(MiniSlurmError, match="no munge"):
        start(nodes=1)
    assert set(Path("/tmp").glob("minislurm-*")) == roots
    assert HOSTS.read_text() == before
