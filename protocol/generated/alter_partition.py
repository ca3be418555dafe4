"""AlterPartitionRequest 2-3 and AlterPartitionResponse 2-3.

Generated from schemas/rpc/AlterPartitionRequest.json and schemas/rpc/AlterPartitionResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    ZERO_UUID,
    Message,
    Structure,
    Tags,
    bad_count,
    bad_uuid,
    not_in_version,
    put_numbers,
    read_length,
    read_numbers,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iqB = Struct(">iqB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_biB = Struct(">biB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihiiB = Struct(">ihiiB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_bi = Struct(">bi").pack
_pack_ih = Struct(">ih").pack
_pack_ihii = Struct(">ihii").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack


class AlterPartitionRequestTopicData(Structure):
    """An element of AlterPartitionRequest.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterPartitionRequestPartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AlterPartitionRequestPartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = EMPTY,
        new_isr_with_epochs: list[BrokerState] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is EMPTY else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is EMPTY else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tags = unknown_tags


class BrokerState(Structure):
    """An element of PartitionData.NewIsrWithEpochs."""

    FIELDS = ("broker_id", "broker_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tags = unknown_tags


def _read_alter_partition_request_partition_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterPartitionRequestPartitionData], int]:
    # PartitionData, version 2
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterPartitionRequestPartitionData] = []
    for _ in range(count):
        partition_index, leader_epoch, n = _unpack_iiB(data, pos)
        pos += 9
        if n > 127:
            n, pos = read_length(data, pos)
        new_isr, pos = read_numbers(data, pos, n - 1, "i")
        leader_recovery_state, partition_epoch, n = _unpack_biB(data, pos)
        pos += 6
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = AlterPartitionRequestPartitionData(
            partition_index, leader_epoch, new_isr, [], leader_recovery_state, partition_epoch, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_alter_partition_request_partition_data_array_2(
    out: bytearray, items: list[AlterPartitionRequestPartitionData]
) -> None:
    # PartitionData, version 2
    for item in items:
        if item.new_isr_with_epochs:
            raise not_in_version("AlterPartitionRequestPartitionData", "new_isr_with_epochs")
        out += _pack_ii(item.partition_index, item.leader_epoch)
        n = len(item.new_isr) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.new_isr, "i")
        out += _pack_bi(item.leader_recovery_state, item.partition_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_request_topic_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterPartitionRequestTopicData], int]:
    # TopicData, version 2
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterPartitionRequestTopicData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_alter_partition_request_partition_data_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterPartitionRequestTopicData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_alter_partition_request_topic_data_array_2(
    out: bytearray, items: list[AlterPartitionRequestTopicData]
) -> None:
    # TopicData, version 2
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_partition_request_partition_data_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_request_2(data: bytes, pos: int) -> tuple[AlterPartitionRequest, int]:
    # AlterPartitionRequest, version 2
    broker_id, broker_epoch, n = _unpack_iqB(data, pos)
    pos += 13
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_alter_partition_request_topic_data_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterPartitionRequest(broker_id, broker_epoch, topics, unknown_tags), pos


