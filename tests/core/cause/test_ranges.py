"""Sets of ranks as text."""

from __future__ import annotations

import pytest

from triage.core.cause.ranges import fold


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((0,), "0"),
        ((1, 0), "0-1"),
        ((15, 0, 2, 1, 6, 7), "0-2,6-7,15"),
        ((3, 3, 3), "3"),
        ((0, 2, 4), "0,2,4"),
        (range(1000), "0-999"),
    ],
)
def test_runs_fold_whatever_the_order_and_the_repeats(numbers: tuple[int, ...], text: str) -> None:
    assert fold(numbers) == text
