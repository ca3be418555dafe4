"""Log lines that clients could cause without end: only a number of them is written in each period; others are
counted.

Texts from clients are cut, since a client id or a name may have 32,767 bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Clock

AUDIT_LOG: Final = "shareq.authorizer"
"""The name of the logger of `network/audit_log.py`."""

MOST_LINES: Final = 60
MOST_ALIKE: Final = 10
MOST_CLIENTS: Final = 100
PERIOD_MS: Final = 60_000
MOST_CHARACTERS: Final = 500
"""The most characters of a text in a log line that is put together from names that are cut."""

MOST_OF_A_NAME: Final = 256


def cut(value: object, most: int = MOST_OF_A_NAME) -> object:
    """Return the value for a log line. A text of more than `most` characters is cut, and its length is added."""
    if isinstance(value, str) and len(value) > most:
        return f"{value[:most]}... ({len(value)} characters)"
    return value


def _cut_text(value: object) -> object:
    return cut(value, MOST_CHARACTERS)


class BoundedLog:
    """A log for one kind of event that writes at most `most` lines in each `period_ms` (of the monotonic `now_ms`).

    The first line after omitted ones has their number. It costs nothing while the logger's level omits the line.
    """

    __slots__ = ("_lines", "_logger", "_most", "_now_ms", "_period_ms", "_until_ms", "left_out")

    def __init__(
        self,
        logger: logging.Logger,
        now_ms: Callable[[], int],
        *,
        most: int = MOST_LINES,
        period_ms: int = PERIOD_MS,
    ) -> None:
        self._logger = logger
        self._now_ms = now_ms
        self._most = most
        self._period_ms = period_ms
        self._lines = 0
        self._until_ms: int | None = None
        self.left_out = 0

    def log(self, level: int, text: str, *arguments: object, **fields: object) -> None:
        """Log a line like `Logger.log`; `fields` are added to the JSON line. Arguments and fields are cut."""
        if not self._logger.isEnabledFor(level):
            return
        now_ms = self._now_ms()
        if self._until_ms is None or now_ms >= self._until_ms:
            self._until_ms, self._lines = now_ms + self._period_ms, 0
        if self._lines >= self._most:
            self.left_out += 1
            return
        self._lines += 1
        if self.left_out:
            text, arguments = f"{text} (%d such lines before this one were left out)", (*arguments, self.left_out)
            fields["left_out"], self.left_out = self.left_out, 0
        _log(_line(self._logger, level, text, arguments, fields))


class _Line(NamedTuple):
    """A line as it is written, with arguments and fields cut."""

    logger: logging.Logger
    level: int
    text: str
    arguments: tuple[object, ...]
    fields: dict[str, object]


class _Alike:
    """Similar lines about one client: the number written, the number left out, and the last one left out."""

    __slots__ = ("last", "left_out", "written")

    def __init__(self) -> None:
        self.written = self.left_out = 0
        self.last: _Line | None = None


class BoundedLogs:
    """Log lines about clients, with bounds by client.

    In each period at most `most` lines are about one client, of which at most `most_alike` may be alike, so that no
    client can hide lines about others. Clients beyond the first `most_clients` of a period share the lines of one
    client. When the period ends, a line for each kind has the number of lines left out.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        most: int = MOST_LINES,
        most_alike: int = MOST_ALIKE,
        most_clients: int = MOST_CLIENTS,
        period_ms: int = PERIOD_MS,
    ) -> None:
        self._clock = clock
        self._most = most
        self._most_alike = most_alike
        self._most_clients = most_clients
        self._period_ms = period_ms
        self._until_ms: int | None = None
        self._written: dict[str, int] = {}  # by client
        self._alike: dict[tuple[str, Hashable], _Alike] = {}
        self._is_timed = False

    def log(
        self,
        logger: logging.Logger,
        client: str,
        kind: Hashable,
        level: int,
        text: str,
        *arguments: object,
        **fields: object,
    ) -> None:
        """Log a line like `Logger.log`; lines of one client and kind are alike.

        `fields` are added to the JSON line. Arguments and fields are cut.
        """
        if not logger.isEnabledFor(level):
            return
        now_ms = self._clock.now_ms()
        if self._until_ms is None or now_ms >= self._until_ms:
            self._end_period()
            self._until_ms = now_ms + self._period_ms
        if client not in self._written and len(self._written) > self._most_clients:
            client = ""
        written = self._written.get(client, 0)
        kind = _cut_text(kind) if isinstance(kind, str) else kind  # it is kept for a period, as the last line is
        alike = self._alike.get((client, kind))
        line = _line(logger, level, text, arguments, fields)
        if written >= self._most or (alike is not None and alike.written >= self._most_alike):
            self._leave_out(alike or self._alike.setdefault((client, None), _Alike()), line)
            return
        self._written[client] = written + 1
        if alike is None:
            alike = self._alike[client, kind] = _Alike()
        alike.written += 1
        _log(line)

    def _leave_out(self, alike: _Alike, line: _Line) -> None:
        alike.left_out += 1
        alike.last = line
        if not self._is_timed and self._until_ms is not None:
            self._is_timed = True
            self._clock.call_at(self._until_ms, self._timer)

    def _timer(self) -> None:
        self._is_timed = False
        if self._until_ms is not None and self._clock.now_ms() >= self._until_ms:
            self._end_period()

    def _end_period(self) -> None:
        ended, self._alike = self._alike, {}
        self._written.clear()
        self._until_ms = None
        for alike in ended.values():
            if alike.last is not None:
                logger, level, text, arguments, fields = alike.last
                text = f"{text} (%d such lines were left out, this is the last)"
                fields = {**fields, "left_out": alike.left_out}
                _log(_Line(logger, level, text, (*arguments, alike.left_out), fields))


def _line(
    logger: logging.Logger, level: int, text: str, arguments: Iterable[object], fields: Mapping[str, object]
) -> _Line:
    short = {name: _cut_text(value) if name == "reason" else cut(value) for name, value in fields.items()}
    return _Line(logger, level, text, tuple(map(_cut_text, arguments)), short)


def _log(line: _Line) -> None:
    line.logger.log(line.level, line.text, *line.arguments, extra={"fields": line.fields})
