"""All checks of a launch, in the order of an explicit table."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterator
from itertools import islice

from triage.core.megatron import batch, fsdp, hybrid, model, moe, parallel, pipeline, sequence, training
from triage.core.megatron.connections import connections
from triage.core.megatron.finding import Check, Finding, Severity
from triage.core.megatron.framework import dashed, deferred, foreign, recognise, translated
from triage.core.megatron.launch import Framework, Launch, Unresolved
from triage.core.megatron.options import KNOWN
from triage.core.values import dataclass, replace


class Scope(enum.Enum):
    """Whose rule it is."""

    EVERYWHERE = "everywhere"
    """Arithmetic of every version and fork: it stays an error there."""
    VERSION = "version"
    """Outside current Megatron-LM a warning, as another version may differ."""
    CURRENT = "current"
    """Says nothing about other versions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and how far it holds."""

    check: Check
    scope: Scope = Scope.VERSION


CHECKS: tuple[Rule, ...] = (
    Rule(parallel.numbers, Scope.EVERYWHERE),
    Rule(parallel.world_size, Scope.EVERYWHERE),
    Rule(parallel.weight_shards),
    Rule(parallel.expert_world_size),
    Rule(model.heads, Scope.EVERYWHERE),
    Rule(model.hidden_size, Scope.EVERYWHERE),
    Rule(model.query_groups),
    Rule(model.required, Scope.CURRENT),
    Rule(model.layers_twice, Scope.CURRENT),
    Rule(model.latent_attention),
    Rule(pipeline.layers, Scope.EVERYWHERE),
    Rule(pipeline.virtual_once),
    Rule(pipeline.virtual_layers),
    Rule(pipeline.virtual_needs_pipeline),
    Rule(pipeline.virtual_stages),
    Rule(pipeline.uneven_virtual),
    Rule(pipeline.uneven_split),
    Rule(pipeline.accounted_conflict),
    Rule(pipeline.drawn_layout),
    Rule(pipeline.overlapped_experts),
    Rule(pipeline.micro_batches),
    Rule(hybrid.conflicts),
    Rule(hybrid.segments),
    Rule(batch.missing, Scope.CURRENT),
    Rule(batch.global_batch, Scope.CURRENT),
    Rule(batch.evaluation, Scope.CURRENT),
    Rule(batch.rampup_ignored, Scope.CURRENT),
    Rule(batch.step_schedule, Scope.CURRENT),
    Rule(sequence.length, Scope.CURRENT),
    Rule(sequence.context_parallel),
    Rule(sequence.positions),
    Rule(sequence.ignored),
    Rule(sequence.comm_overlap),
    Rule(moe.expert_parallel),
    Rule(moe.bias),
    Rule(moe.overlap),
    Rule(moe.router),
    Rule(moe.hidden_size),
    Rule(fsdp.torch_fsdp),
    Rule(fsdp.megatron_fsdp),
    Rule(fsdp.torch_format),
    Rule(fsdp.megatron_format),
    Rule(training.precision),
    Rule(training.overlap_gather),
    Rule(training.schedule),
    Rule(training.saving, Scope.CURRENT),
    Rule(training.data, Scope.CURRENT),
    Rule(training.recompute),
    Rule(connections),
)

_BATCH = (Rule(batch.global_batch_elsewhere, Scope.EVERYWHERE), Rule(batch.rampup, Scope.EVERYWHERE))
OTHERS: dict[Framework, tuple[Rule, ...]] = {
    Framework.OLDER: _BATCH,
    Framework.FORK: _BATCH,
    Framework.NEMO: _BATCH,
    Framework.DEEPSPEED: (*_BATCH, Rule(pipeline.deepspeed_layers, Scope.EVERYWHERE)),
}
"""Checks of a framework's own."""
LEFT_OUT: dict[Framework, tuple[Check, ...]] = {
    Framework.DEEPSPEED: (pipeline.layers, moe.expert_parallel, moe.bias, moe.router, moe.hidden_size),
}
"""Checks that a framework has other rules for."""

NAMED = 20
"""Unknown options that are told; comparing names is slow."""

FROM_CHECKPOINT = "--use-checkpoint-args"
"""Takes the model's sizes from a checkpoint, whatever the command says."""


def preflight(launch: Launch) -> list[Finding]:
    """Everything that is wrong with a launch, the worst first. Silent where it cannot tell."""
    given, launch = launch, dashed(launch)
    framework = recognise(launch)
    if framework is Framework.UNKNOWN:
        return []
    compared = framework in (Framework.MEGATRON, Framework.FORK) and launch is given
    findings = list(_misspelt(launch)) if compared else []
    if framework is Framework.NEMO:
        launch = translated(launch)
    elif framework is not Framework.MEGATRON:
        launch = deferred(launch)
    for rule in (*CHECKS, *OTHERS.get(framework, ())):
        if rule.check in LEFT_OUT.get(framework, ()):
            continue
        if rule.scope is not Scope.CURRENT or framework is Framework.MEGATRON:
            findings += (_judged(finding, rule, framework, launch) for finding in _run(rule, launch))
    once = dict.fromkeys(findings)
    return sorted(once, key=lambda finding: _ORDER.index(finding.severity))


_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def _run(rule: Rule, launch: Launch) -> list[Finding]:
    """What the check says, and what it said before it met something that is not known."""
    found: list[Finding] = []
    try:
        for finding in rule.check(launch):
            found.append(finding)
    except Unresolved:
        pass
    return found


def _judged(finding: Finding, rule: Rule, framework: Framework, launch: Launch) -> Finding:
    if finding.severity is not Severity.ERROR:
        return finding
    sure = framework is Framework.MEGATRON or rule.scope is Scope.EVERYWHERE
    if not sure or launch.has(FROM_CHECKPOINT):
        return replace(finding, severity=Severity.WARNING)
    return finding


def _misspelt(launch: Launch) -> Iterator[Finding]:
    """Options that Megatron-LM's parser refuses, unless the program adds them; the first `NAMED` of them."""
    strange = {item.name or "": item for item in reversed(foreign(launch))}
    for name, item in islice(reversed(strange.items()), NAMED):
        close = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.85) if len(name) < 80 else []
        hint = f"; did you mean {close[0]}?" if close else ""
        yield Finding(
            Severity.WARNING,
            "arguments/unknown",
            f"{name[:80]} is no option of Megatron-LM{hint}",
            "megatron/training/arguments.py:132",
            item.line,
        )
