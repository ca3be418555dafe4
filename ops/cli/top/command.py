"""`shareq top`: takes samples, draws them, reads keys. The terminal is put back as it was, however it ends."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from shareq.client.errors import ClientError
from shareq.ops.cli.shared.api import api_options, records_api
from shareq.ops.cli.shared.command import Session, cluster_command
from shareq.ops.cli.shared.exits import USAGE, exit_with
from shareq.ops.cli.top.data import Sample, TopRow, look_into, rates, take
from shareq.ops.cli.top.screen import GROUPS, TOPICS, Screen, left_out, table
from shareq.ops.records_api import RecordsApi

_ENTER: Final = "\x1b[?1049h\x1b[?25l"  # the other screen, without a cursor
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_KEYS: Final = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1b[5~": "pageup",
    b"\x1b[6~": "pagedown",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\r": "enter",
    b"\n": "enter",
    b"\x1b": "escape",
    b"\x7f": "backspace",
    b"\x08": "backspace",
}
_ESCAPE_BYTES: Final = 8


def _text(row: TopRow) -> str:
    parts = ["\n".join(table(row.groups, GROUPS)) if row.groups else "no share groups"]
    if row.topics:
        parts.append("\n".join(table(row.topics, TOPICS)))
    if row.left_out:
        parts.append(left_out(row))
    return "\n\n".join(parts)


@cluster_command(
    None,
    "top",
    "  shareq top\n"
    "  shareq top --api http://127.0.0.1:9465 --api-token-file operator.token\n"
    "  shareq top --once --json",
    row=TopRow,
    shape="stream",
    line=_text,
)
@click.option(
    "--every",
    "every_s",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 3600),
    default=2.0,
    show_default=True,
    help="From one sample to the next.",
)
@click.option(
    "--group",
    "patterns",
    metavar="NAME",
    multiple=True,
    help="Only groups like this, with * and ?. Repeatable.",
)
@click.option("--once", is_flag=True, help="Print one comparison of two samples, and end.")
@api_options
def top(
    session: Session,
    every_s: float,
    patterns: tuple[str, ...],
    once: bool,
    api: str | None,
    api_token_file: str | None,
) -> Iterator[TopRow]:
    """Show share groups at work: lag, rates, what is in flight, how old the oldest is; and topics.

    At most 1,000 groups are shown, those with members first; --group chooses. On a terminal it is drawn again and
    again: q ends it, s and r sort, / filters, enter looks into a group, ? says the rest. Elsewhere, and with --once or
    --json, each comparison is printed. Over the wire it knows lag, and what is done with; the records API of shareq
    (--api) adds deliveries, redeliveries, what is in flight, what of it is held, and its age.
    """
    found = records_api(session, api, api_token_file)
    if once or session.as_json or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return _comparisons(session, found, every_s, patterns, 1 if once else None)
    if sys.platform == "win32":
        exit_with(USAGE, "top: a live screen needs a Unix terminal; --once and --json work everywhere")
    _live(session, found, every_s, patterns)
    return iter(())


def _comparisons(
    session: Session, api: RecordsApi | None, every_s: float, patterns: tuple[str, ...], count: int | None
) -> Iterator[TopRow]:
    before = take(session.admin, api, time.monotonic(), patterns)
    made = 0
    while count is None or made < count:
        time.sleep(every_s)
        now = take(session.admin, api, time.monotonic(), patterns)
        yield rates(before, now)
        before, made = now, made + 1


def _live(session: Session, api: RecordsApi | None, every_s: float, patterns: tuple[str, ...]) -> None:
    screen = Screen("over the wire and from the records API" if api is not None else "over the wire")
    before: Sample | None = None
    session.network  # noqa: B018 a cluster that is not there is said so in one line, not on a screen
    with _terminal():
        while not screen.done:
            due = time.monotonic() + every_s
            try:
                now = take(session.admin, api, time.monotonic(), patterns)
                screen.show(rates(before, now))
                before = now
                _look(session, api, screen)
            except ClientError as error:
                screen.trouble = str(error)
            _until(due, session, api, screen)


def _look(session: Session, api: RecordsApi | None, screen: Screen) -> None:
    if screen.wanted is not None:
        screen.show_group(*look_into(session.admin, api, screen.wanted))


def _until(due: float, session: Session, api: RecordsApi | None, screen: Screen) -> None:
    """Draw, and take keys, until it is time for the next sample."""
    while not screen.done:
        _draw(screen)
        left_s = due - time.monotonic()
        if left_s <= 0 or not select.select([sys.stdin], [], [], left_s)[0]:
            return
        wanted = screen.wanted
        keys = _read_keys()
        if not keys:  # the terminal is gone
            screen.done = True
        for key in keys:
            screen.press(key)
        if screen.wanted not in (None, wanted):
            try:
                _look(session, api, screen)
            except ClientError as error:
                screen.trouble = str(error)


def _draw(screen: Screen) -> None:
    columns, rows = shutil.get_terminal_size()
    lines = screen.lines(columns, rows)
    sys.stdout.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
    sys.stdout.flush()


def _read_keys() -> list[str]:
    """The keys that were pressed. A sequence of a special key comes in one piece."""
    data = os.read(sys.stdin.fileno(), 256)
    keys: list[str] = []
    while data:
        size = next((size for size in range(_ESCAPE_BYTES, 0, -1) if data[:size] in _KEYS), 0)
        if size:
            keys.append(_KEYS[data[:size]])
            data = data[size:]
            continue
        text = data.decode(errors="replace")
        keys.append(text[0])
        data = text[1:].encode()
    return keys


@contextmanager
def _terminal() -> Iterator[None]:
    """Keys come one by one and are not shown; the screen is another one."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        sys.stdout.write(_ENTER)
        yield
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


command = top
