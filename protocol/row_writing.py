"""Writing a message whose rows come in parts: each part by itself, what is around them at the end. Pure."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from shareq.protocol.primitives import Gathered, Message

__all__ = ["RowWriter"]


class _SoMany(list[Any]):
    """Rows of which only the number is known."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __len__(self) -> int:
        return self._count


class RowWriter:
    """Writes messages of one class in one version; `field` names the array at the top whose elements are the rows."""

    def __init__(self, message_class: type[Message], version: int, field: str) -> None:
        self._field = field
        self._rows: object = None
        self._mark: tuple[int, Callable[[bytearray, Any], None]] | None = None
        encoder = cast(FunctionType, message_class.ENCODERS[version])
        # The generated encoder once more, so that it finds our writers of arrays in place of its own.
        own: dict[str, Any] = dict(encoder.__globals__)
        for name, value in encoder.__globals__.items():
            if name.startswith("_write_") and "_array_" in name:
                own[name] = self._noting(value)
        self._encode: Callable[[bytearray, Any], None] = FunctionType(encoder.__code__, own, encoder.__name__)

    def rows(self, message: Message) -> bytes:
        """The rows of the message in wire form, without their count."""
        _, write = self._around(bytearray(), message)
        out = bytearray()
        write(out, getattr(message, self._field))
        return bytes(out)

    def whole(self, start: bytes, message: Message, count: int, rows: list[bytes]) -> Gathered:
        """`start`, then the message with `count` rows, which are in `rows` in wire form. Changes the message."""
        out = Gathered(start)
        setattr(message, self._field, _SoMany(count))
        at, _ = self._around(out, message)
        out.left = [(at, each) for each in rows]
        return out

    def _around(self, out: bytearray, message: Message) -> tuple[int, Callable[[bytearray, Any], None]]:
        """Write the message without its rows; where they belong in `out`, and what writes them."""
        self._rows, self._mark = getattr(message, self._field), None
        self._encode(out, message)
        assert self._mark is not None, "an array of structs at the top"
        return self._mark

    def _noting(self, write: Callable[[bytearray, Any], None]) -> Callable[[bytearray, Any], None]:
        def writer(out: bytearray, items: Any) -> None:
            if items is self._rows:
                self._mark = len(out), write
            else:
                write(out, items)

        return writer
