"""Two looks at a result: complete, or not yet, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from triage.core.jobs.artifact import Complete, Entry, Kind, Look, NotYet, Target, judge, parse_target
from triage.errors import UsageError

JSON = parse_target("out/metrics.json")
LINES = parse_target("out/metrics.jsonl")
CHECKPOINT = parse_target("ckpt:/lustre/ckpt@500")


def look(data: bytes, **more: object) -> Look:
    plain = Look("out/metrics.json", 100.0, size=len(data), modified=50_000_000_000, inode=(1, 2), data=data)
    return replace(plain, **more)  # type: ignore[arg-type]


def checkpoint(tracker: bytes = b"500", **more: object) -> Look:
    entries = (Entry("a.distcp", 10, 40_000_000_000), Entry("metadata.json", 5, 41_000_000_000))
    return replace(look(tracker, entries=entries, folder="/lustre/ckpt/iter_0000500"), **more)  # type: ignore[arg-type]


def reason(target: Target, first: Look, second: Look | None = None) -> str:
    found = judge(target, first, second or first)
    assert isinstance(found, NotYet), found
    return found.reason


def test_targets_are_told_apart_by_their_names() -> None:
    assert (JSON.kind, LINES.kind) == (Kind.JSON, Kind.LINES)
    assert parse_target("x.ndjson").kind is Kind.LINES
    assert (CHECKPOINT.path, CHECKPOINT.iteration, str(CHECKPOINT)) == (
        "/lustre/ckpt",
        500,
        "ckpt:/lustre/ckpt@500",
    )
    assert parse_target("ckpt:a@b") == Target(Kind.CHECKPOINT, "a@b")


@pytest.mark.parametrize("text", ["", "  ", "ckpt:", "a\0b"])
def test_a_target_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_target(text)


def test_whole_json_seen_twice_is_complete() -> None:
    found = judge(JSON, look(b'{"a": 1}'), look(b'{"a": 1}', at=100.1))
    assert isinstance(found, Complete)
    assert (found.value, found.written, found.size) == ({"a": 1}, 50.0, 8)


@pytest.mark.parametrize(
    "change",
    [{"size": 9}, {"modified": 1}, {"inode": (1, 3)}, {"data": b'{"a": 2}'}],
    ids=["size", "mtime", "inode", "bytes"],
)
def test_any_difference_between_the_looks_means_it_is_being_written(change: dict[str, Any]) -> None:
    assert reason(JSON, look(b'{"a": 1}'), replace(look(b'{"a": 1}'), **change)) == "is being written"


@pytest.mark.parametrize(
    "data",
    [
        b"{", b'{"a": 1', b'{"a": 1}x', b"", b"3", b'"text"', b"null", b"true", b"{}", b"[]", b"\xff\xfe{}", b"[" * 100_000,
        b'{"a": 1}\n{"a": 2}\n', b"NaN", b"\0" * 8,
    ],
)  # fmt: skip
def test_what_is_no_whole_object_or_list_is_not_yet_a_result(data: bytes) -> None:
    reason(JSON, look(data))


def test_numbers_that_json_forbids_and_python_writes_are_read() -> None:
    assert isinstance(
        judge(JSON, look(b'{"loss": NaN, "x": Infinity}'), look(b'{"loss": NaN, "x": Infinity}')), Complete
    )


def test_every_prefix_of_a_result_is_no_result() -> None:
    whole = b'{"iteration": 500, "lm loss": 2.5, "list": [1, 2]}'
    for end in range(len(whole)):
        reason(JSON, look(whole[:end]))
    assert isinstance(judge(JSON, look(whole), look(whole)), Complete)


def test_of_json_lines_the_last_whole_one_counts() -> None:
    found = judge(LINES, look(b'{"i": 1}\n{"i": 2}\n{"i":'), look(b'{"i": 1}\n{"i": 2}\n{"i":'))
    assert isinstance(found, Complete)
    assert found.value == {"i": 2}
    reason(LINES, look(b'{"i": 1}'))
    reason(LINES, look(b'{"i": 1}\nhalf a\n'))


def test_a_problem_of_either_look_is_told() -> None:
    gone = look(b"", problem="does not exist yet")
    assert judge(JSON, gone, gone) == NotYet("out/metrics.json", "does not exist yet", False)
    assert judge(JSON, look(b'{"a": 1}'), look(b"", problem="cannot be read")) == NotYet(
        "out/metrics.json", "cannot be read", True
    )


def test_a_checkpoint_counts_when_its_tracker_names_it_and_no_file_is_empty() -> None:
    found = judge(CHECKPOINT, checkpoint(), checkpoint())
    assert isinstance(found, Complete)
    assert (found.value, found.written, found.size) == ({"iteration": 500}, 40.0, 15)


@pytest.mark.parametrize(
    ("tracker", "more", "words"),
    [
        (b"499", {}, "is at iteration 499"),
        (b"release", {}, "release"),
        (b"", {}, "names no iteration"),
        (b"5 00", {}, "names no iteration"),
        (b"\xff\xff", {}, "names no iteration"),
        (b"500", {"entries": ()}, "holds no file"),
        (b"500", {"entries": (Entry("x.pt", 0, 1),)}, "empty file, x.pt"),
    ],
)
def test_a_checkpoint_that_is_not_whole_does_not_count(
    tracker: bytes, more: dict[str, object], words: str
) -> None:
    assert words in reason(CHECKPOINT, checkpoint(tracker, **more))


def test_a_checkpoint_whose_listing_changes_is_being_written() -> None:
    later = checkpoint(entries=(Entry("a.distcp", 11, 40_000_000_000),))
    assert reason(CHECKPOINT, checkpoint(), later) == "is being written"


def test_any_iteration_counts_where_none_is_asked_for() -> None:
    target = parse_target("ckpt:/lustre/ckpt")
    for tracker in (b"7\n", b"release"):
        assert isinstance(judge(target, checkpoint(tracker), checkpoint(tracker)), Complete)
