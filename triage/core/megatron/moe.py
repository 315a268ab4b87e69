"""Whether the experts can be laid out."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, CONFIG, Finding, Severity
from triage.core.megatron.launch import Launch
from triage.core.megatron.layout import EP, ETP, TP, expert_tp
from triage.core.megatron.pipeline import OVERLAP_EXPERTS

EXPERTS = "--num-experts"
DISPATCHER = "--moe-token-dispatcher-type"


def expert_parallel(launch: Launch) -> Iterator[Finding]:
    """EP > 1 needs experts, and divides them (arguments.py:1655-1658)."""
    ep, experts = launch.size(EP), launch.int(EXPERTS)
    if ep <= 1:
        return
    if not experts:
        text, line = f"EP {ep} needs {EXPERTS}, which is not given", 1656
    elif experts % ep:
        text, line = f"{EXPERTS} {experts} is no multiple of EP {ep}", 1657
    else:
        return
    yield Finding(
        Severity.ERROR, "moe/expert-parallel", text, f"{ARGUMENTS}:{line}", launch.line(EXPERTS, EP)
    )


def bias(launch: Launch) -> Iterator[Finding]:
    """Experts cut over tensor-parallel ranks have no bias (transformer_config.py:2614); expert-TP follows TP."""
    if not launch.int(EXPERTS) or launch.flag("--disable-bias-linear"):
        return
    if (tensor := expert_tp(launch)) > 1:
        follows = "" if launch.has(ETP) else " (it follows TP)"
        yield Finding(
            Severity.ERROR,
            "moe/bias",
            f"experts with expert-TP {tensor}{follows} need --disable-bias-linear, or {ETP} 1",
            f"{CONFIG}:2614",
            launch.line(ETP, EXPERTS, TP),
        )


def overlap(launch: Launch) -> Iterator[Finding]:
    """What --overlap-moe-expert-parallel-comm needs besides virtual stages (transformer_config.py:3013-3042)."""
    if not launch.flag(OVERLAP_EXPERTS):
        return
    ep, dispatcher = launch.size(EP), launch.text(DISPATCHER, default="allgather")
    needs = (
        (ep > 1, f"EP > 1, but EP is {ep}", 3014),
        (
            dispatcher in ("alltoall", "flex"),
            f"{DISPATCHER} alltoall or flex, not {str(dispatcher)[:40]}",
            3016,
        ),
        (launch.text("--recompute-granularity") != "full", "no full recomputation", 3022),
        (not launch.flag("--recompute-method"), "no --recompute-method", 3025),
        (not launch.flag("--recompute-num-layers"), "no --recompute-num-layers", 3028),
        (launch.flag("--bf16", "--fp16"), "--bf16 or --fp16", 3036),
        (not launch.flag("--moe-shared-expert-overlap"), "no --moe-shared-expert-overlap", 3040),
    )
    for met, need, line in needs:
        if not met:
            yield Finding(
                Severity.ERROR,
                "moe/overlap",
                f"{OVERLAP_EXPERTS} needs {need}",
                f"{CONFIG}:{line}",
                launch.line(OVERLAP_EXPERTS),
            )


def router(launch: Launch) -> Iterator[Finding]:
    """With one expert per token the router's softmax comes first (transformer_config.py:2669)."""
    if (
        launch.int("--moe-router-topk") == 1
        and launch.text("--moe-router-score-function", default="softmax") == "softmax"
        and not launch.flag("--moe-router-pre-softmax")
        and launch.text("--moe-router-load-balancing-type", default="aux_loss") != "sinkhorn"
    ):
        yield Finding(
            Severity.ERROR,
            "moe/router",
            "--moe-router-topk 1 needs --moe-router-pre-softmax",
            f"{CONFIG}:2669",
            launch.line("--moe-router-topk"),
        )


def hidden_size(launch: Launch) -> Iterator[Finding]:
    """The experts' hidden size belongs to experts (transformer_config.py:1702)."""
    if (
        launch.flag("--moe-ffn-hidden-size")
        and not launch.int(EXPERTS)
        and not launch.flag("--moe-layer-freq")
    ):
        yield Finding(
            Severity.ERROR,
            "moe/hidden-size",
            f"--moe-ffn-hidden-size is given without {EXPERTS}",
            f"{CONFIG}:1702",
            launch.line("--moe-ffn-hidden-size"),
        )
