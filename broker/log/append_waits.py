"""The callbacks of one partition's appends, and the outcome of their batches."""

from __future__ import annotations

from shareq.broker.log.append import OnDurable


class AppendWaits:
    """Callbacks of batches that are in the buffer (`buffered`), that were written since the last flush, and that are
    lost.
    """

    __slots__ = ("_lost", "_written", "buffered")

    def __init__(self) -> None:
        self.buffered: list[OnDurable] = []
        self._written: list[OnDurable] = []
        self._lost: list[OnDurable] = []

    def write(self) -> None:
        """Note that everything in the buffer was written."""
        self._written += self.buffered
        self.buffered.clear()

    def lose(self) -> None:
        """Note that everything in the buffer is lost."""
        self._lost += self.buffered
        self.buffered.clear()

    def take(self) -> tuple[list[OnDurable], list[OnDurable]]:
        """Return the callbacks of batches written since the last call, and of lost batches."""
        written, lost = self._written, self._lost
        self._written = []
        if lost:
            self._lost = []
        return written, lost
