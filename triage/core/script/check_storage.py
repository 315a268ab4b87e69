"""Paths: logs, checkpoints and data on storage that all nodes share, and there before the job starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from triage.core.megatron.finding import Finding, Severity
from triage.core.megatron.launch import Argument
from triage.core.script.case import Script, severity, shown
from triage.core.script.check_environment import contained
from triage.core.script.facts import Facts
from triage.core.script.holes import FIRST_REASON, TEMPORARY, known, readable, symbols
from triage.core.script.launches import Run
from triage.core.script.state import plain_path

_LOCAL = re.compile(
    r"/(?:tmp|var/tmp|local|localscratch|local_scratch|scratch\.local|scratch_local|dev/shm|mnt/local\w*|nvme\w*)(?:/|$)"
)
SHARED = re.compile(
    r"nfs\d?|lustre|gpfs|beegfs\w*|ceph|fuse\.ceph\w*|wekafs|panfs|pvfs2|orangefs|cvmfs2?|9p|smb\d?|cifs|afs|fuse\..*"
)
"""Types of file systems that several nodes see."""
_WRITTEN = (
    "--save",
    "--tensorboard-dir",
    "--wandb-save-dir",
    "--structured-logs-dir",
    "--non-persistent-global-ckpt-dir",
)
_READ = ("--load", "--vocab-file", "--merge-file", "--tokenizer-model", "--pretrained-checkpoint")
_DATA = ("--data-path", "--train-data-path", "--valid-data-path", "--test-data-path")
_WEIGHT = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def log_files(script: Script, facts: Facts) -> Iterator[Finding]:
    """Slurm opens the log before the script runs, on the first node."""
    _look_around(script, facts)
    told: set[str] = set()
    for name in ("output", "error"):
        option = script.directives.get(name)
        if option is None or option.value is None:
            continue
        path = option.value.text
        folder = path.rpartition("/")[0] or ("/" if path.startswith("/") else "")
        if script.allocation.nodes != 1 and _local(path, facts):
            message = f"the log {shown(path)} lies on storage of one node, where it is lost at the job's end: use shared storage"
            yield Finding(Severity.WARNING, "storage/log", message, None, option.line)
        if not folder or "%" in folder or folder in told or not known(folder) or _made_before(script, folder):
            continue
        told.add(folder)
        there = facts.exists(folder)
        if there is False:
            message = f"the log folder {shown(folder)} does not exist, and Slurm lets the job die without a log: `triage check --fix --write` or `triage submit` makes it"
            yield Finding(Severity.ERROR, "storage/log-folder", message, None, option.line)
        made = _made(script, folder)
        if made is not None and there is not True:
            message = f"mkdir {shown(folder)} comes too late: Slurm opens the log before the script runs; make it before sbatch"
            yield Finding(Severity.WARNING, "storage/log-mkdir", message, None, made)


def _look_around(script: Script, facts: Facts) -> None:
    """Asks for what lies outside of containers, so that it shows whether the job's storage is to be seen here."""
    for path in dict.fromkeys(_outside(script)):
        if path.startswith("/") and known(path):
            facts.exists(path)


def _outside(script: Script) -> Iterator[str]:
    """Folders that the script goes to, and its containers' images."""
    for command in script.commands:
        if not command.wrappers:
            yield command.directory
    for run in script.runs:
        srun = run.command.wrapper("srun")
        image = srun.get("container-image", "container") if srun is not None else None
        if image is not None and image.value is not None:
            yield image.value.text


def placed(script: Script) -> bool:
    """Whether the script says itself where its storage lies, rather than by a variable that someone else sets."""
    told = all(ord(mark) < FIRST_REASON for path in _outside(script) for mark in symbols(path))
    return told and all(map(placed, script.submitted))


