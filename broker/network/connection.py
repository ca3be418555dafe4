"""One client connection without its socket: bytes in, frames handled one after the other, answers out in request
order.

All complete frames of a read (`frames.py`) are handled in one loop. An unfinished answer keeps its place
(`answers.py`). One that parks stops the handling of later frames until it is filled, as Apache Kafka mutes a
connection while it handles a request.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from shareq.broker.foundation.loop.effort import EFFORT, MOST_EFFORT
from shareq.broker.network.answers import Answers, AnswerSlot, Buffer, FrameHandler, Reply
from shareq.broker.network.client_lines import UNBOUNDED, ClientLines
from shareq.broker.network.frames import CloseConnection, Frames
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.security.names import ANONYMOUS
from shareq.protocol.framing import SIZE_BYTES

if TYPE_CHECKING:
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.network.request_budget import RequestBudget
    from shareq.broker.security.sasl_session import Answer

T = TypeVar("T")

HELD_REQUEST_BYTES: Final = 8 * 1024  # a request that parks counts as held, until it is answered, from here on


class Outlet(Protocol):
    """The other side of a connection: a socket, or a test."""

    def write(self, buffers: list[Buffer]) -> None:
        """Send the buffers in order. They belong to the outlet from then on."""

    def close(self) -> None:
        """Send everything written so far, then close."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Gate(Protocol):
    """The gate before a connection's handler until its client is authenticated. It also watches for the end of the
    authentication.
    """

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The enabled SASL mechanisms."""

    @property
    def expects_token(self) -> bool:
        """True while the exchange of the chosen mechanism is not finished."""

    def handle_frame(self, frame: bytes) -> Reply:
        """Handle a frame like a `FrameHandler`.

        Raise CloseConnection, also for requests that are not allowed before authentication.
        """

    def handshake(self, mechanism: str, *, raw: bool) -> bool:
        """Set the enabled mechanism that the client has chosen.

        Return False if it may not be set now.
        """

    def token(self, token: bytes) -> Answer:
        """Return the answer to a token. Raise AuthenticationFailed."""

    def after_failure(self, answer: T) -> Pending[T]:
        """Return the answer to a failed attempt, which arrives when it may be sent."""


class Connection:
    """A client connection, as the broker knows it.

    `handler_for` is called once and returns the handler of this connection's frames. `principal` is the
    authenticated client, as TYPE:NAME; `gate` precedes the handler while the authentication has to be watched.
    `since_ns` is when the handling of the present requests began, by `now_ns`. Bytes received but not handled are
    reported to `budget`, which may stop the reading; so is a large request that parks, until it is answered.
    Everything runs on the loop's thread. The reason for closing is logged once.
    """

    __slots__ = (
        "_answers",
        "_budget",
        "_call_soon",
        "_cut",
        "_frames",
        "_handle",
        "_handling",
        "_limits",
        "_max_frame_bytes",
        "_mutes",
        "_on_close",
        "_outlet",
        "_output_paused",
        "_parked",
        "_reading",
        "_scheduled",
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
        limits: RequestLimits,
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
        self._max_frame_bytes = limits.max_frame_bytes
        self._budget = budget
        self.lines = lines
        self.held_input = 0  # bytes, as the budget knows them
        self.under_way = 0  # bytes of the large request that is parked
        self._reading = Reading(outlet)
        self._frames = Frames()
        self._answers = Answers()
        self._parked: AnswerSlot | None = None
        self._output_paused = False
        self._handling = False
        self._scheduled = False
        self._cut = False  # the handling of a read was interrupted; the next tick continues
        self._mutes = 0
        self._on_close: list[Callable[[], None]] = []
        self._handle = handler_for(self)

    def __str__(self) -> str:
        return f"connection {self.id} from {self.client_host} on {self.listener}"

    @property
    def unanswered(self) -> int:
        """The number of handled requests whose answers have not been written."""
        return len(self._answers.slots)

    @property
    def buffered_input(self) -> int:
        """The number of bytes that were read and wait to be handled."""
        return self._frames.held

    @property
    def frame_to_come(self) -> int:
        return 0 if self._stopped() or not self._frames.held else self._frames.needed

    def receive(self, data: bytes) -> None:
        """Add the bytes read, and handle every complete frame in them."""
        if self.closed or self.finishing:
            return
        frames = self._frames
        frames.add(data)
        if not self._stopped():
            if frames.can_go_on:
                self._handle_frames()
        elif frames.held > self._limits.max_input_bytes and not frames.collects:
            self._reading.pause()
        if not frames.is_empty or self.held_input or self.under_way or self._reading.waits_for_room:
            self._note_input()

    def stop_reading(self) -> None:
        """Stop reading, because the budget has no room for more of this connection. A second call has no effect."""
        self._reading.wait_for_room()

    def go_on_reading(self) -> None:
        """Read again, because the budget has room, or because it is this connection's turn."""
        self._reading.has_room(closed=self.closed)

    def guard(self, gate_before: Callable[[FrameHandler], Gate], max_frame_bytes: int) -> None:
        """Pass every frame to this gate instead of the handler, and accept no larger one than `max_frame_bytes`,
        until the client is `admitted`.
        """
        self.gate = gate = gate_before(self._handle)
        self._max_frame_bytes = min(max_frame_bytes, self._limits.max_frame_bytes)
        self._handle = gate.handle_frame

    def admitted(self, handle: FrameHandler | None) -> None:
        """Treat the client as authenticated. With `handle`, frames are passed to that function instead of to the
        gate.
        """
        self._max_frame_bytes = self._limits.max_frame_bytes
        if handle is not None:
            self.gate = None
            self._handle = handle

    def send(self, frame: Buffer) -> None:
        """Write a frame, with its size field, that answers no request in the queue (authentication)."""
        self._outlet.write([frame])

    def close(self, reason: str) -> None:
        """Handle no more requests, answer those already handled, then close. The reason is logged."""
        if self.closed or self.finishing:
            return
        self.lines.warn(self, reason, "closing: ")
        self.finish()

    def abandon(self, reason: str) -> None:
        """Close without the answer for which all later requests wait, because it will not come."""
        parked = self._parked
        if parked is not None and not parked.filled:
            close_behind(self, parked, reason)
        else:
            self.close(reason)

    def finish(self) -> None:
        """Close without a log line, because the broker stops or the connection was idle."""
        if self.closed or self.finishing:
            return
        self.finishing = True
        self._drop_input()
        if not self._handling:  # else the frame being handled is answered first
            self._write_ready()

    def lost(self) -> None:
        """Note that the connection has ended: write nothing more, and notify the parts that asked for that."""
        if self.closed:
            return
        self.closed = True
        self._drop_input()
        self._answers.clear()
        self._handle = _handle_nothing  # this frees what the handler keeps of the connection, even behind a gate
        self.gate = None
        callbacks, self._on_close = self._on_close, []
        for callback in callbacks:
            callback()

    def on_close(self, callback: Callable[[], None]) -> Callable[..., None]:
        """Call `callback` when the connection has ended.

        Return a function that cancels this; it accepts any arguments, and has no effect afterwards.
        """
        self._on_close.append(callback)
        return partial(self._forget, callback)

    def _forget(self, callback: Callable[[], None], *_called_with: object) -> None:
        if callback in self._on_close:
            self._on_close.remove(callback)

    def pause_output(self) -> None:
        """Handle no more requests until `resume_output`, because the client does not read."""
        self._output_paused = True

    def resume_output(self) -> None:
        self._output_paused = False
        self._resume()

    def mute(self) -> None:
        """Handle no more requests until `unmute` was called as often; answers are still sent. This is for clients
        over a quota.
        """
        self._mutes += 1

    def unmute(self) -> None:
        """Undo one `mute`."""
        self._mutes -= 1
        self._resume()

    def on_filled(self) -> None:
        """Write the ready answers in the next tick, together, because an answer slot was filled."""
        if not self._scheduled and not self.closed:
            self._scheduled = True
            self._call_soon(self._flush)

    def _drop_input(self) -> None:
        self._frames.clear()
        self.under_way = 0
        self._note_input()

    def _note_input(self) -> None:
        """Report to the budget how many bytes are held now: none between two reads of a connection that keeps up."""
        held = self.under_way + self._frames.held
        if (held != self.held_input or self._reading.waits_for_room) and self._budget is not None:
            change, self.held_input = held - self.held_input, held
            self._budget.note(self, change)

    def _stopped(self) -> bool:
        if self._parked is not None or self._output_paused or self._cut or self._mutes or self.finishing:
            return True
        answers = self._answers
        return bool(answers.slots) and answers.are_full(self._limits)

    def _handle_frames(self) -> None:
        """Handle the complete frames that were read, and write the ready answers."""
        self._handling = True
        self.since_ns = self.now_ns()
        EFFORT.goes += 1
        EFFORT.spent = 0
        try:
            self._handle_complete()
        except CloseConnection as error:
            self.close(str(error))
        else:
            self._frames.settle()
        if EFFORT.spent > MOST_EFFORT:
            self._cut = True
            self.on_filled()  # go on in the next tick, as above
        self._handling = False
        self._write_ready()

    def _handle_complete(self) -> None:
        """Handle frames until none is complete or the connection has to wait."""
        answers, handle, limits = self._answers, self._handle, self._limits
        room = limits.max_output_bytes
        for frame in self._frames.complete(limits, self._max_frame_bytes):
            reply = handle(frame)
            if isinstance(reply, AnswerSlot):
                answers.wait_for(reply, len(frame), self.since_ns)
                if reply.parks and not reply.filled:
                    self._park(reply)
                    return
                if answers.are_full(limits):
                    return
            elif reply is not None:
                room -= answers.put(reply, self)
                if room <= 0 or len(answers.out) >= limits.max_answers:
                    self._cut = True
                    self.on_filled()  # go on in the next tick, after the others had their turn
                    return
            if self._mutes or self.finishing or EFFORT.spent > MOST_EFFORT:
                return

    def _park(self, slot: AnswerSlot) -> None:
        self._parked = slot
        if slot.size >= HELD_REQUEST_BYTES:
            self.under_way = SIZE_BYTES + slot.size

    def _flush(self) -> None:
        """Write the answers filled in this tick, then continue with frames that waited for that."""
        self._scheduled = self._cut = False
        if self.closed:
            return
        if self._parked is not None and self._parked.filled:
            self._parked = None
            if self.under_way:
                self.under_way = 0
                self._note_input()
        self._write_ready()
        reading = self._reading
        if not self._frames.is_empty or self.held_input or reading.paused or reading.waits_for_room:
            self._resume()

    def _write_ready(self) -> None:
        """Write all answers that are ready in order, with one call."""
        answers = self._answers
        if answers.out or (answers.slots and answers.slots[0].filled):
            out = answers.take_ready(self.now_ns)
            if out:
                self._outlet.write(out)
        if self.finishing and not answers.slots and not self.closed:
            self._outlet.close()

    def _resume(self) -> None:
        """Handle the bytes that were read during a stop, then read again."""
        if self.closed or self.finishing or self._scheduled or self._stopped():
            return
        if self._frames.can_go_on:
            self._handle_frames()
        if self._reading.paused and not self._scheduled and not self._stopped():
            self._reading.resume()
        self._note_input()


