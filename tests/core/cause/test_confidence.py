"""What lowers the confidence, one trap each."""

from __future__ import annotations

from tests.core.cause.logs import OOM, dist_backend, log, oom, stamped, tagged, trace, verdict

WORLD = "using world size: 4, data-parallel size: 4"
IMPORT = trace("ModuleNotFoundError: No module named 'flash_attn'")


def test_a_known_rank_with_all_explained_is_high() -> None:
    assert verdict(log("t.log", tagged(3, oom(3)), tagged(0, dist_backend()))).confidence == "high"


def test_a_traceback_that_only_the_fallback_knows_is_never_high() -> None:
    assert verdict(log("t.log", tagged(3, trace()))).confidence == "medium"


def test_an_unknown_rank_and_an_unknown_exception_are_two_doubts() -> None:
    assert verdict(log("t.log", trace())).confidence == "low"


def test_another_cause_that_nothing_orders_is_one_doubt_not_two() -> None:
    found = verdict(log("rank_5.err", tagged(5, oom(5))), log("rank_2.err", tagged(2, IMPORT)))
    assert found.confidence == "medium"


def test_ranks_without_a_line_are_a_doubt() -> None:
    files = [log("rank_0.err", tagged(0, stamped(0)), WORLD), log("rank_1.err", tagged(1, oom(1)))]
    whole = [
        *files,
        log("rank_2.err", tagged(2, dist_backend())),
        log("rank_3.err", tagged(3, dist_backend())),
    ]
    assert (verdict(*files).confidence, verdict(*whole).confidence) == ("medium", "high")


def test_a_traceback_that_was_cut_before_its_exception_is_a_doubt() -> None:
    """The log ends in the middle; the message above it is what is left."""
    cut = oom(3).rpartition("torch.OutOfMemoryError")[0]
    assert verdict(log("t.log", tagged(3, cut))).confidence == "low"
    assert verdict(log("t.log", tagged(3, cut + OOM.format(gpu=3)))).confidence == "high"


def test_nobody_to_blame_for_collective_failures_is_a_doubt() -> None:
    both = (log("rank_0.err", tagged(0, dist_backend())), log("rank_1.err", tagged(1, dist_backend())))
    assert verdict(*both).confidence == "medium"
