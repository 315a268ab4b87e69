"""An answer that is remembered for texts alike but for digits is the one that would be found."""

from __future__ import annotations

import pytest

from tests.support import ruleset
from triage.core.events.model import Event, Link, Message, Span, Trace
from triage.core.rules.engine import Engine
from triage.core.rules.model import On, Rule
from triage.core.rules.shape import LONGEST, is_blind, shape

OTHER_DIGITS = [str.maketrans("0123456789", digits) for digits in ("9876543210", "1111111111", "0000000000")]
RULES = [rule for rule in ruleset().rules if rule.matches]


def events(rule: Rule) -> list[Event]:
    found: list[Event] = []
    for example in (*rule.matches, *rule.ignores):
        for text in (example.text, *(example.text.translate(digits) for digits in OTHER_DIGITS)):
            head, _, message = text.partition(": ")
            traced = rule.on is On.TRACE
            found.append(
                Trace(Span(0, 0, 1), links=(Link(head, message),))
                if traced
                else Message(Span(0, 0, 1), text=text)
            )
    return found


def test_examples_with_other_digits_match_as_if_nothing_were_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = [event for rule in RULES for event in events(rule)]
    remembering, forgetful = (Engine(ruleset(), timeout_s=5) for _ in range(2))
    answers = [remembering.match(event) for event in seen]
    monkeypatch.setattr("triage.core.rules.engine.is_blind", lambda _: False)
    assert [forgetful.naive_match(event) for event in seen] == answers


def test_shape_is_equal_for_other_digits_and_for_nothing_else() -> None:
    assert shape("rank 17 of 64") == shape("rank 99 of 10")
    assert shape("rank 17") != shape("rank 7")
    assert shape("rank é1") != shape("rank è1")
    assert shape("x" * (LONGEST + 1)) is None


@pytest.mark.parametrize(
    "pattern", [r"rank (\d{1,9}) of [0-9]+", r"(?i)out of memory", r"[^0-9a-f]x", r"a{,3}b{2}\w+"]
)
def test_any_digit_is_as_good_as_another(pattern: str) -> None:
    assert is_blind(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["Errno 28", r"exitcode -(?:9|137)", "[1-9]", "[a-z0-9]", r"(?P<a>\d)(?P=a)", r"(\d)\1", r"\{3}", r"\[0-9", "[x{3}]"],
)  # fmt: skip
def test_what_may_look_at_a_digits_value_is_asked_each_time(pattern: str) -> None:
    assert not is_blind(pattern)
