"""Logs followed while they grow: the same verdict as one reading of them, whatever happens to the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import case_logs, comparable, engine, ruleset
from triage import explain
from triage.core.analysis import Analysis
from triage.errors import InputError
from triage.files.tail import Tail

TRACE = (
    "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/w/train.py", line 7, in <module>\n'
    "[rank1]:     main()\n"
    "[rank1]: ValueError: bad luck\n"
)


def tail(*paths: Path) -> Tail:
    return Tail([str(path) for path in paths], Analysis(ruleset(), engine()))


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


@pytest.mark.parametrize("name", ["shape-two-node", "c15-storage-awsome1225-enospc-two-ranks"])
def test_a_log_that_grows_in_pieces_has_the_verdict_of_the_whole(tmp_path: Path, name: str) -> None:
    logs = case_logs(name)
    followed = tail(tmp_path)
    for start in (0.0, 0.4, 0.8):
        for log in logs:
            path = tmp_path / log.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(log.data[int(len(log.data) * start) : int(len(log.data) * min(1.0, start + 0.4))])
        followed.discover()
        followed.look()
    whole, live = explain([str(tmp_path)]), followed.explained().verdict
    assert comparable(live, logs) == comparable(whole, logs)
    assert live.root == whole.root
    assert live.downstream == whole.downstream


def test_only_telling_bytes_ask_for_a_verdict(tmp_path: Path) -> None:
    path = tmp_path / "slurm-18.out"
    append(path, "hello\n")
    followed = tail(tmp_path)
    followed.discover()
    assert not followed.look().telling
    append(path, "more of the same\n")
    seen = followed.look()
    assert (seen.size, seen.telling) == (17, False)
    append(path, TRACE)
    assert followed.look().telling


def test_a_word_cut_by_two_looks_is_still_seen(tmp_path: Path) -> None:
    path = tmp_path / "slurm-18.out"
    append(path, "x\nTraceback (most rec")
    followed = tail(tmp_path)
    followed.discover()
    followed.look()
    append(path, "ent call last):\n")
    assert followed.look().telling


def test_a_truncated_log_is_a_new_attempt_and_the_old_ones_bytes_stay(tmp_path: Path) -> None:
    path = tmp_path / "slurm-18.out"
    append(path, TRACE)
    followed = tail(tmp_path)
    followed.discover()
    followed.look()
    followed.attempt = 1
    path.write_text("again\n")
    assert followed.look().truncated == (str(path),)
    append(path, TRACE.replace("bad luck", "worse luck"))
    followed.look()
    verdict = followed.explained().verdict
    assert verdict.root is not None
    assert (verdict.root.message, verdict.attempt, verdict.attempts) == ("worse luck", 2, 2)
    assert followed.explained().verdict.root is not None


def test_files_that_appear_late_are_found(tmp_path: Path) -> None:
    followed = tail(tmp_path / "logs")
    assert followed.discover() == 0
    (tmp_path / "logs" / "node-1").mkdir(parents=True)
    append(tmp_path / "logs" / "node-1" / "rank-3.err", TRACE)
    assert followed.discover() == 1
    assert followed.discover() == 0
    assert followed.look().telling


def test_a_file_in_a_folder_that_was_empty_at_first_is_found(tmp_path: Path) -> None:
    append(tmp_path / "a.out", "a\n")
    followed = tail(tmp_path)
    followed.discover()
    (tmp_path / "node-1").mkdir()
    assert followed.discover() == 0
    append(tmp_path / "node-1" / "rank-3.err", TRACE)
    assert followed.discover() == 1


def test_a_renamed_log_is_read_on_and_its_successor_is_new(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    append(path, "one\n")
    followed = tail(tmp_path)
    followed.discover()
    followed.look()
    append(path, TRACE)
    path.rename(tmp_path / "train.log.1")
    append(path, "two\n")
    followed.discover()
    followed.look()
    followed.discover()
    followed.look()
    verdict = followed.explained().verdict
    assert verdict.root is not None
    assert verdict.scanned.bytes == len("one\n" + TRACE + "two\n")


def test_a_file_that_vanishes_or_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    append(tmp_path / "a.out", "a\n")
    append(tmp_path / "b.out", "b\n")
    followed = tail(tmp_path)
    followed.discover()
    os.unlink(tmp_path / "a.out")
    followed.look()
    append(tmp_path / "b.out", TRACE)
    assert followed.look().telling
    assert followed.explained().verdict.failed


def test_without_a_byte_there_is_no_verdict(tmp_path: Path) -> None:
    followed = tail(tmp_path)
    with pytest.raises(InputError):
        followed.explained()


def test_line_numbers_far_into_a_log_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "slurm-18.out"
    followed = tail(tmp_path)
    for number in range(40):
        append(path, f"line of block {number}\n" * 700)
        followed.discover()
        followed.look()
    append(path, TRACE)
    followed.look()
    root = followed.explained().verdict.root
    assert root is not None
    assert root.evidence is not None
    assert (root.evidence.first_line, root.evidence.last_line) == (28001, 28004)


def test_the_end_of_a_log_is_kept_for_when_it_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "slurm-18.out"
    append(path, "x" * 300_000 + "\n" + TRACE)
    followed = tail(path)
    followed.discover()
    followed.look()
    (kept,) = followed.keep_tails(str(tmp_path / "triage-18.attempts"), 0)
    assert Path(kept).read_text().endswith(TRACE)
    assert Path(kept).stat().st_size < 200_000


def test_thousands_of_logs_that_fail_at_once_are_read_in_turns_and_end_in_the_verdict_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no time at all a look reads one log closely; the next ones go on, and nothing is read twice."""
    monkeypatch.setattr("triage.files.tail.MANY", 4)
    monkeypatch.setattr("triage.files.tail._QUICK", 0.0)
    followed = tail(tmp_path)
    for rank in range(8):
        append(tmp_path / f"rank-{rank}.log", "hello\n")
    followed.discover()
    followed.look()
    append(tmp_path / "rank-3.log", TRACE.replace("rank1", "rank3"))
    followed.look()
    for rank in (0, 1, 2, 4, 5, 6, 7):
        append(tmp_path / f"rank-{rank}.log", TRACE.replace("rank1", f"rank{rank}").replace("bad", "worse"))
    followed.look()
    ticks = iter(range(1000))
    monkeypatch.setattr("triage.files.tail.time.monotonic", lambda: next(ticks))
    verdict = followed.explained(quick=True).verdict
    assert followed.is_behind
    assert verdict.root is not None
    assert verdict.root.rank == 3
    monkeypatch.setattr("triage.files.tail.time.monotonic", lambda: 0.0)
    quick = followed.explained(quick=True).verdict
    assert not followed.is_behind
    whole = explain([str(tmp_path)])
    assert (quick.root, quick.downstream) == (whole.root, whole.downstream)


def test_what_was_read_closely_before_the_end_changes_no_verdict(tmp_path: Path) -> None:
    logs = case_logs("shape-two-node")
    followed = tail(tmp_path)
    for start in (0.0, 0.5):
        for log in logs:
            path = tmp_path / log.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(log.data[int(len(log.data) * start) : int(len(log.data) * (start + 0.5))])
        followed.discover()
        followed.look()
        assert followed.catch_up(60.0, everything=True)
    assert comparable(followed.explained().verdict, logs) == comparable(explain([str(tmp_path)]), logs)
