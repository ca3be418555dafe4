"""Log lines about the progress of long operations: one every two seconds, none for an operation that ends sooner."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

EVERY_NS: Final = 2_000_000_000


class Progress:
    """The progress of an operation with `total` steps. `now_ns` is a clock that advances within one call of the
    loop.
    """

    __slots__ = ("_done", "_next_ns", "_now_ns", "_total", "_what")

    def __init__(self, what: str, total: int, now_ns: Callable[[], int]) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._now_ns = now_ns
        self._next_ns = now_ns() + EVERY_NS

    def step(self) -> None:
        """Count one more step as done."""
        self._done += 1
        now = self._now_ns()
        if now >= self._next_ns:
            self._next_ns = now + EVERY_NS
            logger.info("%s: %s of %s", self._what, f"{self._done:,}", f"{self._total:,}")
