"""Whether the sequence can be cut over context- and tensor-parallel ranks."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, Finding, Severity
from triage.core.megatron.launch import Launch
from triage.core.megatron.layout import CP, TP
from triage.core.megatron.model import POSITIONS

SEQ = "--seq-length"
SEQUENCE_PARALLEL = "--sequence-parallel"


def context_parallel(launch: Launch) -> Iterator[Finding]:
    """With CP > 1 the sequence is a multiple of 2 x CP (arguments.py:1336)."""
    seq, cp = launch.int(SEQ), launch.size(CP)
    if seq is not None and cp > 1 and seq % (2 * cp):
        yield Finding(
            Severity.ERROR,
            "sequence/context-parallel",
            f"{SEQ} {seq} is no multiple of 2 x CP {cp} = {2 * cp}",
            f"{ARGUMENTS}:1336",
            launch.line(SEQ, CP),
        )


def positions(launch: Launch) -> Iterator[Finding]:
    """There is a position for each token of the sequence (arguments.py:1354)."""
    seq, most = launch.int(SEQ, "--encoder-seq-length"), launch.int(POSITIONS)
    if seq is not None and most is not None and most < seq:
        yield Finding(
            Severity.ERROR,
            "sequence/positions",
            f"{POSITIONS} {most} is less than {SEQ} {seq}",
            f"{ARGUMENTS}:1354",
            launch.line(POSITIONS),
        )


def length(launch: Launch) -> Iterator[Finding]:
    """The length is given, and once (arguments.py:1347, 1350)."""
    given, encoder = launch.flag(SEQ), launch.flag("--encoder-seq-length")
    if given == encoder:
        yield Finding(
            Severity.ERROR,
            "sequence/length",
            f"{SEQ} and --encoder-seq-length are both given" if given else f"{SEQ} is not given",
            f"{ARGUMENTS}:{1347 if given else 1350}",
            launch.line("--encoder-seq-length"),
        )


def ignored(launch: Launch) -> Iterator[Finding]:
    """Sequence parallelism is switched off where TP is 1 (arguments.py:1434)."""
    if launch.flag(SEQUENCE_PARALLEL) and launch.size(TP) == 1:
        yield Finding(
            Severity.WARNING,
            "sequence/parallel-ignored",
            f"{SEQUENCE_PARALLEL} has no effect with TP 1 and is switched off",
            f"{ARGUMENTS}:1434",
            launch.line(SEQUENCE_PARALLEL),
        )


def comm_overlap(launch: Launch) -> Iterator[Finding]:
    """--tp-comm-overlap needs sequence parallelism, thus TP > 1 (arguments.py:1442)."""
    if not launch.flag("--tp-comm-overlap"):
        return
    if not launch.flag(SEQUENCE_PARALLEL):
        why = f"{SEQUENCE_PARALLEL} is not given"
    elif launch.size(TP) == 1:
        why = f"with TP 1 {SEQUENCE_PARALLEL} is switched off"
    else:
        return
    yield Finding(
        Severity.ERROR,
        "sequence/comm-overlap",
        f"--tp-comm-overlap needs sequence parallelism, but {why}",
        f"{ARGUMENTS}:1442",
        launch.line("--tp-comm-overlap"),
    )
