"""`--why-not RANK`: each kind of innocence has its own sentence."""

from __future__ import annotations

from tests.core.cause.logs import dist_backend, explained, log, oom, stamped, steps, tagged, trace
from triage.core.cause.whynot import why_not

LOGS = (
    log("rank_0.err", tagged(0, stamped(0)), "using world size: 6, data-parallel size: 6"),
    log("rank_1.err", tagged(1, stamped(600)), tagged(1, dist_backend()), tagged(1, stamped(601))),
    log("rank_2.err", tagged(2, stamped(0)), tagged(2, oom(2)), tagged(2, stamped(1))),
    log("rank_3.err", tagged(3, stamped(60)), tagged(3, trace()), tagged(3, stamped(61))),
    log("rank_4.err", tagged(4, stamped(10)), tagged(4, oom(4)), tagged(4, stamped(11))),
)  # fmt: skip


def said(rank: int) -> str:
    return " / ".join(reason.text for reason in why_not(explained(*LOGS), rank))


def test_the_root_itself_says_that_it_is_the_root() -> None:
    assert said(2).startswith("rank 2 is the root: ")


def test_a_rank_with_the_same_failure_came_later() -> None:
    assert "raised the same failure as the root" in said(4)


def test_a_collective_failure_is_explained_by_an_edge() -> None:
    assert "is explained by the root ({1})" in said(1)


def test_a_later_traceback_comes_after_the_root() -> None:
    assert "comes after the root ({1})" in said(3)


def test_a_silent_rank_has_nothing_against_it() -> None:
    assert said(0) == "rank 0 wrote lines, and none of them tells of a failure"


def test_a_rank_without_lines_is_not_cleared() -> None:
    assert said(5) == "no line of rank 5 was seen: the logs do not clear it; seen were ranks 0-4"


def test_a_rank_beyond_the_world_does_not_exist() -> None:
    assert said(6) == "there is no rank 6: the world has 6"


def test_a_survived_traceback_is_told_as_such() -> None:
    found = explained(log("t.log", steps(1, 5), tagged(3, trace()), steps(6, 20, 6), tagged(1, oom(1))))
    assert "was survived: the run went on" in why_not(found, 3)[0].text


def test_who_only_reported_a_missing_rank_raised_no_failure_of_its_own() -> None:
    found = explained(
        log(
            "rank_0.err",
            tagged(0, stamped(0)),
            "using world size: 3, data-parallel size: 3",
            tagged(0, dist_backend()),
        ),
        log("rank_1.err", tagged(1, dist_backend())),
        log("rank_2.err", tagged(2, stamped(0))),
    )
    assert found.verdict.root is not None
    assert found.verdict.root.rank == 2
    assert "only reported it" in why_not(found, 0)[0].text
    assert "waited for rank 2" in why_not(found, 0)[0].text


def test_a_symptom_without_a_root_waited_for_somebody() -> None:
    found = explained(
        log("rank_0.err", tagged(0, dist_backend())), log("rank_1.err", tagged(1, dist_backend()))
    )
    texts = [reason.text for rank in (0, 1) for reason in why_not(found, rank)]
    assert len(texts) == 2
    assert all("rank" in text for text in texts)
