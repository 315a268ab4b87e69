"""Launches that Megatron-LM's own code has judged: the checks must agree, and for its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triage.core.megatron.finding import Severity
from triage.core.megatron.launch import UNKNOWN, Launch, Setting, Word, arguments
from triage.core.megatron.preflight import preflight

ROOT = Path(__file__).resolve().parents[3]
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (ROOT / "fixtures/preflight/configurations.jsonl").read_text().splitlines()
]


def words(row: dict[str, Any]) -> list[Word]:
    found = []
    for name, value in row["args"].items():
        found += [Word(name)] if value is True else [Word(name), Word(str(value))]
    return found


def launch(row: dict[str, Any], *more: Word) -> Launch:
    env = {name: Setting(value) for name, value in row["env"].items()}
    args = arguments([*words(row), *more])
    return Launch(row["nodes"], row["gpus_per_node"], row["gpu"], args, env, program="pretrain_gpt.py")


def test_the_sample_holds_both_answers_and_many_reasons() -> None:
    assert len(ROWS) == 150
    assert sum(row["megatron"]["accept"] for row in ROWS) >= 50
    assert len({row["megatron"].get("at") for row in ROWS}) > 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["megatron"].get("at", "accepted"))
def test_what_megatron_refuses_is_an_error_for_the_same_reason_and_nothing_else_is(
    row: dict[str, Any],
) -> None:
    errors = [finding for finding in preflight(launch(row)) if finding.severity is Severity.ERROR]
    if row["megatron"]["accept"]:
        assert errors == []
    else:
        assert row["megatron"]["at"] in {finding.source for finding in errors}


def test_options_that_cannot_be_seen_never_make_an_error_of_an_accepted_launch() -> None:
    for row in ROWS:
        if row["megatron"]["accept"]:
            hidden = launch(row, Word(UNKNOWN, many=True))
            assert not [finding for finding in preflight(hidden) if finding.severity is Severity.ERROR]


def test_a_value_that_is_not_known_never_adds_an_error() -> None:
    """Any one option's value replaced: what is left to say was said before."""
    for row in ROWS[::5]:
        said = {(found.check, found.severity) for found in preflight(launch(row))}
        for name, value in row["args"].items():
            if value is not True:
                blind = launch(row, Word(name), Word(UNKNOWN))
                now = {(found.check, found.severity) for found in preflight(blind)}
                assert {pair for pair in now - said if pair[1] is Severity.ERROR} == set(), name


def test_each_error_has_a_place_in_megatron_and_its_numbers() -> None:
    for row in ROWS:
        for finding in preflight(launch(row)):
            assert finding.source is not None
            path, _, line = finding.source.rpartition(":")
            assert path.startswith("megatron/")
            assert line.isdigit()
            assert finding.message
