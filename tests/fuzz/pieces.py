"""An encoded request split into its pieces by its schema, with the meaning of every byte.

The codecs under test encoded it. This walk over the layouts is independent, and checks that both agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from shareq.protocol.generator.layout import FieldLayout, StructLayout

_VARINT_BYTES: Final = 5


class Kind(Enum):
    """The kind of a piece.

    A length or count precedes its content; `VARINT` forms are compact: n + 1, 0 for null.
    """

    NUMBER = "number"
    LENGTH = "length"
    VARINT_LENGTH = "varint length"
    COUNT = "count"
    VARINT_COUNT = "varint count"
    CONTENT = "content"
    TAG_COUNT = "tag count"
    TAG = "tag"
    TAG_SIZE = "tag size"
    UNKNOWN_TAG = "unknown tag"
    PRESENCE = "presence"  # of a struct that may be null: 1, or -1


@dataclass(slots=True)
class Piece:
    """Some bytes of a request. `name`: the field's. `element`: its type in the schema."""

    kind: Kind
    name: str
    element: str
    data: bytes


def pieces_of(layout: StructLayout, data: bytes) -> list[Piece]:
    """Return a message's pieces, which cover all of `data`. ValueError if layout and data disagree."""
    walk = _Walk(data)
    walk.struct(layout)
    if walk.at != len(data):
        raise ValueError(f"{len(data) - walk.at} bytes behind the message")
    return walk.pieces


def uvarint_at(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _VARINT_BYTES, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a varint of more than 5 bytes")


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.pieces: list[Piece] = []

    def take(self, kind: Kind, name: str, element: str, size: int) -> bytes:
        piece = Piece(kind, name, element, self.data[self.at : self.at + size])
        if len(piece.data) != size:
            raise ValueError(f"{name}: {size} bytes wanted, {len(piece.data)} left")
        self.at += size
        self.pieces.append(piece)
        return piece.data

    def varint(self, kind: Kind, name: str, element: str) -> int:
        value, end = uvarint_at(self.data, self.at)
        self.take(kind, name, element, end - self.at)
        return value

    def struct(self, layout: StructLayout) -> None:
        for item in layout.fields:
            if item.positional:
                self.field(item)
        if layout.flexible:
            self.tags({item.spec.tag: item for item in layout.tagged()})

    def tags(self, known: dict[int | None, FieldLayout]) -> None:
        for _ in range(self.varint(Kind.TAG_COUNT, "tags", "")):
            tag = self.varint(Kind.TAG, "tags", "")
            size = self.varint(Kind.TAG_SIZE, "tags", "")
            end = self.at + size
            if tag in known:
                self.field(known[tag])
            else:
                self.take(Kind.UNKNOWN_TAG, "tags", "", size)
            if self.at != end:
                raise ValueError(f"tag {tag}: {end - self.at} bytes behind it")

    def field(self, item: FieldLayout) -> None:
        of, name = item.spec.type, item.spec.name
        if of.array:
            for _ in range(self.length(item, Kind.COUNT, Kind.VARINT_COUNT, 4)):
                self.value(item)
        elif of.struct and item.nullable and not item.tagged:
            if self.take(Kind.PRESENCE, name, of.element, 1) == b"\1":
                self.value(item)
        else:
            self.value(item)

    def value(self, item: FieldLayout) -> None:
        of, name = item.spec.type, item.spec.name
        if item.struct is not None:
            self.struct(item.struct)
        elif of.element in ("string", "bytes", "records"):
            size = self.length(item, Kind.LENGTH, Kind.VARINT_LENGTH, 2 if of.element == "string" else 4)
            if size:
                self.take(Kind.CONTENT, name, of.element, size)
        else:
            self.take(Kind.NUMBER, name, of.element, _width(of.element))

    def length(self, item: FieldLayout, fixed: Kind, compact: Kind, width: int) -> int:
        name, element = item.spec.name, item.spec.type.element
        if item.compact:
            return max(0, self.varint(compact, name, element) - 1)
        return max(0, int.from_bytes(self.take(fixed, name, element, width), "big", signed=True))


_WIDTHS: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


def _width(element: str) -> int:
    return _WIDTHS[element]


def fields_of(layout: StructLayout) -> Iterator[FieldLayout]:
    return (item for item in layout.fields if not item.absent)
