"""Sources that are alike but for their writers' own numbers: what is kept of one is found out once, for all of them.

The ranks of a large job write thousands of small files, of which each would be read in full. Of a file's outline it is tried
what becomes of the kept events when its numbers are others; from then on a file with that outline is not read but told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from triage.core.cause.keeper import Kept, Outcome, in_brief
from triage.core.logs.outline import LARGEST, Outline, changes, shape
from triage.core.logs.record import Stamp, Tags
from triage.core.recipe import Recipe, Unexplained, recipe

EXAMPLES = 3
OFTEN = 4
"""Files of one shape before their outline is worth the trials."""
RARELY = 32
"""One outline is tried for so many files read, ..."""
USED = 8
"""... and one more for so many files told: what never comes again is not tried again and again."""
OUTLINES = 8
"""Of one shape."""
SHAPES = 20_000

_SOURCES = tuple(1_000_003 * (n + 1) for n in range(EXAMPLES))
"""Numbers of the sources in the trials: no other number in them is one of these."""


class Form:
    """What becomes of the files with one outline, from examples of it."""

    def __init__(self, number: int, numbers: Sequence[tuple[str, ...]], outcomes: Sequence[Outcome]) -> None:
        self.number = number
        """By which other processes know it."""
        self.examples = (number, numbers, outcomes)
        """All that it takes to make it again."""
        ends = [0]
        for row in numbers:
            ends.append(ends[-1] + len(row[0]))
        self.slices = tuple(map(slice, ends, ends[1:]))
        """Where each number stands in all of them joined."""

    def explains(self) -> bool:
        """Whether the numbers tell all that differs."""
        if len({(o.size, o.passed_over) for o in self.examples[2]}) > 1:
            return False
        try:
            return None not in (self.tags, self.stamps, self.kept)
        except Unexplained:
            return False

    def outcome(self, source: int, values: Sequence[str]) -> Outcome:
        """Of a source with these numbers."""
        first = self.examples[2][0]
        return Outcome(first.size, first.passed_over, Twin(self, source, "".join(values)))

    @cached_property
    def tags(self) -> Recipe[tuple[Tags, ...]]:
        _, numbers, outcomes = self.examples
        return recipe([o.holding.tags for o in outcomes], _SOURCES, numbers)

    @cached_property
    def stamps(self) -> Recipe[tuple[Stamp, ...]]:
        _, numbers, outcomes = self.examples
        return recipe([o.holding.stamps for o in outcomes], _SOURCES, numbers)

    @cached_property
    def kept(self) -> Recipe[tuple[Kept, ...]]:
        _, numbers, outcomes = self.examples
        return recipe([o.holding.kept for o in outcomes], _SOURCES, numbers)

    @cached_property
    def recent(self) -> Recipe[tuple[Stamp, ...]]:
        _, numbers, outcomes = self.examples
        return recipe([o.holding.stamps[-1:] for o in outcomes], _SOURCES, numbers)

    @cached_property
    def brief(self) -> Recipe[tuple[Kept, ...]]:
        _, numbers, outcomes = self.examples
        return recipe([in_brief(o.holding.kept) for o in outcomes], _SOURCES, numbers)


class Twin:
    """What is kept of a source that is told by its form: made when it is asked for."""

    __slots__ = ("_form", "_source", "_text")

    def __init__(self, form: Form, source: int, text: str) -> None:
        self._form = form
        self._source = source
        self._text = text

    @property
    def tags(self) -> tuple[Tags, ...]:
        return self._form.tags(self._source, *self._numbers())

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        return self._form.stamps(self._source, *self._numbers())

    @property
    def kept(self) -> tuple[Kept, ...]:
        return self._form.kept(self._source, *self._numbers())

    @property
    def recent(self) -> tuple[Stamp, ...]:
        return self._form.recent(self._source, *self._numbers())

    @property
    def brief(self) -> tuple[Kept, ...]:
        return self._form.brief(self._source, *self._numbers())

    def _numbers(self) -> list[str]:
        text = self._text
        return [text[where] for where in self._form.slices]

    def __reduce__(self) -> tuple[type[Twin], tuple[Form, int, str]]:
        return Twin, (self._form, self._source, self._text)


class Twins:
    """The outlines seen so far, and what they tell."""

    def __init__(self, read: Callable[[int, bytes], Outcome]) -> None:
        self._read = read
        """Reads a source's bytes closely, by the source's number."""
        self._seen: dict[int, int] = {}
        """How many files of each shape were read."""
        self._known: dict[int, list[tuple[Outline, Form | None]]] = {}
        self._files = self._told = 0
        self.forms: list[Form] = []

    def outcome(self, source: int, data: bytes) -> Outcome:
        """What is left of a source that holds these bytes."""
        if len(data) > LARGEST:
            return self._read(source, data)
        kind = hash(shape(data))
        for outline, form in self._known.get(kind, ()):
            values = outline.values(data)
            if values is not None:
                self._told += 1
                return self._read(source, data) if form is None else form.outcome(source, values)
        self._files += 1
        if len(self._seen) < SHAPES or kind in self._seen:
            self._seen[kind] = self._seen.get(kind, 0) + 1
            if self._is_worth_it(kind):
                self._known.setdefault(kind, []).append(self._tried(data))
        return self._read(source, data)

    def _is_worth_it(self, kind: int) -> bool:
        tried = sum(map(len, self._known.values()))
        return (
            self._seen[kind] >= OFTEN
            and len(self._known.get(kind, ())) < OUTLINES
            and tried < self._files // RARELY + self._told // USED
        )

    def _tried(self, data: bytes) -> tuple[Outline, Form | None]:
        outline = Outline(data)
        files = [data, *(outline.changed(step) for step in range(1, EXAMPLES))]
        numbers = changes(outline, files)
        if numbers is None:
            return outline, None
        form = Form(len(self.forms), numbers, [self._read(*one) for one in zip(_SOURCES, files, strict=True)])
        if not form.explains():
            return outline, None
        self.forms.append(form)
        return outline, form
