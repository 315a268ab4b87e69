"""The filter in front of the readers must not change what they find: without it they look at every line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.core.events import extract
from triage.core.events.worth import PIECE, Worth
from triage.core.logs.record import Record
from triage.core.logs.regions import Region

CASES = Path(__file__).resolve().parents[3] / "fixtures" / "cases"
LOGS = sorted(p for p in CASES.rglob("*") if p.is_file() and p.suffix in {".log", ".out", ".err", ".txt"})
READERS = extract._WORTH._words
WORDS = sorted({word for words in READERS.values() for word in words})


class _Everywhere:
    """Holds every offset."""

    def __contains__(self, offset: object) -> bool:
        return True


class _SlowTwin:
    """Every line is worth every reader."""

    def of(self, _: Sequence[Record]) -> dict[str, _Everywhere]:
        return dict.fromkeys(READERS, _Everywhere())


def agrees(data: bytes, monkeypatch: pytest.MonkeyPatch) -> bool:
    region = [Region(0, data)]
    fast = extract.events_of(0, region)
    with monkeypatch.context() as patch:
        patch.setattr(extract, "_WORTH", _SlowTwin())
        return fast == extract.events_of(0, region)


@pytest.mark.parametrize("log", LOGS[::7], ids=lambda p: f"{p.parent.parent.name}/{p.name}")
def test_real_logs_give_the_same_events_unfiltered(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert agrees(log.read_bytes()[: 200 << 10], monkeypatch)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.lists(
            st.sampled_from([*WORDS, "3", "rank", " ", ": ", "time", "host=n1", "[PG 0 Rank 3]", "[0]:", "=" * 24, "1/2", "\t"]),
            max_size=5,
        ).map("".join),
        max_size=14,
    )
)  # fmt: skip
def test_lines_made_of_the_readers_words_give_the_same_events(lines: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert agrees("\n".join(lines).encode(), patch)


def test_a_word_is_found_in_whatever_piece_its_line_stands() -> None:
    texts = ["x" * (PIECE // 2), "", "a needle", "y" * PIECE, "needle", "no", "two needles needle"]
    records = [Record(10 * n, 10 * n + 5, text) for n, text in enumerate(texts)]
    assert Worth({"one": ("needle",), "other": ("y", "needle")}).of(records) == {
        "one": {20, 40, 60},
        "other": {20, 30, 40, 60},
    }


def test_a_word_does_not_reach_over_a_line_break() -> None:
    assert Worth({"one": ("ab",)}).of([Record(0, 1, "a"), Record(2, 3, "b")]) == {"one": set()}
