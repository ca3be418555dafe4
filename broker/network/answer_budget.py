"""How large an answer with records may be, so that clients which do not take theirs cannot fill the memory.

Records are read into memory before they are sent, up to `fetch.max.bytes` for each connection. What sockets have not
taken yet is counted over all connections; an answer may fill half of what is left of the total. So a few slow clients
get whole answers, many get ever smaller ones, and together they hold little more than the total.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

TOTAL_BYTES: Final = 256 * 1024 * 1024
LEAST_BYTES: Final = 64 * 1024  # what is always granted, so that clients that read keep making progress


class AnswerBudget:
    """The count of bytes that were read for clients and are not taken. Owned by the broker, on the loop's thread."""

    __slots__ = ("_call_soon", "_read", "_total", "_untaken")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None], total_bytes: int = TOTAL_BYTES) -> None:
        self._call_soon = call_soon
        self._total = total_bytes
        self._untaken = 0
        self._read = 0

    @property
    def held(self) -> int:
        """Bytes that are held for clients which do not take them."""
        return self._untaken + self._read

    def grant(self) -> int:
        """Bytes of records the next answer may have. A first batch comes whatever its size."""
        return max(LEAST_BYTES, (self._total - self._untaken - self._read) // 2)

    def note_read(self, size: int) -> None:
        """That many bytes were read for an answer. They count until its socket reports how much of them it took."""
        if size > LEAST_BYTES:
            if not self._read:
                self._call_soon(self._forget_read)
            self._read += size

    def note_unsent(self, change: int) -> None:
        """A socket has that many bytes more that its client does not take; fewer if negative."""
        self._untaken += change

    def _forget_read(self) -> None:
        self._read = 0
