"""Conditions over an artifact: what they mean, what is undecided, and that no text is ever run."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.core.jobs.expression import MOST, fields_of, parse_when
from triage.errors import UsageError

METRICS = {
    "iteration": 500, "lm loss": 2.5, "done": True, "name": "run-1", "nothing": None, "nan": math.nan,
    "eval": {"ppl": [3.5, 4.0], "a b": 1}, "big": 10**40,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("iteration >= 500 and lm_loss < 3", True),
        ("iteration > 500", False),
        ("iteration == 500.0", True),
        ("400 < iteration <= 500", True),
        ("400 < iteration < 500", False),
        ("not iteration < 500", True),
        ("not (iteration < 500 or done)", False),
        ("done", True),
        ("not done", False),
        ("done == true and nothing == null", True),
        ("done != false", True),
        ("name == 'run-1'", True),
        ('name != "run-2"', True),
        ("name < 'run-2'", True),
        ("eval.ppl[1] == 4", True),
        ('eval["a b"] == 1', True),
        ("`lm loss` < 3", True),
        ("iteration > -1e3", True),
        ("big > 1e39", True),
        ("iteration < 3 or iteration > 3 and done", True),
        ("false == done or iteration == 500", True),
    ],
)
def test_conditions_mean_what_they_say(text: str, holds: bool) -> None:
    assert parse_when(text).holds(METRICS).holds is holds


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("loss < 3", ("loss",)),
        ("iteration >= 500 and loss < 3", ("loss",)),
        ("loss < 3 or ppl < 2", ("loss", "ppl")),
        ("not loss < 3", ("loss",)),
        ("name > 3", ("name",)),
        ("done < 3", ("done",)),
        ("iteration", ("iteration",)),
        ("eval.ppl[7] > 1", ("eval.ppl[7]",)),
        ("eval.ppl.x > 1", ("eval.ppl.x",)),
        ("nothing > 1", ("nothing",)),
    ],
)
def test_missing_or_of_another_type_is_undecided_and_named(text: str, missing: tuple[str, ...]) -> None:
    answer = parse_when(text).holds(METRICS)
    assert (answer.holds, answer.missing) == (None, missing)


@pytest.mark.parametrize("text", ["loss < 3 and iteration < 0", "iteration < 0 and loss < 3"])
def test_a_false_part_decides_whatever_is_missing(text: str) -> None:
    assert parse_when(text).holds(METRICS).holds is False


@pytest.mark.parametrize(
    "text",
    [
        "nan > 0", "not nan < 3", "nan == nan", "nan != nan", "nan != 3", "0 < iteration < nan", "nan < 3 or done",
        "done or not (iteration > 3 and nan >= 3)", "iteration < 3 or nan < 3", "iteration > nan",
    ],
)  # fmt: skip
def test_a_comparison_with_nan_leaves_the_whole_undecided(text: str) -> None:
    assert parse_when(text).holds(METRICS).holds is None


def test_a_true_part_decides_an_or() -> None:
    assert parse_when("loss < 3 or iteration == 500").holds(METRICS).holds is True


@pytest.mark.parametrize(
    "text",
    [
        "", "3", "'x'", "iteration >=", "iteration = 500", "iteration >= 500 lm_loss", "(iteration > 1",
        "iteration > 1)", "and", "iteration > 1 and", "__import__('os')", "a.b()", "a[b]", "a; b", "iteration >>= 1",
        "lambda: 1", "`unclosed > 1", "iteration > 1 or or done", "not", "(" * 60 + "done" + ")" * 60, "x" * (MOST + 1),
        "iteration > 12abc", "a + 1 > 2",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_when(text)


@given(st.text(alphabet="abin_.0<>=!()[]'\"` \\\nornotand", max_size=60))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        when = parse_when(text)
    except UsageError:
        return
    assert when.holds({"a": 1}).holds in (True, False, None)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_value_gets_an_answer(value: object) -> None:
    assert parse_when("a.b[0] > 1 and c == 'x'").holds(value).holds in (False, None)


def test_fields_are_named_as_a_condition_writes_them() -> None:
    assert fields_of(METRICS)[:2] == ("iteration", "lm_loss")
    assert fields_of([1]) == ()
