"""Log lines of a kind that clients can make as many of as they like: so many in a period, the others are counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

MOST_LINES: Final = 60
PERIOD_MS: Final = 60_000


class BoundedLog:
    """At most `most` lines in each `period_ms` (by the monotonic `now_ms`), for one kind of event.

    The first line after some were left out says how many. Costs nothing while the logger's level leaves the line out.
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
        """As `Logger.log`; `fields` go into the JSON line."""
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
        self._logger.log(level, text, *arguments, extra={"fields": fields})
