"""AlterShareGroupOffsetsRequest 0 and AlterShareGroupOffsetsResponse 0.

Generated from schemas/rpc/AlterShareGroupOffsetsRequest.json and schemas/rpc/AlterShareGroupOffsetsResponse.json
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iqB = Struct(">iqB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_ih = Struct(">ih").pack
_pack_iq = Struct(">iq").pack


class AlterShareGroupOffsetsRequestTopic(Structure):
    """An element of AlterShareGroupOffsetsRequest.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterShareGroupOffsetsRequestPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AlterShareGroupOffsetsRequestPartition(Structure):
    """An element of AlterShareGroupOffsetsRequestTopic.Partitions."""

    FIELDS = ("partition_index", "start_offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.unknown_tags = unknown_tags


def _read_alter_share_group_offsets_request_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterShareGroupOffsetsRequestPartition], int]:
    # AlterShareGroupOffsetsRequestPartition, version 0
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterShareGroupOffsetsRequestPartition] = []
    if count > 3 and count * 13 <= len(data) - pos:
        elements = _iterate_iqB(data[pos : pos + count * 13])
        for partition_index, start_offset, n in elements:
            if n:
                break
            items.append(AlterShareGroupOffsetsRequestPartition(partition_index, start_offset))
        pos += len(items) * 13
        count -= len(items)
    for _ in range(count):
        partition_index, start_offset, n = _unpack_iqB(data, pos)
        pos += 13
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterShareGroupOffsetsRequestPartition(partition_index, start_offset, unknown_tags))
    return items, pos


def _write_alter_share_group_offsets_request_partition_array_0(
    out: bytearray, items: list[AlterShareGroupOffsetsRequestPartition]
) -> None:
    # AlterShareGroupOffsetsRequestPartition, version 0
    for item in items:
        out += _pack_iq(item.partition_index, item.start_offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_share_group_offsets_request_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterShareGroupOffsetsRequestTopic], int]:
    # AlterShareGroupOffsetsRequestTopic, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterShareGroupOffsetsRequestTopic] = []
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
        partitions, pos = _read_alter_share_group_offsets_request_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterShareGroupOffsetsRequestTopic(topic_name, partitions, unknown_tags))
    return items, pos


def _write_alter_share_group_offsets_request_topic_array_0(
    out: bytearray, items: list[AlterShareGroupOffsetsRequestTopic]
) -> None:
    # AlterShareGroupOffsetsRequestTopic, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_share_group_offsets_request_partition_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_share_group_offsets_request_0(data: bytes, pos: int) -> tuple[AlterShareGroupOffsetsRequest, int]:
    # AlterShareGroupOffsetsRequest, version 0
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
    topics, pos = _read_alter_share_group_offsets_request_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterShareGroupOffsetsRequest(group_id, topics, unknown_tags), pos


def _write_alter_share_group_offsets_request_0(out: bytearray, item: AlterShareGroupOffsetsRequest) -> None:
    # AlterShareGroupOffsetsRequest, version 0
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_share_group_offsets_request_topic_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterShareGroupOffsetsRequest(Message):
    """Sets the start offsets of a share group without members."""

    API_KEY = 91
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_alter_share_group_offsets_request_0}
    ENCODERS = {0: _write_alter_share_group_offsets_request_0}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequestTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class AlterShareGroupOffsetsResponseTopic(Structure):
    """An element of AlterShareGroupOffsetsResponse.Responses."""

    FIELDS = ("topic_name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterShareGroupOffsetsResponsePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AlterShareGroupOffsetsResponsePartition(Structure):
    """An element of AlterShareGroupOffsetsResponseTopic.Partitions."""

    FIELDS = ("partition_index", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_alter_share_group_offsets_response_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterShareGroupOffsetsResponsePartition], int]:
    # AlterShareGroupOffsetsResponsePartition, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterShareGroupOffsetsResponsePartition] = []
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
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterShareGroupOffsetsResponsePartition(partition_index, error_code, error_message, unknown_tags))
    return items, pos


def _write_alter_share_group_offsets_response_partition_array_0(
    out: bytearray, items: list[AlterShareGroupOffsetsResponsePartition]
) -> None:
    # AlterShareGroupOffsetsResponsePartition, version 0
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_share_group_offsets_response_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterShareGroupOffsetsResponseTopic], int]:
    # AlterShareGroupOffsetsResponseTopic, version 0
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterShareGroupOffsetsResponseTopic] = []
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
        partitions, pos = _read_alter_share_group_offsets_response_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions, unknown_tags))
    return items, pos


def _write_alter_share_group_offsets_response_topic_array_0(
    out: bytearray, items: list[AlterShareGroupOffsetsResponseTopic]
) -> None:
    # AlterShareGroupOffsetsResponseTopic, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_share_group_offsets_response_partition_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_share_group_offsets_response_0(data: bytes, pos: int) -> tuple[AlterShareGroupOffsetsResponse, int]:
    # AlterShareGroupOffsetsResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
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
    responses, pos = _read_alter_share_group_offsets_response_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterShareGroupOffsetsResponse(throttle_time_ms, error_code, error_message, responses, unknown_tags), pos


def _write_alter_share_group_offsets_response_0(out: bytearray, item: AlterShareGroupOffsetsResponse) -> None:
    # AlterShareGroupOffsetsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_share_group_offsets_response_topic_array_0(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterShareGroupOffsetsResponse(Message):
    """What became of each share partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 91
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_alter_share_group_offsets_response_0}
    ENCODERS = {0: _write_alter_share_group_offsets_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "responses", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponseTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is EMPTY else responses
        self.unknown_tags = unknown_tags
