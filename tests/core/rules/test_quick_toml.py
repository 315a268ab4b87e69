from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.core.rules import quick_toml
from triage.files.rules import load

TRAPS = [
    "a = 'it''s'",
    'a = ""',
    'a = """\nx"""',
    "a = '''\nx'y''z'''",
    "a = '''x''''",
    "a = '''x'''''",
    "a = '''x''''''",
    "a = ''''x'''",
    "a = ['''x'''', 'y']",
    "a = ''''''",
    'a = "\\u0041"',
    'a = "\\x"',
    'a = "x\\\\"',
    "a = 1\na = 2",
    "a = 1 b = 2",
    "a = 1.5",
    "a = 01",
    "a = 1_000",
    "a = +1",
    "a = 1979-05-27",
    "a = 07:32:00",
    "a = truely",
    "a.b = 1",
    "a = [1,, 2]",
    "a = [1 2]",
    "a = [1, # c\n 2,\n]",
    "a = [[1], ['x']]",
    "a = {b = 1}",
    "[a]\nb = 1",
    "[[a]]\nb = 1\n[[a]]\nb = 2",
    "a = [1]\n[[a]]\nb = 1",
    "a = []\n[[a]]\nb = 1",
    "a = 1\n[[a]]",
    "[[a]] b = 1",
    "[[ a ]]",
    "a = 1\r\nb = 2",
    "a = 1\rb = 2",
    "a = 'x\ty'",
    "a = 'x\x7fy'",
    "a = 1 # c\x00",
    "a = 1 # \x7f",
    "# only\r\n",
    "a =\n1",
    "a\n= 1",
    "'a' = 1",
    "ä = 1",
    "1 = 1",
    "a = 99999999999999999999",
]


def outcome(reader: object, text: str) -> object:
    try:
        return reader(text)  # type: ignore[operator]
    except tomllib.TOMLDecodeError as error:
        return str(error)


@pytest.mark.parametrize("text", TRAPS)
def test_each_trap_gives_what_tomllib_gives(text: str) -> None:
    assert outcome(quick_toml.loads, text) == outcome(tomllib.loads, text)


@given(
    st.lists(st.sampled_from([*TRAPS, "'", '"', "'''", "[", "]", "\n", ",", "#", "b", " = ", "\\n"])).map(
        "".join
    )
)
def test_any_mixture_gives_what_tomllib_gives(text: str) -> None:
    assert outcome(quick_toml.loads, text) == outcome(tomllib.loads, text)


def test_no_shipped_rule_needs_tomllib_at_start_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(text: str) -> None:
        pytest.fail(f"quick_toml does not know a form in: {text[:200]}")

    monkeypatch.setattr(tomllib, "loads", refused)
    assert load({}).rules
