"""Requests that are read, or answered, in more than one turn of the loop.

A long request (`FEW_ELEMENTS`) is read in steps up to its limit (`element_limits.py`), and its answer is written in
steps, however it was made; rows of an answer in parts are made and written part by part. One such request is under way
at a time, the others wait in the order in which they came (`foundation/loop/turns.py`), each on its own connection,
which handles nothing else meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from sys import getrefcount
from typing import Any, Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.element_limits import most_elements
from shareq.broker.dispatch.parts import Parts
from shareq.broker.dispatch.route import Route
from shareq.broker.dispatch.rows import MOST_ANSWER_BYTES, TURN_ERRORS, written_in_steps
from shareq.broker.network.answers import AnswerSlot, Buffer
from shareq.broker.network.connection import Connection, close_behind
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.bounded_reading import BoundedReader
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import Gathered, Message
from shareq.protocol.row_writing import RowWriter
from shareq.protocol.stepped_writing import SteppedWriter

__all__ = ["FREED", "arrays_of", "let_go", "read_and_answer", "write_long", "write_parts"]

logger = logging.getLogger(__name__)

FREED: Final = 2_000
"""Elements that are given back in one turn: a third of a millisecond."""

_OWN: Final = 3  # references to an array: of what it is in, a local name, and that of the question
_ARRAYS: Final = ("list[", "Sequence[")  # how the types of arrays begin
_SMALL: Final = 250  # elements that are freed with what they are in


def read_and_answer(
    context: RequestContext,
    route: Route,
    frames: list[bytes],
    body: int,
    slot: AnswerSlot,
    answer: Callable[[Message], Iterator[None]],
) -> Iterator[None]:
    """Read the only one of `frames`, and take it out, in steps; then have the request answered, and give it back in
    steps, behind what answering it has begun. Empty when it is not wanted any more.
    """
    if not frames:
        return
    connection = context.connection
    reader = BoundedReader(route.request_class, route.version)
    steps = reader.read_in_steps(frames.pop(), body, most_elements(route.api_key))
    try:
        while not connection.closed:
            try:
                next(steps)
            except StopIteration as end:
                request = end.value
                break
            yield
        else:
            return
    except MalformedMessage as error:
        close_behind(connection, slot, context.unreadable(route, error))
        return
    yield
    answering, held = answer(request), [request]
    del request
    yield from answering
    context.services.turns.run(let_go(held), context.failed)


def let_go(held: list[Any]) -> Iterator[None]:  # Any: messages, and their elements, of any generated class
    """Give messages back, some `FREED` elements at a time, and take them out of `held`: freeing 200,000 of them at once
    holds the loop for 20 ms. An array that anything else refers to stays as it is.
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
            del items[-FREED:]
            freed += FREED
        while names and items and freed < FREED:
            element = items.pop()
            freed += 1
            for name in names:
                inside: Any = getattr(element, name) or []  # it may be null
                freed += len(inside)
                if not isinstance(inside, list):
                    continue  # as it came, at most as many as are read at once
                if getrefcount(inside) <= _OWN and (len(inside) > _SMALL or (inside and names_of(inside[0]))):
                    arrays.append(inside)
                    freed -= len(inside)
            del element, inside
        del items
        if freed >= FREED:
            freed = 0
            yield


def arrays_of(kind: type[Any]) -> list[str]:
    """The fields of elements, or messages, of a generated class that are arrays, or null, but for arrays of numbers."""
    annotations = getattr(kind.__init__, "__annotations__", {})  # always the generated one
    return [name for name, of in annotations.items() if of.startswith(_ARRAYS) and not of.startswith("list[int]")]


def write_parts(
    connection: Connection, route: Route, parts: Parts, slot: AnswerSlot, correlation_id: int
) -> Iterator[None]:
    """Make and write an answer in parts, and fill the slot with it."""
    try:
        frame = yield from _frame(connection, route, parts, correlation_id)
    except CloseConnection as error:
        close_behind(connection, slot, str(error))
    except Exception:
        logger.exception("%s: %s failed", connection, route)
        close_behind(connection, slot, f"internal error in {route}")
    else:
        slot.fill(frame)


def _frame(
    connection: Connection, route: Route, parts: Parts, correlation_id: int
) -> Generator[None, None, Buffer | None]:
    writer = RowWriter(type(parts.response), route.version, parts.field)
    written: list[Gathered] = []
    count = size = 0
    for rows in parts.parts:
        if connection.closed:
            return None
        setattr(parts.response, parts.field, rows)
        yield from _count_errors(route, parts.response)
        written.append((yield from written_in_steps(lambda: writer.rows(parts.response), parts.response)))
        count += len(rows)
        size += written[-1].size
        if size > MOST_ANSWER_BYTES:
            raise CloseConnection(f"the answer to {route} takes more than {MOST_ANSWER_BYTES} bytes")
        yield
    frame = writer.whole(route.prefix, parts.response, count, written)
    route.finish(frame, correlation_id)
    return frame


def write_long(
    connection: Connection, route: Route, response: Message, slot: AnswerSlot, correlation_id: int
) -> Iterator[None]:
    """Write an answer that may be long some elements at a time, fill the slot with it, and give the answer back."""
    try:
        yield from _count_errors(route, response)
        writer = SteppedWriter(type(response), route.version)
        frame = yield from written_in_steps(lambda: writer.message(route.prefix, response), response)
        route.finish(frame, correlation_id)
    except Exception:
        logger.exception("%s: the %s response cannot be written", connection, route)
        close_behind(connection, slot, f"internal error in {route}")
    else:
        slot.fill(frame)
        yield from let_go([response])


def _count_errors(route: Route, response: Message) -> Iterator[None]:
    """Count the errors in a response, or in a part of one, so many in a turn."""
    for at, error_code in enumerate(route.walk_errors(response), 1):
        route.requests.failed(error_code)
        if at % TURN_ERRORS == 0:
            yield
