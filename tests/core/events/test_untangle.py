"""Tracebacks that several processes wrote into one stream at once."""

from __future__ import annotations

import random

import pytest

from tests.core.events.traces import DATA, HEADER, inner, read
from triage.core.events.model import Trace

STACK = [
    '  File "/app/train.py", line 9, in <module>', "    main()",
    '  File "/app/train.py", line 7, in main', "    loss = model(batch)",
    '  File "/torch/module.py", line 1501, in _call_impl', "    return forward_call(*args)",
    '  File "/app/model.py", line 3, in forward', "    return self.layer(x)",
    '  File "/torch/module.py", line 1501, in _call_impl', "    return forward_call(*args)",
    '  File "/app/layer.py", line 5, in forward', "    return split(x)",
    '  File "/app/split.py", line 2, in split', '    raise ValueError("cannot split")',
]  # fmt: skip


def woven(traces: list[Trace]) -> list[Trace]:
    return [trace for trace in traces if trace.woven]


def shuffled(stacks: list[list[str]], seed: int) -> str:
    """Lines of several stacks in a random order that keeps each one's own, cut into runs as a pipe would."""
    chance, left, lines = random.Random(seed), [list(stack) for stack in stacks], list[str]()
    while any(left):
        stack = chance.choice([stack for stack in left if stack])
        for _ in range(min(len(stack), chance.choice((1, 1, 2, 4)))):
            lines.append(stack.pop(0))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_alike_stacks_are_rebuilt_from_any_order(ranks: int, seed: int) -> None:
    stacks = [[HEADER.strip(), *STACK, f"ValueError: cannot split on rank {rank}"] for rank in range(ranks)]
    traces, rest = read(shuffled(stacks, seed))
    assert sorted(trace.links[0].message for trace in traces) == [
        f"cannot split on rank {k}" for k in range(ranks)
    ]
    assert [inner(trace.links[0]).function for trace in traces] == ["split"] * ranks
    whole = [frame.function for frame in traces[0].links[0].frames]
    assert whole == ["<module>", "main", "_call_impl", "forward", "_call_impl", "forward", "split"]
    assert not [record for record in rest if record.text.strip()]


def test_two_different_failures_keep_their_exceptions_and_mostly_their_innermost_frames() -> None:
    """Names and messages are never mixed up; of a random order one innermost frame in ten cannot be known."""
    other = [
        '  File "/app/train.py", line 9, in <module>', "    main()",
        '  File "/app/train.py", line 8, in main', "    save(model)",
        '  File "/app/save.py", line 4, in save', '    raise OSError("disk full")',
    ]  # fmt: skip
    first = [HEADER.strip(), *STACK, "ValueError: cannot split"]
    second = [HEADER.strip(), *other, "OSError: disk full"]
    right = 0
    for seed in range(60):
        links = [trace.links[0] for trace in read(shuffled([first, second], seed))[0]]
        assert {(link.exception, link.message) for link in links} == {
            ("ValueError", "cannot split"),
            ("OSError", "disk full"),
        }
        frames = {(link.exception, inner(link).function) for link in links}
        right += frames == {("ValueError", "split"), ("OSError", "save")}
    assert right >= 50


def test_clean_traceback_before_a_woven_one_stays_clean() -> None:
    traces, _ = read((DATA / "woven-after-clean.txt").read_bytes())
    assert [trace.woven for trace in traces][:2] == [False, True]


def test_names_and_messages_glued_and_apart_are_eight_exceptions() -> None:
    traces, _ = read((DATA / "woven-eight-ranks.txt").read_bytes())
    found = [(trace.links[0].exception, trace.links[0].message) for trace in woven(traces)]
    path = "/coco_train2017_pyt/coco_train2017_img_info.pyt"
    assert found == [("FileNotFoundError", f"[Errno 2] No such file or directory: '{path}'")] * 8


def test_three_ranks_then_two_more_are_five_full_stacks() -> None:
    traces, _ = read((DATA / "woven-three-ranks.txt").read_bytes())
    assert [len(trace.links[0].frames) for trace in woven(traces)] == [21] * 5


def test_each_rank_keeps_its_own_message() -> None:
    traces, _ = read((DATA / "woven-order-lost.txt").read_bytes())
    assert sorted(trace.links[0].message[:7] for trace in woven(traces)) == ["Rank 0:", "Rank 1:", "Rank 3:"]


def test_module_printed_twice_is_one_name() -> None:
    stack = '  File "x.py", line 1, in f\n    f()\n'
    text = f"{HEADER}{HEADER}{stack}{stack}torch.cuda.torch.cuda.OutOfMemoryError: OutOfMemoryError: CUDA out of memory. aCUDA out of memory. a\n\n"
    traces, _ = read(text)
    assert [(trace.links[0].exception, trace.links[0].message) for trace in traces] == [
        ("torch.cuda.OutOfMemoryError", "CUDA out of memory. a")
    ] * 2


def test_bare_exceptions_take_no_launcher_line_as_message() -> None:
    stack = '  File "x.py", line 1, in f\n    assert a\n'
    traces, _ = read(
        f"{HEADER}{HEADER}{stack}AssertionError\n{stack}AssertionError\nKilling subprocess 103\n"
    )
    assert [(trace.links[0].exception, trace.links[0].message) for trace in traces] == [
        ("AssertionError", "")
    ] * 2
