"""Which rank let a collective fail: a pure choice from collective events, errors and exits.

The evidence is asked in this order; the first that singles one out answers:
1. what torch itself concluded (fr_trace, the desync report, a monitored barrier, a rank whose own watchdog met a
   CUDA error), 2. a process that ended by itself before the others complained, 3. peers that lost connections name,
4. a rank in another collective than its group, 5. the end of the chain of waits, 6. the only rank that did not
complain, 7. where all complained, the only one whose stack ends in another collective than all others', 8. a watchdog
that was stuck itself. Two equally good candidates are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triage.core.cause.case import Case
from triage.core.cause.conclusions import conclusion
from triage.core.cause.ends import lost_node
from triage.core.cause.groups import description_of
from triage.core.cause.ranges import fold as _fold
from triage.core.cause.situation import MAX_PER_NODE, Culprit, RankError, RankExit, Seen, Situation
from triage.core.cause.waiting import WAITING
from triage.core.values import replace

NOBODY = Culprit((), (), "", "none", False)
SKEW = 2.0
"""Seconds by which clocks of two hosts may differ, and the step of a launcher's whole-second stamps."""

__all__ = ["Culprit", "RankError", "RankExit", "Seen", "Situation", "find_culprit"]


def find_culprit(collectives: Sequence[Seen], world: Situation) -> Culprit:
    """Whom the evidence singles out; `how` is `none` and `unknown` says what is missing where it does not."""
    case = Case(collectives, world)
    doubts: list[str] = []
    for question in _QUESTIONS:
        answer = question(case)
        if answer is None:
            continue
        if answer.how != "none":
            unknown = "; ".join(filter(None, dict.fromkeys([answer.unknown, *doubts])))
            return replace(answer, confident=answer.confident and not doubts, unknown=unknown)
        doubts.append(answer.unknown)
    peers = tuple(dict.fromkeys(loss.peer for loss in case.losses if loss.node is None))
    unknown = "; ".join(dict.fromkeys(d for d in doubts if d))
    return replace(
        NOBODY, began=case.began, peers=peers, unknown=unknown or "which rank the others waited for"
    )


def fold(ranks: Iterable[int]) -> str:
    """Ranks as people write them, cut where there is no end to them."""
    text = _fold(ranks)
    return text if len(text) <= 100 else text[: text.rindex(",", 0, 100)] + ",..."


def _none(unknown: str) -> Culprit:
    return replace(NOBODY, unknown=unknown)


def _concluded(case: Case) -> Culprit | None:
    """What torch's own reports say."""
    answer = conclusion(case.seen, case.groups)
    if answer is None:
        return None
    if not answer.ranks:
        return _none(answer.unknown)
    return case.of_ranks(answer.ranks, answer.why, answer.how, answer.confident, answer.unknown)


def _ended_first(case: Case) -> Culprit | None:
    """A process that ended by itself without complaining about others. A plain failure code or an abort is also
    how those end that complain, so there it must be clear who complained."""
    clear = bool(case.reporters) and not case.unattributed
    own = [
        e
        for e in case.situation.exits
        if e.rank is not None and not e.victim and not e.stuck and e.rank not in case.reporters
        and (_killed(e) or (clear and e.exitcode not in (None, 0, *_ASKED)))
    ]  # fmt: skip
    ranks = {e.rank for e in own}
    if len(ranks) > 1:
        earliest = _earliest(own)
        if earliest is None:
            return _none(f"which of ranks {fold(r for r in ranks if r is not None)} ended first")
        own = [earliest]
    if not own or own[0].rank is None:
        return None
    rank, code = own[0].rank, own[0].exitcode
    what = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    why = f"rank {rank} ended by {what} and did not complain about any other rank"
    if case.reporters:
        why += f", while ranks {fold(case.reporters)} did"
    answer = case.of_ranks((rank,), why, "first-exit", True)
    return replace(
        answer,
        nodes=answer.nodes or ((own[0].node,) if own[0].node else ()),
        began=own[0].time or answer.began,
    )


_ASKED = (-1, -2, -15, 129, 130, 143)
"""Exit codes of a process that was asked to end (SIGHUP, SIGINT, SIGTERM)."""


