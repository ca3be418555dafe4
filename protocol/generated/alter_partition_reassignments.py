"""AlterPartitionReassignmentsRequest 0-1 and AlterPartitionReassignmentsResponse 0-1.

Generated from schemas/rpc/AlterPartitionReassignmentsRequest.json and
schemas/rpc/AlterPartitionReassignmentsResponse.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
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
    not_in_version,
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_itB = Struct(">i?B").unpack_from
_unpack_ithB = Struct(">i?hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_i = Struct(">i").pack
_pack_it = Struct(">i?").pack
_pack_ith = Struct(">i?h").pack
_pack_ih = Struct(">ih").pack


class ReassignableTopic(Structure):
    """An element of AlterPartitionReassignmentsRequest.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class ReassignablePartition(Structure):
    """An element of ReassignableTopic.Partitions.

    * `replicas`: Null cancels the move.
    """

    FIELDS = ("partition_index", "replicas", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas
        self.unknown_tags = unknown_tags


def _read_reassignable_partition_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReassignablePartition], int]:
    # ReassignablePartition, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReassignablePartition] = []
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        replicas: list[int] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReassignablePartition(partition_index, replicas, unknown_tags))
    return items, pos


def _write_reassignable_partition_array_0(out: bytearray, items: list[ReassignablePartition]) -> None:
    # ReassignablePartition, versions 0-1
    for item in items:
        out += _pack_i(item.partition_index)
        if item.replicas is None:
            out.append(0)
        else:
            n = len(item.replicas) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            put_numbers(out, item.replicas, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_reassignable_topic_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReassignableTopic], int]:
    # ReassignableTopic, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReassignableTopic] = []
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
        partitions, pos = _read_reassignable_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReassignableTopic(name, partitions, unknown_tags))
    return items, pos


def _write_reassignable_topic_array_0(out: bytearray, items: list[ReassignableTopic]) -> None:
    # ReassignableTopic, versions 0-1
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_reassignable_partition_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_reassignments_request_0(
    data: bytes, pos: int
) -> tuple[AlterPartitionReassignmentsRequest, int]:
    # AlterPartitionReassignmentsRequest, version 0
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_reassignable_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterPartitionReassignmentsRequest(timeout_ms, True, topics, unknown_tags), pos


def _write_alter_partition_reassignments_request_0(out: bytearray, item: AlterPartitionReassignmentsRequest) -> None:
    # AlterPartitionReassignmentsRequest, version 0
    if not item.allow_replication_factor_change:
        raise not_in_version("AlterPartitionReassignmentsRequest", "allow_replication_factor_change")
    out += _pack_i(item.timeout_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_reassignable_topic_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_reassignments_request_1(
    data: bytes, pos: int
) -> tuple[AlterPartitionReassignmentsRequest, int]:
    # AlterPartitionReassignmentsRequest, version 1
    timeout_ms, allow_replication_factor_change, n = _unpack_itB(data, pos)
    pos += 6
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_reassignable_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, topics, unknown_tags), pos


def _write_alter_partition_reassignments_request_1(out: bytearray, item: AlterPartitionReassignmentsRequest) -> None:
    # AlterPartitionReassignmentsRequest, version 1
    out += _pack_it(item.timeout_ms, item.allow_replication_factor_change)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_reassignable_topic_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterPartitionReassignmentsRequest(Message):
    """Starts or cancels moves of partitions."""

    API_KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_alter_partition_reassignments_request_0, 1: _read_alter_partition_reassignments_request_1}
    ENCODERS = {0: _write_alter_partition_reassignments_request_0, 1: _write_alter_partition_reassignments_request_1}

    FIELDS = ("timeout_ms", "allow_replication_factor_change", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class ReassignableTopicResponse(Structure):
    """An element of AlterPartitionReassignmentsResponse.Responses."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class ReassignablePartitionResponse(Structure):
    """An element of ReassignableTopicResponse.Partitions."""

    FIELDS = ("partition_index", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_reassignable_partition_response_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ReassignablePartitionResponse], int]:
    # ReassignablePartitionResponse, versions 0-1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReassignablePartitionResponse] = []
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
        items.append(ReassignablePartitionResponse(partition_index, error_code, error_message, unknown_tags))
    return items, pos


def _write_reassignable_partition_response_array_0(out: bytearray, items: list[ReassignablePartitionResponse]) -> None:
    # ReassignablePartitionResponse, versions 0-1
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_reassignable_topic_response_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ReassignableTopicResponse], int]:
    # ReassignableTopicResponse, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReassignableTopicResponse] = []
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
        partitions, pos = _read_reassignable_partition_response_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReassignableTopicResponse(name, partitions, unknown_tags))
    return items, pos


def _write_reassignable_topic_response_array_0(out: bytearray, items: list[ReassignableTopicResponse]) -> None:
    # ReassignableTopicResponse, versions 0-1
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_reassignable_partition_response_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_reassignments_response_0(
    data: bytes, pos: int
) -> tuple[AlterPartitionReassignmentsResponse, int]:
    # AlterPartitionReassignmentsResponse, version 0
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
    responses, pos = _read_reassignable_topic_response_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = AlterPartitionReassignmentsResponse(
        throttle_time_ms, True, error_code, error_message, responses, unknown_tags
    )
    return item, pos


def _write_alter_partition_reassignments_response_0(out: bytearray, item: AlterPartitionReassignmentsResponse) -> None:
    # AlterPartitionReassignmentsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_reassignable_topic_response_array_0(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_partition_reassignments_response_1(
    data: bytes, pos: int
) -> tuple[AlterPartitionReassignmentsResponse, int]:
    # AlterPartitionReassignmentsResponse, version 1
    throttle_time_ms, allow_replication_factor_change, error_code, n = _unpack_ithB(data, pos)
    pos += 8
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
    responses, pos = _read_reassignable_topic_response_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = AlterPartitionReassignmentsResponse(
        throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses, unknown_tags
    )
    return item, pos


def _write_alter_partition_reassignments_response_1(out: bytearray, item: AlterPartitionReassignmentsResponse) -> None:
    # AlterPartitionReassignmentsResponse, version 1
    out += _pack_ith(item.throttle_time_ms, item.allow_replication_factor_change, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_reassignable_topic_response_array_0(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterPartitionReassignmentsResponse(Message):
    """What became of each partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_alter_partition_reassignments_response_0, 1: _read_alter_partition_reassignments_response_1}
    ENCODERS = {0: _write_alter_partition_reassignments_response_0, 1: _write_alter_partition_reassignments_response_1}

    FIELDS = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is EMPTY else responses
        self.unknown_tags = unknown_tags
