"""Lines on stderr about work that takes more than two seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FIRST_LINE_AFTER_S: Final = 2.0
_UNITS: Final = ("kB", "MB", "GB", "TB")


class Progress:
    """The progress of one command: it counts bytes and items, and prints at most one line every two seconds.

    `now_s` is a monotonic clock in seconds; `write` prints one line, `items` names what is counted. Nothing is
    printed in the first two seconds.
    """

    def __init__(
        self, verb: str, now_s: Callable[[], float], write: Callable[[str], None], items: str = "logs"
    ) -> None:
        self._verb = verb
        self._items_are = items
        self._now_s = now_s
        self._write = write
        self._next_line_at = now_s() + FIRST_LINE_AFTER_S
        self._items = self._of_items = 0
        self._bytes = self._of_bytes = 0

    def expect(self, items: int, size: int) -> None:
        """Set the amount of the whole work: so many items, `size` bytes."""
        self._of_items, self._of_bytes = items, size

    def item_done(self) -> None:
        """Count one more item as finished."""
        self._items += 1
        self._line_if_due()

    def bytes_done(self, size: int) -> None:
        """Count `size` more bytes as finished."""
        self._bytes += size
        self._line_if_due()

    def _line_if_due(self) -> None:
        now = self._now_s()
        if now < self._next_line_at:
            return
        self._next_line_at = now + FIRST_LINE_AFTER_S
        items = f"{self._items} of {self._of_items} {self._items_are}"
        self._write(f"{self._verb}: {items}, {bytes_text(self._bytes)} of {bytes_text(self._of_bytes)}")


def bytes_text(size: int) -> str:
    """Return a number of bytes for people: `1.4 MB`."""
    if size < 1000:
        return f"{size} bytes"
    power = min((len(str(size)) - 1) // 3, len(_UNITS))
    return f"{size / 1000**power:.1f} {_UNITS[power - 1]}"