def _killed(exit_: RankExit) -> bool:
    """It ended by a signal that a process with a failed collective does not end by."""
    code = exit_.exitcode
    number = 0 if code is None else -code if code < 0 else code - 128
    return number in (4, 5, 7, 8, 9, 11)


def _earliest(exits: Sequence[RankExit]) -> RankExit | None:
    """The exit before all others by more than the stamps' grain, or the only one by a signal marked as first."""
    timed = sorted((e for e in exits if e.time is not None), key=lambda e: e.time or 0.0)
    if len(timed) == len(exits) and (timed[1].time or 0.0) - (timed[0].time or 0.0) > SKEW:
        return timed[0]
    killed = [e for e in exits if _killed(e)]
    return killed[0] if len(killed) == 1 else None


def _other_error(case: Case) -> Culprit | None:
    """A rank that raised something that is not about collectives, alone."""
    others = {e.rank for e in case.situation.errors if e.kind == "own"} - case.reporters
    if len(others) != 1 or not case.reporters:
        return None
    rank = next(iter(others))
    why = f"rank {rank} raised an error of its own; ranks {fold(case.reporters)} only complain about others"
    return case.of_ranks((rank,), why, "named", True)


def _lost_peer(case: Case) -> Culprit | None:
    found = [loss for loss in case.losses if loss.node is not None]
    node, why = lost_node(found)
    if node is None:
        unknown = [loss.peer for loss in case.losses if loss.node is None]
        if why:
            return _none(why)
        if unknown:
            return _none(f"whose address {unknown[0]} is, which the lost connections name")
        return None
    on = set(case.ranks_on(node))
    silent = on - case.reporters
    blamed = case.chain.ends() & silent
    ranks: tuple[int, ...] = ()
    if len(on) == 1:
        ranks = tuple(on)
    elif len(blamed) == 1:
        ranks = tuple(blamed)
    connects = all(loss.what == "connect" for loss in found)
    unknown_ = "" if ranks else f"which process on {node} it was"
    sure = not connects and node in case.situation.nodes
    return Culprit(ranks, (node,), why, "named", sure, case.began, unknown_)


def _other_collective(case: Case) -> Culprit | None:
    odd = case.chain.odd
    if len(odd) == 1:
        rank, (group, state) = next(iter(odd.items()))
        why = f"rank {rank} is in {state.op} #{state.seq} where the rest of {_label(group.name)} is in another collective"
        return case.of_ranks((rank,), why, "other-collective", True)
    if odd:
        return _none(f"why ranks {fold(odd)} are in another collective than the rest of their group")
    if case.chain.split:
        group, kinds = case.chain.split[0]
        sides = " and ".join(
            f"{kind[0]} on rank{'s' if len(ranks) > 1 else ''} {fold(ranks)}"
            for kind, ranks in sorted(kinds.items(), key=str)
        )
        return _none(f"which side of {_label(group.name)} is wrong: {sides}")
    return None


def _chain_end(case: Case) -> Culprit | None:
    chain = case.chain
    ends = {r for r in chain.ends() if r in chain.behind or r not in case.reporters}
    if not ends:
        circle = chain.circle()
        if circle:
            return _none(
                f"which of ranks {fold(circle)} left the common order: they wait for one another in a circle"
            )
        if chain.together:
            return _none(
                f"why no member of {_label(chain.together[0].name)} finished: all are in the same collective, so it is"
                " the transport or a device rather than a missing rank"
            )
        return None
    if len(chain.ahead) == 1 and not (ends & set(chain.odd)) and len(ends) > 1:
        rank, (group, state) = next(iter(chain.ahead.items()))
        why = (
            f"rank {rank} alone began {state.op} #{state.seq} of {_label(group.name)}; every other member had nothing"
            " outstanding"
        )
        return case.of_ranks((rank,), why, "other-collective", False, "why the others did not join it")
    answer = _pick(case, ends, _why_end)
    return answer and _waited_elsewhere(case, answer)


def _why_end(case: Case, rank: int) -> str:
    waiters = case.chain.waiters_of(rank)
    state = f"ranks {fold(waiters)} waited for rank {rank}"
    return state + (", which was behind them" if rank in case.chain.behind else ", which reported nothing")


