"""The parts of generated codecs: base classes, variable-length numbers, and the rarer readers and writers.

The generated functions read fixed-width fields and short lengths themselves; they call these functions for the rest:
lengths of more than one byte, tagged fields, arrays of numbers and strings, and every error.

Reading never allocates by a number in the input alone: an array's count is first compared with the bytes that remain,
and a slice is at most as long as the input. A length that runs past the end is noticed at the latest when the message
is complete (`Message.decode`), because the position only moves forward.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Self

Tags = tuple[tuple[int, bytes], ...]
"""Unknown tagged fields, as (tag, raw bytes), ascending by tag."""

ZERO_UUID: Final = bytes(16)
"""Kafka's id that stands for no id."""

NEVER: Final = 32768
"""The value of `FLEXIBLE_FROM` for a message without flexible versions: above every version."""

MAX_STRING_BYTES: Final = 32767
"""The most bytes of UTF-8 in a string, in both forms of lengths."""

GATHERED_FROM: Final = 32 * 1024
"""The number of bytes from which on records are not copied into a `Gathered`."""


class MalformedMessage(ValueError):
    """The error for bytes of an invalid form."""


class UnencodableMessage(ValueError):
    """The error for a message that cannot be written in the requested version: a field of another version is set, a
    field is null where that is not allowed, a number is out of its type's range, or a string has more than 32,767
    bytes.
    """


EMPTY: Final[list[Any]] = []
"""The default of array parameters, which is recognised by identity and stands for a new empty list. None cannot be the
default, because null is a value.

(Any: it stands in for lists of every type.)
"""


class Unset:
    """The default of a parameter for a struct that may be null and is not null by default: it stands for a new
    struct.
    """

    def __repr__(self) -> str:
        return "<default>"


UNSET: Final = Unset()


class Structure:
    """A struct of the protocol, with equality by fields, and a repr. Subclasses name their fields in `FIELDS`."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_shown(name, getattr(self, name))}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"


def _shown(name: str, value: object) -> str:
    """Return a value for a repr. Bytes may be records or secrets, so only ids are written out."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return uuid_to_text(bytes(value)) if len(value) == 16 and name.endswith("id") else f"<{len(value)} bytes>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(name, element) for element in value)}]"
    return repr(value)


class Message(Structure):
    """A request, response, header, or a coordinator record's key or value, with codecs for all its versions.

    Versions are inclusive. `API_KEY` is the record type of coordinator records, and -1 for messages without one.
    `FLEXIBLE_FROM` is the first flexible version, `NEVER` if there is none.
    """

    __slots__ = ()

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = NEVER
    # Any: the tables of each subclass hold functions of that subclass
    DECODERS: ClassVar[Mapping[int, Callable[[bytes, int], tuple[Any, int]]]] = {}
    ENCODERS: ClassVar[Mapping[int, Callable[[bytearray, Any], None]]] = {}

    def encode(self, version: int) -> bytes:
        """Return the encoded message. Raise `UnencodableMessage`."""
        out = bytearray()
        self.encode_into(out, version)
        return bytes(out)

    def encode_into(self, out: bytearray, version: int) -> None:
        """Append the encoded message. Raises `UnencodableMessage`, and then leaves `out` as it was."""
        start = len(out)
        try:
            self.ENCODERS[version](out, self)
        except (struct.error, TypeError, AttributeError, ValueError, KeyError) as error:
            del out[start:]
            if type(out) is Gathered:
                out.left = [each for each in out.left if each[0] <= start]  # no message begins with records
            raise _unencodable(self, version, error) from error

    @classmethod
    def decode(cls, data: bytes | memoryview, version: int, offset: int = 0) -> tuple[Self, int]:
        """Read a message that starts at `offset`; return it and the offset after it. Raises `MalformedMessage`.

        A field of type `records` is a view of `data`, or of a copy if `data` is not bytes; all other fields are copies.
        """
        buffer = data if type(data) is bytes else bytes(data)
        try:
            message, end = cls.DECODERS[version](buffer, offset)
        except (IndexError, struct.error, UnicodeDecodeError, KeyError) as error:
            raise _malformed(cls, version, error) from error
        if end > len(buffer):
            raise MalformedMessage(f"{cls.__name__} version {version}: ends {end - len(buffer)} bytes too early")
        return message, end


