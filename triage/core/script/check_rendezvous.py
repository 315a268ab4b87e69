"""Where the workers meet: MASTER_ADDR and MASTER_PORT, or torchrun's rendezvous endpoint.

torchrun takes the address from its flags only (its default is 127.0.0.1, torch/distributed/run.py); programs that srun
starts directly take it from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.case import LOCALHOST, Script, several_nodes, severity, shown
from triage.core.script.facts import Facts
from triage.core.script.holes import FIRST_HOST, HOSTS, NODE_LIST, OWN_HOST, known
from triage.core.script.launchers import Launcher
from triage.core.script.launches import Run

_PLAIN = re.compile(r"[\w.:\[\]-]+", re.ASCII)


def address(script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """All nodes meet at the first host of the allocation."""
    if not several_nodes(run) or run.launch.nodes == 1:
        return
    found = _address(run)
    if found is None:
        return
    text, line, name = found
    grade = severity(script, run)
    if not text:
        grade = Severity.WARNING if run.command.opaque else grade
        message = f"{name} is not given, so every node waits for the others on itself: pass the first host of the allocation"
        yield Finding(grade, "rendezvous/address", message, None, line)
        return
    host = text if text.count(":") > 1 and not text.startswith("[") else text.split(":")[0]
    if host in LOCALHOST:
        message = f"{name} is {host}, but {run.step.nodes} nodes are to meet there: take the first host of the allocation"
        yield Finding(grade, "rendezvous/localhost", message, None, line)
    elif OWN_HOST in host:
        message = f"{name} is the own host on every node, so each waits on itself: take the first host of the allocation"
        yield Finding(Severity.WARNING, "rendezvous/own-host", message, None, line)
    elif known(host) and _PLAIN.fullmatch(host) and script.text("nodelist") is None:
        message = (
            f"{name} is always {shown(host)}, whatever nodes the job gets: take the first host of the allocation"
            " (scontrol show hostnames)"
        )
        yield Finding(Severity.WARNING, "rendezvous/fixed", message, None, line)
    elif NODE_LIST in host or HOSTS in host:
        message = f"{name} is the whole list of nodes, not the first of them: take the first line of scontrol show hostnames"
        grade = Severity.WARNING
        yield Finding(grade, "rendezvous/list", message, None, line)


def _address(run: Run) -> tuple[str, int, str] | None:
    """Address, line and name of where it stands; an empty address where none is given."""
    launcher = run.started.launcher
    flag, endpoint = run.flag("master_addr", "main_process_ip"), run.flag("rdzv_endpoint")
    if launcher is Launcher.ACCELERATE:
        name = "--main-process-ip"
        return (flag.text, run.flag_line("main_process_ip"), name) if flag is not None else None
    if launcher is Launcher.TORCHRUN:
        if endpoint is not None:
            return endpoint.text, run.flag_line("rdzv_endpoint"), "--rdzv-endpoint"
        if flag is not None and run.flag("rdzv_backend") is None:
            return flag.text, run.flag_line("master_addr"), "--master-addr"
        if (
            not run.started.complete
            or run.launch.nodes is None
            or _from_environment(run)
            or run.has("rdzv_conf")
        ):
            return None
        name = "--master-addr" if run.flag("rdzv_backend") is None else "--rdzv-endpoint"
        return "", run.line, name
    setting = run.command.environment.get("MASTER_ADDR") if launcher is Launcher.PYTHON else None
    return (setting.text, setting.line, "MASTER_ADDR") if setting is not None and setting.text else None


def _from_environment(run: Run) -> bool:
    """torchrun reads `PET_` variables as its flags' defaults."""
    return any(name.startswith("PET_") for name in run.command.environment) or run.command.opaque


def port(_script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """A port is chosen, so that two jobs on a node do not collide by default."""
    if not several_nodes(run) or run.launch.nodes == 1 or not run.started.complete or run.command.opaque:
        return
    environment = run.command.environment
    if run.started.launcher is Launcher.TORCHRUN:
        endpoint = run.flag("rdzv_endpoint")
        if (
            run.has("master_port")
            or _from_environment(run)
            or (endpoint is not None and not _no_port(endpoint.text))
        ):
            return
        if endpoint is None and run.flag("master_addr") is None:
            return
        default = 29400 if run.flag("rdzv_backend") is not None else 29500
        where = "--rdzv-endpoint" if endpoint is not None else "--master-port"
        message = f"{where} names no port, so all jobs on these nodes share {default}: choose one, for example from the job id"
        line = run.flag_line("rdzv_endpoint", "master_addr")
        yield Finding(Severity.WARNING, "rendezvous/port", message, None, line)
    elif (
        run.started.launcher is Launcher.PYTHON
        and "MASTER_ADDR" in environment
        and "MASTER_PORT" not in environment
    ):
        message = "MASTER_ADDR is exported, but MASTER_PORT is not: torch's env:// needs both"
        yield Finding(Severity.WARNING, "rendezvous/port", message, None, environment["MASTER_ADDR"].line)


def _no_port(endpoint: str) -> bool:
    """Whether an endpoint certainly has no port."""
    return endpoint == FIRST_HOST or (known(endpoint) and ":" not in endpoint)
