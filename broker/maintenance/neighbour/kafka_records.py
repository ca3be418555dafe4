"""Topics and properties in Apache Kafka's metadata log (KRaft, `__cluster_metadata-0`). Pure.

A record's value:

    frame version (1), type, version    unsigned varints
    fields                              as in Kafka's metadata schemas, flexible versions; only leading ones are read

Records between BeginTransaction and EndTransaction count together, at the end; AbortTransaction drops them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from shareq.protocol.primitives import read_uvarint
from shareq.protocol.records.batch import batch_headers, crc_matches, decode_records

_FRAME_VERSION: Final = 1
_UUID_BYTES: Final = 16
_BEGIN, _END, _ABORT = 23, 24, 25
_NOT_TAKEN: Final = {11: "SCRAM users", 14: "quotas", 18: "ACLs"}
_TOPIC_KIND: Final = 2
_KINDS: Final = {_TOPIC_KIND: "topic", 32: "group"}
_PRODUCER_IDS: Final = struct.Struct(">iqq")
_LEVEL: Final = struct.Struct(">h")
_PARTITION: Final = struct.Struct(">i")


class UnreadableMetadata(ValueError):
    """Error: the metadata log cannot be read. The text is the reason."""


@dataclass(slots=True)
class KafkaTopic:
    """A topic in Kafka's metadata. `topic_id` has 16 bytes; `partitions` are the numbers of the existing ones."""

    name: str
    topic_id: bytes
    partitions: set[int] = field(default_factory=set)


class KafkaMetadata:
    """The state after the records applied so far.

    `configs` are properties by kind (topic, group) and name; `next_producer_id` is the lowest id that no producer
    has had. `features` are levels by name; `not_taken` names the kinds of other records found.
    """

    def __init__(self) -> None:
        self.topics: dict[bytes, KafkaTopic] = {}
        self.configs: dict[tuple[str, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        self.not_taken: set[str] = set()
        self._pending: list[tuple[int, bytes]] | None = None
        self._apply: dict[int, Callable[[bytes], None]] = {
            2: self._topic,
            3: self._partition,
            4: self._config,
            9: self._remove_topic,
            12: self._feature,
            15: self._producer_ids,
        }

    def apply(self, data: bytes, from_offset: int = 0) -> None:
        """Apply the batches of a segment or snapshot, without records below `from_offset`.

        Raise UnreadableMetadata.
        """
        try:
            for position, header in batch_headers(data):
                if not crc_matches(data, position, header):
                    raise UnreadableMetadata(f"its batch at byte {position} is damaged")
                if header.is_control or header.last_offset < from_offset:
                    continue
                batch = data[position : position + header.size]
                for offset, record in enumerate(decode_records(batch), header.base_offset):
                    if offset >= from_offset and record.value is not None:
                        self._record(bytes(record.value))
        except UnreadableMetadata:
            raise
        except (ValueError, IndexError, struct.error) as error:
            raise UnreadableMetadata(str(error) or type(error).__name__) from error

    def named(self) -> dict[str, KafkaTopic]:
        return {topic.name: topic for topic in self.topics.values()}

    def _record(self, value: bytes) -> None:
        frame, at = read_uvarint(value, 0)
        if frame != _FRAME_VERSION:
            raise UnreadableMetadata(f"a record of frame version {frame}")
        kind, at = read_uvarint(value, at)
        _version, at = read_uvarint(value, at)
        if kind == _BEGIN:
            self._pending = []
        elif kind in (_END, _ABORT):
            pending, self._pending = self._pending or (), None
            self._apply_all(pending if kind == _END else ())
        elif self._pending is not None:
            self._pending.append((kind, value[at:]))
        else:
            self._apply_all([(kind, value[at:])])

    def _apply_all(self, records: Iterable[tuple[int, bytes]]) -> None:
        for kind, fields in records:
            if kind in _NOT_TAKEN:
                self.not_taken.add(_NOT_TAKEN[kind])
            if kind in self._apply:
                self._apply[kind](fields)

    def _topic(self, fields: bytes) -> None:
        name, at = _text(fields, 0)
        topic_id = _uuid(fields, at)
        self.topics[topic_id] = KafkaTopic(name or "", topic_id)

    def _partition(self, fields: bytes) -> None:
        (number,) = _PARTITION.unpack_from(fields)
        topic = self.topics.get(_uuid(fields, _PARTITION.size))
        if topic is not None:
            topic.partitions.add(number)

    def _config(self, fields: bytes) -> None:
        kind = _KINDS.get(fields[0])
        name, at = _text(fields, 1)
        key, at = _text(fields, at)
        value, at = _text(fields, at)
        if kind is None:
            self.not_taken.add("properties of brokers")
            return
        properties = self.configs.setdefault((kind, name or ""), {})
        if value is None:
            properties.pop(key or "", None)
        else:
            properties[key or ""] = value

    def _remove_topic(self, fields: bytes) -> None:
        topic = self.topics.pop(_uuid(fields, 0), None)
        if topic is not None:
            self.configs.pop(("topic", topic.name), None)

    def _feature(self, fields: bytes) -> None:
        name, at = _text(fields, 0)
        (self.features[name or ""],) = _LEVEL.unpack_from(fields, at)

    def _producer_ids(self, fields: bytes) -> None:
        self.next_producer_id = max(self.next_producer_id, _PRODUCER_IDS.unpack_from(fields)[2])


def _text(data: bytes, at: int) -> tuple[str | None, int]:
    length, at = read_uvarint(data, at)
    if length == 0:
        return None, at
    end = at + length - 1
    if end > len(data):
        raise UnreadableMetadata("a record that is cut short")
    return data[at:end].decode(), end


def _uuid(data: bytes, at: int) -> bytes:
    found = data[at : at + _UUID_BYTES]
    if len(found) != _UUID_BYTES:
        raise UnreadableMetadata("a record that is cut short")
    return found
