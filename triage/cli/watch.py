"""`triage watch`: follows a job to its end, says at once why it failed, and ends it early on its result."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from triage.errors import UsageError

if TYPE_CHECKING:
    from triage.watch.options import Options

_EPILOG = """\
exit codes: 0 completed, or completed early on its result; 10 failed, explained;
11 failed, cause unknown; 12 cancelled by someone else; 2 wrong usage,
3 no such job, 4 scheduler not reachable, 6 store unusable,
130 Ctrl-C (the job goes on)

examples:
  triage watch 4812
  triage watch 4812 --artifact out/metrics.json --when 'iteration >= 500'
  triage watch 4812 --artifact ckpt:/lustre/ckpt@5000 --dry-run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Follow a job to its end. Without --artifact it never ends a job."
    parser.epilog = _EPILOG
    parser.add_argument("jobs", metavar="JOB_ID", nargs="+", help="18, 18_3 (array task), 18;CLUSTER")
    add_options(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: one event a line")
    parser.add_argument("--plain", action="store_true", help="dated lines on a terminal too, no live view")
    parser.add_argument(
        "--scheduler", choices=("slurm", "local"), help="default: the one the job was submitted to"
    )
    parser.add_argument(
        "--give-up", type=_seconds, default=3600.0, metavar="TIME", help="exit with 4 when the scheduler has not answered for so long (default: 1h)"
    )  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """How a job is watched; the daemon takes the same."""
    result = parser.add_argument_group("ending on a result")
    result.add_argument("--artifact", action="append", default=[], metavar="PATH", help="file, pattern, or ckpt:FOLDER[@ITERATION]; {job_id} {name} {attempt} are filled in; repeated: all of them")  # fmt: skip
    result.add_argument(
        "--when", metavar="CONDITION", help="what the JSON must say: 'iteration >= 500 and lm_loss < 3'"
    )
    result.add_argument(
        "--min-age", type=_seconds, default=0.0, metavar="TIME", help="how long it must have been as it is"
    )
    result.add_argument(
        "--any", action="store_true", help="end it although its logs show that it still trains"
    )
    result.add_argument("--no-cancel", action="store_true", help="only tell that the result is there")
    fault = parser.add_argument_group("ending on a failure or a hang")
    fault.add_argument("--on-fail", choices=("cancel", "tell"), default="tell", help="cancel: a job that has failed and does not end (default: tell)")  # fmt: skip
    fault.add_argument(
        "--stall-after", type=_seconds, metavar="TIME", help="no progress for so long is a hang"
    )
    fault.add_argument("--cancel-hung", action="store_true", help="cancel it then")
    both = parser.add_argument_group("both")
    both.add_argument("--dry-run", action="store_true", help="only write down what would have been done")
    both.add_argument("--grace", type=_seconds, metavar="TIME", help="time for a veto with `triage hold` (default: 0 on a result, else 60s)")  # fmt: skip
    both.add_argument(
        "--signal", metavar="NAME", help="signal on which the script ends itself with exit code 0"
    )
    both.add_argument("--drain", action="store_true", help="wait for the last log lines after the end")
    both.add_argument(
        "--break-dependents", action="store_true", help="cancel although jobs wait for this one"
    )
    both.add_argument("--whole-array", action="store_true", help="the id of an array means all of its tasks")
    parser.add_argument("--logs", action="append", default=[], metavar="PATH", help="further logs of the job")


def options_from(arguments: argparse.Namespace) -> Options:
    """Raises UsageError for what can be seen to be wrong without the job."""
    from triage.watch.options import Options

    options = Options(
        tuple(arguments.artifact), arguments.when, arguments.min_age, arguments.any, not arguments.no_cancel,
        arguments.dry_run, arguments.grace, arguments.on_fail == "cancel", arguments.stall_after, arguments.cancel_hung,
        arguments.drain, _signal(arguments.signal), arguments.break_dependents, arguments.whole_array, tuple(arguments.logs),
    )  # fmt: skip
    if options.when is not None and not options.artifacts:
        raise UsageError("--when is about a result: name it with --artifact")
    if options.cancel_hung and options.stall_after is None:
        raise UsageError("--cancel-hung needs --stall-after, the time without progress that is a hang")
    assert options.targets is not None
    assert options.when is None or options.condition
    return options


def run(arguments: argparse.Namespace) -> int:
    """Follows the jobs; the exit code is the last job's that did not end well, else 0."""
    import os

    from triage.cli.following import follow_jobs, teller
    from triage.cli.state import scheduler_of
    from triage.core.jobs.identity import parse_job

    jobs = []
    for text in arguments.jobs:
        job = parse_job(text)
        if job is None:
            raise UsageError(f"{text!r} is no job id: write 18, 18_3 for a task of an array, or 18;CLUSTER")
        jobs.append(job)
    options = options_from(arguments)
    schedulers = {scheduler_of(job, os.environ, arguments.scheduler) for job in jobs}
    if len(schedulers) > 1:
        raise UsageError("some of these jobs run on Slurm and some without it: watch them in two calls")
    (scheduler,) = schedulers
    if arguments.format == "text" and not arguments.plain and sys.stdout.isatty():
        from triage.cli.screen import follow_on_screen

        return follow_on_screen(os.environ, scheduler, jobs, options, arguments.give_up)
    tell = teller(arguments.format, sys.stdout)
    return follow_jobs(os.environ, scheduler, jobs, options, tell, arguments.give_up)


def _signal(name: str | None) -> str | None:
    import signal

    if name is None:
        return None
    plain = name.upper().removeprefix("SIG")
    if f"SIG{plain}" not in signal.Signals.__members__ or plain in ("KILL", "STOP"):
        raise UsageError(
            f"--signal {name}: no such signal that a script can catch; USR1, USR2 and TERM are usual"
        )
    return plain


def _seconds(text: str) -> float:
    """`90`, `90s`, `5m`, `2h`, `1d`."""
    import re

    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 90s, 5m, 2h or 1d")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]
