"""The findings of a check as text and as JSON."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.holes import NODE_ID
from triage.report.check import CHECK_FORMATS, Checked, CheckOptions, render_json, render_text
from triage.report.schema import schema_text

HEADS = Finding(Severity.ERROR, "model/heads", "33 heads", "megatron/core/t.py:1447", 36)
VENV = Finding(Severity.WARNING, "environment/venv", "no .venv", None, 29)
SITE = Finding(Severity.INFO, "site/not-checked", "no cluster was asked")
RESULTS = (Checked("run.slurm", (HEADS, VENV, SITE)), Checked("clean.slurm", (SITE,)))
SCHEMA = json.loads(schema_text("check"))


def parsed(*results: Checked) -> Any:
    data = json.loads(render_json(results, CheckOptions()))
    jsonschema.validate(data, SCHEMA)
    return data


def test_text_is_a_line_for_each_finding_and_a_summary() -> None:
    assert render_text(RESULTS, CheckOptions()) == (
        "run.slurm:36: error: 33 heads [model/heads] (Megatron megatron/core/t.py:1447)\n"
        "run.slurm:29: warning: no .venv [environment/venv]\n"
        "1 error, 1 warning in 2 scripts; 2 notes, shown with -v\n"
    )


def test_notes_are_text_only_when_asked_for_and_always_json() -> None:
    text = render_text(RESULTS[1:], CheckOptions(verbose=True))
    assert text == (
        "clean.slurm: info: no cluster was asked [site/not-checked]\n0 errors, 0 warnings in 1 script\n"
    )
    assert parsed(RESULTS[1])["results"][0]["findings"][0]["check"] == "site/not-checked"


def test_that_next_to_nothing_was_checked_is_said_without_being_asked() -> None:
    idle = Finding(Severity.INFO, "script/no-launch", "no training command was found")
    text = render_text([Checked("run.slurm", (idle, SITE))], CheckOptions())
    assert text == (
        "run.slurm: info: no training command was found [script/no-launch]\n"
        "0 errors, 0 warnings in 1 script; 1 note, shown with -v\n"
    )


def test_colour_marks_the_severity_and_nothing_else() -> None:
    text = render_text(RESULTS, CheckOptions(color=True, verbose=True))
    assert "run.slurm:36: \x1b[1;31merror\x1b[0m: 33 heads" in text
    assert "\x1b[1;33mwarning\x1b[0m" in text
    assert "\x1b[1;31m1 error, 1 warning in 2 scripts\x1b[0m" in text
    plain = render_text(RESULTS[1:], CheckOptions(color=True))
    assert plain.startswith("\x1b[1;32m0 errors")


def test_json_is_the_contract() -> None:
    assert parsed(*RESULTS) == {
        "schema": "triage.check/1",
        "results": [
            {
                "path": "run.slurm",
                "errors": 1,
                "warnings": 1,
                "findings": [
                    {
                        "severity": "error",
                        "check": "model/heads",
                        "message": "33 heads",
                        "source": "megatron/core/t.py:1447",
                        "line": 36,
                    },
                    {
                        "severity": "warning",
                        "check": "environment/venv",
                        "message": "no .venv",
                        "source": None,
                        "line": 29,
                    },
                    {
                        "severity": "info",
                        "check": "site/not-checked",
                        "message": "no cluster was asked",
                        "source": None,
                        "line": None,
                    },
                ],
            },
            {
                "path": "clean.slurm",
                "errors": 0,
                "warnings": 0,
                "findings": [
                    {
                        "severity": "info",
                        "check": "site/not-checked",
                        "message": "no cluster was asked",
                        "source": None,
                        "line": None,
                    }
                ],
            },
        ],
    }
    assert parsed() == {"schema": "triage.check/1", "results": []}


@pytest.mark.parametrize("name", CHECK_FORMATS)
def test_a_script_cannot_move_the_cursor_add_lines_or_show_secrets(name: str) -> None:
    message = "--save /x\x1b[2J\x9b31m\u202e\nrun.slurm:1: error: forged\r --token hf_abcdefghijklmnop1234"
    evil = Checked(
        "a\x1b]0;title\x07\nb\x9b.sh", (Finding(Severity.ERROR, "storage/missing", message, None, 3),)
    )
    out = CHECK_FORMATS[name]([evil], CheckOptions(verbose=True))
    assert not set(out) & {"\x1b", "\x9b", "\x07", "\r", "\u202e"}
    assert "abcdefghijklmnop1234" not in out
    if name == "text":
        assert len(out.splitlines()) == 2


@pytest.mark.parametrize(
    "path", ["a\x1b[2J\nb.sh", "donn\udce9es.sh", "hf_abcdefghijklmnop1234.sh", "d\u00e9j\u00e0 vu"]
)
def test_json_gives_the_path_back_as_it_was_given(path: str) -> None:
    (result,) = parsed(Checked(path, ()))["results"]
    assert result["path"] == path
    assert os.fsencode(result["path"]) == os.fsencode(path)


def test_a_part_known_only_at_run_time_is_named() -> None:
    found = Finding(Severity.ERROR, "a/b", f"rank {NODE_ID} of \U000f0050")
    assert "a.sh: error: rank <SLURM_NODEID> of <?> [a/b]" in render_text(
        [Checked("a.sh", (found,))], CheckOptions()
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("severity", "fatal"),
        ("check", "heads"),
        ("message", ""),
        ("source", "arguments.py"),
        ("line", 0),
        ("extra", 1),
    ],
)
def test_schema_refuses_what_the_contract_does_not_know(key: str, value: object) -> None:
    data = parsed(*RESULTS)
    data["results"][0]["findings"][0][key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)
