"""Grouping over ranks: the same in any order, and which rank is the first."""

from __future__ import annotations

import itertools
import random
import re

from triage.core.cause.clock import UNKNOWN, Bounds
from triage.core.cause.incident import Incident, Occurrence, fingerprint, group, masked
from triage.core.cause.where import Where
from triage.core.events.model import Exit, Frame, Link, Span, Trace
from triage.core.rules.model import On, Role, Rule

RULE = Rule("python/exception", "python", "Python exception", Role.ROOT, On.TRACE, ())
OTHER = Rule("oom/cuda", "oom", "no memory", Role.ROOT, On.TRACE, ())


def raised(
    rank: int | None, bounds: Bounds = UNKNOWN, *, source: int | None = None, place: int = 0, node: str | None = None,
    message: str = "sample 7 is broken", function: str = "forward", exception: str = "app.errors.BadSample", rule: Rule = RULE,
) -> Occurrence:  # fmt: skip
    span = Span(rank or 0 if source is None else source, place, place + 9)
    link = Link(exception, message, (Frame("/a/model.py", 1, function),))
    return Occurrence(Trace(span, links=(link,)), rule, 0, {}, Where(rank, None, node), bounds)


def only(*occurrences: Occurrence) -> Incident:
    found = group(occurrences)
    assert len(found) == 1
    return found[0]


def test_numbers_paths_and_module_names_do_not_split_an_incident() -> None:
    one = raised(0, message="sample 7 at 0x7ffe is broken")
    other = raised(1, message="sample 12345678 at 0x11 is broken", exception="BadSample")
    assert fingerprint(one) == fingerprint(other)
    assert only(one, other).ranks == {0, 1}


def test_another_function_rule_or_type_is_another_incident() -> None:
    base = fingerprint(raised(0))
    assert base != fingerprint(raised(0, function="backward"))
    assert base != fingerprint(raised(0, rule=OTHER))
    assert base != fingerprint(raised(0, exception="KeyError"))


def test_exits_group_by_how_they_ended_not_by_their_text() -> None:
    killed = [
        Occurrence(
            Exit(Span(0, n, n + 1), exitcode=-9, signal=9, reason=f"PID {n}"),
            RULE,
            None,
            {},
            Where(n),
            UNKNOWN,
        )
        for n in range(3)
    ]
    assert only(*killed).count == 3


def test_the_order_of_reading_changes_nothing() -> None:
    events = [
        raised(3, Bounds(5.0, 6.0)),
        raised(1, Bounds(9.0, 9.5)),
        raised(2, rule=OTHER),
        raised(0, Bounds(5.5, 8.0), function="backward"),
    ]
    expected = [(i.fingerprint, [o.where.rank for o in i.occurrences]) for i in group(events)]
    for shuffled in itertools.permutations(events):
        assert [(i.fingerprint, [o.where.rank for o in i.occurrences]) for i in group(shuffled)] == expected


def test_the_first_rank_is_the_first_in_time_not_the_lowest() -> None:
    found = only(raised(0, Bounds(10.0, 11.0)), raised(7, Bounds(0.0, 1.0)))
    assert found.first.where.rank == 7
    assert found.ordered


def test_overlapping_times_name_the_lowest_rank_and_admit_it() -> None:
    found = only(raised(2, Bounds(0.0, 12.0)), raised(7, Bounds(0.0, 3.0)))
    assert found.first.where.rank == 2
    assert not found.ordered


def test_unknown_times_name_the_lowest_rank_and_admit_it() -> None:
    found = only(raised(7), raised(2))
    assert found.first.where.rank == 2
    assert not found.ordered


def test_a_second_between_two_hosts_is_within_their_clocks_skew() -> None:
    early, late = Bounds(0.0, 0.0), Bounds(1.0, 1.0)
    assert not only(raised(7, early, node="a"), raised(2, late, node="b")).ordered
    assert only(raised(7, early, node="a"), raised(2, late, node="a")).ordered


def test_one_streams_own_order_stands_above_its_stamps() -> None:
    found = only(
        raised(5, Bounds(50.0, 50.0), source=0, place=10), raised(1, Bounds(1.0, 1.0), source=0, place=900)
    )
    assert found.first.where.rank == 5
    assert found.ordered


def test_ranks_that_are_not_known_count_together_as_one() -> None:
    found = only(raised(None), raised(None, place=50), raised(4))
    assert found.count == 2
    assert found.ranks == {4}


def test_a_text_remembered_by_its_digits_is_masked_as_by_itself() -> None:
    rng = random.Random(7)
    varying = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|\d+")
    parts = (
        "0x",
        "0",
        "7",
        "12",
        "abcdef",
        "beefcafe",
        "x",
        "X1",
        " ",
        "-",
        "_",
        ".",
        "\u0664",
        "rank ",
        "é",
        "10x3",
    )
    for _ in range(3000):
        text = "".join(rng.choices(parts, k=rng.choice((3, 9, 60, 400))))
        assert masked(text) == varying.sub("#", text)[:200]
