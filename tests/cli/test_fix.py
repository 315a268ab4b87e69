"""`triage check --fix`: shown first, made with --write, and never more than is certain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.script.test_fix import script
from triage.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_of(folder: Path) -> str:
    return script(processes="--nproc-per-node=4").replace("/lustre/tree", str(folder))


def test_a_fix_is_shown_as_a_difference_and_changes_nothing(folder: Path, capsys: Capture) -> None:
    path = folder / "run.sh"
    path.write_text(text_of(folder))
    assert main(["check", "--fix", "run.sh"]) == 1
    out = capsys.readouterr().out
    assert "run.sh: fix: set --nproc-per-node to 8 [torchrun/processes]\n--- run.sh\n+++ run.sh\n" in out
    assert out.count("\n-  uv run") == out.count("\n+  uv run") == 1
    assert path.read_text() == text_of(folder)


def test_write_makes_it_keeps_the_mode_and_checks_what_is_left(folder: Path, capsys: Capture) -> None:
    path = folder / "run.sh"
    path.write_bytes(text_of(folder).replace("cd ", "# caf\udce9\ncd ").encode("utf-8", "surrogateescape"))
    path.chmod(0o750)
    (folder / "pretrain_gpt.py").touch()
    assert main(["check", "--fix", "--write", "run.sh"]) == 0
    assert "run.sh: fixed: set --nproc-per-node to 8" in capsys.readouterr().out
    assert b"--nproc-per-node=8" in path.read_bytes()
    assert b"# caf\xe9\n" in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o750
    assert sorted(item.name for item in folder.iterdir()) == ["pretrain_gpt.py", "run.sh"]


def test_a_missing_log_folder_is_made_and_not_written_into_the_script(folder: Path, capsys: Capture) -> None:
    path = folder / "run.sh"
    text = script().replace("/lustre/tree", str(folder)).replace("cd ", f"#SBATCH --output={folder}/l o/a/%x.out\ncd ").replace("#SBATCH --output=", '#SBATCH "--output=').replace("%x.out", '%x.out"')  # fmt: skip
    path.write_text(text)
    (folder / "pretrain_gpt.py").touch()
    (folder / "l o").mkdir()
    assert main(["check", "--fix", "run.sh"]) == 1
    assert f"run.sh: fix: mkdir -p '{folder}/l o/a' [storage/log-folder]" in capsys.readouterr().out
    assert main(["check", "--fix", "--write", "run.sh"]) == 0
    assert (folder / "l o/a").is_dir()
    assert path.read_text() == text


def test_a_configuration_loses_the_unneeded_export_and_gets_its_log_folder(
    folder: Path, capsys: Capture
) -> None:
    (folder / "pretrain_gpt.py").touch()
    text = 'gpu = "h100"\n[environment]\nA = "1"\nCUDA_DEVICE_MAX_CONNECTIONS = "1"\nB = "2"\n'
    path = folder / "triage.toml"
    path.write_text(text)
    assert main(["check", "--fix", "--format", "json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["results"][0]["path"] == "triage.toml"
    assert "triage.toml: fix: take out CUDA_DEVICE_MAX_CONNECTIONS [connections/none]" in told.err
    assert path.read_text() == text
    main(["check", "--fix", "--write"])
    assert path.read_text() == text.replace('CUDA_DEVICE_MAX_CONNECTIONS = "1"\n', "")
    assert (folder / "logs").is_dir()


def test_write_alone_is_wrong_usage(capsys: Capture) -> None:
    assert main(["check", "--write", "x.sh"]) == 2
    assert "--fix" in capsys.readouterr().err


def test_nothing_to_fix_is_said(folder: Path, capsys: Capture) -> None:
    (folder / "run.sh").write_text("#!/bin/bash\n#SBATCH --nodes=many\n")
    assert main(["check", "--fix", "run.sh"]) == 1
    assert "run.sh: no change is certain to remove a finding: nothing to fix\n" in capsys.readouterr().out
