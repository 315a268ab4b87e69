from __future__ import annotations

import time

import pytest

from triage.core.megatron.launch import Unresolved
from triage.core.megatron.stages import stages


def test_multiplication_of_letters_and_groups_and_cosmetic_commas() -> None:
    assert stages("Et*3|(tt|)*2,m|L") == ["Ettt", "tt", "tt", "m", "L"]


@pytest.mark.parametrize("text", ["Et*3|xL", "(t*99999999)*99999999", "Et*9999999|L", "((t)*2)*2"])
def test_what_is_no_layout_or_too_long_is_not_judged(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(Unresolved):
        stages(text)
    assert time.perf_counter() - start < 1
