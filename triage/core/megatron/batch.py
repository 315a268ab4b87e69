"""Whether batches can be cut into micro-batches over the replicas."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, MICROBATCHES, Finding, Severity, unless
from triage.core.megatron.launch import Launch, Unresolved, Value, is_int
from triage.core.megatron.layout import layout

MICRO = "--micro-batch-size"
GLOBAL = "--global-batch-size"
EVAL_MICRO = "--eval-micro-batch-size"
EVAL_GLOBAL = "--eval-global-batch-size"
RAMPUP = "--rampup-batch-size"
SCHEDULE = "--step-batch-size-schedule"


def missing(launch: Launch) -> Iterator[Finding]:
    """The micro-batch has no default (arguments.py:693)."""
    if not launch.flag(MICRO):
        yield Finding(Severity.ERROR, "batch/missing", f"{MICRO} is not given", f"{ARGUMENTS}:693")


def global_batch_elsewhere(launch: Launch) -> Iterator[Finding]:
    """micro-batch x DP divides the global batch, in every version; one that ramps up asks it of each step instead, see
    `rampup`."""
    yield from _global(launch, unless(launch, "--decrease-batch-size-if-needed", SCHEDULE, RAMPUP))


def global_batch(launch: Launch) -> Iterator[Finding]:
    """The same (num_microbatches_calculator.py:381), and a ramp-up, which is ignored, lifts nothing. Without an
    evaluation batch of its own `evaluation` says it."""
    if launch.flag(EVAL_GLOBAL, EVAL_MICRO):
        yield from _global(launch, unless(launch, "--decrease-batch-size-if-needed", SCHEDULE))


def _global(launch: Launch, severity: Severity | None) -> Iterator[Finding]:
    size, micro = launch.int(GLOBAL), launch.int(MICRO)
    if severity and size is not None and micro is not None:
        yield from _indivisible(launch, severity, GLOBAL, size, micro, f"{MICROBATCHES}:381")


def evaluation(launch: Launch) -> Iterator[Finding]:
    """The same for the evaluation batch, which defaults to the global one (arguments.py:715). It is asserted first, and
    no option lifts it."""
    micro = launch.int(EVAL_MICRO, default=launch.int(MICRO))
    option = EVAL_GLOBAL if launch.flag(EVAL_GLOBAL) else GLOBAL
    size = launch.int(option)
    if size is None and not launch.flag(SCHEDULE):
        size = (launch.int(MICRO) or 0) * layout(launch).dp
    if size is not None and micro is not None:
        yield from _indivisible(launch, Severity.ERROR, option, size, micro, f"{ARGUMENTS}:715")


def _indivisible(
    launch: Launch, severity: Severity, option: str, size: int, micro: int, source: str
) -> Iterator[Finding]:
    placed = layout(launch)
    replicas = placed.dp * placed.remat
    if micro > 0 and size % (micro * replicas):
        evaluated = source.startswith(ARGUMENTS) and launch.has(EVAL_GLOBAL, EVAL_MICRO)
        given = "" if launch.has(option) else " (its default)"
        yield Finding(
            severity,
            "batch/evaluation" if evaluated else "batch/global",
            f"{option} {size}{given} is no multiple of {'evaluation ' if evaluated else ''}micro-batch {micro} "
            f"x DP {replicas} = {micro * replicas} (DP = {placed.world} processes / ({placed}))",
            source,
            launch.line(option, MICRO),
        )


def rampup(launch: Launch) -> Iterator[Finding]:
    """Versions that ramp up need every step to be a multiple of micro-batch x DP (the start and the increment)."""
    item = launch.find(RAMPUP)
    if item is None or len(item.values) != 3:
        return
    start, increment = _number(item.values[0]), _number(item.values[1])
    micro, size = launch.int(MICRO), launch.int(GLOBAL)
    placed = layout(launch)
    if micro is None or micro < 1 or size is None or increment < 1:
        return
    unit = micro * placed.dp
    if start % unit or (size - start) % increment or (size > start and increment % unit):
        yield Finding(
            Severity.ERROR,
            "batch/rampup",
            f"{RAMPUP} from {start} by {increment} to {size}: each step must be a multiple of micro-batch {micro} x DP "
            f"{placed.dp} = {unit}, and the last one {size}",
            None,
            item.line,
        )


def rampup_ignored(launch: Launch) -> Iterator[Finding]:
    """The current version ignores a ramp-up (num_microbatches_calculator.py:100)."""
    if launch.flag(RAMPUP):
        yield Finding(
            Severity.WARNING,
            "batch/rampup-ignored",
            f"{RAMPUP} is deprecated and has no effect; {SCHEDULE} takes its place",
            f"{MICROBATCHES}:100",
            launch.line(RAMPUP),
        )


def step_schedule(launch: Launch) -> Iterator[Finding]:
    """A schedule takes the place of the global batch (arguments.py:699) and is never rounded (
    num_microbatches_calculator.py:266)."""
    if not launch.flag(SCHEDULE):
        return
    for other, source in (
        (GLOBAL, f"{ARGUMENTS}:699"),
        ("--decrease-batch-size-if-needed", f"{MICROBATCHES}:266"),
    ):
        if launch.flag(other):
            yield Finding(
                Severity.ERROR,
                "batch/schedule",
                f"{SCHEDULE} cannot be combined with {other}",
                source,
                launch.line(SCHEDULE),
            )


def _number(value: Value) -> int:
    if not isinstance(value, str) or not is_int(value):
        raise Unresolved(RAMPUP)
    return int(value)
