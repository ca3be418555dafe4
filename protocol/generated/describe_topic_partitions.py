"""DescribeTopicPartitionsRequest 0 and DescribeTopicPartitionsResponse 0.

Generated from schemas/rpc/DescribeTopicPartitionsRequest.json and schemas/rpc/DescribeTopicPartitionsResponse.json
(Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_utB = Struct(">16s?B").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hiiiB = Struct(">hiiiB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ib = Struct(">ib").unpack_from
_pack_ut = Struct(">16s?").pack
_pack_h = Struct(">h").pack
_pack_hiii = Struct(">hiii").pack
_pack_i = Struct(">i").pack


class TopicRequest(Structure):
    """An element of DescribeTopicPartitionsRequest.Topics."""

    FIELDS = ("name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, name: str = "", unknown_tags: Tags = ()) -> None:
        self.name = name
        self.unknown_tags = unknown_tags


class DescribeTopicPartitionsRequestCursor(Structure):
    """The value of DescribeTopicPartitionsRequest.Cursor."""

    FIELDS = ("topic_name", "partition_index", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.unknown_tags = unknown_tags


def _read_topic_request_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicRequest], int]:
    # TopicRequest, version 0
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicRequest] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicRequest(name, unknown_tags))
    return items, pos


def _write_topic_request_array_0(out: bytearray, items: list[TopicRequest]) -> None:
    # TopicRequest, version 0
    for item in items:
        put_compact_string(out, item.name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_topic_partitions_request_cursor_0(
    data: bytes, pos: int
) -> tuple[DescribeTopicPartitionsRequestCursor, int]:
    # Cursor, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    topic_name = data[pos:end].decode()
    pos = end
    partition_index, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeTopicPartitionsRequestCursor(topic_name, partition_index, unknown_tags), pos


def _write_describe_topic_partitions_request_cursor_0(
    out: bytearray, item: DescribeTopicPartitionsRequestCursor
) -> None:
    # Cursor, version 0
    put_compact_string(out, item.topic_name)
    out += _pack_i(item.partition_index)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_topic_partitions_request_0(data: bytes, pos: int) -> tuple[DescribeTopicPartitionsRequest, int]:
    # DescribeTopicPartitionsRequest, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_topic_request_array_0(data, pos, n - 1)
    response_partition_limit, n = _unpack_ib(data, pos)
    pos += 5
    cursor: DescribeTopicPartitionsRequestCursor | None = None
    if n >= 0:
        cursor, pos = _read_describe_topic_partitions_request_cursor_0(data, pos)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor, unknown_tags), pos


def _write_describe_topic_partitions_request_0(out: bytearray, item: DescribeTopicPartitionsRequest) -> None:
    # DescribeTopicPartitionsRequest, version 0
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_request_array_0(out, item.topics)
    out += _pack_i(item.response_partition_limit)
    if item.cursor is None:
        out.append(255)
    else:
        out.append(1)
        _write_describe_topic_partitions_request_cursor_0(out, item.cursor)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeTopicPartitionsRequest(Message):
    """Describes topics a page at a time.

    * `topics`: Empty for all, in order of name.
    * `cursor`: Where to go on; null from the start.
    """

    API_KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_topic_partitions_request_0}
    ENCODERS = {0: _write_describe_topic_partitions_request_0}

    FIELDS = ("topics", "response_partition_limit", "cursor", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[TopicRequest] = EMPTY,
        response_partition_limit: int = 2000,
        cursor: DescribeTopicPartitionsRequestCursor | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
        self.unknown_tags = unknown_tags


class DescribeTopicPartitionsResponseTopic(Structure):
    """An element of DescribeTopicPartitionsResponse.Topics.

    * `topic_authorized_operations`: Bit field of ACL operations the client may do on the topic; -2147483648 if it was
    not asked for.
    """

    FIELDS = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tags = unknown_tags


class DescribeTopicPartitionsResponsePartition(Structure):
    """An element of DescribeTopicPartitionsResponseTopic.Partitions."""

    FIELDS = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas
        self.unknown_tags = unknown_tags


class DescribeTopicPartitionsResponseCursor(Structure):
    """The value of DescribeTopicPartitionsResponse.NextCursor."""

    FIELDS = ("topic_name", "partition_index", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.unknown_tags = unknown_tags


def _read_describe_topic_partitions_response_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeTopicPartitionsResponsePartition], int]:
    # DescribeTopicPartitionsResponsePartition, version 0
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeTopicPartitionsResponsePartition] = []
    for _ in range(count):
        error_code, partition_index, leader_id, leader_epoch, n = _unpack_hiiiB(data, pos)
        pos += 15
        if n > 127:
            n, pos = read_length(data, pos)
        replica_nodes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        isr_nodes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        eligible_leader_replicas: list[int] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            eligible_leader_replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        last_known_elr: list[int] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            last_known_elr, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        offline_replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeTopicPartitionsResponsePartition(
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            eligible_leader_replicas,
            last_known_elr,
            offline_replicas,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_describe_topic_partitions_response_partition_array_0(
    out: bytearray, items: list[DescribeTopicPartitionsResponsePartition]
) -> None:
    # DescribeTopicPartitionsResponsePartition, version 0
    for item in items:
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        n = len(item.replica_nodes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.replica_nodes, "i")
        n = len(item.isr_nodes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.isr_nodes, "i")
        if item.eligible_leader_replicas is None:
            out.append(0)
        else:
            n = len(item.eligible_leader_replicas) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            put_numbers(out, item.eligible_leader_replicas, "i")
        if item.last_known_elr is None:
            out.append(0)
        else:
            n = len(item.last_known_elr) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            put_numbers(out, item.last_known_elr, "i")
        n = len(item.offline_replicas) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.offline_replicas, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_topic_partitions_response_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeTopicPartitionsResponseTopic], int]:
    # DescribeTopicPartitionsResponseTopic, version 0
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeTopicPartitionsResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            name = data[pos:end].decode()
            pos = end
        topic_id, is_internal, n = _unpack_utB(data, pos)
        pos += 18
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_topic_partitions_response_partition_array_0(data, pos, n - 1)
        topic_authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeTopicPartitionsResponseTopic(
            error_code, name, topic_id, is_internal, partitions, topic_authorized_operations, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_describe_topic_partitions_response_topic_array_0(
    out: bytearray, items: list[DescribeTopicPartitionsResponseTopic]
) -> None:
    # DescribeTopicPartitionsResponseTopic, version 0
    for item in items:
        out += _pack_h(item.error_code)
        if item.name is None:
            out.append(0)
        else:
            put_compact_string(out, item.name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_ut(item.topic_id, item.is_internal)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_topic_partitions_response_partition_array_0(out, item.partitions)
        out += _pack_i(item.topic_authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_topic_partitions_response_cursor_0(
    data: bytes, pos: int
) -> tuple[DescribeTopicPartitionsResponseCursor, int]:
    # Cursor, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    topic_name = data[pos:end].decode()
    pos = end
    partition_index, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeTopicPartitionsResponseCursor(topic_name, partition_index, unknown_tags), pos


def _write_describe_topic_partitions_response_cursor_0(
    out: bytearray, item: DescribeTopicPartitionsResponseCursor
) -> None:
    # Cursor, version 0
    put_compact_string(out, item.topic_name)
    out += _pack_i(item.partition_index)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_topic_partitions_response_0(data: bytes, pos: int) -> tuple[DescribeTopicPartitionsResponse, int]:
    # DescribeTopicPartitionsResponse, version 0
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_describe_topic_partitions_response_topic_array_0(data, pos, n - 1)
    (n,) = _unpack_b(data, pos)
    pos += 1
    next_cursor: DescribeTopicPartitionsResponseCursor | None = None
    if n >= 0:
        next_cursor, pos = _read_describe_topic_partitions_response_cursor_0(data, pos)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor, unknown_tags), pos


def _write_describe_topic_partitions_response_0(out: bytearray, item: DescribeTopicPartitionsResponse) -> None:
    # DescribeTopicPartitionsResponse, version 0
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_topic_partitions_response_topic_array_0(out, item.topics)
    if item.next_cursor is None:
        out.append(255)
    else:
        out.append(1)
        _write_describe_topic_partitions_response_cursor_0(out, item.next_cursor)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeTopicPartitionsResponse(Message):
    """One page of topics and partitions.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `next_cursor`: Where the next page begins; null if this is the last.
    """

    API_KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_topic_partitions_response_0}
    ENCODERS = {0: _write_describe_topic_partitions_response_0}

    FIELDS = ("throttle_time_ms", "topics", "next_cursor", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,
        next_cursor: DescribeTopicPartitionsResponseCursor | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.next_cursor = next_cursor
        self.unknown_tags = unknown_tags