def _write_alter_partition_request_2(out: bytearray, item: AlterPartitionRequest) -> None:
    # AlterPartitionRequest, version 2
    out += _pack_iq(item.broker_id, item.broker_epoch)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_partition_request_topic_data_array_2(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_broker_state_array_3(data: bytes, pos: int, count: int) -> tuple[list[BrokerState], int]:
    # BrokerState, version 3
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[BrokerState] = []
    if count > 3 and count * 13 <= len(data) - pos:
        elements = _iterate_iqB(data[pos : pos + count * 13])
        for broker_id, broker_epoch, n in elements:
            if n:
                break
            items.append(BrokerState(broker_id, broker_epoch))
        pos += len(items) * 13
        count -= len(items)
    for _ in range(count):
        broker_id, broker_epoch, n = _unpack_iqB(data, pos)
        pos += 13
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(BrokerState(broker_id, broker_epoch, unknown_tags))
    return items, pos


def _write_broker_state_array_3(out: bytearray, items: list[BrokerState]) -> None:
    # BrokerState, version 3
    for item in items:
        out += _pack_iq(item.broker_id, item.broker_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_request_partition_data_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterPartitionRequestPartitionData], int]:
    # PartitionData, version 3
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterPartitionRequestPartitionData] = []
    for _ in range(count):
        partition_index, leader_epoch, n = _unpack_iiB(data, pos)
        pos += 9
        if n > 127:
            n, pos = read_length(data, pos)
        new_isr_with_epochs, pos = _read_broker_state_array_3(data, pos, n - 1)
        leader_recovery_state, partition_epoch, n = _unpack_biB(data, pos)
        pos += 6
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = AlterPartitionRequestPartitionData(
            partition_index, leader_epoch, [], new_isr_with_epochs, leader_recovery_state, partition_epoch, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_alter_partition_request_partition_data_array_3(
    out: bytearray, items: list[AlterPartitionRequestPartitionData]
) -> None:
    # PartitionData, version 3
    for item in items:
        if item.new_isr:
            raise not_in_version("AlterPartitionRequestPartitionData", "new_isr")
        out += _pack_ii(item.partition_index, item.leader_epoch)
        n = len(item.new_isr_with_epochs) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_broker_state_array_3(out, item.new_isr_with_epochs)
        out += _pack_bi(item.leader_recovery_state, item.partition_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_request_topic_data_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterPartitionRequestTopicData], int]:
    # TopicData, version 3
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterPartitionRequestTopicData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_alter_partition_request_partition_data_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterPartitionRequestTopicData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_alter_partition_request_topic_data_array_3(
    out: bytearray, items: list[AlterPartitionRequestTopicData]
) -> None:
    # TopicData, version 3
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_partition_request_partition_data_array_3(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_request_3(data: bytes, pos: int) -> tuple[AlterPartitionRequest, int]:
    # AlterPartitionRequest, version 3
    broker_id, broker_epoch, n = _unpack_iqB(data, pos)
    pos += 13
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_alter_partition_request_topic_data_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterPartitionRequest(broker_id, broker_epoch, topics, unknown_tags), pos


def _write_alter_partition_request_3(out: bytearray, item: AlterPartitionRequest) -> None:
    # AlterPartitionRequest, version 3
    out += _pack_iq(item.broker_id, item.broker_epoch)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_partition_request_topic_data_array_3(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterPartitionRequest(Message):
    """From a leader to the controller: changes the in-sync replicas."""

    API_KEY = 56
    MIN_VERSION = 2
    MAX_VERSION = 3
    FLEXIBLE_FROM = 0
    DECODERS = {2: _read_alter_partition_request_2, 3: _read_alter_partition_request_3}
    ENCODERS = {2: _write_alter_partition_request_2, 3: _write_alter_partition_request_3}

    FIELDS = ("broker_id", "broker_epoch", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterPartitionRequestTopicData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class AlterPartitionResponseTopicData(Structure):
    """An element of AlterPartitionResponse.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterPartitionResponsePartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AlterPartitionResponsePartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is EMPTY else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tags = unknown_tags


def _read_alter_partition_response_partition_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterPartitionResponsePartitionData], int]:
    # PartitionData, versions 2-3
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterPartitionResponsePartitionData] = []
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch, n = _unpack_ihiiB(data, pos)
        pos += 15
        if n > 127:
            n, pos = read_length(data, pos)
        isr, pos = read_numbers(data, pos, n - 1, "i")
        leader_recovery_state, partition_epoch, n = _unpack_biB(data, pos)
        pos += 6
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = AlterPartitionResponsePartitionData(
            partition_index,
            error_code,
            leader_id,
            leader_epoch,
            isr,
            leader_recovery_state,
            partition_epoch,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_alter_partition_response_partition_data_array_2(
    out: bytearray, items: list[AlterPartitionResponsePartitionData]
) -> None:
    # PartitionData, versions 2-3
    for item in items:
        out += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
        n = len(item.isr) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.isr, "i")
        out += _pack_bi(item.leader_recovery_state, item.partition_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_response_topic_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterPartitionResponseTopicData], int]:
    # TopicData, versions 2-3
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterPartitionResponseTopicData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_alter_partition_response_partition_data_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterPartitionResponseTopicData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_alter_partition_response_topic_data_array_2(
    out: bytearray, items: list[AlterPartitionResponseTopicData]
) -> None:
    # TopicData, versions 2-3
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_partition_response_partition_data_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_response_2(data: bytes, pos: int) -> tuple[AlterPartitionResponse, int]:
    # AlterPartitionResponse, versions 2-3
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_alter_partition_response_topic_data_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterPartitionResponse(throttle_time_ms, error_code, topics, unknown_tags), pos


def _write_alter_partition_response_2(out: bytearray, item: AlterPartitionResponse) -> None:
    # AlterPartitionResponse, versions 2-3
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_partition_response_topic_data_array_2(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterPartitionResponse(Message):
    """The partition as the controller has it now.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 56
    MIN_VERSION = 2
    MAX_VERSION = 3
    FLEXIBLE_FROM = 0
    DECODERS = {2: _read_alter_partition_response_2, 3: _read_alter_partition_response_2}
    ENCODERS = {2: _write_alter_partition_response_2, 3: _write_alter_partition_response_2}

    FIELDS = ("throttle_time_ms", "error_code", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterPartitionResponseTopicData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
