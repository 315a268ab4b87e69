"""Files that are alike are told as they would be read, and what never comes again costs little."""

from __future__ import annotations

import pytest

from tests.support import engine, ruleset
from triage.core.analysis import Analysis
from triage.core.cause import keeper
from triage.core.cause.keeper import Held, Outcome, in_brief
from triage.core.cause.twins import OFTEN, RARELY, Twin, Twins
from triage.core.cause.verdict import Verdict
from triage.core.logs.source import Source

LINE = (
    b"gpu07:1%03d:2%03d [4] NCCL INFO Connected all rings\n"
    b"[rank%d]:[E1201 10:40:05.000000%03d ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective operation timeout: "
    b"WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600%03d milliseconds before "
    b"timing out.\n"
)


def log(rank: int) -> bytes:
    return LINE % ((rank,) * 6)


def same(left: Outcome, right: Outcome) -> bool:
    return (
        (left.size, left.passed_over) == (right.size, right.passed_over)
        and set(left.holding.tags) == set(right.holding.tags)
        and left.holding.stamps == right.holding.stamps
        and left.holding.kept == right.holding.kept
        and left.holding.recent[-1:] == right.holding.recent[-1:]
        and left.holding.brief in (right.holding.brief, in_brief(right.holding.kept))
    )


def test_each_of_many_is_told_as_it_would_be_read() -> None:
    analysis = Analysis(ruleset(), engine())
    twins = Twins(analysis._closely)
    told = 0
    for rank in range(100, 300):
        found = twins.outcome(rank, log(rank))
        told += isinstance(found.holding, Twin)
        assert same(found, analysis._closely(rank, log(rank)))
    assert told > 150


def test_one_file_that_differs_in_its_text_is_read() -> None:
    analysis = Analysis(ruleset(), engine())
    twins = Twins(analysis._closely)
    for rank in range(100, 200):
        twins.outcome(rank, log(rank))
    other = log(200).replace(b"SeqNum=41", b"SeqNum=40")
    found = twins.outcome(200, other)
    assert isinstance(found.holding, Held)
    assert same(found, analysis._closely(200, other))


def test_files_that_are_never_alike_are_seldom_tried() -> None:
    reads: list[bytes] = []

    def read(_: int, data: bytes) -> Outcome:
        reads.append(data)
        return Outcome(len(data), 0, Held())

    twins = Twins(read)
    for number in range(1_000):
        twins.outcome(number, b"loss %04d\n" % number)
    assert len(reads) <= 1_000 + 3 * (1_000 // RARELY)


def test_an_outline_that_is_rare_is_not_tried() -> None:
    twins = Twins(lambda _, data: Outcome(len(data), 0, Held()))
    for number in range(1_000):
        twins.outcome(number, b"word " * (number // (OFTEN - 1)))
    assert not twins.forms


@pytest.mark.parametrize("crowd", [10, 10_000])
def test_the_verdict_on_many_alike_files_is_that_of_the_slow_twin(
    crowd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "CROWD", crowd)
    logs = {rank: log(rank) for rank in range(100, 240) if rank != 177}
    logs[150] = b"[rank150]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"

    def verdict(*, naive: bool) -> Verdict:
        analysis = Analysis(ruleset(), engine(), naive=naive)
        if not naive:
            analysis.look_for_twins()
        for rank, data in logs.items():
            analysis.open(Source(f"rank{rank}.out", rank=rank)).read(data, analysis.twins)
        assert naive or sum(isinstance(feed.holding, Twin) for feed in analysis.feeds) > 90
        return analysis.verdict(lambda index, offsets: [(f"rank{index}.out", 1) for _ in offsets])

    assert verdict(naive=False) == verdict(naive=True)
