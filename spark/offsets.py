"""The source's offset as in Spark's offset log: one line of JSON that completely describes a micro-batch.

    {"v": 1, "seq": 7,
     "t": {"flights": "topic id, as Kafka's tools print it"},
     "b": {"flights": {"0": [[first, last, delivery count], ...]}},     the micro-batch that ends with this offset
     "u": {"flights": {"0": [[first, last], ...]}}}                     earlier ranges, not known to be accepted

Ranges are ascending, disjoint, and both of their ends included. A micro-batch is read again by its end offset alone.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from shareq.client.offsets import OffsetRanges

VERSION: Final = 1

JsonObject = dict[str, object]


class OffsetError(ValueError):
    """An offset that this release cannot read. The message is one line."""


class SharePartition(NamedTuple):
    """A partition of one topic; a topic that is deleted and created again is another one, by its id."""

    topic: str
    topic_id: bytes
    partition: int


class BatchRange(NamedTuple):
    """Offsets, both included, that were delivered together for the `delivery_count`th time."""

    first: int
    last: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """The records of a micro-batch, and earlier ones that are not known to be acknowledged.

    Never changed once made.
    """

    seq: int = 0
    batch: Mapping[SharePartition, tuple[BatchRange, ...]] = field(default_factory=dict)
    unconfirmed: Mapping[SharePartition, OffsetRanges] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """The number of offsets in the micro-batch; control records and gaps count."""
        return sum(last - first + 1 for ranges in self.batch.values() for first, last, _ in ranges)

    def to_json(self) -> JsonObject:
        """Return the form described above, for `json.dumps`."""
        ids = {key.topic: key.topic_id for key in (*self.unconfirmed, *self.batch)}
        return {
            "v": VERSION,
            "seq": self.seq,
            "t": {topic: id_text(topic_id) for topic, topic_id in sorted(ids.items())},
            "b": _nested((key, [list(found) for found in ranges]) for key, ranges in self.batch.items()),
            "u": _nested((key, ranges.to_json()) for key, ranges in self.unconfirmed.items()),
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Return the offset of a JSON text.

        Raises OffsetError for a text that `to_json` of this release or an earlier one cannot have made.
        """
        if not isinstance(value, dict) or "v" not in value:
            raise OffsetError(f"this is no offset of a kafka-share source: {str(value)[:200]}")
        if value["v"] != VERSION:
            raise OffsetError(
                f"the checkpoint has offsets of version {value['v']!r}, and this release of shareq knows version "
                f"{VERSION}: go on with the release that wrote them, or a later one"
            )
        try:
            ids = {topic: id_of(text) for topic, text in _object(value["t"]).items()}
            return cls(
                _whole(value["seq"]),
                {key: tuple(_batch_ranges(ranges)) for key, ranges in _flat(value["b"], ids)},
                {key: OffsetRanges.from_json(ranges) for key, ranges in _flat(value["u"], ids)},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OffsetError(f"the checkpoint's offset is damaged ({error}): {str(value)[:200]}") from error


INITIAL: Final = SourceOffset()
"""The empty offset at which a new query begins, whatever the state of topic and group."""


def id_text(topic_id: bytes) -> str:
    """Return a topic id as Apache Kafka's tools print it: 22 characters of base64 for URLs."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def id_of(text: object) -> bytes:
    """Return the inverse of `id_text`. Raises ValueError."""
    try:
        topic_id = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r} is no topic id") from error
    if len(topic_id) != 16:
        raise ValueError(f"{text!r} is no topic id")
    return topic_id


def _nested(rows: Iterable[tuple[SharePartition, object]]) -> dict[str, dict[str, object]]:
    result: dict[str, dict[str, object]] = {}
    for key, value in sorted(rows, key=lambda row: row[0]):
        if value:
            result.setdefault(key.topic, {})[str(key.partition)] = value
    return result


def _flat(value: object, ids: Mapping[str, bytes]) -> Iterable[tuple[SharePartition, object]]:
    for topic, partitions in _object(value).items():
        for partition, ranges in _object(partitions).items():
            yield SharePartition(topic, ids[topic], int(partition)), ranges


def _batch_ranges(value: object) -> Iterable[BatchRange]:
    end = -1
    if not isinstance(value, list):
        raise ValueError("a list of [first, last, delivery count] is expected")
    for row in value:
        first, last, count = (_whole(number) for number in row)
        if not end < first <= last:
            raise ValueError(f"range {first}-{last} is out of order")
        end = last
        yield BatchRange(first, last, count)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("an object is expected")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value
