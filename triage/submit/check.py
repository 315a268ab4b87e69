"""What will fail in a configured run: the checks of its rendered script, told where they belong in `triage.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.case import Script
from triage.core.script.checks import check_script
from triage.core.script.facts import Facts
from triage.core.script.read import read_script
from triage.submit.config import Config, Layer, Settings
from triage.submit.template import argument_lines, render

_DIRECTIVE = re.compile(r"#SBATCH \"?--([a-z-]+)")
_KEYS = {
    "job-name": "job.name", "gpus-per-node": "job.gpus_per_node", "output": "logs", "error": "logs",
    "account": "job.account", "partition": "job.partition", "nodes": "job.nodes", "time": "job.time",
    "qos": "job.qos", "constraint": "job.constraint", "reservation": "job.reservation",
}  # fmt: skip
"""Options of sbatch by the key that they are written from; the rest is from `job.options`."""
_LINES = (
    (re.compile(r"\s*--(?:log-dir|redirects|tee)="), "logs"),
    (re.compile(r"\s*--nproc-per-node="), "job.gpus_per_node"),
    (re.compile(r"\s*--nnodes="), "job.nodes"),
    (re.compile(r"\s*--master-port="), "master_port"),
    (re.compile(r"cd "), "worktree"),
    (re.compile(r"\s*(?:uv run |python |torchrun )"), "launcher"),
    (re.compile(r"\s*'?--container-image|\s*(?:apptainer|singularity) "), "container.image"),
    (re.compile(r"\s*'?--(?:container-mounts|bind)"), "container.mounts"),
)  # fmt: skip
_EXPORT = re.compile(r"export ([A-Za-z_]\w*)=")


def check_config(settings: Settings, facts: Facts, template: str | None = None) -> list[Finding]:
    """As `check_script`, with lines of the configuration; without one where a default or another layer is at fault.

    Raises `ConfigError` where the template cannot be filled in.
    """
    text = render(settings.config, template=template)
    script = replace(_with_gpu(read_script(text), settings.config.gpu), uncalled=None)
    lines = _origins(settings, text)
    found: dict[tuple[str, str], Finding] = {}
    for finding in check_script(script, facts):
        key, line = lines.get(finding.line or 0, ("command", _line(settings, "arguments")))
        told = _told(replace(finding, line=line), settings.config)
        found.setdefault((told.check if key == "logs" else told.message, key), told)
    kept = [*found.values()]
    if any(item.check == "storage/log" for item in kept):
        kept = [item for item in kept if item.check != "storage/local" or "--log-dir" not in item.message]
    return kept


def _with_gpu(script: Script, gpu: str | None) -> Script:
    """The script, whose launches run on the GPUs that the configuration names."""
    if gpu is None:
        return script
    runs = (
        replace(
            run,
            launch=replace(run.launch, gpu=gpu),
            variants=tuple(replace(launch, gpu=gpu) for launch in run.variants),
        )
        for run in script.runs
    )
    return replace(script, runs=tuple(runs))


def _told(finding: Finding, config: Config) -> Finding:
    """The log folder is made by `triage submit`, so that its absence is no error of a configuration."""
    if finding.check != "storage/log-folder":
        return finding
    message = f"the log folder {config.logs} does not exist yet: triage submit makes it"
    return replace(finding, severity=Severity.INFO, message=message)


def _origins(settings: Settings, text: str) -> dict[int, tuple[str, int | None]]:
    """For lines of the script the key that they come from, and its line in the file."""
    lines = text.split("\n")
    found: dict[int, tuple[str, int | None]] = {}
    for number, line in enumerate(lines, 1):
        if (key := _key(line)) is not None:
            found[number] = (key, _line(settings, key))
    if "training=(" in lines:
        found |= dict(_arguments(settings, lines.index("training=(") + 2))
    return found


def _key(line: str) -> str | None:
    if (match := _DIRECTIVE.match(line)) is not None:
        return _KEYS.get(match[1], "job.options")
    if (match := _EXPORT.match(line)) is not None:
        return {"GPUS_PER_NODE": "job.gpus_per_node", "MASTER_PORT": "master_port"}.get(
            match[1], f"environment.{match[1]}"
        )
    return next((key for pattern, key in _LINES if pattern.match(line)), None)


def _arguments(settings: Settings, first: int) -> Iterator[tuple[int, tuple[str, int | None]]]:
    """The lines between the brackets of the training's command; a value may have line breaks of its own."""
    yield first, ("command", _line(settings, "command"))
    number, index = first + 1 + settings.config.command.count("\n"), 0
    for words in argument_lines(settings.config.arguments):
        origin = settings.arguments[index]
        line = origin.line if origin.layer is Layer.FILE else None
        for _ in range(1 + sum(word.count("\n") for word in words)):
            yield number, (f"arguments.{index}", line)
            number += 1
        index += len(words)


def _line(settings: Settings, key: str) -> int | None:
    """What no key of the file says, such as an argument that is not given, is told where the arguments stand."""
    names = (key, "arguments") if key in ("command", "launcher") else (key,)
    for name in names:
        origin = settings.origins.get(name)
        if origin is not None and origin.layer is Layer.FILE:
            return origin.line
    return None
