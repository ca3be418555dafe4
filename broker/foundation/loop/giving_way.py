"""The rule by which long work lets requests go first: it waits while they come, and not for ever."""

from __future__ import annotations

from typing import Final

GIVES_WAY: Final = 3
"""Ticks behind a request that came: in the next one what it appends is written, in another it is answered."""

MOST_GIVES_WAY: Final = 8
"""Ticks in a row, however many requests come."""


class GivingWay:
    """Long work's wait until no request has come for `GIVES_WAY` ticks, so that each of them meets the rest of one
    piece of work and not one in each tick it takes; and for `MOST_GIVES_WAY` ticks at most.

    `came` is how many requests have come since the start.
    """

    __slots__ = ("_gave_way", "_quiet", "_seen")

    def __init__(self, came: int = 0) -> None:
        self._seen = came  # when it was looked at last
        self._quiet = GIVES_WAY  # ticks since a request came
        self._gave_way = 0  # ticks since the last work

    def is_due(self, came: int) -> bool:
        """Return whether a request has come that long work should let go first."""
        return came != self._seen or self._quiet < GIVES_WAY

    def waits(self, came: int) -> bool:
        """Return whether work that is to be done waits for the next tick. To be called once in a tick."""
        if came != self._seen:
            self._seen, self._quiet = came, 0
        else:
            self._quiet += 1
        if self._quiet < GIVES_WAY and self._gave_way < MOST_GIVES_WAY:
            self._gave_way += 1
            return True
        self._gave_way = 0
        return False
