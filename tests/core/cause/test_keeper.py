"""What is kept of a source stays small, and keeps what matters."""

from __future__ import annotations

from tests.support import engine
from triage.core.cause.keeper import ALIKE, KINDS, STAMPS_KEPT, STEPS_KEPT, Keeper, in_brief
from triage.core.events.model import Collective, Event, Exit, Interval, Link, Message, Progress, Span, Trace
from triage.core.logs.record import Stamp, Tags
from triage.core.values import replace


def trace(place: int, message: str, rank: int | None = None) -> Trace:
    return Trace(Span(0, place, place + 5), Tags(rank=rank), links=(Link("ValueError", message),))


def keeper() -> Keeper:
    return Keeper(engine())


def test_of_a_storm_the_first_ones_and_the_last_are_kept() -> None:
    kept = keeper()
    kept.add(trace(10 * n, f"sample {n} is broken") for n in range(5000))
    places = [k.event.span.first for k in kept.kept()]
    assert places == [0, 10, 20, 30, 49990]
    assert len(places) == ALIKE + 1


def test_a_rare_failure_inside_a_storm_is_not_lost() -> None:
    kept = keeper()
    kept.add(trace(10 * n, "loss is nan" if n == 2500 else f"sample {n} is broken") for n in range(5000))
    assert 25000 in [k.event.span.first for k in kept.kept()]


def test_each_rank_keeps_its_own_first() -> None:
    kept = keeper()
    kept.add(trace(10 * n, "broken", rank=n % 64) for n in range(5000))
    assert {k.event.tags.rank for k in kept.kept()} == set(range(64))


def test_ever_new_failures_do_not_grow_without_bound() -> None:
    kept = keeper()
    kept.add(Exit(Span(0, n, n + 1), by="srun", pid=n, exitcode=1) for n in range(KINDS + 500))
    places = [k.event.span.first for k in kept.kept()]
    assert len(places) == KINDS + 1
    assert places[-1] == KINDS + 499


def test_a_closed_source_says_what_the_open_one_said_and_keeps_the_latest_stamps() -> None:
    kept = keeper()
    stamped = (Interval(at=Stamp(str(n), float(n))) for n in range(STAMPS_KEPT + 44))
    kept.add(Progress(Span(0, n, n + 1), when=when, iteration=n) for n, when in enumerate(stamped))
    kept.add(trace(10_000 * n, f"sample {n} is broken") for n in range(50))
    holding = kept.holding()
    assert list(holding.kept) == list(kept.kept())
    assert [stamp.text for stamp in holding.stamps] == [str(n) for n in range(44, STAMPS_KEPT + 44)]


def test_of_iterations_the_last_ones_are_kept() -> None:
    kept = keeper()
    kept.add(Progress(Span(0, n, n + 1), iteration=n) for n in range(10_000))
    steps = [k.event for k in kept.kept()]
    assert STEPS_KEPT <= len(steps) <= 2 * STEPS_KEPT
    assert steps[-1].span.first == 9999


def test_lines_that_no_rule_knows_are_not_kept() -> None:
    kept = keeper()
    kept.add([Message(Span(0, 0, 5), text="all is well")])
    assert kept.kept() == []


def test_a_python_warning_is_no_failure_whatever_its_words() -> None:
    kept = keeper()
    text = "/a/b.py:3: UserWarning: *** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE TO TIME LIMIT ***"
    kept.add([Message(Span(0, 0, 5), text=text)])
    assert kept.kept() == []
    kept.add([Message(Span(0, 0, 5), text=text.partition("Warning: ")[2])])
    assert [k.deciding and k.deciding.rule.id for k in kept.kept()] == ["timeout/time-limit"]


def test_the_latest_stamps_are_remembered_of_either_axis() -> None:
    kept = keeper()
    kept.add([Message(Span(0, 0, 5), when=Interval(at=Stamp("local", 10.0)), text="a")])
    kept.add([Message(Span(0, 9, 12), when=Interval(at=Stamp("utc", 99.0, utc=True)), text="b")])
    assert [stamp.text for stamp in kept.stamps] == ["local", "utc"]


def test_a_cause_in_the_chain_decides_over_the_symptom_that_wraps_it() -> None:
    kept = keeper()
    chain = (
        Link("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB."),
        Link("torch.distributed.DistBackendError", "NCCL error: remote process exited", relation="context"),
    )
    kept.add([Trace(Span(0, 0, 5), links=chain)])
    (one,) = kept.kept()
    assert one.deciding is not None
    assert (one.deciding.rule.category, one.deciding.link) == ("oom", 0)


TIMED_OUT = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE)"


def brief_places(*events: Event) -> list[int]:
    kept = keeper()
    kept.add(events)
    return [k.event.span.first for k in in_brief(kept.kept())]


def said(place: int, text: str, rank: int | None = 3) -> Message:
    return Message(Span(0, place, place + 90), Tags(rank=rank), text=text, level="E", dialect="glog")


def test_in_brief_a_process_says_a_thing_once_until_it_says_it_later_again() -> None:
    again = "terminate called\n  what():  " + TIMED_OUT
    places = brief_places(
        said(0, TIMED_OUT), said(100, TIMED_OUT + " again"), said(200, again, None), said(9_000, TIMED_OUT)
    )
    assert places == [0, 9_000]


def test_in_brief_what_another_process_says_stays() -> None:
    assert brief_places(said(0, TIMED_OUT), said(100, TIMED_OUT, 4), said(200, TIMED_OUT, 5)) == [0, 100, 200]


def test_in_brief_another_collective_stays() -> None:
    one = Collective(Span(0, 0, 90), what="timeout", seq=41)
    places = brief_places(
        one, replace(one, span=Span(0, 100, 190), seq=42), replace(one, span=Span(0, 200, 290))
    )
    assert places == [0, 100]


def test_in_brief_the_last_iterations_before_and_behind_a_failure_stay() -> None:
    steps = [Progress(Span(0, n, n + 1), iteration=n) for n in (0, 10, 20, 40, 50, 60)]
    assert brief_places(*steps[:3], trace(30, "broken"), *steps[3:]) == [10, 20, 30, 50, 60]
