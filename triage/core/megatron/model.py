"""Whether the model can be cut over tensor-parallel ranks, and its sizes fit one another."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, CONFIG, Finding, Severity, unless
from triage.core.megatron.launch import Launch
from triage.core.megatron.layout import TP

HEADS = "--num-attention-heads"
GROUPS = "--num-query-groups"
HIDDEN = "--hidden-size"
LAYERS = "--num-layers"
ENCODER_LAYERS = "--encoder-num-layers"
POSITIONS = "--max-position-embeddings"
ELSEWHERE = ("--heterogeneous-layers-config-path", "--heterogeneous-layers-config-encoded-json")
"""Options that take layers, hidden size and heads from a file."""


def heads(launch: Launch) -> Iterator[Finding]:
    """TP divides the attention heads (transformer_config.py:1446)."""
    number, tp = launch.int(HEADS), launch.size(TP)
    if number is not None and number % tp and not launch.has(*ELSEWHERE):
        yield Finding(
            Severity.ERROR,
            "model/heads",
            f"{HEADS} {number} is no multiple of TP {tp} ({number} % {tp} = {number % tp})",
            f"{CONFIG}:1447",
            launch.line(HEADS, TP),
        )


def query_groups(launch: Launch) -> Iterator[Finding]:
    """TP divides the query groups or is a multiple of them (transformer_config.py:1461); without
    --group-query-attention, and with latent attention, they are not looked at."""
    if not launch.flag("--group-query-attention"):
        return
    groups, tp = launch.int(GROUPS, default=1), launch.size(TP)
    if groups and groups % tp and tp % groups:
        yield Finding(
            Severity.ERROR,
            "model/query-groups",
            f"{GROUPS} {groups} is neither a multiple nor a divisor of TP {tp}",
            f"{CONFIG}:1465",
            launch.line(GROUPS, TP),
        )


def hidden_size(launch: Launch) -> Iterator[Finding]:
    """Without --kv-channels the heads divide the hidden size (arguments.py:1332)."""
    severity = unless(launch, "--kv-channels", *ELSEWHERE)
    hidden, number = launch.int(HIDDEN), launch.int(HEADS)
    if severity and hidden is not None and number is not None and number > 0 and hidden % number:
        yield Finding(
            severity,
            "model/hidden-size",
            f"{HIDDEN} {hidden} is no multiple of {HEADS} {number}, and --kv-channels is not given",
            f"{ARGUMENTS}:1332",
            launch.line(HIDDEN, HEADS),
        )


def required(launch: Launch) -> Iterator[Finding]:
    """Sizes without a default (arguments.py:1309, 1317)."""
    if launch.has(*ELSEWHERE, "--hybrid-layer-pattern", "--hybrid-override-pattern") is not False:
        return
    if not launch.has(LAYERS) and not launch.flag(ENCODER_LAYERS):
        yield _missing(LAYERS, 1309)
    for name in (HIDDEN, HEADS, POSITIONS):
        if not launch.flag(name):
            yield _missing(name, 1317)


def _missing(name: str, line: int) -> Finding:
    return Finding(Severity.ERROR, "model/missing", f"{name} is not given", f"{ARGUMENTS}:{line}")


def layers_twice(launch: Launch) -> Iterator[Finding]:
    """Layers are given once (arguments.py:1305)."""
    if launch.flag(LAYERS) and launch.flag(ENCODER_LAYERS):
        yield Finding(
            Severity.ERROR,
            "model/layers-twice",
            f"{LAYERS} and {ENCODER_LAYERS} are both given",
            f"{ARGUMENTS}:1305",
            launch.line(ENCODER_LAYERS),
        )


def latent_attention(launch: Launch) -> Iterator[Finding]:
    """Latent attention has no query groups (arguments.py:1974)."""
    if launch.flag("--multi-latent-attention") and launch.flag("--group-query-attention"):
        yield Finding(
            Severity.ERROR,
            "model/latent-attention",
            "--group-query-attention cannot be combined with --multi-latent-attention",
            f"{ARGUMENTS}:1974",
            launch.line("--group-query-attention"),
        )
