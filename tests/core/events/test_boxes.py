"""Tracebacks that rich prints."""

from __future__ import annotations

from tests.core.events.traces import DATA, inner, left_texts, names, only, read

BOX = """\
╭────── Traceback (most recent call last) ──────╮
│ /app/a.py:12 in main                          │
│                                               │
│   11 │                                        │
│ ❱ 12 │   run(args)                            │
│   13 │   print(": x.py:3 in f")               │
│                                               │
│ /app/long/long/long/long/long/long/file.py:12 │
│ 34 in step                                    │
│                                               │
│ ❱ 1234 │   │   raise ValueError("no")         │
│ ╭──── locals ────╮                            │
│ │ x = 1          │                            │
│ ╰────────────────╯                            │
╰───────────────────────────────────────────────╯
"""


def test_frames_source_and_wrapped_place() -> None:
    trace = only(BOX + "ValueError: no\n")
    frames = [(frame.file, frame.line, frame.function, frame.code) for frame in trace.links[0].frames]
    assert frames == [
        ("/app/a.py", 12, "main", "run(args)"),
        ("/app/long/long/long/long/long/long/file.py", 1234, "step", 'raise ValueError("no")'),
    ]
    assert trace.style == "rich"


def test_message_wrapped_at_blanks_is_joined_again() -> None:
    trace, rest = read(
        BOX
        + "ValueError: this message is longer than the box \nhas room for it\n[2026-12-01 10:00:00,000] [INFO] [a.py:1:f] on\n"
    )
    assert trace[0].links[0].message == "this message is longer than the box has room for it"
    assert left_texts(rest) == ["on"]


def test_line_breaks_of_the_program_stay() -> None:
    assert only(BOX + "ValueError: short\nnext\n").links[0].message == "short\nnext"


def test_chained_boxes() -> None:
    text = f"{BOX}KeyError: 1\n\nThe above exception was the direct cause of the following exception:\n\n{BOX}ValueError: 2\n"
    assert names(only(text)) == [("", "KeyError"), ("cause", "ValueError")]


def test_box_in_ascii() -> None:
    text = "+----- Traceback (most recent call last) -----+\n| /app/a.py:12 in main                        |\n+---------------------------------------------+\nKeyError: 1\n"
    trace = only(text)
    assert (inner(trace.links[0]).line, trace.links[0].exception) == (12, "KeyError")


def test_colours_do_not_matter() -> None:
    traces, _ = read((DATA / "rich-colour.txt").read_bytes())
    assert inner(traces[0].links[0]).function == "fire"


def test_second_box_inside_a_cut_one_starts_anew() -> None:
    traces, _ = read(BOX[: BOX.index("│   13")] + BOX + "KeyError: 1\n")
    assert [trace.complete for trace in traces] == [False, True]
