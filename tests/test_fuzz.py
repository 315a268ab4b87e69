"""A few seconds of the fuzzer; a minute of it in CI (`CI=true`)."""

from __future__ import annotations

import os

import pytest

from tests import fuzz

SECONDS = 60 if os.environ.get("CI") == "true" else 4


def test_no_input_crashes_hangs_or_grows() -> None:
    before = fuzz.peak_memory()
    failures = [str(result) for result in fuzz.fuzz(1, SECONDS) if result is not None]
    assert not failures, "\n".join(failures[:3])
    assert fuzz.peak_memory() - before < fuzz.GROWTH


@pytest.mark.parametrize("number", range(5))
def test_an_input_follows_from_seed_and_number(number: int) -> None:
    assert fuzz.made(7, number) == fuzz.made(7, number)
    assert fuzz.made(7, number) != fuzz.made(8, number)
