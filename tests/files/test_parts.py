"""Logs that were cut into several files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from triage.api import explain
from triage.files.layout import sources_of
from triage.files.lines import places
from triage.files.open import chunks
from triage.files.parts import joined, parts_of
from triage.files.walk import collect


@pytest.mark.parametrize(
    ("oldest_first", "whole"),
    [
        (("train.log.2.gz", "train.log.1", "train.log"), "train.log"),
        (("out.log-20261130.xz", "out.log-20261201", "out.log"), "out.log"),
        (("0.log.20261201-100000", "0.log.20261201-113000", "0.log"), "0.log"),
        (("run/rank_3.err.aa", "run/rank_3.err.ab", "run/rank_3.err.ac"), "run/rank_3.err"),
        (("a-rank_3.err", "b-rank_3.err"), "rank_3.err"),
        (("train-part1.log", "train-part2.log"), "train.log"),
        (("part_00-node0.log", "part_01-node0.log"), "node0.log"),
    ],
)
def test_parts_are_told_by_their_names_and_put_in_order(oldest_first: tuple[str, ...], whole: str) -> None:
    found = parts_of(sorted(oldest_first))
    assert {part.whole for part in found.values()} == {whole}
    assert tuple(sorted(found, key=lambda path: found[path].place)) == oldest_first


@pytest.mark.parametrize(
    "paths",
    [
        ("err.0", "err.1"),
        ("out.1", "out.2"),
        ("train.log", "train.log.2"),
        ("a/train.log", "b/train.log.1"),
        ("train.log.aa", "train.log.ac"),
        ("cpu-train.log", "gpu-train.log"),
        ("a-node0.log", "b-node1.log"),
        ("rank_0.out", "rank_0.err"),
        ("run-4811.out", "run-4812.out"),
        ("train-part1.log", "train-part3.log"),
        ("train.log", "train-part1.log", "train-part2.log"),
    ],
)
def test_what_may_be_logs_of_their_own_stays_apart(paths: tuple[str, ...]) -> None:
    assert parts_of(paths) == {}


def test_a_part_says_what_the_whole_name_says() -> None:
    old, new = sources_of(["t/attempt_0/3/stderr.log.1", "t/attempt_0/3/stderr.log"])
    assert (
        (old.local_rank, old.attempt, old.stream)
        == (new.local_rank, new.attempt, new.stream)
        == (3, 0, "err")
    )
    assert old.path == "t/attempt_0/3/stderr.log.1"


def test_a_joined_log_is_read_in_order_and_each_line_is_told_with_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "t.log").write_text("five\nsix\n")
    (tmp_path / "t.log.1").write_text("three\nfour\n")
    (tmp_path / "t.log.2.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (one,) = joined(collect([str(tmp_path)]).inputs)
    text = b"".join(chunks(one))
    assert text.split() == [b"one", b"two", b"three", b"four", b"five", b"six"]
    found = places(one, [text.index(word) for word in (b"six", b"two", b"four")])
    assert found == [("t.log", 2), ("t.log.2.gz", 2), ("t.log.1", 2)]


def test_a_traceback_that_rotation_cut_is_one_traceback(tmp_path: Path) -> None:
    (tmp_path / "t.log.1").write_text('Traceback (most recent call last):\n  File "a.py", line 1, in f\n')
    (tmp_path / "t.log").write_text("    g()\nValueError: no\n")
    verdict = explain([tmp_path])
    assert verdict.root is not None
    assert verdict.root.evidence is not None
    assert (verdict.root.exception, verdict.root.evidence.path) == ("ValueError", "t.log.1")
    assert verdict.scanned.files == 2


def test_files_are_named_from_the_folder_from_which_they_are_opened(tmp_path: Path) -> None:
    (tmp_path / "runs" / "7").mkdir(parents=True)
    (tmp_path / "runs" / "7" / "a.out").write_text("\nValueError: no\n" + _TRACE)
    for base, path in ((None, "a.out"), (tmp_path, "runs/7/a.out"), (tmp_path / "runs", "7/a.out")):
        verdict = explain([tmp_path / "runs" / "7"], base=str(base) if base else None)
        assert verdict.root is not None
        assert verdict.root.evidence is not None
        assert verdict.root.evidence.path == path
        assert any(f"({path}:" in reason for reason in verdict.reasons)
    elsewhere = explain([tmp_path / "runs" / "7"], base=str(tmp_path / "run"))
    assert elsewhere.root is not None
    assert elsewhere.root.evidence is not None
    assert elsewhere.root.evidence.path == str(tmp_path / "runs" / "7" / "a.out")


_TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no\n'
