"""DescribeShareGroupOffsetsRequest 0-1 and DescribeShareGroupOffsetsResponse 0-1.

Generated from schemas/rpc/DescribeShareGroupOffsetsRequest.json and schemas/rpc/DescribeShareGroupOffsetsResponse.json
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

_unpack_uB = Struct(">16sB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iqihB = Struct(">iqihB").unpack_from
_unpack_iqiqhB = Struct(">iqiqhB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iqih = Struct(">iqih").pack
_pack_iqiqh = Struct(">iqiqh").pack


class DescribeShareGroupOffsetsRequestGroup(Structure):
    """An element of DescribeShareGroupOffsetsRequest.Groups.

    * `topics`: Null for all topics of the group.
    """

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class DescribeShareGroupOffsetsRequestTopic(Structure):
    """An element of DescribeShareGroupOffsetsRequestGroup.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_describe_share_group_offsets_request_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsRequestTopic], int]:
    # DescribeShareGroupOffsetsRequestTopic, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsRequestTopic] = []
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
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeShareGroupOffsetsRequestTopic(topic_name, partitions, unknown_tags))
    return items, pos


def _write_describe_share_group_offsets_request_topic_array_0(
    out: bytearray, items: list[DescribeShareGroupOffsetsRequestTopic]
) -> None:
    # DescribeShareGroupOffsetsRequestTopic, versions 0-1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_request_group_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsRequestGroup], int]:
    # DescribeShareGroupOffsetsRequestGroup, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsRequestGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            topics, pos = _read_describe_share_group_offsets_request_topic_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeShareGroupOffsetsRequestGroup(group_id, topics, unknown_tags))
    return items, pos


def _write_describe_share_group_offsets_request_group_array_0(
    out: bytearray, items: list[DescribeShareGroupOffsetsRequestGroup]
) -> None:
    # DescribeShareGroupOffsetsRequestGroup, versions 0-1
    for item in items:
        put_compact_string(out, item.group_id)
        if item.topics is None:
            out.append(0)
        else:
            n = len(item.topics) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_describe_share_group_offsets_request_topic_array_0(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_request_0(data: bytes, pos: int) -> tuple[DescribeShareGroupOffsetsRequest, int]:
    # DescribeShareGroupOffsetsRequest, versions 0-1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_describe_share_group_offsets_request_group_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeShareGroupOffsetsRequest(groups, unknown_tags), pos


def _write_describe_share_group_offsets_request_0(out: bytearray, item: DescribeShareGroupOffsetsRequest) -> None:
    # DescribeShareGroupOffsetsRequest, versions 0-1
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_share_group_offsets_request_group_array_0(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeShareGroupOffsetsRequest(Message):
    """Reads the start offsets of share groups."""

    API_KEY = 90
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_share_group_offsets_request_0, 1: _read_describe_share_group_offsets_request_0}
    ENCODERS = {0: _write_describe_share_group_offsets_request_0, 1: _write_describe_share_group_offsets_request_0}

    FIELDS = ("groups", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, groups: list[DescribeShareGroupOffsetsRequestGroup] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.groups = [] if groups is EMPTY else groups
        self.unknown_tags = unknown_tags


class DescribeShareGroupOffsetsResponseGroup(Structure):
    """An element of DescribeShareGroupOffsetsResponse.Groups."""

    FIELDS = ("group_id", "topics", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = EMPTY,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


class DescribeShareGroupOffsetsResponseTopic(Structure):
    """An element of DescribeShareGroupOffsetsResponseGroup.Topics."""

    FIELDS = ("topic_name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class DescribeShareGroupOffsetsResponsePartition(Structure):
    """An element of DescribeShareGroupOffsetsResponseTopic.Partitions.

    * `start_offset`: The first offset not done with; -1 if the group has not begun with the partition.
    * `lag`: Records not done with yet; -1 if unknown.
    """

    FIELDS = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_describe_share_group_offsets_response_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponsePartition], int]:
    # DescribeShareGroupOffsetsResponsePartition, version 0
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        partition_index, start_offset, leader_epoch, error_code, n = _unpack_iqihB(data, pos)
        pos += 19
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeShareGroupOffsetsResponsePartition(
            partition_index, start_offset, leader_epoch, -1, error_code, error_message, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_describe_share_group_offsets_response_partition_array_0(
    out: bytearray, items: list[DescribeShareGroupOffsetsResponsePartition]
) -> None:
    # DescribeShareGroupOffsetsResponsePartition, version 0
    for item in items:
        out += _pack_iqih(item.partition_index, item.start_offset, item.leader_epoch, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponseTopic], int]:
    # DescribeShareGroupOffsetsResponseTopic, version 0
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_share_group_offsets_response_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions, unknown_tags))
    return items, pos


