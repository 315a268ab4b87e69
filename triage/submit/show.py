"""A configuration as text and as JSON: each value, and where it came from (`triage.config/1`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from triage.submit.config import Config, Layer, Origin, Settings

Value = str | int | tuple[str, ...] | None


def values(config: Config) -> dict[str, Value]:
    """By key, in the order of the file."""
    job, box = config.job, config.container
    return {
        "worktree": config.worktree, "command": config.command, "arguments": config.arguments,
        "launcher": config.launcher.value,
        "master_port": "auto" if config.master_port is None else config.master_port, "gpu": config.gpu,
        "logs": config.logs, "artifact": config.artifact, "job.name": job.name, "job.account": job.account,
        "job.partition": job.partition, "job.nodes": job.nodes, "job.gpus_per_node": job.gpus_per_node,
        "job.time": job.time, "job.qos": job.qos, "job.constraint": job.constraint,
        "job.reservation": job.reservation, "job.options": job.options, "container.kind": box.kind.value,
        "container.image": box.image, "container.mounts": box.mounts, "container.options": box.options,
        "hooks.setup": config.setup, "hooks.on_failure": config.on_failure,
        **{f"environment.{name}": value for name, value in config.environment.items()},
    }  # fmt: skip


def config_json(settings: Settings) -> str:
    """Unset keys are null; an argument's origin is that of the list unless it has one of its own."""
    data = {
        "schema": "triage.config/1",
        "values": [_object(name, value, settings) for name, value in values(settings.config).items()],
    }
    return json.dumps(data, indent=2) + "\n"


def config_text(settings: Settings) -> str:
    """A line for each value; those that are not set are left out."""
    rows = [*_rows(settings)]
    width = max(len(name) for name, _, _ in rows)
    shown = min(60, max(len(value) for _, value, _ in rows))
    return "".join(f"{name:{width}}  {value:{shown}}  {origin}\n" for name, value, origin in rows)


def _rows(settings: Settings) -> Iterator[tuple[str, str, str]]:
    for name, value in values(settings.config).items():
        origin = settings.origins.get(name, Origin(Layer.DEFAULT))
        if name == "arguments" and isinstance(value, tuple):
            yield from (
                (name if index == 0 else "", _literal(word), told(settings.arguments[index]))
                for index, word in enumerate(value)
            )
        elif value is not None and value != ():
            yield name, _literal(value), told(origin)


def told(origin: Origin) -> str:
    """Where a value came from, for people."""
    return "default" if origin.layer is Layer.DEFAULT else str(origin)


def _literal(value: Value) -> str:
    """As the file would say it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _object(name: str, value: Value, settings: Settings) -> dict[str, Any]:
    origin = settings.origins.get(name, Origin(Layer.DEFAULT))
    found: dict[str, Any] = {"key": name, "value": value, **_origin(origin)}
    if name == "arguments":
        found["elements"] = [_origin(item) for item in settings.arguments]
    return found


def _origin(origin: Origin) -> dict[str, Any]:
    default = origin.layer is Layer.DEFAULT
    return {"origin": origin.layer.value, "place": None if default else origin.place, "line": origin.line}
