"""The shipped rules themselves."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import triage
from triage.cli.rules import CONTEXT_NAMES
from triage.core.cause.verdict import FACT_NAMES, PHASES
from triage.core.events.model import Event, Message, Span, Trace
from triage.core.megatron.options import KNOWN
from triage.core.rules import texts
from triage.core.rules.engine import Engine
from triage.core.rules.lint import event_of, lint, shadowed
from triage.core.rules.model import FALLBACK, On, Role, Rule
from triage.core.rules.parse import parse
from triage.core.rules.ruleset import RuleSet
from triage.core.rules.template import fill
from triage.files.rules import load, read_folder, shipped_folder

SOURCES = read_folder(shipped_folder())
RULES = parse(SOURCES)
ENGINE = Engine(RULES, timeout_s=5.0)
EXAMPLES = [example.text for rule in RULES.rules for example in (*rule.matches, *rule.ignores)]

HEALTHY = [
    " [2026-12-01 10:00:00.123456] iteration        1/  500000 | consumed samples:          512 | elapsed time per "
    "iteration (ms): 1234.5 | learning rate: 1.500000E-04 | global batch size:   512 | lm loss: 1.2E+01 | loss scale: "
    "1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |",
    "number of nan iterations: 0",
    "[c10d] The client socket has failed to connect to [gpu1]:29500 (errno: 111 - Connection refused), retrying",
    "NCCL WARN [Proxy Service 3] Failed to execute operation Close from rank 1, retcode 3",
    "NCCL WARN [Service thread] Accept failed Resource temporarily unavailable",
    "[W TCPStore.cpp:106] TCPStore sendBytes failed on SocketImpl(fd=3)",
    "PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 169",
    "TUNER/Plugin: Failed to find ncclTunerPlugin_v2 symbol",
    "transformer_engine failed to import with exception",
    "you may encounter an out-of-memory (OOM) error",
    "Corrupt JPEG data: premature end of data segment",
    "Vulnerability Tsx async abort: Not affected",
    '{"key": "run_stop", "status": "aborted"}',
    "using GPU 3 to perform barrier as devices used by this process are currently unknown. This can potentially cause "
    "a hang if this rank to GPU mapping is incorrect.",
    "Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.",
    "NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead",
    "WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt",
    "  check_for_nan_in_loss_and_grad .................. True",
    "  exit_on_missing_checkpoint ...................... False",
    "  error_injection_rate ............................ 0",
    "  inference_dynamic_batching_unified_memory_level . 0",
    "  distributed_timeout_minutes ..................... 10",
    "[NeMo E 2026-12-01 10:00:00 nemo_logging:393] You are running multi-node training without an interconnect",
    "Gradient overflow. Skipping step, loss scaler 0 reducing loss scale to 32768.0",
    "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/NVLink",
    "srun: error: gpu2: task 1: Exited with exit code 3",
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
]


def test_no_mistake_in_any_shipped_rule() -> None:
    found = lint(RULES, SOURCES, names=(*FACT_NAMES, *CONTEXT_NAMES), shipped=True)
    assert [str(remark) for remark in found] == []


def test_no_rule_is_hidden_by_another_on_its_own_examples() -> None:
    assert [str(remark) for remark in shadowed(RULES)] == []


def test_every_failure_category_has_two_rules_that_name_a_cause() -> None:
    counts = Counter(rule.category for rule in RULES.rules if rule.role in (Role.ROOT, Role.DOWNSTREAM))
    assert {name: counts[name] for name, c in RULES.taxonomy.items() if c.failure and counts[name] < 2} == {}


def test_only_nothing_and_unknown_are_no_failures() -> None:
    assert {c.name for c in RULES.taxonomy.values() if not c.failure} == {"none", "unknown"}
    assert len({c.rank for c in RULES.taxonomy.values()}) == len(RULES.taxonomy) == 22


def test_any_exception_has_a_rule_and_the_fallback_says_the_least() -> None:
    event = event_of(RULES.rules[0], "my.Odd_Exception2: what", On.TRACE)
    assert [match.rule.id for match in ENGINE.match(event)] == ["python/exception"]
    assert [r.id for r in RULES.rules if r.role is Role.ROOT and r.specificity <= FALLBACK] == [
        "python/exception"
    ]


@pytest.mark.parametrize("text", HEALTHY)
def test_a_line_of_a_healthy_run_is_never_a_failure(text: str) -> None:
    found = ENGINE.match(Message(Span(0, 0, 1), text=text))
    assert not found or found[0].rule.role is Role.ADVICE, found[0].rule.id


@pytest.mark.parametrize("rule", [r for r in RULES.rules if r.category == "nccl"], ids=lambda r: r.id)
def test_no_nccl_rule_takes_what_is_really_something_else(rule: Rule) -> None:
    others = [
        "torch.distributed.DistBackendError: NCCL error\nLast error:\nFailed to CUDA calloc 6291456 bytes",
        "torch.distributed.DistBackendError: NCCL error\nLast error:\nCuda failure 2 'out of memory'",
        "torch.distributed.DistNetworkError: The server socket has failed to listen, name: EADDRINUSE",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered",
        "torch.distributed.DistNetworkError: The client socket has failed (gai error: -2 - Name or service not known).",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='h', port=443): Connection reset by peer",
    ]
    for text in others:
        for on in (On.TRACE, On.MESSAGE):
            assert rule.id not in [match.rule.id for match in ENGINE.match(event_of(rule, text, on))], text


@pytest.mark.parametrize("exception", ["DistBackendError", "DistStoreError", "DistNetworkError", "DistError"])
@pytest.mark.parametrize(
    "text", ["Connection closed by peer [1.2.3.4]:5", "Connection reset by peer", "Broken pipe"]
)
def test_tracebacks_that_only_report_the_process_group_are_downstream(exception: str, text: str) -> None:
    event = event_of(RULES.rules[0], f"torch.distributed.{exception}: {text}", On.TRACE)
    best = ENGINE.match(event)[0].rule
    assert (best.category, best.role) == ("nccl", Role.DOWNSTREAM)


@pytest.mark.parametrize(
    ("xid", "category"),
    [(48, "hardware"), (63, "hardware"), (74, "hardware"), (79, "hardware"), (92, "hardware"), (94, "hardware"),
     (95, "hardware"), (119, "hardware"), (140, "hardware"), (145, "hardware"), (149, "hardware")],
)  # fmt: skip
def test_an_xid_of_broken_hardware_is_a_root(xid: int, category: str) -> None:
    event = Message(Span(0, 0, 1), text=f"NVRM: Xid (PCI:0000:41:00): {xid}, pid=1, name=python")
    best = ENGINE.match(event)[0].rule
    assert (best.category, best.role) == (category, Role.ROOT)


@pytest.mark.parametrize("xid", [13, 31, 43, 45])
def test_an_xid_of_a_program_is_no_root(xid: int) -> None:
    event = Message(Span(0, 0, 1), text=f"NVRM: Xid (PCI:0000:41:00): {xid}, pid=1, name=python")
    assert ENGINE.match(event)[0].rule.role is Role.DOWNSTREAM


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.15 "
            "GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.93 GiB memory in use. Of "
            "the allocated memory 70.20 GiB is allocated by PyTorch, and 3.99 GiB is reserved by PyTorch but unallocated.",
            {"requested": "2.00", "gpu": "5", "total": "79.15", "free": "1.20", "in_use": "77.93", "allocated": "70.20",
             "unused": "3.99"},
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; 79.15 GiB total capacity; 77.90 GiB "
            "already allocated; 12.25 MiB free; 78.00 GiB reserved in total by PyTorch)",
            {"requested": "20.00", "gpu": "1", "total": "79.15", "free": "12.25", "allocated": "77.90",
             "reserved": "78.00"},
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU  has a total capacty of "
            "79.33 GiB of which 905.81 MiB is free. Process 123 has 78.4 GiB memory in use.",
            {"requested": "1.16", "total": "79.33", "free": "905.81", "in_use": "78.4"},
        ),
        ("RuntimeError: CUDA out of memory. Tried to allocate 5 bytes", {"requested": "5", "requested_unit": "bytes"}),
    ],
)  # fmt: skip
def test_every_form_of_the_memory_message_gives_its_numbers(text: str, numbers: dict[str, str]) -> None:
    found = ENGINE.match(event_of(RULES.rules[0], text, On.TRACE))[0]
    assert found.rule.id == "oom/cuda"
    plain = {key: value for key, value in found.captures.items() if key in (*numbers, "gpu")}
    assert plain == numbers


def test_edges_name_a_cause_once_and_never_itself() -> None:
    pairs = [(edge.cause, edge.effect, edge.role) for edge in RULES.causes]
    assert [pair for pair, count in Counter(pairs).items() if count > 1] == []
    assert [edge for edge in RULES.causes if edge.cause == edge.effect] == []


def test_every_cause_of_a_failure_explains_the_collectives_it_breaks() -> None:
    causes = {edge.cause for edge in RULES.causes if edge.effect == "nccl" and edge.same == "job"}
    wanted = {name for name, c in RULES.taxonomy.items() if c.failure} - {"nccl", "hang"}
    assert wanted <= causes


def test_phases_are_those_of_the_contract() -> None:
    assert {rule.phase for rule in RULES.rules} - {""} <= set(PHASES)
    assert {row.phase for row in RULES.frames} - {""} == set(PHASES)


def test_the_short_reading_of_a_start_gives_the_same_rules() -> None:
    short = load({})
    assert [rule.id for rule in short.rules] == [rule.id for rule in RULES.rules]
    assert [rule.pattern for rule in short.rules] == [rule.pattern for rule in RULES.rules]
    assert all(not rule.matches for rule in short.rules)


def _events(text: str) -> list[Event]:
    return [event_of(RULES.rules[0], text, on) for on in On]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(EXAMPLES), min_size=1, max_size=3), st.integers(0, 200), st.integers(0, 200))
def test_the_prefilter_loses_nothing_that_the_naive_engine_finds(
    parts: list[str], cut: int, drop: int
) -> None:
    text = "\n".join(parts)[cut:]
    text = text[:drop] + text[drop + 3 :]
    for event in _events(text):
        fast = [(match.rule.id, match.link) for match in ENGINE.match(event)]
        naive = [(match.rule.id, match.link) for match in ENGINE.naive_match(event)]
        assert fast == naive, text


@pytest.mark.parametrize(
    "filler", ["a", "1 ", "GPU ", "error: ", "Error\n", "is not divisible by ", "'", "(", "x1x1 ", "\\"]
)
def test_no_shipped_pattern_runs_out_of_time_on_repetition(filler: str) -> None:
    engine = Engine(RULES, timeout_s=0.5)
    for text in EXAMPLES[::9]:
        long = (text + filler * texts.MAX_TEXT)[: texts.MAX_TEXT]
        for event in (Message(Span(0, 0, 1), text=long), event_of(RULES.rules[0], long, On.TRACE)):
            assert isinstance(event, Message | Trace)
            engine.match(event)
    assert engine.timeouts == []


def test_the_user_folder_is_found_where_the_standard_says(tmp_path: object) -> None:
    base = os.path.join(str(tmp_path), "triage", "rules", "oom")
    os.makedirs(base)
    rule = next(r for r in RULES.rules if r.id == "oom/cuda")
    with open(rule.path, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(base, "mine.toml"), "w", encoding="utf-8") as file:
        file.write(text)
    assert load({"XDG_CONFIG_HOME": str(tmp_path)}).get("oom/mine") is not None
    assert load({"HOME": str(tmp_path)}).get("oom/mine") is None


def test_every_rule_that_the_code_names_is_there() -> None:
    """The selection draws conclusions by name; without its rule a verdict would silently lose summary and advice."""
    categories = "|".join(name for name in RULES.taxonomy if name != "unknown")
    a_rule = re.compile(rf"(?:{categories})/[a-z][a-z0-9-]*")
    code = Path(triage.__file__).parent / "core" / "cause"
    named = {
        node.value
        for path in code.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and a_rule.fullmatch(node.value)
    }
    assert {"hang/at-exit", "nccl/silent-rank"} <= named
    assert named <= {rule.id for rule in RULES.rules}


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)
def test_the_first_step_does_without_a_node_and_a_job(rule: Rule) -> None:
    if rule.role is not Role.ROOT:
        return
    engine = Engine(RuleSet((rule,)), timeout_s=5.0)
    known = [m.captures for e in rule.matches for event in _events(e.text) for m in engine.match(event)]
    for captures in known or [{}]:
        assert fill(rule.next_steps[0], {**captures, "message": "", "exception": ""}), captures


OF_MEGATRON = KNOWN - {"--help"}
ITS_OWN = frozenset({"config/cuda-device-max-connections"})
"""Only Megatron-LM fails so, whatever the log shows of it."""


@pytest.mark.parametrize("rule", [r for r in RULES.rules if r.id not in ITS_OWN], ids=lambda rule: rule.id)
def test_megatrons_options_are_advised_only_where_the_run_shows_megatron(rule: Rule) -> None:
    for step in rule.next_steps:
        for line in step.split("\n"):
            told = OF_MEGATRON.intersection(re.findall(r"(?<![\w-])--[a-z][\w-]*", line))
            assert not told or line.startswith("{megatron}"), line
