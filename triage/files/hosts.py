"""Whether a word of a path is a host's name. A wrong host is worse than none: `train2` and `llama-7b` are no hosts."""

from __future__ import annotations

import re

from triage.core.lazy import lazy

_HOST_WORDS = frozenset({
    "blade", "cn", "compute", "computenode", "dgx", "ec2", "gb", "gpuhost", "gpunode", "hgpu", "hgx",
    "host", "instance", "machine", "nid", "node", "nodes", "srv", "vm",
})  # fmt: skip
"""Words that sites number their machines with."""

_CHIPS = frozenset({
    "a100", "a6000", "a800", "b200", "b300", "gb200", "gb300", "gh200", "h100", "h20", "h200", "h800",
    "mi250x", "mi300", "mi300x", "mi325x", "v100",
})  # fmt: skip
"""Part of a host's name in `dgx-h100-3`; in `h100-8` the number may count GPUs."""

_NO_HOST_WORDS = frozenset({
    "abl", "ablation", "attempt", "baseline", "batch", "bench", "bert", "bloom", "bs", "checkpoint",
    "chunk", "ckpt", "config", "cp", "data", "dataset", "ddp", "debug", "deepspeed", "dense", "dist",
    "dp", "dpo", "ds", "end", "ep", "epoch", "err", "error", "eval", "exp", "experiment", "expt",
    "fail", "falcon", "file", "finetune", "fold", "fsdp", "gbs", "gemma", "glm", "global", "gpt",
    "grpo", "iter", "iteration", "job", "launch", "layer", "list", "llama", "llm", "local", "log",
    "logs", "lora", "loss", "lr", "main", "mamba", "mbs", "megatron", "mistral", "mixtral", "mlperf",
    "model", "moe", "mpt", "nemo", "nemotron", "new", "old", "opt", "out", "output", "param", "part",
    "phase", "phi", "pid", "pp", "ppo", "pre", "pretrain", "proc", "profile", "qwen", "rank", "ray",
    "reshard", "result", "rlhf", "role", "run", "save", "sbatch", "seed", "seg", "seq", "server", "sft",
    "shard", "size", "slurm", "stage", "start", "stderr", "stdout", "step", "sweep", "t", "task",
    "test", "tmp", "total", "tp", "train", "training", "trial", "try", "tune", "v", "ver", "version",
    "vit", "vocab", "w", "warmup", "worker", "world", "zero",
})  # fmt: skip
"""Words that name a run, a part of it or a model; the number after them is no machine's."""

_DOMAINS = ("local", "internal", "lan", "cluster", "com", "net", "org", "edu", "gov", "io", "cloud", "example", "hpc")  # fmt: skip
_EC2 = re.compile(r"ip(?:-\d{1,3}){4}")
_DEVICE = lazy(r"(?:gpu|cuda|dev|device|card|mig)-?\d")
_LABEL = lazy(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_WORD = lazy(r"([a-z]*)(\d*)([a-z]?)")


def looks_like_host(word: str) -> bool:
    """True for a word that is a host's name whatever stands around it."""
    word = word.lower()
    if "." in word:
        return _is_qualified(word)
    if _EC2.fullmatch(word):
        return True
    if not _LABEL.fullmatch(word):
        return False
    parts = [_WORD.fullmatch(part) for part in word.split("-")]
    stems = [m[1] if m else "" for m in parts]
    if any(stem in _NO_HOST_WORDS for stem in stems if stem not in ("worker", "train")) or None in parts:
        return False
    last = parts[-1]
    if last is None or last[3] or not last[2]:
        return False
    whole = word.split("-")
    if any(stem in _HOST_WORDS for stem in stems) or (
        len(whole) > 2 and any(part in _CHIPS for part in whole[:-1])
    ):
        return word not in _CHIPS
    if last[1] == "n" and len(parts) > 1:
        return True
    stem = last[1] or (stems[-2] if len(stems) > 1 else "")
    return last[2].startswith("0") and len(last[2]) >= 2 and 1 < len(stem) <= 4 and stem not in _NO_HOST_WORDS


def may_be_host(word: str) -> bool:
    """True for a word that is a host's name where one is expected (after `node-3-`, or Slurm's `%j-`)."""
    word = word.lower()
    if "." in word:
        return _is_qualified(word)
    if not _LABEL.fullmatch(word) or not word[0].isalpha() or not any(c.isdigit() for c in word):
        return False
    if _DEVICE.fullmatch(word):
        return False
    return not any(re.match(r"[a-z]*", part)[0] in _NO_HOST_WORDS for part in word.split("-"))  # type: ignore[index]


def _is_qualified(word: str) -> bool:
    labels = word.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels):
        return False
    if re.fullmatch(r"\d{1,3}(?:\.\d{1,3}){3}", word):
        return True
    return labels[-1] in _DOMAINS and labels[0] not in _NO_HOST_WORDS and any(c.isalpha() for c in labels[0])
