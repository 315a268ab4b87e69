"""Stacks, messages and chains of one process."""

from __future__ import annotations

import pytest

from tests.core.events.traces import HEADER, inner, left_texts, names, only, read

FRAME = '  File "x.py", line 1, in f\n    f()\n'
SEPARATED = "\nThe above exception was the direct cause of the following exception:\n\n"


def test_anchors_and_continued_source_lines() -> None:
    text = HEADER + '  File "x.py", line 3, in f\n    g(\n    ~^\n      1,\n      ^^\n    )\n    ^\n'
    link = only(text + "KeyError: 'x'\n").links[0]
    assert inner(link).code == "g(\n  1,\n)"
    assert link.message == "'x'"


def test_frozen_frame_without_source() -> None:
    link = only(
        HEADER + '  File "<frozen importlib._bootstrap>", line 219, in _call\nImportError: a\n'
    ).links[0]
    assert (inner(link).file, inner(link).function, inner(link).code) == (
        "<frozen importlib._bootstrap>",
        "_call",
        "",
    )


def test_repeats_are_expanded_but_bounded() -> None:
    text = (
        HEADER
        + '  File "a.py", line 9, in main\n'
        + FRAME * 3
        + "  [Previous line repeated 99999999 more times]\n"
    )
    link = only(text + "RecursionError: maximum recursion depth exceeded\n").links[0]
    assert len(link.frames) == 400
    assert (link.frames[0].function, link.frames[-1].function) == ("main", "f")


@pytest.mark.parametrize(
    ("line", "name", "message"),
    [
        ("AssertionError", "AssertionError", ""),
        ("socket.timeout: timed out", "socket.timeout", "timed out"),
        ("queue.Empty", "queue.Empty", ""),
        ("SystemExit: bad config", "SystemExit", "bad config"),
        ("__main__.f.<locals>.Bad: why", "__main__.f.<locals>.Bad", "why"),
        (
            "ray.exceptions.RayTaskError(OutOfMemoryError): x",
            "ray.exceptions.RayTaskError(OutOfMemoryError)",
            "x",
        ),
        ("torch.cuda.OutOfMemoryError: CUDA: a", "torch.cuda.OutOfMemoryError", "CUDA: a"),
        ("KeyError: ''", "KeyError", "''"),
    ],
)
def test_exception_lines(line: str, name: str, message: str) -> None:
    link = only(HEADER + FRAME + line + "\n").links[0]
    assert (link.exception, link.message) == (name, message)


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: n1: task 0: Exited with exit code 1",
        "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T00:00:00 ***",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 1) of binary: /p",
        "W1201 04:21:52.427000 26782 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 1 closing",
        "n1:12:34 [0] NCCL INFO Channel 00",
        "/opt/a.py:12: UserWarning: old",
        " iteration        3/     100 | consumed samples: 8 |",
        "Training Progress:  10%|#    | 1/10 [00:01<00:09,  1.0it/s]",
        "terminate called after throwing an instance of 'c10::Error'",
    ],
)
def test_foreign_line_ends_a_message(line: str) -> None:
    trace = only(HEADER + FRAME + "RuntimeError: first:\n  second\n" + line + "\n")
    assert trace.links[0].message == "first:\n  second"


@pytest.mark.parametrize(
    "tail",
    [
        " 10%|#    | 1/10 [00:01<00:09,  1.0it/s]",
        "/opt/a.py:12: UserWarning: old",
        "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T00:00:00 ***",
    ],
)
def test_text_glued_behind_the_exception_line_is_cut(tail: str) -> None:
    assert only(HEADER + FRAME + "RuntimeError: a b" + tail + "\n").links[0].message == "a b"


def test_childfailed_message_leaves_the_summary() -> None:
    traces, rest = read(
        HEADER + FRAME + "a.ChildFailedError: \n" + "=" * 60 + "\nt.py FAILED\n" + "-" * 60 + "\n"
    )
    assert traces[0].links[0].message == ""
    assert left_texts(rest)[0] == "=" * 60


def test_message_is_bounded() -> None:
    link = only(
        "[rank0]: "
        + HEADER
        + '[rank0]:   File "x.py", line 1, in f\n[rank0]: ValueError: a\n'
        + "[rank0]: bla\n" * 5000
    )
    assert link.links[0].message.count("\n") < 200
    long = only(HEADER + FRAME + "ValueError: " + "x" * 100_000 + "\n").links[0]
    assert len(long.message) <= 16 * 1024


def test_output_of_others_below_an_exception_is_not_swallowed() -> None:
    tables = "".join(f"Average Precision {k} = 0.5\n" for k in range(60))
    traces, rest = read(HEADER + FRAME + "RuntimeError: broken pipe\n" + tables)
    assert traces[0].links[0].message == "broken pipe"
    assert len(left_texts(rest)) == 60


def test_log_lines_between_frames_are_left() -> None:
    traces, rest = read(
        HEADER + FRAME + "INFO:root:hello\n" + FRAME.replace("line 1", "line 2") + "KeyError: 1\n"
    )
    assert [frame.line for frame in traces[0].links[0].frames] == [1, 2]
    assert left_texts(rest) == ["hello"]


