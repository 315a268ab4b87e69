"""Tracebacks as escaped text."""

from __future__ import annotations

import json
import traceback

import pytest

from tests.core.events.traces import DATA, inner, only, read
from triage.core.events.embedded import trace_from_cut_error_file, trace_from_error_file


def test_error_file_of_torchrun() -> None:
    text = (DATA / "error-file.json").read_text()
    trace = trace_from_error_file(text, 4, len(text))
    assert trace is not None
    assert (trace.style, trace.span.source, trace.span.last) == ("error-file", 4, len(text))
    assert [link.exception for link in trace.links] == ["ValueError", "RuntimeError"]
    assert trace.when.at is not None
    assert (trace.when.at.utc, trace.when.at.resolution) == (True, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"message": 3}',
        '{"message": "Signal 11 received"}',
        '{"message": {"extraInfo": 1}}',
    ],
)
def test_error_file_without_traceback(text: str) -> None:
    assert trace_from_error_file(text, 0, len(text)) is None


def test_error_file_cut_off_still_shows_its_frames() -> None:
    text = (DATA / "error-file.json").read_text()
    trace = trace_from_error_file(text[:400], 0, 400)
    assert trace is not None
    assert trace.links[0].frames


def test_error_file_with_a_message_only() -> None:
    text = json.dumps({"message": {"message": "ValueError: bad", "extraInfo": {"timestamp": "1764000000"}}})
    trace = trace_from_error_file(text, 0, len(text))
    assert trace is not None
    assert (trace.links[0].exception, trace.links[0].message) == ("ValueError", "bad")


def test_a_cut_error_file_still_says_its_exception() -> None:
    text = json.dumps({"message": {"message": "ValueError: bad\n" + "x" * 9000}})[:5000]
    trace = trace_from_cut_error_file(text, 0, 50 << 20)
    assert trace is not None
    assert (trace.links[0].exception, trace.links[0].message[:5]) == ("ValueError", "bad\nx")
    assert trace_from_cut_error_file('{"message": {"message": "Signal 11', 0, 9) is None


def test_list_repr_as_python_prints_it() -> None:
    try:
        raise ValueError('it\'s "bad"\n\tvery')
    except ValueError as error:
        text = repr(traceback.format_exception(error))
    trace = only(f"WARNING: {text}\n")
    assert trace.style == "list"
    assert trace.links[0].message == 'it\'s "bad"\n\tvery'
    assert inner(trace.links[0]).function == "test_list_repr_as_python_prints_it"


def test_json_log_line() -> None:
    text = json.dumps(
        {
            "exc": 'Traceback (most recent call last):\n  File "x.py", line 2, in g\nValueError: "q" é\n',
            "t": 1,
        }
    )
    trace = only(text + "\n")
    assert (trace.links[0].exception, trace.links[0].message) == ("ValueError", '"q" é')


def test_lone_surrogate_escape_does_no_harm() -> None:
    text = '{"e": "Traceback (most recent call last):\\n  File \\"x.py\\", line 2, in g\\nValueError: \\ud83c x\\n"}'
    traces, _ = read(text)
    traces[0].links[0].message.encode()
