"""Whose words stand without a label in the log of a launcher that shows one process."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import log, prefixed, trace, verdict
from triage.core.cause.launched import spoken_through
from triage.core.events.model import Exit, Span


def told(*ranks: int, by: str = "composer", source: int = 0) -> list[Exit]:
    return [Exit(Span(source, n, n + 1), by=by, rank=rank, exitcode=1) for n, rank in enumerate(ranks)]


@pytest.mark.parametrize(
    ("ranks", "first"),
    [((0,), 0), ((2, 0, 1, 3), 0), ((8, 9, 10, 11), 8), ((0, 3), 0), ((9, 10, 11), None), ((8, 9, 11), None), ((4,), None)],
)  # fmt: skip
def test_the_first_rank_follows_from_the_ranks_whose_ends_are_told(
    ranks: tuple[int, ...], first: int | None
) -> None:
    assert spoken_through(told(*ranks)) == ({} if first is None else {0: first})


def test_other_launchers_show_all_their_processes() -> None:
    assert spoken_through(told(0, 1, by="torchrun")) == {}


def test_a_rank_that_waited_for_another_ones_file_is_downstream_of_it() -> None:
    waited = trace(
        "RuntimeError: Index file s3://b/index.json -> /tmp/d/index.json took too long to download, bailing out",
        "wait_for_file_to_exist",
        "/usr/lib/python3/dist-packages/streaming/base/util.py",
    )
    failed = trace(
        "RuntimeError: Failed to download s3://b/index.json -> /tmp/d/index.json. Got errors:",
        "_download_file",
        "/usr/lib/python3/dist-packages/streaming/base/stream.py",
    )
    exits = [
        f"Global rank {n} (PID {40 + n}) exited with code 1\n----------Begin global rank {n} STDERR----------\n{waited}\n"
        f"----------End global rank {n} STDERR----------"
        for n in (1, 2)
    ]
    found = verdict(
        log("c.log", failed, "ERROR:composer.cli.launcher:Rank 0 crashed with exit code 1.", *exits)
    )
    assert found.root is not None
    assert (found.root.rank, found.root.attribution) == (0, "inferred")
    assert "Failed to download" in found.root.message
    assert [d.ranks for d in found.downstream] == ["1-2"]


def test_only_those_that_waited_are_left_to_speak() -> None:
    waited = trace(
        "TimeoutError: Timed out waiting for /shared/step_100.done to be created",
        "wait_for_file",
        "/opt/barrier.py",
    )
    found = verdict(log("a.log", prefixed("[rank3]: ", waited)))
    assert found.root is not None
    assert found.rule == "data/waited-for-file"
    assert found.confidence != "high"