def _malformed(cls: type[Message], version: int, error: Exception) -> MalformedMessage:
    if version not in cls.DECODERS:
        return MalformedMessage(f"{cls.__name__} has no version {version}")
    return MalformedMessage(f"{cls.__name__} version {version}: {error}")


def _unencodable(message: Message, version: int, error: Exception) -> UnencodableMessage:
    if isinstance(error, UnencodableMessage):
        return error
    if version not in message.ENCODERS:
        return UnencodableMessage(f"{type(message).__name__} has no version {version}")
    return UnencodableMessage(f"{type(message).__name__} version {version}: {error}")


# -- reading: a reader takes the position after what its caller has read and returns the value and the next position


def read_uvarint(data: bytes, pos: int) -> tuple[int, int]:
    """Return an unsigned number of at most 32 bits: 7 bits in a byte, the low ones first; the high bit is set in all
    but the last byte.
    """
    value = data[pos]
    pos += 1
    if value < 0x80:
        return value, pos
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, pos
    raise MalformedMessage("variable-length number of more than 32 bits")


def read_length(data: bytes, pos: int) -> tuple[int, int]:
    """Return the compact length (n + 1; 0 is null) whose first byte, which was already read, is before `pos`."""
    return read_uvarint(data, pos - 1)


def read_string_length(data: bytes, pos: int) -> tuple[int, int]:
    """Read a string's length as `read_length` does; refuse null and more than 32,767 bytes."""
    length, pos = read_uvarint(data, pos - 1)
    if length == 0:
        raise null_value()
    if length > MAX_STRING_BYTES + 1:
        raise MalformedMessage(f"string of {length - 1} bytes")
    return length, pos


def read_bytes_length(data: bytes, pos: int) -> tuple[int, int]:
    """Read the length of bytes as `read_length` does; refuse null."""
    length, pos = read_uvarint(data, pos - 1)
    if length == 0:
        raise null_value()
    return length, pos


def read_tags(data: bytes, pos: int, first: int) -> tuple[Tags, int]:
    """Return the tag buffer whose first byte, `first` (not zero), is before `pos`. Its tags must be strictly
    ascending.
    """
    count = first
    if first > 0x7F:
        count, pos = read_uvarint(data, pos - 1)
    size = len(data)
    if count * 2 > size - pos:
        raise bad_count(count)
    tags: list[tuple[int, bytes]] = []
    last = -1
    for _ in range(count):
        tag, pos = read_uvarint(data, pos)
        length, pos = read_uvarint(data, pos)
        end = pos + length
        if tag <= last or end > size:
            raise MalformedMessage(f"tag {tag} of {length} bytes after tag {last}, {size - pos} bytes left")
        tags.append((tag, data[pos:end]))
        pos = end
        last = tag
    return tuple(tags), pos


def read_compact_int8s(data: bytes, pos: int, first: int) -> tuple[list[int], int]:
    """Return the array of int8, not null, whose compact length begins with the byte `first`, before `pos`."""
    length = first
    if not 0 < first < 128:
        length, pos = read_bytes_length(data, pos)
    return read_numbers(data, pos, length - 1, "b")


_WIDTHS: Final = {"b": 1, "h": 2, "i": 4, "q": 8, "H": 2, "I": 4, "d": 8, "?": 1}
# Most arrays are short (replicas, partitions): their formats are kept, not looked up by text each time.
_SHORT_ARRAYS: Final = {code: tuple(struct.Struct(f">{count}{code}") for count in range(9)) for code in _WIDTHS}
_SHORT: Final = 9


def _array_struct(count: int, code: str) -> struct.Struct:
    return _SHORT_ARRAYS[code][count] if count < _SHORT else struct.Struct(f">{count}{code}")


def read_numbers(data: bytes, pos: int, count: int, code: str) -> tuple[list[Any], int]:
    """Read `count` numbers of the `struct` format `code`, big-endian. (Any: int, float or bool by the code.)"""
    size = count * _WIDTHS[code]
    if not 0 <= size <= len(data) - pos:
        raise bad_count(count)
    return list(_array_struct(count, code).unpack_from(data, pos)), pos + size


def read_uuids(data: bytes, pos: int, count: int) -> tuple[list[bytes], int]:
    """Read `count` ids of 16 bytes."""
    end = pos + count * 16
    if not pos <= end <= len(data):
        raise bad_count(count)
    return [data[at : at + 16] for at in range(pos, end, 16)], end


