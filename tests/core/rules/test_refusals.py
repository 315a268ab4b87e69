"""Refused settings against internal errors: what frameworks' own checks say, drawn at random and labelled by reading.

`data/refusals.jsonl` holds the place and the words of 390 `raise` and `assert` statements of 30 training frameworks.
`is` says what would be to change when they fail: a setting of the user's, or the code. The line between them is not
sharp, so the tests demand shares and, where it counts, certainty.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from triage.core.rules.engine import Engine
from triage.core.rules.lint import event_of
from triage.core.rules.model import SUGGESTIVE, On, Rule
from triage.core.rules.parse import parse
from triage.files.rules import read_folder, shipped_folder

LINES = (Path(__file__).parent / "data" / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]


@cache
def best(what: str) -> list[Rule]:
    """The rule that speaks for each statement of this kind."""
    rules = parse(read_folder(shipped_folder()))
    engine = Engine(rules, timeout_s=2.0)
    texts = [row["text"] for row in ROWS if row["is"] == what]
    return [engine.match(event_of(rules.rules[0], text, On.TRACE))[0].rule for text in texts]


def share(found: list[Rule], category: str) -> float:
    return sum(rule.category == category for rule in found) / len(found)


def test_most_refused_settings_are_config() -> None:
    assert share(best("config"), "config") >= 0.8


def test_few_internal_errors_are_config() -> None:
    assert share(best("python"), "config") <= 0.06


def test_an_internal_error_is_hardly_ever_surely_config() -> None:
    sure = [rule.id for rule in best("python") if rule.category == "config" and rule.specificity > SUGGESTIVE]
    assert len(sure) <= 3, sure


def test_the_statements_are_many_and_of_both_kinds() -> None:
    assert min(len(best("config")), len(best("python"))) >= 150
