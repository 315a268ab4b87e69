"""What the two FSDP implementations exclude, and the checkpoint formats that belong to them."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, Finding, Severity
from triage.core.megatron.launch import Launch
from triage.core.megatron.layout import EP, PP, TP

TORCH_FSDP = "--use-torch-fsdp2"
MEGATRON_FSDP = "--use-megatron-fsdp"
FORMAT = "--ckpt-format"


def _format(launch: Launch) -> str:
    return (launch.text(FORMAT, default="torch_dist") or "")[:40]


def torch_fsdp(launch: Launch) -> Iterator[Finding]:
    """--use-torch-fsdp2 (arguments.py:1034-1046)."""
    if not launch.flag(TORCH_FSDP):
        return
    yield from _stated(
        launch,
        "fsdp/torch",
        TORCH_FSDP,
        (launch.size(PP) == 1, f"PP 1, not {launch.size(PP)}", 1034),
        (launch.size(EP) == 1, f"EP 1, not {launch.size(EP)}", 1036),
        (not launch.flag("--use-distributed-optimizer"), "no --use-distributed-optimizer", 1038),
        (launch.flag("--no-gradient-accumulation-fusion"), "--no-gradient-accumulation-fusion", 1040),
        (_format(launch) in ("torch_dist", "torch_dcp"), f"{FORMAT} torch_dist or torch_dcp", 1042),
        (
            launch.flag("--untie-embeddings-and-output-weights"),
            "--untie-embeddings-and-output-weights",
            1044,
        ),
        (not launch.flag("--fp16"), "no --fp16", 1046),
        (_optimizer(launch) in ("adam", "sgd"), f"--optimizer adam or sgd, not {_optimizer(launch)}", 1739),
    )


def megatron_fsdp(launch: Launch) -> Iterator[Finding]:
    """--use-megatron-fsdp (arguments.py:1125-1169)."""
    if not launch.flag(MEGATRON_FSDP):
        return
    second = launch.int("--megatron-fsdp-version") == 2
    yield from _stated(
        launch,
        "fsdp/megatron",
        MEGATRON_FSDP,
        (
            not (second and launch.flag("--use-distributed-optimizer")),
            "no --use-distributed-optimizer in its version 2",
            1125,
        ),
        (_optimizer(launch) in ("adam", "sgd"), f"--optimizer adam or sgd, not {_optimizer(launch)}", 1150),
        (_format(launch) == "fsdp_dtensor", f"{FORMAT} fsdp_dtensor, not {_format(launch)}", 1169),
    )


def torch_format(launch: Launch) -> Iterator[Finding]:
    """--ckpt-format torch_dcp (arguments.py:1668-1671)."""
    if _format(launch) == "torch_dcp":
        yield from _stated(
            launch,
            "checkpoint/torch-dcp",
            f"{FORMAT} torch_dcp",
            (launch.flag(TORCH_FSDP), TORCH_FSDP, 1668),
            (launch.size(TP) == 1, f"TP 1, not {launch.size(TP)}", 1669),
            (launch.size(PP) == 1, f"PP 1, not {launch.size(PP)}", 1671),
        )


def megatron_format(launch: Launch) -> Iterator[Finding]:
    """--ckpt-format fsdp_dtensor (arguments.py:1676)."""
    if _format(launch) == "fsdp_dtensor":
        yield from _stated(
            launch,
            "checkpoint/fsdp-dtensor",
            f"{FORMAT} fsdp_dtensor",
            (launch.flag(MEGATRON_FSDP), MEGATRON_FSDP, 1676),
        )


def _optimizer(launch: Launch) -> str:
    return (launch.text("--optimizer", default="adam") or "")[:40]


def _stated(launch: Launch, check: str, who: str, *needs: tuple[bool, str, int]) -> Iterator[Finding]:
    line = launch.line(who.split()[0])
    for met, need, source in needs:
        if not met:
            yield Finding(Severity.ERROR, check, f"{who} needs {need}", f"{ARGUMENTS}:{source}", line)
