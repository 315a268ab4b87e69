"""What makes a rule that parses a good rule: it finds its own examples, leaves the near misses, and can be read.

Slow (it compiles every pattern), so it runs for `triage rules check`, for tests, and for a user's own rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from triage.core.events.model import Event, Exit, Message, Span, Trace
from triage.core.logs import anchors
from triage.core.rules import template, texts
from triage.core.rules.engine import Engine
from triage.core.rules.keylines import KeyLines
from triage.core.rules.model import Example, On, Role, Rule
from triage.core.rules.ruleset import RuleSet
from triage.core.values import dataclass, replace

CHECK_TIMEOUT_S = 1.0


CONCLUSION_NAMES = frozenset({"silent_s"})
"""What the selection itself provides for the sentences of its conclusions."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A mistake (`error`) or something to know (`note`)."""

    path: str
    line: int
    sentence: str
    error: bool = True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.sentence}"


def lint(
    ruleset: RuleSet, sources: Iterable[tuple[str, str]], *, names: Iterable[str], shipped: bool = False
) -> list[Remark]:
    """All remarks on the set's rules, by path and line.

    `sources` are the files the set was parsed from; `names` what the verdict can fill in beside captures (facts, and
    `rank`, `node` ...). Rules shipped with the tool are held to more than a user's.
    """
    provided = frozenset(names)
    lines = {path: KeyLines(text) for path, text in sources}
    remarks: list[Remark] = []
    for rule in ruleset.rules:
        check = _RuleCheck(rule, lines.get(rule.path) or KeyLines(""), provided, shipped)
        check.run()
        remarks.extend(check.remarks)
    remarks.extend(_frame_patterns(ruleset))
    return sorted(remarks, key=lambda r: (r.path, r.line, r.sentence))


def event_of(rule: Rule, text: str, on: On | None = None) -> Event:
    """An event made from an example's text, of the kind the rule reads (or of `on`)."""
    span = Span(0, 0, len(text))
    kind = on or rule.on
    if kind is On.TRACE:
        return Trace(span, links=(texts.link_from_example(text),))
    if kind is On.MESSAGE:
        return Message(span, text=text.strip("\n"))
    return exit_from_example(text)


def exit_from_example(text: str) -> Exit:
    """The inverse of `texts.of_exit` as far as examples need it: `by: [victim:] [task N:] [exitcode N] ...`."""
    by, _, rest = text.strip().partition(": ")
    victim = rest.startswith("victim")
    rest = rest.removeprefix("victim").removeprefix(": ")
    tasks = re.match(r"tasks? (\d+)(?:-(\d+))?(?:: |$)", rest)
    ranks: tuple[int, ...] = ()
    if tasks:
        ranks = (int(tasks[1]),) if tasks[2] is None else (int(tasks[1]), int(tasks[2]))
        rest = rest[tasks.end() :]
    code = re.match(r"exitcode (-?\d+)(?: signal \w+)?(?:: |$)", rest)
    if code:
        rest = rest[code.end() :]
    return Exit(
        Span(0, 0, len(text)),
        by=by,
        victim=victim,
        ranks=ranks,
        exitcode=int(code[1]) if code else None,
        reason=rest,
    )


