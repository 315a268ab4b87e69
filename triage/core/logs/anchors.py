"""The literals that make a stretch of raw bytes worth a closer look.

One small fixed set serves every shipped rule: each literal of a rule contains one of these (`triage rules check` insists).
The set is small on purpose: up to 64 patterns of four or more bytes `aho-corasick` searches with SIMD (Teddy), at
several times the speed of an automaton; it needs leftmost semantics for that. Rules of a user whose literals contain
none of them add their own.
"""

from __future__ import annotations

from collections.abc import Iterable

ANCHORS: tuple[str, ...] = (
    "o such file", " arguments -", "tchdog", "reempt", "ismatch", "imed out", "erminat", "xit code", "itcode",
    "CL WARN", "illed", "equeue", "already in use", "run_stop", "SIGK", "CANCELLED", "xit status", "rn code",
    "t found", "annot ", "ould not ", "│\x1b", "fallen off", "Out Of Memory", "ailed", "│ ", "NVRM", "ERROR",
    "enied", " NAN", "uota ", "DUE TO ", "OpType=", " by peer", "--nproc", "....", "is done", "nreachable",
    "orld size", "ut of memory", "oom-k", "egmentation", "Killing ", "error", "Error", "refused", "segfault",
    "Config(", "ivisible", " NaN", "xception", "No space left", ", line ", "ignal", "bort", "xited ", "oom_",
    "(most recent call", "Timeout", "estart", "nable to", "FAILED", "mory (MB)", "srun: ",
)  # fmt: skip
"""At most 64, each of four or more bytes as UTF-8, the first four of them rare in healthy logs (`CL WARN`, for every line of
NCCL's has `NCCL`). Their order decides the speed, by a factor of six: `python -m benchmarks.anchor_order` finds it."""

HEADER = "(most recent call"
FRAME = ", line "
"""Of tracebacks; colours stand between other parts of these lines."""

EXITS = frozenset((
    "itcode", "xit code", "xited ", "rn code", "xit status", "srun: ", "estart", "equeue", "DUE TO ", "CANCELLED", "FAILED",
    "SIGK", "Killing ", "run_stop", "is done", "orld size", " arguments -",
))  # fmt: skip
"""Anchors of lines that tell of an end or a new start: those of each attempt count, alike as they are."""

SIZES: tuple[str, ...] = (
    "--", "using world size", "> initializ", "memory (MB)", "device mesh with", "global_world_sizes=", "with overrides: [",
    "with command: [", "exits with return code", "train_micro_batch_size_per_gpu", '"train_batch_size"', '_parallel_size"',
    "Namespace(", "Config(", "Arguments(", "Args(", "MEMBER: ", "distributed processes", "dist_world_size",
    "GPUs determined", "local_rank: ", "num_local_procs", "batch size", "optimization steps", "CONFIG: ", "nproc_per_node",
    "_nodes ", '"key": "', "WORLD_SIZE", "nranks ", '"world_size"', "_size: ", "divisible", "multiple of", "must be",
    "should be", "not equal", " ...", "parallel group", "_degree: ", "seq_length: ", "attention_heads: ", "train_iters: ",
    "num_nodes: ", "gpus_per_node: ", "world_rank=", "DeviceMesh((", "global_rank_mapping=", "NODELIST", "NODENAME", "ing cache on ", "tarting on ", "unning on ", "aunching on ", "ostname",
    "Num processes: ", "mesh_device ", "nitialized", "GPU number: ", ", total ", "ProcessCoord(", "batch_size", "_size = ",
    '_size": ', "based_barrier", "_degree = ", "_length",
    "_size=", "batchsize", "orld_size", "ank 0/", "gpus_per_node = ", "nit done", "nitialised", "RANK", "global_rank=", "ized host ", "nit (rank ", "nitialization", "nitializing",
)  # fmt: skip
"""Words of lines that state sizes; looked for in the head of a stream only, for most are frequent."""

PROGRESS: tuple[str, ...] = (
    "iteration", "step", "'loss'", "it/s", "s/it", "poch", "[batch=", ":::MLL", "%|", "checkpoint", "valuating", " loss at ",
    "results at ", "raining", "oss: ", "oss = ", "/sec", "Iter ", "RESULT,",
)  # fmt: skip
"""Words of lines that show progress; the last such lines of a stream are read."""


def missing(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals that contain no anchor, in order, each once."""
    return tuple(dict.fromkeys(text for text in literals if not any(a in text for a in ANCHORS)))
