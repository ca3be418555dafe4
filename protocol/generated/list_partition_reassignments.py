"""ListPartitionReassignmentsRequest 0 and ListPartitionReassignmentsResponse 0.

Generated from schemas/rpc/ListPartitionReassignmentsRequest.json and
schemas/rpc/ListPartitionReassignmentsResponse.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    Message,
    Structure,
    Tags,
    bad_count,
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


class ListPartitionReassignmentsTopics(Structure):
    """An element of ListPartitionReassignmentsRequest.Topics."""

    FIELDS = ("name", "partition_indexes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tags = unknown_tags


def _read_list_partition_reassignments_topics_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ListPartitionReassignmentsTopics], int]:
    # ListPartitionReassignmentsTopics, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListPartitionReassignmentsTopics] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partition_indexes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListPartitionReassignmentsTopics(name, partition_indexes, unknown_tags))
    return items, pos


def _write_list_partition_reassignments_topics_array_0(
    out: bytearray, items: list[ListPartitionReassignmentsTopics]
) -> None:
    # ListPartitionReassignmentsTopics, version 0
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_indexes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_indexes, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_partition_reassignments_request_0(
    data: bytes, pos: int
) -> tuple[ListPartitionReassignmentsRequest, int]:
    # ListPartitionReassignmentsRequest, version 0
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    topics: list[ListPartitionReassignmentsTopics] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_list_partition_reassignments_topics_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListPartitionReassignmentsRequest(timeout_ms, topics, unknown_tags), pos


def _write_list_partition_reassignments_request_0(out: bytearray, item: ListPartitionReassignmentsRequest) -> None:
    # ListPartitionReassignmentsRequest, version 0
    out += _pack_i(item.timeout_ms)
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_list_partition_reassignments_topics_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListPartitionReassignmentsRequest(Message):
    """Lists the moves that run."""

    API_KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_list_partition_reassignments_request_0}
    ENCODERS = {0: _write_list_partition_reassignments_request_0}

    FIELDS = ("timeout_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
        self.unknown_tags = unknown_tags


class OngoingTopicReassignment(Structure):
    """An element of ListPartitionReassignmentsResponse.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class OngoingPartitionReassignment(Structure):
    """An element of OngoingTopicReassignment.Partitions."""

    FIELDS = ("partition_index", "replicas", "adding_replicas", "removing_replicas", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is EMPTY else replicas
        self.adding_replicas = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas = [] if removing_replicas is EMPTY else removing_replicas
        self.unknown_tags = unknown_tags


def _read_ongoing_partition_reassignment_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[OngoingPartitionReassignment], int]:
    # OngoingPartitionReassignment, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[OngoingPartitionReassignment] = []
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        adding_replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        removing_replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = OngoingPartitionReassignment(partition_index, replicas, adding_replicas, removing_replicas, unknown_tags)
        items.append(item)
    return items, pos


def _write_ongoing_partition_reassignment_array_0(out: bytearray, items: list[OngoingPartitionReassignment]) -> None:
    # OngoingPartitionReassignment, version 0
    for item in items:
        out += _pack_i(item.partition_index)
        n = len(item.replicas) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.replicas, "i")
        n = len(item.adding_replicas) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.adding_replicas, "i")
        n = len(item.removing_replicas) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.removing_replicas, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_ongoing_topic_reassignment_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[OngoingTopicReassignment], int]:
    # OngoingTopicReassignment, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OngoingTopicReassignment] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_ongoing_partition_reassignment_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OngoingTopicReassignment(name, partitions, unknown_tags))
    return items, pos


def _write_ongoing_topic_reassignment_array_0(out: bytearray, items: list[OngoingTopicReassignment]) -> None:
    # OngoingTopicReassignment, version 0
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_ongoing_partition_reassignment_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_partition_reassignments_response_0(
    data: bytes, pos: int
) -> tuple[ListPartitionReassignmentsResponse, int]:
    # ListPartitionReassignmentsResponse, version 0
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
    topics, pos = _read_ongoing_topic_reassignment_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics, unknown_tags), pos


def _write_list_partition_reassignments_response_0(out: bytearray, item: ListPartitionReassignmentsResponse) -> None:
    # ListPartitionReassignmentsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_ongoing_topic_reassignment_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListPartitionReassignmentsResponse(Message):
    """The moves that run.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_list_partition_reassignments_response_0}
    ENCODERS = {0: _write_list_partition_reassignments_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
