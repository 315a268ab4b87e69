"""Sixty hostile values in every field: the script is run by bash, and they arrive unchanged or are refused; none runs.

Slurm and the Python of the nodes are stand-ins that write down what they are given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.submit.runs import settings
from tests.submit.test_template import tool
from triage.core.script.directives import read_directives
from triage.errors import ConfigError
from triage.submit.config import Config
from triage.submit.initial import literal
from triage.submit.template import render

MARK = "EXECUTED"
"""What a value would make in the current folder if it ran."""
VALUES = [
    "'", '"', "\\", "`", "$", "''", '""', "'; touch EXECUTED; '", '"; touch EXECUTED; "', "$(touch EXECUTED)",
    "`touch EXECUTED`", "${X:=$(touch EXECUTED)}", "$((X=1))", "; touch EXECUTED", "& touch EXECUTED &",
    "| touch EXECUTED", "&& touch EXECUTED", "|| touch EXECUTED", "> EXECUTED", ">> EXECUTED", "<(touch EXECUTED)",
    "a\ntouch EXECUTED\n", "\ntouch EXECUTED", "a\r\ntouch EXECUTED", "\n", "\t", " ", "  a  b  ", "a b",
    "#", "# a", "#SBATCH --nodes=9", "a\n#SBATCH --nodes=9", "#!/bin/sh", "-", "--", "-x", "--help", "--nodes=9", "-c",
    "*", "?", "[a-z]", "~", "~root", "{a,b}", "!", "!!", "%j", "%%", "a\\", "\\n", "{{ config }}", "{% raw %}",
    "PYTHON\ntouch EXECUTED", "PYTHON", "' triage x '", "é λ 😀", "\u202e\u2028", "x" * 100_000, "a" * 130_000, "",
    "a\x00b", "\x1b[31m", "\x7f", "=", "a=b", ",", ":", "/", "../..", ".", "$HOME", "$1 $@ $*", "\udcff",
]  # fmt: skip
OUTSIDE = ("/", "../..")
"""Folders above the test's own."""
DIRECTIVES = {
    "job.name": "job-name", "job.account": "account", "job.partition": "partition", "job.time": "time",
    "job.qos": "qos", "job.constraint": "constraint", "job.reservation": "reservation",
}  # fmt: skip
LISTS = ("arguments", "job.options", "container.mounts", "container.options", "hooks.on_failure")
FIELDS = (
    *DIRECTIVES, *LISTS, "worktree", "command", "launcher", "master_port", "gpu", "logs", "artifact", "job.nodes",
    "job.gpus_per_node", "container.kind", "container.image", "environment.VALUE",
)  # fmt: skip
STUBS = {
    "scontrol": "echo node1\necho node2\n",
    "srun": """\
printf '%s\\0' "$@" >"$TOLD/srun"
env -0 >"$TOLD/environment"
pwd -P >"$TOLD/folder"
until [ "$1" = bash ] && [ "$2" = -c ]; do shift; done
exec "$@"
""",
    "python": """\
if [ "$1" = - ]; then exec "$PYTHON" "$@"; fi
printf '%s\\0' "$@" >"$TOLD/python"
exit "${CODE:-0}"
""",
    "uv": 'shift\nexec "$@"\n',
    "touch": 'echo "$@" >>"$TOLD/EXECUTED"\n',
}


def sets_of(field: str, value: str) -> list[str]:
    text = literal((value,)) if field in LISTS and value.isprintable() else value
    if field in LISTS and not value.isprintable():
        text = literal((value,))
    found = [f"{field}={text}"]
    if field.startswith("container.") and field != "container.kind":
        found += ["container.kind=apptainer"]
        found += ["container.image=i.sif"] if field != "container.image" else []
    return found


def accepted(base: list[str], field: str, value: str, folder: Path) -> list[str]:
    """The settings with this one, where it is taken; a refusal names the field and says why."""
    sets = [*base, *sets_of(field, value)]
    try:
        settings(sets=sets, folder=str(folder))
    except ConfigError as error:
        refusals = str(error).split("\n")
    else:
        return sets
    assert any(field in line for line in refusals)
    assert all(len(line) < 400 for line in refusals)
    return base


