"""Single checks, with what only the machine can tell handed in."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.check_storage import placed
from triage.core.script.facts import Nothing
from triage.core.script.read import check_script, read_script
from triage.core.script.site import Partition, Site

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8\ncd /lustre/w\n"
TORCHRUN = "uv run python -m torch.distributed.run --nproc-per-node=8 --nnodes=2 --rdzv-backend=c10d"
END = "--rdzv-endpoint=$(hostname):29500 train.py"


@dataclass
class World(Nothing):
    """Facts of a machine that sees /lustre."""

    present: set[str] = field(default_factory=set)
    types: dict[str, str] = field(default_factory=dict)
    kind: str | None = None
    gpus: int | None = None

    def exists(self, path: str) -> bool | None:
        return path in self.present if path.startswith("/lustre") or not path.startswith("/") else None

    def filesystem(self, path: str) -> str | None:
        return next((kind for folder, kind in self.types.items() if path.startswith(folder)), None)

    def site(self) -> Site:
        rows = (
            Partition("big", True, None, 64, self.gpus or 0, self.kind),
            Partition("small", True, None, 64, 8),
        )
        return Site(rows if self.kind else (), default_partition="small")


def found(text: str, facts: Nothing | None = None) -> list[Finding]:
    findings = check_script(read_script(text), facts or Nothing())
    return [item for item in findings if item.check != "site/not-checked"]


def checks(text: str, facts: Nothing | None = None) -> dict[str, Severity]:
    return {item.check: item.severity for item in found(text, facts) if not item.check.startswith("script/")}


def test_export_of_sbatch_holds_for_srun_too_until_the_script_lifts_it() -> None:
    head = HEAD.replace("--nodes", "--export=NONE --nodes")
    body = f"export CUDA_DEVICE_MAX_CONNECTIONS=1\nsrun {TORCHRUN} {END}"
    assert checks(head + body) == {"environment/export": Severity.WARNING}
    assert checks(f"{head}export SLURM_EXPORT_ENV=ALL\n{body}") == {}
    assert checks(f"{head}unset SLURM_EXPORT_ENV\n{body}") == {}
    megatron = body.replace("train.py", "pretrain_gpt.py") + " --tensor-model-parallel-size 2"
    assert checks(head + megatron)["connections/one"] is Severity.ERROR
    assert "connections/one" not in checks(HEAD + megatron)


def test_tasks_of_an_array_are_told_apart() -> None:
    head = HEAD.replace("--nodes", "--array=0-2 --nodes")
    command = f"srun {TORCHRUN} {END.replace('train', 'pretrain_gpt')} --num-layers 32 --hidden-size 4096"
    command += " --num-attention-heads ${HEADS[$SLURM_ARRAY_TASK_ID]}"
    assert checks(f"{head}HEADS=(31 33 35)\n{command}")["model/hidden-size"] is Severity.ERROR
    assert checks(f"{head}HEADS=(32 33 35)\n{command}")["model/hidden-size"] is Severity.WARNING
    assert "model/hidden-size" not in checks(f"{head}HEADS=(32 64 16)\n{command}")


def test_right_script_is_clean() -> None:
    assert checks(f"{HEAD}srun {TORCHRUN} {END}") == {}


@pytest.mark.parametrize(
    ("command", "check", "severity"),
    [
        (f"srun {TORCHRUN.replace('=8', '=4')} {END}", "torchrun/processes", "error"),
        (f"export CUDA_VISIBLE_DEVICES=0,1,2,3\nsrun {TORCHRUN.replace('=8', '=4')} {END}", None, None),
        (f"srun {TORCHRUN.replace('nnodes=2', 'nnodes=4')} {END}", "torchrun/nodes", "error"),
        (f"srun {TORCHRUN.replace('nnodes=2', 'nnodes=1')} {END}", "torchrun/one-group", "error"),
        (f"srun -N1 -n1 {TORCHRUN.replace('nnodes=2', 'nnodes=1')} {END}", "torchrun/one-group", "warning"),
        (f"srun -N1 -n1 {TORCHRUN.replace('nnodes=2', 'nnodes=1')} {END} &\nsrun -N1 -n1 python b.py &", None, None),
        (f"{TORCHRUN} {END}", "torchrun/srun", "warning"),
        (f"srun -n 4 {TORCHRUN} {END}", "torchrun/tasks", "error"),
        (f"if [ -f x ]; then srun {TORCHRUN.replace('=8', '=4')} {END}; fi", "torchrun/processes", "warning"),
        (f"srun {TORCHRUN} --rdzv-endpoint=node1:1 a.py", "rendezvous/fixed", "warning"),
        (f"srun {TORCHRUN} --rdzv-endpoint=localhost:1 a.py", "rendezvous/localhost", "error"),
        (f"srun bash -c '{TORCHRUN} --rdzv-endpoint=$(hostname):1 a.py'", "rendezvous/own-host", "warning"),
        (f"srun {TORCHRUN} a.py", "rendezvous/address", "error"),
        (f"srun {TORCHRUN} $MORE a.py", None, None),
        (f"srun {TORCHRUN} --rdzv-endpoint=$(hostname) a.py", "rendezvous/port", "warning"),
        (f"srun {TORCHRUN} --rdzv-endpoint=$SLURM_JOB_NODELIST:1 a.py", "rendezvous/list", "warning"),
        ("srun uv run torchrun --nproc-per-node=8 --nnodes=2 --master-addr=$(hostname) --master-port=1 a.py",
         "torchrun/node-rank", "error"),
        ("srun uv run torchrun --nproc-per-node=8 --nnodes=2 --node-rank=$R --master-addr=$(hostname) --master-port=1 a.py",
         None, None),
        ("srun uv run accelerate launch --num_machines=2 --num_processes=16 --machine_rank=0 --main_process_ip=$(hostname)"
         " --main_process_port=1 a.py", "torchrun/node-rank", "error"),
        ("uv sync\nsrun torchrun --nproc-per-node=8 --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):1 a.py",
         "environment/uv-run", "warning"),
        ("conda activate x\nsrun torchrun --nproc-per-node=8 --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):1"
         " pretrain_x.py", None, None),
        (f"srun {TORCHRUN} {END} --save /dev/shm/x", "storage/local", "warning"),
        (f"srun {TORCHRUN} {END} --save $TMPDIR/x", "storage/local", "warning"),
        (f"srun {TORCHRUN} --log-dir /tmp/x {END}", "storage/local", "warning"),
        (f"srun -N1 -n1 {TORCHRUN.replace('nnodes=2', 'nnodes=1')} {END} --save /tmp/x",
         "torchrun/one-group", "warning"),
        (f"srun -o /tmp/%j.log {TORCHRUN} {END}", "storage/local", "warning"),
        (f"srun bash -c '{TORCHRUN} {END} &> /tmp/x'".replace("$(hostname)", "$A"), "storage/local", "warning"),
        (f"srun {TORCHRUN} {END} 2> /lustre/x", None, None),
        (f"export NCCL_DEBUG=INFO\nsrun --export=NONE {TORCHRUN} {END}", "environment/export", "warning"),
        (f"export NCCL_DEBUG=INFO\nsrun --export=ALL,A=1 {TORCHRUN} {END}", None, None),
        (f"srun --export=NONE {TORCHRUN} {END}", None, None),
        ("mpirun -np 12 python train.py", "torchrun/processes", "warning"),
        ("srun accelerate launch --num_processes=8 --multi_gpu train.py", "torchrun/one-group", "warning"),
        ("srun accelerate launch --config_file=a.yaml train.py", None, None),
        ("trap 'touch end' USR1\nsrun " + TORCHRUN + " " + END, "graceful/foreground", "warning"),
        ("trap 'touch end' USR1\nsrun " + TORCHRUN + " " + END + " &\nwait", None, None),
        ("trap 'rm -f x' EXIT\nsrun " + TORCHRUN + " " + END, None, None),
    ],
)  # fmt: skip
def test_mistake_has_its_sentence(command: str, check: str | None, severity: str | None) -> None:
    got = {name: grade.value for name, grade in checks(HEAD + command).items()}
    assert got == ({} if check is None else {check: severity})


@pytest.mark.parametrize(
    ("directive", "check", "severity"),
    [
        ("#SBATCH --nodes 2 3", "directives/word", "error"),
        ("#SBATCH --nodes=", "directives/value", "error"),
        ("#SBATCH --time=soon", "directives/value", "error"),
        ("#SBATCH --nodes=two", "directives/value", "error"),
        ("#SBATCH --account=<ACCOUNT>", "directives/placeholder", "warning"),
        ("#SBATCH -A { account }", "directives/placeholder", "warning"),
        ("#SBATCH --account=<your account>", "directives/placeholder", "warning"),
        ("#SBATCH --nodes=NODES", "directives/placeholder", "warning"),
        ("#SBATCH --time=UNLIMITED", None, None),
        ("#SBATCH --partition=GPU_SHARED -C '[a|b]'", None, None),
        ("#SBATCH --job-name='x", "directives/quote", "error"),
        ("#SBATCH --container-workdir=/a", None, None),
        ("#SBATCH --container-mount=/a", "directives/unknown", "warning"),
        ("#SBATCH --label", "directives/unknown", "warning"),
        ("#SBATCH --ntask=2", "directives/unknown", "warning"),
        ("#SBATCH --parti=2", None, None),
        ("#SBATCH --gpus-per-nodes=2", "directives/unknown", "warning"),
        ("#SBATCH --mem=1G --mem-per-cpu=2G", "directives/contradiction", "warning"),
        ("#SBATCH -N2 --ntasks=4 --ntasks-per-node=4", "directives/contradiction", "warning"),
        ("#SBATCH -N2 --gpus=4 --gpus-per-node=4", "directives/contradiction", "warning"),
        ("#SBATCH --gres=gpu:4 --gpus-per-node=4", None, None),
        ("#SBATCH --gres=gpu:4 --gpus-per-node=8", "directives/contradiction", "warning"),
        ("#SBATCH --nodes=2 --nodes=2", None, None),
        ("#SBATCH --output=/tmp/%j", "storage/log", "warning"),
        ("# SBATCH --time=1", "directives/comment", "info"),
        ("##SBATCH --time=1", None, None),
        ("#SBTACH --time=1", "directives/misspelt", "warning"),
    ],
)
def test_directive_has_its_sentence(directive: str, check: str | None, severity: str | None) -> None:
    got = {name: grade.value for name, grade in checks(f"#!/bin/bash\n#SBATCH -J x\n{directive}\n").items()}
    assert got == ({} if check is None else {check: severity})


def test_script_that_sbatch_refuses_whole() -> None:
    assert checks("#SBATCH -N1\nhostname\n")["directives/shebang"] is Severity.ERROR
    assert checks("#!/bin/bash\r\n#SBATCH -N1\r\nhostname\r\n")["directives/dos"] is Severity.ERROR


def test_paths_are_judged_only_where_they_can_be_seen() -> None:
    text = (
        f"{HEAD}srun {TORCHRUN} {END} --load /lustre/c --data-path 1.0 /lustre/d /gone/e --save /lustre/f/g"
    )
    assert checks(text) == {}
    present = {
        "/lustre/w",
        "/lustre/w/train.py",
        "/lustre/w/.venv",
        "/lustre/c",
        "/lustre/d.bin",
        "/lustre/f",
    }
    assert checks(text, World(present)) == {}
    assert checks(text, World(present - {"/lustre/d.bin"})) == {"storage/missing": Severity.ERROR}
    assert checks(text, World(present - {"/lustre/w/.venv"})) == {"environment/venv": Severity.WARNING}
    assert checks(text, World(present - {"/lustre/f"})) == {"storage/missing": Severity.ERROR}
    assert "environment/worktree-missing" in checks(text, World(present - {"/lustre/w"}))
    assert checks(text, World(present - {"/lustre/w/train.py"})) == {
        "environment/program-missing": Severity.ERROR
    }


def test_checkpoint_that_is_saved_to_and_loaded_from_need_not_exist() -> None:
    text = f"{HEAD}srun {TORCHRUN} {END} --load /lustre/f/c --save /lustre/f/c"
    present = {"/lustre/w", "/lustre/w/train.py", "/lustre/w/.venv", "/lustre/f"}
    assert checks(text, World(present)) == {}


@pytest.mark.parametrize(
    ("time", "told"),
    [
        ("04:00", "--time=04:00 is 4 minutes; 4 hours is 04:00:00"),
        ("1:30", "--time=1:30 is 1 minute 30 seconds; 1 hour 30 minutes is 01:30:00"),
        ("00:30", "--time=00:30 is 30 seconds; 30 minutes is 00:30:00"),
        ("30:00", None),
        ("00:04:00", None),
        ("4", None),
        ("0-04:00", None),
        ("04:xx", None),
    ],
)
def test_minutes_that_may_be_meant_as_hours(time: str, told: str | None) -> None:
    found = check_script(read_script(f"#!/bin/bash\n#SBATCH --time={time}\n"), Nothing())
    assert [item.message for item in found if item.check == "directives/short-time"] == [told] * (
        told is not None
    )


def test_one_missing_log_folder_is_told_once() -> None:
    script = read_script("#!/bin/bash\n#SBATCH --output=logs/%j.out\n#SBATCH --error=logs/%j.err\n")
    (found,) = [item for item in check_script(script, World(set())) if item.check == "storage/log-folder"]
    assert found.message.endswith("`triage check --fix --write` or `triage submit` makes it")


def test_log_folder_that_is_seen_to_be_missing() -> None:
    text = "#!/bin/bash\n#SBATCH --output=logs/%j.out\nmkdir -p ./logs\n"
    assert checks(text, World(set())) == {
        "storage/log-folder": Severity.ERROR,
        "storage/log-mkdir": Severity.WARNING,
    }
    assert checks(text, World({"logs"})) == {}
    assert checks(text) == {"storage/log-mkdir": Severity.WARNING}


def test_log_folder_made_before_the_script_submits_itself_is_in_time() -> None:
    head = "#!/bin/bash\n#SBATCH --output=logs/%j.out\n"
    submits = 'if [ -z "$SLURM_JOB_ID" ]; then mkdir -p logs; sbatch "$0"; exit; fi\n'
    assert "storage/log-mkdir" not in checks(head + submits)
    assert "storage/log-mkdir" in checks(f"{head}mkdir -p logs\nsrun {TORCHRUN} {END}\nsbatch next.sh\n")


def test_storage_outside_of_a_container_is_asked_for() -> None:
    class Asked(World):
        asked: set[str] = set()  # noqa: RUF012

        def exists(self, path: str) -> bool | None:
            self.asked.add(path)
            return super().exists(path)

    world = Asked()
    found(f"{HEAD}srun --container-image=/images/i.sqsh {TORCHRUN} {END}", world)
    assert {"/lustre/w", "/images/i.sqsh"} <= world.asked


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"cd /lustre/w\nsrun {TORCHRUN} {END}", True),
        (f"cd $SLURM_SUBMIT_DIR\nsrun {TORCHRUN} {END}", True),
        (f"cd $WORK\nsrun {TORCHRUN} {END}", False),
        (f"srun --container-image=$IMAGE {TORCHRUN} {END}", False),
        (f"srun --container-image=/x/i.sqsh {TORCHRUN} {END}", True),
    ],
)
def test_storage_in_a_variable_of_the_caller_is_not_told(body: str, told: bool) -> None:
    assert placed(read_script(HEAD + body)) is told


def test_directives_that_are_ignored_are_told_once() -> None:
    text = "#!/bin/bash\n#SBATCH -N1\nset -e\n#SBATCH -n1\n#SBATCH --time=1\n"
    (finding,) = [item for item in found(text) if item.check == "directives/ignored"]
    assert "4, 5" in finding.message


@pytest.mark.parametrize("mark", ["EOF", "'EOF'", '"EOF"', "\\EOF"])
def test_directives_of_a_script_handed_to_sbatch_are_not_those_of_this_one(mark: str) -> None:
    inner = f"J=$(sbatch --parsable <<{mark}\n#!/bin/bash\n#SBATCH --nodes=2\nEOF\n)\n"
    assert "directives/ignored" not in checks(f"#!/bin/bash\n{inner}")
    ignored = f"#!/bin/bash\n#SBATCH -n1\n{inner}#SBATCH --mem=1\n"
    assert [item.line for item in found(ignored) if item.check == "directives/ignored"] == [8]


def test_name_of_a_launcher_as_the_value_of_an_option_starts_nothing() -> None:
    text = f"{HEAD}srun axolotl train t.yaml --launcher torchrun -- --nproc_per_node=$N"
    assert read_script(text).runs == ()
    assert len(read_script(f"{HEAD}srun ./wrap --numa -- torchrun --nnodes=2 train.py").runs) == 1


ALONE = f"{TORCHRUN.split(' --nnodes')[0]} --standalone train.py"


def test_same_command_once_for_each_node_is_no_one_group() -> None:
    twice = f"srun -N1 -n1 {ALONE} &\nsrun -N1 -n1 {ALONE} &\nwait\n"
    assert checks(HEAD + twice)["torchrun/one-group"] is Severity.ERROR
    loop = f"for i in 0 1; do srun -N1 -n1 -r $i {ALONE} & done; wait\n"
    assert checks(HEAD + loop)["torchrun/one-group"] is Severity.ERROR
    hosts = f"for h in $(scontrol show hostnames $SLURM_JOB_NODELIST); do srun -N1 -n1 -w $h {ALONE} & done; wait\n"
    assert checks(HEAD + hosts)["torchrun/one-group"] is Severity.ERROR
    assert "torchrun/one-group" not in checks(HEAD + hosts.replace("train.py", "train.py --name $h"))
    sweep = f"for i in 0 1; do srun -N1 -n1 -r $i {ALONE} --seed $i & done; wait\n"
    assert "torchrun/one-group" not in checks(HEAD + sweep)
    assert "torchrun/one-group" not in checks(
        f"{HEAD}srun -N1 -n1 {ALONE} &\nsrun -N1 -n1 {ALONE} --seed 2 &\n"
    )


def test_word_of_srun_that_is_not_known_is_told() -> None:
    notes = [
        item for item in found(f"{HEAD}srun $SRUN_ARGS {TORCHRUN} {END}") if item.check == "script/unresolved"
    ]
    assert "SRUN_ARGS is not set" in notes[0].message


def test_storage_by_the_type_of_its_mount() -> None:
    text = f"{HEAD}srun {TORCHRUN} {END} --save /data/x"
    present = {"/lustre/w", "/lustre/w/train.py", "/lustre/w/.venv"}
    assert checks(text, World(present, {"/data": "xfs"})) == {"storage/local": Severity.WARNING}
    assert checks(text, World(present, {"/data": "nfs4"})) == {}


def test_partition_tells_gpus_where_the_script_does_not() -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --partition=big --exclusive\ncd /lustre/w\n"
    facts = World({"/lustre/w", "/lustre/w/train.py", "/lustre/w/.venv"}, kind="b200", gpus=4)
    assert checks(f"{head}srun {TORCHRUN} {END}", facts) == {"torchrun/processes": Severity.WARNING}


def test_error_of_one_branch_only_is_a_warning_that_says_so() -> None:
    model = "--num-layers 32 --hidden-size 4096 --num-attention-heads $H --tensor-model-parallel-size 4"
    text = f"{HEAD}if [ -e x ]; then H=32; else H=30; fi\nsrun {TORCHRUN} {END.replace('train', 'pretrain_gpt')} {model}\n"
    heads = [item for item in found(text) if item.check == "model/heads"]
    assert [item.severity for item in heads] == [Severity.WARNING]
    assert "in one branch" in heads[0].message


@pytest.mark.parametrize(
    "reads",
    [
        'exec 3>&1; ARGS="$*"',
        'while getopts "l:" opt; do case $opt in l) LAYERS=$OPTARG ;; esac; done',
        "while [[ $# -gt 0 ]]; do case $1 in --layers) LAYERS=$2; shift 2 ;; *) shift ;; esac; done",
        'for a in "$@"; do LAYERS=$a; done',
        'if [ -n "$1" ]; then LAYERS=$1; fi',
    ],
)
def test_arguments_of_the_script_hide_a_mistake_only_where_they_may_be_given(reads: str) -> None:
    model = (
        "--num-layers $LAYERS --pipeline-model-parallel-size 2 --hidden-size 4096 --num-attention-heads 32"
    )
    run = f"srun {TORCHRUN} {END.replace('train', 'pretrain_gpt')} ${{ARGS-}} {model}\n"
    text = f"{HEAD}LAYERS=33\n{reads}\n{run}"
    (layers,) = [item for item in found(text) if item.check == "pipeline/layers"]
    assert layers.severity is Severity.WARNING
    assert "if the script gets no arguments" in layers.message or "in one branch" in layers.message
    assert "pipeline/layers" not in checks(text.replace("LAYERS=33", "LAYERS=32"))
    assert "model/missing" not in checks(
        f'{HEAD}srun {TORCHRUN} {END.replace("train", "pretrain_gpt")} "$@"\n'
    )


def test_one_group_in_the_background_is_judged_as_one_in_front() -> None:
    static = f"{TORCHRUN.split(' --rdzv')[0]} --node-rank=0 --master-addr=localhost --master-port=1 train.py"
    for end in ("", " &\nwait", " &\nPID=$!\nwait $PID"):
        told = checks(f"{HEAD}srun {static.replace('nnodes=2', 'nnodes=3')}{end}\n")
        assert set(told) == {"torchrun/nodes", "torchrun/node-rank", "rendezvous/localhost"}
        assert set(told.values()) == {Severity.ERROR}


def test_what_was_not_resolved_is_said_with_its_reason() -> None:
    (item,) = [
        item for item in found(f"{HEAD}srun {TORCHRUN} {END} --lr $LR") if item.check == "script/unresolved"
    ]
    assert "--lr (LR is not set in the script)" in item.message
    assert item.severity is Severity.INFO
