"""Which files are alike: equal but for who wrote them and when."""

from __future__ import annotations

import pytest

from triage.core.logs.outline import Outline, changes, shape

LOG = (
    b"gpu07:1012:2012 [4] NCCL INFO comm 0x7f2b4c01 rank 3 nranks 64\n"
    b" [2026-12-01 10:00:03.000] iteration 1/ 500 | lm loss: 2.1 |\n"
    b"[rank12]:[E1201 10:40:05.000000012 ProcessGroupNCCL.cpp:629] [Rank 12] ran for 600024 milliseconds\n"
)


def told(data: bytes, of: bytes = LOG) -> dict[bytes, str] | None:
    outline = Outline(of)
    values = outline.values(data)
    return None if values is None else dict(zip((text for _, text in outline.variables), values, strict=True))


def test_the_numbers_of_another_writer_are_told() -> None:
    other = (
        LOG.replace(b"gpu07:1012:2012 [4]", b"gpu08:9999:2013 [5]")
        .replace(b"rank12", b"rank13")
        .replace(b"10:40:05.000000012", b"09:00:00.000000000")
        .replace(b"600024", b"600900")
        .replace(b"7f2b4c01", b"0abcdef1")
    )
    found = told(other)
    assert found is not None
    assert found[b"07"] == "08"
    assert found[b"7f2b4c01"] == "0abcdef1"
    assert found[b"10:40:05.000000012"] == "09:00:00.000000000"
    assert shape(other) == shape(LOG)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"lm loss: 2.1", b"lm loss: 2.2", "a number of the training is none of the writer"),
        (b"rank12", b"rank00", "zero may mean that there is none"),
        (b"rank12", b"rank123", "what follows would stand elsewhere"),
        (b"10:40:05", b"25:40:05", "no time of day"),
        (b"NCCL INFO", b"NCCL WARN", "another word"),
        (b"2026-12-01", b"2026-12-02", "another day"),
    ],
)
def test_what_differs_otherwise_is_not_alike(old: bytes, new: bytes, why: str) -> None:
    assert told(LOG.replace(old, new)) is None, why


def test_one_number_at_two_places_stays_one() -> None:
    log = b"[rank12]: first\n[rank12]: second\n"
    assert told(b"[rank13]: first\n[rank13]: second\n", log) == {b"12": "13"}
    assert told(b"[rank13]: first\n[rank14]: second\n", log) is None


def test_two_ranks_stay_two() -> None:
    log = b"[rank12]: first\n[rank13]: second\n"
    assert told(b"[rank55]: first\n[rank56]: second\n", log) is not None
    assert told(b"[rank55]: first\n[rank55]: second\n", log) is None


def test_a_file_of_other_numbers_is_alike_and_differs_in_each() -> None:
    outline = Outline(LOG)
    rows = changes(outline, [LOG, outline.changed(1), outline.changed(2)])
    assert rows is not None
    assert all(len(set(row)) == 3 for row in rows)
    assert [row[0] for row in rows] == list(outline.own_values())


def test_a_file_without_numbers_is_alike_to_itself_only() -> None:
    assert told(b"killed\n", b"killed\n") == {}
    assert told(b"filled\n", b"killed\n") is None
