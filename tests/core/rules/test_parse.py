from __future__ import annotations

import pytest

from triage.core.rules.model import On, Role
from triage.core.rules.parse import parse
from triage.errors import RuleError

TAXONOMY = """
[[category]]
name = "oom"
title = "GPU memory"
meaning = "GPU memory is exhausted."
rank = 1

[[category]]
name = "none"
title = "no failure"
meaning = "Nothing failed."
rank = 2
failure = false
"""

RULE = """title = "out of memory"
role = "root"
on = ["trace", "message"]
literals = ["ut of memory"]
pattern = '''out of memory: (?P<size>\\d+)'''
specificity = 70
summary = ["no room for {size}", "no room"]
next_steps = ["plain", ["with {size}", "without"]]

[[match]]
text = "RuntimeError: out of memory: 5"
source = "https://example.org/1"

[[ignore]]
text = "RuntimeError: memory"
"""


def mistakes(*files: tuple[str, str]) -> list[str]:
    with pytest.raises(RuleError) as caught:
        parse([("taxonomy.toml", TAXONOMY), *files])
    return caught.value.mistakes


def test_a_rule_has_its_folder_and_name_as_id_and_all_its_fields() -> None:
    ruleset = parse([("taxonomy.toml", TAXONOMY), ("oom/cuda.toml", RULE)])
    rule = ruleset.rules[0]
    assert (rule.id, rule.category, rule.role) == ("oom/cuda", "oom", Role.ROOT)
    assert (rule.on, rule.also_on) == (On.TRACE, (On.MESSAGE,))
    assert rule.summary == "no room for {size}\nno room"
    assert rule.next_steps == ("plain", "with {size}\nwithout")
    assert rule.matches[0].line == 11
    assert ruleset.literals() == ("ut of memory",)


def test_without_examples_the_rest_of_the_rule_is_the_same() -> None:
    files = [("taxonomy.toml", TAXONOMY), ("oom/cuda.toml", RULE)]
    short, full = parse(files, examples=False).rules[0], parse(files).rules[0]
    assert short.matches == ()
    assert (short.pattern, short.next_steps, short.summary) == (full.pattern, full.next_steps, full.summary)


def test_all_mistakes_of_all_files_come_at_once_with_their_lines() -> None:
    found = mistakes(
        ("oom/a.toml", RULE.replace("literals", "literal").replace("70", "700")),
        ("oom/b.toml", RULE.replace('role = "root"', 'role = "rot"')),
    )
    assert found == [
        'oom/a.toml:4: unknown key "literal", did you mean "literals"?',
        'oom/a.toml:1: "literals" is missing: only a rule on traces alone may try every text',
        'oom/a.toml:6: "specificity" must be a whole number from 0 to 100',
        'oom/b.toml:2: "role" cannot be "rot", did you mean "root"?',
    ]


def test_a_key_inside_a_multiline_string_is_no_key() -> None:
    text = RULE.replace("pattern = '''out", "pattern = '''(?x)\nspecificity = 1 | out").replace(
        "= 70", "= -1"
    )
    assert mistakes(("oom/a.toml", text)) == [
        'oom/a.toml:7: "specificity" must be a whole number from 0 to 100'
    ]


def test_a_syntax_error_names_its_line_and_spares_the_other_files() -> None:
    found = mistakes(
        ("oom/a.toml", 'title = "x"\nrole = root\n'), ("oom/b.toml", RULE.replace("title", "titel"))
    )
    assert found[0].startswith("oom/a.toml:2: not valid TOML")
    assert 'oom/b.toml:1: unknown key "titel", did you mean "title"?' in found


def test_an_unknown_category_and_one_that_is_no_failure_are_refused() -> None:
    found = mistakes(("omo/a.toml", RULE), ("none/a.toml", RULE))
    assert 'omo/a.toml:1: unknown category "omo" (the folder\'s name), did you mean "oom"?' in found
    assert any(text.startswith('none/a.toml:1: unknown category "none"') for text in found)


def test_a_rule_that_would_match_everything_is_refused() -> None:
    text = RULE.replace("pattern = '''out of memory: (?P<size>\\d+)'''\n", "")
    assert (
        "oom/a.toml:3: nothing to match: a rule has a pattern; one on traces alone may have exception or frame"
        in (mistakes(("oom/a.toml", text)))
    )


def test_an_edge_to_a_rule_that_does_not_exist_is_refused() -> None:
    edges = '[[edge]]\ncause = "oom"\neffect = ["oom/gpu", "oom/cuda"]\nsame = "jobs"\nwhy = "x"\n'
    assert mistakes(("oom/cuda.toml", RULE), ("causes.toml", edges)) == [
        'causes.toml:4: "same" cannot be "jobs", did you mean "job"?',
        'causes.toml:3: "oom/gpu" is neither a category nor a rule',
    ]


def test_a_users_edges_may_name_shipped_rules_and_his_rules_replace_shipped_ones() -> None:
    shipped = parse([("taxonomy.toml", TAXONOMY), ("oom/cuda.toml", RULE)])
    edges = '[[edge]]\ncause = "oom"\neffect = "nccl/other"\nsame = "job"\nwhy = "x"\n'
    own = parse(
        [("oom/cuda.toml", RULE.replace("= 70", "= 71")), ("oom/mine.toml", RULE), ("causes.toml", edges)],
        taxonomy=shipped.taxonomy,
    )
    merged = shipped.merged(own)
    assert [(rule.id, rule.specificity) for rule in merged.rules] == [("oom/cuda", 71), ("oom/mine", 70)]
    assert [edge.effect for edge in merged.causes] == ["nccl/other"]


@pytest.mark.parametrize(
    "text",
    [
        "title = 5",
        "literals = [5]",
        "on = 5",
        "scheduler = 1",
        "specificity = true",
        "next_steps = 'x'",
        "next_steps = ['a\\nb', [5]]",
        "match = 5",
        "[[match]]\ntext = 5",
        "summary = [[]]",
        "a." * 3000 + "b = 1",
        "x = " + "[" * 5000,
        "\x00",
        "",
    ],
)
def test_any_value_in_any_place_is_a_mistake_not_a_crash(text: str) -> None:
    assert mistakes(("oom/a.toml", text))
