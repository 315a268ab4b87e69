"""The bar shows itself only on a terminal, only after a second, and leaves nothing behind."""

from __future__ import annotations

import io

from triage.cli.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_short_work_shows_nothing() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    for done in range(10):
        clock.now += 0.09
        bar(done, 10)
    bar.close()
    assert screen.getvalue() == ""


def test_long_work_shows_a_bar_and_takes_it_away() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    clock.now += 1.5
    bar(1 << 20, 2 << 20)
    assert "50% of 2 MiB" in screen.getvalue()
    bar.close()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_bar_is_not_drawn_for_every_call() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    clock.now += 2
    for done in range(1000):
        clock.now += 0.001
        bar(done, 1000)
    assert screen.getvalue().count("\r") <= 12


def test_compressed_input_that_expands_does_not_pass_the_end() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    clock.now += 2
    bar(50, 10)
    bar(5, 0)
    assert "100%" in screen.getvalue()


def test_no_terminal_no_bar() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = ProgressBar(stream, clock)
    clock.now += 5
    bar(1, 2)
    bar.close()
    assert stream.getvalue() == ""


def test_terminal_that_is_gone_does_not_stop_the_work() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    screen.close()
    clock.now += 5
    bar._enabled = True
    bar(1, 2)
    assert not bar._enabled
