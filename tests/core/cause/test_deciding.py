"""The rule that names an event is found without trying all the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import engine
from triage.core.cause.deciding import deciding, preference
from triage.core.events.model import Event, Link, Message, Span, Trace
from triage.core.rules.engine import Engine, Match
from triage.core.rules.lint import event_of
from triage.core.rules.model import On, Role, Rule
from triage.core.rules.ruleset import RuleSet
from triage.files.rules import load

SPAN = Span(0, 0, 1)
TEARDOWN = Rule("x/end", "x", "the end", Role.TEARDOWN, On.TRACE, (), pattern="exit status 1")


def slowly(event: Event) -> Match | None:
    """The best of all matches: the oracle, for events that no word of theirs makes doubtful."""
    found = engine().match(event)
    if isinstance(event, Trace):
        last = len(event.links) - 1
        found = [m for m in found if m.rule.role is not Role.TEARDOWN or m.link == last]
    return min(found, key=preference, default=None)


def examples() -> list[Event]:
    rules = load({}, examples=True).rules
    return [
        event_of(r, e.text, on) for r in rules for e in (*r.matches, *r.ignores) for on in (On.TRACE, On.EXIT)
    ]


def test_it_is_the_best_of_all_that_match() -> None:
    events = examples()
    traces = [event for event in events if isinstance(event, Trace)]
    chained = [
        Trace(SPAN, links=(*a.links, *b.links)) for a, b in zip(traces[::7], traces[3::7], strict=False)
    ]
    assert chained
    for event in (*events, *chained):
        assert deciding(engine(), event) == slowly(event), event


def test_patterns_of_rules_that_could_not_win_are_never_compiled() -> None:
    best = Rule("x/a", "x", "a", Role.ROOT, On.TRACE, (), pattern="memory", specificity=90)
    broken = replace(best, id="x/b", pattern="(", specificity=50)
    event = Trace(SPAN, links=(Link("E", "out of memory"),))
    found = deciding(Engine(RuleSet((best, broken))), event)
    assert found is not None
    assert found.rule is best


@pytest.mark.parametrize(("place", "named"), [(0, False), (1, True)])
def test_the_end_of_a_launched_command_counts_only_where_the_chain_ends_with_it(
    place: int, named: bool
) -> None:
    links = [Link("E", "other"), Link("E", "other")]
    links[place] = Link("E", "exit status 1")
    assert (deciding(Engine(RuleSet((TEARDOWN,))), Trace(SPAN, links=tuple(links))) is not None) == named


def test_slurms_words_quoted_by_a_program_name_nothing() -> None:
    words = "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE TO TIME LIMIT ***"
    said = Message(SPAN, text=words.removeprefix("slurmstepd: error: "), dialect="slurm")
    quoted = Message(SPAN, text=f"grep found: {words}")
    found = deciding(engine(), said)
    assert found is not None
    assert found.rule.id == "timeout/time-limit"
    quoted_found = deciding(engine(), quoted)
    assert quoted_found is None or not quoted_found.rule.scheduler
