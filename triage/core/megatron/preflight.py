"""All checks of a launch, in the order of an explicit table."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.core.megatron import batch, fsdp, hybrid, model, moe, parallel, pipeline, sequence, training
from triage.core.megatron.connections import connections
from triage.core.megatron.finding import Check, Finding, Severity
from triage.core.megatron.framework import foreign, recognise, translated
from triage.core.megatron.launch import Framework, Launch, Unresolved
from triage.core.megatron.options import KNOWN


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and how far it holds."""

    check: Check
    everywhere: bool = False
    """Arithmetic of every version and fork: it stays an error there. What is not is a warning outside current
    Megatron-LM, as another version may differ."""
    only_current: bool = False
    """Says nothing about other versions."""


CHECKS: tuple[Rule, ...] = (
    Rule(parallel.numbers, everywhere=True),
    Rule(parallel.world_size, everywhere=True),
    Rule(parallel.weight_shards),
    Rule(parallel.expert_world_size),
    Rule(model.heads, everywhere=True),
    Rule(model.hidden_size, everywhere=True),
    Rule(model.query_groups),
    Rule(model.required, only_current=True),
    Rule(model.layers_twice, only_current=True),
    Rule(model.latent_attention),
    Rule(pipeline.layers, everywhere=True),
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
    Rule(batch.missing, only_current=True),
    Rule(batch.global_batch, everywhere=True),
    Rule(batch.evaluation, only_current=True),
    Rule(batch.rampup_ignored, only_current=True),
    Rule(batch.step_schedule, only_current=True),
    Rule(sequence.length, only_current=True),
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
    Rule(training.saving, only_current=True),
    Rule(training.data, only_current=True),
    Rule(training.recompute),
    Rule(connections),
)

FROM_CHECKPOINT = "--use-checkpoint-args"
"""Takes the model's sizes from a checkpoint, whatever the command says."""


def preflight(launch: Launch) -> list[Finding]:
    """Everything that is wrong with a launch, the worst first. Silent where it cannot tell."""
    framework = recognise(launch)
    if framework is Framework.UNKNOWN:
        return []
    findings = list(_misspelt(launch)) if framework in (Framework.MEGATRON, Framework.FORK) else []
    if framework is Framework.NEMO:
        launch = translated(launch)
    rules = CHECKS if framework is Framework.MEGATRON else (*CHECKS, Rule(batch.rampup, everywhere=True))
    for rule in rules:
        if rule.only_current and framework is not Framework.MEGATRON:
            continue
        findings += (_judged(finding, rule, framework, launch) for finding in _run(rule, launch))
    once = dict.fromkeys(findings)
    return sorted(once, key=lambda finding: _ORDER.index(finding.severity))


_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def _run(rule: Rule, launch: Launch) -> list[Finding]:
    """What the check says, and what it said before it met something that is not known."""
    found: list[Finding] = []
    try:
        for finding in rule.check(launch):
            found.append(finding)  # noqa: PERF402
    except Unresolved:
        pass
    return found


def _judged(finding: Finding, rule: Rule, framework: Framework, launch: Launch) -> Finding:
    if finding.severity is not Severity.ERROR:
        return finding
    sure = framework is Framework.MEGATRON or rule.everywhere
    if rule.check is pipeline.layers and framework is Framework.DEEPSPEED:
        sure = False
    if not sure or launch.has(FROM_CHECKPOINT):
        return replace(finding, severity=Severity.WARNING)
    return finding


def _misspelt(launch: Launch) -> Iterator[Finding]:
    """Options that Megatron-LM's parser refuses, unless the program adds them."""
    for item in foreign(launch):
        name = item.name or ""
        close = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.85) if len(name) < 80 else []
        hint = f"; did you mean {close[0]}?" if close else ""
        yield Finding(
            Severity.WARNING,
            "arguments/unknown",
            f"{name[:80]} is no option of Megatron-LM{hint}",
            "megatron/training/arguments.py:132",
            item.line,
        )
