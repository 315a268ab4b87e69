"""What the script asks for against what the cluster has: partition, time limit, nodes, GPUs, account, QOS.

Each error was seen on Slurm 22.05 to be refused by sbatch, or to leave a job that waits for ever where the site lets
such jobs in. The command line of sbatch may say something else, so only what the script itself says is judged.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.allocation import Gpus, gpu_request, minutes
from triage.core.script.case import Script, shown
from triage.core.script.directives import holds_variable
from triage.core.script.facts import Facts
from triage.core.script.site import Partition, Site

_NAMED = 8
"""Choices that are told."""


def site(script: Script, facts: Facts) -> Iterator[Finding]:
    """Everything that the cluster would not run; and what could not be compared with it, as a note."""
    if not script.directives.any:
        if not script.submitted:
            yield _not_checked("the script has no #SBATCH line")
        return
    if clusters := script.text("clusters"):
        yield _not_checked(f"the script goes to --clusters={shown(clusters)}")
        return
    cluster = facts.site()
    if not cluster.partitions or cluster.unknown:
        yield _not_checked("; ".join(cluster.unknown))
    if cluster.partitions:
        yield from _partitions(script, cluster)
    yield from _named(script, "account", cluster.accounts, cluster)
    yield from _named(script, "qos", cluster.qos, cluster)


def _not_checked(why: str) -> Finding:
    text = "partition, time limit, GPUs per node, account and QOS were not all compared with a live cluster"
    return Finding(Severity.INFO, "site/not-checked", f"{text}: {why}" if why else text)


def _partitions(script: Script, cluster: Site) -> Iterator[Finding]:
    """One of the named partitions must exist, and so must all others; one of them must fit."""
    line = _line(script, "partition")
    told = _told(script, "partition")
    if told is None and script.directives.get("partition") is not None:
        return
    if told is None and cluster.default_partition is None:
        message = f"the cluster has no default partition: add --partition ({_choices(cluster)})"
        yield Finding(Severity.ERROR, "site/partition", message)
        return
    names = told.split(",") if told else [cluster.default_partition or ""]
    missing = [name for name in names if not cluster.rows(name)]
    if missing:
        close = difflib.get_close_matches(missing[0], {row.name for row in cluster.partitions}, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the cluster has {_choices(cluster)}"
        message = f"there is no partition {shown(missing[0])}: {hint}"
        yield Finding(Severity.ERROR, "site/partition", message, None, line)
        return
    choices = [(name, cluster.rows(name)) for name in names]
    closed = [name for name, rows in choices if not any(row.up for row in rows)]
    if len(closed) == len(choices):
        message = f"the partition {shown(closed[0])} is closed now: the job would wait until it is opened"
        yield Finding(Severity.WARNING, "site/partition-closed", message, None, line)
    misfits = [[*_misfits(script, name, rows)] for name, rows in choices]
    if all(misfits):
        yield from misfits[0]


def _misfits(script: Script, name: str, rows: Sequence[Partition]) -> Iterator[Finding]:
    """Why the job does not fit into one partition."""
    limits = [row.time_limit for row in rows]
    longest = None if None in limits else max(limit for limit in limits if limit is not None)
    time = minutes(_told(script, "time") or "")
    if longest is not None and time is not None and time * 60 > longest:
        message = f"--time={_told(script, 'time')} is above the limit of partition {shown(name)}, {_span(longest)}: ask for less"
        lifted = script.directives.get("qos") is not None
        severity = Severity.WARNING if lifted else Severity.ERROR
        yield Finding(severity, "site/time", message, None, _line(script, "time"))
    wanted, there = script.allocation.nodes, sum(row.nodes for row in rows)
    if wanted is not None and wanted > there:
        message = f"{wanted} nodes are asked for, but partition {shown(name)} has {there}"
        yield Finding(Severity.ERROR, "site/nodes", message, None, script.allocation.nodes_line)
    yield from _gpus(script, name, rows)


def _gpus(script: Script, name: str, rows: Sequence[Partition]) -> Iterator[Finding]:
    job = script.allocation
    most = max(row.gpus for row in rows)
    if job.gpus_per_node is not None and job.gpus_exact and job.gpus_per_node > most:
        has = f"have {most} GPUs" if most else "have no GPUs"
        message = (
            f"{job.gpus_per_node} GPUs per node are asked for, but the nodes of partition {shown(name)} {has}"
        )
        yield Finding(Severity.ERROR, "site/gpus", message, None, job.gpus_line)
        return
    kinds = {row.gpu for row in rows if row.gpus}
    asked = _asked_gpus(script)
    if asked is None or asked.kind is None or None in kinds or not kinds:
        return
    if asked.kind.casefold() not in {kind.casefold() for kind in kinds if kind}:
        has = ", ".join(sorted(kind for kind in kinds if kind))
        message = f"GPUs of type {shown(asked.kind)} are asked for, but partition {shown(name)} has {has}"
        yield Finding(Severity.ERROR, "site/gpu-type", message, None, asked.line)


def _asked_gpus(script: Script) -> Gpus | None:
    for option in ("gpus-per-node", "gres", "gpus", "gpus-per-task"):
        given = script.directives.get(option)
        if given is not None and given.value is not None:
            found = gpu_request(given.value.text, given.line, gres=option == "gres")
            if found is not None:
                return found
    return None


def _named(script: Script, option: str, mine: Sequence[str], cluster: Site) -> Iterator[Finding]:
    """An account or a QOS that is not the user's; Slurm compares both without regard to case."""
    value = _told(script, option)
    if value is None or not mine:
        return
    wanted = [name for name in value.split(",") if name]
    if any(name.casefold() in {item.casefold() for item in mine} for name in wanted):
        return
    name = "account" if option == "account" else "QOS"
    choices = ", ".join(sorted(mine)[:_NAMED])
    message = f"--{option}={shown(value)} is no {name} of yours: choose one of {choices}"
    severity = Severity.ERROR if cluster.enforced else Severity.WARNING
    yield Finding(severity, f"site/{option}", message, None, _line(script, option))


def _told(script: Script, option: str) -> str | None:
    """A value that is one: no variable, no placeholder."""
    value = (script.text(option) or "").strip()
    return None if not value or holds_variable(value) or "<" in value or "{" in value else value


def _line(script: Script, option: str) -> int | None:
    given = script.directives.get(option)
    return given.line if given is not None else None


def _choices(cluster: Site) -> str:
    names = list(dict.fromkeys(row.name for row in cluster.partitions))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _span(seconds: float) -> str:
    """As Slurm writes it: `1-00:00:00`, `02:00:00`."""
    rest, second = divmod(round(seconds), 60)
    rest, minute = divmod(rest, 60)
    day, hour = divmod(rest, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{day}-{clock}" if day else clock
