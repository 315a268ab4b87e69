"""Hostile logs: no input may crash the engine, hang it or make it grow.

    python tests/fuzz.py --seconds 60 --seed 1

Each input follows from the seed and its number alone; a failure prints both, `--only NUMBER` runs it again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support import Log, case_logs, case_names, ruleset, verdict_of
from triage.core.cause.verdict import PHASES, Verdict
from triage.errors import TriageError

SECONDS_PER_INPUT = 20
"""Of processor time, far above what any input here needs: a hang, not a busy machine, runs into it."""
RANKS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
GROWTH = 400 << 20
"""Bytes that the process may grow by over the whole run."""

ESCAPES = (
    b"\x1b[31m", b"\x1b]8;;http://x\x07", b"\x1b[2J\x1b[H", b"\x1b", b"\x9b1m", b"\r", b"\r\r\n", b"\x00", b"\x08" * 9, b"\xff\xfe",
    b"\xf0\x9f", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\x1b[" + b"1;" * 500 + b"m", b"\x1b]0;" + b"x" * 4000, b"\x0c", b"\xc2\x85",
)  # fmt: skip
HEADERS = (
    b"Traceback (most recent call last):\n", b'  File "a.py", line 1, in f\n', b"    g()\n", b"ValueError: no\n",
    b"During handling of the above exception, another exception occurred:\n", b"\n", b"  | ", b"  + Exception Group Traceback (most recent call last):\n",
    b"    +---------------- 1 ----------------\n", b"[rank3]: ", b"[rank99999999999]: ", b"12: ", b"[default7]:", b"Fatal Python error: Aborted\n",
    b"  [Previous line repeated 999999999999 more times]\n", b"Original Traceback (most recent call last):\n", b'"""\n',
    b"[E1201 10:00:00.123456789 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=",
    b"srun: error: node[1-99999999]: tasks 0-99999999: Exited with exit code 1\n", b"slurmstepd: error: *** STEP 1.0 ON a CANCELLED AT 2026-13-45T99:99:99 DUE TO TIME LIMIT ***\n",
    b"  exitcode  : -9 (pid: 1)\n", b"  rank      : 3 (local_rank: 3)\n", b"Root Cause (first observed failure):\n", b"[0]:\n", b":::MLLOG {",
    b" iteration 99999999999999999999999999/ 1 | lm loss: nan |\n", b"\xe2\x95\xad\xe2\x94\x80 Traceback (most recent call last) \xe2\x94\x80\xe2\x95\xae\n",
    b"\xe2\x94\x82 ", b"\xe2\x95\xb0\xe2\x94\x80\xe2\x95\xaf\n", b"------------------------ arguments ------------------------\n", b"  world_size ...... 99999999999999999999\n",
    b"worker-99999999: ", b"NCCL WARN ", b"RuntimeError: ", b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1e999 GiB. GPU 0 has a total capacity of",
)  # fmt: skip
PATHS = (
    "train.log", "rank_0.log", "rank-1.err", "a/attempt_0/0/stderr.log", "a/attempt_0/1/error.json", "job-8001-node3-12.out",
    "slurm-99999999999.out", "dmesg-node1.txt", "node-0.log", "Rank" + "9" * 80 + ".log",
)  # fmt: skip


@cache
def _small_cases() -> list[str]:
    return [name for name in case_names() if sum(len(log.data) for log in case_logs(name)) < 1 << 20]


def case_part(rng: random.Random) -> bytes:
    """A stretch of a real case."""
    log = rng.choice(case_logs(rng.choice(_small_cases())))
    start = rng.randrange(len(log.data) + 1)
    return log.data[start : start + rng.choice((80, 2_000, 60_000))]


def random_bytes(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 17, 4_096, 300_000)))


def printable_soup(rng: random.Random) -> bytes:
    letters = b"aZ09 \t\n\r:|[]{}()<>=+-*/\\%#@!~^\"'.,;_"
    return bytes(rng.choices(letters, k=rng.choice((10, 3_000, 40_000))))


def spliced(rng: random.Random) -> bytes:
    return b"".join(case_part(rng) for _ in range(rng.randint(2, 6)))


def truncated(rng: random.Random) -> bytes:
    data = case_part(rng)
    return data[: rng.randrange(len(data) + 1)]


def mutated(rng: random.Random) -> bytes:
    """A real stretch with bytes changed, doubled and taken away."""
    data = bytearray(case_part(rng))
    for _ in range(rng.randint(1, 60)):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                data[at:at] = rng.choice(ESCAPES)
            case 2:
                del data[at : at + rng.choice((1, 5, 300))]
            case _:
                data[at:at] = data[at : at + 200] * rng.randint(1, 5)
    return bytes(data)


def headers(rng: random.Random) -> bytes:
    """Beginnings of everything the extractors know, in no sensible order."""
    return b"".join(rng.choices(HEADERS, k=rng.choice((3, 40, 3_000))))


def deep_chain(rng: random.Random) -> bytes:
    link = b"".join(HEADERS[:4]) + b"\n" + HEADERS[4] + b"\n"
    return link * rng.choice((50, 2_000))


def deep_group(rng: random.Random) -> bytes:
    lines = []
    for depth in range(rng.choice((20, 300))):
        bar = b"  | " * depth
        lines.append(
            bar
            + b"  + Exception Group Traceback (most recent call last):\n"
            + bar
            + b"  | ExceptionGroup: x (1 sub-exception)\n"
        )
        lines.append(bar + b"  +-+---------------- 1 ----------------\n")
    return b"".join(lines)


