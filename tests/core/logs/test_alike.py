"""What counts as alike: numbers do not make a line another one, the writer does; and where a traceback ends."""

from __future__ import annotations

from triage.core.logs.alike import Alike, trace_end


def read(lines: list[bytes], limit: int = 1) -> list[bytes]:
    alike, out = Alike(), []
    for number, line in enumerate(lines):
        if not alike.is_old(line, number, limit):
            out.append(line)
    return out


def test_only_numbers_and_addresses_differ() -> None:
    assert read([b"error: request 17 at 0xbeef failed", b"error: request 4 at 0x7fa1 failed"]) == [
        b"error: request 17 at 0xbeef failed"
    ]


def test_the_same_words_from_another_rank_are_another_line() -> None:
    for tag in (
        b"[rank%d]: ",
        b"[default%d]:",
        b"%d: ",
        b"node1:4:5 [%d] NCCL WARN ",
        b"2026-12-01 node1 F [rank%d]: ",
    ):
        lines = [tag % rank + b"error: no" for rank in (3, 17)]
        assert read(lines) == lines, tag


def test_the_last_of_those_that_are_not_read_is_kept() -> None:
    alike = Alike()
    for number in range(5):
        alike.is_old(b"error %d" % number, 100 * number, 2)
    assert alike.last() == [(400, b"error 4")]


def test_tracebacks_that_differ_in_their_last_line_alone_are_not_alike() -> None:
    stack = b"Traceback (most recent call last):\n" + b'  File "a.py", line 1, in f\n    g()\n' * 90
    assert len(read([stack + b"ValueError: no", stack + b"KeyError: no"])) == 2


def test_a_traceback_ends_after_its_exception_line() -> None:
    body = b'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no\n'
    assert trace_end(body + b"next\n", 0, 0) == len(body)
    tagged = b"".join(b"[rank1]: " + line + b"\n" for line in body.splitlines())
    assert trace_end(tagged + b"next\n", 0, len(b"[rank1]: ")) == len(tagged)


def test_a_traceback_whose_lines_another_writer_broke_up_ends_at_its_header() -> None:
    header = b"Traceback (most recent call last):\n"
    assert trace_end(header + b"step 4\n" + b'  File "a.py", line 1\n', 0, 0) == len(header)
