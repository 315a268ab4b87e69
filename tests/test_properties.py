"""What must not change the verdict: how bytes arrive, names and order of files, healthy lines, which engine reads.

A sample of the cases runs by default; `TRIAGE_SLOW=1` takes them all.
"""

from __future__ import annotations

import os
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.support import (
    Log,
    case_logs,
    case_names,
    comparable,
    differences,
    engine,
    ruleset,
    verdict_of,
)
from triage.core.analysis import Analysis
from triage.core.cause.twins import OFTEN, RARELY, Twins
from triage.core.logs.outline import LARGEST as LARGEST_OUTLINE
from triage.core.logs.outline import Outline
from triage.files.layout import sources_of

SLOW = bool(os.environ.get("TRIAGE_SLOW"))
SHARE = 1 if SLOW else 5
SPLICES = 600 if SLOW else 40
HEALTHY_LINES = 100_000
LARGEST = 4 << 20
"""Cases with more bytes than this run in the slow set only."""

_PROGRESS = re.compile(rb"^[^\n]{0,200}\biteration[: ]{1,14}(\d{1,9})/[ ]{0,12}\d{1,9} [^\n]*\n", re.M)
_INIT = b"gpu9:4100:4100 [0] NCCL INFO Channel %02d/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"


def sampled(salt: str) -> list[str]:
    """The cases that one property runs on; each property gets others."""
    names = [n for n in case_names() if zlib.crc32(f"{salt}/{n}".encode()) % SHARE == 0]
    if SLOW:
        return names
    return [n for n in names if sum(len(log.data) for log in case_logs(n)) < LARGEST]


def seeded(*parts: object) -> random.Random:
    return random.Random(zlib.crc32(repr(parts).encode()))


def same(left: Sequence[Log], right: Sequence[Log], *, naive: bool = False, but: Sequence[str] = ()) -> None:
    """The verdict on both is the same; `naive` reads the second with the slow twin."""
    found = differences(comparable(verdict_of(left), left), comparable(verdict_of(right, naive=naive), right))
    for name in but:
        found.pop(name, None)
    assert not found


@pytest.mark.parametrize("name", sampled("split"))
def test_any_split_of_the_bytes_into_chunks(name: str) -> None:
    logs = case_logs(name)
    rng = seeded("split", name)

    def pieces(data: bytes) -> Iterator[bytes]:
        largest = rng.choice((1, 7, 300, 70_000)) if len(data) < 200_000 else 70_000
        at = 0
        while at < len(data):
            step = rng.randint(1, largest)
            yield data[at : at + step]
            at += step

    whole = comparable(verdict_of(logs), logs)
    assert not differences(whole, comparable(verdict_of(logs, pieces=pieces), logs))


@pytest.mark.parametrize("name", sampled("rename"))
def test_files_renamed_with_their_tokens_kept_and_read_in_another_order(name: str) -> None:
    logs = case_logs(name)
    top = sorted(
        (log.path for log in logs if "/" not in log.path and not is_a_hosts_name(log.path)), reverse=True
    )
    letters = {one: f"{chr(97 + n // 26)}{chr(97 + n % 26)}-" for n, one in enumerate(top)}
    renamed = [replace(log, path=letters.get(log.path, "") + log.path) for log in logs]
    seeded("rename", name).shuffle(renamed)
    same(logs, renamed)


def is_a_hosts_name(path: str) -> bool:
    """A pod's log, alone in its folder: the whole name is the token, and with letters in front it is another pod's."""
    node = sources_of([path])[0].node
    return node is not None and path.startswith(f"{node}.")


CUTS: tuple[Callable[[str], tuple[str, str]], ...] = (
    lambda path: (f"{path}.1", path),
    lambda path: (f"{path}-20261201", path),
    lambda path: (f"{path}.aa", f"{path}.ab"),
    lambda path: (in_front("a-", path), in_front("b-", path)),
    lambda path: (in_front("part1-", path), in_front("part2-", path)),
)
"""How logrotate, `split` and people name the two parts of a log: the tokens of its name stay, and so does the order."""


def in_front(letters: str, path: str) -> str:
    folder, _, file = path.rpartition("/")
    return f"{folder}/{letters}{file}".lstrip("/")


@pytest.mark.parametrize("name", sampled("borders"))
def test_a_log_cut_into_two_files_at_any_line(name: str) -> None:
    logs = list(case_logs(name))
    rng = seeded("borders", name)
    number = max(range(len(logs)), key=lambda n: (len(logs[n].data) > 2_000, rng.random()))
    log = logs[number]
    cut = rng.choice([match.end() for match in re.finditer(rb"\n", log.data)] or [0])
    halves = [
        Log(path, part)
        for path, part in zip(rng.choice(CUTS)(log.path), (log.data[:cut], log.data[cut:]), strict=True)
    ]
    rest = logs[:number] + logs[number + 1 :]
    at = rng.randint(0, len(rest))
    same(logs, [*rest[:at], halves[1], *rest[at:], halves[0]])


