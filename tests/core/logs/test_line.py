"""Bytes to physical lines."""

import time

from hypothesis import given
from hypothesis import strategies as st

from triage.core.logs.line import GAP, HEAD, LONGEST, TAIL, Physical, decode_lines

BAR = "  5%|▌         | 5/100 [00:01<00:10,  9.0it/s]".encode()
PIECES = st.sampled_from(
    [
        b"\n", b"\r", b"\r\n", b"Traceback (most recent call last):", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b", b"\xff",
        "│é".encode(), b"\xe2\x94", b"\0", b"\t", BAR, b"plain text ", b"it/s] ", b"%|", b"[", b"\x1b[", b"\xc2\x9b",
        b"slurmstepd: error: *** STEP 1.0 ON n CANCELLED ***", b"[2026-03-25T10:34:07.530] error: *** STEP 1 ***",
    ]
)  # fmt: skip
BYTES = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=30).map(b"".join))


def texts(data: bytes) -> list[str]:
    return [line.text for line in decode_lines(data, 0)]


@given(BYTES, st.integers(0, 10**12))
def test_offsets_stay_inside_the_data_and_in_order(data: bytes, base: int) -> None:
    last = base
    for line in decode_lines(data, base):
        assert last <= line.offset <= line.end <= base + len(data)
        assert b"\n" not in data[line.offset - base : line.end - base]
        last = line.end


@given(BYTES)
def test_each_line_is_its_own_bytes_decoded_alone(data: bytes) -> None:
    for line in decode_lines(data, 0):
        alone = decode_lines(data[line.offset : line.end], 0)
        if line.text.strip():
            assert [line.text] == [a.text for a in alone]


@given(BYTES, st.data())
def test_splitting_at_any_line_border_gives_the_same_lines(data: bytes, draw: st.DataObject) -> None:
    borders = [0, *(i + 1 for i, byte in enumerate(data) if byte == 10), len(data)]
    cut = draw.draw(st.sampled_from(borders))
    assert decode_lines(data[:cut], 7) + decode_lines(data[cut:], 7 + cut) == decode_lines(data, 7)


@given(BYTES)
def test_text_holds_no_control_characters(data: bytes) -> None:
    for text in texts(data):
        assert not any((ord(c) < 32 and c != "\t") or 0x7F <= ord(c) < 0xA0 for c in text)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["C"]), max_size=30).filter(lambda t: "error: " not in t)
    )
)
def test_plain_text_comes_back_as_it_was(lines: list[str]) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    got = decode_lines(data, 0)
    assert [line.text for line in got] == lines
    assert [data[line.offset : line.end].decode() for line in got] == lines


def test_crlf_is_a_line_break_and_not_a_state() -> None:
    assert texts(b"a\r\nb\r\r\n\r\nc") == ["a", "b", "", "c"]


def test_traceback_after_a_carriage_return_is_a_line_of_its_own() -> None:
    data = b"\r  0%|          | 0/50 [00:00<?, ?it/s]\rTraceback (most recent call last):\n"
    lines = decode_lines(data, 100)
    assert [line.text for line in lines] == [
        "  0%|          | 0/50 [00:00<?, ?it/s]",
        "Traceback (most recent call last):",
    ]
    assert data[lines[1].offset - 100 : lines[1].end - 100] == b"Traceback (most recent call last):"
    assert [line.part for line in lines] == [0, 1]


def test_text_glued_behind_a_bar_is_a_line_of_its_own() -> None:
    data = BAR + b"Traceback (most recent call last):\n" + BAR + b"[rank1]: ValueError: x\n"
    lines = decode_lines(data, 0)
    assert [line.text for line in lines][1::2] == [
        "Traceback (most recent call last):",
        "[rank1]: ValueError: x",
    ]
    assert data[lines[1].offset : lines[1].end] == b"Traceback (most recent call last):"


def test_bar_with_postfix_and_without_total_still_ends_where_it_ends() -> None:
    data = b"Train:  5%|#   | 5/100 [00:01<00:10,  9.0it/s, loss=1.2, v=[1, 2]]Killed\n12it [00:03,  4.1it/s]Killed\n"
    assert texts(data)[1::2] == ["Killed", "Killed"]


def test_long_run_of_bar_states_keeps_the_last() -> None:
    data = b"\r".join(b"%3d%%|#    | %d/100 [00:01<00:10,  9.0it/s]" % (i, i) for i in range(100)) + b"\n"
    assert texts(data) == [" 99%|#    | 99/100 [00:01<00:10,  9.0it/s]"]


def test_carriage_return_state_that_is_no_bar_is_never_dropped() -> None:
    assert texts(b"RuntimeError: 99% full\r 50%|# | 1/2 [00:01<00:10]\rdone\n") == [
        "RuntimeError: 99% full",
        " 50%|# | 1/2 [00:01<00:10]",
        "done",
    ]


def test_slurm_daemon_glued_to_an_unfinished_line_is_a_line_of_its_own() -> None:
    data = b"step 12 loss 3slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T10:00:00 ***\n"
    assert texts(data) == [
        "step 12 loss 3",
        "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T10:00:00 ***",
    ]
    both = b"a[2026-03-25T10:34:07.530] error: *** STEP 1 ON n [2026-03-25T10:34:07.531] error: *** JOB 1 ON n ***\n"
    assert len(texts(both)) == 3


def test_quoted_slurm_message_and_label_stay_on_their_line() -> None:
    assert len(texts(b"0: slurmstepd: error: x\n")) == 1
    assert len(texts(b"sbatch said 'srun: error: x'\n")) == 1


def test_escapes_go_and_their_text_stays() -> None:
    data = b"\x1b[1;31mError\x1b[0m \x1b]0;title\x07here\x1b(B\x1b[2K\x1b[1A \x1bPq\x1b\\x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n"
    assert texts(data) == ["Error here xlink"]


def test_unfinished_escape_does_not_eat_the_line() -> None:
    assert texts(b"\x1b]0;no end\nnext\x1b\n\x1b[31") == ["", "next", ""]
    assert texts(b"\x1b[31mTraceback\x1b[") == ["Traceback"]


def test_invalid_utf8_is_replaced_and_its_bytes_are_kept_for_joining() -> None:
    (line,) = decode_lines(b"a\xffb\n", 0)
    assert line == Physical(0, 3, "a\ufffdb", 0, b"a\xffb")
    (printed,) = decode_lines("a\ufffdb".encode(), 0)
    assert printed.lossy == b""


def test_nul_runs_of_a_sparse_file_go() -> None:
    assert texts(b"\0" * 5000 + b"Traceback\n") == ["Traceback"]


def test_huge_line_keeps_head_and_tail_and_cuts_no_character() -> None:
    data = "é".encode() * LONGEST + b"end\n"
    (line,) = decode_lines(b"x" + data, 0)
    head, tail = line.text.split(GAP)
    assert "\ufffd" not in line.text
    assert len(head.encode()) in (HEAD, HEAD - 1)
    assert len(tail.encode()) in (TAIL, TAIL - 1)
    assert tail.endswith("end")
    assert line.end == len(data)


def test_hostile_bytes_take_linear_time() -> None:
    for unit in (
        b"%|",
        b"%||[",
        b"%||[[]",
        b"\x1b]",
        b"\x1b[",
        b"\r%|",
        b"\r5%",
        b"it/s]%|| [1:",
        b"\x1bP",
        b"error: [2026-",
    ):
        started = time.process_time()
        decode_lines(unit * (400_000 // len(unit)), 0)
        assert time.process_time() - started < 3, unit
