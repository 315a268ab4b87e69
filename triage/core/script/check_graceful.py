"""Signals and requeueing: a trap that can run, a log that survives.

bash runs a trap only when the foreground command has ended; `--signal` without `B:` reaches srun's steps, not the batch
shell (sbatch(1)); a requeued job's log is truncated unless `--open-mode=append` is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.case import Script
from triage.core.script.command import Command
from triage.core.script.facts import Facts

_SIGNAL = re.compile(r"(?:([RB]+):)?([A-Z0-9]+)(?:@\d+)?", re.I)
_IGNORED = frozenset({"EXIT", "0", "ERR", "DEBUG", "RETURN"})


def graceful(script: Script, _: Facts) -> Iterator[Finding]:
    """The rules of a graceful end."""
    signal = script.directives.get("signal")
    text = script.text("signal") or ""
    traps = [command for command in script.commands if command.name == "trap" and not command.wrappers]
    handled = {name for trap in traps for name in _signals(trap)}
    match = _SIGNAL.fullmatch(text)
    if signal is not None and match and "B" not in (match[1] or "").upper() and _plain(match[2]) in handled:
        message = (
            f"--signal={text} goes to srun's tasks only, so the trap never runs: write --signal=B:{match[2]}"
        )
        yield Finding(Severity.WARNING, "graceful/signal", message, None, signal.line)
    caught = [trap for trap in traps if _signals(trap) - {"INT"}]
    blocking = [run for run in script.runs if run.in_step and not run.command.background]
    if caught and blocking:
        message = f"bash runs the trap of line {caught[0].line} only after srun has ended: start srun with & and wait for it"
        yield Finding(Severity.WARNING, "graceful/foreground", message, None, blocking[0].line)
    requeue = script.directives.get("requeue")
    if requeue is not None and (script.text("open-mode") or "truncate")[0] != "a":
        message = "with --requeue the log is truncated when the job starts again: add --open-mode=append"
        yield Finding(Severity.INFO, "graceful/append", message, None, requeue.line)
    requeues = next((command for command in script.commands if _requeues(command)), None)
    if requeues is not None:
        message = "the script requeues itself on a signal: a signal to end it early would start it again"
        yield Finding(Severity.INFO, "graceful/requeue", message, None, requeues.line)


def _signals(trap: Command) -> set[str]:
    names = [word.text for word in trap.words[1:] if not word.text.startswith("-")]
    return {_plain(name) for name in names[1:] if _plain(name) not in _IGNORED}


def _plain(name: str) -> str:
    name = name.upper().removeprefix("SIG")
    return {"10": "USR1", "12": "USR2", "15": "TERM", "2": "INT", "1": "HUP"}.get(name, name)


def _requeues(command: Command) -> bool:
    if command.name == "trap":
        return any("scontrol requeue" in word.text for word in command.words)
    return command.name == "scontrol" and len(command.words) > 1 and command.words[1].text == "requeue"
