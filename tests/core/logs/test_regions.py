"""Regions: what is kept of a stream, and that the pieces it arrives in do not matter."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from triage.core.events import arguments
from triage.core.logs import regions
from triage.core.logs.anchors import SIZES
from triage.core.logs.regions import Anchors, Region, RegionFinder

ANCHORS = Anchors()
NOISE = b"node1:12:34 [3] NCCL INFO Channel 03/0 : 3[3] -> 2[2] via P2P/CUMEM/read\n"
PROGRESS = b" [2026-12-01 10:00:00] iteration %8d/  500000 | lm loss: 1.0E+00 |\n"
TRACEBACK = b'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: no\n'


def found(data: bytes, cuts: list[int] | None = None) -> list[Region]:
    finder = RegionFinder(ANCHORS)
    edges = [0, *sorted(set(cuts or [])), len(data)]
    for a, b in pairwise(edges):
        if b > a:
            finder.feed(data[a:b])
    finder.close()
    return list(finder.take())


def test_a_failure_in_the_middle_is_kept_and_the_noise_around_it_is_not() -> None:
    data = NOISE * 40_000 + TRACEBACK + NOISE * 40_000
    got = found(data)
    assert any(TRACEBACK in r.data for r in got)
    assert sum(len(r.data) for r in got) < 150_000
    for r in got:
        assert data[r.offset : r.end] == r.data
        assert r.offset == 0 or data[r.offset - 1 : r.offset] == b"\n"


def test_regions_do_not_overlap_and_are_in_order() -> None:
    data = b"".join(NOISE * 50 + (TRACEBACK if i % 7 == 0 else b"error: x\n") for i in range(900))
    got = found(data)
    assert all(a.end <= b.offset for a, b in pairwise(got))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([NOISE * 300, TRACEBACK, b"x" * 70_000 + b"\n", PROGRESS * 5, b"error: a\n"]),
        max_size=60,
    ),
    st.lists(st.integers(0, 3_000_000), max_size=12),
)
def test_any_split_gives_the_same_regions(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    assert found(data, [c for c in cuts if c < len(data)]) == found(data)


def test_a_storm_is_bounded_and_its_first_and_last_lines_are_kept() -> None:
    lines = [b"E%d something went wrong: error: %d\n" % (i, i) for i in range(400_000)]
    got = found(b"".join(lines))
    kept = b"".join(r.data for r in got)
    assert lines[0] in kept
    assert lines[-1] in kept
    assert len(kept) < 4 << 20


def test_the_last_progress_before_a_long_silence_is_kept() -> None:
    data = PROGRESS % 1 + NOISE * 10 + PROGRESS % 4711 + NOISE * 3000
    assert any(PROGRESS % 4711 in r.data for r in found(data))


def test_a_line_without_end_does_not_grow_memory() -> None:
    finder = RegionFinder(ANCHORS)
    for _ in range(64):
        finder.feed(b"error " * (1 << 17))
        assert finder.ready_bytes() <= 64 * (1 << 20)
        list(finder.take())
    finder.close()
    assert sum(len(r.data) for r in finder.take()) <= regions.KEPT_LAST + regions.LARGEST * 2


def test_of_lines_that_are_alike_and_far_apart_the_first_and_the_last_are_kept() -> None:
    lines = [b"W: error: retry %d\n" % i for i in range(50)]
    kept = b"".join(r.data for r in found(b"".join(NOISE * 60 + line for line in lines) + NOISE * 60))
    assert lines[0] in kept
    assert lines[-1] in kept
    assert kept.count(b"error: retry") == 2


def test_a_burst_of_lines_that_are_alike_is_kept_whole() -> None:
    lines = b"".join(b"  exitcode  : 1 (pid: %d)\n  rank : %d\n" % (i, i) for i in range(16))
    assert any(lines in r.data for r in found(NOISE * 900 + lines + NOISE * 900))


def test_a_size_in_the_head_is_kept_and_the_same_words_later_are_not() -> None:
    size = b"> initializing tensor model parallel with size 8\n"
    kept = b"".join(r.data for r in found(NOISE * 40 + size + NOISE * 900 + size + NOISE * 900))
    assert kept.count(size) == 1


def test_what_only_more_than_64_literals_find_is_found() -> None:
    finder = RegionFinder(Anchors(("flux capacitor",)))
    finder.feed(NOISE * 900 + b"the flux capacitor is empty\n" + TRACEBACK + NOISE * 900)
    finder.close()
    kept = b"".join(r.data for r in finder.take())
    assert b"the flux capacitor is empty\n" in kept
    assert TRACEBACK in kept


def test_every_word_by_which_sizes_are_told_is_looked_for_in_the_head() -> None:
    words = {literal for form in arguments._FORMS for literal in form[1]} | {"--"}
    assert not {word for word in words if not any(size in word for size in (*SIZES, *ANCHORS.literals))}
