"""Checked values to a `Config`: paths made absolute, and what values demand of one another."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Protocol

from triage.submit.config import Config, Container, ContainerKind, Job, Launcher, Layer, Origin, Settings
from triage.submit.keys import BY_NAME
from triage.submit.values import Wrong, as_value


class Value(Protocol):
    """What is asked of a given value."""

    @property
    def value(self) -> str | int | tuple[str, ...]: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def elements(self) -> tuple[Origin, ...]: ...


def build(given: Mapping[str, Value], folder: str, home: str, mistakes: list[str]) -> Settings | None:
    """`None` with the mistakes added where values do not go together."""
    reader = _Reader(given, home)
    worktree = reader.path("worktree", folder)
    logs = reader.path("logs", worktree)
    port = given["master_port"].value
    config = Config(
        worktree=worktree,
        logs=logs,
        command=reader.need("command"),
        arguments=reader.words("arguments"),
        launcher=Launcher(reader.need("launcher")),
        master_port=port if isinstance(port, int) else None,
        gpu=reader.text("gpu"),
        artifact=reader.path("artifact", worktree) if "artifact" in given else None,
        job=Job(
            reader.need("job.name"), reader.text("job.account"), reader.text("job.partition"),
            reader.count("job.nodes"), reader.count("job.gpus_per_node"), reader.text("job.time"),
            reader.text("job.qos"), reader.text("job.constraint"), reader.text("job.reservation"),
            reader.words("job.options"),
        ),
        environment={name.partition(".")[2]: str(item.value) for name, item in given.items() if name.startswith("environment.")},
        container=Container(
            ContainerKind(reader.need("container.kind")), reader.text("container.image"),
            reader.words("container.mounts"), reader.words("container.options"),
        ),
        setup=reader.words("hooks.setup"),
        on_failure=reader.words("hooks.on_failure"),
    )  # fmt: skip
    mistakes += _together(config, given)
    origins = {name: item.origin for name, item in given.items()}
    arguments = given["arguments"]
    elements = arguments.elements or (arguments.origin,) * len(config.arguments)
    return None if mistakes else Settings(config, origins, elements)


class _Reader:
    def __init__(self, given: Mapping[str, Value], home: str) -> None:
        self._given = given
        self._home = home

    def text(self, name: str) -> str | None:
        return str(self._given[name].value) if name in self._given else None

    def need(self, name: str) -> str:
        return str(self._given[name].value)

    def count(self, name: str) -> int:
        value = self._given[name].value
        assert isinstance(value, int)
        return value

    def words(self, name: str) -> tuple[str, ...]:
        value = self._given[name].value
        assert isinstance(value, tuple)
        return value

    def path(self, name: str, base: str) -> str:
        text = self.need(name)
        if self._home and (text == "~" or text.startswith("~/")):
            text = self._home + text[1:]
        return posixpath.normpath(posixpath.join(base, text))


def _together(config: Config, given: Mapping[str, Value]) -> list[str]:
    """What one value demands of another, each said where that value stands."""
    found = []
    kind = config.container.kind
    if kind is not ContainerKind.NONE and config.container.image is None:
        found.append(
            f"{given['container.kind'].origin}: container.kind is {kind.value!r}, so container.image must name the image"
        )
    if kind is ContainerKind.NONE:
        for name in ("container.image", "container.mounts", "container.options"):
            if name in given and given[name].value:
                found.append(
                    f"{given[name].origin}: {name} has no effect while container.kind is 'none': set it to pyxis or apptainer"
                )
    else:
        for name, path in (("worktree", config.worktree), ("logs", config.logs)):
            if "," in path or ":" in path:
                found.append(
                    f"{given[name].origin}: {name} is {path[-60:]!r}, but a mount into a container can hold no comma and no colon"
                )
    try:
        as_value(BY_NAME["logs"], None, config.logs)
    except Wrong as wrong:
        below = given["logs"].origin.layer is Layer.DEFAULT
        name = "worktree" if below else "logs"
        what = "worktree, below which the logs lie, gives a path that" if below else "logs"
        found.append(f"{given[name].origin}: {what} {wrong}")
    return found
