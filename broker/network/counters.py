"""Counters of requests: plain integers, which never decrease; the metrics read them on the loop."""

from __future__ import annotations

from shareq.broker.foundation.durations import Durations


class Requests:
    """The requests of one RPC. `durations` are those of answered requests; `unanswered` counts requests that get no
    answer.

    `errors` are counted by code. Every error in an answer counts, so one answer can have several.
    """

    __slots__ = ("durations", "errors", "unanswered")

    def __init__(self) -> None:
        self.durations = Durations()
        self.errors: dict[int, int] = {}
        self.unanswered = 0

    def failed(self, error_code: int, count: int = 1) -> None:
        """Count an error that occurs `count` times in an answer."""
        self.errors[error_code] = self.errors.get(error_code, 0) + count


class Authentications:
    """Counters of one listener's authentications, by SASL or by TLS: successes and failures."""

    __slots__ = ("failed", "succeeded")

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0
