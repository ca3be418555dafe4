"""The mutations of a valid request: of its values, of the pieces of its bytes, of its frame.

Values are mutated before encoding, so that lengths and counts still agree and the handler has to notice; pieces and
frames afterwards, so that the decoder has to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.generator.layout import FieldLayout, StructLayout
from shareq.protocol.generator.names import snake
from shareq.protocol.generator.spec import INTEGER_RANGES
from shareq.protocol.primitives import Message, Structure
from tests.fuzz import facts as known
from tests.fuzz import records
from tests.fuzz.facts import Facts
from tests.fuzz.pieces import Kind, Piece, fields_of

# -- values


@dataclass(slots=True)
class Place:
    owner: Structure
    field: FieldLayout
    index: int | None

    @property
    def value(self) -> Any:  # Any: of the field's type
        value = getattr(self.owner, snake(self.field.spec.name))
        return value if self.index is None else value[self.index]

    @value.setter
    def value(self, new: object) -> None:
        if self.index is None:
            setattr(self.owner, snake(self.field.spec.name), new)
        else:
            values = list(getattr(self.owner, snake(self.field.spec.name)))
            values[self.index] = new
            setattr(self.owner, snake(self.field.spec.name), values)

    @property
    def is_array(self) -> bool:
        return self.field.spec.type.array and self.index is None


def places(made: Structure, layout: StructLayout) -> Iterator[Place]:
    for field in fields_of(layout):
        value = getattr(made, snake(field.spec.name))
        yield Place(made, field, None)
        if field.spec.type.array:
            for index, element in enumerate(value or ()):
                if field.struct is not None:
                    yield from places(element, field.struct)
                else:
                    yield Place(made, field, index)
        elif field.struct is not None and value is not None:
            yield from places(value, field.struct)


LONGEST: Final = "x" * 32_767
ODD_STRINGS: Final = (
    "",
    "\0",
    "orders\0",
    LONGEST,
    "é" * 16_383,
    "x" * 249,
    "x" * 250,
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "__consumer_offsets",
    "__share_group_state",
    "__transaction_state",
    "__cluster_metadata",
    "*",
    "User:*",
    "User:",
    ":",
    " ",
    "\n",
    "\u2028",
    "\U0001f4a9",
    "%s%n",
    "${env:HOME}",
    "${file:/etc/passwd:root}",
    "(a+)+$",
    "[",
    "9" * 400,
    "1e999",
    "NaN",
    "-0",
    "0x10",
    "true",
    "consumer",
    "share",
    "a,b,,c",
    "by_duration:P99999999999D",
    "key=value,other",
)
MANY: Final = (2, 2, 3, 50, 1_100)  # elements; more than a thousand are read in turns
MOST_ELEMENTS: Final = 3_000


def bend_value(facts: Facts, made: Message, layout: StructLayout) -> str:
    rng = facts.rng
    found = list(places(made, layout))
    if not found:
        return ""
    blobs = [place for place in found if place.field.spec.type.element in ("records", "bytes") and not place.is_array]
    place = rng.choice(blobs) if blobs and rng.random() < 0.4 else rng.choice(found)
    name = place.field.spec.name
    if place.field.nullable and place.index is None and rng.random() < 0.2:
        place.value = None
        return f"{name} null"
    if place.is_array:
        return f"{name} {_bend_array(rng, place)}"
    element = place.field.spec.type.element
    if place.field.struct is not None:
        return ""
    if element in INTEGER_RANGES:
        place.value = odd_number(rng, element, place.value)
    elif element == "bool":
        place.value = not place.value
    elif element == "float64":
        place.value = rng.choice((float("nan"), float("inf"), float("-inf"), -0.0, -1.0, 5e-324, 1.7e308, 0.5))
    elif element == "uuid":
        place.value = _odd_id(facts)
    elif element == "string":
        place.value = _odd_string(facts)
    elif element == "records":
        how, place.value = records.bent(rng, bytes(place.value or b""))
        return f"{name} {how}"
    else:
        place.value = _odd_bytes(rng, bytes(place.value or b""))
    return f"{name} odd"


def _bend_array(rng: Random, place: Place) -> str:
    values = list(place.value or ())
    if not values:
        return "left empty"
    match rng.randrange(5):
        case 0:
            place.value = []
            return "emptied"
        case 1:
            place.value = values[:-1]
            return "shortened"
        case 2:
            place.value = values[::-1]
            return "reversed"
        case _:
            times = rng.choice(MANY)
            place.value = (values * times)[:MOST_ELEMENTS]
            return f"{times} times"


def odd_number(rng: Random, element: str, before: int) -> int:
    """Return a number near a limit of its type or a smaller one, or near the old value."""
    low, high = INTEGER_RANGES[element]
    around = (
        low,
        low + 1,
        -1,
        0,
        1,
        2,
        high,
        high - 1,
        before - 1,
        before + 1,
        -before,
        127,
        128,
        32767,
        2**31 - 1,
        2**31,
    )
    allowed = [number for number in around if low <= number <= high]
    return rng.choice(allowed) if rng.random() < 0.9 else rng.randint(low, high)


def _odd_id(facts: Facts) -> bytes:
    rng = facts.rng
    ids = [bytes(16), bytes(15) + b"\1", b"\xff" * 16, *(topic.topic_id for topic in facts.topics), *facts.gone[-2:]]
    return rng.choice(ids) if rng.random() < 0.8 else rng.randbytes(16)


def _odd_string(facts: Facts) -> str:
    rng = facts.rng
    names = (*known.TOPICS, *known.GROUPS, *known.TRANSACTIONAL_IDS, *known.USERS)
    return rng.choice(names) if rng.random() < 0.3 else rng.choice(ODD_STRINGS)


def _odd_bytes(rng: Random, before: bytes) -> bytes:
    match rng.randrange(5):
        case 0:
            return b""
        case 1:
            return before[: rng.randrange(len(before) + 1)]
        case 2:
            return bytes(rng.choice((1, 100, 33_000)))
        case 3:
            return rng.randbytes(rng.choice((1, 16, 64)))
        case _:
            at = rng.randrange(len(before) + 1)
            return before[:at] + rng.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0")) + before[at + 4 :]


# -- pieces


def uvarint(value: int) -> bytes:
    """Return the shortest unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


