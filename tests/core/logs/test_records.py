"""Physical lines to records: labels, carried tags and cut lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.core.logs.line import decode_lines
from triage.core.logs.record import NO_TAGS, Record, Tags
from triage.core.logs.records import SRUN_CUT, survey_lines, to_records


def records(text: str | bytes) -> list[Record]:
    return to_records(decode_lines(text.encode() if isinstance(text, str) else text, 0))


def tasks(text: str) -> list[int | None]:
    return [record.tags.task for record in records(text)]


def test_srun_label_is_believed_when_a_traceback_stands_behind_one() -> None:
    got = records(
        '+ set -x\n 6: Traceback (most recent call last):\n 6:   File "a.py", line 1, in f\n12: x\nplain\n'
    )
    assert [r.tags.task for r in got] == [None, 6, 6, 12, None]
    assert got[2].text == '  File "a.py", line 1, in f'
    assert got[2].raw == ' 6:   File "a.py", line 1, in f'


def test_srun_label_is_believed_when_half_of_the_lines_carry_one() -> None:
    assert tasks("0: a\n1: b\nplain\nplain\n") == [0, 1, None, None]


def test_numbered_text_is_no_label() -> None:
    assert tasks("3: shape mismatch\nplain\nplain\n") == [None, None, None]
    assert tasks("12: only line\n") == [None]


def test_label_of_another_width_is_text_because_srun_pads() -> None:
    assert tasks(
        " 6: Traceback (most recent call last):\n13:4: not a valid test operator\n7: x\n 7: y\n"
    ) == [6, None, None, 7]


def test_label_without_its_trailing_blank_is_an_empty_line_of_the_task() -> None:
    got = records("6: Traceback (most recent call last):\n6:\n6: \n")
    assert [(r.tags.task, r.text) for r in got][1:] == [(6, ""), (6, "")]


def test_heterogeneous_job_labels_keep_their_components_apart() -> None:
    got = records("P0  3: Traceback (most recent call last):\nP1  3: x\n")
    assert [r.tags for r in got] == [Tags(task=3, actor="P0"), Tags(task=3, actor="P1")]


def test_pdsh_host_is_believed_by_proof_and_proves_its_siblings() -> None:
    got = records(
        "worker-5: [rank22]: Traceback (most recent call last):\nworker-12: hello\nWARNING: x\nRuntimeError: y\n"
    )
    assert [r.tags.node for r in got] == ["worker-5", "worker-12", None, None]
    assert [r.text for r in got] == [
        "Traceback (most recent call last):",
        "hello",
        "WARNING: x",
        "RuntimeError: y",
    ]


@pytest.mark.parametrize("word", ["WARNING", "RuntimeError", "Error", "usage"])
def test_word_that_begins_every_line_is_no_host(word: str) -> None:
    got = records(f"{word}: something\n" * 9 + f"{word}: Traceback (most recent call last):\n")
    assert all(r.tags.node is None and r.text.startswith(word) for r in got)


def test_docker_compose_and_torchx_labels() -> None:
    got = records("trainer-1  | [rank3]: Traceback (most recent call last):\ntrainer-2  |   x\n")
    assert [r.tags.actor for r in got] == ["trainer-1", "trainer-2"]
    got = records("i.pretrain/0 [default2]:[rank2]: x\ni.pretrain/1 y\n")
    assert [r.tags for r in got] == [
        Tags(rank=2, local_rank=2, actor="i.pretrain/0"),
        Tags(actor="i.pretrain/1"),
    ]


def test_labels_found_elsewhere_in_the_file_hold_for_a_small_excerpt() -> None:
    whole = decode_lines(b"6: Traceback (most recent call last):\n6: KeyError: 'x'\nplain\n", 0)
    excerpt = decode_lines(b"plain\nplain\n6: KeyError: 'x'\nplain\n", 500)
    assert [r.tags.task for r in to_records(excerpt)] == [None] * 4
    assert [r.tags.task for r in to_records(excerpt, survey_lines(whole))] == [None, None, 6, None]


def test_blank_line_between_tagged_ones_gets_no_tags() -> None:
    got = records("[rank1]: a\n\n[rank1]: b\n")
    assert [(r.text, r.tags.rank) for r in got] == [("a", 1), ("", None), ("b", 1)]
    assert got[1].tags == NO_TAGS


def test_label_covers_what_a_carriage_return_split_off_its_line() -> None:
    bar = "  5%|#   | 5/100 [00:01<00:10,  9.0it/s]"
    got = records(f"3: {bar}\r{bar}Traceback (most recent call last):\n3: x\n3: y\n")
    assert [(r.tags.task, r.text) for r in got][2] == (3, "Traceback (most recent call last):")
    got = records(f"(TaskRunner pid=7) \r{bar}\rboom\n")
    assert {r.tags.actor for r in got} == {"TaskRunner pid=7"}


def test_rank_of_a_message_does_not_cover_the_next_writers_text() -> None:
    got = records("[rank1]: 99% | 1/2 [00:01<00:10]\rboom\n")
    assert [r.tags.rank for r in got] == [1, None]


def test_line_that_srun_cut_is_joined_over_other_tasks_lines() -> None:
    body = "x" * SRUN_CUT
    got = records(f" 3: {body}\n12: between\n 3: tail\n 3: next\n12: y\n")
    assert [(r.tags.task, r.text) for r in got] == [
        (3, body + "tail"),
        (12, "between"),
        (3, "next"),
        (12, "y"),
    ]
    assert got[0].raw == f" 3: {body}tail"
    assert got[0].end == len(f" 3: {body}\n12: between\n 3: tail")


def test_line_cut_twice_is_one_record() -> None:
    body = "x" * SRUN_CUT
    assert [r.text for r in records(f"0: {body}\n0: {body}\n0: end\n0: z\n")] == [body * 2 + "end", "z"]


def test_line_one_byte_shorter_was_not_cut() -> None:
    body = "x" * (SRUN_CUT - 1)
    assert [r.text for r in records(f"0: {body}\n0: tail\n")] == [body, "tail"]


def test_character_that_srun_tore_is_whole_again() -> None:
    whole = ("a" + "│" * 400).encode()
    data = b"0: " + whole[:SRUN_CUT] + b"\n0: " + whole[SRUN_CUT:] + b"\n0: z\n"
    assert [r.text for r in records(data)] == [whole.decode(), "z"]


def test_cut_line_keeps_its_inner_prefix_off() -> None:
    line = "[rank0]: " + "y" * 2000
    got = records(f"0: {line[:SRUN_CUT]}\n0: {line[SRUN_CUT:]}\n0: z\n")
    assert (got[0].text, got[0].tags) == ("y" * 2000, Tags(rank=0, task=0))


def test_cut_is_not_joined_over_a_gap_between_two_excerpts() -> None:
    first = decode_lines(b"0: " + b"x" * SRUN_CUT + b"\n", 0)
    second = decode_lines(b"0: Traceback (most recent call last):\n", 50_000)
    assert [r.text for r in to_records(first + second)] == [
        "x" * SRUN_CUT,
        "Traceback (most recent call last):",
    ]


def test_cut_at_the_end_of_an_excerpt_stays_as_it_is() -> None:
    assert len(records(f"0: {'x' * SRUN_CUT}\n1: y\n")) == 2


WORDS = st.sampled_from(
    ["0: ", " 3: ", "[rank1]: ", "[default0]:", "\n", "\r", "node-1: ", "x" * 1021, "Traceback (most recent call last):",
     "[E1201 10:00:00.1 a.cpp:1] ", "[Rank 2] ", "(a pid=1) ", "│", "slurmstepd: error: ", "2026-12-01 10:00:00 ", " - INFO - a - "]
)  # fmt: skip


@given(st.one_of(st.binary(max_size=200), st.lists(WORDS, max_size=40).map(lambda w: "".join(w).encode())))
def test_no_bytes_crash_and_order_and_spans_hold(data: bytes) -> None:
    lines = decode_lines(data, 0)
    got = to_records(lines)
    assert len(got) <= len(lines)
    assert [r.offset for r in got] == sorted(r.offset for r in got)
    assert all(r.text in r.raw or not r.text for r in got if r.dialect != "ray")


def test_bare_bracket_is_a_rank_where_proof_stands_behind_one() -> None:
    got = records("[0]:[rank0]: Traceback (most recent call last):\n[3]:  x\nplain\n")
    assert [(r.tags.rank, r.text) for r in got] == [
        (0, "Traceback (most recent call last):"), (3, "  x"), (None, "plain"),
    ]  # fmt: skip


def test_bare_bracket_with_a_blank_of_its_own() -> None:
    got = records('[0]: Traceback (most recent call last):\n[0]:   File "a.py", line 1, in f\n')
    assert [r.text for r in got] == ["Traceback (most recent call last):", '  File "a.py", line 1, in f']


def test_bare_bracket_counts_within_a_node_where_another_rank_stands_behind_it() -> None:
    got = records("[0]:[rank8]: Traceback (most recent call last):\n[1]:hello\n")
    assert [(r.tags.rank, r.tags.local_rank) for r in got] == [(8, 0), (None, 1)]


def test_numbered_list_and_torchruns_summary_are_no_ranks() -> None:
    got = records("[0]: 0.12\n[1]: 0.23\n[2]: 0.34\n[3]: 0.45\n[4]: 0.56\n")
    assert [r.tags for r in got] == [NO_TAGS] * 5
    got = records("[1]:Traceback (most recent call last):\n[0]:\n  time      : x\n")
    assert got[1].text == "[0]:"


def test_lines_of_composers_block_have_its_rank_and_those_behind_it_none() -> None:
    got = records(
        "----------Begin global rank 2 STDERR----------\nKilled\n[rank5]: x\n"
        "----------End global rank 2 STDERR----------\nbye\n"
    )
    assert [r.tags.rank for r in got] == [None, 2, 5, None, None]


def test_composers_block_does_not_reach_over_a_gap() -> None:
    begin = b"----------Begin global rank 2 STDERR----------\nx\n"
    lines = [*decode_lines(begin, 0), *decode_lines(b"y\n", 9000)]
    assert [r.tags.rank for r in to_records(lines)] == [None, 2, None]


def places(text: str) -> list[tuple[str | None, int | None, int | None]]:
    return [(r.tags.node, r.tags.local_rank, r.tags.rank) for r in records(text)]


def test_number_behind_a_host_is_a_local_rank_where_a_line_names_another_rank() -> None:
    text = "[gpu-1:2]:Traceback (most recent call last):\n[gpu-2:5]:[rank13]:[E317 14:28:31.402117201 a.cpp:1] x\n"
    assert places(text) == [("gpu-1", 2, None), ("gpu-2", 5, 13)]


def test_number_behind_a_host_is_a_local_rank_where_two_hosts_count_alike() -> None:
    text = "nid1:0 out: plain\nnid2:0 err: Traceback (most recent call last):\n"
    assert places(text) == [("nid1", 0, None), ("nid2", 0, None)]


def test_number_behind_a_host_stays_open_where_hosts_count_on() -> None:
    got = records("nid1 3: Traceback (most recent call last):\nnid2 4: Traceback (most recent call last):\n")
    assert [r.tags for r in got] == [Tags(node="nid1", actor="nid1:3"), Tags(node="nid2", actor="nid2:4")]


@pytest.mark.parametrize("text", ["train-2.py:35: UserWarning: x", "Step-2 5: done", "gpu-1:29: no proof"])
def test_place_in_a_file_or_a_count_is_no_host(text: str) -> None:
    assert places(f"{text}\n" * 3) == [(None, None, None)] * 3
    assert places("train-2.py:35: Traceback (most recent call last):\n") == [(None, None, None)]


def test_what_is_glued_behind_a_labelled_progress_bar_has_the_label_s_dialect_too() -> None:
    bar = "0: Epoch 0:  50%|#####     | 5/10 [00:01<00:01,  5.0it/s]Traceback (most recent call last):\n"
    got = records(f'{bar}0:   File "a.py", line 1, in f\n0: KeyError: 1\n')
    assert [(r.text[:9], r.tags.task, r.dialect) for r in got[-3:]] == [
        ("Traceback", 0, "srun"),
        ('  File "a', 0, "srun"),
        ("KeyError:", 0, "srun"),
    ]
