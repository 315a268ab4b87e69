"""Which failure is the root: first in time across files, collectives downstream, doubts said aloud."""

from __future__ import annotations

import itertools

import pytest

from tests.core.cause.logs import (
    OOM,
    dist_backend,
    launcher_died,
    log,
    oom,
    stamped,
    steps,
    tagged,
    trace,
    verdict,
    watchdog,
)
from tests.support import Log
from triage.core.cause.verdict import Verdict

IMPORT = "ModuleNotFoundError: No module named 'flash_attn'"


def rank_file(rank: int, *parts: str) -> Log:
    return log(f"rank-{rank}.err", *parts)


def during(rank: int, said: str, start: float, end: float) -> Log:
    """A rank's file in which a traceback stands between two stamps."""
    return rank_file(rank, stamped(start), tagged(rank, said), stamped(end))


def chosen(found: Verdict) -> tuple[str, int | None]:
    assert found.root is not None
    return found.category, found.root.rank


def downstream_ranks(found: Verdict) -> set[str]:
    return {row.ranks for row in found.downstream}


def says(found: Verdict, words: str) -> bool:
    return any(words in reason for reason in found.reasons)


def test_a_root_in_the_last_file_beats_collective_failures_in_all_files_before_it() -> None:
    found = verdict(*(during(r, dist_backend(), 600, 601) for r in range(4)), during(7, oom(7), 0, 1))
    assert chosen(found) == ("oom", 7)
    assert downstream_ranks(found) == {"0-3"}
    assert found.confidence == "high"


@pytest.mark.parametrize("early", [0, 7])
def test_the_first_in_time_is_the_root_whichever_file_it_is_in(early: int) -> None:
    late = 7 - early
    found = verdict(
        *sorted((during(early, oom(early), 0, 1), during(late, trace(IMPORT), 60, 61)), key=lambda x: x.path)
    )
    assert chosen(found) == ("oom", early)
    assert says(found, "is the first in time")


def test_no_order_of_the_files_changes_the_root() -> None:
    logs = [during(0, dist_backend(), 600, 601), during(1, trace(IMPORT), 60, 61), during(2, oom(2), 0, 1)]
    for shuffled in itertools.permutations(logs):
        assert chosen(verdict(*shuffled)) == ("oom", 2)


def test_within_the_skew_of_two_clocks_the_order_is_not_known_and_lowers_the_confidence() -> None:
    found = verdict(during(2, trace(IMPORT), 11, 11.3), during(5, oom(5), 10, 10.2))
    assert found.confidence == "medium"
    assert says(found, "time alone does not order them")
    assert [row.category for row in found.unexplained] == ["import"]


def test_one_files_clock_needs_no_tolerance() -> None:
    found = verdict(
        log(
            "gpu1.err",
            stamped(10),
            tagged(5, oom(5)),
            stamped(10.2),
            stamped(11),
            tagged(2, trace(IMPORT)),
            stamped(11.3),
        )
    )
    assert chosen(found) == ("oom", 5)
    assert found.confidence == "high"
    assert says(found, "is the first in time")


def test_failures_without_any_stamp_are_not_ordered_by_their_files() -> None:
    found = verdict(rank_file(0, tagged(0, trace(IMPORT))), rank_file(7, tagged(7, oom(7))))
    assert found.confidence == "medium"
    assert says(found, "time alone does not order them")
    assert len(found.unexplained) == 1


def test_order_in_one_stream_stands_above_its_stamps() -> None:
    found = verdict(
        log(
            "rank_3.err",
            stamped(100),
            tagged(3, oom(3)),
            stamped(100.1),
            stamped(5),
            tagged(3, trace()),
            stamped(6),
        )
    )
    assert chosen(found) == ("oom", 3)


def test_equal_failures_without_order_name_the_lowest_rank_and_say_so() -> None:
    found = verdict(rank_file(5, tagged(5, oom(5))), rank_file(2, tagged(2, oom(2))))
    assert chosen(found) == ("oom", 2)
    assert found.root is not None
    assert found.root.ranks == "2,5"
    assert says(found, "time does not order ranks 2,5")