def read_compact_strings(data: bytes, pos: int, count: int) -> tuple[list[str], int]:
    """Read `count` strings with compact lengths; none is null."""
    if not 0 <= count <= len(data) - pos:
        raise bad_count(count)
    values: list[str] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        values.append(data[pos:end].decode())
        pos = end
    return values, pos


def read_strings(data: bytes, pos: int, count: int) -> tuple[list[str], int]:
    """Read `count` strings with int16 lengths; none is null."""
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    values: list[str] = []
    for _ in range(count):
        (n,) = _UNPACK_INT16(data, pos)
        if n < 0:
            raise bad_length(n)
        pos += 2
        end = pos + n
        values.append(data[pos:end].decode())
        pos = end
    return values, pos


def read_compact_byte_strings(data: bytes, pos: int, count: int) -> tuple[list[bytes], int]:
    """Read `count` byte strings with compact lengths; none is null."""
    if not 0 <= count <= len(data) - pos:
        raise bad_count(count)
    values: list[bytes] = []
    for _ in range(count):
        n, pos = read_bytes_length(data, pos + 1)
        values.append(data[pos : pos + n - 1])
        pos += n - 1
    return values, pos


def read_byte_strings(data: bytes, pos: int, count: int) -> tuple[list[bytes], int]:
    """Read `count` byte strings with int32 lengths; none is null."""
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    values: list[bytes] = []
    for _ in range(count):
        (n,) = _UNPACK_INT32(data, pos)
        if n < 0:
            raise bad_length(n)
        pos += 4
        values.append(data[pos : pos + n])
        pos += n
    return values, pos


_UNPACK_INT16: Final = struct.Struct(">h").unpack_from
_UNPACK_INT32: Final = struct.Struct(">i").unpack_from


def bad_count(count: int) -> MalformedMessage:
    """Return the error for an array's count that is negative (a forbidden null), or too large for the remaining
    bytes.
    """
    return MalformedMessage(f"array of {count} elements: null, or more than the message can hold")


def bad_length(length: int) -> MalformedMessage:
    """Return the error for a negative length in a field that may not be null."""
    return MalformedMessage(f"length {length}")


def null_value() -> MalformedMessage:
    """Return the error for null in a field that may not be null."""
    return MalformedMessage("null in a field that may not be null")


def bad_tag(name: str, tag: int) -> MalformedMessage:
    """Return the error for a tag that belongs to another version of the struct."""
    return MalformedMessage(f"tag {tag} of {name} is not of this version")


def bad_tag_size(name: str, tag: int, size: int, end: int) -> MalformedMessage:
    """Return the error for a tagged field whose value is longer or shorter than its size field says."""
    return MalformedMessage(f"tag {tag} of {name}: a value of {end} bytes in a field of {size}")


# -- writing


SMALL: Final = tuple(bytes((value,)) for value in range(128))
"""The one-byte variable-length numbers."""

NO_TAGS: Final = b"\0"
"""An empty tag buffer."""


