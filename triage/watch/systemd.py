"""Tells systemd that the daemon is ready and alive; the protocol is one datagram (sd_notify(3))."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping

UNIT = """\
[Unit]
Description=triage: watches Slurm jobs and ends them early on proof
Documentation=https://pypi.org/project/slurm-triage/
After=network-online.target

[Service]
Type=notify
ExecStart={command} daemon run
WatchdogSec=300
Restart=on-failure
RestartSec=10
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def notify(environment: Mapping[str, str], message: str) -> bool:
    """`READY=1`, `WATCHDOG=1`, `STATUS=...`; False where nobody listens."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect("\0" + address[1:] if address.startswith("@") else address)
        sender.sendall(message.encode())
        return True
    return False
