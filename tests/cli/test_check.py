"""`triage check`: exit codes, what is printed where, and what is believed of the current folder."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from triage.cli.main import main
from triage.files.facts import read_text
from triage.report.schema import schema_text

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "fixtures" / "scripts"
ROWS = [
    json.loads(row) for row in (ROOT / "fixtures/preflight/configurations.jsonl").read_text().splitlines()
]
CLEAN = str(SCRIPTS / "seed-splices.sbatch")
WARNED = str(SCRIPTS / "singularity-without-nv.sbatch")
WRONG = str(SCRIPTS / "localhost-on-several-nodes.sbatch")
SEED = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=h100:8
#SBATCH --output=logs/%x-%j.out
cd {worktree}
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
srun bash -c '
  uv run python -m torch.distributed.run --nnodes=2 --nproc-per-node=8 --node-rank=$SLURM_NODEID \\
    --master-addr='"$MASTER_ADDR"' --master-port=29500 pretrain_gpt.py \\
    --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 \\
    --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-4 --mock-data
'
"""

Capture = pytest.CaptureFixture[str]


def checked(capsys: Capture, *words: str) -> tuple[int, Any]:
    """Exit code, and the JSON that is valid and alone on standard output."""
    code = main(["check", *words, "--format", "json"])
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, json.loads(schema_text("check")))
    return code, data["results"]


def names(result: Any, *severities: str) -> set[str]:
    return {item["check"] for item in result["findings"] if item["severity"] in severities}


