"""The rendered script: golden files, and what shells and sbatch think of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.submit.runs import config
from triage.core.script.directives import read_directives
from triage.core.script.read import check_script, read_script
from triage.core.script.site import Site
from triage.errors import ConfigError
from triage.submit.config import Config
from triage.submit.template import render, shipped

GOLDEN = Path(__file__).parent / "golden"
MODEL = (
    'arguments = ["--num-layers", "32", "--hidden-size", "4096", "--num-attention-heads", "32", "--seq-length", "4096",'
    ' "--max-position-embeddings", "4096", "--micro-batch-size", "1", "--global-batch-size", "256", "--bf16",'
    ' "--tensor-model-parallel-size", "{tp}"]\n'
)
CASES: dict[str, tuple[str, str]] = {
    "plain": (MODEL.format(tp=1), ""),
    "full": (
        MODEL.format(tp=2)
        + """\
gpu = "h100"
master_port = "auto"
artifact = "out/metrics.json"
[job]
name = "llama 8b"
account = "research"
partition = "gpu"
nodes = 4
gpus_per_node = 8
time = "1-00:00:00"
qos = "high"
constraint = "h100&ib"
reservation = "march"
options = ["--exclusive", "--mem=0"]
[environment]
NCCL_DEBUG = "WARN"
TITLE = "it's $HOME"
[hooks]
setup = ["module load cuda/12.8", "ulimit -l 'unlimited'"]
on_failure = ["cp /tmp/nccl-*.log .", "dmesg | tail"]
""",
        "0123456789abcdef",
    ),
    "pyxis": (
        MODEL.format(tp=1)
        + 'launcher = "python"\n[container]\nkind = "pyxis"\nimage = "nvcr.io#nvidia/pytorch:25.03-py3"\nmounts = ["/lustre/data"]\n',
        "",
    ),
    "apptainer": (
        MODEL.format(tp=1)
        + '[environment]\nUV_PROJECT_ENVIRONMENT = "/lustre/venv"\n[container]\nkind = "apptainer"\nimage = "/lustre/p.sif"\noptions = ["--writable-tmpfs"]\n',
        "",
    ),
    "fsdp": (
        'command = "-m megatron.train"\narguments = ["--use-megatron-fsdp", "--ckpt-format", "fsdp_dtensor"]\n',
        "",
    ),
}


def rendered(name: str) -> str:
    text, token = CASES[name]
    return render(config(text), token=token)


def tool(name: str) -> str:
    """A program that a development dependency brings."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found is not None, f"{name} is missing: install the development dependencies"
    return found


@pytest.mark.parametrize("name", CASES)
def test_script_is_the_golden_one(name: str) -> None:
    assert rendered(name) == (GOLDEN / f"{name}.sbatch").read_text()


@pytest.mark.parametrize("name", CASES)
def test_bash_and_shellcheck_accept_script_and_node_program(name: str, tmp_path: Path) -> None:
    text = rendered(name)
    inner = re.search(r"bash -c '\n(.*?)\n' triage", text, re.DOTALL)
    assert inner is not None
    assert "'" not in inner[1], "a quote would end the node's program"
    for part, body in {"script": text, "node": f"#!/bin/bash\n{inner[1]}\n"}.items():
        path = tmp_path / part
        path.write_text(body)
        subprocess.run(["bash", "-n", path], check=True)
        found = subprocess.run([tool("shellcheck"), "-s", "bash", path], capture_output=True, text=True)
        assert found.stdout == ""


class Shared:
    """A machine that sees everything on a shared file system."""

    def exists(self, path: str) -> bool | None:  # noqa: ARG002
        return True

    def filesystem(self, path: str) -> str | None:  # noqa: ARG002
        return "lustre"

    def site(self) -> Site:
        return Site()


@pytest.mark.parametrize("name", ["plain", "full", "pyxis", "apptainer"])
def test_the_check_of_scripts_finds_its_launch_and_no_mistake(name: str) -> None:
    script = read_script(rendered(name))
    (run,) = script.runs
    assert run.launch.program == "pretrain_gpt.py"
    assert run.launch.find("--num-layers") is not None
    found = check_script(script, Shared())
    assert [item for item in found if item.severity.value != "info"] == []


