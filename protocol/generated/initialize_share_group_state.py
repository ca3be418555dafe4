"""InitializeShareGroupStateRequest 0 and InitializeShareGroupStateResponse 0.

Generated from schemas/rpc/InitializeShareGroupStateRequest.json and schemas/rpc/InitializeShareGroupStateResponse.json
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

_iterate_iiqB = Struct(">iiqB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_ih = Struct(">ih").pack
_pack_iiq = Struct(">iiq").pack


class InitializeStateData(Structure):
    """An element of InitializeShareGroupStateRequest.Topics."""

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
    """An element of InitializeStateData.Partitions.

    * `state_epoch`: Rises whenever the state is set again by the group coordinator; a lower one is fenced.
    * `start_offset`: -1 leaves it to the group's reset strategy.
    """

    FIELDS = ("partition", "state_epoch", "start_offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        start_offset: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.unknown_tags = unknown_tags


def _read_partition_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 17 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    if count > 3 and count * 17 <= len(data) - pos:
        elements = _iterate_iiqB(data[pos : pos + count * 17])
        for partition, state_epoch, start_offset, n in elements:
            if n:
                break
            items.append(PartitionData(partition, state_epoch, start_offset))
        pos += len(items) * 17
        count -= len(items)
    for _ in range(count):
        partition, state_epoch, start_offset, n = _unpack_iiqB(data, pos)
        pos += 17
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionData(partition, state_epoch, start_offset, unknown_tags))
    return items, pos


def _write_partition_data_array_0(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_iiq(item.partition, item.state_epoch, item.start_offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_initialize_state_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[InitializeStateData], int]:
    # InitializeStateData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[InitializeStateData] = []
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
        items.append(InitializeStateData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_initialize_state_data_array_0(out: bytearray, items: list[InitializeStateData]) -> None:
    # InitializeStateData, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_initialize_share_group_state_request_0(data: bytes, pos: int) -> tuple[InitializeShareGroupStateRequest, int]:
    # InitializeShareGroupStateRequest, version 0
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
    topics, pos = _read_initialize_state_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return InitializeShareGroupStateRequest(group_id, topics, unknown_tags), pos


def _write_initialize_share_group_state_request_0(out: bytearray, item: InitializeShareGroupStateRequest) -> None:
    # InitializeShareGroupStateRequest, version 0
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_initialize_state_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class InitializeShareGroupStateRequest(Message):
    """From the group coordinator to the share coordinator: sets share partitions up, or resets them."""

    API_KEY = 83
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_initialize_share_group_state_request_0}
    ENCODERS = {0: _write_initialize_share_group_state_request_0}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[InitializeStateData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class InitializeStateResult(Structure):
    """An element of InitializeShareGroupStateResponse.Results."""

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
    """An element of InitializeStateResult.Partitions."""

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


def _read_initialize_state_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[InitializeStateResult], int]:
    # InitializeStateResult, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[InitializeStateResult] = []
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
        items.append(InitializeStateResult(topic_id, partitions, unknown_tags))
    return items, pos


def _write_initialize_state_result_array_0(out: bytearray, items: list[InitializeStateResult]) -> None:
    # InitializeStateResult, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_initialize_share_group_state_response_0(
    data: bytes, pos: int
) -> tuple[InitializeShareGroupStateResponse, int]:
    # InitializeShareGroupStateResponse, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_initialize_state_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return InitializeShareGroupStateResponse(results, unknown_tags), pos


def _write_initialize_share_group_state_response_0(out: bytearray, item: InitializeShareGroupStateResponse) -> None:
    # InitializeShareGroupStateResponse, version 0
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_initialize_state_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class InitializeShareGroupStateResponse(Message):
    """What became of each share partition."""

    API_KEY = 83
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_initialize_share_group_state_response_0}
    ENCODERS = {0: _write_initialize_share_group_state_response_0}

    FIELDS = ("results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, results: list[InitializeStateResult] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
