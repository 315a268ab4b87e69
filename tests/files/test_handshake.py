"""Markers on disk, the request, the canary and the record."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from triage.core.jobs.handshake import Started, marker_text
from triage.errors import InputError
from triage.files.canary import sing
from triage.files.handshake import marked_attempts, request_end
from triage.files.records import read_record, write_record


def mark(base: Path, folder: int, job: int, attempt: int) -> Path:
    here = base / "train-18" / f"attempt-{folder}"
    here.mkdir(parents=True)
    (here / "started").write_text(marker_text(Started(job, attempt, "USR2")))
    return here


def test_only_markers_of_this_job_in_their_own_folders_count(tmp_path: Path) -> None:
    mark(tmp_path, 0, 18, 0)
    mark(tmp_path, 1, 17, 1)
    mark(tmp_path, 2, 18, 0)
    (tmp_path / "train-18" / "attempt-x").mkdir()
    found = marked_attempts(str(tmp_path / "train-18.out"), 18)
    assert [(one.started, Path(one.folder).name) for one in found] == [(Started(18, 0, "USR2"), "attempt-0")]
    assert marked_attempts(str(tmp_path / "none-18.out"), 18) == ()


def test_the_request_is_whole_and_names_the_attempt(tmp_path: Path) -> None:
    here = mark(tmp_path, 0, 18, 0)
    (marked,) = marked_attempts(str(tmp_path / "train-18.out"), 18)
    request_end(marked, "the result is there")
    assert (here / "end-early").read_text() == "job=18 attempt=0\nthe result is there\n"
    assert sorted(os.listdir(here)) == ["end-early", "started"]


def test_the_canary_tells_the_difference_of_the_clocks(tmp_path: Path) -> None:
    here = sing(str(tmp_path), time.time)
    assert here is not None
    assert abs(here.skew) < 1
    ahead = sing(str(tmp_path), lambda: time.time() - 3600)
    assert ahead is not None
    assert 3590 < ahead.skew < 3610
    assert os.listdir(tmp_path) == []
    assert sing(str(tmp_path / "none"), time.time) is None


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_record(str(tmp_path), "18", {"end": "completed-early"})
    assert Path(path).name == "triage-18.json"
    assert read_record(path) == {"end": "completed-early"}
    assert os.listdir(tmp_path) == ["triage-18.json"]


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "triage-1.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_record(str(path))