@pytest.mark.parametrize("name", sampled("naive"))
def test_the_anchored_engine_equals_the_naive_one(name: str) -> None:
    same(case_logs(name), case_logs(name), naive=True)


@pytest.mark.parametrize("number", range(SPLICES))
def test_the_anchored_engine_equals_the_naive_one_on_spliced_cases(number: int) -> None:
    logs = spliced(random.Random(number))
    same(logs, logs, naive=True)


@pytest.mark.parametrize("name", sampled("twins"))
def test_a_file_with_other_numbers_of_its_writer_is_told_as_it_would_be_read(name: str) -> None:
    """What is learnt from one file of an outline holds for each other one."""
    analysis = Analysis(ruleset(), engine())
    for data in {log.data for log in case_logs(name) if len(log.data) <= LARGEST_OUTLINE}:
        twins = Twins(analysis._closely)
        for number in range(RARELY + OFTEN):
            twins.outcome(number, data)
        outline = Outline(data)
        for other in (outline.changed(step) for step in (3, 4, 7)):
            told, read = twins.outcome(7, other).holding, analysis._closely(7, other).holding
            assert (told.tags, told.stamps, told.kept) == (read.tags, read.stamps, read.kept)
        assert len(twins.forms) <= 1


def spliced(rng: random.Random) -> list[Log]:
    """Runs of lines of two cases, woven into the files of the first."""
    small = [n for n in case_names() if sum(len(log.data) for log in case_logs(n)) < 400_000]
    first, second = (case_logs(n) for n in rng.sample(small, 2))
    out = []
    for log in rng.sample(first, min(len(first), 3)):
        other = rng.choice(second)
        out.append(Log(log.path, b"".join(_woven(log.data, other.data, rng))))
    return out


def _woven(left: bytes, right: bytes, rng: random.Random) -> Iterator[bytes]:
    for _ in range(rng.randint(1, 6)):
        lines = rng.choice((left, right)).splitlines(keepends=True)
        if lines:
            start = rng.randrange(len(lines))
            yield b"".join(lines[start : start + rng.choice((3, 40, 400))])


@pytest.mark.parametrize("name", sampled("added"))
def test_a_healthy_ranks_log_added(name: str) -> None:
    logs = case_logs(name)
    silent = free_rank(logs)
    if silent is None:
        pytest.skip("no rank of its world is silent")
    healthy = b"".join(_INIT % (n % 32) for n in range(2_000))
    same(logs, [*logs, Log(silent, healthy)])


def free_rank(logs: Sequence[Log]) -> str | None:
    """A name for another rank's log, spelt as the case spells its own; None where the case is no folder of ranks, or
    where nobody knows how many ranks there are and the silent one is to blame: one more is one more suspect."""
    sources = sources_of([log.path for log in logs])
    if len(logs) < 2:
        return None
    for log, source in zip(logs, sources, strict=True):
        if source.rank is None:
            continue
        taken = {one.rank for one in sources}
        rank = next(n for n in range(100_000) if n not in taken)
        verdict = verdict_of(logs)
        world = verdict.facts.get("world_size")
        if rank >= (world or 100_000) or (
            world is None and verdict.root is not None and verdict.root.attribution == "inferred"
        ):
            return None
        name = re.sub(rf"(?<=rank)([-_.]?)0*{source.rank}(?!\d)", rf"\g<1>{rank}", log.path)
        if name != log.path and sources_of([*(other.path for other in logs), name])[-1].rank == rank:
            return name
    return None


@pytest.mark.parametrize("name", sampled("progress"))
def test_a_hundred_thousand_healthy_progress_lines_before_the_failure(name: str) -> None:
    logs = list(case_logs(name))
    verdict = verdict_of(logs)
    evidence = verdict.root.evidence if verdict.root else None
    number = next((n for n, log in enumerate(logs) if evidence and log.path == evidence.path), None)
    if number is None or evidence is None:
        pytest.skip("no file holds the failure")
    data = logs[number].data
    failure = sum(map(len, data.splitlines(keepends=True)[: evidence.first_line - 1]))
    progress = _PROGRESS.search(data, 0, failure)
    if progress is None:
        pytest.skip("its stream shows no progress before the failure")
    longer = data[: progress.start()] + progress[0] * HEALTHY_LINES + data[progress.start() :]
    same(logs, [*logs[:number], replace(logs[number], data=longer), *logs[number + 1 :]])
