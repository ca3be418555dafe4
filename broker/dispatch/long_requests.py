"""Requests that are read, or answered, in more than one turn of the loop.

A request with more than `FEW_ELEMENTS` elements is read in steps, up to its limit (`element_limits.py`), and its
answer is written in steps. Only one such request runs at a time; others wait in order of arrival
(`foundation/loop/turns.py`). A connection handles no other request while its own one waits or runs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Final, cast

from shareq.broker.dispatch.coroutines import run_in_turns
from shareq.broker.dispatch.element_limits import most_elements
from shareq.broker.dispatch.response_errors import count_errors
from shareq.broker.dispatch.route import BoundRoute
from shareq.broker.dispatch.rows import Rows, written
from shareq.broker.foundation.loop.coroutines import begin
from shareq.broker.foundation.loop.turns import Turn
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PAUSE, PIECE, Breath
from shareq.broker.network.answers import AnswerSlot
from shareq.broker.network.connection import close_behind
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.bounded_reading import BoundedReader
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import Message
from shareq.protocol.stepped_writing import SteppedWriter

if TYPE_CHECKING:
    from shareq.broker.dispatch.metering import Meter

logger = logging.getLogger(__name__)

_OWN: Final = 3  # references to an array: from its message, a local name, and the call that counts them
_ARRAYS: Final = ("list[", "Sequence[")  # how the types of arrays begin
_SMALL: Final = 250  # elements that are freed with what they are in


class LongRequest:
    """A request that is read, handled and answered in turns. Its answer is put into its slot."""

    __slots__ = ("_bound", "_connection", "_correlation_id", "_meter", "_slot")

    def __init__(self, bound: BoundRoute, correlation_id: int, slot: AnswerSlot, meter: Meter | None) -> None:
        self._bound = bound
        self._connection = bound.context.connection
        self._correlation_id = correlation_id
        self._slot = slot
        self._meter = meter

    def begin(self, frame: bytes) -> None:
        """Begin to handle the request in the next free turn."""
        context = self._bound.context
        if self._meter is not None:
            self._meter.pause()
        begin(self._run([frame], len(frame)), context.services.env.budget, self._in_turns, context.failed)

    def _in_turns(self, turn: Turn) -> None:
        if self._meter is None:
            run_in_turns(self._bound.context, turn)
        else:
            self._bound.context.services.turns.run(self._meter.metered(turn), self._bound.context.failed)

    async def _run(self, frames: list[bytes], size: int) -> None:
        """Read the only frame in `frames`, have the request answered, and free its memory.

        The memory is freed after the answer, because the handler may read the request until then.
        """
        forget = self._connection.on_close(frames.clear)  # many may wait, and their clients go away
        await PAUSE
        forget()
        request = await self._read(frames)
        if request is None:
            return
        await PAUSE
        answer = self._handle(request, size)
        held = [request]
        del request
        if answer is not None:
            await self._fill(await answer if isinstance(answer, Pending) else answer)
        await give_back(held, self._bound.context.breathe)

    async def _read(self, frames: list[bytes]) -> Message | None:
        """Remove the frame from `frames`, and return its request; None if the answer is no longer wanted."""
        route, slot = self._bound.route, self._slot
        if not frames:
            return None
        reader = BoundedReader(route.request_class, route.version)
        steps = reader.read_in_steps(frames.pop(), self._bound.body, most_elements(route.api_key))
        while not self._connection.closed:
            try:
                next(steps)
            except StopIteration as end:
                return cast(Message, end.value)
            except MalformedMessage as error:
                close_behind(self._connection, slot, self._bound.context.unreadable(route, error))
                return None
            await PAUSE
        return None

    def _handle(self, request: Message, size: int) -> Message | Pending[Any] | None:
        """Call the handler of the request. Return None if the slot is filled already: with an error, or without an
        answer.
        """
        bound, slot = self._bound, self._slot
        try:
            answer = bound.route.handle(bound.context, request)
            if self._meter is not None:
                self._meter.handled(bound, size, answer)
        except CloseConnection as error:
            close_behind(self._connection, slot, str(error))
            return None
        except Exception as error:
            try:
                frame = bound.route.failure(bound.context, request, self._correlation_id, error)
            except CloseConnection as closing:
                close_behind(self._connection, slot, str(closing))
                return None
            slot.requests = None  # it has been counted
            slot.fill(frame)
            return None
        if answer is None:
            bound.requests.unanswered += 1
            slot.requests = None
            slot.fill(None)
        return answer

    async def _fill(self, response: Message | Rows[Any] | None) -> None:
        if response is None:
            self._slot.fill(None)
        elif isinstance(response, Rows):
            self._slot.fill(self._bound.route.frame_of_rows(response, self._correlation_id))
        else:
            await write_long(self._bound, response, self._slot, self._correlation_id)


async def write_long(bound: BoundRoute, response: Message, slot: AnswerSlot, correlation_id: int) -> None:
    """Write an answer that may be long, from the next turn on; fill the slot with it, and free the answer's memory."""
    route, breathe = bound.route, bound.context.breathe
    errors: dict[int, int] = {}
    await PAUSE
    try:
        await count_errors(response, errors, breathe)
        writer = SteppedWriter(type(response), route.version)
        frame = await written(lambda: writer.message(route.prefix, response), response)
        route.finish(frame, errors, correlation_id)
    except Exception:
        connection = bound.context.connection
        logger.exception("%s: the %s response cannot be written", connection, route)
        close_behind(connection, slot, f"internal error in {route}")
    else:
        slot.fill(frame)
        await give_back([response], breathe)


async def give_back(held: list[Any], breathe: Callable[[int], Breath]) -> None:  # Any: messages, and their elements
    """Remove messages from `held`, and free their memory, a few elements at a time.

    Freeing 200,000 of them at once holds the loop for 20 ms. An array to which there are other references is left
    unchanged.
    """
    arrays = [held]
    kinds: dict[type, list[str]] = {}
    freed = 0

    def names_of(element: Any) -> list[str]:
        kind = type(element)
        if kind not in kinds:
            kinds[kind] = arrays_of(kind)
        return kinds[kind]

    while arrays:
        items = arrays[-1]
        if not items:
            arrays.pop()
            continue
        names = names_of(items[-1])
        if not names:
            del items[-PIECE:]
            freed += PIECE
        while names and items and freed < PIECE:
            element = items.pop()
            freed += 1
            for name in names:
                inside: Any = getattr(element, name) or []  # it may be null
                freed += len(inside)
                if not isinstance(inside, list):
                    continue  # at most as many elements as are read at once
                if getrefcount(inside) <= _OWN and (len(inside) > _SMALL or (inside and names_of(inside[0]))):
                    arrays.append(inside)
                    freed -= len(inside)
            del element, inside
        del items
        if freed >= PIECE:
            await breathe(freed)
            freed = 0


def arrays_of(kind: type[Any]) -> list[str]:
    """Return the names of the fields of a generated class that are arrays, except arrays of numbers."""
    annotations = getattr(kind.__init__, "__annotations__", {})  # always the generated one
    return [name for name, of in annotations.items() if of.startswith(_ARRAYS) and not of.startswith("list[int]")]