def _waited_elsewhere(case: Case, answer: Culprit) -> Culprit:
    """A rank that timed out itself is not missing: it waits in another collective than those that wait for it. Where
    its lines name no group, that the numbers belong together is an assumption."""
    for rank in answer.ranks:
        for group, own in case.chain.states.get(rank, ()):
            others = [s for r in case.chain.waiters_of(rank) for g, s in case.chain.states[r] if g is group]
            rest = sorted(s.rank for s in others if s.timed_out)
            if not own.timed_out or not rest or own.op in {s.op for s in others if s.timed_out}:
                continue
            theirs = " and ".join(dict.fromkeys(f"{s.op} #{s.seq}" for s in others if s.timed_out))
            why = f"rank {rank} timed out in {own.op} #{own.seq}, ranks {fold(rest)} in {theirs}"
            named = any(s.event.group for s in case.seen if s.rank == rank and s.event.what in WAITING)
            doubt = f"whether these belong to one process group: rank {rank}'s lines name none"
            unknown = "; ".join(filter(None, (answer.unknown, "" if named else doubt)))
            return replace(
                answer, why=why, how="other-collective", confident=answer.confident and named, unknown=unknown
            )
    return answer


def _only_silent(case: Case) -> Culprit | None:
    """The one rank that did not complain while all others did. Where connections only ended, a rank that was still
    there to be asked to end is not the one that was gone."""
    if not case.reporters or len(case.everyone) < 2:
        return None
    if case.unattributed:
        return _none("which ranks complained: some lines do not say who wrote them")
    silent = set(case.everyone - case.reporters)
    if "timeout" not in case.kinds:
        silent -= {e.rank for e in case.situation.exits if e.victim}
    if not silent:
        return _none("which rank failed first: all that are heard of complain about others")
    answer = _pick(case, silent, _why_silent)
    mixed = {"timeout", "closed"} <= case.kinds
    return replace(answer, confident=answer.confident and not mixed) if answer is not None else None


def _other_call(case: Case) -> Culprit | None:
    """Where every rank waited in vain, the one whose stack ends in another collective than all others' do. The stages
    of a pipeline wait in different ones anyway, and so may parallel groups: it is no certainty."""
    calls = {e.rank: e.call for e in case.situation.errors if e.kind == "timeout" and e.call is not None}
    if set(calls) != case.everyone or (case.situation.sizes.pp or 1) > 1:
        return None
    sides: dict[str, list[int]] = {}
    for rank, call in sorted(calls.items()):
        sides.setdefault(call, []).append(rank)
    if len(sides) != 2:
        return None
    (odd, few), (other, many) = sorted(sides.items(), key=lambda side: len(side[1]))
    if len(few) > 1 or len(many) < 2:
        told = " and ".join(
            f"{call} on rank{'s' if len(on) > 1 else ''} {fold(on)}" for call, on in sorted(sides.items())
        )
        return _none(f"which side is wrong, for they waited in different collectives: {told}")
    why = f"rank {few[0]} waited in {odd} where ranks {fold(many)} waited in {other}"
    return case.of_ranks((few[0],), why, "other-collective", False, "which of them left the common order")


def _why_silent(case: Case, rank: int) -> str:
    return f"ranks {fold(case.reporters)} complained about others; rank {rank} did not"


def _pick(case: Case, candidates: set[int], why: Callable[[Case, int], str]) -> Culprit | None:
    """One of several candidates where something tells them apart."""
    situation = case.situation
    sure = True
    kept = set(candidates)
    if len(kept) > 1:
        stuck = {e.rank for e in situation.exits if e.stuck and e.rank in kept}
        killed = {
            e.rank
            for e in situation.exits
            if e.rank in kept and not e.victim and e.exitcode not in (None, 0, -15)
        }
        early = _earliest_waited(case, kept)
        logged = kept & case.heard
        for narrower in (killed, stuck, early):
            if len(narrower) == 1:
                kept, sure = {r for r in narrower if r is not None}, narrower is not early
                break
        else:
            if len(logged) == 1 and "closed" not in case.kinds:
                kept, sure = logged, False
    if len(kept) > 1:
        return _silent_node(case, kept) or _none(f"which of ranks {fold(kept)} it was")
    rank = next(iter(kept))
    unknown = "" if rank in case.heard else f"what rank {rank} did: no line of it is in the logs"
    if situation.sizes.world is None and rank not in situation.hosts and not case.chain.states.get(rank):
        sure = sure and any(e.rank == rank for e in situation.exits)
    how = "behind" if rank in case.chain.behind else "absent"
    confident = sure and not unknown and rank not in case.chain.shaky
    return case.of_ranks((rank,), why(case, rank), how, confident, unknown)


