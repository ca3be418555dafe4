"""DescribeQuorumRequest 0-2 and DescribeQuorumResponse 0-2.

Generated from schemas/rpc/DescribeQuorumRequest.json and schemas/rpc/DescribeQuorumResponse.json (Apache Kafka 4.4.0)
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
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iuqqqB = Struct(">i16sqqqB").iter_unpack
_iterate_iB = Struct(">iB").iter_unpack
_iterate_iqB = Struct(">iqB").iter_unpack
_iterate_iqqqB = Struct(">iqqqB").iter_unpack
_unpack_HB = Struct(">HB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iuqqqB = Struct(">i16sqqqB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihiiqB = Struct(">ihiiqB").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqqqB = Struct(">iqqqB").unpack_from
_pack_H = Struct(">H").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iuqqq = Struct(">i16sqqq").pack
_pack_ih = Struct(">ih").pack
_pack_ihiiq = Struct(">ihiiq").pack
_pack_iiq = Struct(">iiq").pack
_pack_iq = Struct(">iq").pack
_pack_iqqq = Struct(">iqqq").pack


class DescribeQuorumRequestTopicData(Structure):
    """An element of DescribeQuorumRequest.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumRequestPartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class DescribeQuorumRequestPartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = ("partition_index", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, partition_index: int = 0, unknown_tags: Tags = ()) -> None:
        self.partition_index = partition_index
        self.unknown_tags = unknown_tags


def _read_describe_quorum_request_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumRequestPartitionData], int]:
    # PartitionData, versions 0-2
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumRequestPartitionData] = []
    if count > 3 and count * 5 <= len(data) - pos:
        elements = _iterate_iB(data[pos : pos + count * 5])
        for partition_index, n in elements:
            if n:
                break
            items.append(DescribeQuorumRequestPartitionData(partition_index))
        pos += len(items) * 5
        count -= len(items)
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeQuorumRequestPartitionData(partition_index, unknown_tags))
    return items, pos


def _write_describe_quorum_request_partition_data_array_0(
    out: bytearray, items: list[DescribeQuorumRequestPartitionData]
) -> None:
    # PartitionData, versions 0-2
    for item in items:
        out += _pack_i(item.partition_index)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_request_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumRequestTopicData], int]:
    # TopicData, versions 0-2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumRequestTopicData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_quorum_request_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeQuorumRequestTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_describe_quorum_request_topic_data_array_0(
    out: bytearray, items: list[DescribeQuorumRequestTopicData]
) -> None:
    # TopicData, versions 0-2
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_quorum_request_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_request_0(data: bytes, pos: int) -> tuple[DescribeQuorumRequest, int]:
    # DescribeQuorumRequest, versions 0-2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_describe_quorum_request_topic_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeQuorumRequest(topics, unknown_tags), pos


