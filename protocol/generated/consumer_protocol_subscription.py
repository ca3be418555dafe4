"""ConsumerProtocolSubscription 0-3.

Generated from schemas/rpc/ConsumerProtocolSubscription.json (Apache Kafka 4.4.0) by `python -m
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
    put_strings,
    read_numbers,
    read_strings,
)

_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


class TopicPartition(Structure):
    """An element of ConsumerProtocolSubscription.OwnedPartitions."""

    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


def _read_consumer_protocol_subscription_0(data: bytes, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # ConsumerProtocolSubscription, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = read_strings(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    user_data: bytes | None = None
    if n >= 0:
        end = pos + n
        user_data = data[pos:end]
        pos = end
    elif n != -1:
        raise bad_length(n)
    return ConsumerProtocolSubscription(topics, user_data, [], -1, None), pos


def _write_consumer_protocol_subscription_0(out: bytearray, item: ConsumerProtocolSubscription) -> None:
    # ConsumerProtocolSubscription, version 0
    out += _pack_i(len(item.topics))
    put_strings(out, item.topics)
    if item.user_data is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.user_data))
        out += item.user_data


def _read_topic_partition_array_1(data: bytes, pos: int, count: int) -> tuple[list[TopicPartition], int]:
    # TopicPartition, versions 1-3
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


def _write_topic_partition_array_1(out: bytearray, items: list[TopicPartition]) -> None:
    # TopicPartition, versions 1-3
    for item in items:
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_consumer_protocol_subscription_1(data: bytes, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # ConsumerProtocolSubscription, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = read_strings(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    user_data: bytes | None = None
    if n >= 0:
        end = pos + n
        user_data = data[pos:end]
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    owned_partitions, pos = _read_topic_partition_array_1(data, pos, n)
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, -1, None), pos


def _write_consumer_protocol_subscription_1(out: bytearray, item: ConsumerProtocolSubscription) -> None:
    # ConsumerProtocolSubscription, version 1
    out += _pack_i(len(item.topics))
    put_strings(out, item.topics)
    if item.user_data is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.user_data))
        out += item.user_data
    out += _pack_i(len(item.owned_partitions))
    _write_topic_partition_array_1(out, item.owned_partitions)


def _read_consumer_protocol_subscription_2(data: bytes, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # ConsumerProtocolSubscription, version 2
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = read_strings(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    user_data: bytes | None = None
    if n >= 0:
        end = pos + n
        user_data = data[pos:end]
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    owned_partitions, pos = _read_topic_partition_array_1(data, pos, n)
    (generation_id,) = _unpack_i(data, pos)
    pos += 4
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, None), pos


def _write_consumer_protocol_subscription_2(out: bytearray, item: ConsumerProtocolSubscription) -> None:
    # ConsumerProtocolSubscription, version 2
    out += _pack_i(len(item.topics))
    put_strings(out, item.topics)
    if item.user_data is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.user_data))
        out += item.user_data
    out += _pack_i(len(item.owned_partitions))
    _write_topic_partition_array_1(out, item.owned_partitions)
    out += _pack_i(item.generation_id)


def _read_consumer_protocol_subscription_3(data: bytes, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    # ConsumerProtocolSubscription, version 3
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = read_strings(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    user_data: bytes | None = None
    if n >= 0:
        end = pos + n
        user_data = data[pos:end]
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    owned_partitions, pos = _read_topic_partition_array_1(data, pos, n)
    generation_id, n = _unpack_ih(data, pos)
    pos += 6
    rack_id: str | None = None
    if n >= 0:
        end = pos + n
        rack_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, rack_id), pos


def _write_consumer_protocol_subscription_3(out: bytearray, item: ConsumerProtocolSubscription) -> None:
    # ConsumerProtocolSubscription, version 3
    out += _pack_i(len(item.topics))
    put_strings(out, item.topics)
    if item.user_data is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.user_data))
        out += item.user_data
    out += _pack_i(len(item.owned_partitions))
    _write_topic_partition_array_1(out, item.owned_partitions)
    out += _pack_i(item.generation_id)
    if item.rack_id is None:
        out += _pack_h(-1)
    else:
        raw = item.rack_id.encode()
        out += _pack_h(len(raw))
        out += raw


class ConsumerProtocolSubscription(Message):
    """A classic consumer's subscription, inside JoinGroup, after an int16 version; a version above 3 is read as 3.

    * `owned_partitions`: For cooperative rebalancing: what the consumer holds on to.
    * `generation_id`: The generation OwnedPartitions is of; -1 if unknown.
    """

    MIN_VERSION = 0
    MAX_VERSION = 3
    DECODERS = {
        0: _read_consumer_protocol_subscription_0,
        1: _read_consumer_protocol_subscription_1,
        2: _read_consumer_protocol_subscription_2,
        3: _read_consumer_protocol_subscription_3,
    }
    ENCODERS = {
        0: _write_consumer_protocol_subscription_0,
        1: _write_consumer_protocol_subscription_1,
        2: _write_consumer_protocol_subscription_2,
        3: _write_consumer_protocol_subscription_3,
    }

    FIELDS = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[str] = EMPTY,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = EMPTY,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is EMPTY else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