ODD_VARINTS: Final = (
    b"\0",
    b"\1",
    b"\2",
    b"\x7f",
    b"\x80\1",
    b"\x80\0",
    b"\x80\x80\x80\x80\0",
    b"\x81\x80\x80\x80\0",
    b"\xff\xff\xff\xff\7",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x1f",
    b"\xff\xff\xff\xff\xff\1",
    b"\xff" * 10,
    uvarint(32_768),
    uvarint(32_769),
    uvarint(1_000_000),
    uvarint(100_000_000),
)
_NOT_TEXT: Final = (b"\xed\xa0\x80", b"\xff", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xc3")


def bend_piece(rng: Random, pieces: list[Piece]) -> str:
    if not pieces:
        return ""
    index = rng.randrange(len(pieces))
    piece = pieces[index]
    if rng.random() < 0.1:
        return f"{piece.name} {_move(rng, pieces, index)}"
    match piece.kind:
        case Kind.VARINT_LENGTH | Kind.VARINT_COUNT | Kind.TAG | Kind.TAG_SIZE:
            piece.data = _odd_varint(rng, piece.data)
        case Kind.TAG_COUNT:
            piece.data = _odd_tags(rng, piece.data)
        case Kind.LENGTH | Kind.COUNT:
            piece.data = _odd_length(rng, piece.data)
        case Kind.PRESENCE:
            piece.data = rng.choice((b"\0", b"\1", b"\2", b"\xff", b"\x80", b""))
        case Kind.CONTENT if piece.element == "string":
            odd = rng.choice(_NOT_TEXT)
            piece.data = (odd + piece.data[len(odd) :]) if rng.random() < 0.7 else odd * 3
        case Kind.NUMBER:
            piece.data = rng.choice((b"\x80", b"\xff", b"\x7f", b"\0")) + piece.data[1:]
        case _:
            piece.data = rng.choice((b"", piece.data[:-1], piece.data + b"\0", rng.randbytes(len(piece.data))))
    return f"{piece.name} {piece.kind.value}"


def _move(rng: Random, pieces: list[Piece], index: int) -> str:
    match rng.randrange(3):
        case 0:
            del pieces[index]
            return "left out"
        case 1:
            pieces.insert(index, replace(pieces[index]))
            return "twice"
        case _:
            other = rng.randrange(len(pieces))
            pieces[index], pieces[other] = pieces[other], pieces[index]
            return "elsewhere"


def _odd_varint(rng: Random, before: bytes) -> bytes:
    if len(before) == 1 and rng.random() < 0.4:
        return bytes([before[0] + rng.choice((-1, 1)) & 0x7F])
    return rng.choice(ODD_VARINTS)


def _odd_length(rng: Random, before: bytes) -> bytes:
    width = len(before)
    if not width:
        return before
    high: int = (1 << 8 * width - 1) - 1
    value = int.from_bytes(before, "big", signed=True)
    odd = rng.choice((-1, -2, 0, value - 1, value + 1, high, -high - 1, min(high, 100_000), high // 2))
    return max(-high - 1, min(high, odd)).to_bytes(width, "big", signed=True)


def _odd_tags(rng: Random, before: bytes) -> bytes:
    """Return unknown tags: valid ones half of the time, otherwise unordered, repeated, too long or too many ones."""
    fine = (uvarint(9_000) + b"\3abc", uvarint(2**31 - 1) + b"\0")
    if before == b"\0" and rng.random() < 0.5:
        count = rng.randrange(1, 3)
        return bytes([count]) + b"".join(fine[:count])
    return rng.choice(
        (
            b"\2" + fine[1] + fine[0],
            b"\2" + fine[0] + fine[0],
            b"\1\0\0",
            b"\1\0\1\0",
            b"\1\1\xff\xff\xff\xff\7",
            b"\xff\xff\xff\xff\7",
            b"\x80\0",
            b"",
        )
    )


# -- frames


@dataclass(slots=True)
class Frame:
    """A request's frame, still in parts. `size` None: the real one; `cut`: bytes at the end that are not sent."""

    api_key: int
    version: int
    correlation: int
    client_id: bytes  # with its length in front
    tags: bytes  # of the header; b"" where it has none
    body: bytes
    behind: bytes = b""
    cut: int = 0
    size: int | None = None

    def payload(self) -> bytes:
        start = b"".join(
            (
                self.api_key.to_bytes(2, "big", signed=True),
                self.version.to_bytes(2, "big", signed=True),
                self.correlation.to_bytes(4, "big", signed=True),
                self.client_id,
                self.tags,
                self.body,
                self.behind,
            )
        )
        return start[: len(start) - self.cut] if self.cut else start


def _cut(rng: Random, frame: Frame) -> None:
    frame.cut += rng.randrange(len(frame.payload()) + 1)


def _behind(rng: Random, frame: Frame) -> None:
    frame.behind = rng.choice((b"\0", b"\0" * 64, rng.randbytes(9), b"\xff" * 4, frame.body))


def _version(rng: Random, frame: Frame) -> None:
    other = (frame.version - 1, frame.version + 1, -1, 0, rng.randrange(20), 32_767, -32_768)
    frame.version = max(-32_768, min(32_767, rng.choice(other)))


def _api(rng: Random, frame: Frame) -> None:
    frame.api_key = rng.choice((rng.choice(list(HANDLERS)), rng.randrange(100), -1, 32_767, -32_768))


def _correlation(rng: Random, frame: Frame) -> None:
    frame.correlation = rng.choice((0, -1, 2**31 - 1, -(2**31)))


def _client_id(rng: Random, frame: Frame) -> None:
    frame.client_id = rng.choice(
        (
            b"\xff\xff",
            b"\0\0",
            b"\xff\xfe",
            b"\x80\0",
            b"\x7f\xff",
            b"\0\3\xed\xa0\x80",
            b"\0\1\0",
            b"\0\5\n[x]\n",
            b"\x7f\xff" + b"c" * 32_767,
        )
    )


def _header_version(rng: Random, frame: Frame) -> None:
    frame.tags = b"" if frame.tags and rng.random() < 0.3 else rng.choice((b"\0", _odd_tags(rng, b"\0"), b"\xff"))


def _size(rng: Random, frame: Frame) -> None:
    real = len(frame.payload())
    frame.size = rng.choice(
        (0, 1, 7, 8, real - 1, real + 1, -1, -(2**31), 2**31 - 1, 100 * 1024 * 1024 + 1, real + 1000)
    )


_FRAME_BENDS: Final[Sequence[Callable[[Random, Frame], None]]] = (
    _cut,
    _cut,
    _behind,
    _behind,
    _version,
    _version,
    _api,
    _correlation,
    _client_id,
    _header_version,
    _size,
)


def bend_frame(rng: Random, frame: Frame) -> str:
    bend = rng.choice(_FRAME_BENDS)
    bend(rng, frame)
    return f"frame {bend.__name__.strip('_').replace('_', ' ')}"
