"""`shareq top`: takes samples, shows them, reads keys. The terminal is always restored at the end."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from shareq.client.errors import ClientError
from shareq.ops.cli.output.printing import has_rich, printable, table_lines
from shareq.ops.cli.shared.api import api_options, records_api
from shareq.ops.cli.shared.command import Session, cluster_command
from shareq.ops.cli.shared.exits import USAGE, exit_with
from shareq.ops.cli.top.columns import GROUPS, NODES, TOPICS, left_out
from shareq.ops.cli.top.data import Sample, TopRow, look_into, rates, take
from shareq.ops.records_api import RecordsApi

if TYPE_CHECKING:
    from shareq.ops.cli.top.screen import Screen

MOST_MS: Final = 5_000
"""The longest timeout of a request, whatever the configuration says: the screen is to be drawn again."""
_KEY: Final = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_KEYS: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
    "\r": "enter",
    "\n": "enter",
    "\x1b": "escape",
    "\x7f": "backspace",
    "\x08": "backspace",
}


def _text(row: TopRow) -> str:
    parts = ["\n".join(table_lines(row.groups, GROUPS)) if row.groups else "no share groups"]
    if row.topics:
        parts.append("\n".join(table_lines(row.topics, TOPICS)))
    if row.nodes:
        parts.append("\n".join(table_lines(row.nodes, NODES)))
    if row.left_out:
        parts.append(left_out(row))
    if row.api_problem is not None:
        parts.append(printable(row.api_problem))
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
    help="The time between two samples.",
)
@click.option(
    "--group",
    "patterns",
    metavar="NAME",
    multiple=True,
    help="Only groups that match this name with * and ?. Repeatable.",
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
    """Show share groups at work: lag, rates, records in flight, the age of the oldest; and topics.

    At most 1,000 groups are shown, those with members first; --group chooses. On a terminal the display is refreshed: q
    quits, s and r sort, / filters, enter opens a group, ? shows help. Elsewhere, and with --once or --json, each
    comparison is printed. Lag and finished records are read over Kafka's protocol; the records API of shareq (--api)
    adds deliveries, redeliveries, records in flight, how many of them are locked, and their age.
    """
    session.config = session.config.within(MOST_MS)
    found = records_api(session, api, api_token_file)
    if once or session.as_json or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return _comparisons(session, found, every_s, patterns, 1 if once else None)
    if sys.platform == "win32":
        exit_with(USAGE, "top: a live screen needs a Unix terminal; --once and --json work everywhere")
    if not has_rich():
        exit_with(USAGE, "top: a live screen needs rich: pip install 'shareq[cli]'; --once and --json do without")
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
    from rich.live import Live

    from shareq.ops.cli.top.screen import Screen

    screen = Screen("over the wire and from the records API" if api is not None else "over the wire")
    before: Sample | None = None
    session.network  # noqa: B018 a cluster that is not there is said so in one line, not on a screen
    with _keys_one_by_one(), Live(screen, screen=True, auto_refresh=False) as live:
        while not screen.done:
            due = time.monotonic() + every_s
            try:
                now = take(session.admin, api, time.monotonic(), patterns)
                screen.show(rates(before, now))
                before = now
                _look(session, api, screen)
            except ClientError as error:
                screen.trouble = str(error)
            live.refresh()
            while not screen.done and _keys_before(due):
                _press(session, api, screen)
                live.refresh()


def _keys_before(due: float) -> bool:
    left_s = due - time.monotonic()
    return left_s > 0 and bool(select.select([sys.stdin], [], [], left_s)[0])


def _press(session: Session, api: RecordsApi | None, screen: Screen) -> None:
    """Handle the keys that were pressed. The sequence of a special key is read as one piece."""
    wanted = screen.wanted
    text = os.read(sys.stdin.fileno(), 256).decode(errors="replace")
    if not text:  # the terminal is gone
        screen.done = True
    for key in _KEY.findall(text):
        screen.press(_KEYS.get(key, key))
    if screen.wanted not in (None, wanted):
        try:
            _look(session, api, screen)
        except ClientError as error:
            screen.trouble = str(error)


def _look(session: Session, api: RecordsApi | None, screen: Screen) -> None:
    if screen.wanted is not None:
        screen.show_group(*look_into(session.admin, api, screen.wanted))


@contextmanager
def _keys_one_by_one() -> Iterator[None]:
    """Make the terminal pass on each key at once, without showing it."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


command = top
