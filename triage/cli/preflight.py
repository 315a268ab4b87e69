"""What is wrong with a job script, for the commands that check and submit: text, machine and cluster brought together."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.check_storage import placed
from triage.core.script.limits import SCRIPT
from triage.core.script.read import Script, check_script, read_script
from triage.core.script.site import Site
from triage.core.values import replace
from triage.files.facts import Machine, Mount, NotAScript, read_text, same_folder
from triage.submit.config import Settings

_BYTES = 4 * (SCRIPT + 1)
"""As much as `read_script` looks at, whatever its characters are."""
_SHELL = re.compile(r"#!.*\b(?:ba|da|z|k)?sh\b")
_SHELL_NAMES = (".sh", ".bash", ".sbatch", ".slurm", ".batch", ".job", ".sub")
_NAMED = 5
"""Unseen paths that are told by name."""
_MADE = ("storage/log-folder", "storage/log-mkdir")
_NO_SLURM = Site(unknown=("there is no Slurm on this machine",))
_ELSEWHERE = Site(unknown=("this machine does not see the script's storage, so its cluster is another one",))


def open_script(path: str) -> tuple[str, Script]:
    """The text of a script and what it says; raises `NotAScript`."""
    text = read_text(path, _BYTES)
    script = read_script(text)
    if not (_SHELL.match(text) or script.directives.any or (path.endswith(_SHELL_NAMES) and script.runs)):
        raise NotAScript(
            "is no script: its first line names no shell (#!/bin/bash), and it has no #SBATCH line"
        )
    return text, script


def findings_of_script(
    path: str, script: Script, mounts: Sequence[Mount], site: Callable[[], Site]
) -> list[Finding]:
    """Of a script of that path that may be meant for another cluster: where this machine does not see its storage,
    neither missing paths nor this cluster's partitions say anything."""
    machine = _machine(path, script, mounts, site, settled=True)
    found = check_script(script, machine)
    if machine.foreign:
        machine = _machine(path, script, mounts, lambda: _ELSEWHERE, settled=False)
        found = check_script(script, machine)
    if not machine.familiar and not machine.site().partitions:
        found = [_doubted(item) for item in found]
    return [*found, *_unseen(machine)]


def _doubted(finding: Finding) -> Finding:
    """What is only a mistake where the job is submitted from here, of which nothing on this machine speaks."""
    if finding.check != "storage/log-folder":
        return finding
    message = f"if the job is submitted from here: {finding.message}"
    return replace(finding, severity=Severity.WARNING, message=message)


def findings_of_config(
    settings: Settings, mounts: Sequence[Mount], site: Callable[[], Site], template: str | None = None
) -> list[Finding]:
    """The same of a configuration; lines are those of its file. Raises `ConfigError` where the template cannot be filled in."""
    from triage.submit.check import check_config

    machine = Machine(settings.config.worktree, mounts, settled=True, site=site)
    found = check_config(settings, machine, template)
    if machine.foreign:
        machine = Machine(settings.config.worktree, mounts, settled=False, site=lambda: _ELSEWHERE)
        found = check_config(settings, machine, template)
    return [*found, *_unseen(machine)]


def findings_here(
    script: Script, folder: str, mounts: Sequence[Mount], site: Callable[[], Site]
) -> list[Finding]:
    """Of a script that is submitted from here, now, by a call that makes its log folders."""
    machine = Machine(os.path.join(folder, script.text("chdir") or ""), mounts, settled=True, site=site)
    found = [item for item in check_script(script, machine) if item.check not in _MADE]
    return [*found, *_unseen(machine)]


def findings_of_config_here(
    settings: Settings, mounts: Sequence[Mount], site: Callable[[], Site], template: str | None = None
) -> list[Finding]:
    """The same of a configuration."""
    from triage.submit.check import check_config

    machine = Machine(settings.config.worktree, mounts, settled=True, site=site)
    found = [item for item in check_config(settings, machine, template) if item.check not in _MADE]
    return [*found, *_unseen(machine)]


def _machine(
    path: str, script: Script, mounts: Sequence[Mount], site: Callable[[], Site], *, settled: bool
) -> Machine:
    """Relative paths begin at `--chdir`, else where sbatch is called. That is taken to be the current folder if the
    script lies in it, and only as long as this machine sees the script's other paths and all of them are told."""
    chosen = script.text("chdir") or ""
    here = same_folder(os.path.dirname(path) or ".", ".") and placed(script)
    return Machine(chosen or ".", mounts, settled=chosen.startswith("/") or (settled and here), site=site)


def _unseen(machine: Machine) -> list[Finding]:
    if not machine.unseen:
        return []
    paths: list[str] = []
    for path in sorted(machine.unseen):
        if not paths or not path.startswith(paths[-1].rstrip("/") + "/"):
            paths.append(path)
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    text = f"not checked, as this machine does not see them: {', '.join(paths[:_NAMED])}{more}"
    return [Finding(Severity.INFO, "storage/not-seen", text)]


def ask_site(environment: Mapping[str, str]) -> Callable[[], Site]:
    """The cluster of this machine, asked once and meanwhile: the answer is waited for when it is needed."""
    if shutil.which("sbatch", path=environment.get("PATH")) is None:
        return lambda: _NO_SLURM
    answers: list[Site] = []

    def ask() -> None:
        from triage.schedulers.interface import connect

        answers.append(connect("slurm", environment).site() or _NO_SLURM)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()

    def answer() -> Site:
        thread.join()
        return answers[0] if answers else _NO_SLURM

    return answer