def _earliest_waited(case: Case, candidates: set[int]) -> set[int | None]:
    """The candidate whose waiters began clearly before all other candidates' waiters."""
    began = sorted((time, rank) for rank, time in case.chain.began_of_waits(candidates).items())
    if len(began) == len(candidates) and began[1][0] - began[0][0] > 2 * SKEW:
        return {began[0][1]}
    return set()


def _silent_node(case: Case, candidates: set[int]) -> Culprit | None:
    """A whole host whose ranks are all candidates, while other hosts complain."""
    if len(candidates) > MAX_PER_NODE:
        return None
    nodes = {case.node_of(r) for r in candidates}
    if len(nodes) != 1 or None in nodes:
        return None
    node = str(nodes.pop())
    on = set(case.ranks_on(node))
    if not on or on & case.reporters or not on <= candidates | {r for r in on if r not in case.everyone}:
        return None
    if any(e.node == node and not e.victim for e in case.situation.exits) or not case.reporters:
        return None
    why = f"ranks {fold(case.reporters)} complained about others; no rank of {node} did"
    return Culprit(
        (),
        (node,),
        why,
        "absent",
        node in case.situation.nodes,
        case.began,
        f"which process on {node} it was",
    )


def _silent_host(case: Case) -> Culprit | None:
    """The only host with logs on which nobody complained and nothing ended, ranks unknown."""
    situation = case.situation
    speaking = {e.node for e in situation.exits} | {
        s.node for s in case.seen if s.event.what in WAITING | {"closed"}
    }
    speaking |= {e.node for e in situation.errors} | {case.node_of(r) for r in case.reporters}
    speaking.discard(None)
    quiet = [n for n in situation.nodes if n not in speaking]
    if len(quiet) != 1 or not speaking & set(situation.nodes) or not case.reporters:
        return None
    on = case.ranks_on(quiet[0])
    if any(r in case.reporters for r in on):
        return None
    why = f"ranks {fold(case.reporters)} complained about others; the logs of {quiet[0]} just stop"
    ranks = tuple(on) if len(on) == 1 else ()
    return Culprit(
        ranks,
        (quiet[0],),
        why,
        "absent",
        True,
        case.began,
        "" if ranks else f"which process on {quiet[0]} it was",
    )


def _stuck_watchdog(case: Case) -> Culprit | None:
    """A rank that says its own watchdog made no progress."""
    stuck = [s for s in case.seen if s.event.what == "heartbeat"]
    ranks = {s.rank for s in stuck if s.rank is not None}
    if not stuck:
        return None
    if len(ranks) == 1 and len(case.everyone) > 1:
        rank = next(iter(ranks))
        return case.of_ranks(
            (rank,), f"only rank {rank} reported that its own watchdog was stuck", "named", False
        )
    nodes = {s.node for s in stuck}
    if len(nodes) == 1 and None not in nodes:
        node = str(nodes.pop())
        why = f"all watchdogs that were stuck (ranks {fold(ranks)}) are on {node}"
        return Culprit((), (node,), why, "named", False, case.began, "which rank's watchdog was stuck first")
    return _none(f"which of ranks {fold(ranks)} was stuck first")


def _label(name: str) -> str:
    return description_of(name) or f"process group {name}"


_QUESTIONS: tuple[Callable[[Case], Culprit | None], ...] = (
    _concluded, _ended_first, _other_error, _lost_peer, _other_collective, _chain_end, _only_silent, _other_call, _silent_host,
    _stuck_watchdog,
)  # fmt: skip
