"""The smallest change that removes a finding: proven by the checks, and none where it is not certain."""

from __future__ import annotations

import pytest

from triage.core.megatron.finding import Finding
from triage.core.script.facts import Nothing
from triage.core.script.fix import fix
from triage.core.script.read import check_script, read_script

HEAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=h100:8
cd /lustre/tree
{before}
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
srun bash -c '
  uv run python -m torch.distributed.run --nnodes=2 {processes} --node-rank=$SLURM_NODEID \\
    --master-addr='"$MASTER_ADDR"' --master-port=29500 pretrain_gpt.py \\
    --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 \\
    --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-4 --mock-data {arguments}
'
"""
FSDP = "--use-megatron-fsdp --ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion"


def script(*, before: str = "", processes: str = "--nproc-per-node=8", arguments: str = "") -> str:
    return HEAD.format(before=before, processes=processes, arguments=arguments)


def judge(text: str) -> list[Finding]:
    return check_script(read_script(text), Nothing())


def fixed(text: str) -> str | None:
    found = fix(text, judge(text), judge)
    return found[-1].text if found else None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("--nproc-per-node=4", "--nproc-per-node=8"),
        ("--nproc_per_node 16", "--nproc_per_node 8"),
        ('--nproc-per-node="4"', '--nproc-per-node="8"'),
    ],
)
def test_a_wrong_number_of_processes_is_changed_where_it_stands(wrong: str, right: str) -> None:
    assert fixed(script(processes=wrong)) == script(processes=right)


def test_the_variable_of_the_flag_is_changed_where_it_is_set() -> None:
    spliced = "--nproc-per-node='\"$GPUS\"'"
    wrong = script(before="export GPUS=4 # per node", processes=spliced)
    assert fixed(wrong) == script(before="export GPUS=8 # per node", processes=spliced)


@pytest.mark.parametrize(
    "before", ["GPUS=4; GPUS=5", "GPUS=2\nGPUS=4", "GPUS=$((2 + 2))", "for GPUS in 4; do :; done"]
)
def test_a_number_that_is_made_in_other_ways_is_left_alone(before: str) -> None:
    assert fixed(script(before=before, processes="--nproc-per-node='\"$GPUS\"'")) is None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1", None),
        ("CUDA_DEVICE_MAX_CONNECTIONS='1'\nexport CUDA_DEVICE_MAX_CONNECTIONS", ""),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1 NCCL_DEBUG=WARN", "export NCCL_DEBUG=WARN"),
        ("export NCCL_DEBUG=WARN CUDA_DEVICE_MAX_CONNECTIONS=1", "export NCCL_DEBUG=WARN"),
        ("if true; then\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nfi", ""),
    ],
    ids=["alone", "twice named", "first", "last", "alone in a branch"],
)
@pytest.mark.parametrize("arguments", [FSDP, ""], ids=["fsdp", "no need"])
def test_an_unneeded_export_is_taken_out(wrong: str, right: str | None, arguments: str) -> None:
    text = script(before=wrong, arguments=arguments)
    if right == "":
        assert fixed(text) is None, "not certain"
    elif right is None:
        assert fixed(text) == script(before="@", arguments=arguments).replace("@\n", "")
    else:
        assert fixed(text) == script(before=right, arguments=arguments)


def test_several_mistakes_are_fixed_one_on_top_of_the_other() -> None:
    text = script(before="export CUDA_DEVICE_MAX_CONNECTIONS=1", processes="--nproc-per-node=4")
    found = fix(text, judge(text), judge)
    assert [item.check for item in found] == ["torchrun/processes", "connections/none"]
    assert [item.severity.value for item in judge(found[-1].text)] == ["info"] * len(judge(found[-1].text))


def test_a_change_that_brings_another_error_is_none() -> None:
    text = script(processes="--nproc-per-node=6", arguments="--global-batch-size 12")
    assert "batch/global" not in {item.check for item in judge(text)}
    assert fixed(text) is None


@pytest.mark.parametrize(
    "text", ["", "#!/bin/bash\n", script(), script(arguments="--tensor-model-parallel-size 3")]
)
def test_where_nothing_is_certain_nothing_is_changed(text: str) -> None:
    assert fixed(text) is None
