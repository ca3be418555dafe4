"""The rule by which long work lets requests go first: it waits while requests arrive, but only for a limited time."""

from __future__ import annotations

from typing import Final

GIVES_WAY: Final = 3
"""The number of ticks that long work waits after a request arrived: the request's appends are written in the next tick,
and its answer is sent in the one after that.
"""

MOST_GIVES_WAY: Final = 8
"""The most ticks in a row that long work waits, however many requests arrive."""


class GivingWay:
    """The wait of long work until no request has arrived for `GIVES_WAY` ticks, or for `MOST_GIVES_WAY` ticks.

    So each request is delayed by the rest of one piece of work, and not by a piece in each tick it takes. `came` is
    the number of requests that have arrived since the start.
    """

    __slots__ = ("_gave_way", "_quiet", "_seen")

    def __init__(self, came: int = 0) -> None:
        self._seen = came  # when it was looked at last
        self._quiet = GIVES_WAY  # ticks since a request came
        self._gave_way = 0  # ticks since the last work

    def is_due(self, came: int) -> bool:
        """Return True if a request has arrived that long work should let go first."""
        return came != self._seen or self._quiet < GIVES_WAY

    def waits(self, came: int) -> bool:
        """Return True if the work waits for the next tick. Call this once in each tick."""
        if came != self._seen:
            self._seen, self._quiet = came, 0
        else:
            self._quiet += 1
        if self._quiet < GIVES_WAY and self._gave_way < MOST_GIVES_WAY:
            self._gave_way += 1
            return True
        self._gave_way = 0
        return False
