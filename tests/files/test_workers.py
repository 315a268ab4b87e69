"""Several processes read what one would have read, and a process that fails costs nothing but time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triage
from tests.support import CASES, ruleset
from triage.core.analysis import Analysis
from triage.core.cause.twins import Twin
from triage.core.cause.verdict import Skipped
from triage.core.logs.source import Source
from triage.files import scan, workers
from triage.files.workers import FRAME, divided, read_shares

FOLDERS = sorted(path for path in CASES.glob("*/logs") if len(list(path.rglob("*.*"))) >= 4)
OOM = b"[rank%d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def opened(count: int) -> Analysis:
    analysis = Analysis(ruleset())
    for n in range(count):
        analysis.open(Source(f"rank-{n}.log", rank=n))
    return analysis


def feed(analysis: Analysis, share: Sequence[int]) -> list[Skipped]:
    for index in share:
        analysis.feeds[index].feed(OOM % index)
        analysis.feeds[index].close()
    return [Skipped(f"rank-{index}.log", "a note") for index in share]


def said(analysis: Analysis) -> triage.Verdict:
    return analysis.verdict(lambda index, offsets: [(f"rank-{index}.log", 1) for _ in offsets])


def read_alone(count: int) -> triage.Verdict:
    analysis = opened(count)
    feed(analysis, range(count))
    return said(analysis)


@pytest.mark.parametrize("folder", FOLDERS[::6], ids=lambda path: path.parent.name)
def test_a_folder_read_by_several_processes_gives_the_same_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "available", lambda: 1)
    alone = triage.explain(folder)
    monkeypatch.setattr(scan, "ALONE", 0)
    monkeypatch.setattr(workers, "available", lambda: 3)
    assert triage.explain(folder) == alone


def test_what_a_process_noted_and_read_in_several_pieces_comes_back() -> None:
    count = 2 * FRAME + 3
    analysis = opened(count)
    notes = read_shares(analysis, [[0], range(1, count)], lambda share: feed(analysis, share))
    assert sorted(int(note.path[5:-4]) for note in notes) == list(range(count))
    assert said(analysis) == read_alone(count)


def test_what_a_process_learnt_of_files_that_are_alike_comes_back() -> None:
    count = 3 * FRAME

    def read(share: Sequence[int]) -> list[Skipped]:
        for index in share:
            analysis.feeds[index].read(OOM % (1000 + index), analysis.twins)
        return []

    analysis = opened(count)
    read(range(count))
    alone = said(analysis)
    analysis = opened(count)
    analysis.look_for_twins()
    read_shares(analysis, [range(3), range(3, count)], read)
    assert isinstance(analysis.feeds[-1].holding, Twin)
    assert said(analysis) == alone


def test_the_share_of_a_process_that_died_is_read_here() -> None:
    here, analysis = os.getpid(), opened(4)

    def read(share: Sequence[int]) -> list[Skipped]:
        notes = feed(analysis, share)
        if os.getpid() != here:
            os._exit(9)
        return notes

    notes = read_shares(analysis, [[0, 1], [2, 3]], read)
    assert len(notes) == 4
    assert said(analysis) == read_alone(4)


def test_a_rule_that_ran_out_of_time_elsewhere_is_named() -> None:
    here, analysis = os.getpid(), opened(2)

    def read(share: Sequence[int]) -> list[Skipped]:
        if os.getpid() != here:
            analysis.engine.timeouts.append("oom/cuda")
        return feed(analysis, share)

    read_shares(analysis, [[0], [1]], read)
    assert analysis.engine.timeouts == ["oom/cuda"]


def test_an_error_here_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    here, analysis = os.getpid(), opened(2)
    born: list[int] = []
    fork = os.fork

    def recorded() -> int:
        born.append(fork())
        return born[-1]

    monkeypatch.setattr(os, "fork", recorded)

    def read(share: Sequence[int]) -> list[Skipped]:
        if os.getpid() == here:
            raise ValueError("broken")
        return feed(analysis, share)

    with pytest.raises(ValueError, match="broken"):
        read_shares(analysis, [[0], [1]], read)
    (child,) = born
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.integers(1, 8))
def test_shares_hold_each_input_once_and_differ_by_no_more_than_one_input(
    sizes: list[int], count: int
) -> None:
    shares = divided(sizes, count)
    assert sorted(index for share in shares for index in share) == list(range(len(sizes)))
    assert all(shares)
    loads = [sum(sizes[i] + 1 for i in share) for share in shares]
    assert max(loads) - min(loads) <= max(sizes) + 1
