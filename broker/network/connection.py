"""One client connection without its socket: bytes in, frames handled in turn, answers out in request order.

    frame   int32 size (of what follows), then `size` bytes: request header and body, or response header and body

The size is checked before anything is kept. Frames are handled as they are cut, all complete ones of a read in one
loop; an answer that is not there yet (`AnswerSlot`) keeps its place, and one that parks stops the handling of later
frames until it is filled, as Apache Kafka mutes a connection while it serves a request.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from shareq.broker.foundation.loop.effort import EFFORT, MOST_EFFORT
from shareq.broker.network.client_lines import UNBOUNDED, ClientLines
from shareq.broker.network.connection_limits import ConnectionLimits
from shareq.broker.security.names import ANONYMOUS
from shareq.protocol.framing import SIZE_BYTES
from shareq.protocol.primitives import Gathered

if TYPE_CHECKING:
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.network.counters import Requests
    from shareq.broker.network.request_budget import RequestBudget
    from shareq.broker.security.sasl_session import Answer

T = TypeVar("T")

_read_size: Final = struct.Struct(">i").unpack_from

_KEY_BYTES: Final = 2  # of a request's API key, with which its frame begins
LARGE_FRAME_BYTES: Final = 64 * 1024  # frames from here on are collected apart and joined once
HELD_REQUEST_BYTES: Final = 8 * 1024  # a request that parks counts as held, until it is answered, from here on
SMALL_READ_BYTES: Final = 4 * 1024  # smaller reads of a large frame are joined at once: an object each would take more

Buffer = bytes | bytearray | memoryview


class CloseConnection(Exception):
    """The connection cannot go on: a malformed frame, an unknown RPC. The text is the reason that is logged."""


class Outlet(Protocol):
    """The other side of a connection: a socket, or a test."""

    def write(self, buffers: list[Buffer]) -> None:
        """Send the buffers in order. Takes ownership of them."""

    def close(self) -> None:
        """Send what was written, then close."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Filled(Protocol):
    """What waits for an answer."""

    def on_filled(self) -> None:
        """The answer has come."""


class AnswerSlot:
    """The place of one answer among the answers of its connection. Filled once, on the loop's thread.

    `requests` counts the answer when it is written, if it is given.
    """

    __slots__ = ("_connection", "filled", "frame", "parks", "requests", "since_ns", "size")

    def __init__(self, connection: Connection, *, parks: bool, requests: Requests | None = None) -> None:
        self._connection: Filled = connection
        self.parks = parks
        self.requests = requests
        self.filled = False
        self.frame: Buffer | None = None
        self.size = 0  # of the request, counted against max_unanswered_bytes
        self.since_ns = 0  # when its request was taken up

    def fill(self, frame: Buffer | None) -> None:
        """Give the answer, size prefix included; None when the request gets none."""
        self.frame = frame
        self.filled = True
        self._connection.on_filled()

    def report_to(self, other: Filled) -> None:
        """Notify `other`, in place of the connection, when the answer has come."""
        self._connection = other


class FallBack(Enum):
    """Instead of a reply, from a short way: the request has to go the ordinary one."""

    FALL_BACK = 0


FALL_BACK: Final = FallBack.FALL_BACK

Reply = Buffer | AnswerSlot | None
FrameHandler = Callable[[bytes], Reply]
"""Handles one request frame of a connection, without its size. Raises CloseConnection."""


class Gate(Protocol):
    """What stands before a connection's handler until its client is authenticated, and watches when that ends."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The SASL mechanisms that are enabled."""

    @property
    def expects_token(self) -> bool:
        """Whether a mechanism was agreed on and is not finished."""

    def handle_frame(self, frame: bytes) -> Reply:
        """As a `FrameHandler`; also raises CloseConnection for what may not come before authentication."""

    def handshake(self, mechanism: str, *, raw: bool) -> bool:
        """The client has chosen an enabled mechanism. False where this is not the time for it."""

    def token(self, token: bytes) -> Answer:
        """Answer a token. Raises AuthenticationFailed."""

    def after_failure(self, answer: T) -> Pending[T]:
        """The answer to an attempt that failed, when it may be sent."""