def uvarint(value: int) -> bytes:
    """Return an unsigned variable-length number. Raises ValueError if it is negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def put_compact_string(out: bytearray, value: str) -> None:
    """Append a string with a compact length."""
    raw = value.encode()
    length = len(raw) + 1
    if length < 128:
        out.append(length)
    elif length <= MAX_STRING_BYTES + 1:
        out += uvarint(length)
    else:
        raise UnencodableMessage(f"string of {length - 1} bytes")
    out += raw


class Gathered(bytearray):
    """An encoded message without its large records, which are not copied; `pieces` puts them in their places.

    `left` are those records, which must not change, each with the number of bytes in this object that precede it.
    """

    __slots__ = ("left",)

    def __init__(self, start: bytes = b"") -> None:
        super().__init__(start)
        self.left: list[tuple[int, bytes | memoryview]] = []

    @property
    def size(self) -> int:
        """The number of all bytes, those of the large records included."""
        return len(self) + sum(len(records) for _, records in self.left)

    def pieces(self) -> list[bytes | bytearray | memoryview]:
        """Return all bytes in pieces, in order. While one of the pieces exists, no bytes can be appended."""
        view, at = memoryview(self), 0
        pieces: list[bytes | bytearray | memoryview] = []
        for end, records in self.left:
            pieces += view[at:end], records
            at = end
        if at < len(view):
            pieces.append(view[at:])
        return pieces


def put_records(out: bytearray, records: bytes | memoryview) -> None:
    """Append record batches, without their length."""
    if len(records) >= GATHERED_FROM and type(out) is Gathered:
        out.left.append((len(out), records))
    else:
        out += records


def tag_buffer(tags: Tags) -> bytes:
    """Return a tag buffer, sorted by tag. A tag that occurs twice is refused."""
    if len(tags) == 1:
        ((tag, value),) = tags
        if 0 <= tag < 128 and len(value) < 128:
            return bytes((1, tag, len(value))) + value
    out = bytearray(uvarint(len(tags)))
    last = -1
    for tag, value in sorted(tags):
        if tag <= last:
            raise UnencodableMessage(f"tag {tag} is negative or there twice")
        out += uvarint(tag)
        out += uvarint(len(value))
        out += value
        last = tag
    return bytes(out)


def put_int8s(out: bytearray, values: list[int]) -> None:
    """Append int8 numbers, without a count."""
    if len(values) == 1 and 0 <= values[0] < 128:
        out.append(values[0])
    else:
        out += _array_struct(len(values), "b").pack(*values)


def put_numbers(out: bytearray, values: list[Any], code: str) -> None:
    """Append numbers of the `struct` format `code`, big-endian, without a count. (Any: int, float or bool.)"""
    out += _array_struct(len(values), code).pack(*values)


def put_uuids(out: bytearray, values: list[bytes]) -> None:
    """Append ids of 16 bytes, without a count."""
    for value in values:
        if len(value) != 16:
            raise bad_uuid(value)
        out += value


def put_compact_strings(out: bytearray, values: list[str]) -> None:
    """Append strings with compact lengths, without a count."""
    for value in values:
        put_compact_string(out, value)


def put_strings(out: bytearray, values: list[str]) -> None:
    """Append strings with int16 lengths, without a count."""
    for value in values:
        raw = value.encode()
        out += len(raw).to_bytes(2, "big", signed=True)
        out += raw


def put_compact_byte_strings(out: bytearray, values: list[bytes]) -> None:
    """Append byte strings with compact lengths, without a count."""
    for value in values:
        out += uvarint(len(value) + 1)
        out += value


def put_byte_strings(out: bytearray, values: list[bytes]) -> None:
    """Append byte strings with int32 lengths, without a count."""
    for value in values:
        out += len(value).to_bytes(4, "big", signed=True)
        out += value


def not_in_version(name: str, field: str) -> UnencodableMessage:
    """Return the error for a field that is set although the written version does not have it."""
    return UnencodableMessage(f"{name}.{field} is set, but this version has no such field")


def null_not_allowed(name: str, field: str) -> UnencodableMessage:
    """Return the error for None in a field that may not be null in the written version."""
    return UnencodableMessage(f"{name}.{field} may not be null in this version")


def bad_uuid(value: bytes) -> UnencodableMessage:
    """Return the error for an id that does not have 16 bytes."""
    return UnencodableMessage(f"uuid of {len(value)} bytes")


# -- text form of ids

_UUID_TEXT: Final = "[A-Za-z0-9_-]{22}"  # compiled by its first use, as a start does without


def uuid_to_text(uuid: bytes) -> str:
    """Return an id as Kafka's tools print it: 22 characters of URL-safe base64 without padding."""
    if len(uuid) != 16:
        raise ValueError(f"uuid of {len(uuid)} bytes")
    return base64.urlsafe_b64encode(uuid)[:22].decode()


def uuid_from_text(text: str) -> bytes:
    """Return the 16 bytes of an id in its text form. Raises ValueError for any other text."""
    if not re.fullmatch(_UUID_TEXT, text):
        raise ValueError(f"not an id: {text!r}")
    return base64.urlsafe_b64decode(text + "==")


# -- signed variable-length numbers, as record batches have them


def zigzag_varint(value: int) -> bytes:
    """Return a signed number (32 or 64 bits) in zig-zag form, in which numbers near zero take few bytes."""
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def read_zigzag(data: bytes | bytearray | memoryview, pos: int, max_bytes: int = 5) -> tuple[int, int]:
    """Return a signed number in zig-zag form; `max_bytes` is 5 for varint, 10 for varlong.

    Raises `MalformedMessage`.
    """
    value = 0
    shift = 0
    for _ in range(max_bytes):
        if pos >= len(data):
            raise MalformedMessage("variable-length number cut short")
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos
        shift += 7
    raise MalformedMessage(f"variable-length number of more than {max_bytes} bytes")
