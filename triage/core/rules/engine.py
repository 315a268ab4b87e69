"""Which rules match an event.

A substring prefilter names the few rules worth trying; only their patterns are ever compiled and run. `regex` runs
with a time limit, so neither a hostile log nor a careless pattern can hang the tool. `naive_match` tries every rule
and is the prefilter's oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from triage.core.events.model import Event, Exit, Message, Trace
from triage.core.rules import texts
from triage.core.rules.model import On, Rule
from triage.core.rules.names import listed
from triage.core.rules.shape import MOST, holds_value, is_blind, shape
from triage.core.values import dataclass, field
from triage.errors import RuleError

if TYPE_CHECKING:
    from triage.core.rules.ruleset import RuleSet

MAX_STRIKES = 2
"""A pattern may run out of time once: the machine may just be busy."""

MAX_LINKS = 64
"""Links of one trace that are tried: the first ones and the last ones."""

_Spans = tuple[tuple[str, int, int], ...]
"""Name, start and end of each named group that took part."""


@dataclass(frozen=True, slots=True)
class Match:
    """A rule on an event; `link` is the chain link of a trace, else None."""

    rule: Rule
    link: int | None
    captures: Mapping[str, str]
    """Named groups that took part, and `exception` and `message` (its first line)."""


class Bare(Mapping[str, str]):
    """The captures of most matches: the message alone, without a dictionary for each."""

    __slots__ = ("_message",)

    def __init__(self, message: str) -> None:
        self._message = message

    def __getitem__(self, name: str) -> str:
        if name == "message":
            return self._message
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("message",))

    def __len__(self) -> int:
        return 1

    def __reduce__(self) -> tuple[type[Bare], tuple[str]]:
        return Bare, (self._message,)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that an event's text may match; only `Engine.tried` tells."""

    rule: Rule
    link: int | None
    text: texts.TraceText | str


class Engine:
    """Rules made ready for matching. Keeps compiled patterns and the list of rules that ran out of time."""

    def __init__(self, ruleset: RuleSet, timeout_s: float = 0.05) -> None:
        self.timeout_s = timeout_s
        self.timeouts: list[str] = []
        """Ids of rules whose patterns ran out of time again and again, each once; they are skipped from then on."""
        self._strikes: dict[str, int] = {}
        self._compiled: dict[str, Any] = {}
        self._known: dict[tuple[str, bool, bytes], _Spans | None] = {}
        """What patterns that are blind to digits' values found in texts of a shape."""
        self._names: dict[str, frozenset[str] | None] = {}
        self._tables = {on: _Table(_of_kind(ruleset.rules, on)) for on in On}

    def match(self, event: Event) -> list[Match]:
        """All rules that match, best first: specificity, then the earlier link, then id."""
        return self._match(event, _Table.fast)

    def naive_match(self, event: Event) -> list[Match]:
        """The same, each rule's literals looked for one by one."""
        return self._match(event, _Table.slow)

    def patterns_match(self, event: Event) -> list[Match]:
        """What the patterns alone would match, without any literal: for finding rules whose literals are wrong."""
        return self._match(event, _Table.all)

    def candidates(self, event: Event) -> list[Candidate]:
        """The rules worth trying on an event, in no useful order."""
        return self._candidates(event, _Table.fast)

    def tried(self, candidate: Candidate) -> Match | None:
        """The candidate's match, if its patterns are found."""
        rule, text = candidate.rule, candidate.text
        captures = self._on_text(rule, text, "") if isinstance(text, str) else self._on_trace(rule, text)
        if captures is None:
            return None
        bare = len(captures) == 1 and "message" in captures
        return Match(rule, candidate.link, Bare(captures["message"]) if bare else captures)

    def _match(self, event: Event, choose: Callable[[_Table, str], Iterable[Rule]]) -> list[Match]:
        tried = (self.tried(candidate) for candidate in self._candidates(event, choose))
        found = [match for match in tried if match is not None]
        found.sort(key=lambda m: (-m.rule.specificity, m.link or 0, m.rule.id))
        return found

    def _candidates(self, event: Event, choose: Callable[[_Table, str], Iterable[Rule]]) -> list[Candidate]:
        if isinstance(event, Trace):
            table = self._tables[On.TRACE]
            numbers = _link_numbers(len(event.links))
            links = [(number, texts.of_link(event.links[number])) for number in numbers]
            return [
                Candidate(rule, number, text) for number, text in links for rule in choose(table, text.all)
            ]
        if isinstance(event, Message):
            plain = event.text[: texts.MAX_TEXT]
            return [Candidate(rule, None, plain) for rule in choose(self._tables[On.MESSAGE], plain)]
        if isinstance(event, Exit):
            plain = texts.of_exit(event)
            return [Candidate(rule, None, plain) for rule in choose(self._tables[On.EXIT], plain)]
        return []

    def _on_trace(self, rule: Rule, text: texts.TraceText) -> dict[str, str] | None:
        groups: dict[str, str] = {}
        if rule.exception and not self._raises(rule, text.exception):
            return None
        if rule.frame:
            named = self._run(rule, rule.frame, text.frames)
            if named is None:
                return None
            groups.update(named)
        rest = self._on_text(rule, text.head, text.exception)
        return None if rest is None else groups | rest

    def _raises(self, rule: Rule, exception: str) -> bool:
        """Whether the whole name or its last part fits."""
        last = exception.rpartition(".")[2]
        if rule.exception not in self._names:
            self._names[rule.exception] = listed(rule.exception)
        names = self._names[rule.exception]
        if names is not None:
            return last in names
        return bool(exception) and any(
            self._run(rule, rule.exception, name, whole=True) is not None for name in (exception, last)
        )

    def _on_text(self, rule: Rule, text: str, exception: str) -> dict[str, str] | None:
        groups = {"message": text.removeprefix(f"{exception}: ").partition("\n")[0].strip()}
        if exception:
            groups["exception"] = exception
        if rule.pattern:
            named = self._run(rule, rule.pattern, text)
            if named is None:
                return None
            groups.update(named)
        if rule.unless:
            strikes = self._strikes.get(rule.id, 0)
            if self._run(rule, rule.unless, text) is not None or self._strikes.get(rule.id, 0) > strikes:
                return None
        return None if rule.id in self.timeouts else groups

    def _run(self, rule: Rule, pattern: str, text: str, *, whole: bool = False) -> dict[str, str] | None:
        """The named groups of a match, or None; a pattern that runs out of time matches nothing."""
        if rule.id in self.timeouts:
            return None
        form = shape(text) if is_blind(pattern) else None
        if form is None:
            spans = self._search(rule, pattern, text, whole)
        elif (key := (pattern, whole, form)) in self._known:
            spans = self._known[key]
        else:
            strikes = self._strikes.get(rule.id, 0)
            spans = self._search(rule, pattern, text, whole)
            if len(self._known) >= MOST:
                self._known.clear()
            if self._strikes.get(rule.id, 0) == strikes:
                self._known[key] = spans
        return None if spans is None else {name: text[start:end] for name, start, end in spans}

    def _search(self, rule: Rule, pattern: str, text: str, whole: bool) -> _Spans | None:
        compiled = self._compiled.get(pattern)
        if compiled is None:
            import regex

            try:
                compiled = self._compiled[pattern] = regex.compile(pattern)
            except regex.error as error:
                raise RuleError(
                    [f"{rule.path or rule.id}:1: not a valid regular expression: {error}"]
                ) from error
        try:
            found = (compiled.fullmatch if whole else compiled.search)(text, timeout=self.timeout_s)
        except TimeoutError:
            self._strikes[rule.id] = self._strikes.get(rule.id, 0) + 1
            if self._strikes[rule.id] >= MAX_STRIKES:
                self.timeouts.append(rule.id)
            return None
        if found is None:
            return None
        return tuple((name, *found.span(name)) for name in compiled.groupindex if found[name] is not None)


