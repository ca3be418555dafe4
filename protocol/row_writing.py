"""The writing of a message whose rows are made in parts: each part is written by itself, the bytes around them at the
end. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import FunctionType
from typing import Any, cast

from shareq.protocol.primitives import Gathered, Message
from shareq.protocol.stepped_writing import SteppedWriter, Write


class _SoMany(list[Any]):
    """A stand-in for an array of which only the number of elements is known."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __len__(self) -> int:
        return self._count


class RowWriter:
    """A writer of messages of one class in one version; `field` is the message's array whose elements are the rows."""

    def __init__(self, message_class: type[Message], version: int, field: str) -> None:
        self._field = field
        self._rows: object = None
        self._mark: tuple[int, Write] | None = None
        self._steps = SteppedWriter(message_class, version)
        encoder = cast(FunctionType, message_class.ENCODERS[version])
        # The generated encoder once more, so that it finds our writers of arrays in place of its own.
        own: dict[str, Any] = dict(encoder.__globals__)
        for name, write in self._steps.writers.items():
            own[name] = self._noting(own[name], write)
        self._encode: Callable[[bytearray, Any], None] = FunctionType(encoder.__code__, own, encoder.__name__)

    def rows(self, message: Message) -> Generator[None, None, Gathered]:
        """Return the encoded rows of the message, without their count; pause if a row is long."""
        _, write = self._around(Gathered(), message)
        return (yield from self._steps.elements(write, getattr(message, self._field)))

    def whole(self, start: bytes, message: Message, count: int, rows: list[Gathered]) -> Gathered:
        """Return `start`, then the message with `count` rows, which are in `rows`, already encoded. Changes the
        message.
        """
        out = Gathered(start)
        setattr(message, self._field, _SoMany(count))
        at, _ = self._around(out, message)
        out.left = [(at, cast(memoryview, piece)) for each in rows for piece in each.pieces()]
        return out

    def _around(self, out: Gathered, message: Message) -> tuple[int, Write]:
        """Write the message without its rows; return the position of the rows in `out`, and the function that writes
        them.
        """
        self._rows, self._mark = getattr(message, self._field), None
        self._encode(out, message)
        assert self._mark is not None, "an array of structs at the top"
        return self._mark

    def _noting(self, write: Write, in_steps: Write) -> Write:
        def writer(out: Gathered, items: Any) -> None:
            if items is self._rows:
                self._mark = len(out), in_steps
            else:
                write(out, items)

        return writer
