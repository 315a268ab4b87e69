"""Markers on disk, the request, the canary and the record."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from triage.core.jobs.attempt import Attempt
from triage.core.jobs.handshake import Started, marker_text
from triage.errors import InputError
from triage.files.canary import sing
from triage.files.handshake import is_of, marked_attempts, marker_above, request_end
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


def test_a_marker_older_than_the_attempt_is_that_of_a_job_that_had_the_id_before(tmp_path: Path) -> None:
    here = mark(tmp_path, 0, 18, 0)
    now = time.time()
    attempt = Attempt(0, now - 20, now - 10)
    (fresh,) = marked_attempts(str(tmp_path / "train-18.out"), 18)
    assert is_of(fresh, attempt, time.time)
    assert not is_of(fresh, Attempt(1, now - 20, now - 10), time.time)
    os.utime(here / "started", (now - 60, now - 60))
    (stale,) = marked_attempts(str(tmp_path / "train-18.out"), 18)
    assert not is_of(stale, attempt, time.time)
    assert is_of(stale, attempt, lambda: time.time() + 120), "the file server's clock is behind"


def test_the_nearest_marker_above_a_path_is_found_and_a_pipe_of_its_name_does_not_hold_it_up(
    tmp_path: Path,
) -> None:
    here = mark(tmp_path, 0, 17, 0)
    deep = here / "eval" / "x"
    deep.mkdir(parents=True)
    os.mkfifo(deep / "started")
    assert marker_above(str(deep / "m.json")) == Started(17, 0, "USR2")
    assert marker_above(str(tmp_path / "m.json")) is None


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
