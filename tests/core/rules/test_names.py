from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ruleset
from triage.core.rules.names import listed

LISTS = [rule.exception for rule in ruleset().rules if listed(rule.exception) is not None]
NAMES = [
    "ValueError",
    "builtins.ValueError",
    "a.b.KeyError",
    "a.",
    "",
    ".",
    "ValueErrors",
    "a\n.ValueError",
    "E\n",
]


def fits(pattern: str, exception: str) -> bool:
    """As the engine does it for patterns of any form: the oracle."""
    last = exception.rpartition(".")[2]
    return bool(exception) and any(regex.fullmatch(pattern, name) for name in (exception, last))


@pytest.mark.parametrize(
    "pattern",
    [
        "a|b",
        r"(?:.*\.)?A|B",
        r"(?:.*\.)?(?:A\w*|B)",
        r"torch\.OutOfMemoryError",
        ".+",
        "(?:A|B",
        "A)",
        "(?:A|)",
        "",
    ],
)
def test_what_is_no_plain_list_of_names_is_left_to_the_pattern(pattern: str) -> None:
    assert listed(pattern) is None


def test_the_shipped_rules_have_such_lists() -> None:
    assert len(LISTS) > 20


@pytest.mark.parametrize("pattern", ["ValueError", "(?:ValueError|KeyError)", r"(?:.*\.)?ValueError", *LISTS])
def test_looking_a_name_up_is_the_same_as_matching_it(pattern: str) -> None:
    names = listed(pattern)
    assert names is not None
    for exception in (*NAMES, *names, *(f"x.{name}" for name in names)):
        assert (exception.rpartition(".")[2] in names) == fits(pattern, exception), exception


@given(st.text(alphabet="ABE_.1é\n", max_size=8))
def test_looking_a_name_up_is_the_same_whatever_the_name(exception: str) -> None:
    pattern = r"(?:.*\.)?(?:A|B|E_1|é)"
    names = listed(pattern)
    assert names is not None
    assert (exception.rpartition(".")[2] in names) == fits(pattern, exception)
