"""The kernel's and syslog's heads: `Dec  1 10:00:00 host kernel: [12.345678] `, dmesg's `[Tue Dec  1 10:00:00 2026] `."""

from __future__ import annotations

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import DIGITS, Dialect, Sample, Stripped
from triage.core.logs.record import NO_TAGS, Tags
from triage.core.logs.stamp import find_stamp

_SYSLOG = lazy(r" ([\w.-]{1,80}) ([\w./@-]{1,60})(?:\[(\d{1,9})\])?: (?:\[ {0,6}\d{1,9}\.\d{6}\] )?")
_DAEMON = lazy(
    r"kernel|systemd|slurm\w*|nvidia-[\w-]+|dockerd|containerd|kubelet|rasdaemon|mcelog|audit|sshd|dcgm"
)
"""Who logs without a pid; any other word before a colon is more likely a message behind a stamp."""
_DMESG_X = lazy(r"(?:kern|user|daemon|syslog) {0,4}:(emerg|alert|crit|err|warn|notice|info|debug) {0,3}: ")
_LEVELS = {
    "emerg": "F",
    "alert": "F",
    "crit": "F",
    "err": "E",
    "warn": "W",
    "notice": "I",
    "info": "I",
    "debug": "D",
}


def _host(text: str, *, kernel: bool) -> Stripped | None:
    if ": " not in text[:200]:
        return None
    found = find_stamp(text)
    match = None if found is None else _SYSLOG.match(text, found[1])
    if found is None or match is None or (match[2] == "kernel") != kernel:
        return None
    if match[3] is None and _DAEMON.match(match[2]) is None:
        return None
    return Stripped(
        text[match.end() :], Tags(node=match[1], pid=int(match[3]) if match[3] else None), found[0]
    )


def _syslog(text: str) -> Stripped | None:
    return _host(text, kernel=False)


def _kern_log(text: str) -> Stripped | None:
    return _host(text, kernel=True)


def _dmesg(text: str) -> Stripped | None:
    level = ""
    start = 0
    if text[0] != "[":
        match = _DMESG_X.match(text)
        if match is None:
            return None
        level, start = _LEVELS[match[1]], match.end()
    found = find_stamp(text, start)
    if (
        found is None
        or text[start + 1 : start + 2] not in "MTWFS 0123456789"
        or text[found[1] : found[1] + 1] != " "
    ):
        return None
    stamp, end = found
    if stamp.text[:1].isdigit() and (stamp.seconds is not None or ":" in stamp.text):
        return None
    return Stripped(text[end + 1 :], NO_TAGS, stamp, level)


KERN_LOG = Dialect(
    name="kernel",
    first="JFMASOND0123456789",
    strip=_kern_log,
    samples=(
        Sample(
            "May 18 09:21:07 gb-b200-14 kernel: NVRM: Xid (PCI:0000:dc:00): 149, NETIR_LINK_EVT Fatal",
            "NVRM: Xid (PCI:0000:dc:00): 149, NETIR_LINK_EVT Fatal",
            Tags(node="gb-b200-14"),
            "May 18 09:21:07",
        ),
        Sample(
            "Dec  1 10:00:00 n1 kernel: [123456.789012] Out of memory: Killed process 12 (python)",
            "Out of memory: Killed process 12 (python)",
            Tags(node="n1"),
            "Dec  1 10:00:00",
        ),
    ),
)

SYSLOG = Dialect(
    name="syslog",
    first="JFMASOND0123456789",
    strip=_syslog,
    samples=(
        Sample(
            "2026-12-01T10:00:00.123456+00:00 n1 slurmd[1234]: error: x",
            "error: x",
            Tags(node="n1", pid=1234),
            "2026-12-01T10:00:00.123456+00:00",
        ),
        Sample("Dec 01 10:00:00 n1 systemd: Stopping", "Stopping", Tags(node="n1"), "Dec 01 10:00:00"),
    ),
)

DMESG = Dialect(
    name="kernel",
    first="[kuds",
    behind="MTWFS " + DIGITS,
    strip=_dmesg,
    samples=(
        Sample(
            "[Wed Jan 17 23:41:03 2024] NVRM: Xid (PCI:0000:83:00): 79, GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:83:00): 79, GPU has fallen off the bus.",
            stamp="Wed Jan 17 23:41:03 2024",
        ),
        Sample("[12345.678901] NVRM: x", "NVRM: x", stamp="12345.678901"),
        Sample(
            "kern  :err   : [Wed Jan 17 23:41:03 2024] x", "x", stamp="Wed Jan 17 23:41:03 2024", level="E"
        ),
    ),
)