def nested_json(rng: random.Random) -> bytes:
    depth = rng.choice((10, 100_000))
    return b'{"message": ' * depth + b"1" + b"}" * (depth if rng.random() < 0.5 else 0)


def huge_line(rng: random.Random) -> bytes:
    piece = rng.choice(
        (
            b"x",
            b"error ",
            b"Traceback (most recent call last):",
            b"\xe2\x94\x82 ",
            b"[rank1]: ",
            b"((((",
            b"\r10%|",
            b"1: ",
            b" ",
        )
    )
    return piece * (rng.choice((10_000, 3_000_000)) // len(piece)) + rng.choice((b"", b"\n"))


def repeated_line(rng: random.Random) -> bytes:
    line = rng.choice(HEADERS)
    return line * (rng.choice((1_000, 400_000)) // len(line))


def escapes(rng: random.Random) -> bytes:
    return b"".join(rng.choice(ESCAPES) + rng.choice(HEADERS) for _ in range(rng.choice((5, 500))))


MAKERS: tuple[Callable[[random.Random], bytes], ...] = (
    random_bytes, printable_soup, spliced, truncated, mutated, headers, deep_chain, deep_group, nested_json, huge_line,
    repeated_line, escapes,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    seed: int
    number: int
    makers: str
    text: str

    def __str__(self) -> str:
        return f"--seed {self.seed} --only {self.number} ({self.makers})\n{self.text}"


class TooSlow(BaseException):
    """Not an `Exception`: nothing on the way may swallow it."""


def made(seed: int, number: int) -> tuple[list[Log], str]:
    """Input number `number` of a seed, and how it was made."""
    rng = random.Random(seed * 1_000_003 + number)
    logs, names = [], []
    for path in rng.sample(PATHS, rng.choice((1, 1, 2, 5))):
        makers = rng.choices(MAKERS, k=rng.choice((1, 1, 2, 3)))
        names += [maker.__name__ for maker in makers]
        logs.append(Log(path, b"".join(maker(rng) for maker in makers)))
    return logs, "+".join(names)


def broken(verdict: Verdict) -> str:
    """What the verdict says that no verdict may say; empty when it is sound."""
    plain = verdict.to_json()
    json.dumps(plain, allow_nan=False).encode()
    if verdict.category not in ruleset().taxonomy:
        return f"category {verdict.category}"
    if verdict.confidence not in ("high", "medium", "low"):
        return f"confidence {verdict.confidence}"
    if verdict.failed != (verdict.category != "none"):
        return f"failed is {verdict.failed} with category {verdict.category}"
    if not verdict.failed and verdict.root is not None:
        return "a root without a failure"
    if verdict.root is not None and verdict.root.phase is not None and verdict.root.phase not in PHASES:
        return f"phase {verdict.root.phase}"
    if not 1 <= verdict.attempt <= verdict.attempts:
        return f"attempt {verdict.attempt} of {verdict.attempts}"
    others = (*verdict.downstream, *verdict.unexplained)
    for evidence in (verdict.root.evidence if verdict.root else None, *(one.first for one in others)):
        if evidence is not None and not 1 <= evidence.first_line <= evidence.last_line:
            return f"lines {evidence.first_line} to {evidence.last_line}"
    for one in others:
        if one.ranks and not RANKS.fullmatch(one.ranks):
            return f"ranks {one.ranks!r}"
        if one.ranks and one.count < number_of(one.ranks):
            return f"{one.count} ranks, but {one.ranks}"
    return ""


def number_of(ranks: str) -> int:
    """How many ranks `0-4,6` names."""
    parts = [part.partition("-") for part in ranks.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in parts)


def fuzz(seed: int, seconds: float, only: int | None = None) -> Iterator[Failure | None]:
    """One result for each input, until the time is over; None is a sound one."""
    end = time.monotonic() + seconds
    number = only or 0
    while (only is None and time.monotonic() < end) or only == number:
        logs, makers = made(seed, number)
        text = _run(logs, random.Random(number))
        yield Failure(seed, number, makers, text) if text else None
        number += 1


def _run(logs: Sequence[Log], rng: random.Random) -> str:
    size = rng.choice((1 << 20, 4_097, 65_536))

    def pieces(data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    def give_up(_signal: int, frame: FrameType | None) -> None:
        raise TooSlow("".join(traceback.format_stack(frame)[-12:]))

    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT)
    try:
        return broken(verdict_of(logs, pieces=pieces))
    except TriageError:
        return ""
    except TooSlow as slow:
        return f"no verdict after {SECONDS_PER_INPUT} s on {sum(len(log.data) for log in logs)} bytes\n{slow}"
    except Exception:
        return traceback.format_exc(limit=-8)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def peak_memory() -> int:
    """Bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    """Print every failure; exit 1 when there was one or memory grew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this input alone")
    options = parser.parse_args()
    verdict_of(case_logs(_small_cases()[0]))
    before, count, failures = peak_memory(), 0, 0
    for result in fuzz(options.seed, options.seconds, options.only):
        count += 1
        if result is not None:
            failures += 1
            print(result, flush=True)
    growth = peak_memory() - before
    print(f"{count} inputs, {failures} failures, {growth >> 20} MiB grown, seed {options.seed}")
    return 1 if failures or growth > GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
