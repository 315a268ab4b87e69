"""A read-only HTTP server on loopback or a unix socket: `/healthz`, `/jobs`, `/jobs/ID`, `/metrics`."""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import stat
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from triage.errors import UsageError
from triage.watch.snapshot import Snapshot

LOOPBACK = ("127.0.0.1", "localhost", "::1")
STALE = 120.0
"""Seconds after which a snapshot that was not renewed means that the daemon hangs."""


class _Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Server:
    """Serves the latest snapshot until it is closed."""

    def __init__(self, address: str, latest: Callable[[], Snapshot], clock: Callable[[], float]) -> None:
        """`HOST:PORT` of this machine's loopback, or `unix:PATH`. Raises UsageError."""
        handler = _handler(latest, clock)
        self._path: str | None = None
        try:
            if address.startswith("unix:"):
                self._path = address.removeprefix("unix:")
                _make_way(self._path)
                mask = os.umask(0o177)
                try:
                    self._server: socketserver.BaseServer = _Unix(self._path, handler)
                finally:
                    os.umask(mask)
                self.address = address
            else:
                host, _, port = address.rpartition(":")
                if host.strip("[]") not in LOOPBACK or not port.isdigit():
                    raise UsageError(
                        f"--http {address}: write 127.0.0.1:PORT or unix:PATH; it is for this machine only"
                    )
                server = ThreadingHTTPServer((host.strip("[]"), int(port)), handler)
                server.daemon_threads = True
                self._server = server
                self.address = f"{host}:{server.server_address[1]}"
        except OSError as error:
            raise UsageError(
                f"--http {address} cannot be used: {error.strerror}; choose another one"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


def _make_way(path: str) -> None:
    """Takes away a socket that a killed daemon left; anything else is not ours. Raises UsageError."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise UsageError(f"--http unix:{path}: there is something else already; choose another name")
        os.unlink(path)


def _handler(latest: Callable[[], Snapshot], clock: Callable[[], float]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            code, kind, body = answer(self.path, latest(), clock())
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "local"

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def answer(path: str, seen: Snapshot, now: float) -> tuple[int, str, bytes]:
    """Code, type and body for a path."""
    path = unquote(path.split("?")[0]).rstrip("/") or "/"
    if path == "/healthz":
        healthy = now - seen.at < STALE
        return _json(
            200 if healthy else 503, {"healthy": healthy, "scheduler_answers": not seen.silent, "at": seen.at}
        )
    if path == "/jobs":
        return _json(200, {"schema": "triage.jobs/1", "jobs": list(seen.jobs.values())})
    if path.startswith("/jobs/"):
        found = seen.jobs.get(path.removeprefix("/jobs/"))
        return _json(200, found) if found is not None else _json(404, {"error": "this job is not watched"})
    if path == "/metrics":
        text = metrics(seen)
        if text is None:
            return _json(501, {"error": "install prometheus-client: pip install 'slurm-triage[metrics]'"})
        return 200, "text/plain; version=0.0.4; charset=utf-8", text
    return _json(404, {"error": "there are /healthz, /jobs, /jobs/ID and /metrics"})


def _json(code: int, value: object) -> tuple[int, str, bytes]:
    return code, "application/json", (json.dumps(value) + "\n").encode()


def metrics(seen: Snapshot) -> bytes | None:
    """In Prometheus' text format; `None` without its library."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ImportError:
        return None
    registry = CollectorRegistry()
    states = Gauge("triage_jobs", "Watched jobs by state", ["state"], registry=registry)
    for job in seen.jobs.values():
        states.labels(job["state"]).inc()
    ended = Gauge(
        "triage_jobs_ended", "Jobs that ended since the daemon started", ["outcome"], registry=registry
    )
    for outcome, count in (seen.ended or {}).items():
        ended.labels(outcome).set(count)
    for name, meaning, value in (
        ("triage_scheduler_rounds", "Rounds of questions to the scheduler", seen.calls),
        ("triage_scheduler_answers", "Whether the scheduler answers", int(not seen.silent)),
        ("triage_last_turn_seconds", "When the daemon last looked at its jobs", seen.at),
    ):
        Gauge(name, meaning, registry=registry).set(value)
    iteration = Gauge("triage_job_iteration", "Iteration of a watched job", ["job"], registry=registry)
    quiet = Gauge("triage_job_quiet_seconds", "Seconds without progress", ["job"], registry=registry)
    for name, job in seen.jobs.items():
        if job["iteration"] is not None:
            iteration.labels(name).set(job["iteration"])
        quiet.labels(name).set(job["quiet_seconds"])
    text: bytes = generate_latest(registry)
    return text
