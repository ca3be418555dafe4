"""Requests that are read, or answered, in more than one turn of the loop.

A long request (`FEW_ELEMENTS`) is read in steps up to its limit (`element_limits.py`); rows of an answer in parts are
made and written part by part. One such request is under way at a time, the others wait in the order in which they came
(`foundation/turns.py`), each on its own connection, which handles nothing else meanwhile.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Generator, Iterator
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.element_limits import most_elements
from shareq.broker.dispatch.parts import Parts
from shareq.broker.dispatch.response_errors import shorten_messages
from shareq.broker.dispatch.route import Route
from shareq.broker.network.connection import AnswerSlot, Buffer, CloseConnection, Connection, close_behind
from shareq.protocol.bounded_reading import BoundedReader
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import Message
from shareq.protocol.row_writing import RowWriter

__all__ = ["MOST_ANSWER_BYTES", "read_and_answer", "write_parts"]

logger = logging.getLogger(__name__)

MOST_ANSWER_BYTES: Final = 100_000_000
"""Of an answer in parts: what librdkafka takes (`receive.message.max.bytes`) before it closes the connection."""


def read_and_answer(
    context: RequestContext,
    route: Route,
    frames: list[bytes],
    body: int,
    slot: AnswerSlot,
    answer: Callable[[Message], Iterator[None]],
) -> Iterator[None]:
    """Read the only one of `frames`, and take it out, in steps; then have the request answered. Empty when it is not
    wanted any more.
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
                yield
                yield from answer(end.value)
                return
            yield
    except MalformedMessage as error:
        close_behind(connection, slot, context.unreadable(route, error))


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
    written: list[bytes] = []
    count = size = 0
    for rows in parts.parts:
        if connection.closed:
            return None
        setattr(parts.response, parts.field, rows)
        route.count_errors(parts.response)
        written.append(_written(writer, parts.response))
        count += len(rows)
        size += len(written[-1])
        if size > MOST_ANSWER_BYTES:
            raise CloseConnection(f"the answer to {route} takes more than {MOST_ANSWER_BYTES} bytes")
        yield
    frame = writer.whole(route.prefix, parts.response, count, written)
    route.finish(frame, correlation_id)
    return frame


def _written(writer: RowWriter, response: Message) -> bytes:
    """The rows that the response has now."""
    try:
        return writer.rows(response)
    except (ValueError, struct.error):  # a string that is too long, by either form
        if not shorten_messages(response):
            raise
        return writer.rows(response)