def run_script(text: str, told: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """The script as the batch host would run it, with stand-ins first on PATH."""
    tools = told / "bin"
    tools.mkdir(parents=True)
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/bash\n{body}")
        (tools / name).chmod(0o755)
    script = told / "script"
    script.write_text(text)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}", "TOLD": str(told), "PYTHON": sys.executable, "HOME": str(told),
        "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "n", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NNODES": "2",
        "SLURM_NODEID": "0", "SLURMD_NODENAME": "node1", **variables,
    }  # fmt: skip
    return subprocess.run(["bash", script], env=environment, cwd=told, capture_output=True, timeout=60)


def read_back(told: Path) -> dict[str, list[str]]:
    return {
        name: (told / name).read_bytes().decode().split("\0")[:-1]
        for name in ("srun", "environment", "python")
    }


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value[:20]))
def test_value_arrives_unchanged_or_is_refused_and_never_runs(value: str, tmp_path: Path) -> None:
    sets: list[str] = []
    for field in FIELDS:
        if value not in OUTSIDE or field not in ("worktree", "logs"):
            sets = accepted(sets, field, value, tmp_path / "work")
    config = settings(sets=sets, folder=str(tmp_path / "work")).config
    text = render(config, token="0123456789abcdef")
    directives = read_directives(text)
    for field, option in DIRECTIVES.items():
        if f"{field}={value}" in sets:
            assert directives.text(option) == value
    assert {stray.kind for stray in directives.strays} <= {"ignored"}, "a line inside a value is no directive"
    assert directives.text("nodes") == str(config.job.nodes)
    (tmp_path / "script").write_text(text)
    subprocess.run(["bash", "-n", tmp_path / "script"], check=True)

    Path(config.worktree).mkdir(parents=True, exist_ok=True)
    Path(config.logs).mkdir(parents=True, exist_ok=True)
    ended = run_script(text, tmp_path / "told")
    assert not [*tmp_path.rglob(MARK)], value
    assert ended.returncode == 0, ended.stderr
    _compare(config, tmp_path / "told")


def _compare(config: Config, told: Path) -> None:
    """What srun, the variables, the workers and the manifest got, against what was configured."""
    found = read_back(told)
    variables = dict(item.split("=", 1) for item in found["environment"])
    assert variables.get("VALUE") == config.environment.get("VALUE")
    assert variables["TRIAGE_ON_FAILURE"] == "\n".join(config.on_failure)
    assert (told / "folder").read_text() == f"{config.worktree}\n"
    words = found["python"]
    command = ["-m", config.module] if config.module else [config.command]
    assert words[words.index("--tee=3") + 1 :] == [*command, *config.arguments]
    for word in (*config.container.options, *([config.container.image] if config.container.image else [])):
        assert word in found["srun"]
    for mount in config.container.mounts:
        assert any(mount in word for word in found["srun"])
    (manifest,) = Path(config.logs).rglob("launch.json")
    launch: dict[str, Any] = json.loads(manifest.read_text())
    assert launch["command"] == [*command, *config.arguments]
    assert launch["environment"].get("VALUE") == config.environment.get("VALUE")


def test_there_are_sixty_and_most_are_taken_somewhere(tmp_path: Path) -> None:
    assert len(set(VALUES)) >= 60
    taken = [value for value in VALUES if accepted([], "arguments", value, tmp_path)]
    assert len(taken) >= len(VALUES) - 3, "only NUL, bytes that are no UTF-8 and what no program can be given"


def test_shellcheck_stays_clean(tmp_path: Path) -> None:
    for number, value in enumerate(VALUES):
        sets: list[str] = []
        for field in FIELDS:
            sets = accepted(sets, field, value[:1000], tmp_path)
        (tmp_path / f"{number}").write_text(render(settings(sets=sets, folder=str(tmp_path)).config))
    found = subprocess.run([tool("shellcheck"), *tmp_path.iterdir()], capture_output=True, text=True)
    assert found.stdout == ""
