"""The order of the anchors in which the search is fastest: run it after a change of `triage/core/logs/anchors.py`.

    python -m benchmarks.anchor_order LOG [LOG ...]

`aho-corasick` compares the first four bytes of up to 64 patterns at once, by half bytes and in 16 buckets; pattern number
n falls into bucket n modulo 16 (packed/teddy/generic.rs, `Teddy::new`). Patterns that share a bucket are confused with
each other: `abxy` and `cdzw` also stop the search at `abzw`. So the order decides how often it stops for nothing, by a
factor of six in speed. Give some logs, healthy ones and failing ones.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path

from triage.core.logs.anchors import ANCHORS
from triage.core.logs.regions import Anchors

BUCKETS = 16
MASK = 4
SAMPLES = 1 << 17
STEPS = 12_000


class Model:
    """How often a set of patterns stops the search, on a sample of places in the logs."""

    def __init__(self, texts: Sequence[bytes], rng: random.Random) -> None:
        self._low = [[0] * 16 for _ in range(MASK)]
        self._high = [[0] * 16 for _ in range(MASK)]
        bits: dict[tuple[int, int, int], list[int]] = {}
        for number in range(SAMPLES):
            text = texts[number % len(texts)]
            at = rng.randrange(len(text) - MASK)
            for place, byte in enumerate(text[at : at + MASK]):
                bits.setdefault((place, 0, byte & 15), []).append(number)
                bits.setdefault((place, 1, byte >> 4), []).append(number)
        for (place, half, value), numbers in bits.items():
            row = bytearray(SAMPLES // 8)
            for number in numbers:
                row[number >> 3] |= 1 << (number & 7)
            (self._high if half else self._low)[place][value] = int.from_bytes(row, "little")

    def stops(self, bucket: Sequence[bytes]) -> int:
        """Places at which the patterns of one bucket stop the search."""
        if not bucket:
            return 0
        found = (1 << SAMPLES) - 1
        for place in range(MASK):
            low = high = 0
            for pattern in bucket:
                low |= self._low[place][pattern[place] & 15]
                high |= self._high[place][pattern[place] >> 4]
            found &= low & high
        return found.bit_count()


def buckets(order: Sequence[str]) -> list[list[bytes]]:
    """As the crate assigns them: patterns with the same low half bytes stay together."""
    rows: list[list[bytes]] = [[] for _ in range(BUCKETS)]
    known: dict[tuple[int, ...], int] = {}
    for number, text in enumerate(order):
        pattern = text.encode()
        row = known.setdefault(tuple(b & 15 for b in pattern[:MASK]), BUCKETS - 1 - number % BUCKETS)
        rows[row].append(pattern)
    return rows


def best_order(order: Sequence[str], model: Model, rng: random.Random) -> list[str]:
    """Swap pairs, at first also for the worse."""
    present = list(order)
    rows = buckets(present)
    costs = [model.stops(row) for row in rows]
    best, best_cost = list(present), sum(costs)
    start = best_cost / 20
    for step in range(STEPS):
        a, b = rng.sample(range(len(present)), 2)
        present[a], present[b] = present[b], present[a]
        new_rows = buckets(present)
        new_costs = [c if r == n else model.stops(n) for r, n, c in zip(rows, new_rows, costs, strict=True)]
        worse = sum(new_costs) - sum(costs)
        if worse <= 0 or rng.random() < 2.718 ** (-worse / (start * (1 - step / STEPS) ** 2 + 1e-9)):
            rows, costs = new_rows, new_costs
            if sum(costs) < best_cost:
                best, best_cost = list(present), sum(costs)
        else:
            present[a], present[b] = present[b], present[a]
    return best


def speed(order: Sequence[str], text: bytes) -> float:
    """GB/s on one thread, the best of ten."""
    import ahocorasick_rs

    search = ahocorasick_rs.BytesAhoCorasick(
        [pattern.encode() for pattern in order], ahocorasick_rs.MATCHKIND_LEFTMOST_FIRST
    )
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        search.find_matches_as_indexes(text)
        seconds.append(time.perf_counter() - start)
    return len(text) / min(seconds) / 1e9


def main() -> None:
    """Print the speed of the present order, a better one, and its speed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = [text for log in options.logs if len(text := log.read_bytes()[: 8 << 20]) > MASK]
    rng = random.Random(options.seed)
    order = best_order(ANCHORS, Model(texts, rng), rng)
    text = max(texts, key=len)
    print(
        f"{len(Anchors().literals)} literals; now {speed(ANCHORS, text):.1f} GB/s; in this order {speed(order, text):.1f} GB/s:"
    )
    print(", ".join(f'"{one}"' if '"' not in one else f"'{one}'" for one in order))


if __name__ == "__main__":
    main()
