from __future__ import annotations

import pytest

from triage.core.events.model import Exit, Span
from triage.core.rules import texts
from triage.core.rules.lint import exit_from_example, lint
from triage.core.rules.parse import parse
from triage.core.rules.ruleset import Category

TAXONOMY = {"oom": Category("oom", "", "", 1)}

GOOD = """title = "out of memory"
role = "root"
on = "message"
literals = ["ut of memory"]
pattern = 'out of memory: (?P<size>[0-9]+)'
summary = ["no room for {size}", "no room"]
next_steps = ["lower {micro_batch_size}"]

[[match]]
text = "out of memory: 5"
source = "https://example.org/1"

[[ignore]]
text = "out of memory soon"
"""


def remarks(text: str, *, shipped: bool = True) -> list[str]:
    sources = [("oom/a.toml", text)]
    found = lint(parse(sources, taxonomy=TAXONOMY), sources, names=("micro_batch_size",), shipped=shipped)
    return [f"{remark}{'' if remark.error else ' (note)'}" for remark in found]


def test_a_good_rule_has_no_remarks() -> None:
    assert remarks(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("memory: (", "memory: ((", 'oom/a.toml:5: "pattern" is not a valid regular expression: '),
        (
            "out of memory: (?P<size>[0-9]+)",
            "(?P<size>[0-9]*)",
            'oom/a.toml:5: "pattern" matches the empty text',
        ),
        ('"out of memory: 5"', '"out of memory"', "oom/a.toml:10: the rule does not match this example"),
        ("memory soon", "memory: 7", "oom/a.toml:14: the rule matches this near miss"),
        (
            '["ut of memory"]',
            '["ut of memories"]',
            "oom/a.toml:10: none of the literals stands in this example",
        ),
        ('["ut of memory"]', '["emory"]', 'oom/a.toml:4: literal "emory" contains no anchor'),
        ("{micro_batch_size}", "{batch}", 'oom/a.toml:7: "next_steps" uses {batch}, which no group'),
        (', "no room"]', "]", "oom/a.toml:6: the last summary must do without names"),
        (
            'source = "https://example.org/1"\n',
            "",
            "oom/a.toml:1: no [[match]] example says where it was seen",
        ),
    ],
)
def test_each_mistake_is_told_with_the_line_of_its_key(old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    found = remarks(GOOD.replace(old, new))
    assert any(remark.startswith(sentence) for remark in found), found


def test_missing_examples_are_mistakes() -> None:
    found = remarks(GOOD.partition("[[ignore]]")[0])
    assert found == ["oom/a.toml:1: there is no [[ignore]] example"]


def test_what_only_shipped_rules_must_do_is_a_note_for_a_user() -> None:
    found = remarks(GOOD.replace('["ut of memory"]', '["emory"]'), shipped=False)
    assert [remark.endswith("(note)") for remark in found] == [True]


def test_a_raw_prefix_stands_in_for_literals_without_an_anchor() -> None:
    assert remarks(GOOD.replace('["ut of memory"]', '["emory"]\nraw = "NCCL WARN"')) == []


@pytest.mark.parametrize(
    "event",
    [
        Exit(Span(0, 0, 1), by="torchrun", exitcode=-9, reason="Signal 9 (SIGKILL) received by PID 7"),
        Exit(Span(0, 0, 1), by="torchrun", exitcode=-15, victim=True),
        Exit(Span(0, 0, 1), by="srun", ranks=(1,), reason="Out Of Memory"),
        Exit(Span(0, 0, 1), by="srun", ranks=(0, 3), exitcode=1),
    ],
)
def test_an_exit_example_reads_back_as_what_it_shows(event: Exit) -> None:
    assert texts.of_exit(exit_from_example(texts.of_exit(event))) == texts.of_exit(event)