def _write_describe_share_group_offsets_response_topic_array_0(
    out: bytearray, items: list[DescribeShareGroupOffsetsResponseTopic]
) -> None:
    # DescribeShareGroupOffsetsResponseTopic, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_share_group_offsets_response_partition_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_group_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponseGroup], int]:
    # DescribeShareGroupOffsetsResponseGroup, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_describe_share_group_offsets_response_topic_array_0(data, pos, n - 1)
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message, unknown_tags))
    return items, pos


def _write_describe_share_group_offsets_response_group_array_0(
    out: bytearray, items: list[DescribeShareGroupOffsetsResponseGroup]
) -> None:
    # DescribeShareGroupOffsetsResponseGroup, version 0
    for item in items:
        put_compact_string(out, item.group_id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_share_group_offsets_response_topic_array_0(out, item.topics)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_0(
    data: bytes, pos: int
) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    # DescribeShareGroupOffsetsResponse, version 0
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_describe_share_group_offsets_response_group_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_describe_share_group_offsets_response_0(out: bytearray, item: DescribeShareGroupOffsetsResponse) -> None:
    # DescribeShareGroupOffsetsResponse, version 0
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_share_group_offsets_response_group_array_0(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_partition_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponsePartition], int]:
    # DescribeShareGroupOffsetsResponsePartition, version 1
    if not 0 <= count * 28 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        partition_index, start_offset, leader_epoch, lag, error_code, n = _unpack_iqiqhB(data, pos)
        pos += 27
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeShareGroupOffsetsResponsePartition(
            partition_index, start_offset, leader_epoch, lag, error_code, error_message, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_describe_share_group_offsets_response_partition_array_1(
    out: bytearray, items: list[DescribeShareGroupOffsetsResponsePartition]
) -> None:
    # DescribeShareGroupOffsetsResponsePartition, version 1
    for item in items:
        out += _pack_iqiqh(item.partition_index, item.start_offset, item.leader_epoch, item.lag, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_topic_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponseTopic], int]:
    # DescribeShareGroupOffsetsResponseTopic, version 1
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_describe_share_group_offsets_response_partition_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions, unknown_tags))
    return items, pos


def _write_describe_share_group_offsets_response_topic_array_1(
    out: bytearray, items: list[DescribeShareGroupOffsetsResponseTopic]
) -> None:
    # DescribeShareGroupOffsetsResponseTopic, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_share_group_offsets_response_partition_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_group_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeShareGroupOffsetsResponseGroup], int]:
    # DescribeShareGroupOffsetsResponseGroup, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_describe_share_group_offsets_response_topic_array_1(data, pos, n - 1)
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message, unknown_tags))
    return items, pos


def _write_describe_share_group_offsets_response_group_array_1(
    out: bytearray, items: list[DescribeShareGroupOffsetsResponseGroup]
) -> None:
    # DescribeShareGroupOffsetsResponseGroup, version 1
    for item in items:
        put_compact_string(out, item.group_id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_share_group_offsets_response_topic_array_1(out, item.topics)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_share_group_offsets_response_1(
    data: bytes, pos: int
) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    # DescribeShareGroupOffsetsResponse, version 1
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_describe_share_group_offsets_response_group_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_describe_share_group_offsets_response_1(out: bytearray, item: DescribeShareGroupOffsetsResponse) -> None:
    # DescribeShareGroupOffsetsResponse, version 1
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_share_group_offsets_response_group_array_1(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeShareGroupOffsetsResponse(Message):
    """The start offset of each share partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 90
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_share_group_offsets_response_0, 1: _read_describe_share_group_offsets_response_1}
    ENCODERS = {0: _write_describe_share_group_offsets_response_0, 1: _write_describe_share_group_offsets_response_1}

    FIELDS = ("throttle_time_ms", "groups", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups
        self.unknown_tags = unknown_tags
