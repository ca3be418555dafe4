"""Coordinator records as the bytes of a log, for any of the coordinators' topics.

    key    int16  record type, then the key message at its only version, 0
    value  int16  value version, then the value message at that version; a null value is a tombstone

The same type number means different records on different topics, so there is one serde per topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Final, TypeVar

from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords, Steps
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import Message
from shareq.protocol.stepped_writing import STEP_ELEMENTS, SteppedWriter

_INT16: Final = Struct(">h")

V = TypeVar("V", bound=Message)

RecordTypes = Mapping[int, tuple[type[Message], type[Message]]]
"""The classes of key and value, by record type. A key class's `API_KEY` is its record type."""


class TypedRecordSerde:
    """A `RecordSerde` over a table of record types.

    `check` examines each decoded record, and raises InconsistentRecords for an invalid one.
    """

    def __init__(self, types: RecordTypes, check: Callable[[CoordinatorRecord], None] | None = None) -> None:
        self._types = types
        self._check = check

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return the bytes of key and value; the value is None for a tombstone."""
        key = bytearray(_INT16.pack(record.key.API_KEY))
        record.key.encode_into(key, 0)
        if record.value is None:
            return bytes(key), None
        value = bytearray(_INT16.pack(record.value_version))
        record.value.encode_into(value, record.value_version)
        return bytes(key), bytes(value)

    def encode_in_steps(self, record: CoordinatorRecord) -> Steps[tuple[bytes, bytes | None]]:
        """Return the result of `encode`, with pauses if the value has a long array."""
        value = record.value
        if value is None or not _is_long(value):
            return self.encode(record)
        writer = SteppedWriter(type(value), record.value_version)
        written = yield from writer.message(_INT16.pack(record.value_version), value)
        key, _ = self.encode(record._replace(value=None))
        return key, b"".join(written.pieces())

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """Return the record, or None for an unknown type, which the caller skips with a warning.

        Raise MalformedMessage if the bytes do not have the type's form, or the value's version is out of range, and
        InconsistentRecords if they contradict each other.
        """
        classes = self._types.get(_int16(key, "record type"))
        if classes is None:
            return None
        key_class, value_class = classes
        typed_key, _ = key_class.decode(key, 0, 2)
        if value is None:
            return CoordinatorRecord(typed_key, None)
        version = _int16(value, "value version")
        if not value_class.MIN_VERSION <= version <= value_class.MAX_VERSION:
            raise MalformedMessage(f"{value_class.__name__} has no version {version}")
        typed_value, _ = value_class.decode(value, version, 2)
        record = CoordinatorRecord(typed_key, typed_value, version)
        if self._check is not None:
            self._check(record)
        return record


def typed_value(value: Message | None, expected: type[V]) -> V | None:
    """Return a record's value in the class that belongs to its key. Raises InconsistentRecords for a value of another
    class.
    """
    if value is not None and not isinstance(value, expected):
        raise InconsistentRecords(f"a {type(value).__name__} where a {expected.__name__} belongs")
    return value


def expect(record: CoordinatorRecord, what: str, numbers: Iterable[int], least: int = 0) -> None:
    """Check that no number is below `least`. Raises InconsistentRecords."""
    lowest = min(numbers, default=least)
    if lowest < least:
        raise InconsistentRecords(f"a {type(record.value).__name__} with {what} {lowest}")


def _is_long(value: Message) -> bool:
    return any(
        isinstance(each, list) and len(each) > STEP_ELEMENTS for each in map(value.__getattribute__, value.FIELDS)
    )


def _int16(data: bytes, what: str) -> int:
    if len(data) < 2:
        raise MalformedMessage(f"coordinator record without {what}")
    number: int = _INT16.unpack_from(data)[0]
    return number
