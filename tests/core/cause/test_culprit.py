"""The silent culprit in the verdict: named where the evidence singles it out, null where it does not."""

from __future__ import annotations

from tests.core.cause.logs import cancelled, log, prefixed, stamped, steps, tagged, trace, verdict, watchdog
from tests.support import Log
from triage.core.cause.verdict import Verdict

WORLD = log("main.out", "using world size: 4, data-parallel size: 4")


def waiting(*ranks: int) -> list[Log]:
    return [log(f"rank_{r}.err", tagged(r, stamped(0)), watchdog(r, 700)) for r in ranks]


def test_the_rank_that_others_waited_for_is_named_with_the_symptom_of_another() -> None:
    found = verdict(*waiting(0, 1, 3), log("rank_2.err", tagged(2, stamped(0))), WORLD)
    assert (found.category, found.rule) == ("nccl", "nccl/watchdog-timeout")
    root = found.root
    assert root is not None
    assert (root.rank, root.ranks, root.attribution) == (2, "2", "inferred")
    assert root.evidence is not None
    assert root.evidence.path == "rank_0.err"
    assert root.time == "12-01T10:11:40.000000"
    assert [row.ranks for row in found.downstream] == ["0-1,3"]
    assert "rank 2" in found.summary


def test_a_culprit_without_any_line_is_named_with_less_confidence() -> None:
    heard = verdict(*waiting(0, 1, 3), log("rank_2.err", tagged(2, stamped(0))), WORLD)
    unheard = verdict(*waiting(0, 1, 3), WORLD)
    assert unheard.root is not None
    assert unheard.root.rank == 2
    assert (heard.confidence, unheard.confidence) == ("high", "low")
    assert any("no line of rank(s) 2 was seen" in reason for reason in unheard.reasons)
    assert unheard.scanned.ranks_missing == "2"


def test_two_equally_good_culprits_are_null() -> None:
    found = verdict(*waiting(0, 3), WORLD)
    assert found.root is not None
    assert (found.root.rank, found.root.node, found.root.attribution) == (None, None, "none")
    assert found.confidence == "low"
    assert any("which of ranks 1-2" in reason for reason in found.reasons)


def test_when_all_wait_nobody_is_named() -> None:
    found = verdict(*waiting(0, 1, 2, 3), WORLD)
    assert found.root is not None
    assert found.root.rank is None
    assert found.confidence != "high"


def test_a_non_nccl_traceback_anywhere_ends_the_search() -> None:
    found = verdict(
        *waiting(0, 1, 3),
        log("rank_2.err", tagged(2, stamped(0)), tagged(2, trace()), tagged(2, stamped(1))),
        WORLD,
    )
    assert found.root is not None
    assert (found.category, found.root.rank, found.root.attribution) == ("python", 2, "tag")


DONE = "[after training is done] datetime: 2026-12-01 10:00:20 "
ENDED = "srun: error: gpu1: task 0: Killed"


def test_the_one_task_that_srun_had_to_end_is_the_one_that_stayed() -> None:
    lines = (
        prefixed(f"{n}: ", tagged(n, trace("torch.distributed.DistBackendError: NCCL error"))) for n in (1, 2)
    )
    found = verdict(log("slurm-1.out", steps(1, 20), DONE, *lines, cancelled(2000, "TIME LIMIT"), ENDED))
    assert found.rule == "hang/at-exit"
    assert found.root is not None
    assert (found.root.rank, found.root.attribution) == (0, "inferred")
    assert any("srun had to end rank 0 only" in reason for reason in found.reasons)


def test_a_task_that_may_be_a_whole_node_is_no_rank_that_stayed() -> None:
    found = verdict(log("slurm-1.out", steps(1, 20), DONE, cancelled(2000, "TIME LIMIT"), ENDED))
    assert found.rule == "hang/at-exit"
    assert found.root is not None
    assert found.root.rank is None


def test_a_rank_with_a_timeout_of_its_own_waited_elsewhere_and_is_not_missing() -> None:
    def late(rank: int, seq: int, op: str, group: str) -> Log:
        text = (
            f"[rank{rank}]:[E1201 10:11:40.0 ProcessGroupNCCL.cpp:607] [{group}Rank {rank}] Watchdog caught collective "
            f"operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=1, NumelOut=4, Timeout(ms)=600000) ran for "
            "600010 milliseconds before timing out."
        )
        return log(f"rank_{rank}.err", text)

    def found(group: str) -> Verdict:
        return verdict(
            late(0, 8121, "ALLREDUCE", group), late(2, 8121, "ALLREDUCE", group), late(1, 8120, "_ALLGATHER_BASE", group)
        )  # fmt: skip

    bare, named = found(""), found("PG ID 0 PG GUID 0(default_pg) ")
    for each in (bare, named):
        assert each.root is not None
        assert each.root.rank == 1
        assert "missing" not in each.summary
        assert "rank 1 timed out in _ALLGATHER_BASE #8120, ranks 0,2 in ALLREDUCE #8121" in each.summary
        assert not any("it stopped first" in step for step in each.next_steps)
    assert (bare.confidence, named.confidence) == ("medium", "high")
    assert any("whether these belong to one process group" in reason for reason in bare.reasons)


def test_a_rank_that_timed_out_at_a_lower_number_of_the_same_operation_fell_behind() -> None:
    found = verdict(
        log("t.log", WORLD.data.decode(), *(watchdog(r, 700, 5 if r == 2 else 7) for r in range(4)))
    )
    assert found.root is not None
    assert found.root.rank == 2
    assert found.summary.startswith(
        "rank 2 fell behind: ranks 0-1,3 waited for rank 2, which was behind them"
    )
    assert not any("it stopped first" in step for step in found.next_steps)
