"""Interleaved records to streams."""

import random

from hypothesis import given
from hypothesis import strategies as st

from triage.core.logs.demux import streams
from triage.core.logs.line import decode_lines
from triage.core.logs.record import Record
from triage.core.logs.records import to_records


def demux(text: str) -> list[list[Record]]:
    return streams(to_records(decode_lines(text.encode(), 0)))


def of_rank(text: str, rank: int) -> list[str]:
    return [r.text for stream in demux(text) for r in stream if r.tags.rank == rank]


def test_woven_ranks_come_apart_in_their_own_order() -> None:
    assert of_rank("[rank0]: a\n[rank1]: x\nplain\n[rank0]: b\n[rank1]: y\n", 0) == ["a", "b"]
    assert [[r.text for r in s] for s in demux("p\n[rank1]: x\nq\n")] == [["p", "q"], ["x"]]


def test_c10_message_keeps_its_stack_and_untagged_text_does_not_join() -> None:
    text = (
        "[rank3]:[E1201 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout\n"
        "Exception raised from checkTimeout at ProcessGroupNCCL.cpp:616 (most recent call first):\n"
        "frame #0: c10::Error::Error() + 0x57\n\nframe #1: clone\n"
        "terminate called after throwing\nframe #2: someone else's\n"
    )
    assert len(of_rank(text, 3)) == 5
    assert [r.text for r in demux(text)[1]] == ["terminate called after throwing", "frame #2: someone else's"]


def test_stack_of_another_excerpt_does_not_join() -> None:
    head = decode_lines(b"[rank3]:[E1201 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 3] x\n", 0)
    later = decode_lines(b"frame #0: someone else's\n", 9_000)
    assert [len(s) for s in streams(to_records(head + later))] == [1, 1]


def test_stack_under_a_label_joins_the_labels_own_rank() -> None:
    text = (
        "0: [rank1]:[E1201 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 1] x\n"
        "1: [rank9]:[E1201 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 1] x\n"
        "0: frame #0: a\n1: frame #0: b\n"
    )
    assert of_rank(text, 1)[1:] == ["frame #0: a"]
    assert of_rank(text, 9)[1:] == ["frame #0: b"]


def test_nccl_continuation_joins_the_warning() -> None:
    text = "n1:10:12 [3] misc/socket.cc:64 NCCL WARN x\nLast error:\nncclRemoteError: y\nplain\n"
    assert [[r.text for r in s] for s in demux(text)] == [
        ["NCCL WARN x", "Last error:", "ncclRemoteError: y"],
        ["plain"],
    ]


def test_line_after_last_error_is_the_messages_own_whatever_it_says() -> None:
    text = (
        "[rank9]:[E1201 10:00:00.1 ProcessGroupNCCL.cpp:2363] [Rank 0] NCCL error: remote process exited\n"
        "Last error:\nNET/IB : Got completion from peer\nException raised from check at a.cpp:1\nNET/IB : other\n"
    )
    assert of_rank(text, 9)[1:] == [
        "Last error:",
        "NET/IB : Got completion from peer",
        "Exception raised from check at a.cpp:1",
    ]


def test_blank_line_inside_a_ranks_traceback_joins_it() -> None:
    text = "[rank1]: KeyError: 'x'\n\n[rank1]: During handling of the above exception, another exception occurred:\n\n[rank2]: z\n"
    assert of_rank(text, 1) == [
        "KeyError: 'x'",
        "",
        "During handling of the above exception, another exception occurred:",
    ]
    assert sum(not r.text for s in demux(text) for r in s if r.tags.rank is None) == 1


def test_ray_actors_of_one_name_are_told_apart_by_pid() -> None:
    assert len(demux("(W pid=1) a\n(W pid=2) b\n(W pid=1) c\n")) == 2


LINES = ["[rank0]: a", "[rank1]:[E1201 10:00:00.1 a.cpp:1] x", "frame #0: f", "", "plain", "0: Traceback (most recent call last):", "0: ", "n:1:2 [0] NCCL WARN w", "Last error:"]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=40))
def test_every_record_is_in_exactly_one_stream_in_order(lines: list[str]) -> None:
    records = to_records(decode_lines("\n".join(lines).encode(), 0))
    got = streams(records)
    assert sorted(r.offset for s in got for r in s) == sorted(r.offset for r in records)
    assert len(set(map(id, got))) == len(got)
    assert all([r.offset for r in s] == sorted(r.offset for r in s) for s in got)
    assert all(len({r.tags.stream_key() for r in s}) == 1 for s in got)


def test_weaving_tagged_streams_and_demuxing_them_is_the_identity() -> None:
    chance = random.Random(3)
    own = {rank: [f"[rank{rank}]: line {i}" for i in range(20)] for rank in range(4)}
    left = {rank: list(lines) for rank, lines in own.items()}
    woven = []
    while left:
        rank = chance.choice(list(left))
        woven.append(left[rank].pop(0))
        if not left[rank]:
            del left[rank]
    for stream in demux("\n".join(woven)):
        assert [r.raw for r in stream] == own[stream[0].tags.rank or 0]
