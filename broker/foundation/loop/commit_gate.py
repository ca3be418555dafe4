"""One commit of metadata in a turn of the event loop, however many are asked for: each waits for the disk, on the loop.

So a turn waits for one commit's syncs at most (two: database and journal), and neighbours have their turns in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator


class CommitGate:
    """Closed from a commit until the loop's next turn. There is one for a broker's metadata, on the loop's thread.

    Work that commits passes it right before it looks at what it is about to change: between the two nothing else runs.
    """

    __slots__ = ("_call_soon", "_closed", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._closed = False
        self._waiting = 0

    def committed(self) -> None:
        """Close the gate for the rest of this turn."""
        if not self._closed:
            self._closed = True
            self._call_soon(self._open)

    def passing(self) -> Iterator[None]:
        """Pause while the gate is closed, and behind work that waits already, so that newcomers never starve it."""
        if not self._closed and not self._waiting:
            return
        self._waiting += 1
        try:
            yield
            while self._closed:
                yield
        finally:
            self._waiting -= 1

    def _open(self) -> None:
        self._closed = False