@pytest.mark.parametrize(
    "value", ['a "b" c', "it's", "a\\b", "a#b", "#SBATCH --nodes=9", "$(touch x)", "é λ", "a:b", "-x"]
)
def test_directives_come_back_as_sbatch_reads_them(value: str) -> None:
    text = render(Config("/w", "/l", job=config(sets=[f"job.account={value}"]).job))
    directives = read_directives(text)
    assert directives.text("account") == value
    assert directives.text("nodes") == "1"
    assert directives.strays == ()


def test_rendering_is_a_function_of_its_arguments() -> None:
    text, token = CASES["full"]
    assert {render(config(text), token=token) for _ in range(2)} == {rendered("full")}
    assert "claim-" not in render(config(text))


@pytest.mark.parametrize(
    ("arguments", "gpu", "expected"),
    [
        (["--use-torch-fsdp2"], "h100", "unset CUDA"),
        (["--use-megatron-fsdp"], "b200", "unset CUDA"),
        (["--tensor-model-parallel-size", "2"], "h100", "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (["--context-parallel-size", "2"], "a100", "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (["--tensor-model-parallel-size", "2"], "", "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (["--tensor-model-parallel-size", "2"], "b200", None),
        (["--overlap-moe-expert-parallel-comm"], "h100", "export CUDA_DEVICE_MAX_CONNECTIONS=32"),
        (["--overlap-moe-expert-parallel-comm", "--context-parallel-size", "2"], "h100", "export CUDA_DEVICE_MAX_CONNECTIONS=32"),
        (["--tensor-model-parallel-size", "1"], "h100", None),
    ],
)  # fmt: skip
def test_connections_are_set_only_where_the_table_asks(
    arguments: list[str], gpu: str, expected: str | None
) -> None:
    sets = [f"arguments={arguments!r}", *([f"gpu={gpu}"] if gpu else [])]
    lines = render(config(sets=sets)).split("\n")
    found = [number for number, line in enumerate(lines) if re.match(r"(?:export|unset) CUDA_DEVICE", line)]
    if expected is None:
        assert found == []
    else:
        (number,) = found
        assert lines[number].startswith(expected)
        assert lines[number - 1].startswith("# "), "the reason stands above"


def test_an_own_value_of_the_variable_is_not_set_twice() -> None:
    text = MODEL.format(tp=2) + '[environment]\nCUDA_DEVICE_MAX_CONNECTIONS = "8"\n'
    assert render(config(text)).count("CUDA_DEVICE_MAX_CONNECTIONS=") == 1


def test_a_sites_own_template_gets_the_same_values_quoted() -> None:
    text = "#SBATCH {{ directives[0] | directive }}\ncd {{ config.worktree }}\nrun {{ command | words }}\n"
    found = render(config(sets=["worktree=/a b", "job.name=x y"]), template=text)
    assert found == "#SBATCH \"--job-name=x y\"\ncd '/a b'\nrun pretrain_gpt.py\n"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a\n{{ nope }}", "'nope' is undefined"),
        ("a\n{% if %}", "line 2"),
        ("{{ config.nope }}", "no attribute 'nope'"),
        ("{{ config.gpu }}", "NoneType"),
        ("{{ config.arguments }}", "tuple"),
    ],
)
def test_a_template_that_cannot_be_filled_in_says_why(template: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        render(config(), template=template)


def test_the_template_is_imported_only_when_something_is_rendered() -> None:
    code = "import sys, triage.submit.read, triage.submit.template; sys.exit('jinja2' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_shipped_template_has_no_line_too_long_to_read() -> None:
    assert max(map(len, shipped().split("\n"))) <= 150


if __name__ == "__main__":
    for case in CASES:
        (GOLDEN / f"{case}.sbatch").write_text(rendered(case))