class Reading:
    """The reading of one socket, which stops while too much waits to be handled, or while the budget has no room."""

    __slots__ = ("_outlet", "paused", "waits_for_room")

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self.paused = False  # too much waits to be handled
        self.waits_for_room = False  # the budget has stopped the reading

    def pause(self) -> None:
        """Stop reading, because enough bytes wait to be handled. A second call has no effect."""
        if not self.paused:
            self.paused = True
            if not self.waits_for_room:
                self._outlet.pause_reading()

    def resume(self) -> None:
        """Undo `pause`."""
        self.paused = False
        if not self.waits_for_room:
            self._outlet.resume_reading()

    def wait_for_room(self) -> None:
        """Stop reading, because the budget has no room. A second call has no effect."""
        if not self.waits_for_room:
            self.waits_for_room = True
            if not self.paused:
                self._outlet.pause_reading()

    def has_room(self, *, closed: bool) -> None:
        """Undo `wait_for_room`, except for the socket of a closed connection."""
        if self.waits_for_room:
            self.waits_for_room = False
            if not self.paused and not closed:
                self._outlet.resume_reading()


def close_behind(connection: Connection, slot: AnswerSlot, reason: str) -> None:
    """Close a connection after the answers to earlier requests. The request of this slot gets none."""
    slot.fill(None)
    connection.close(reason)


def _handle_nothing(_frame: bytes) -> Reply:
    return None
