"""`queued.max.request.bytes`: a budget for all bytes that were received, but not handled yet, on all connections.

A connection whose requests are handled at once holds nothing between two reads, and is never stopped. For other
connections:

* The budget consists of room for one frame of the largest size, and of a shared part. A connection may hold as much
  as is free in half of the shared part. So a few connections may hold much, many hold little each, and some room is
  left for the next one.
* A connection that holds more is not read, and waits until there is room, the oldest first, or until it has its
  turn.
* One connection at a time has its turn: it is read to the end of its frame, however much is held. Turns go to the
  oldest waiting connection, and to the oldest with the smallest frame, alternately, so that neither large nor small
  frames are kept waiting by a flood of the others.
* If others wait, a turn without input for `SILENT_MS`, or longer than `TURN_MS`, ends, and its connection is closed.
  So
  a frame that is never completed blocks nobody.
* A large request that is handled for more than a tick counts as held until it is answered, and keeps its turn. After
  another `TURN_MS` the turn ends if others wait, but the connection stays open.
* One read of each connection is always accepted; the other half of the shared part is for these. When more is held
  than the whole budget, the waiting connection with the largest frame (of several, the oldest) is closed.

So never more is held than the budget and one read.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, Protocol

from shareq.broker.foundation.environment import Clock, TimerHandle
from shareq.broker.network.answer_budget import LARGE_BYTES, note_large

UNLIMITED: Final = 1 << 62
SILENT_MS: Final = 1_000
TURN_MS: Final = 10_000
READ_BYTES: Final = 64 * 1024  # what a connection that is asked to go on may bring at once
LOOKS: Final = 16  # connections that are asked to go on when something was released

_SIZES: Final = 33  # sizes of frames by their bits; 0: no frame is being waited for


class Receiver(Protocol):
    """A connection, as the budget sees it."""

    held_input: int
    """The bytes that were received and are not handled, including `under_way`."""

    under_way: int
    """The bytes of a large request that is being handled and has not been answered yet."""

    @property
    def frame_to_come(self) -> int:
        """The size of the frame whose beginning has arrived, including its size field; 0 if none is incomplete."""

    def stop_reading(self) -> None: ...

    def go_on_reading(self) -> None: ...

    def close(self, reason: str) -> None: ...


class RequestBudget:
    """The count of request bytes that were received and not handled. Owned by the broker, on the loop's thread.

    `total_bytes` is `queued.max.request.bytes`, 0 or less for no limit; it always has room for one frame of
    `max_frame_bytes`.
    """

    __slots__ = (
        "_calm",
        "_clock",
        "_handled",
        "_making_room",
        "_oldest_next",
        "_shared",
        "_timer",
        "_total",
        "_turn",
        "_turn_since",
        "_waiting",
        "held",
        "on_large",
        "was_large",
    )

    def __init__(self, clock: Clock, total_bytes: int, max_frame_bytes: int) -> None:
        self._clock = clock
        self._total = max(total_bytes, max_frame_bytes) if total_bytes > 0 else UNLIMITED
        self._shared = (self._total - max_frame_bytes) // 2
        self._calm = self._shared // 2
        self._waiting = _Waiting()
        self._turn: Receiver | None = None
        self._turn_since = (0, 0)  # when the turn began, when something came in it
        self._handled = False  # its frame is complete, and being handled
        self._oldest_next = False
        self._making_room = False
        self._timer: TimerHandle | None = None
        self.held = 0
        self.was_large = False
        self.on_large: Callable[[], None] | None = None  # called while much is held

    @property
    def waiting(self) -> int:
        """The number of connections that are not read because there is no room."""
        return len(self._waiting)

    def note(self, connection: Receiver, change: int) -> None:
        """Note that the connection holds `change` bytes more than it did; fewer if negative.

        Its reading may stop, and it or others may be closed.
        """
        self.held += change
        if self.held >= LARGE_BYTES:
            note_large(self)
        if self.held <= self._calm and self._turn is None and not self._waiting:
            return  # as much as one connection may hold is free
        if connection is self._turn:
            self._in_turn(connection, change)
        else:
            self._place(connection)
        if change < 0:
            self._let_go_on()
        if self._turn is None and self._waiting:
            self._next_turn()
        if self.held > self._total and not self._making_room:
            self._make_room()

    def _left(self) -> int:
        """Return the free bytes that one connection may hold; negative if all together hold too many."""
        return self._shared - self.held + (self._turn.held_input if self._turn is not None else 0)

    def _place(self, connection: Receiver) -> None:
        """Stop the connection if it holds too much, and let it continue otherwise."""
        held = connection.held_input
        if held and held > self._left():
            self._waiting.put(connection)
            connection.stop_reading()
            self._watch()
        elif self._waiting.remove(connection):
            connection.go_on_reading()

    def _let_go_on(self) -> None:
        """Let waiting connections continue for which there is room now, the oldest first."""
        if not self._waiting:
            return
        left = self._left()
        for connection in self._waiting.oldest(LOOKS):
            if connection.held_input <= left:
                left -= READ_BYTES
                self._waiting.remove(connection)
                connection.go_on_reading()

    def _make_room(self) -> None:
        """Close the connections with the largest frames, because more is held than the whole budget. Each of them
        calls `note`.
        """
        self._making_room = True
        while self.held > self._total and (largest := self._waiting.largest()) is not None:
            self._close(largest, "no room is left for it")
        self._making_room = False

    # -- turns

    def _in_turn(self, connection: Receiver, change: int) -> None:
        """Note that the frame whose turn it is has got bytes or is complete, or that its connection has ended."""
        now = self._clock.now_ms()
        if connection.under_way:
            if not self._handled:  # its frame has just been completed
                self._turn_since, self._handled = (now, now), True
        elif connection.held_input and connection.frame_to_come and change >= 0:
            self._turn_since = (self._turn_since[0], now)
        else:
            self._turn = None
            self._place(connection)

    def _next_turn(self) -> None:
        self._oldest_next = not self._oldest_next
        connection = self._waiting.next_turn(smallest=self._oldest_next)
        if connection is not None:
            now = self._clock.now_ms()
            self._waiting.remove(connection)
            self._turn, self._turn_since, self._handled = connection, (now, now), False
            connection.go_on_reading()
            self._watch()

    def _watch(self) -> None:
        if self._timer is None and self._turn is not None and self._waiting:
            self._timer = self._clock.call_at(self._turn_ends_ms(), self._look)

    def _turn_ends_ms(self) -> int:
        """Return the time when the turn will have been silent, or will have lasted, for too long."""
        began, last = self._turn_since
        return began + TURN_MS if self._handled else min(last + SILENT_MS, began + TURN_MS)

    def _look(self) -> None:
        """End a turn whose time is over."""
        self._timer = None
        turn, now = self._turn, self._clock.now_ms()
        if turn is not None and self._waiting and now >= self._turn_ends_ms():
            if self._handled:
                self._turn = None
                self._place(turn)
                self._next_turn()
            else:
                self._close(turn, f"it was not completed in {now - self._turn_since[0]} ms")
        self._watch()

    def _close(self, connection: Receiver, why: str) -> None:
        size = connection.frame_to_come
        what = f"{connection.held_input} bytes of a request" + (f" of {size}" if size else "")
        self._waiting.remove(connection)
        connection.close(
            f"{what} give way to {len(self._waiting)} connections that wait for room (queued.max.request.bytes): {why}"
        )


class _Waiting:
    """The connections that are not read, in the order in which they were stopped, and by the size of their frames."""

    __slots__ = ("_all", "_by_size")

    def __init__(self) -> None:
        self._all: dict[Receiver, int] = {}  # the bits of its frame's size
        self._by_size: tuple[dict[Receiver, None], ...] = tuple({} for _ in range(_SIZES))

    def __len__(self) -> int:
        return len(self._all)

    def put(self, connection: Receiver) -> None:
        """Add a connection, or note another size of its frame; its place in the order stays."""
        bits = connection.frame_to_come.bit_length()
        before = self._all.get(connection)
        if before != bits:
            if before is not None:
                del self._by_size[before][connection]
            self._all[connection] = bits
            self._by_size[bits][connection] = None

    def remove(self, connection: Receiver) -> bool:
        """Remove the connection. Return True if it was there."""
        bits = self._all.pop(connection, None)
        if bits is None:
            return False
        del self._by_size[bits][connection]
        return True

    def oldest(self, count: int) -> list[Receiver]:
        return list(islice(self._all, count))

    def largest(self) -> Receiver | None:
        """Return the oldest one of the connections with the largest frame."""
        return next((next(iter(some)) for some in reversed(self._by_size) if some), None)

    def next_turn(self, *, smallest: bool) -> Receiver | None:
        """Return the oldest one of the connections with the smallest frame, or the oldest of all; None if no
        connection waits for the rest of a frame.
        """
        firsts = [next(iter(some)) for some in self._by_size[1:] if some]
        if smallest or len(firsts) < 2:
            return firsts[0] if firsts else None
        first = set(firsts)
        return next(connection for connection in self._all if connection in first)
