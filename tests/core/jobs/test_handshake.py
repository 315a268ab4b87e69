"""The marker and the request that script and watcher exchange."""

from __future__ import annotations

import pytest

from triage.core.jobs.handshake import Started, attempt_folder, marker_text, read_marker, request_text


@pytest.mark.parametrize("started", [Started(18, 0), Started(18, 3, "USR2")])
def test_a_marker_is_read_as_it_was_written(started: Started) -> None:
    assert read_marker(marker_text(started)) == started


@pytest.mark.parametrize(
    "text",
    ["", "triage.started/1 job=18", "triage.started/1 job=18 attempt=0 end=USR2 x", "job=18 attempt=0"],
)
def test_half_a_marker_is_none(text: str) -> None:
    assert read_marker(text) is None


def test_the_folder_of_an_attempt_lies_beside_the_batch_output() -> None:
    assert attempt_folder("/logs/train-18.out", 2) == "/logs/train-18/attempt-2"


def test_the_requests_first_line_is_what_the_script_compares() -> None:
    assert request_text(Started(18, 1), "the result\nis there").splitlines() == [
        "job=18 attempt=1",
        "the result is there",
    ]