def _write_describe_quorum_request_0(out: bytearray, item: DescribeQuorumRequest) -> None:
    # DescribeQuorumRequest, versions 0-2
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_quorum_request_topic_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeQuorumRequest(Message):
    """Describes the metadata quorum."""

    API_KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_describe_quorum_request_0,
        1: _read_describe_quorum_request_0,
        2: _read_describe_quorum_request_0,
    }
    ENCODERS = {
        0: _write_describe_quorum_request_0,
        1: _write_describe_quorum_request_0,
        2: _write_describe_quorum_request_0,
    }

    FIELDS = ("topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topics: list[DescribeQuorumRequestTopicData] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class ReplicaState(Structure):
    """An element of PartitionData.CurrentVoters."""

    FIELDS = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp
        self.unknown_tags = unknown_tags


class DescribeQuorumResponseTopicData(Structure):
    """An element of DescribeQuorumResponse.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumResponsePartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class DescribeQuorumResponsePartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = EMPTY,
        observers: list[ReplicaState] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is EMPTY else current_voters
        self.observers = [] if observers is EMPTY else observers
        self.unknown_tags = unknown_tags


class Node(Structure):
    """An element of DescribeQuorumResponse.Nodes."""

    FIELDS = ("node_id", "listeners", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is EMPTY else listeners
        self.unknown_tags = unknown_tags


class Listener(Structure):
    """An element of Node.Listeners."""

    FIELDS = ("name", "host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


def _read_replica_state_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReplicaState], int]:
    # ReplicaState, version 0
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReplicaState] = []
    if count > 3 and count * 13 <= len(data) - pos:
        elements = _iterate_iqB(data[pos : pos + count * 13])
        for replica_id, log_end_offset, n in elements:
            if n:
                break
            items.append(ReplicaState(replica_id, ZERO_UUID, log_end_offset, -1, -1))
        pos += len(items) * 13
        count -= len(items)
    for _ in range(count):
        replica_id, log_end_offset, n = _unpack_iqB(data, pos)
        pos += 13
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReplicaState(replica_id, ZERO_UUID, log_end_offset, -1, -1, unknown_tags))
    return items, pos


def _write_replica_state_array_0(out: bytearray, items: list[ReplicaState]) -> None:
    # ReplicaState, version 0
    for item in items:
        if item.replica_directory_id != ZERO_UUID:
            raise not_in_version("ReplicaState", "replica_directory_id")
        out += _pack_iq(item.replica_id, item.log_end_offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumResponsePartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 25 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch, high_watermark, n = _unpack_ihiiqB(data, pos)
        pos += 23
        if n > 127:
            n, pos = read_length(data, pos)
        current_voters, pos = _read_replica_state_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        observers, pos = _read_replica_state_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeQuorumResponsePartitionData(
            partition_index,
            error_code,
            "",
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_describe_quorum_response_partition_data_array_0(
    out: bytearray, items: list[DescribeQuorumResponsePartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_ihiiq(
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.high_watermark
        )
        n = len(item.current_voters) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_state_array_0(out, item.current_voters)
        n = len(item.observers) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_state_array_0(out, item.observers)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumResponseTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumResponseTopicData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_quorum_response_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeQuorumResponseTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_describe_quorum_response_topic_data_array_0(
    out: bytearray, items: list[DescribeQuorumResponseTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_quorum_response_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_0(data: bytes, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # DescribeQuorumResponse, version 0
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_describe_quorum_response_topic_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeQuorumResponse(error_code, "", topics, [], unknown_tags), pos


def _write_describe_quorum_response_0(out: bytearray, item: DescribeQuorumResponse) -> None:
    # DescribeQuorumResponse, version 0
    if item.nodes:
        raise not_in_version("DescribeQuorumResponse", "nodes")
    out += _pack_h(item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_quorum_response_topic_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_replica_state_array_1(data: bytes, pos: int, count: int) -> tuple[list[ReplicaState], int]:
    # ReplicaState, version 1
    if not 0 <= count * 29 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReplicaState] = []
    if count > 3 and count * 29 <= len(data) - pos:
        elements = _iterate_iqqqB(data[pos : pos + count * 29])
        for replica_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, n in elements:
            if n:
                break
            item = ReplicaState(replica_id, ZERO_UUID, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp)
            items.append(item)
        pos += len(items) * 29
        count -= len(items)
    for _ in range(count):
        replica_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, n = _unpack_iqqqB(data, pos)
        pos += 29
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = ReplicaState(
            replica_id, ZERO_UUID, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_replica_state_array_1(out: bytearray, items: list[ReplicaState]) -> None:
    # ReplicaState, version 1
    for item in items:
        if item.replica_directory_id != ZERO_UUID:
            raise not_in_version("ReplicaState", "replica_directory_id")
        out += _pack_iqqq(
            item.replica_id, item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_partition_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumResponsePartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 25 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch, high_watermark, n = _unpack_ihiiqB(data, pos)
        pos += 23
        if n > 127:
            n, pos = read_length(data, pos)
        current_voters, pos = _read_replica_state_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        observers, pos = _read_replica_state_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeQuorumResponsePartitionData(
            partition_index,
            error_code,
            "",
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_describe_quorum_response_partition_data_array_1(
    out: bytearray, items: list[DescribeQuorumResponsePartitionData]
) -> None:
    # PartitionData, version 1
    for item in items:
        out += _pack_ihiiq(
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.high_watermark
        )
        n = len(item.current_voters) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_state_array_1(out, item.current_voters)
        n = len(item.observers) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_state_array_1(out, item.observers)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_topic_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumResponseTopicData], int]:
    # TopicData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumResponseTopicData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_quorum_response_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeQuorumResponseTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_describe_quorum_response_topic_data_array_1(
    out: bytearray, items: list[DescribeQuorumResponseTopicData]
) -> None:
    # TopicData, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_quorum_response_partition_data_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_1(data: bytes, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # DescribeQuorumResponse, version 1
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_describe_quorum_response_topic_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeQuorumResponse(error_code, "", topics, [], unknown_tags), pos


def _write_describe_quorum_response_1(out: bytearray, item: DescribeQuorumResponse) -> None:
    # DescribeQuorumResponse, version 1
    if item.nodes:
        raise not_in_version("DescribeQuorumResponse", "nodes")
    out += _pack_h(item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_quorum_response_topic_data_array_1(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_replica_state_array_2(data: bytes, pos: int, count: int) -> tuple[list[ReplicaState], int]:
    # ReplicaState, version 2
    if not 0 <= count * 45 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReplicaState] = []
    if count > 3 and count * 45 <= len(data) - pos:
        elements = _iterate_iuqqqB(data[pos : pos + count * 45])
        for (
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
            n,
        ) in elements:
            if n:
                break
            item = ReplicaState(
                replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp
            )
            items.append(item)
        pos += len(items) * 45
        count -= len(items)
    for _ in range(count):
        (
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
            n,
        ) = _unpack_iuqqqB(data, pos)
        pos += 45
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = ReplicaState(
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_replica_state_array_2(out: bytearray, items: list[ReplicaState]) -> None:
    # ReplicaState, version 2
    for item in items:
        if len(item.replica_directory_id) != 16:
            raise bad_uuid(item.replica_directory_id)
        out += _pack_iuqqq(
            item.replica_id,
            item.replica_directory_id,
            item.log_end_offset,
            item.last_fetch_timestamp,
            item.last_caught_up_timestamp,
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_partition_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumResponsePartitionData], int]:
    # PartitionData, version 2
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        leader_id, leader_epoch, high_watermark, n = _unpack_iiqB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        current_voters, pos = _read_replica_state_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        observers, pos = _read_replica_state_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeQuorumResponsePartitionData(
            partition_index,
            error_code,
            error_message,
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_describe_quorum_response_partition_data_array_2(
    out: bytearray, items: list[DescribeQuorumResponsePartitionData]
) -> None:
    # PartitionData, version 2
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_iiq(item.leader_id, item.leader_epoch, item.high_watermark)
        n = len(item.current_voters) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_state_array_2(out, item.current_voters)
        n = len(item.observers) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_state_array_2(out, item.observers)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_topic_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeQuorumResponseTopicData], int]:
    # TopicData, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeQuorumResponseTopicData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_quorum_response_partition_data_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeQuorumResponseTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_describe_quorum_response_topic_data_array_2(
    out: bytearray, items: list[DescribeQuorumResponseTopicData]
) -> None:
    # TopicData, version 2
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_quorum_response_partition_data_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_listener_array_2(data: bytes, pos: int, count: int) -> tuple[list[Listener], int]:
    # Listener, version 2
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[Listener] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        port, n = _unpack_HB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Listener(name, host, port, unknown_tags))
    return items, pos


def _write_listener_array_2(out: bytearray, items: list[Listener]) -> None:
    # Listener, version 2
    for item in items:
        put_compact_string(out, item.name)
        put_compact_string(out, item.host)
        out += _pack_H(item.port)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_node_array_2(data: bytes, pos: int, count: int) -> tuple[list[Node], int]:
    # Node, version 2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[Node] = []
    for _ in range(count):
        node_id, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        listeners, pos = _read_listener_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Node(node_id, listeners, unknown_tags))
    return items, pos


def _write_node_array_2(out: bytearray, items: list[Node]) -> None:
    # Node, version 2
    for item in items:
        out += _pack_i(item.node_id)
        n = len(item.listeners) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_listener_array_2(out, item.listeners)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_quorum_response_2(data: bytes, pos: int) -> tuple[DescribeQuorumResponse, int]:
    # DescribeQuorumResponse, version 2
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_describe_quorum_response_topic_data_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    nodes, pos = _read_node_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeQuorumResponse(error_code, error_message, topics, nodes, unknown_tags), pos


def _write_describe_quorum_response_2(out: bytearray, item: DescribeQuorumResponse) -> None:
    # DescribeQuorumResponse, version 2
    out += _pack_h(item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_quorum_response_topic_data_array_2(out, item.topics)
    n = len(item.nodes) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_node_array_2(out, item.nodes)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeQuorumResponse(Message):
    """The leader, voters and observers of the metadata quorum."""

    API_KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_describe_quorum_response_0,
        1: _read_describe_quorum_response_1,
        2: _read_describe_quorum_response_2,
    }
    ENCODERS = {
        0: _write_describe_quorum_response_0,
        1: _write_describe_quorum_response_1,
        2: _write_describe_quorum_response_2,
    }

    FIELDS = ("error_code", "error_message", "topics", "nodes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponseTopicData] = EMPTY,
        nodes: list[Node] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics
        self.nodes = [] if nodes is EMPTY else nodes
        self.unknown_tags = unknown_tags
