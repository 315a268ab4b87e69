"""Failure messages from public reports and from the frameworks' own sources, against all shipped rules.

`data/messages.jsonl` was labelled before the rules were run over it. Where more than one category would do, all of them
are listed; `python` among them means that saying nothing specific is right too. Frames keep the end of their paths.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from triage.core.rules.engine import Engine
from triage.core.rules.lint import event_of
from triage.core.rules.model import FALLBACK, SUGGESTIVE, On, Role
from triage.core.rules.parse import parse
from triage.files.rules import read_folder, shipped_folder

RULES = parse(read_folder(shipped_folder()))
LINES = (Path(__file__).parent / "data" / "messages.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]

QUOTED = [
    "ray.exceptions.RayTaskError(OutOfMemoryError): ray::Actor.train() (pid=1, ip=10.0.0.1)",
    "ray.exceptions.RayTaskError(MemoryError): ray::Actor.train() (pid=1, ip=10.0.0.1)",
    "ray.exceptions.RayTaskError(ModuleNotFoundError): ray::Actor.train() (pid=1, ip=10.0.0.1)",
    "torch.multiprocessing.spawn.ProcessRaisedException: -- Process 3 terminated with the following error:",
]


@cache
def engine() -> Engine:
    return Engine(RULES, timeout_s=2.0)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['category'][0]}-{row['text'][-40:]}")
def test_a_real_message_gets_its_category(row: dict[str, object]) -> None:
    text, wanted = str(row["text"]), row["category"]
    found = engine().match(event_of(RULES.rules[0], text, On(str(row["kind"]))))
    assert found, "no rule matches"
    assert isinstance(wanted, list)
    assert found[0].rule.category in wanted, found[0].rule.id


def test_the_messages_are_many_and_of_all_kinds() -> None:
    counts = Counter(category for row in ROWS for category in row["category"])
    assert len(ROWS) >= 350
    assert {name for name, c in RULES.taxonomy.items() if c.failure} - set(counts) <= {"hang", "unknown"}


@pytest.mark.parametrize("text", QUOTED)
def test_a_wrapper_is_not_taken_for_the_exception_it_quotes(text: str) -> None:
    best = engine().match(event_of(RULES.rules[0], text, On.TRACE))[0].rule
    assert best.role is not Role.ROOT
    assert best.specificity <= FALLBACK


@pytest.mark.parametrize(
    "text",
    [
        '  File "/home/user/project/model.py", line 3, in __init__\nValueError: depth must be set to a positive number',
        '  File "/home/user/project/net.py", line 3, in build\nRuntimeError: mode x is not supported',
    ],
)
def test_a_refusal_that_names_no_option_in_a_user_s_own_code_is_never_sure(text: str) -> None:
    assert engine().match(event_of(RULES.rules[0], text, On.TRACE))[0].rule.specificity <= SUGGESTIVE


def test_a_refusal_that_names_the_option_is_config_in_anyone_s_code() -> None:
    text = '  File "/home/user/project/train.py", line 3, in main\nAssertionError: --fast cannot be used with --slow'
    assert engine().match(event_of(RULES.rules[0], text, On.TRACE))[0].rule.id == "config/named-option"


@pytest.mark.parametrize(
    ("frames", "category"),
    [
        ('  File "x/torch/serialization.py", line 1, in _legacy_load', "checkpoint"),
        (
            '  File "x/speech_dataset.py", line 1, in __init__\n  File "x/torch/serialization.py", line 2, in load',
            "data",
        ),
        ('  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 1, in _main', "python"),
    ],
)
def test_an_empty_pickle_is_a_checkpoint_only_where_one_is_loaded(frames: str, category: str) -> None:
    best = engine().match(event_of(RULES.rules[0], f"{frames}\nEOFError: Ran out of input", On.TRACE))[0].rule
    assert best.category in (category, "python")
    assert (best.category == "checkpoint") == (category == "checkpoint")
