"""Lines that name or lose a peer: gloo's pairs, NCCL's sockets and links, the store, who is who in NCCL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from triage.core.events.collective_line import Draft, number, rank_list
from triage.core.events.model import Collective
from triage.core.lazy import lazy

_ADDRESS = r"(?P<peer>[A-Za-z0-9][A-Za-z0-9_.:%-]{0,252}?)"
_GLOO_PEER = r"(?P<peer>[0-9A-Za-z.:%_-]{1,253})"
_GLOO_WAIT = lazy(r"Timed out waiting ([0-9]{1,12})ms for (recv|send) operation")
_GLOO_CLOSED = lazy(rf"Connection closed by peer \[{_GLOO_PEER}\]:([0-9]{{1,5}})")
_GLOO_ERROR = lazy(
    rf"(?:Read error|Write error|readv?|writev?) \[{_GLOO_PEER}\]:([0-9]{{1,5}}): (.{{1,60}}?)(?:\. |$)"
)
_GLOO_SIZE = lazy(r"(?:preamble|nbytes).{0,200}?([0-9]{1,19}) vs ([0-9]{1,19})")
_GLOO_MESH = lazy(
    rf"(?:connectFullMesh failed|SO_ERROR:|Connect timeout).{{0,200}}?\[{_GLOO_PEER}\]:([0-9]{{1,5}})"
)
_CLOSED = lazy(rf"Connection closed by remote peer(?: {_ADDRESS}<[0-9]{{1,5}}>)?")
_CALL = lazy(rf"Call to (?:recv|send)(?:v|msg)? ?(?:from|to) {_ADDRESS}<[0-9]{{1,5}}> failed : (.{{1,80}})")
_CONNECT = lazy(rf"[Cc]onnect(?:ing)? to {_ADDRESS}<[0-9]{{1,5}}> (?:failed|returned) ?:? ?(.{{1,80}})")
_COMPLETION = lazy(
    rf"Got completion (?:from peer {_ADDRESS}<[0-9]{{1,5}}> )?with (?:status|error)[ =:]{{0,3}}"
    r"(?:[A-Z_]{1,40}\()?([0-9]{1,4})"
)
_TRUNCATED = lazy(r"[Mm]essage truncated : rece?i?v(?:ed|ing) ([0-9]{1,19}) bytes instead of ([0-9]{1,19})")
_TRUNCATED_PEER = lazy(rf"peer {_ADDRESS}<[0-9]{{1,5}}>")
_BUS = lazy(r"\bbusId ([0-9a-fA-F]{1,12})\b")
_COMM = lazy(
    r"comm 0x[0-9a-fA-F]{1,16} rank ([0-9]{1,9}) n[rR]anks ([0-9]{1,9})(?:.{0,200}?commId (0x[0-9a-fA-F]{1,32}))?"
)
_USING = lazy(
    r"(?:Bootstrap *: Using|NET/\w{1,20} *: Using|OOB) .{0,400}?([A-Za-z0-9_.-]{1,40}):([0-9a-fA-F.:]{7,45})<[0-9]{1,5}>"
)
_OOB = lazy(r"OOB ([A-Za-z0-9_.-]{1,40}):([0-9a-fA-F.:]{7,45})<[0-9]{1,5}>")
_CLIENTS = lazy(r"([0-9]{1,9})/([0-9]{1,9}) clients joined")
_KEYS = lazy(r"wait timeout after ([0-9]{1,12})ms, keys: (\S{1,400})")
_UNIQUE_ID = lazy(
    r"\[([0-9]{1,9})\] is setting up NCCL communicator and retrieving \w{4,16} from \[([0-9]{1,9})\]"
    r"(?:.{0,200}?got error: ?(.{0,200}))?"
)
_STORE_BARRIER = lazy(
    r"store.based barrier.{0,60}? rank: ([0-9]{1,9}).{0,200}?"
    r"(?:world_size=([0-9]{1,9}), (?:num_workers_joined|worker_count)=([0-9]{1,9}))"
)

Parse = Callable[[Draft], Iterator[Collective]]


def _wait(draft: Draft) -> Iterator[Collective]:
    if found := _GLOO_WAIT.search(draft.text):
        yield draft.event("wait", timeout_ms=int(found[1]), ran_ms=int(found[1]), op=found[2].upper())


def _gloo_closed(draft: Draft) -> Iterator[Collective]:
    if found := _GLOO_CLOSED.search(draft.text):
        yield draft.event("closed", peer=found["peer"], shape=found[2], reason="closed")


def _gloo_error(draft: Draft) -> Iterator[Collective]:
    if found := _GLOO_ERROR.search(draft.text):
        yield draft.event("closed", peer=found["peer"], shape=found[2], reason=_how(found[3]))


def _gloo_size(draft: Draft) -> Iterator[Collective]:
    if found := _GLOO_SIZE.search(draft.text):
        yield draft.event("mismatch", shape=found[2], other=found[1], reason="gloo")


def _gloo_mesh(draft: Draft) -> Iterator[Collective]:
    if found := _GLOO_MESH.search(draft.text):
        yield draft.event("connect", peer=found["peer"], reason="gloo")


def _closed(draft: Draft) -> Iterator[Collective]:
    if found := _CLOSED.search(draft.text):
        yield draft.event("closed", peer=found["peer"] or "", reason="closed")


def _call(draft: Draft) -> Iterator[Collective]:
    if found := _CALL.search(draft.text):
        yield draft.event("closed", peer=found["peer"], reason=_how(found[2]))


def _connect(draft: Draft) -> Iterator[Collective]:
    if (found := _CONNECT.search(draft.text)) and "etrying" not in draft.text:
        yield draft.event("connect", peer=found["peer"], reason=found[2].strip())


def _completion(draft: Draft) -> Iterator[Collective]:
    if found := _COMPLETION.search(draft.text):
        yield draft.event("link", peer=found["peer"] or "", reason=f"status {found[2]}")


def _truncated(draft: Draft) -> Iterator[Collective]:
    if found := _TRUNCATED.search(draft.text):
        peer = _TRUNCATED_PEER.search(draft.text)
        yield draft.event(
            "mismatch", shape=found[2], other=found[1], peer=peer["peer"] if peer else "", reason="nccl"
        )


def _comm(draft: Draft) -> Iterator[Collective]:
    if found := _COMM.search(draft.text):
        bus = _BUS.search(draft.text, found.start())
        yield draft.event(
            "comm",
            group=found[3] or "",
            group_rank=int(found[1]),
            size=int(found[2]),
            peer=bus[1] if bus else "",
        )


def _address(draft: Draft) -> Iterator[Collective]:
    found = _OOB.search(draft.text) or _USING.search(draft.text)
    if found and draft.record.tags.node:
        yield draft.event("address", peer=found[2])


def _clients(draft: Draft) -> Iterator[Collective]:
    if found := _CLIENTS.search(draft.text):
        yield draft.event("store", seq=int(found[1]), size=int(found[2]), reason="clients")


def _keys(draft: Draft) -> Iterator[Collective]:
    if (found := _KEYS.search(draft.text)) and "is setting up NCCL communicator" not in draft.text:
        yield draft.event("store", timeout_ms=int(found[1]), reason=found[2])


def _unique_id(draft: Draft) -> Iterator[Collective]:
    found = _UNIQUE_ID.search(draft.text)
    if not found:
        return
    keys = _KEYS.search(found[3] or "")
    group = "0:default_pg" if keys and re.fullmatch(r"(?:.*/)?default_pg/0//(?:cuda//)?\d+", keys[2]) else ""
    yield draft.event(
        "store", group_rank=int(found[1]), ranks=(int(found[2]),), group=group or draft.group,
        timeout_ms=number(keys[1]) if keys else None, reason="unique-id",
    )  # fmt: skip


def _store_barrier(draft: Draft) -> Iterator[Collective]:
    if found := _STORE_BARRIER.search(draft.text):
        yield draft.event(
            "barrier",
            group_rank=int(found[1]),
            ranks=rank_list(found[1]),
            size=int(found[2]),
            reason="arrived",
        )


def _how(text: str) -> str:
    lowered = text.lower()
    for word in ("reset", "broken pipe", "timed out", "no route", "refused", "unreachable"):
        if word in lowered:
            return word
    return text.strip()


TABLE: tuple[tuple[str, Parse], ...] = (
    ("Timed out waiting", _wait),
    ("Connection closed by peer", _gloo_closed),
    ("error [", _gloo_error),
    ("write", _gloo_error),
    (" vs ", _gloo_size),
    ("connectFullMesh", _gloo_mesh),
    ("SO_ERROR", _gloo_mesh),
    ("Connection closed by remote peer", _closed),
    ("Call to ", _call),
    ("onnect to ", _connect),
    ("Got completion ", _completion),
    ("essage truncated", _truncated),
    (" rank ", _comm),
    ("Using ", _address),
    ("clients joined", _clients),
    ("wait timeout after", _keys),
    ("is setting up NCCL communicator", _unique_id),
    ("based barrier", _store_barrier),
)