def _made(script: Script, folder: str) -> int | None:
    """The line in which the script itself makes its log folder, unless it is there that it submits the job."""
    ahead = list(takewhile(lambda command: command.wrapper("srun") is None, script.commands))
    submits = [index for index, command in enumerate(ahead) if command.name == "sbatch"]
    wanted = folder.removeprefix("./").rstrip("/")
    for command in script.commands[submits[-1] if submits else 0 :]:
        if command.name == "mkdir" and not command.wrappers:
            for word in command.words[1:]:
                if word.text.removeprefix("./").rstrip("/") == wanted:
                    return command.line
    return None


def _made_before(script: Script, folder: str) -> bool:
    """Whether the script that submits this one makes the folder."""
    wanted = plain_path(folder).rstrip("/") + "/"
    return any(f"{plain_path(item).rstrip('/')}/".startswith(wanted) for item in script.made)


def _local(path: str, facts: Facts) -> bool:
    """Whether a path lies on storage of one node."""
    if _LOCAL.match(path) or path.startswith(TEMPORARY):
        return True
    if not path.startswith("/") or not known(path):
        return False
    kind = facts.filesystem(path)
    return kind is not None and SHARED.fullmatch(kind) is None


def written(_script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    """Checkpoints, tensorboard and logs of a run on several nodes."""
    if run.step.nodes == 1 or (run.launch.nodes or 2) == 1:
        return
    paths = [(name, _given(run, name), run.launch.line(name)) for name in _WRITTEN]
    if (flag := run.flag("log_dir")) is not None:
        paths.append(("--log-dir", flag.text, run.flag_line("log_dir")))
    srun = run.command.wrapper("srun")
    given = [srun.get(name) for name in ("output", "error")] if srun is not None else []
    paths += [(f"srun's --{item.name}", item.value.text, item.line) for item in given if item and item.value]
    paths += [("the output", item.text, item.line) for item in run.command.outputs]
    for name, path, line in paths:
        if path and _local(path, facts):
            message = f"{name} {shown(readable(path))} lies on storage of each node: on {run.step.nodes or 'several'} nodes use shared storage"
            yield Finding(Severity.WARNING, "storage/local", message, None, line)


def _given(run: Run, name: str) -> str | None:
    """An option's value with its holes, the last one given."""
    words = run.started.arguments
    found = None
    for index, word in enumerate(words):
        if word.text.startswith(f"{name}="):
            found = word.text[len(name) + 1 :]
        elif word.text == name and index + 1 < len(words):
            found = words[index + 1].text
    return found


def _last(item: Argument | None) -> str | None:
    return item.values[0] if item is not None and item.values and isinstance(item.values[0], str) else None


def read(script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    """Data, tokenizer and checkpoints that the run needs; of what it writes, the folder above."""
    if contained(run):
        return
    place = run.command.directory
    saved = {_last(run.launch.find(name)) for name in ("--save",)}
    for name in _READ:
        path = _absolute(_last(run.launch.find(name)), place)
        if path and path not in saved and facts.exists(path) is False:
            message = f"{name} {shown(path)} does not exist"
            yield Finding(severity(script, run), "storage/missing", message, None, run.launch.line(name))
    for name in _DATA:
        item = run.launch.find(name)
        for value in item.values[:64] if item is not None else ():
            path = (
                _absolute(value, place) if isinstance(value, str) and not _WEIGHT.fullmatch(value) else None
            )
            if path and facts.exists(f"{path}.bin") is False and facts.exists(path) is False:
                message = f"{name} {shown(path)}: neither it nor {shown(path)}.bin exists"
                yield Finding(severity(script, run), "storage/missing", message, None, run.launch.line(name))
    for name in _WRITTEN:
        path = _absolute(_last(run.launch.find(name)), place)
        above = path.rstrip("/").rpartition("/")[0] if path else ""
        if above and facts.exists(above) is False:
            message = f"{name} {shown(path or '')}: the folder {shown(above)} does not exist"
            yield Finding(severity(script, run), "storage/missing", message, None, run.launch.line(name))


def _absolute(path: str | None, place: str) -> str | None:
    if not path or not known(path):
        return None
    if path.startswith("/"):
        return path
    return f"{place.rstrip('/')}/{path}" if place.startswith("/") and known(place) else None
