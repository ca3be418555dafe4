"""Answers whose rows come in parts: each part is made and written in a turn of its own, and not kept as objects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, ClassVar, Final, TypeVar

from shareq.protocol.primitives import Message

M = TypeVar("M", bound=Message)
Rows = list[Any]  # Any: elements of the response's array, by its class
"""The rows of one part: so many as a millisecond or two takes to make and to write."""


class Parts:
    """An answer with more rows than are made in one turn: the `response` without them, and `parts` of its `field`."""

    __slots__ = ("field", "parts", "response")

    parks: ClassVar = True  # as `Pending.parks`

    def __init__(self, response: Message, field: str, parts: Iterator[Rows]) -> None:
        self.response: Final = response
        self.field: Final = field
        self.parts: Final = parts


def in_parts(response: M, field: str, parts: Iterator[Rows]) -> M | Parts:
    """The response with the rows of the only part, or, as of nearly no request there are more, with parts."""
    first = next(parts, None)
    if first is not None and not first:  # a pause, after enough work for one turn
        return Parts(response, field, parts)
    second = next(parts, None)
    if second is None:
        setattr(response, field, first or [])
        return response
    return Parts(response, field, chain((first or [], second), parts))


def in_order(first: Rows, then: Rows, most: int) -> Iterator[Rows]:
    """The rows of both, in parts of about `most`; `then` is given away with them."""
    if first or then:
        yield first + then[:most]
    del then[:most]
    then.reverse()
    while then:
        part = then[: -most - 1 : -1]
        del then[-most:]
        yield part