def test_chain_order_and_relations() -> None:
    stack = HEADER + FRAME
    context = "\nDuring handling of the above exception, another exception occurred:\n\n"
    trace = only(f"{stack}A.XError: 1\n{SEPARATED}{stack}YError: 2\n{context}{stack}ZError\n")
    assert names(trace) == [("", "A.XError"), ("cause", "YError"), ("context", "ZError")]


def test_separator_without_blank_lines() -> None:
    stack = HEADER + FRAME
    trace = only(f"{stack}XError: 1\n{SEPARATED.strip()}\n{stack}YError: 2\n")
    assert names(trace) == [("", "XError"), ("cause", "YError")]


def test_chained_exception_without_own_traceback() -> None:
    trace = only(f"{HEADER}{FRAME}XError: 1\n{SEPARATED}YError: 2\n")
    assert [(link.exception, len(link.frames)) for link in trace.links] == [("XError", 1), ("YError", 0)]


def test_worker_traceback_comes_before_the_one_that_quotes_it() -> None:
    text = (
        f"{HEADER}{FRAME}RuntimeError: Caught ValueError in DataLoader worker process 0.\nOriginal {HEADER}"
        + FRAME.replace("in f", "in fetch")
        + "ValueError: bad\n"
    )
    trace = only(text)
    assert names(trace) == [("embedded", "ValueError"), ("", "RuntimeError")]
    assert inner(trace.links[0]).function == "fetch"
    assert trace.links[1].message == "Caught ValueError in DataLoader worker process 0."


def test_chain_inside_a_worker_and_chain_of_the_parent_are_told_apart() -> None:
    worker = '  File "w.py", line 5, in loop\n'
    main = '  File "main.py", line 5, in <module>\n'
    handling = "\nDuring handling of the above exception, another exception occurred:\n\n"
    text = (
        f"{HEADER}{main}RuntimeError: Caught KeyError in DataLoader worker process 0.\nOriginal {HEADER}{worker}KeyError: 1\n"
        f"{handling}{HEADER}{worker}TypeError: 2\n\n{handling}{HEADER}{main}OSError: 3\n"
    )
    assert names(only(text)) == [
        ("embedded", "KeyError"),
        ("context", "TypeError"),
        ("", "RuntimeError"),
        ("context", "OSError"),
    ]


def test_spawn_embeds_the_child() -> None:
    text = f"{HEADER}{FRAME}torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the following error:\n"
    trace = only(text + HEADER + FRAME.replace("in f", "in child") + "ValueError: boom\n")
    assert names(trace)[0] == ("embedded", "ValueError")
    assert trace.links[1].exception == "torch.multiprocessing.spawn.ProcessRaisedException"


def test_remote_traceback_in_quotes() -> None:
    text = (
        f'concurrent.futures.process._RemoteTraceback: \n"""\n{HEADER}{FRAME}ZeroDivisionError: division by zero\n"""\n'
        f"{SEPARATED}{HEADER}" + FRAME.replace("in f", "in result") + "ZeroDivisionError: division by zero\n"
    )
    trace = only(text)
    assert names(trace) == [("embedded", "ZeroDivisionError"), ("cause", "ZeroDivisionError")]
    assert [inner(link).function for link in trace.links] == ["f", "result"]


def test_rank_blocks_keep_their_order_and_ranks() -> None:
    block = "Traceback (most recent call last): (RANK {})\n" + FRAME + "RuntimeError: {}\n"
    text = (
        f"{HEADER}{FRAME}CheckpointException: CheckpointException ranks:dict_keys([3, 7])\n"
        + block.format(3, "a")
        + block.format(7, "b")
    )
    trace = only(text)
    assert [(link.rank, link.message) for link in trace.links[:2]] == [(3, "a"), (7, "b")]
    assert trace.links[2].message == "CheckpointException ranks:dict_keys([3, 7])"


def test_nested_groups_list_every_member() -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "a.py", line 1, in <module>\n'
        "  | ExceptionGroup: outer (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | Exception Group Traceback (most recent call last):\n"
        '    |   File "a.py", line 2, in g\n'
        "    | ExceptionGroup: inner (1 sub-exception)\n"
        "    +-+---------------- 1 ----------------\n"
        "      | ValueError: 1\n"
        "      +------------------------------------\n"
        "    +---------------- 2 ----------------\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "a.py", line 3, in h\n'
        "    | KeyError: 'k'\n"
        "    +------------------------------------\n"
    )
    assert names(only(text)) == [
        ("", "ExceptionGroup"),
        ("group", "ExceptionGroup"),
        ("group", "ValueError"),
        ("group", "KeyError"),
    ]


def test_loguru_values_are_no_source_lines() -> None:
    text = (
        HEADER
        + '\n  File "x.py", line 9, in <module>\n    main()\n    └ <function main>\n\n> File "x.py", line 5, in main\n'
        + "    f(a)\n    │ └ 0\n    └ <function f>\n\nZeroDivisionError: division by zero\n"
    )
    trace = only(text)
    assert trace.style == "loguru"
    assert [frame.code for frame in trace.links[0].frames] == ["main()", "f(a)"]


def test_word_traceback_inside_a_message_starts_nothing() -> None:
    trace = only(HEADER + FRAME + "ValueError: see:\n  Traceback: this word alone\n")
    assert trace.links[0].message == "see:\n  Traceback: this word alone"