def test_equal_failures_in_order_name_the_first_rank() -> None:
    found = verdict(during(2, oom(2), 60, 61), during(5, oom(5), 0, 1))
    assert chosen(found) == ("oom", 5)
    assert not says(found, "does not order")


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4490",
        "RuntimeError: Timed out waiting 15000ms for recv operation to complete",
        "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//timeline_0",
        "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0.",
        "torch.distributed.DistNetworkError: Connection reset by peer",
        "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by"
        " key '0', but store->get('0') got error: Connection reset by peer",
    ],
)
def test_what_only_reports_a_lost_peer_is_downstream_even_when_it_is_first(said: str) -> None:
    found = verdict(during(0, trace(said, "all_reduce"), 0, 1), during(7, trace(IMPORT), 60, 61))
    assert chosen(found) == ("import", 7)
    assert downstream_ranks(found) == {"0"}


def test_only_collective_failures_are_nccl_and_nobody_is_guessed() -> None:
    found = verdict(during(0, dist_backend(), 0, 1), during(1, dist_backend(), 0, 1))
    assert chosen(found) == ("nccl", None)
    assert found.root is not None
    assert found.root.attribution == "none"
    assert found.confidence != "high"
    assert says(found, "no Python traceback that is not NCCL's own")


def test_memory_that_ran_out_inside_nccl_is_oom() -> None:
    said = (
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled"
        " cuda error, NCCL version 2.19.3\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
        "Failed to CUDA calloc async 608 bytes"
    )
    found = verdict(rank_file(0, tagged(0, trace(said))), rank_file(1, tagged(1, dist_backend())))
    assert chosen(found) == ("oom", 0)
    assert downstream_ranks(found) == {"1"}


def test_an_out_of_memory_that_a_collective_error_wraps_is_the_root_of_its_chain() -> None:
    said = trace(OOM.format(gpu=3)) + (
        "\n\nDuring handling of the above exception, another exception occurred:\n\n" + dist_backend()
    )
    found = verdict(log("rank_3.err", said))
    assert chosen(found) == ("oom", 3)
    assert found.root is not None
    assert found.root.exception == "torch.OutOfMemoryError"
    assert len(found.root.chain) == 2


def test_a_watchdog_that_fires_after_a_python_error_is_downstream() -> None:
    found = verdict(
        during(3, trace("ValueError: bad luck"), 0, 1),
        *(rank_file(r, stamped(0), watchdog(r, 700)) for r in range(3)),
    )
    assert chosen(found) == ("python", 3)
    assert downstream_ranks(found) == {"0-2"}


def test_torchruns_root_cause_is_overruled_with_a_reason() -> None:
    found = verdict(
        log(
            "t.log",
            steps(1, 5),
            tagged(3, oom(3)),
            tagged(0, dist_backend()),
            launcher_died((0, 1, 70), (3, 1, 73)),
        )
    )
    assert chosen(found) == ("oom", 3)
    assert says(found, "torchrun's summary names rank 0 as the first failure")


def test_torchruns_agreement_is_a_reason_too() -> None:
    found = verdict(log("t.log", steps(1, 5), tagged(3, oom(3)), launcher_died((3, 1, 73), (0, 1, 70))))
    assert says(found, "torchrun's summary names rank 3 too")


def test_the_launchers_own_traceback_is_never_the_root() -> None:
    found = verdict(log("t.log", tagged(3, trace("ValueError: bad luck")), launcher_died((3, 1, 73))))
    assert chosen(found) == ("python", 3)
    assert {row.rule for row in found.downstream} == {"launcher/child-failed"}


def test_a_logged_traceback_does_not_outrun_the_one_that_killed() -> None:
    logged = (
        "WARNING:app:could not read the cache: Traceback (most recent call last):\n"
        + trace(IMPORT).partition("\n")[2]
    )
    found = verdict(
        log("rank_0.err", stamped(0), logged, stamped(1), stamped(50), trace(OOM.format(gpu=0)), stamped(51))
    )
    assert chosen(found) == ("oom", 0)


def test_each_incident_is_in_exactly_one_place() -> None:
    found = verdict(
        during(0, dist_backend(), 600, 601), during(1, trace(IMPORT), 60, 61), during(2, oom(2), 0, 1),
        during(3, dist_backend(), 600, 602),
    )  # fmt: skip
    assert {(row.category, row.ranks) for row in found.downstream} == {("nccl", "0,3"), ("import", "1")}
    assert found.unexplained == ()
