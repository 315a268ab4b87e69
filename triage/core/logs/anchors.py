"""The literals that make a stretch of raw bytes worth a closer look.

One small fixed set serves every shipped rule: each literal of a rule contains one of these (`triage rules check` insists).
The set is small on purpose: up to 64 patterns of four or more bytes `aho-corasick` searches with SIMD (Teddy), at
several times the speed of an automaton; it needs leftmost semantics for that. Rules of a user whose literals contain
none of them add their own.
"""

from __future__ import annotations

from collections.abc import Iterable

ANCHORS: tuple[str, ...] = (
    # Python
    "Traceback (m", '", line ', "Error", "error", "ERROR", "xception", "│ ", "usage: ",
    # launchers and processes
    "FAILED", "ailed", "exitcode", "xit code", "return code", "xited ", "exit status", "Root Cause",
    "ignal", "illed", "Killing ", "erminat", "Segmentation", "segfault", "Fatal", "bort", "terminate called",
    "frame #", "estart", "--nproc",
    # the scheduler
    "CANCELLED", "DUE TO ", "srun: ", "equeue", "oom_", "oom-k", "Out Of Memory",
    # memory, devices, storage, network
    "ut of memory", "NVRM", "fallen off", "NCCL WARN", "atchdog", "OpType=", "imed out", "Timeout", "stuck",
    "No space left", "uota ", "already in use", "refused", " by peer", "nreachable", "enied", "o such file",
    "not found", "nable to", "annot ", "ould not ",
    # numbers
    "ivisible", "ismatch", " NaN", " NAN",
    # run marks
    " arguments -", "orld size", "run_stop", "raining is done",
)  # fmt: skip
"""At most 64, each of four or more bytes as UTF-8."""


def missing(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals that contain no anchor, in order, each once."""
    return tuple(dict.fromkeys(text for text in literals if not any(a in text for a in ANCHORS)))
