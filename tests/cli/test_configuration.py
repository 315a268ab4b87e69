"""`triage init`, `config` and `render`: what they write, where, and how they end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from triage.cli.main import main
from triage.report.schema import schema_text
from triage.submit.keys import KEYS

Capture = pytest.CaptureFixture[str]
SCRIPTS = Path(__file__).resolve().parents[2] / "fixtures" / "scripts"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for key in KEYS:
        if key.variable is not None:
            monkeypatch.delenv(key.variable, raising=False)
    return tmp_path


def values(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["config", "--format", "json", *words]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, json.loads(schema_text("config")))
    return {item["key"]: item for item in data["values"]}


def test_init_writes_a_file_that_config_and_render_read(folder: Path, capsys: Capture) -> None:
    assert main(["init"]) == 0
    assert "triage check triage.toml" in capsys.readouterr().err
    assert main(["config"]) == 0
    assert f'worktree           "{folder}"' in capsys.readouterr().out
    assert main(["render"]) == 0
    assert capsys.readouterr().out.startswith("#!/bin/bash\n")


def test_what_is_no_file_is_refused_rather_than_waited_for(folder: Path, capsys: Capture) -> None:
    os.mkfifo(folder / "pipe")
    assert main(["init"]) == 0
    for words in (
        ["config", "pipe"],
        ["check", "./pipe"],
        ["render", "--template", "pipe"],
        ["submit", "pipe"],
    ):
        assert main(words) in (2, 3), words
        assert "no regular file" in capsys.readouterr().err, words
    os.rename(folder / "pipe", folder / "triage.toml")
    assert main(["check"]) == 2


def test_render_spells_out_for_a_terminal_what_would_steer_it(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "triage.toml").write_text('[environment]\nNAME = "a\\u001b[31mb"\n')
    assert main(["render", "-o", "run.sbatch"]) == 0
    assert main(["render"]) == 0
    assert capsys.readouterr().out == (folder / "run.sbatch").read_text()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["render"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\\x1b[31mb" in shown


def test_init_replaces_nothing_unless_it_is_forced(folder: Path, capsys: Capture) -> None:
    (folder / "triage.toml").write_text("# mine\n")
    assert main(["init"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (folder / "triage.toml").read_text() == "# mine\n"
    assert main(["init", "--force"]) == 0


def test_init_takes_a_script_over_and_tells_what_it_left_out(folder: Path, capsys: Capture) -> None:
    script = SCRIPTS / "containers-node-local-and-traps.sbatch"
    assert main(["init", str(script), "-o", "box.toml"]) == 0
    found = values(capsys, "box.toml")
    assert found["container.kind"]["value"] == "pyxis"
    assert main(["init", str(folder / "none"), "-o", "x.toml"]) == 3
    assert not (folder / "x.toml").exists()


def test_config_tells_where_each_value_came_from(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "triage.toml").write_text('arguments = ["--bf16"]\n[job]\nnodes = 2\n')
    monkeypatch.setenv("TRIAGE_JOB_PARTITION", "gpu")
    found = values(capsys, "--set", "job.name=a", "--", "--lr", "1")
    told = {name: (item["origin"], item["place"], item["line"]) for name, item in found.items()}
    assert told["job.nodes"] == ("file", "triage.toml", 3)
    assert told["job.partition"] == ("environment", "TRIAGE_JOB_PARTITION", None)
    assert told["job.name"] == ("set", "--set job.name", None)
    assert told["launcher"] == ("default", None, None)
    assert found["job.account"]["value"] is None
    assert [item["origin"] for item in found["arguments"]["elements"]] == ["file", "argument", "argument"]


def test_render_writes_to_a_file_with_a_template_of_the_site(folder: Path) -> None:
    (folder / "t.j2").write_text("#!/bin/bash\nrun {{ command | words }}\n")
    assert main(["render", "--template", "t.j2", "--set", "command=a b.py", "-o", "run"]) == 2
    (folder / "triage.toml").write_text("")
    assert main(["render", "--template", "t.j2", "--set", "command=a b.py", "-o", "run"]) == 0
    assert (folder / "run").read_text() == "#!/bin/bash\nrun 'a b.py'\n"


@pytest.mark.parametrize("data", [b"\xff", b"a = 1\n" * 2_000_000])
def test_what_is_no_configuration_is_refused(folder: Path, capsys: Capture, data: bytes) -> None:
    (folder / "triage.toml").write_bytes(data)
    for command in ("config", "render", "check"):
        assert main([command]) == 2
    assert "triage.toml" in capsys.readouterr().err


def test_mistakes_are_told_all_at_once(folder: Path, capsys: Capture) -> None:
    (folder / "triage.toml").write_text("a = 1\nb = 2\n")
    assert main(["render", "--set", "c=3"]) == 2
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "triage.toml:1", "triage.toml:2", "--set c",
    ]  # fmt: skip
