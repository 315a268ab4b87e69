"""What precision, optimizer, schedule and saving demand of one another."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, CONFIG, Finding, Severity
from triage.core.megatron.fsdp import MEGATRON_FSDP
from triage.core.megatron.launch import Launch
from triage.core.megatron.layout import TP


def precision(launch: Launch) -> Iterator[Finding]:
    """One of --fp16 and --bf16 (arguments.py:1196), the other options that need one (arguments.py:1373, 1375)."""
    half, brain = launch.flag("--fp16"), launch.flag("--bf16")
    if half and brain:
        yield _error("training/precision", "--fp16 and --bf16 are both given", 1196, launch.line("--fp16"))
    if launch.flag("--fp16-lm-cross-entropy") and not half:
        line = launch.line("--fp16-lm-cross-entropy")
        yield _error("training/precision", "--fp16-lm-cross-entropy needs --fp16", 1373, line)
    if launch.flag("--fp32-residual-connection") and not half and not brain:
        line = launch.line("--fp32-residual-connection")
        yield _error("training/precision", "--fp32-residual-connection needs --fp16 or --bf16", 1375, line)


def overlap_gather(launch: Launch) -> Iterator[Finding]:
    """--overlap-param-gather (arguments.py:1026, 1028)."""
    if not launch.flag("--overlap-param-gather"):
        return
    line = launch.line("--overlap-param-gather")
    sharded = launch.flag("--use-distributed-optimizer", MEGATRON_FSDP)
    if not sharded and launch.text("--optimizer", default="adam") != "dist_muon":
        text = "--overlap-param-gather needs --use-distributed-optimizer"
        yield _error("training/overlap-param-gather", text, 1026, line)
    if not launch.flag("--overlap-grad-reduce"):
        text = "--overlap-param-gather needs --overlap-grad-reduce"
        yield _error("training/overlap-param-gather", text, 1028, line)


def schedule(launch: Launch) -> Iterator[Finding]:
    """Training counts either iterations or samples (arguments.py:1276-1303)."""
    if launch.flag("--skip-train"):
        return
    for unit, other, first in (("iters", "samples", 1279), ("samples", "iters", 1293)):
        if not launch.int(f"--train-{unit}"):
            continue
        given = [
            (f"--train-{other}", first, launch.flag(f"--train-{other}")),
            (f"--lr-decay-{other}", first + 2, launch.flag(f"--lr-decay-{other}")),
            (f"--lr-warmup-{other}", first + 4, bool(launch.int(f"--lr-warmup-{other}", default=0))),
        ]
        if launch.flag("--lr-warmup-fraction"):
            name = f"--lr-warmup-{unit}"
            given.append((name, first + 7, bool(launch.int(name, default=0))))
        for name, source, there in given:
            if there:
                against = "--lr-warmup-fraction" if name == f"--lr-warmup-{unit}" else f"--train-{unit}"
                text = f"{name} cannot be combined with {against}"
                yield _error("training/schedule", text, source, launch.line(name))
        return


def saving(launch: Launch) -> Iterator[Finding]:
    """--save needs --save-interval (arguments.py:1362)."""
    if launch.flag("--save") and not launch.flag("--save-interval", "--persistent-save-interval"):
        yield _error("training/save-interval", "--save needs --save-interval", 1362, launch.line("--save"))


def data(launch: Launch) -> Iterator[Finding]:
    """One source of data (arguments.py:1679)."""
    split = ("--train-data-path", "--valid-data-path", "--test-data-path")
    given = [
        name
        for name, there in (
            ("--mock-data", launch.flag("--mock-data")),
            ("--data-path", launch.flag("--data-path")),
            ("data paths per split", launch.flag(*split)),
        )
        if there
    ]
    if len(given) > 1:
        line = launch.line("--mock-data", "--data-path")
        yield _error("training/data", f"{' and '.join(given)} cannot be combined", 1679, line)


def recompute(launch: Launch) -> Iterator[Finding]:
    """Activation recomputation (arguments.py:1408-1430; transformer_config.py:1914-1929)."""
    granularity = launch.text("--recompute-granularity")
    if launch.flag("--recompute-activations"):
        granularity = "selective"
    line = launch.line("--recompute-granularity", "--recompute-activations")
    method, layers = launch.text("--recompute-method"), launch.int("--recompute-num-layers")
    if granularity == "selective" and method is not None:
        yield _error("training/recompute", "selective recomputation has no --recompute-method", 1426, line)
    if granularity == "full" and method is None:
        yield _config("full recomputation needs --recompute-method", 1914, line)
    if granularity == "full" and layers is None:
        yield _config("full recomputation needs --recompute-num-layers", 1920, line)
    if granularity == "selective" and layers is not None:
        yield _config("selective recomputation has no --recompute-num-layers", 1929, line)
    if launch.flag("--distribute-saved-activations"):
        line = launch.line("--distribute-saved-activations")
        if (tp := launch.size(TP)) == 1:
            text = f"--distribute-saved-activations needs TP > 1, but TP is {tp}"
            yield _error("training/recompute", text, 1411, line)
        elif granularity != "full":
            text = "--distribute-saved-activations needs full recomputation"
            yield _error("training/recompute", text, 1414, line)
        elif launch.flag("--sequence-parallel"):
            yield _config(
                "--distribute-saved-activations cannot be combined with --sequence-parallel", 1935, line
            )


def _config(text: str, source: int, line: int | None) -> Finding:
    return Finding(Severity.ERROR, "training/recompute", text, f"{CONFIG}:{source}", line)


def _error(check: str, text: str, source: int, line: int | None) -> Finding:
    return Finding(Severity.ERROR, check, text, f"{ARGUMENTS}:{source}", line)
