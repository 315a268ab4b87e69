from __future__ import annotations

import re

import pytest

from triage.core.lazy import lazy


def test_it_answers_as_the_compiled_pattern_does() -> None:
    pattern, compiled = lazy(r"(?P<n>\d+)x", re.IGNORECASE), re.compile(r"(?P<n>\d+)x", re.IGNORECASE)
    text = "12X 3x"
    for _ in range(2):
        assert pattern.findall(text) == compiled.findall(text)
        assert [m["n"] for m in pattern.finditer(text)] == ["12", "3"]
        assert pattern.sub("-", text) == compiled.sub("-", text)
        assert pattern.fullmatch("3x") is not None
        assert pattern.fullmatch("3x ") is None
    assert pattern.pattern == compiled.pattern


def test_nothing_is_compiled_before_the_first_use() -> None:
    wrong = lazy("(")
    with pytest.raises(re.error):
        wrong.search("x")


def test_it_has_no_methods_that_a_pattern_lacks() -> None:
    with pytest.raises(AttributeError):
        lazy("x").nothing  # type: ignore[attr-defined]  # noqa: B018