@pytest.fixture
def worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete one, with the script in it, as the current folder; on storage that counts as shared."""
    for name in ("logs", ".venv"):
        (tmp_path / name).mkdir()
    (tmp_path / "pretrain_gpt.py").touch()
    (tmp_path / "run.slurm").write_text(SEED.format(worktree=tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([CLEAN], 0),
        ([WARNED], 0),
        ([WARNED, "--strict"], 1),
        ([CLEAN, "--strict"], 0),
        ([WRONG], 1),
        ([CLEAN, WRONG], 1),
        ([], 2),
        (["triage.toml"], 2),
        ([WRONG, "triage.toml"], 2),
        ([CLEAN, "--format", "xml"], 2),
        (["nowhere.sh"], 3),
        ([WRONG, "nowhere.sh"], 3),
        ([str(SCRIPTS)], 3),
        ([str(ROOT / "LICENSE")], 3),
        ([str(ROOT / "triage/cli/check.py")], 3),
    ],
)
def test_exit_code(words: list[str], code: int) -> None:
    assert main(["check", *words]) == code


def test_every_script_of_the_fixtures_has_its_result_in_order(capsys: Capture) -> None:
    paths = [str(path) for path in sorted(SCRIPTS.glob("*.sbatch"))]
    code, results = checked(capsys, *paths)
    assert code == 1
    assert [result["path"] for result in results] == paths
    for result in results:
        severities = [item["severity"] for item in result["findings"]]
        assert severities == sorted(severities, key=["error", "warning", "info"].index)
        assert result["errors"] == severities.count("error")
        assert result["warnings"] == severities.count("warning")
        assert [item["check"] for item in result["findings"]].count("site/not-checked") == 1


def test_bug_that_one_path_meets_does_not_end_the_others(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: str, most: int) -> str:
        if path == WARNED:
            raise RuntimeError("no one thought of this")
        return read_text(path, most)

    monkeypatch.setattr("triage.cli.preflight.read_text", read)
    assert main(["check", WRONG, WARNED, CLEAN]) == 70
    out, err = capsys.readouterr()
    assert f"{WRONG}:9: error" in out
    assert "in 2 scripts" in out
    assert f"{WARNED} could not be checked" in err
    assert "RuntimeError: no one thought of this" in err


def test_text_names_place_sentence_and_check(capsys: Capture) -> None:
    main(["check", WRONG])
    out = capsys.readouterr().out
    assert f"{WRONG}:9: error: --master-addr is localhost" in out
    assert "[rendezvous/localhost]\n" in out
    assert "site/not-checked" not in out
    main(["check", WRONG, "-v"])
    assert "[site/not-checked]" in capsys.readouterr().out


def test_configuration_is_checked_with_its_own_lines_beside_scripts(capsys: Capture, worktree: Path) -> None:
    (worktree / "a.toml").write_text('arguments = [\n"--tensor-model-parallel-size", "3"]\n')
    code, (one, other) = checked(capsys, "a.toml", CLEAN)
    assert (code, one["path"], other["path"]) == (1, "a.toml", CLEAN)
    assert ("parallel/world-size", 2) in {(item["check"], item["line"]) for item in one["findings"]}
    assert "storage/log-folder" not in names(one, "error")


def test_without_a_path_the_configuration_of_the_folder_is_checked(capsys: Capture, worktree: Path) -> None:
    assert main(["check"]) == 2
    assert "`triage init` writes one" in capsys.readouterr().err
    (worktree / "triage.toml").write_text("[job]\nnodes = 2\n")
    code, (result,) = checked(capsys, "--set", "job.nodes=1", "--set", "job.gpus_per_node=1")
    assert (code, result["path"]) == (1, "triage.toml")


def test_mistakes_of_a_configuration_are_told_after_the_findings_of_the_rest(
    capsys: Capture, worktree: Path
) -> None:
    (worktree / "a.toml").write_text("nodes = 2\n")
    (worktree / "b.toml").write_text("x =\n")
    assert main(["check", "a.toml", CLEAN, "b.toml"]) == 2
    printed = capsys.readouterr()
    assert "in 1 script" in printed.out
    assert [line.split(": ")[1] for line in printed.err.splitlines()] == ["a.toml:1", "b.toml:1"]


def test_the_unreadable_are_told_and_the_rest_is_checked(capsys: Capture) -> None:
    assert main(["check", "gone.sh", WRONG, sys.executable, "--format", "json"]) == 3
    out = capsys.readouterr()
    assert [result["path"] for result in json.loads(out.out)["results"]] == [WRONG]
    assert "triage: gone.sh cannot be read: No such file or directory\n" in out.err
    assert f"triage: {sys.executable} is no script: it holds binary data\n" in out.err


def test_script_without_shebang_is_one_if_it_has_directives_or_launches(
    tmp_path: Path, capsys: Capture
) -> None:
    texts = {"a.sbatch": "#SBATCH --nodes=1\n", "b.sh": "torchrun --nproc-per-node=1 train.py\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    code, results = checked(capsys, *(str(tmp_path / name) for name in texts))
    assert (code, len(results)) == (1, 2)
    assert "directives/shebang" in names(results[0], "error")


@pytest.mark.usefixtures("worktree")
def test_complete_worktree_is_clean(capsys: Capture) -> None:
    code, (result,) = checked(capsys, "run.slurm")
    assert (code, names(result, "error")) == (0, set())
    assert "environment/venv" not in names(result, "warning")


@pytest.mark.parametrize(
    ("missing", "check", "severity"),
    [
        ("logs", "storage/log-folder", "error"),
        (".venv", "environment/venv", "warning"),
        ("pretrain_gpt.py", "environment/program-missing", "error"),
    ],
)
def test_what_the_worktree_lacks_is_found(
    worktree: Path, capsys: Capture, missing: str, check: str, severity: str
) -> None:
    (worktree / missing).rename(worktree / "elsewhere")
    code, (result,) = checked(capsys, "run.slurm")
    assert check in names(result, severity)
    assert code == (1 if severity == "error" else 0)


def test_log_folder_of_a_script_elsewhere_is_not_judged(
    worktree: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (worktree / "logs").rmdir()
    (worktree / "other").mkdir()
    monkeypatch.chdir(worktree / "other")
    _, (result,) = checked(capsys, str(worktree / "run.slurm"))
    assert "storage/log-folder" not in names(result, "error", "warning")


def test_log_folder_is_not_judged_where_the_worktree_is_on_another_machine(
    worktree: Path, capsys: Capture
) -> None:
    (worktree / "logs").rmdir()
    (worktree / "run.slurm").write_text(SEED.format(worktree="/lustre-of-another-machine/megatron"))
    code, (result,) = checked(capsys, "run.slurm")
    assert (code, names(result, "error")) == (0, set())
    unseen = next(item for item in result["findings"] if item["check"] == "storage/not-seen")
    assert unseen["message"].endswith("see them: /lustre-of-another-machine/megatron")


def test_relative_log_folder_begins_at_chdir(
    worktree: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    text = SEED.format(worktree=worktree).replace("cd ", f"#SBATCH --chdir={worktree}\ncd ", 1)
    (worktree / "run.slurm").write_text(text)
    monkeypatch.chdir("/")
    assert "storage/log-folder" not in names(checked(capsys, f"{worktree}/run.slurm")[1][0], "error")
    (worktree / "logs").rmdir()
    assert "storage/log-folder" in names(checked(capsys, f"{worktree}/run.slurm")[1][0], "error")


def test_hostile_script_is_read_in_bounded_time_and_prints_no_escapes(
    tmp_path: Path, capsys: Capture
) -> None:
    evil = tmp_path / "evil.sh"
    evil.write_bytes(
        b"#!/bin/bash\n#SBATCH --output=\x1b[2J\xff/$(touch pwned)/x\n"
        + b"$(" * 200_000
        + b"\xf3\xb0\x80\x80" * 9
    )
    start = time.monotonic()
    main(["check", str(evil), "-v"])
    assert time.monotonic() - start < 20
    assert "\x1b" not in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["evil.sh"]


def script_of(row: dict[str, Any]) -> str:
    nodes, gpus, value = row["nodes"], row["gpus_per_node"], row["env"].get("CUDA_DEVICE_MAX_CONNECTIONS")
    args = " ".join(name if given is True else f"{name} {given}" for name, given in row["args"].items())
    return (
        f"#!/bin/bash\n#SBATCH --nodes={nodes}\n#SBATCH --ntasks-per-node=1\n"
        f"#SBATCH --gres=gpu:{row['gpu']}:{gpus}\n#SBATCH --output=/lustre/logs/%x-%j.out\ncd /lustre/megatron\n"
        'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)\n'
        + (f"export CUDA_DEVICE_MAX_CONNECTIONS={value}\n" if value is not None else "")
        + f"srun bash -c 'uv run python -m torch.distributed.run --nnodes={nodes} --nproc-per-node={gpus}"
        f" --node-rank=$SLURM_NODEID --master-addr='$MASTER_ADDR' --master-port=29500 pretrain_gpt.py {args}'\n"
    )


def test_six_hundred_scripts_in_one_call_agree_with_megatron(tmp_path: Path) -> None:
    paths = []
    for number in range(600):
        paths.append(str(tmp_path / f"{number}.sbatch"))
        Path(paths[-1]).write_text(script_of(ROWS[number % len(ROWS)]))
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "triage", "check", *paths, "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert time.monotonic() - start < 30
    assert (done.returncode, done.stderr) == (1, "")
    results = json.loads(done.stdout)["results"]
    assert [result["path"] for result in results] == paths
    wrong = [
        number
        for number, result in enumerate(results)
        if (result["errors"] == 0) is not ROWS[number % len(ROWS)]["megatron"]["accept"]
    ]
    assert wrong == []


def test_one_script_needs_neither_torch_nor_what_only_other_commands_need() -> None:
    code = (
        "import sys; from triage.cli.main import main; main(['check', sys.argv[1]]);"
        " print(*sorted({'torch', 'regex', 'ahocorasick_rs', 'rich', 'subprocess'} & set(sys.modules)))"
    )
    nowhere = {"PATH": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", code, CLEAN], cwd=ROOT, env=nowhere, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == ""


SINFO = "gpu|up|1:00:00|4|gpu:h100:8|96|4000|gpu*"
"""A cluster of one partition, as sinfo tells it."""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's programs, of which those that ask write down that they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, output in (
        ("sbatch", ""),
        ("sinfo", SINFO),
        ("sacctmgr", "ml||normal,long|"),
        ("scontrol", ""),
    ):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho {name} >>{tmp_path}/calls\nprintf '%s\\n' '{output}'\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("USER", "me")
    return tmp_path


def test_cluster_is_asked_once_for_all_scripts(cluster: Path, capsys: Capture) -> None:
    code, results = checked(capsys, *[str(path) for path in sorted(SCRIPTS.glob("*.sbatch"))])
    assert code == 1
    assert sorted((cluster / "calls").read_text().split()) == ["sacctmgr", "scontrol", "sinfo"]
    assert len(results) > 10


def test_what_the_cluster_lacks_is_an_error(worktree: Path, cluster: Path, capsys: Capture) -> None:
    script = worktree / "run.slurm"
    text = script.read_text()
    script.write_text(
        text.replace("#SBATCH --nodes=2", "#SBATCH --nodes=2\n#SBATCH --partition=gpus --time=2:00:00")
    )
    code, (result,) = checked(capsys, "run.slurm")
    assert (code, names(result, "error")) == (1, {"site/partition"})
    script.write_text(
        text.replace("#SBATCH --nodes=2", "#SBATCH --nodes=2\n#SBATCH --time=2:00:00 --account=nope")
    )
    code, (result,) = checked(capsys, "run.slurm")
    assert names(result, "error") == {"site/time"}
    assert names(result, "warning") == {"site/account"}
    assert "site/not-checked" not in names(result, "info")
    assert (cluster / "calls").exists()


def test_script_of_another_cluster_is_not_compared_with_this_one(cluster: Path, capsys: Capture) -> None:
    (cluster / "far.sbatch").write_text(
        SEED.format(worktree="/lustre/elsewhere/megatron").replace("h100:8", "h100:16")
    )
    _, (result,) = checked(capsys, str(cluster / "far.sbatch"))
    assert not [item for item in names(result, "error", "warning") if item.startswith("site/")]
    assert "site/not-checked" in names(result, "info")


@pytest.mark.usefixtures("worktree")
def test_cluster_that_does_not_answer_is_a_note(cluster: Path, capsys: Capture) -> None:
    for name in ("sinfo", "sacctmgr", "scontrol"):
        (cluster / "bin" / name).write_text(
            "#!/bin/sh\necho 'sinfo: error: Unable to contact (connect failure)' >&2; exit 1\n"
        )
    code, (result,) = checked(capsys, "run.slurm")
    assert code == 0
    (note,) = [item for item in result["findings"] if item["check"] == "site/not-checked"]
    assert "does not answer now" in note["message"]
