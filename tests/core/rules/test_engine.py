from __future__ import annotations

import pickle
import time
from dataclasses import replace

from triage.core.events.model import Exit, Frame, Link, Message, Span, Trace
from triage.core.rules import texts
from triage.core.rules.engine import MAX_LINKS, Engine
from triage.core.rules.model import On, Role, Rule
from triage.core.rules.ruleset import RuleSet

SPAN = Span(0, 0, 1)


def rule(name: str, **fields: object) -> Rule:
    base = Rule(f"x/{name}", "x", name, Role.ROOT, On.TRACE, ())
    return replace(base, **fields)  # type: ignore[arg-type]


def trace(exception: str | None, message: str = "", *frames: Frame) -> Trace:
    return Trace(SPAN, links=(Link(exception, message, frames),))


def ids(engine: Engine, event: object) -> list[str]:
    return [match.rule.id for match in engine.match(event)]  # type: ignore[arg-type]


def test_an_exception_pattern_fits_the_whole_name_or_its_last_part_and_no_piece() -> None:
    engine = Engine(RuleSet((rule("oom", exception="OutOfMemoryError"),)))
    assert ids(engine, trace("torch.cuda.OutOfMemoryError")) == ["x/oom"]
    assert ids(engine, trace("torch.cuda.torch.cuda.OutOfMemoryError")) == ["x/oom"]
    assert ids(engine, trace("MyOutOfMemoryError")) == []
    assert ids(engine, trace(None, "OutOfMemoryError")) == []


def test_each_link_of_a_chain_is_tried_and_named() -> None:
    engine = Engine(RuleSet((rule("a", pattern="first"), rule("b", pattern="second"))))
    chain = Trace(SPAN, links=(Link("E", "first"), Link("E", "second")))
    assert [(m.rule.id, m.link) for m in engine.match(chain)] == [("x/a", 0), ("x/b", 1)]


def test_a_frame_pattern_sees_only_the_innermost_frames() -> None:
    engine = Engine(RuleSet((rule("a", frame="data.py in get"),)))
    deep = [Frame("other.py", 1, f"f{n}") for n in range(texts.INNER_FRAMES)]
    assert ids(engine, trace("E", "", Frame("my/data.py", 3, "get_batch"))) == ["x/a"]
    assert ids(engine, trace("E", "", Frame("my/data.py", 3, "get_batch"), *deep)) == []


def test_best_first_is_specificity_then_the_earlier_link_then_id() -> None:
    rules = (rule("z", pattern="x", specificity=9), rule("b", pattern="x"), rule("a", pattern="x"))
    engine = Engine(RuleSet(rules))
    chain = Trace(SPAN, links=(Link("E", "x"), Link("E", "x")))
    found = [(m.rule.id, m.link) for m in engine.match(chain)]
    assert found == [("x/a", 0), ("x/b", 0), ("x/a", 1), ("x/b", 1), ("x/z", 0), ("x/z", 1)]


def test_unless_takes_a_match_back() -> None:
    engine = Engine(RuleSet((rule("a", pattern="error", unless="harmless"),)))
    assert ids(engine, trace("E", "error")) == ["x/a"]
    assert ids(engine, trace("E", "harmless error")) == []


def test_captures_hold_the_groups_that_took_part_and_the_plain_message() -> None:
    engine = Engine(
        RuleSet((rule("a", pattern=r"(?P<size>\d+) GiB|(?P<other>x)", frame=r"(?P<file>\w+\.py)"),))
    )
    match = engine.match(trace("torch.E", "needs 5 GiB\nmore", Frame("a/b.py", 1, "f")))[0]
    assert match.captures == {"size": "5", "file": "b.py", "exception": "torch.E", "message": "needs 5 GiB"}


def test_captures_of_the_message_alone_are_a_mapping_like_others_and_can_be_handed_on() -> None:
    engine = Engine(RuleSet((rule("a", on=On.MESSAGE, pattern="memory"),)))
    found = engine.match(Message(SPAN, text="out of memory\nmore"))[0].captures
    assert found == {"message": "out of memory"}
    assert pickle.loads(pickle.dumps(found)) == found
    assert "rank" not in found
    assert dict(found) == {"message": "out of memory"}


def test_a_rule_on_messages_too_ignores_exception_and_frame_there() -> None:
    both = rule("a", also_on=(On.MESSAGE,), literals=("memory",), exception="X", frame="f", pattern="memory")
    engine = Engine(RuleSet((both,)))
    assert ids(engine, Message(SPAN, text="out of memory")) == ["x/a"]
    assert ids(engine, trace("Y", "out of memory")) == []


def test_exits_are_matched_in_their_text_form() -> None:
    engine = Engine(
        RuleSet((rule("kill", on=On.EXIT, literals=("SIGKILL",), pattern="^torchrun: exitcode -9"),))
    )
    assert ids(engine, Exit(SPAN, by="torchrun", exitcode=-9)) == ["x/kill"]
    assert ids(engine, Exit(SPAN, by="torchrun", exitcode=-9, victim=True)) == []
    assert (
        texts.of_exit(Exit(SPAN, by="srun", ranks=(1,), reason="Out Of Memory"))
        == "srun: task 1: Out Of Memory"
    )
    assert (
        texts.of_exit(Exit(SPAN, by="torchrun", exitcode=-9, reason="gone"))
        == "torchrun: exitcode -9 signal SIGKILL: gone"
    )
    assert texts.of_exit(Exit(SPAN, exitcode=-99)) == "process: exitcode -99 signal 99"


def test_an_exploding_unless_never_lets_its_rule_match() -> None:
    engine = Engine(RuleSet((rule("bad", pattern="x", unless=r"(?:x+x+)+y"),)), timeout_s=0.01)
    event = trace("E", "x" * 8000)
    assert [ids(engine, event) for _ in range(4)] == [[]] * 4
    assert engine.timeouts == ["x/bad"]


def test_the_second_time_out_of_a_rule_is_named_and_its_last() -> None:
    bad = rule("bad", pattern=r"(?:x+x+)+y")
    engine = Engine(RuleSet((bad,)), timeout_s=0.01)
    event = trace("E", "x" * 8000)
    assert ids(engine, event) == []
    assert engine.timeouts == []
    assert ids(engine, event) == []
    assert engine.timeouts == ["x/bad"]
    started = time.monotonic()
    assert [ids(engine, event) for _ in range(1000)] == [[]] * 1000
    assert time.monotonic() - started < 2


def test_texts_are_bounded_whatever_the_event_holds() -> None:
    engine = Engine(
        RuleSet((rule("a", pattern="end"), rule("m", on=On.MESSAGE, literals=("end",), pattern="end")))
    )
    assert ids(engine, trace("E", "x" * 10_000_000 + "end")) == []
    assert ids(engine, Message(SPAN, text="x" * 10_000_000 + "end")) == []
    links = tuple(Link("E", "end") for _ in range(100_000))
    assert len(engine.match(Trace(SPAN, links=links))) == MAX_LINKS
    assert engine.match(Trace(SPAN, links=())) == []


def test_the_prefilter_finds_a_literal_that_ends_where_another_begins() -> None:
    rules = (
        rule("a", literals=("out of mem",), pattern="out of mem"),
        rule("b", literals=("memory",), pattern="memory"),
        rule("c", literals=("of",), pattern="of"),
    )
    assert ids(Engine(RuleSet(rules)), trace("E", "out of memory")) == ["x/a", "x/b", "x/c"]
