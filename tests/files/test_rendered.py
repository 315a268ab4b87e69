"""The folders of rendered scripts: nodes are hosts whatever they are called, and restarts count in both ways."""

from __future__ import annotations

import pytest

from triage.core.logs.source import Source
from triage.files.layout import sources_of

RUN = "logs/llama-8b-7"


def one(*paths: str) -> Source:
    return sources_of(paths)[0]


@pytest.mark.parametrize("host", ["gpu1", "train2", "127.0.0.1", "node1.localhost", "rank-3"])
def test_the_host_of_a_nodes_folder_is_one_whatever_it_is_called(host: str) -> None:
    found = one(f"{RUN}/attempt-2/node-3-{host}/none_ab12cd34/attempt_0/1/stderr.log")
    assert (found.job, found.attempt, found.node_rank, found.node) == ("7", 2, 3, host)
    assert (found.local_rank, found.rank, found.stream) == (1, None, "err")


def test_the_batch_output_beside_belongs_to_the_same_job() -> None:
    paths = [f"{RUN}.err", f"{RUN}/attempt-0/node-0-a/node.out", "logs/other-9.err"]
    assert [source.job for source in sources_of(paths)] == ["7", "7", None]


def test_a_run_folder_read_by_itself_does_not_take_torchruns_number_for_a_job() -> None:
    assert one("attempt-0/node-0-a/none_12345678/attempt_0/0/stdout.log").job is None


def test_restarts_of_torchrun_come_between_attempts_of_the_job() -> None:
    paths = [
        f"{RUN}/attempt-{attempt}/node-0-a/{rest}"
        for attempt in (0, 1)
        for rest in ("node.err", "r_x/attempt_0/0/stderr.log", "r_x/attempt_1/0/stderr.log")
    ]
    numbers = [source.attempt for source in sources_of(paths)]
    assert numbers == [0, 0, 1, 1000, 1000, 1001]


def test_error_files_and_manifests_are_told_apart() -> None:
    folder = f"{RUN}/attempt-0/node-1-gpu2"
    found = sources_of([f"{folder}/launch.json", f"{folder}/error.json", f"{folder}/node.out"])
    assert [source.kind for source in found] == ["manifest", "error-file", "log"]


def test_other_layouts_are_left_alone() -> None:
    assert one("a-7/attempt-0/rank-1.log").job is None
    assert one("node-1-gpu2/x.log").node is None
