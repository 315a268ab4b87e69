"""The index of signs answers as a walk over all of them would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.core.cause.signs import Elsewhere, Sign
from triage.core.events.model import Progress, Span

KINDS = ("iteration", "iteration", "saved", "done", "success")


def sign(source: int, at: int, time: float | None, kind: str) -> Sign:
    return Sign(Progress(Span(source, at, at + 1), kind=kind), time)


signs_of_life = st.lists(
    st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9).map(float), st.sampled_from(KINDS)),
    max_size=25,
).map(lambda rows: [sign(s, n, t, k) for n, (s, t, k) in enumerate(sorted(rows, key=lambda row: row[0]))])


@given(signs_of_life, st.integers(-1, 10).map(float), st.integers(0, 4))
def test_what_others_show_later_is_what_a_walk_finds(signs: list[Sign], time: float, source: int) -> None:
    index = Elsewhere(signs)
    later = [s for s in signs if s.time is not None and s.time > time and s.progress.span.source != source]
    assert index.last(time, source) == (later[-1] if later else None)
    assert index.iterations(time, source) == sum(s.progress.kind == "iteration" for s in later)
    for kinds in ({"done"}, {"success"}, {"done", "success"}):
        assert index.shows(kinds, time, source) == any(s.progress.kind in kinds for s in later)
