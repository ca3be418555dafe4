"""A limit on the bytes read from all sockets in one tick of the loop, so that a client that sends much does not
delay others.

Without it, a socket is read until it is empty, which may be several megabytes, while a small request on another
socket waits. Here large reads are counted: once `MOST_READ` bytes were read in a tick, each socket with another
large read is stopped until its turn. A few get their turn in each tick, in the order in which they were stopped. A
small read costs one comparison.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from shareq.broker.foundation.environment import Clock

LARGE_READ: Final = 16 * 1024
"""In bytes: smaller reads are not counted."""

MOST_READ: Final = 512 * 1024
"""The most bytes of large reads in one tick, a third of a millisecond; each socket may exceed it by one read."""

GO_ON: Final = 2
"""The number of stopped sockets that are read again in one tick. Each may bring 256 KB before it is counted."""


class Reader(Protocol):
    """A socket that is read."""

    def wait_for_turn(self) -> None: ...

    def take_turn(self) -> None: ...


class ReadShare:
    """The large reads of all sockets. Owned by the server, on the loop's thread."""

    __slots__ = ("_clock", "_line", "_read", "_watching")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._line: deque[Reader] = deque()
        self._read = 0
        self._watching = False

    @property
    def waiting(self) -> int:
        """The number of sockets that wait for their turn."""
        return len(self._line)

    def note(self, reader: Reader, size: int) -> None:
        """Note that a socket that was not waiting has brought so many bytes, at least `LARGE_READ`.

        Its reading may be stopped.
        """
        self._read += size
        if self._read > MOST_READ:
            self._line.append(reader)
            reader.wait_for_turn()
        if not self._watching:
            self._watching = True
            self._clock.call_soon(self._next_tick)

    def _next_tick(self) -> None:
        self._read = 0
        for _ in range(min(GO_ON, len(self._line))):
            self._line.popleft().take_turn()
        self._watching = bool(self._line)
        if self._watching:
            self._clock.call_soon(self._next_tick)
