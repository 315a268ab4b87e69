"""Wires the daemon: its loop, its HTTP server, its notifications, its signals."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack

from triage.cli.following import loop_of, make_world, teller
from triage.cli.output import tell as say
from triage.cli.state import open_store
from triage.cli.watch import options_from
from triage.errors import SchedulerError
from triage.report.check import counted
from triage.store.daemons import living
from triage.store.database import Database
from triage.store.jobs import all_jobs
from triage.watch.daemon import Daemon
from triage.watch.events import Event
from triage.watch.http import Server
from triage.watch.notify import Notifier, by_apprise
from triage.watch.systemd import notify

_WATCHDOG_EVERY = 10.0


def run_daemon(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Until SIGTERM or Ctrl-C; its jobs go on."""
    options = options_from(arguments)
    database = open_store(environment)
    printing = teller(arguments.format, sys.stdout)
    with ExitStack() as stack:
        notifier = Notifier(by_apprise(arguments.notify)) if arguments.notify else None
        if notifier is not None:
            stack.callback(notifier.close)

        def tell(event: Event) -> None:
            printing(event)
            daemon.tell(event)
            if notifier is not None:
                notifier.tell(event)

        world = make_world(environment, arguments.scheduler, database, tell)
        loop = stack.enter_context(loop_of(world))
        daemon = Daemon(loop, world, options, arguments.all_mine, arguments.name, _Alive(environment))
        if arguments.http:
            server = Server(arguments.http, daemon.ask, world.clock)
            stack.callback(server.close)
            daemon.address = server.address
        announce(daemon, database)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: daemon.stop())
        notify(environment, "READY=1")
        stack.callback(notify, environment, "STOPPING=1")
        daemon.run()
    return 0


def announce(daemon: Daemon, database: Database) -> None:
    """What is watched, and by whom else; a scheduler that will never answer ends it here."""
    try:
        daemon.world.scheduler.mine()
    except SchedulerError as error:
        if not error.transient:
            raise
    for other in living(database, daemon.world.clock()):
        say(
            f"another daemon runs on {other.host}, process {other.pid}: both watch, and one of them acts on each job"
        )
    own = (None, daemon.world.scheduler.name)
    count = sum(job.scheduler in own for job in all_jobs(database, watched=True))
    found = "no others; --all-mine finds all of yours"
    if daemon.pattern is not None:
        found = f"those of yours in the queue that are named {daemon.pattern}"
    elif daemon.all_mine:
        found = "all of yours in the queue"
    say(f"ready: watching {counted(count, 'job')} of the store and {found}; Ctrl-C leaves the jobs alone")


class _Alive:
    """Tells systemd now and then that the daemon turns."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _WATCHDOG_EVERY
            notify(self._environment, "WATCHDOG=1")
