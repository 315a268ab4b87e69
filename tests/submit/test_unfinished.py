"""Entries of submissions under way: found when their process is gone, left alone while it lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.errors import StoreError
from triage.submit.record import Record, digest_of, read_record, to_json, write_record
from triage.submit.unfinished import begin, interrupted

RECORD = Record(
    "0123456789abcdef", "slurm", "/home/me/run.sbatch", "/home/me/run.sbatch", None, "/home/me", "/home/me/logs", "run",
    "/home/me/logs/%j.out", None, 100.0, "d" * 64, ("--hold",), ("a b", "\udcff"), argv=("sbatch", "x"),
)  # fmt: skip


def test_record_survives_the_disk(tmp_path: Path) -> None:
    write_record(RECORD, tmp_path / "r.json")
    assert read_record(tmp_path / "r.json") == RECORD
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "other/1"}', '{"schema": "triage.submission/1"}']
)
def test_file_that_is_no_record_is_told_and_not_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(StoreError, match="no record"):
        read_record(tmp_path / "r.json")


def test_key_of_a_later_version_is_ignored(tmp_path: Path) -> None:
    import json

    (tmp_path / "r.json").write_text(json.dumps({**to_json(RECORD), "later": 1}))
    assert read_record(tmp_path / "r.json") == RECORD


def test_entry_of_a_live_call_is_no_interrupted_one(tmp_path: Path) -> None:
    entry = begin(str(tmp_path), RECORD)
    assert list(interrupted(str(tmp_path))) == []
    entry.leave()
    (found,) = interrupted(str(tmp_path))
    assert found.record == RECORD
    found.finish()
    assert list(interrupted(str(tmp_path))) == []
    assert list((tmp_path / "submissions").iterdir()) == []


def test_only_the_asked_source_is_looked_at(tmp_path: Path) -> None:
    begin(str(tmp_path), RECORD).leave()
    assert list(interrupted(str(tmp_path), "/home/me/other.sbatch")) == []
    (found,) = interrupted(str(tmp_path), RECORD.source)
    found.leave()


def test_entry_that_was_being_made_when_its_call_was_killed_had_sent_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "submissions" / "half"
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    (folder / "submission.json.part-0").write_text("{")
    assert list(interrupted(str(tmp_path))) == []


def test_nothing_is_sent_where_the_state_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match="nothing was submitted"):
        begin(str(tmp_path / "state"), RECORD)


def test_digest_tells_requests_apart() -> None:
    base = digest_of("x", "/a", (), ("1", "2"))
    others = {digest_of("y", "/a", (), ("1", "2")), digest_of("x", "/b", (), ("1", "2")),
              digest_of("x", "/a", ("1",), ("2",)), digest_of("x", "/a", (), ("1 2",))}  # fmt: skip
    assert len(others | {base}) == 5
    assert digest_of("x", "/a", (), ("1", "2")) == base