class _RuleCheck:
    def __init__(self, rule: Rule, lines: KeyLines, provided: frozenset[str], shipped: bool) -> None:
        self.rule = rule
        self.lines = lines
        self.provided = provided
        self.shipped = shipped
        self.remarks: list[Remark] = []

    def wrong(self, key: str, sentence: str, *, error: bool = True) -> None:
        self.remarks.append(Remark(self.rule.path, self.lines.of(key), sentence, error))

    def run(self) -> None:
        groups = self._patterns()
        if groups is None:
            return
        self._names(groups)
        if self.rule.on is On.CONCLUSION:
            return
        self._anchors()
        self._examples()

    def _patterns(self) -> set[str] | None:
        """The names of all groups; None when a pattern does not compile."""
        import regex

        groups: set[str] = set()
        good = True
        for key in ("pattern", "exception", "frame", "unless"):
            text: str = getattr(self.rule, key)
            if not text:
                continue
            try:
                compiled: Any = regex.compile(text)
            except (regex.error, RecursionError, OverflowError) as error:
                self.wrong(key, f'"{key}" is not a valid regular expression: {error}')
                good = False
                continue
            if key in ("pattern", "frame"):
                groups.update(compiled.groupindex)
            if compiled.search("", timeout=CHECK_TIMEOUT_S) is not None:
                self.wrong(key, f'"{key}" matches the empty text, so it matches everything')
        return groups if good else None

    def _names(self, groups: set[str]) -> None:
        known = {*groups, *self.provided, "message"}
        if self.rule.on is On.CONCLUSION:
            known |= CONCLUSION_NAMES
        if self.rule.on is On.TRACE:
            known.add("exception")
        for key, templates in (("summary", (self.rule.summary,)), ("next_steps", self.rule.next_steps)):
            for text in templates:
                for name in template.names(text):
                    if name not in known:
                        self.wrong(
                            key,
                            f'"{key}" uses {{{name}}}, which no group of the patterns and no fact provides',
                        )
        last = self.rule.summary.split("\n")[-1]
        if set(template.names(last)) - {"message", "exception"}:
            self.wrong(
                "summary", "the last summary must do without names that may be unknown", error=self.shipped
            )
        if self.rule.role in (Role.ROOT, Role.DOWNSTREAM) and not self.rule.next_steps:
            self.wrong("next_steps", "there are no next steps", error=self.shipped)

    def _anchors(self) -> None:
        if On.MESSAGE not in (self.rule.on, *self.rule.also_on):
            return
        for literal in anchors.missing((self.rule.raw,) if self.rule.raw else self.rule.literals):
            self.wrong(
                "literals",
                f'literal "{literal}" contains no anchor of the raw scan, so lines with it may not be read',
                error=self.shipped,
            )

    def _examples(self) -> None:
        rule = self.rule
        for name, examples in (("match", rule.matches), ("ignore", rule.ignores)):
            if not examples:
                self.wrong("", f"there is no [[{name}]] example")
        if self.shipped and not any(example.source for example in rule.matches):
            self.wrong("", "no [[match]] example says where it was seen (source)")
        engine = Engine(RuleSet((rule,)), timeout_s=CHECK_TIMEOUT_S)
        for example in rule.matches:
            self._match_example(engine, example)
        for example in rule.ignores:
            if any(
                engine.patterns_match(event_of(rule, example.text, on)) for on in (rule.on, *rule.also_on)
            ):
                self._at(example, "the rule matches this near miss")
        for rule_id in engine.timeouts:
            self.wrong(
                "pattern", f"a pattern of {rule_id} takes longer than {CHECK_TIMEOUT_S:.0f} s on an example"
            )

    def _match_example(self, engine: Engine, example: Example) -> None:
        events = [event_of(self.rule, example.text, on) for on in (self.rule.on, *self.rule.also_on)]
        hit = [event for event in events if engine.patterns_match(event)]
        if not hit:
            self._at(example, "the rule does not match this example")
        elif not any(engine.match(event) for event in hit):
            self._at(example, "none of the literals stands in this example, so it would never be tried")

    def _at(self, example: Example, sentence: str) -> None:
        self.remarks.append(Remark(self.rule.path, example.line or 1, sentence))


def _frame_patterns(ruleset: RuleSet) -> list[Remark]:
    remarks = []
    for row in ruleset.frames:
        for text in (row.file, row.function):
            try:
                re.compile(text)
            except re.error as error:
                remarks.append(Remark("frames.toml", 1, f"not a valid regular expression: {text}: {error}"))
    return remarks


def shadowed(ruleset: RuleSet) -> list[Remark]:
    """Match examples of a rule that another rule of the set wins."""
    engine = Engine(replace(ruleset), timeout_s=CHECK_TIMEOUT_S)
    remarks = []
    for rule in ruleset.rules:
        for example in rule.matches:
            for on in (rule.on, *rule.also_on):
                found = [match.rule.id for match in engine.match(event_of(rule, example.text, on))]
                if rule.id in found and found[0] != rule.id:
                    remarks.append(
                        Remark(rule.path, example.line or 1, f"{found[0]} wins this example over {rule.id}")
                    )
    return remarks
