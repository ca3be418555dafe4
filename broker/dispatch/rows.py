"""Answers of handlers that may have many rows: rows made before a pause are written, and not kept as objects."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from shareq.broker.dispatch.response_errors import count_errors, shorten_messages
from shareq.broker.foundation.loop.coroutines import in_steps
from shareq.broker.foundation.turn_budget import LOOK, PAUSE
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.primitives import Gathered, Message

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext
    from shareq.protocol.row_writing import RowWriter

M = TypeVar("M", bound=Message)

MOST_ANSWER_BYTES: Final = 100_000_000
"""The most bytes of an answer with many rows. librdkafka closes the connection after a larger one
(`receive.message.max.bytes`).
"""


class Rows(Generic[M]):
    """The rows of a response's array `field`. A handler adds rows, and returns the result of `end`.

    `errors` counts the error codes of rows that have been written.
    """

    __slots__ = ("_breathe", "_count", "_ctx", "_field", "_made", "_size", "_writer", "_written", "errors", "response")

    def __init__(self, ctx: RequestContext, response: M, field: str) -> None:
        self.response: Final = response
        self.errors: dict[int, int] = {}
        self._ctx = ctx
        self._breathe = ctx.services.env.budget.breathe
        self._field = field
        self._made: list[Any] = []  # Any: elements of the response's array, by its class
        self._written: list[Gathered] = []
        self._writer: RowWriter | None = None
        self._count = 0  # of rows that are written
        self._size = 0  # bytes of them

    async def add(self, row: Any, elements: int = 1) -> None:
        """Add a row, count the `elements` that it cost, and breathe."""
        self._made.append(row)
        if self._breathe(elements) is PAUSE:
            await self._pause()

    async def breathe(self, elements: int = 1) -> None:
        """Breathe as `ctx.breathe` does; after a pause, write the rows made so far.

        Raise CloseConnection if there are more rows than a client accepts.
        """
        if self._breathe(elements) is PAUSE:
            await self._pause()

    async def end(self) -> M | Rows[M]:
        """Return the response if all rows were made in one turn; otherwise write the remaining rows, and return this
        object.
        """
        if self._written:
            await self._write()
            return self
        setattr(self.response, self._field, self._made)
        return self.response

    def frame(self, prefix: bytes) -> Gathered:
        """Return `prefix`, followed by the whole encoded response."""
        assert self._writer is not None
        return self._writer.whole(prefix, self.response, self._count, self._written)

    async def _pause(self) -> None:
        await PAUSE
        if self._made:
            await self._write()

    async def _write(self) -> None:
        from shareq.protocol.row_writing import RowWriter  # not what a start needs

        response, rows, self._made = self.response, self._made, []
        if self._writer is None:
            self._writer = RowWriter(type(response), self._ctx.api_version, self._field)
        writer = self._writer
        setattr(response, self._field, rows)
        await count_errors(response, self.errors, self._breathe)
        self._written.append(await written(lambda: writer.rows(response), response))
        setattr(response, self._field, [])
        self._count += len(rows)
        self._size += self._written[-1].size
        if self._size > MOST_ANSWER_BYTES:
            name = type(response).__name__
            raise CloseConnection(f"{name} v{self._ctx.api_version} takes more than {MOST_ANSWER_BYTES} bytes")
        await self._breathe(LOOK)


async def written(write: Callable[[], Generator[None, None, Gathered]], response: Message) -> Gathered:
    """Return the response's bytes; if a message is too long, write the response again with shorter messages."""
    try:
        return await in_steps(write())
    except (ValueError, struct.error):  # a string that is too long, by either form
        if not shorten_messages(response):
            raise
        return await in_steps(write())
