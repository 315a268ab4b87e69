"""Names that differ in their rank alone say what each would say by itself."""

from __future__ import annotations

import random

import pytest

from triage.files import ranked
from triage.files.layout import _sources, sources_of

FOLDERS = (
    "",
    "logs/",
    "123456_x/attempt_0/3/",
    "x-77/attempt-1/node-2-hosta/",
    "rank3/",
    "node-4/",
    "777777/",
)
FRONTS = (
    "",
    "aa-",
    "gpt-700123-",
    "slurm-45012_3-",
    "log-x_123_0-",
    "mp_",
    "local_",
    "node_",
    "a100-",
    "2026-12-01-",
)
HOSTS = ("", "gpu0001-", "n-012-", "node3-", "ip-10-0-0-1-", "dmesg-", "job-77-")
WORDS = ("rank", "rank-", "rank_", "rank=", "Rank", "rank.")
BEHIND = ("", ".out", ".log.1", "-stderr.log", "-gpu3.out", ".cluster.local", "_12.log", ".out.gz", "-node7.txt")  # fmt: skip
RANKS = (0, 1, 2, 3, 7, 12, 34, 77, 123, 456, 2001, 3002, 45012, 700123, 800123)


def names(rng: random.Random) -> list[str]:
    """Of one folder, most of them alike but for the rank."""
    folder, front, host, word, behind = (
        rng.choice(parts) for parts in (FOLDERS, FRONTS, HOSTS, WORDS, BEHIND)
    )
    found = []
    for _ in range(rng.randint(3, 8)):
        other = rng.random() < 0.3
        start = rng.choice(FRONTS) + rng.choice(HOSTS) if other else front + host
        found.append(f"{folder}{start}{word}{rng.choice(RANKS)}{behind}")
    return [*found, *rng.sample(("777777.out", "x-77.out", "slurm-45012.out"), rng.randint(0, 1))]


@pytest.mark.parametrize("number", range(0, 1500, 100))
def test_each_name_says_what_it_says_by_itself(number: int) -> None:
    for seed in range(number, number + 100):
        paths = names(random.Random(seed))
        assert sources_of(paths) == _sources(paths, {})


def test_the_names_of_a_large_job_are_led_by_one_for_each_node() -> None:
    paths = [f"gpt-700123-gpu{rank // 8:04d}-rank{rank}.out" for rank in range(16, 96)]
    assert len(ranked.led(paths)) == 70


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rank-7.out", "rank-12.out"),
        ("tp-rank3-rank4.out", "tp-rank3-rank5.out"),
        ("rank4-12.out", "rank5-12.out"),
        ("x-12-rank11.out", "x-12-rank12.out"),
        ("rank0.out", "rank1.out"),
        ("rank_3/rank_4.out", "rank_3/rank_5.out"),
    ],
)
def test_names_whose_number_may_say_more_are_read_each(first: str, second: str) -> None:
    assert ranked.led([first, second]) == {}
