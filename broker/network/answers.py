"""The answers of one connection, in the order of its requests.

An answer that is not ready yet (`AnswerSlot`) keeps its place in the order; ready ones are written together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

from shareq.broker.network.counters import Requests
from shareq.broker.network.request_limits import RequestLimits
from shareq.protocol.primitives import Gathered

Buffer = bytes | bytearray | memoryview


class Filled(Protocol):
    """A party that waits for an answer."""

    def on_filled(self) -> None:
        """Note that the answer has arrived."""


class AnswerSlot:
    """The place of one answer among the answers of its connection. Filled once, on the loop's thread.

    `requests` counts the answer when it is written, if it is given.
    """

    __slots__ = ("_connection", "filled", "frame", "parks", "requests", "since_ns", "size")

    def __init__(self, connection: Filled, *, parks: bool, requests: Requests | None = None) -> None:
        self._connection = connection
        self.parks = parks
        self.requests = requests
        self.filled = False
        self.frame: Buffer | None = None
        self.size = 0  # of the request, counted against max_unanswered_bytes
        self.since_ns = 0  # when its request was taken up

    def fill(self, frame: Buffer | None) -> None:
        """Set the answer, including its size field; None if the request gets no answer."""
        self.frame = frame
        self.filled = True
        self._connection.on_filled()

    def report_to(self, other: Filled) -> None:
        """Notify `other`, instead of the connection, when the answer has arrived."""
        self._connection = other


class FallBack(Enum):
    """The result of a short path that cannot handle a request, which must take the ordinary path."""

    FALL_BACK = 0


FALL_BACK: Final = FallBack.FALL_BACK

Reply = Buffer | AnswerSlot | None
FrameHandler = Callable[[bytes], Reply]
"""A function that handles one request frame of a connection, without its size field. It raises CloseConnection."""


class Answers:
    """Answers that have not been written: `out` is ready to be written; the answers of `slots` follow behind it, in
    order.
    """

    __slots__ = ("_unanswered_bytes", "out", "slots")

    def __init__(self) -> None:
        self.slots: deque[AnswerSlot] = deque()
        self.out: list[Buffer] = []
        self._unanswered_bytes = 0

    def are_full(self, limits: RequestLimits) -> bool:
        """Return True if no further request may be handled before some of these answers have been written."""
        return len(self.slots) >= limits.max_unanswered or self._unanswered_bytes >= limits.max_unanswered_bytes

    def wait_for(self, slot: AnswerSlot, size: int, since_ns: int) -> None:
        """Keep the place of an answer to a request of `size` bytes, handled since `since_ns`."""
        slot.size = size
        slot.since_ns = since_ns
        self.slots.append(slot)
        self._unanswered_bytes += size

    def put(self, frame: Buffer, waiting: Filled) -> int:
        """Add an answer behind all others. Return the number of bytes ready to be written, 0 if an earlier answer is
        not ready.
        """
        if self.slots:
            slot = AnswerSlot(waiting, parks=False)
            slot.frame, slot.filled = frame, True
            self.slots.append(slot)
            return 0
        return _put(self.out, frame)

    def take_ready(self, now_ns: Callable[[], int]) -> list[Buffer]:
        """Remove and return the buffers of all answers that are ready, in order."""
        if self.slots and self.slots[0].filled:
            self._take_filled(now_ns())
        out, self.out = self.out, []
        return out

    def clear(self) -> None:
        """Remove all answers."""
        self.slots.clear()
        self.out = []

    def _take_filled(self, now_ns: int) -> None:
        """Move the answers that are ready, in order, to the output. Equal ones are counted together."""
        slots, out = self.slots, self.out
        requests: Requests | None = None
        since_ns = alike = size = 0
        while slots and slots[0].filled:
            slot = slots.popleft()
            size += slot.size
            if slot.frame is not None:
                _put(out, slot.frame)
            if slot.since_ns != since_ns or slot.requests is not requests:
                if requests is not None:
                    requests.durations.add(now_ns - since_ns, alike)
                requests, since_ns, alike = slot.requests, slot.since_ns, 0
            alike += 1
        if requests is not None:
            requests.durations.add(now_ns - since_ns, alike)
        self._unanswered_bytes -= size


def _put(out: list[Buffer], frame: Buffer) -> int:
    """Append a frame with its pieces. Return its size."""
    if type(frame) is not Gathered or not frame.left:
        out.append(frame)
        return len(frame)
    out += frame.pieces()
    return frame.size
