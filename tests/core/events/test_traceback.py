"""Excerpts of real logs, wrappers around tracebacks, and what belongs to no traceback."""

from __future__ import annotations

import pytest

from tests.core.events.traces import DATA, HEADER, inner, left_texts, names, only, read
from triage.core.logs.record import Tags

EXPECTED = [
    ("blank-line-in-message", "ValueError", "hint: see docs/parallelism.md", "train.py", 462, "fire"),
    ("chained-cause", "ImportError", "undefined symbol", "cpp_extensions/__init__.py", 6, "<module>"),
    ("dataloader-worker", "RuntimeError", "stack expects each tensor", "_utils/collate.py", 275, "collate_tensor_fn"),
    ("elastic-summary", "ValueError", "invalid literal", "train.py", 443, "fire"),
    ("exception-group", "ExceptionGroup", "3 of 3 checkpoint shards failed", "train.py", 448, "fire"),
    ("exception-group", "FileNotFoundError", "shard_2.bin", "train.py", 349, "write_shard"),
    ("list-repr", "RuntimeError", "mat1 and mat2", "tensor_parallel/layers.py", 459, "_linear_forward"),
    ("per-rank-blocks", "torch.distributed.checkpoint.api.CheckpointException", "ranks:", "utils.py", 191, "reduce_scatter"),
    ("ray-task-error", "torch.OutOfMemoryError", "CUDA out of memory", "fused_adam.py", 314, "_initialize_state"),
    ("remote-traceback", "OSError", "No space left on device", "pyarrow/error.pxi", 91, "pyarrow.lib.check_status"),
    ("remote-traceback", "OSError", "No space left on device", "multiprocess/pool.py", 774, "get"),
    ("rich-colour", "KeyError", "'loss_mask'", "train.py", 431, "fire"),
    ("rich-wrapped", "OutOfMemoryError", "documentation for Memory Management", "stage_1_and_2.py", 367, "__init__"),
    ("segfault", None, "Fatal Python error: Segmentation fault", "ctypes/__init__.py", 519, "string_at"),
    ("syntax-error", "SyntaxError", "'(' was never closed", "hooks_broken.py", 4, ""),
    ("woven-after-clean", "RuntimeError", "No space left on device", "torch/storage.py", 330, "_share_fd_cpu_"),
    ("woven-colon-apart", "AssertionError", "sequence parallelism must be used", "arguments.py", 714, "validate_args"),
    ("woven-eight-ranks", "FileNotFoundError", "[Errno 2] No such file", "torch/serialization.py", 254, "__init__"),
    ("woven-order-lost", "AssertionError", "Rank 3: found NaN", "clip_grads.py", 85, "clip_grad_norm_fp32"),
    ("woven-size-mismatch", "RuntimeError", "size mismatch for word_embeddings", "modules/module.py", 1497, "load_state_dict"),
    ("woven-then-clean", "AssertionError", "96 is not divisible by 64", "utils/common.py", 52, "divide"),
    ("woven-three-ranks", "AssertionError", "First dimension of the tensor", "mappings.py", 58, "_split_along_first_dim"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "exception", "message", "file", "line", "function"), EXPECTED)
def test_excerpt_of_a_real_log(
    case: str, exception: str | None, message: str, file: str, line: int, function: str
) -> None:
    traces, _ = read((DATA / f"{case}.txt").read_bytes())
    found = [
        link
        for trace in traces
        for link in trace.links
        if link.exception == exception and message in link.message and link.frames
    ]
    assert [
        frame for frame in map(inner, found)
        if frame.file.endswith(file) and frame.line == line and frame.function == function
    ]  # fmt: skip


def test_every_excerpt_was_listed() -> None:
    listed = {case for case, *_ in EXPECTED}
    assert {path.stem for path in DATA.glob("*.txt")} == listed | {"logging-error"}


def test_launcher_lines_stay_with_their_own_extractors() -> None:
    traces, rest = read((DATA / "woven-colon-apart.txt").read_bytes())
    assert any("time      : " in text for text in left_texts(rest))
    assert all("Sending process" not in link.message for trace in traces for link in trace.links)


def test_summary_block_names_the_rank_of_its_traceback() -> None:
    traces, rest = read((DATA / "elastic-summary.txt").read_bytes())
    assert [(trace.style, trace.links[0].rank) for trace in traces] == [
        ("summary", 0),
        ("summary", 3),
        ("summary", 2),
    ]
    assert sum(text.startswith("  exitcode  :") for text in left_texts(rest)) == 4


def test_span_covers_header_to_last_message_line() -> None:
    before, after = "starting\n", "srun: error: n1: task 0: Exited with exit code 1\n"
    body = HEADER + '  File "x.py", line 1, in f\n    f()\nValueError: a:\n  b\n'
    trace = only(before + body + after)
    assert (trace.span.first, trace.span.last) == (len(before), len(before + body) - 1)


def test_time_is_bounded_by_the_stamped_lines_around() -> None:
    trace = only(
        "[2026-12-01 10:00:00,123] [INFO] [a.py:1:f] one\n"
        + HEADER
        + '  File "x.py", line 1, in f\nKeyError: 1\n[2026-12-01 10:00:05,000] [INFO] [a.py:1:f] two\n'
    )
    assert trace.when.at is None
    assert trace.when.after is not None
    assert trace.when.after.text.startswith("2026-12-01 10:00:00")
    assert trace.when.before is not None
    assert trace.when.before.text.startswith("2026-12-01 10:00:05")


