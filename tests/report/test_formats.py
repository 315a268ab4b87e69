"""Every format over every sample: safe, complete, and laid out for its reader."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

import jsonschema
import pytest

from triage.core.cause.verdict import (
    FACT_NAMES,
    PHASES,
    ChainLink,
    Downstream,
    Evidence,
    FrameView,
    Root,
    Scanned,
    Skipped,
    Verdict,
)
from triage.report import FORMATS, Options, view_of
from triage.report.schema import SCHEMAS, schema_text
from triage.report.text import columns, shortened, wrapped

OOM = Verdict(
    failed=True,
    category="oom",
    rule="oom/cuda",
    ended=True,
    confidence="high",
    summary="rank 5 (node-a, GPU 5) ran out of GPU memory in backward: tried 2.00 GiB, 1.20 GiB free of 79.15 GiB",
    root=Root(
        rank=5,
        ranks="5",
        local_rank=5,
        node="node-a",
        gpu=5,
        time="2026-12-01T10:03:07.123456",
        time_source="line",
        exception="torch.OutOfMemoryError",
        message="CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.15 GiB.\nSee the docs.",
        frame=FrameView("/lustre/fsw/portfolios/team/users/someone/megatron/core/tensor_parallel/layers.py", 1001, "forward"),
        chain=(ChainLink("ValueError", "first", FrameView("a.py", None, "")), ChainLink(None, "", None)),
        phase="backward",
        attribution="tag",
        evidence=Evidence("node-a.err", 120, 141),
    ),
    facts={"world_size": 16, "tp": 2, "dp": 4, "pp": 2, "requested_gib": 2.0, "gpu_total_gib": 79.15, "last_iteration": 1200},
    downstream=(Downstream("nccl", "nccl/watchdog-timeout", "0-4,6-15", 15, Evidence("node-b.err", 88, 88)),),
    next_steps=("Lower --micro-batch-size.", "Turn on recompute."),
    reasons=("rank 5's traceback precedes every NCCL error by 10 min 2 s (node-a.err:120 before node-b.err:88)",),
    unexplained=(Downstream("network", "network/dns", "", 0, None),),
    attempt=2,
    attempts=2,
    slurm={"job_id": "123456", "state": "FAILED", "reason": "NonZeroExitCode", "exit_code": 1, "signal": 0,
           "restarts": 1, "nodes": "gpu[1-2]", "submitted": None, "started": None, "ended": None},
    scanned=Scanned(16, 123456, None, "0-15", "", (Skipped("core.1234", "binary"),)),
    job="123456",
    other_jobs=("123455",),
)  # fmt: skip

HEALTHY = Verdict(False, "none", None, True, "high", "no failure: training finished", None, {})
UNKNOWN = Verdict(True, "unknown", None, False, "low", "the run failed; the logs do not show why", None, {})
SAMPLES = {"oom": OOM, "healthy": HEALTHY, "unknown": UNKNOWN}

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x90q\x9c \u202eevil\u202c zero\u200bwidth \r\n::error file=x::pwned "
    "\n::set-output name=a::b\n##[command]x `` ``` ~~~ <script>x</script> [link](http://x) [bold]x[/bold] @someone #12 | % \x00\x07 \ud800"
)
"""Everything that a terminal, Markdown or a workflow runner could take for an order."""


SCHEMA = json.loads(schema_text("verdict"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SECRET = "hf_" + "aB3" * 11


def rendered(verdict: Verdict, name: str, width: int = 80, color: bool = False) -> str:
    return FORMATS[name](view_of(verdict, 10 if verdict.failed else 0), Options(width, color))


def poisoned(value: Any, text: str) -> Any:
    """The value with the text put into every free text of it."""
    if is_dataclass(value) and not isinstance(value, type):
        free = {"summary", "message", "exception", "function", "file", "path", "node", "reason", "time"}
        return replace(value, **{
            f.name: poisoned(getattr(value, f.name), text) if f.name not in free or not isinstance(getattr(value, f.name), str)
            else f"{getattr(value, f.name)} {text}" for f in fields(value)
        })  # fmt: skip
    if isinstance(value, tuple):
        return tuple(f"{v} {text}" if isinstance(v, str) else poisoned(v, text) for v in value)
    return value


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_format_says_the_summary_and_ends_the_line(name: str, sample: str) -> None:
    out = rendered(SAMPLES[sample], name)
    assert " ".join(SAMPLES[sample].summary.split()[:4]) in out
    assert out.endswith("\n")
    assert not out.endswith("\n\n")


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_text_gives_no_orders(name: str) -> None:
    out = rendered(poisoned(OOM, HOSTILE), name)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b\ud800-\udfff]", out)
    out.encode()


@pytest.mark.parametrize("name", FORMATS)
def test_secrets_are_masked_everywhere(name: str) -> None:
    out = rendered(poisoned(OOM, f"token {SECRET} password=hunter2"), name)
    assert "aB3aB3" not in out
    assert "hunter2" not in out
    assert "[masked]" in out.replace("\\", "")


@pytest.mark.parametrize("sample", SAMPLES)
def test_json_keeps_the_contract(sample: str) -> None:
    data = json.loads(rendered(SAMPLES[sample], "json"))
    VALIDATOR.validate(data)
    assert tuple(data["facts"])[: len(FACT_NAMES)] == FACT_NAMES


def test_json_keys_stand_in_the_order_of_the_contract() -> None:
    data = json.loads(rendered(OOM, "json"))
    assert list(data)[:17] == [
        "schema", "failed", "category", "rule", "ended", "confidence", "summary", "root", "facts", "downstream",
        "next_steps", "reasons", "unexplained", "attempt", "attempts", "slurm", "scanned",
    ]  # fmt: skip
    assert list(data["root"]) == [
        "rank", "ranks", "local_rank", "node", "gpu", "time", "time_source", "exception", "message", "frame", "chain",
        "phase", "attribution", "evidence",
    ]  # fmt: skip


def test_json_has_no_nan() -> None:
    data = json.loads(rendered(replace(OOM, facts={"peak_memory_gib": float("nan"), "tp": 2}), "json"))
    assert data["facts"]["peak_memory_gib"] is None
    assert data["facts"]["tp"] == 2


def test_schema_is_valid_and_names_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == {"schema", *(f.name for f in fields(Verdict))}
    assert set(SCHEMA["$defs"]["root"]["properties"]) == {f.name for f in fields(Root)}
    assert set(SCHEMA["$defs"]["evidence"]["properties"]) == {f.name for f in fields(Evidence)}
    assert tuple(SCHEMA["$defs"]["facts"]["properties"]) == FACT_NAMES
    assert SCHEMA["$defs"]["root"]["properties"]["phase"]["enum"] == [*PHASES, None]
    assert set(SCHEMAS) == {"bundle", "check", "config", "event", "submit", "verdict", "why-not"}


@pytest.mark.parametrize(
    "change",
    [
        {"category": "surprise"},
        {"failed": False},
        {"confidence": "certain"},
        {"attempt": 0},
        {"surprise": 1},
        {"scanned": {}},
        {"rule": "not a rule"},
    ],
)
def test_schema_is_strict(change: dict[str, Any]) -> None:
    data = json.loads(rendered(OOM, "json"))
    assert VALIDATOR.is_valid(data)
    assert not VALIDATOR.is_valid({**data, **change})


def test_schema_allows_more_facts_as_promised() -> None:
    data = json.loads(rendered(OOM, "json"))
    data["facts"]["expert_count"] = 8
    data["slurm"]["qos"] = "normal"
    VALIDATOR.validate(data)


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 200])
@pytest.mark.parametrize("text", ["", HOSTILE, "显存不足" * 60, "x" * 500])
def test_no_line_of_text_is_wider_than_asked(width: int, text: str) -> None:
    out = rendered(poisoned(OOM, text), "text", width)
    assert max(columns(line) for line in out.splitlines()) <= width


def test_answer_stands_in_the_first_lines() -> None:
    lines = rendered(replace(OOM, summary="rank 5 ran out of GPU memory"), "text").splitlines()
    assert lines[0] == "rank 5 ran out of GPU memory"
    assert lines[1] == "oom/cuda | confidence high | exit 10"


def test_text_shows_the_evidence() -> None:
    out = rendered(OOM, "text", 200)
    for part in (
        "node-a.err:120-141",
        "layers.py:1001 in forward",
        "ranks 0-4,6-15  node-b.err:88",
        "2 of 2",
        "core.1234 (binary)",
    ):
        assert part in out


def test_unknown_things_leave_no_empty_labels() -> None:
    for verdict in (HEALTHY, UNKNOWN):
        assert not re.search(r"^\S+ *$", rendered(verdict, "text").split("\n\n", 1)[1], re.M)


def test_colour_only_where_asked() -> None:
    assert "\x1b" not in rendered(OOM, "text")
    assert "\x1b[1;31m" in rendered(OOM, "text", color=True)
    assert "\x1b[1;32m" in rendered(HEALTHY, "text", color=True)


def test_long_message_is_cut_and_says_so() -> None:
    root = replace(OOM.root or Root(), message="\n".join(f"line {n}" for n in range(3000)))
    out = rendered(replace(OOM, root=root), "text")
    assert len(out.splitlines()) < 60
    assert "more lines)" in out


def test_long_path_loses_its_start_at_a_slash_and_keeps_file_and_line() -> None:
    cut = shortened("/lustre/some/where/deep/node-b.err:88-90", 30)
    assert columns(cut) <= 30
    assert cut == ".../deep/node-b.err:88-90"


def test_wide_characters_count_two_columns() -> None:
    assert wrapped("显存不足", 4) == ["显存", "不足"]


def test_github_is_one_command_on_the_line_of_the_evidence() -> None:
    out = rendered(poisoned(OOM, HOSTILE), "github")
    assert len(out.splitlines()) == 1
    assert out.count("::") == 2
    assert re.match(
        r"::error file=node-a\.err [^:,]*,line=120,endLine=141,title=triage%3A oom/cuda::rank 5", out
    )
    assert rendered(HEALTHY, "github").startswith("::notice title=triage%3A none::no failure")


def test_github_encodes_percent_first() -> None:
    assert "100%25 %250A" in rendered(replace(OOM, summary="100% %0A"), "github")


def test_standard_input_gets_no_file_property() -> None:
    root = replace(OOM.root or Root(), evidence=Evidence("-", 3, 4))
    assert "file=" not in rendered(replace(OOM, root=root), "github")


def test_markdown_escapes_markup_outside_code() -> None:
    out = rendered(replace(OOM, summary="<b>x</b> [a](http://b) *c* @someone #7"), "markdown")
    head = out.splitlines()[0]
    assert head == "### &lt;b&gt;x&lt;/b&gt; \\[a\\](http://b) \\*c\\* @\u2060someone \\#7"


def test_markdown_fence_outlasts_the_message() -> None:
    root = replace(OOM.root or Root(), message="a\n```\n# not a heading")
    out = rendered(replace(OOM, root=root), "markdown")
    assert "````text\n" in out
    assert out.count("\n````\n") == 1


def test_effects_that_read_the_same_are_told_once() -> None:
    effect = Downstream("nccl", "nccl/watchdog-timeout", "0-4", 5, Evidence("b.err", 8, 8))
    later = replace(effect, first=Evidence("b.err", 90, 90))
    verdict = replace(OOM, downstream=(effect, later, replace(later, ranks="7")))
    out = rendered(verdict, "text")
    assert "nccl/watchdog-timeout on ranks 0-4 (2 times)  b.err:8\n" in out
    assert "nccl/watchdog-timeout on rank 7  b.err:90\n" in out


def test_effect_of_unknown_ranks_claims_no_number() -> None:
    verdict = replace(
        OOM, downstream=(Downstream("hardware", "hardware/xid", "", 1, Evidence("kern.log", 3, 3)),)
    )
    assert "hardware/xid  kern.log:3\n" in rendered(verdict, "text")


def test_a_path_that_needs_the_whole_width_gets_it_so_that_it_can_be_opened() -> None:
    long = "/lustre/projects/team/runs/2026-12/llama-70b/logs/train-4811/12.err"
    root = replace(OOM.root or Root(), evidence=Evidence(long, 120, 141))
    row = replace(OOM.downstream[0], first=Evidence(long, 88, 88))
    out = rendered(replace(OOM, root=root, downstream=(row, *OOM.downstream)), "text").splitlines()
    assert f"  {long}:120-141" in out
    assert f"  {long}:88" in out
    assert len([line for line in out if line.startswith("downstream")]) == 1
