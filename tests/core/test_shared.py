"""Equal texts and numbers as one value."""

from __future__ import annotations

from triage.core.shared import shared


def test_equal_values_become_one_and_a_number_is_no_truth() -> None:
    first, second = ("".join(["Process", "Group", "12345"]) for _ in range(2))
    assert first is not second
    assert shared(first) is shared(second)
    assert shared(int("123456789")) is shared(int("123456789"))
    assert (shared(1), shared(True)) == (1, True)
    assert isinstance(shared(True), bool)
