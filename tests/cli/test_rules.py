"""`triage rules`: what each action prints and which code it gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triage.cli.main import main

RULE = """title = "odd"
role = "root"
on = "message"
literals = ["odd Error"]
pattern = 'odd Error (?P<n>[0-9]+)'
summary = "odd"
next_steps = ["look"]

[[match]]
text = "odd Error 5"

[[ignore]]
text = "odd Error"
"""


def folder(tmp_path: Path, text: str) -> str:
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "odd.toml").write_text(text)
    return str(tmp_path)


def test_list_and_show_tell_the_shipped_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "list", "--category", "oom"]) == 0
    assert "oom/cuda " in capsys.readouterr().out
    assert main(["rules", "show", "oom/cuda", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == "triage.rules/1"
    assert shown["rules"][0]["id"] == "oom/cuda"


def test_the_shipped_rules_are_clean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    assert main(["rules", "check"]) == 0
    assert capsys.readouterr().out.endswith(" 0 mistakes\n")
    assert main(["rules", "test"]) == 0


def test_a_wrong_rule_is_code_2_with_path_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path, RULE.replace("[0-9]+", "[0-9+"))
    assert main(["rules", "check", where]) == 2
    assert f"{where}/python/odd.toml:5: " in capsys.readouterr().out
    (tmp_path / "python" / "odd.toml").write_text(RULE.replace("summary", "sumary"))
    assert main(["rules", "check", where]) == 2
    assert (
        f'{where}/python/odd.toml:6: unknown key "sumary", did you mean "summary"?' in capsys.readouterr().err
    )


def test_a_users_rule_is_tested_against_the_whole_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path, RULE)
    assert main(["rules", "test", "python/odd", "--rules", where]) == 0
    assert "2 examples, 0 failed" in capsys.readouterr().out


def test_an_unknown_rule_or_folder_is_told_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "oom/cudda"]) == 2
    assert "did you mean oom/cuda?" in capsys.readouterr().err
    assert main(["rules", "check", "/nowhere"]) == 3
    assert main(["rules", "list", "--category", "omo"]) == 2
