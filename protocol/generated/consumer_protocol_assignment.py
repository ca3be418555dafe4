"""ConsumerProtocolAssignment 0-3.

Generated from schemas/rpc/ConsumerProtocolAssignment.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    Message,
    Structure,
    bad_count,
    bad_length,
    put_numbers,
    read_numbers,
)

_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


class TopicPartition(Structure):
    """An element of ConsumerProtocolAssignment.AssignedPartitions."""

    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


def _read_topic_partition_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicPartition], int]:
    # TopicPartition, versions 0-3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartition] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = read_numbers(data, pos, n, "i")
        items.append(TopicPartition(topic, partitions))
    return items, pos


def _write_topic_partition_array_0(out: bytearray, items: list[TopicPartition]) -> None:
    # TopicPartition, versions 0-3
    for item in items:
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_consumer_protocol_assignment_0(data: bytes, pos: int) -> tuple[ConsumerProtocolAssignment, int]:
    # ConsumerProtocolAssignment, versions 0-3
    (n,) = _unpack_i(data, pos)
    pos += 4
    assigned_partitions, pos = _read_topic_partition_array_0(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    user_data: bytes | None = None
    if n >= 0:
        end = pos + n
        user_data = data[pos:end]
        pos = end
    elif n != -1:
        raise bad_length(n)
    return ConsumerProtocolAssignment(assigned_partitions, user_data), pos


def _write_consumer_protocol_assignment_0(out: bytearray, item: ConsumerProtocolAssignment) -> None:
    # ConsumerProtocolAssignment, versions 0-3
    out += _pack_i(len(item.assigned_partitions))
    _write_topic_partition_array_0(out, item.assigned_partitions)
    if item.user_data is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.user_data))
        out += item.user_data


class ConsumerProtocolAssignment(Message):
    """A classic consumer's assignment, inside SyncGroup, after an int16 version; a version above 3 is read as 3."""

    MIN_VERSION = 0
    MAX_VERSION = 3
    DECODERS = {
        0: _read_consumer_protocol_assignment_0,
        1: _read_consumer_protocol_assignment_0,
        2: _read_consumer_protocol_assignment_0,
        3: _read_consumer_protocol_assignment_0,
    }
    ENCODERS = {
        0: _write_consumer_protocol_assignment_0,
        1: _write_consumer_protocol_assignment_0,
        2: _write_consumer_protocol_assignment_0,
        3: _write_consumer_protocol_assignment_0,
    }

    FIELDS = ("assigned_partitions", "user_data")
    __slots__ = FIELDS

    def __init__(self, assigned_partitions: list[TopicPartition] = EMPTY, user_data: bytes | None = None) -> None:
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions
        self.user_data = user_data
