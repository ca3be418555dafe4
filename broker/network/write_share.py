"""A limit on the bytes of large answers written to all sockets in one tick of the loop.

The operating system accepts several megabytes of an answer at once, at a third of a millisecond each, and again
whenever a socket has room; a few such clients would delay all others. Here an answer of more than `LARGE_ANSWER` is
written as far as the tick's limit allows, and the rest in later ticks, one socket after the other. While other
clients send requests the limit is lower, because a request waits for the tick in which it arrives, and for two more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from shareq.broker.foundation.environment import Clock
from shareq.broker.network.answers import Buffer

LARGE_ANSWER: Final = 256 * 1024
"""In bytes: smaller answers are written at once, unless they follow a large one."""

MOST_WRITTEN: Final = 2 * 1024 * 1024
"""The most bytes of large answers written in one tick: half a millisecond to one."""

WRITTEN_BESIDE: Final = 256 * 1024
"""The same limit for the ticks after a request of another client: a tenth of a millisecond."""

TICKS_BESIDE: Final = 64
"""The number of ticks after a request in which that lower limit holds, some milliseconds: a client that sends a
request every few of them is never delayed by long ticks.
"""

LEAST_PIECE: Final = 256 * 1024
"""The smallest piece written, if that much is left. A smaller rest of a tick's limit is not used."""

MOST_PIECE: Final = 512 * 1024
"""The largest piece. The part that the system does not accept is written in any later tick in which the socket has
room.
"""


class Writer(Protocol):
    """A socket with a large answer."""

    def write_piece(self, most: int) -> int:
        """Write up to `most` bytes to the socket. Return how many were written."""

    @property
    def wants_turn(self) -> bool:
        """True if there are more bytes that can be written to the socket now."""


class WriteShare:
    """The large answers of all sockets. Owned by the server, on the loop's thread."""

    __slots__ = ("_beside", "_clock", "_line", "_seen", "_takes_turns", "_watching", "_written", "requests")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._line: dict[Writer, None] = {}  # in the order of their turns
        self._written = 0
        self._takes_turns = False  # a write in a turn may cause the next answer, which waits for a turn of its own
        self._watching = False
        self.requests = 0  # of clients whose last answers were not large, counted by their sockets
        self._seen = 0  # of them
        self._beside = 0  # the number of ticks, including this one, with the lower limit

    @property
    def waiting(self) -> int:
        """The number of sockets that wait for their turn."""
        return len(self._line)

    def write(self, writer: Writer) -> None:
        """Write a piece to a socket that does not wait: now if the tick's limit allows it, otherwise in its turn."""
        self._line[writer] = None
        if len(self._line) == 1 and not self._takes_turns:
            self._take_turns()
        if not self._watching:
            self._watching = True
            self._clock.call_soon(self._next_tick)

    def _goes_to(self) -> int:
        """Return the limit of this tick, in bytes."""
        if self.requests != self._seen:
            self._seen = self.requests
            self._beside = TICKS_BESIDE
        return WRITTEN_BESIDE if self._beside else MOST_WRITTEN

    def _take_turns(self) -> None:
        line = self._line
        self._takes_turns = True
        try:
            while line and (left := self._goes_to() - self._written) >= LEAST_PIECE:
                writer = next(iter(line))
                del line[writer]
                self._written += writer.write_piece(min(left, MOST_PIECE))
                if writer.wants_turn:
                    line[writer] = None
        finally:
            self._takes_turns = False

    def _next_tick(self) -> None:
        self._written = 0
        if self._beside:
            self._beside -= 1
        try:
            self._take_turns()
        finally:  # one that fails must not take the others' turns away
            self._watching = bool(self._line) or self._written > 0
            if self._watching:
                self._clock.call_soon(self._next_tick)


class Rest:
    """Buffers of answers that have not been passed to their socket, in order."""

    __slots__ = ("_buffers", "size")

    def __init__(self) -> None:
        self._buffers: deque[memoryview] = deque()
        self.size = 0

    def add(self, buffers: Sequence[Buffer], size: int) -> None:
        """Add an answer of so many bytes behind the others."""
        self._buffers.extend(map(memoryview, buffers))
        self.size += size

    def take(self, most: int) -> list[memoryview]:
        """Remove and return up to `most` bytes."""
        taken: list[memoryview] = []
        buffers = self._buffers
        while buffers and most > 0:
            first = buffers.popleft()
            if len(first) > most:
                buffers.appendleft(first[most:])
                first = first[:most]
            taken.append(first)
            most -= len(first)
            self.size -= len(first)
        return taken

    def clear(self) -> None:
        """Forget the answers that are left."""
        self._buffers.clear()
        self.size = 0
