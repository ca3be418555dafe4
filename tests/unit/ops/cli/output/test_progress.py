"""A command's progress line: shown only on a terminal, and removed before any other output."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from shareq.ops.cli.output import printing, progress
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.shared.exits import say


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Row(NamedTuple):
    name: str


class Clock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setenv("COLUMNS", "80")
    return clock


def streams(monkeypatch: pytest.MonkeyPatch, *, out: bool, err: bool) -> Stream:
    """Replace standard output and error, each of which is a terminal or not; two terminals are one stream.

    Return the stream of errors.
    """
    errors = Stream(terminal=err)
    monkeypatch.setattr("sys.stderr", errors)
    monkeypatch.setattr("sys.stdout", errors if out and err else Stream(terminal=out))
    return errors


def test_a_terminal_sees_how_far_it_is_but_not_at_once_and_not_too_often(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    errors = streams(monkeypatch, out=True, err=True)
    with Progress() as line:
        line.show("1 group")
        assert errors.getvalue() == ""
        clock.now_s += 1.0
        line.show("2 groups")
        line.show("3 groups")
        assert errors.getvalue() == "\r\x1b[K2 groups"
        clock.now_s += 0.2
        line.show("4\x1b[2J groups" + "!" * 100)
    shown = errors.getvalue().split("\r\x1b[K")
    assert shown == ["", "2 groups", ("4?[2J groups" + "!" * 100)[:79], ""]


@pytest.mark.parametrize(("out", "beside_output"), [(True, False), (False, False), (False, True)])
def test_a_pipe_sees_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, out: bool, beside_output: bool
) -> None:
    errors = streams(monkeypatch, out=out, err=False)
    with Progress(beside_output=beside_output) as line:
        clock.now_s += 10
        line.show("2 groups")
    assert errors.getvalue() == ""


def test_a_command_that_prints_all_the_time_has_a_line_only_beside_a_pipe(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    for out, shown in ((True, 0), (False, 1)):
        errors = streams(monkeypatch, out=out, err=True)
        with Progress(beside_output=True) as line:
            clock.now_s += 10
            line.show("2 records")
        assert errors.getvalue().count("2 records") == shown


def test_the_line_is_gone_before_a_table_or_an_error_is_printed(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    errors = streams(monkeypatch, out=True, err=True)
    monkeypatch.setattr(printing, "has_rich", lambda: False)

    def rows() -> Iterator[Row]:
        with Progress() as line:
            clock.now_s += 1
            line.show("one")
            say("trouble")
            clock.now_s += 1
            line.show("two")
            yield from (Row("x") for _ in range(printing.PAGE))
            clock.now_s += 1
            line.show("three")

    printing.print_table(rows(), ("name",))
    begin = errors.getvalue()[:60]
    assert begin.startswith("\r\x1b[Kone\r\x1b[Kshareq: trouble\n\r\x1b[Ktwo\r\x1b[KNAME\nx\n")
    assert errors.getvalue().endswith("x\n\r\x1b[Kthree\r\x1b[K")
