from __future__ import annotations

import pytest

from triage.core.events.extract import events_of
from triage.core.events.model import Message, Words
from triage.core.logs.regions import Region

THROWN = (
    "terminate called after throwing an instance of 'c10::Error'\n",
    "  what():  CUDA error: uncorrectable NVLink error detected\n",
)


def texts(*lines: str) -> list[str]:
    return [e.text for e in events_of(0, [Region(0, "".join(lines).encode())]) if isinstance(e, Message)]


@pytest.mark.parametrize("label", ["", "3: ", "[rank3]: "])
def test_what_a_process_threw_and_what_it_says_of_it_are_one_message_whoever_labels_the_lines(
    label: str,
) -> None:
    assert texts(*(label + line for line in THROWN)) == ["".join(THROWN).rstrip("\n")]


def test_another_rank_s_line_between_them_is_not_taken_in() -> None:
    first, second = texts("0: " + THROWN[0], "1: " + THROWN[1])
    assert first.startswith("terminate")
    assert second.startswith("  what()")


@pytest.mark.parametrize("label", ["", "0: "])
def test_a_sentence_before_a_traceback_may_be_last_words_labelled_or_not(label: str) -> None:
    lines = (
        "giving up: the lock of the job is held\n",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 1, in f\n',
        "KeyError: 1\n",
    )
    found = events_of(0, [Region(0, "".join(label + line for line in lines).encode())])
    assert [e.text for e in found if isinstance(e, Words)] == [lines[0].rstrip()]