@dataclass(slots=True)
class _Table:
    """The rules of one event kind with their prefilter."""

    rules: Sequence[Rule]
    _always: list[int] = field(init=False)
    _by_literal: dict[str, list[int]] = field(init=False)
    _literals: list[str] = field(init=False)
    _automaton: Any = field(init=False, default=None)
    _valued: tuple[bytes, ...] = field(init=False)
    """Shapes of literals that hold digits."""
    _known: dict[bytes, list[Rule]] = field(init=False, default_factory=dict)
    """What `fast` answered for texts of a shape in which none of those stands."""

    def __post_init__(self) -> None:
        self._always = [n for n, rule in enumerate(self.rules) if not rule.literals]
        self._by_literal = {}
        for number, rule in enumerate(self.rules):
            for text in rule.literals:
                self._by_literal.setdefault(text, []).append(number)
        self._literals = list(self._by_literal)
        shapes = (shape(literal) for literal in self._literals if holds_value(literal))
        self._valued = tuple(dict.fromkeys(form for form in shapes if form is not None))

    def all(self, text: str) -> Iterable[Rule]:  # noqa: ARG002
        return self.rules

    def slow(self, text: str) -> Iterable[Rule]:
        """As `fast`, each literal looked for by itself."""
        return [r for r in self.rules if not r.literals or any(literal in text for literal in r.literals)]

    def fast(self, text: str) -> Iterable[Rule]:
        """The rules of which a literal stands in the text, and those without literals, in the table's order.

        A literal is part of what a rule says: without one of them in the text its pattern is not asked.
        """
        form = shape(text)
        if form is None:
            return self._search(text)
        if form not in self._known:
            found = self._search(text)
            if any(literal in form for literal in self._valued):
                return found
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[form] = found
        return self._known[form]

    def _search(self, text: str) -> list[Rule]:
        if self._automaton is None and self._literals:
            from ahocorasick_rs import AhoCorasick

            self._automaton = AhoCorasick(self._literals)
        found = self._automaton.find_matches_as_indexes(text, overlapping=True) if self._literals else ()
        hits = set(self._always)
        for index in {which for which, _, _ in found}:
            hits.update(self._by_literal[self._literals[index]])
        return [self.rules[number] for number in sorted(hits)]


def _of_kind(rules: Iterable[Rule], on: On) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.on is on or on in rule.also_on)


def _link_numbers(count: int) -> Iterable[int]:
    if count <= MAX_LINKS:
        return range(count)
    half = MAX_LINKS // 2
    return (*range(half), *range(count - half, count))
