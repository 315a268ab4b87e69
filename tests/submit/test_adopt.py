"""A configuration from a script: what its text tells, and notes on the rest."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.submit.runs import config, settings
from triage.core.script.read import read_script
from triage.submit.adopt import adopt
from triage.submit.config import Config, Settings
from triage.submit.initial import initial, literal
from triage.submit.keys import KEYS, TABLES

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "scripts").glob("*.sbatch"))
SEED = """\
#!/bin/bash
#SBATCH --job-name=llama
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=h100:4
#SBATCH --time=1-0
#SBATCH --exclusive --mem=0
#SBATCH --output=logs/%x-%j.out
#SBATCH --error=logs/%x-%j.err
#SBATCH --requeue
set -euo pipefail
module load cuda/12.8
source "/opt/my env/activate"
source $HOME/.bashrc
cd /lustre/tree
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
export NCCL_DEBUG=INFO CUDA_DEVICE_MAX_CONNECTIONS=1 OUT=$(date)
ARGS="--num-layers 32 --seed $SEED --bf16"
srun bash -c '
  uv run python -m torch.distributed.run --nnodes=2 --nproc-per-node=4 --node-rank=$SLURM_NODEID \\
    --master-addr='"$MASTER_ADDR"' --master-port=6000 pretrain_gpt.py '"$ARGS"'
'
"""


def adopted(text: str) -> tuple[Settings, list[str]]:
    found = adopt(read_script(text))
    return settings(initial(found.values, found.environment, found.notes)), found.notes


def test_what_the_script_tells_is_taken_over() -> None:
    found, notes = adopted(SEED)
    run = found.config
    assert (run.worktree, run.command, run.launcher.value, run.master_port) == (
        "/lustre/tree", "pretrain_gpt.py", "uv", 6000,
    )  # fmt: skip
    assert (run.job.name, run.job.nodes, run.job.gpus_per_node, run.gpu) == ("llama", 2, 4, "h100")
    assert run.job.options == ("--exclusive", "--mem=0", "--requeue")
    assert run.setup == ("module load cuda/12.8", "source '/opt/my env/activate'")
    assert run.logs == "/lustre/tree/logs"
    assert run.arguments == ("--num-layers", "32", "--bf16")
    assert run.environment == {"NCCL_DEBUG": "INFO"}
    assert {re.sub(r"\d+", "N", note) for note in notes} == {
        "line N: OUT is known only when the job runs: left out",
        "line N: source of something that is known only when the job runs: left out",
        "line N: --seed is known only when the job runs: left out",
    }


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_becomes_a_configuration_that_can_be_read(path: Path) -> None:
    found, _ = adopted(path.read_text())
    assert isinstance(found.config, Config)


@pytest.mark.parametrize("text", ["", "#!/bin/bash\n", "#!/bin/bash\nsrun hostname\n"])
def test_a_script_without_training_says_so(text: str) -> None:
    _, notes = adopted(text)
    assert notes[-1].startswith("no training command was found")


def test_the_written_file_names_every_key_and_is_read_as_the_defaults() -> None:
    text = initial()
    assert config(text) == config()
    assert set(tomllib.loads(text)) == {*TABLES, "environment"}
    assert max(map(len, text.splitlines())) <= 100
    for key in KEYS:
        assert re.search(rf"^(?:# )?{key.leaf} = |^\[{key.leaf}\]", text, re.M), key.name
    uncommented = re.sub(r"^# (?=\w+ = )", "", text, flags=re.M)
    assert settings(uncommented).config.container.image == "nvcr.io/nvidia/pytorch:25.03-py3"


@pytest.mark.parametrize("text", ["a", 'a"b\\c', "a\nb\t\x7f\x1b", "é λ", "#", "\U0001f600"])
def test_texts_are_written_so_that_toml_reads_them_back(text: str) -> None:
    assert tomllib.loads(f"a = {literal(text)}") == {"a": text}
    assert tomllib.loads(f"a = {literal((text, text))}") == {"a": [text, text]}


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("srun torchrun", "torchrun"),
        ("srun /opt/venv/bin/torchrun", "torchrun"),
        ("srun --container-image=a.sqsh torchrun", "torchrun"),
        ("srun python -m torch.distributed.run", "python"),
        ("srun python3 -m torch.distributed.launch", "python"),
        ("srun python /opt/venv/bin/torchrun", "python"),
        ("srun uv run torchrun", "uv"),
        ("srun uv run python -m torch.distributed.run", "uv"),
        ("srun python", "uv"),
    ],
)
def test_the_scripts_own_launcher_is_kept(command: str, launcher: str) -> None:
    found, notes = adopted(f"#!/bin/bash\n#SBATCH --nodes=2\ncd /tree\n{command} pretrain_gpt.py --bf16\n")
    assert found.config.launcher.value == launcher
    assert any("torchrun takes its place" in note for note in notes) is (command == "srun python")
