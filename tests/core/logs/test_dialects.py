"""Every dialect reads its own samples, and no dialect before it in the table takes them."""

import pytest

from triage.core.logs.dialects import DIALECTS, MOST, peel
from triage.core.logs.dialects.interface import Dialect, Sample
from triage.core.logs.record import Tags

SAMPLES = [(dialect, sample) for dialect in DIALECTS for sample in dialect.samples]


def taker(text: str) -> Dialect | None:
    return next((d for d in DIALECTS if text[0] in d.first and d.strip(text) is not None), None)


@pytest.mark.parametrize(("dialect", "sample"), SAMPLES, ids=[s.line[:40] for _, s in SAMPLES])
def test_sample_is_read_by_its_own_dialect(dialect: Dialect, sample: Sample) -> None:
    if not sample.taken:
        assert dialect.strip(sample.line) is None
        return
    assert sample.line[0] in dialect.first
    got = dialect.strip(sample.line)
    assert got is not None
    read = Sample(sample.line, got.text, got.tags, got.stamp.text if got.stamp else "", got.level, got.origin)
    assert read == sample
    assert taker(sample.line) is dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=[d.name for d in DIALECTS])
def test_dialect_has_a_positive_sample(dialect: Dialect) -> None:
    assert any(sample.taken for sample in dialect.samples)


BRACKETED = [sample.line for _, sample in SAMPLES if sample.line.startswith("[")]


@pytest.mark.parametrize(
    "dialect", [d for d in DIALECTS if d.behind], ids=[d.name for d in DIALECTS if d.behind]
)
def test_no_bracket_is_read_behind_which_a_character_stands_that_the_table_rules_out(
    dialect: Dialect,
) -> None:
    others = [chr(code) for code in range(128) if chr(code) not in dialect.behind]
    assert [
        text for line in BRACKETED for c in others if dialect.strip(text := "[" + c + line[2:]) is not None
    ] == []


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: CUDA error: device-side assert triggered",
        '  File "/w/train.py", line 3, in main',
        "Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "  rank      : 4 (local_rank: 0)",
        "  host      : localhost",
        "usage: pretrain_gpt.py [-h]",
        "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57",
        "ncclRemoteError: A call failed possibly due to a network error",
        "[Rank 3] NCCL watchdog thread terminated",
        "(min, max) time across ranks (ms):",
        "Epoch: [0]  [  20/3658]  eta: 0:08:25",
        "    model-and-optimizer-setup ......................: (171022.54, 171030.07)",
        "WARNING: could not find the metadata file",
        "[0]:",
        "[after training is done] datetime: 2025-06-12 08:02:44",
        "0: 0.25",
        "node-3: done",
        "Message: 'Received %s death signal, shutting down workers'",
        "srun: error: gpu2: task 1: Exited with exit code 1",
    ],
)
def test_message_that_looks_like_a_prefix_stays_whole(message: str) -> None:
    got = peel(message)
    assert got is None or (got.text == message and got.tags == Tags())


@pytest.mark.parametrize(
    ("line", "text", "tags"),
    [
        ("[default0]:[rank12]:    return x", "   return x", Tags(rank=12, local_rank=0)),
        ("18:11:06.680 [rank4]:[E205 18:11:06.375750231 a.cpp:1] [PG ID 1 PG GUID 2 Rank 5] x", "[PG ID 1 PG GUID 2 Rank 5] x", Tags(rank=4, group_rank=5)),
        ("2026-12-01T10:00:00Z [rank1]: ValueError: x", "ValueError: x", Tags(rank=1)),
        ("(RayTrainWorker pid=7, ip=10.0.0.1) [rank1]:   File x", "  File x", Tags(rank=1, node="10.0.0.1", pid=7, actor="RayTrainWorker pid=7")),
        ("[default3]: [2026-12-01 04:41:17.835316] iteration        1/       8 |", "iteration        1/       8 |", Tags(local_rank=3)),
    ],
)  # fmt: skip
def test_stacked_prefixes_come_off_in_any_order(line: str, text: str, tags: Tags) -> None:
    got = peel(line)
    assert got is not None
    assert (got.text, got.tags) == (text, tags)


def test_innermost_stamp_wins_over_the_collectors() -> None:
    got = peel("2026-12-01T10:00:00Z [rank3]:[E1201 09:59:59.5 ProcessGroupNCCL.cpp:616] [Rank 3] x")
    assert got is not None
    assert got.stamp is not None
    assert got.stamp.text == "E1201 09:59:59.5"
    assert (got.dialect, got.level) == ("glog", "E")


def test_same_dialect_comes_off_once_so_that_the_message_keeps_its_own_brackets() -> None:
    got = peel("[rank1]: [rank2]: text")
    assert got is not None
    assert got.text == "[rank2]: text"


def test_stack_is_bounded() -> None:
    line = "[rank1]: [default1]:(a pid=1) [1,2]<stderr>:[pod/x] n:1:2 [0] NCCL INFO " * 50
    got = peel(line)
    assert got is not None
    assert len(got.text) > len(line) - 100 * MOST
