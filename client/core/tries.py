"""The repetition of a call: its time limit and its pauses. The clock is the caller's, in seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from shareq.client.chance import CHANCE
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, Unreachable

logger = logging.getLogger(__name__)

Clock = Callable[[], float]

TELL_AFTER_S: Final = 5
"""The seconds after which a retried error is logged: a restart of a broker is over by then."""


def backoff_s(first_ms: int, most_ms: int, failures: int) -> float:
    """Return the pause after this many failures in a row, in seconds.

    It doubles with each failure, and varies by up to a fifth, so that clients do not return all at once.
    """
    pause_ms = min(first_ms * 2.0 ** min(failures - 1, 30), max(first_ms, most_ms))
    return pause_ms * CHANCE.uniform(0.8, 1.2) / 1000


class Tries:
    """The tries of one call: its time limit, and the growing pauses in between. With `once` there is one try."""

    def __init__(self, config: ClientConfig, total_ms: int, clock: Clock, *, once: bool = False) -> None:
        self._config = config
        self._total_ms = total_ms
        self._clock = clock
        self._once = once
        self._failures = 0
        self._last: ClientError | None = None
        now = clock()
        self._tell_at = now + TELL_AFTER_S
        self.deadline = now + total_ms / 1000

    @property
    def left_ms(self) -> int:
        """The time left for a call that is part of this one, in milliseconds, at least 1."""
        return max(1, round((self.deadline - self._clock()) * 1000))

    @property
    def is_over(self) -> bool:
        """True if the time is used up."""
        return self._clock() >= self.deadline

    def failed(self, error: ClientError) -> float:
        """Return the pause before the next try, in seconds.

        Raises `error` itself if there is only one try, and Unreachable, with the error to report, if the time is up
        before the pause ends. A try that the deadline cut short says less than the one before it, which is reported
        instead.
        """
        if self._once:
            raise error
        now = self._clock()
        if self._last is None or now < self.deadline:
            self._last = error
        self._failures += 1
        pause = backoff_s(self._config.retry_backoff_ms, self._config.retry_backoff_max_ms, self._failures)
        if self.deadline - now <= pause:
            raise Unreachable(f"{_clause(self._last)}; given up after {self._total_ms} ms") from None
        if now + pause >= self._tell_at:
            self._tell_at = self.deadline
            logger.warning("%s; trying again for %d s", _clause(self._last), self.left_ms // 1000)
        return pause


def _clause(error: ClientError) -> str:
    """Return an error's text without the end of its sentence."""
    return str(error).rstrip(".")
