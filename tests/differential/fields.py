"""Whole answers, field by field. Everything is compared, except for the fields named here.

A field is named by its path, `ShareFetchResponse.responses.partitions.current_leader.leader_id`. A partition's fields
are stored under its number, so rows are compared regardless of their order, and missing or repeated rows are noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeGuard

from shareq.protocol.generated.share_fetch import AcquiredRecords
from shareq.protocol.primitives import Message, Structure, uuid_to_text
from shareq.protocol.records.batch import batch_headers

Key = tuple[int | None, str]
"""The partition, or None for the answer as a whole, and the path of the field."""


class NormalForm(NamedTuple):
    """A change of a value before the comparison, and the differences that it hides."""

    change: Callable[[object], object]
    loses: str


def without_empty_ranges(value: object) -> list[AcquiredRecords]:
    """Return the AcquiredRecords that contain an offset."""
    assert isinstance(value, list)
    return [each for each in value if each.first_offset <= each.last_offset]


def batches_of(value: object) -> list[tuple[int, int, int]]:
    """Return the first offset, last offset and CRC of each record batch. The CRC covers all from the attributes on."""
    records = bytes(value) if isinstance(value, (bytes, memoryview)) else b""
    return [(header.base_offset, header.last_offset, header.crc) for _, header in batch_headers(records)]


class StateBatch(NamedTuple):
    """An entry of ReadShareGroupState for a range of offsets, both ends included."""

    first: int
    last: int
    state: int
    delivery_count: int


def joined(value: object) -> list[StateBatch]:
    assert isinstance(value, list)
    found: list[StateBatch] = []
    for row in value:
        one = StateBatch(row.first_offset, row.last_offset, row.delivery_state, row.delivery_count)
        if found and found[-1].last + 1 == one.first and found[-1][2:] == one[2:]:
            found[-1] = found[-1]._replace(last=one.last)
        else:
            found.append(one)
    return found


def whether_known(value: object) -> bool:
    assert isinstance(value, int)
    return value >= 0


_FETCHED: Final = "ShareFetchResponse.responses.partitions"
_ACKNOWLEDGED: Final = "ShareAcknowledgeResponse.responses.partitions"
_STORED: Final = "ReadShareGroupStateResponse.results.partitions"
_SUMMARY: Final = "ReadShareGroupStateSummaryResponse.results.partitions"
_DESCRIBED: Final = "DescribeShareGroupOffsetsResponse.groups.topics.partitions"
_HEARTBEAT: Final = "ShareGroupHeartbeatResponse"

NORMAL_FORMS: Final[Mapping[str, NormalForm]] = {
    f"{_FETCHED}.acquired_records": NormalForm(
        without_empty_ranges,
        "ranges without an offset in them, which Apache Kafka puts in front of new records when BatchSize is 0 or less",
    ),
    f"{_FETCHED}.records": NormalForm(
        batches_of,
        "the leader epoch in a record batch's header, not under its CRC: Apache Kafka counts it on with each start, "
        "there are no elections here",
    ),
    f"{_STORED}.state_batches": NormalForm(
        joined,
        "where neighbours that are equal are cut: Apache Kafka writes each record's lock expiry by itself, and does "
        "not always join them",
    ),
    f"{_SUMMARY}.leader_epoch": NormalForm(
        whether_known,
        "which leader's epoch is persisted: as above",
    ),
}

_WORDS: Final = "a text for people"
_ACK_WORDS: Final = (
    "a text for people; Apache Kafka has none for what it finds wrong before it looks at the share partition, here "
    "there is always one"
)

IGNORED: Final[Mapping[str, str]] = {
    f"{_FETCHED}.acknowledge_error_message": _ACK_WORDS,
    f"{_ACKNOWLEDGED}.error_message": _ACK_WORDS,
    f"{_HEARTBEAT}.error_message": _WORDS,
    "AlterShareGroupOffsetsResponse.error_message": _WORDS,
    "IncrementalAlterConfigsResponse.responses.error_message": _WORDS,
    f"{_HEARTBEAT}.member_epoch": (
        "how often members were reassigned while they joined: here the first heartbeat assigns, there a later one"
    ),
    f"{_HEARTBEAT}.assignment": (
        "which member has which partition, and which heartbeat returns it: Apache Kafka goes through members by hash, "
        "and assigns with a later one"
    ),
    f"{_DESCRIBED}.leader_epoch": "Apache Kafka counts it on with each start; there are no elections here",
}
"""The fields that are not compared, with reasons."""

ELSEWHERE: Final = frozenset(
    (
        "ShareFetchResponse.error_code",
        f"{_FETCHED}.error_code",
        f"{_FETCHED}.acknowledge_error_code",
        "ShareAcknowledgeResponse.error_code",
        f"{_ACKNOWLEDGED}.error_code",
        f"{_STORED}.error_code",
        f"{_STORED}.start_offset",
        f"{_DESCRIBED}.error_code",
        f"{_DESCRIBED}.start_offset",
        f"{_DESCRIBED}.lag",
    )
)
"""The fields that are compared as parts of a `PartitionAnswer`, or as the error of an answer."""

ORDER: Final = ", order of the rows"
ORDER_REASON: Final = "Apache Kafka collects rows in hash tables"
_NUMBERS: Final = ("partition_index", "partition", "index")


@dataclass(slots=True)
class Fields:
    """The fields of an answer's messages. `names` maps a broker's own names to what they stand for."""

    names: Mapping[str, str]
    judged: dict[Key, tuple[object, ...]] = field(default_factory=dict)
    aside: dict[Key, tuple[object, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Mapping[str, str], *messages: Message) -> Fields:
        fields = cls(names)
        for message in messages:
            fields._walk(type(message).__name__, message, None)
        return fields

    def _walk(self, path: str, structure: Structure, partition: int | None) -> None:
        about = _numbers_within(structure) or [partition]
        for name in structure.FIELDS:
            self._note(f"{path}.{name}", getattr(structure, name), about)

    def _note(self, path: str, value: object, about: Sequence[int | None]) -> None:
        normal = NORMAL_FORMS.get(path)
        if path in ELSEWHERE or value == []:
            return
        if path in IGNORED:
            self._put(self.aside, path, value, about)
        elif normal is not None:
            self._put(self.aside, path, value, about)
            self._put(self.judged, path, normal.change(value), about)
        elif isinstance(value, Structure):
            self._walk(path, value, about[0])
        elif _is_rows(value):
            self._rows(path, value, about)
        else:
            self._put(self.judged, path, value, about)

    def _rows(self, path: str, rows: Sequence[Structure], about: Sequence[int | None]) -> None:
        numbers = [_number(row) for row in rows]
        for row, number in zip(rows, numbers, strict=True):
            self._walk(path, row, about[0] if number is None else number)
        if numbers[0] is not None:
            self._put(self.aside, path + ORDER, numbers, [None])

    def _put(self, into: dict[Key, tuple[object, ...]], path: str, value: object, about: Sequence[int | None]) -> None:
        for partition in about:
            into[partition, path] = (*into.get((partition, path), ()), self._named(value))

    def _named(self, value: object) -> object:
        """Return a hashable form of a value, with the broker's own names replaced."""
        if isinstance(value, Structure):
            return tuple(self._named(getattr(value, name)) for name in value.FIELDS if name != "unknown_tags")
        if isinstance(value, (list, tuple)):
            return tuple(self._named(each) for each in value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            value = uuid_to_text(bytes(value)) if len(value) == 16 else bytes(value)
        if isinstance(value, str):
            for name, meaning in self.names.items():
                value = value.replace(name, meaning)
        return value


def _is_rows(value: object) -> TypeGuard[list[Structure]]:
    return isinstance(value, list) and isinstance(value[0], Structure)


def _number(row: Structure) -> int | None:
    return next((getattr(row, name) for name in _NUMBERS if name in row.FIELDS), None)


def _numbers_within(structure: Structure) -> list[int | None]:
    """Return the partitions that have rows in the structure itself: its other fields concern them."""
    lists = (getattr(structure, name) for name in structure.FIELDS)
    rows = [row for value in lists if value != [] and _is_rows(value) for row in value]
    return [number for number in map(_number, rows) if number is not None]
