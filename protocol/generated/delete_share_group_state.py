"""DeleteShareGroupStateRequest 0 and DeleteShareGroupStateResponse 0.

Generated from schemas/rpc/DeleteShareGroupStateRequest.json and schemas/rpc/DeleteShareGroupStateResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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

_iterate_iB = Struct(">iB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_u = Struct(">16s").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


class DeleteStateData(Structure):
    """An element of DeleteShareGroupStateRequest.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionData(Structure):
    """An element of DeleteStateData.Partitions."""

    FIELDS = ("partition", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, partition: int = 0, unknown_tags: Tags = ()) -> None:
        self.partition = partition
        self.unknown_tags = unknown_tags


def _read_partition_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    if count > 3 and count * 5 <= len(data) - pos:
        elements = _iterate_iB(data[pos : pos + count * 5])
        for partition, n in elements:
            if n:
                break
            items.append(PartitionData(partition))
        pos += len(items) * 5
        count -= len(items)
    for _ in range(count):
        partition, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionData(partition, unknown_tags))
    return items, pos


def _write_partition_data_array_0(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_i(item.partition)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_state_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[DeleteStateData], int]:
    # DeleteStateData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteStateData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteStateData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_delete_state_data_array_0(out: bytearray, items: list[DeleteStateData]) -> None:
    # DeleteStateData, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_share_group_state_request_0(data: bytes, pos: int) -> tuple[DeleteShareGroupStateRequest, int]:
    # DeleteShareGroupStateRequest, version 0
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
    topics, pos = _read_delete_state_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteShareGroupStateRequest(group_id, topics, unknown_tags), pos


def _write_delete_share_group_state_request_0(out: bytearray, item: DeleteShareGroupStateRequest) -> None:
    # DeleteShareGroupStateRequest, version 0
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_state_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteShareGroupStateRequest(Message):
    """From the group coordinator to the share coordinator: forgets share partitions."""

    API_KEY = 86
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_delete_share_group_state_request_0}
    ENCODERS = {0: _write_delete_share_group_state_request_0}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteStateData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class DeleteStateResult(Structure):
    """An element of DeleteShareGroupStateResponse.Results."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionResult(Structure):
    """An element of DeleteStateResult.Partitions."""

    FIELDS = ("partition", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_partition_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionResult] = []
    for _ in range(count):
        partition, error_code, n = _unpack_ihB(data, pos)
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
        items.append(PartitionResult(partition, error_code, error_message, unknown_tags))
    return items, pos


def _write_partition_result_array_0(out: bytearray, items: list[PartitionResult]) -> None:
    # PartitionResult, version 0
    for item in items:
        out += _pack_ih(item.partition, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_state_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[DeleteStateResult], int]:
    # DeleteStateResult, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteStateResult] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_result_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteStateResult(topic_id, partitions, unknown_tags))
    return items, pos


def _write_delete_state_result_array_0(out: bytearray, items: list[DeleteStateResult]) -> None:
    # DeleteStateResult, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_share_group_state_response_0(data: bytes, pos: int) -> tuple[DeleteShareGroupStateResponse, int]:
    # DeleteShareGroupStateResponse, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_delete_state_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteShareGroupStateResponse(results, unknown_tags), pos


def _write_delete_share_group_state_response_0(out: bytearray, item: DeleteShareGroupStateResponse) -> None:
    # DeleteShareGroupStateResponse, version 0
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_state_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteShareGroupStateResponse(Message):
    """What became of each share partition."""

    API_KEY = 86
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_delete_share_group_state_response_0}
    ENCODERS = {0: _write_delete_share_group_state_response_0}

    FIELDS = ("results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, results: list[DeleteStateResult] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