def test_thread_and_ignored_headers_give_style_and_label() -> None:
    frames = HEADER + '  File "x.py", line 1, in f\n    f()\n'
    traces, rest = read(
        f"Exception in thread Thread-3 (f):\n{frames}torch.OutOfMemoryError: CUDA out of memory.\n"
        f"Exception ignored in: <function A.__del__ at 0x7f>\n{frames}AttributeError: 'A' object has no attribute 'x'\nbye\n"
    )
    assert [(trace.style, trace.label) for trace in traces] == [
        ("thread", "Exception in thread Thread-3 (f):"),
        ("ignored", "Exception ignored in: <function A.__del__ at 0x7f>"),
    ]
    assert left_texts(rest) == ["bye"]


def test_logging_exception_keeps_the_log_message_as_label_and_as_record() -> None:
    traces, rest = read("ERROR:train:step 3 failed\n" + HEADER + '  File "x.py", line 1, in f\nKeyError: 1\n')
    assert [(trace.style, trace.label, trace.logged) for trace in traces] == [
        ("logged", "step 3 failed", False)
    ]
    assert left_texts(rest) == ["step 3 failed"]


def test_uncaught_traceback_after_a_warning_is_not_called_logged() -> None:
    trace = only("WARNING:train:lr is small\n" + HEADER + '  File "x.py", line 1, in f\nKeyError: 1\n')
    assert (trace.style, trace.logged) == ("python", False)


def test_agent_error_line_is_no_label_of_its_own_traceback() -> None:
    line = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 2 (pid: 5) of binary: /p\n"
    trace = only(
        line + HEADER + '  File "run.py", line 1, in f\nChildFailedError: \n' + "=" * 60 + "\nt.py FAILED\n"
    )
    assert (trace.style, trace.label) == ("python", "")


def test_traceback_in_the_text_of_a_log_line_is_logged_with_that_text_as_label() -> None:
    trace = only(
        "Import of a from b failed with: " + HEADER + '  File "u.py", line 319, in safe\nAttributeError: no\n'
    )
    assert (trace.style, trace.logged, trace.label) == ("logged", True, "Import of a from b failed with:")


def test_traceback_behind_a_progress_bar_is_not_logged() -> None:
    trace = only(
        "Epoch 0:  10%|#  | 1/10 [00:01<00:09]" + HEADER + '  File "x.py", line 1, in f\nKeyError: 1\n'
    )
    assert (trace.style, trace.logged, trace.links[0].exception) == ("python", False, "KeyError")


def test_logging_error_takes_its_call_stack_along() -> None:
    traces, rest = read((DATA / "logging-error.txt").read_bytes())
    assert [(trace.style, trace.logged, names(trace)[-1][0]) for trace in traces] == [
        ("logged", True, "context")
    ]
    assert not [text for text in left_texts(rest) if "Call stack" in text or text.startswith("Message:")]


def test_unknown_prefix_on_every_line() -> None:
    body = (HEADER + '  File "x.py", line 1, in f\n    f()\nRuntimeError: a\n').splitlines()
    text = "".join(f"job-7/w3 >> {line}\njob-7/w4 >> hello\n" for line in body)
    traces, rest = read(text)
    assert [names(trace) for trace in traces] == [[("", "RuntimeError")]]
    assert left_texts(rest) == ["job-7/w4 >> hello"] * len(body)


@pytest.mark.parametrize(
    ("prefix", "tags"),
    [
        ("[Rank 3] ", Tags(rank=3)),
        ("rank=3 | ", Tags(rank=3)),
        ("[3] ", Tags(rank=3)),
        ("global_rank: 11, local_rank: 3 > ", Tags(rank=11, local_rank=3)),
        ("[local rank 3] ", Tags(local_rank=3)),
        ("ranking-3 ", Tags()),
        ("[PG 0 group rank 3] ", Tags()),
    ],
)
def test_unknown_prefix_may_name_a_rank(prefix: str, tags: Tags) -> None:
    body = (HEADER + '  File "x.py", line 1, in f\n    f()\nRuntimeError: a\n').splitlines()
    traces, _ = read("".join(f"{prefix}{line}\n" for line in body))
    assert [trace.tags for trace in traces] == [tags]


@pytest.mark.parametrize("rule", ["=", "*"])
def test_summary_of_torchrun_is_no_part_of_the_launchers_message(rule: str) -> None:
    text = f"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{rule * 39}\n   tools/train.py FAILED   \n"
    traces, rest = read(HEADER + '  File "x.py", line 1, in f\n    f()\n' + text + "Root Cause:\n[0]:\n")
    assert traces[0].links[0].message == ""
    assert left_texts(rest)[-2:] == ["Root Cause:", "[0]:"]


def test_excerpt_that_starts_inside_a_stack_keeps_its_exception() -> None:
    traces, rest = read('    g()\n  File "x.py", line 2, in g\n    h()\nValueError: x\n')
    assert [(names(trace), inner(trace.links[0]).function) for trace in traces] == [
        ([("", "ValueError")], "g")
    ]
    assert left_texts(rest) == ["    g()"]


def test_frames_of_a_mere_warning_are_no_traceback() -> None:
    traces, rest = read(
        'UserWarning: forward call that caused the error:\n  File "x.py", line 2, in g\n    h()\ngo on\n'
    )
    assert traces == []
    assert len(rest) >= 4


def test_cut_off_traceback_is_incomplete() -> None:
    trace = only(HEADER + '  File "x.py", line 2, in g\n    h()\n')
    assert (trace.complete, trace.links[0].exception, inner(trace.links[0]).code) == (False, None, "h()")
