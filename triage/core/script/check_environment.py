"""Where the program runs and with which Python: worktree, uv, containers."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.megatron.launch import Framework
from triage.core.script.case import Script, severity, shown
from triage.core.script.facts import Facts
from triage.core.script.holes import known
from triage.core.script.launchers import Launcher
from triage.core.script.launches import Run

_NAMED = 5
"""Lost variables that are told by name."""
_MANAGERS = ("uv", "poetry", "conda")


def worktree(script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    """The script goes to the worktree before it launches, and the program is there."""
    program = run.started.program
    if program is None or not known(program.text) or contained(run) or not script.directives.any:
        return
    path, module = program.text, "module" in run.started.flags or not program.text.endswith(".py")
    place = run.command.directory or script.text("chdir") or ""
    if not path.startswith("/") and place == "" and not module:
        if facts.exists(path) is True:
            return
        message = (
            f"{shown(path)} is looked for where sbatch was called: cd to the worktree in the script,"
            " or submit only from there"
        )
        yield Finding(Severity.WARNING, "environment/worktree", message, None, program.line)
        return
    full = path if path.startswith("/") else f"{place.rstrip('/')}/{path.removeprefix('./')}"
    if place.startswith("/") and known(place) and facts.exists(place) is False:
        message = f"the worktree {shown(place)} does not exist"
        yield Finding(severity(script, run), "environment/worktree-missing", message, None, program.line)
    elif not module and full.startswith("/") and known(full) and facts.exists(full) is False:
        message = f"{shown(full)} does not exist"
        yield Finding(severity(script, run), "environment/program-missing", message, None, program.line)


def python(script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    """Through `uv run`, so that the worktree's packages are seen on every node."""
    command = run.command
    if run.started.launcher is not Launcher.TORCHRUN or contained(run) or command.activated or command.opaque:
        return
    if any(command.wrapper(name) for name in _MANAGERS) or "PATH" in command.environment:
        if command.wrapper("uv") is not None:
            yield from _venv(script, run, facts)
        return
    name = command.words[0].text
    if "/" in name or not known(name):
        return
    place = run.command.directory
    lock = facts.exists(f"{place.rstrip('/')}/uv.lock" if place else "uv.lock") if known(place) else None
    megatron = run.launch.framework is Framework.MEGATRON
    uses_uv = any(item.name == "uv" or item.wrapper("uv") for item in script.commands)
    if lock is False or (lock is None and not megatron and not uses_uv):
        return
    bare = "bare torchrun" if not run.started.module else "python -m torch.distributed.run without uv run"
    message = f"{bare} may run under a Python that does not see the worktree's .venv: use uv run python -m torch.distributed.run"
    yield Finding(Severity.WARNING, "environment/uv-run", message, None, run.line)


def _venv(script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    place = run.command.directory or script.text("chdir") or ""
    if not place.startswith("/") or not known(place) or facts.exists(place) is not True:
        return
    chosen = run.command.environment.get("UV_PROJECT_ENVIRONMENT")
    name = chosen.text if chosen is not None and chosen.text else ".venv"
    if not known(name):
        return
    if facts.exists(name if name.startswith("/") else f"{place.rstrip('/')}/{name}") is False:
        has = f"{shown(place)} has no .venv" if chosen is None else f"{shown(name)} does not exist"
        message = f"{has}, so every job builds it inside srun: run uv sync there once before"
        yield Finding(Severity.WARNING, "environment/venv", message, None, run.line)


def export(_script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """What the script exports reaches the workers."""
    lost = run.command.lost
    if not lost:
        return
    srun = run.command.wrapper("srun")
    option = srun.get("export") if srun is not None else None
    how = "sbatch's --export holds for srun too and" if option is None else "srun's --export"
    named = ", ".join(lost[:_NAMED]) + (f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else "")
    message = f"{how} keeps the script's own variables from the tasks ({named}): write srun --export=ALL"
    yield Finding(Severity.WARNING, "environment/export", message, None, option.line if option else run.line)


def contained(run: Run) -> bool:
    """Whether the program runs inside a container, where paths mean other things."""
    if run.command.container is not None:
        return True
    srun = run.command.wrapper("srun")
    names = ("container-image", "container-name", "environment", "container")
    return srun is not None and srun.get(*names) is not None


def container(_script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """GPUs and worktree are visible inside the container."""
    inner, srun = run.command.wrapper("apptainer"), run.command.wrapper("srun")
    amd = (run.launch.gpu or "").startswith("mi")
    complete = inner is not None and all(item.recognised for item in inner.options)
    if inner is not None and complete and not amd and inner.get("--nv", "--nvccli", "--rocm") is None:
        message = "the container is started without --nv, so it sees no NVIDIA GPU"
        yield Finding(Severity.WARNING, "container/gpu", message, None, inner.line)
    if srun is None or srun.get("container-image") is None:
        return
    mounts, place = srun.get("container-mounts"), run.command.directory
    text = mounts.value.text if mounts is not None and mounts.value is not None else ""
    program = run.started.program
    relative = (
        program is not None
        and known(program.text)
        and program.text.endswith(".py")
        and program.text[:1] != "/"
    )
    if (
        not relative
        or not place.startswith("/")
        or not known(place)
        or not known(text)
        or srun.get("container-mount-home")
    ):
        return
    folders = [part for mount in text.split(",") for part in mount.split(":")[:2] if part.startswith("/")]
    if not any(
        place == folder.rstrip("/") or place.startswith(folder.rstrip("/") + "/") for folder in folders
    ):
        message = (
            f"the worktree {shown(place)} is not among the container's mounts: add it to --container-mounts"
        )
        yield Finding(Severity.WARNING, "container/worktree", message, None, srun.line)