class Connection:
    """What the broker knows of a client connection.

    `handler_for` is called once and returns what handles this connection's frames.
    `principal` is what the client has shown to be, as TYPE:NAME; `gate` stands before the handler while that has to be
    watched.
    `since_ns` is when the requests that are being handled were taken up, by `now_ns`.
    What was received and is not handled is reported to `budget`, which may stop the reading; so is a large request
    that parks, until it is answered.
    Everything runs on the loop's thread. Logs why it closes, once.
    """

    __slots__ = (
        "_admitted_limits",
        "_at",
        "_budget",
        "_call_soon",
        "_cut",
        "_halted",
        "_handle",
        "_handling",
        "_limits",
        "_missing",
        "_mutes",
        "_needed",
        "_on_close",
        "_out",
        "_outlet",
        "_output_paused",
        "_parked",
        "_parts",
        "_reading_paused",
        "_rest",
        "_scheduled",
        "_slots",
        "_unanswered_bytes",
        "_waits_for_room",
        "client_host",
        "closed",
        "finishing",
        "gate",
        "held_input",
        "id",
        "lines",
        "listener",
        "now_ns",
        "principal",
        "since_ns",
        "under_way",
    )

    def __init__(
        self,
        connection_id: int,
        client_host: str,
        listener: str,
        *,
        handler_for: Callable[[Connection], FrameHandler],
        call_soon: Callable[[Callable[[], None]], None],
        outlet: Outlet,
        limits: ConnectionLimits,
        now_ns: Callable[[], int] = lambda: 0,
        budget: RequestBudget | None = None,
        lines: ClientLines = UNBOUNDED,
    ) -> None:
        self.id = connection_id
        self.client_host = client_host
        self.listener = listener
        self.principal = ANONYMOUS
        self.gate: Gate | None = None
        self.closed = False
        self.finishing = False
        self.since_ns = 0
        self._call_soon = call_soon
        self.now_ns = now_ns
        self._outlet = outlet
        self._limits = limits
        self._admitted_limits = limits
        self._budget = budget
        self.lines = lines
        self.held_input = 0  # bytes, as the budget knows them
        self.under_way = 0  # bytes of the large request that is parked
        self._waits_for_room = False  # the budget has stopped the reading
        self._rest: bytes | bytearray = b""  # what was read; from _at on not yet handled, beginning at a frame's size
        self._at = 0
        self._parts: list[bytes | bytearray] = []  # of a large frame, from its size on
        self._missing = 0  # bytes of that frame which were not read yet
        self._needed = SIZE_BYTES  # bytes from _at that make the next step possible
        self._slots: deque[AnswerSlot] = deque()
        self._out: list[Buffer] = []
        self._unanswered_bytes = 0
        self._parked: AnswerSlot | None = None
        self._output_paused = False
        self._reading_paused = False
        self._handling = False
        self._scheduled = False
        self._cut = False  # a go was cut short; the next tick goes on
        self._mutes = 0
        self._halted = False  # muted or finishing: no further frame is handled
        self._on_close: list[Callable[[], None]] = []
        self._handle = handler_for(self)

    def __str__(self) -> str:
        return f"connection {self.id} from {self.client_host} on {self.listener}"

    @property
    def unanswered(self) -> int:
        """Requests that were handled and whose answers have not been written."""
        return len(self._slots)

    @property
    def buffered_input(self) -> int:
        """Bytes that were read and wait to be handled."""
        return self._needed - self._missing if self._missing else len(self._rest) - self._at

    @property
    def frame_to_come(self) -> int:
        """Bytes of the frame whose beginning is here, its size included; 0 when none is being waited for."""
        return 0 if self._stopped() or not self.buffered_input else self._needed

    def receive(self, data: bytes) -> None:
        """Take what was read and handle every complete frame in it."""
        if self.closed or self.finishing:
            return
        if self._missing:
            data = self._collect(data)
            if not data:
                self._note_input()
                return
        if self._at < len(self._rest):
            rest = self._rest
            if isinstance(rest, bytes):
                rest = bytearray(memoryview(rest)[self._at :])
            elif self._at:
                del rest[: self._at]
            rest += data
            self._rest, self._at = rest, 0
        else:
            self._rest, self._at = data, 0
        if not self._stopped():
            if len(self._rest) >= self._needed:
                self._handle_frames()
        elif len(self._rest) > self._limits.max_input_bytes and not self._reading_paused:
            self._reading_paused = True
            if not self._waits_for_room:
                self._outlet.pause_reading()
        self._note_input()

    def stop_reading(self) -> None:
        """The budget has no room for more of this connection. Harmless the second time."""
        if not self._waits_for_room:
            self._waits_for_room = True
            if not self._reading_paused:
                self._outlet.pause_reading()

    def go_on_reading(self) -> None:
        """The budget has room again, or it is this connection's turn."""
        if self._waits_for_room:
            self._waits_for_room = False
            if not self._reading_paused and not self.closed:
                self._outlet.resume_reading()

    def guard(self, gate_before: Callable[[FrameHandler], Gate], max_frame_bytes: int) -> None:
        """Hand every frame to the gate that stands before this handler, and take none that is larger, until the client
        is `admitted`.
        """
        self.gate = gate = gate_before(self._handle)
        self._admitted_limits = self._limits
        self._limits = self._limits._replace(max_frame_bytes=min(max_frame_bytes, self._limits.max_frame_bytes))
        self._handle = gate.handle_frame

    def admitted(self, handle: FrameHandler | None) -> None:
        """The client is authenticated. With `handle` the gate is not needed any more, and frames go there."""
        self._limits = self._admitted_limits
        if handle is not None:
            self.gate = None
            self._handle = handle

    def send(self, frame: Buffer) -> None:
        """Write a frame that answers no request in the queue (authentication). Size prefix included."""
        self._outlet.write([frame])

    def close(self, reason: str) -> None:
        """Handle nothing more, answer what was handled, then close. Logs the reason."""
        if self.closed or self.finishing:
            return
        self.lines.warn(self, reason, "closing: ")
        self.finish()

    def abandon(self, reason: str) -> None:
        """As `close`, without the answer that all later requests wait for: it will not come."""
        parked = self._parked
        if parked is not None and not parked.filled:
            close_behind(self, parked, reason)
        else:
            self.close(reason)

    def finish(self) -> None:
        """As `close`, without a log line: the broker stops, or the connection was idle."""
        if self.closed or self.finishing:
            return
        self.finishing = self._halted = True
        self._drop_input()
        if not self._handling:  # else the frame being handled is answered first
            self._write_ready()

    def lost(self) -> None:
        """The connection has ended. Nothing more is written; what waits for it is notified."""
        if self.closed:
            return
        self.closed = True
        self._drop_input()
        self._slots.clear()
        self._out = []
        self._handle = _handle_nothing  # what it remembers of the connection goes with it, also behind a gate
        self.gate = None
        callbacks, self._on_close = self._on_close, []
        for callback in callbacks:
            callback()

    def on_close(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the connection is gone; returns what takes the request back (harmless afterwards)."""
        self._on_close.append(callback)

        def forget() -> None:
            if callback in self._on_close:
                self._on_close.remove(callback)

        return forget

    def pause_output(self) -> None:
        """The other side does not read: handle nothing more until `resume_output`."""
        self._output_paused = True

    def resume_output(self) -> None:
        self._output_paused = False
        self._resume()

    def mute(self) -> None:
        """Handle nothing more until `unmute` was called as often; answers go on. For clients that are over a quota."""
        self._mutes += 1
        self._halted = True

    def unmute(self) -> None:
        """Take one `mute` back."""
        self._mutes -= 1
        self._halted = self._mutes > 0 or self.finishing
        self._resume()

    def on_filled(self) -> None:
        """An answer slot was filled: write what is ready in the next tick, together with its neighbours."""
        if not self._scheduled and not self.closed:
            self._scheduled = True
            self._call_soon(self._flush)

    def _drop_input(self) -> None:
        self._rest, self._at, self._needed = b"", 0, SIZE_BYTES
        self._parts, self._missing = [], 0
        self.under_way = 0
        self._note_input()

    def _note_input(self) -> None:
        """Report to the budget what is held now; of a connection that keeps up nothing is, before and behind a read."""
        held = self.under_way + (self._needed - self._missing if self._missing else len(self._rest) - self._at)
        if (held != self.held_input or self._waits_for_room) and self._budget is not None:
            change, self.held_input = held - self.held_input, held
            self._budget.note(self, change)

    def _stopped(self) -> bool:
        if self._parked is not None or self._output_paused or self._cut or self._halted:
            return True
        limits = self._limits
        return len(self._slots) >= limits.max_unanswered or self._unanswered_bytes >= limits.max_unanswered_bytes

    def _collect(self, data: bytes) -> bytes:
        """Add to a large frame; once it is complete, that frame with its size and what follows it."""
        last = self._parts[-1]
        if len(data) >= SMALL_READ_BYTES:
            self._parts.append(data)
        elif isinstance(last, bytearray) and len(last) < LARGE_FRAME_BYTES:
            last += data
        else:
            self._parts.append(bytearray(data))
        if len(data) < self._missing:
            self._missing -= len(data)
            return b""
        self._missing = 0
        parts, self._parts = self._parts, []
        return b"".join(parts)

    def _handle_frames(self) -> None:
        """Handle what was read as far as it goes, and write the answers that are ready."""
        self._handling = True
        self.since_ns = self.now_ns()
        EFFORT.goes += 1
        EFFORT.spent = 0
        try:
            position = self._handle_complete(self._rest, self._at)
        except CloseConnection as error:
            self.close(str(error))
        else:
            if not self.finishing:
                self._keep_from(position)
        if EFFORT.spent > MOST_EFFORT:
            self._cut = True
            self.on_filled()  # go on in the next tick, as above
        self._handling = False
        self._write_ready()

    def _keep_from(self, position: int) -> None:
        """Forget what was handled: nothing of a connection that keeps up stays, and never much more than counts."""
        if position == len(self._rest):
            self._rest, self._at = b"", 0
        elif position * 2 > len(self._rest):
            self._rest, self._at = bytes(memoryview(self._rest)[position:]), 0
        else:
            self._at = position

    def _handle_complete(self, data: bytes | bytearray, position: int) -> int:
        """Handle frames until none is complete or the connection has to wait. Returns the position after the last."""
        handle, slots, out = self._handle, self._slots, self._out  # nothing writes, and so replaces _out, meanwhile
        limits, since_ns = self._limits, self.since_ns
        max_frame_bytes, room = limits.max_frame_bytes, limits.max_output_bytes
        slots_left = limits.max_unanswered - len(slots)
        bytes_left = limits.max_unanswered_bytes - self._unanswered_bytes
        if isinstance(data, bytearray):
            data = bytes(data)
        end = len(data)
        self._needed = SIZE_BYTES
        while end - position >= SIZE_BYTES and not self._halted and EFFORT.spent <= MOST_EFFORT:
            (size,) = _read_size(data, position)
            if not 0 <= size <= max_frame_bytes:
                raise CloseConnection(f"frame of {size} bytes, at most {max_frame_bytes} are taken")
            stop = position + SIZE_BYTES + size
            if stop > end:
                self._needed = SIZE_BYTES + size
                if size >= LARGE_FRAME_BYTES:
                    position = self._begin_large(data, position, size)
                break
            frame = data[position + SIZE_BYTES : stop]
            position = stop
            reply = handle(frame)
            if reply is None:
                continue
            if isinstance(reply, AnswerSlot):
                slots.append(reply)
                reply.size = size
                reply.since_ns = since_ns
                slots_left -= 1
                bytes_left -= size
                if reply.parks and not reply.filled:
                    self._park(reply)
                    break
                if slots_left <= 0 or bytes_left <= 0:
                    break
            elif slots:
                slots.append(_filled(self, reply))
                slots_left -= 1
            else:
                room -= _put(out, reply)
                if room <= 0 or len(out) >= limits.max_answers:
                    self._cut = True
                    self.on_filled()  # go on in the next tick, after the others had their turn
                    break
        self._unanswered_bytes = limits.max_unanswered_bytes - bytes_left
        return position

    def _park(self, slot: AnswerSlot) -> None:
        self._parked = slot
        if slot.size >= HELD_REQUEST_BYTES:
            self.under_way = SIZE_BYTES + slot.size

    def _begin_large(self, data: bytes, position: int, size: int) -> int:
        """Collect a large frame apart, if its request may be that large. Returns where what is left begins."""
        largest_of, key_at = self._limits.largest_of, position + SIZE_BYTES
        if largest_of is not None:
            if len(data) < key_at + _KEY_BYTES:
                self._needed = SIZE_BYTES + _KEY_BYTES
                return position
            api_key = int.from_bytes(data[key_at : key_at + _KEY_BYTES], "big")
            if size > largest_of(api_key):
                raise CloseConnection(f"frame of {size} bytes, requests with API key {api_key} have fewer")
        self._parts, self._missing = [data[position:]], size + SIZE_BYTES - (len(data) - position)
        return len(data)

    def _flush(self) -> None:
        """The tick's end: write what was filled in it, then go on with what waited for that."""
        self._scheduled = self._cut = False
        if self.closed:
            return
        if self._parked is not None and self._parked.filled:
            self._parked = None
            if self.under_way:
                self.under_way = 0
                self._note_input()
        self._write_ready()
        self._resume()

    def _write_ready(self) -> None:
        """Write every answer whose turn it is, in one go."""
        slots, out = self._slots, self._out
        if slots and slots[0].filled:
            self._take_filled(slots, out)
        if out:
            self._out = []
            self._outlet.write(out)
        if self.finishing and not slots and not self.closed:
            self._outlet.close()

    def _take_filled(self, slots: deque[AnswerSlot], out: list[Buffer]) -> None:
        """Move the answers whose turn it is to the output. What is alike is counted at once."""
        now_ns = self.now_ns()
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

    def _resume(self) -> None:
        """Go on after a stop: handle what was read meanwhile, then read again."""
        if self.closed or self.finishing or self._scheduled or self._stopped():
            return
        if not self._missing and len(self._rest) - self._at >= self._needed:
            self._handle_frames()
        if self._reading_paused and not self._scheduled and not self._stopped():
            self._reading_paused = False
            if not self._waits_for_room:
                self._outlet.resume_reading()
        self._note_input()


def close_behind(connection: Connection, slot: AnswerSlot, reason: str) -> None:
    """Close a connection behind a request that gets no answer after all; what came before it is answered."""
    slot.fill(None)
    connection.close(reason)


def _handle_nothing(_frame: bytes) -> Reply:
    return None


def _put(out: list[Buffer], frame: Buffer) -> int:
    """Append a frame, in the pieces that it has; its size."""
    if type(frame) is not Gathered or not frame.left:
        out.append(frame)
        return len(frame)
    out += frame.pieces()
    return frame.size


def _filled(connection: Connection, frame: Buffer) -> AnswerSlot:
    slot = AnswerSlot(connection, parks=False)
    slot.frame, slot.filled = frame, True
    return slot
