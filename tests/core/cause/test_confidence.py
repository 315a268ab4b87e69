"""What lowers the confidence, one trap each."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import dist_backend, launcher_died, log, oom, stamped, tagged, trace, verdict
from triage.core.cause.clock import UNKNOWN
from triage.core.cause.confidence import confidence_of
from triage.core.cause.incident import Occurrence
from triage.core.cause.outcome import Outcome
from triage.core.cause.rootcause import Selection
from triage.core.cause.verdict import Root
from triage.core.cause.where import Where
from triage.core.events.model import Link, Span, Trace
from triage.core.rules.model import On, Role, Rule

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


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB.", "medium"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.", "high"),
    ],
)
def test_a_line_that_is_no_processs_last_word_is_a_doubt(line: str, expected: str) -> None:
    found = verdict(log("t.log", "[rank3]: " + line, stamped(1), stamped(2)))
    assert (found.category, found.confidence) == ("oom", expected)


def test_a_line_beside_the_exit_of_its_process_is_none() -> None:
    line = "[rank3]: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert verdict(log("t.log", line, launcher_died((3, 1, 77)))).confidence == "high"


def test_a_traceback_that_was_cut_inside_its_message_is_as_good_as_its_words() -> None:
    """Nothing below it is missing that the verdict needs."""
    cut = oom(3)[: oom(3).index(" Process 77")]
    assert verdict(log("t.log", tagged(3, cut))).confidence == "high"


@pytest.mark.parametrize(("complete", "expected"), [(True, "high"), (False, "medium")])
def test_a_traceback_whose_end_is_missing_is_a_doubt(complete: bool, expected: str) -> None:
    rule = Rule("oom/cuda", "oom", "no memory", Role.ROOT, On.TRACE, (), specificity=60)
    event = Trace(
        Span(0, 0, 9), links=(Link("torch.OutOfMemoryError", "CUDA out of memory"),), complete=complete
    )
    told = Occurrence(event, rule, 0, {}, Where(3, attribution="tag"), UNKNOWN)
    outcome = Outcome(True, "oom", True, rule=rule, occurrence=told)
    found = confidence_of(Selection(None), outcome, Root(rank=3, attribution="tag"), frozenset())
    assert found.level == expected
    assert bool(found.doubts) is not complete


def test_nobody_to_blame_for_collective_failures_is_a_doubt() -> None:
    both = (log("rank_0.err", tagged(0, dist_backend())), log("rank_1.err", tagged(1, dist_backend())))
    assert verdict(*both).confidence == "medium"
