"""CreatePartitionsRequest 0-3 and CreatePartitionsResponse 0-3.

Generated from schemas/rpc/CreatePartitionsRequest.json and schemas/rpc/CreatePartitionsResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    bad_length,
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

_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_it = Struct(">i?").unpack_from
_unpack_itB = Struct(">i?B").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_it = Struct(">i?").pack
_pack_ii = Struct(">ii").pack


class CreatePartitionsTopic(Structure):
    """An element of CreatePartitionsRequest.Topics.

    * `count`: The new number of partitions, the old ones included.
    """

    FIELDS = ("name", "count", "assignments", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is EMPTY else assignments
        self.unknown_tags = unknown_tags


class CreatePartitionsAssignment(Structure):
    """An element of CreatePartitionsTopic.Assignments."""

    FIELDS = ("broker_ids", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, broker_ids: list[int] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids
        self.unknown_tags = unknown_tags


def _read_create_partitions_assignment_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[CreatePartitionsAssignment], int]:
    # CreatePartitionsAssignment, versions 0-1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatePartitionsAssignment] = []
    for _ in range(count):
        (n,) = _unpack_i(data, pos)
        pos += 4
        broker_ids, pos = read_numbers(data, pos, n, "i")
        items.append(CreatePartitionsAssignment(broker_ids))
    return items, pos


def _write_create_partitions_assignment_array_0(out: bytearray, items: list[CreatePartitionsAssignment]) -> None:
    # CreatePartitionsAssignment, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatePartitionsAssignment", "unknown_tags")
        out += _pack_i(len(item.broker_ids))
        put_numbers(out, item.broker_ids, "i")


def _read_create_partitions_topic_array_0(data: bytes, pos: int, count: int) -> tuple[list[CreatePartitionsTopic], int]:
    # CreatePartitionsTopic, versions 0-1
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatePartitionsTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        count_, n = _unpack_ii(data, pos)
        pos += 8
        assignments: list[CreatePartitionsAssignment] | None = None
        if n != -1:
            assignments, pos = _read_create_partitions_assignment_array_0(data, pos, n)
        items.append(CreatePartitionsTopic(name, count_, assignments))
    return items, pos


def _write_create_partitions_topic_array_0(out: bytearray, items: list[CreatePartitionsTopic]) -> None:
    # CreatePartitionsTopic, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatePartitionsTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(item.count)
        if item.assignments is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.assignments))
            _write_create_partitions_assignment_array_0(out, item.assignments)


def _read_create_partitions_request_0(data: bytes, pos: int) -> tuple[CreatePartitionsRequest, int]:
    # CreatePartitionsRequest, versions 0-1
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_create_partitions_topic_array_0(data, pos, n)
    timeout_ms, validate_only = _unpack_it(data, pos)
    pos += 5
    return CreatePartitionsRequest(topics, timeout_ms, validate_only), pos


def _write_create_partitions_request_0(out: bytearray, item: CreatePartitionsRequest) -> None:
    # CreatePartitionsRequest, versions 0-1
    if item.unknown_tags:
        raise not_in_version("CreatePartitionsRequest", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_create_partitions_topic_array_0(out, item.topics)
    out += _pack_it(item.timeout_ms, item.validate_only)


def _read_create_partitions_assignment_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[CreatePartitionsAssignment], int]:
    # CreatePartitionsAssignment, versions 2-3
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatePartitionsAssignment] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        broker_ids, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatePartitionsAssignment(broker_ids, unknown_tags))
    return items, pos


def _write_create_partitions_assignment_array_2(out: bytearray, items: list[CreatePartitionsAssignment]) -> None:
    # CreatePartitionsAssignment, versions 2-3
    for item in items:
        n = len(item.broker_ids) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.broker_ids, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_partitions_topic_array_2(data: bytes, pos: int, count: int) -> tuple[list[CreatePartitionsTopic], int]:
    # CreatePartitionsTopic, versions 2-3
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatePartitionsTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        count_, n = _unpack_iB(data, pos)
        pos += 5
        assignments: list[CreatePartitionsAssignment] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            assignments, pos = _read_create_partitions_assignment_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatePartitionsTopic(name, count_, assignments, unknown_tags))
    return items, pos


def _write_create_partitions_topic_array_2(out: bytearray, items: list[CreatePartitionsTopic]) -> None:
    # CreatePartitionsTopic, versions 2-3
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_i(item.count)
        if item.assignments is None:
            out.append(0)
        else:
            n = len(item.assignments) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_create_partitions_assignment_array_2(out, item.assignments)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_partitions_request_2(data: bytes, pos: int) -> tuple[CreatePartitionsRequest, int]:
    # CreatePartitionsRequest, versions 2-3
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_create_partitions_topic_array_2(data, pos, n - 1)
    timeout_ms, validate_only, n = _unpack_itB(data, pos)
    pos += 6
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreatePartitionsRequest(topics, timeout_ms, validate_only, unknown_tags), pos


def _write_create_partitions_request_2(out: bytearray, item: CreatePartitionsRequest) -> None:
    # CreatePartitionsRequest, versions 2-3
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_create_partitions_topic_array_2(out, item.topics)
    out += _pack_it(item.timeout_ms, item.validate_only)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreatePartitionsRequest(Message):
    """Adds partitions to topics.

    * `validate_only`: Check everything, change nothing.
    """

    API_KEY = 37
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_create_partitions_request_0,
        1: _read_create_partitions_request_0,
        2: _read_create_partitions_request_2,
        3: _read_create_partitions_request_2,
    }
    ENCODERS = {
        0: _write_create_partitions_request_0,
        1: _write_create_partitions_request_0,
        2: _write_create_partitions_request_2,
        3: _write_create_partitions_request_2,
    }

    FIELDS = ("topics", "timeout_ms", "validate_only", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = EMPTY,
        timeout_ms: int = 0,
        validate_only: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tags = unknown_tags


class CreatePartitionsTopicResult(Structure):
    """An element of CreatePartitionsResponse.Results."""

    FIELDS = ("name", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_create_partitions_topic_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[CreatePartitionsTopicResult], int]:
    # CreatePartitionsTopicResult, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        error_message: str | None = None
        if n >= 0:
            end = pos + n
            error_message = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(CreatePartitionsTopicResult(name, error_code, error_message))
    return items, pos


def _write_create_partitions_topic_result_array_0(out: bytearray, items: list[CreatePartitionsTopicResult]) -> None:
    # CreatePartitionsTopicResult, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatePartitionsTopicResult", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_create_partitions_response_0(data: bytes, pos: int) -> tuple[CreatePartitionsResponse, int]:
    # CreatePartitionsResponse, versions 0-1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_create_partitions_topic_result_array_0(data, pos, n)
    return CreatePartitionsResponse(throttle_time_ms, results), pos


def _write_create_partitions_response_0(out: bytearray, item: CreatePartitionsResponse) -> None:
    # CreatePartitionsResponse, versions 0-1
    if item.unknown_tags:
        raise not_in_version("CreatePartitionsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_create_partitions_topic_result_array_0(out, item.results)


def _read_create_partitions_topic_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[CreatePartitionsTopicResult], int]:
    # CreatePartitionsTopicResult, versions 2-3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
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
        items.append(CreatePartitionsTopicResult(name, error_code, error_message, unknown_tags))
    return items, pos


def _write_create_partitions_topic_result_array_2(out: bytearray, items: list[CreatePartitionsTopicResult]) -> None:
    # CreatePartitionsTopicResult, versions 2-3
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_partitions_response_2(data: bytes, pos: int) -> tuple[CreatePartitionsResponse, int]:
    # CreatePartitionsResponse, versions 2-3
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_create_partitions_topic_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreatePartitionsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_create_partitions_response_2(out: bytearray, item: CreatePartitionsResponse) -> None:
    # CreatePartitionsResponse, versions 2-3
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_create_partitions_topic_result_array_2(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreatePartitionsResponse(Message):
    """What became of each topic.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 37
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_create_partitions_response_0,
        1: _read_create_partitions_response_0,
        2: _read_create_partitions_response_2,
        3: _read_create_partitions_response_2,
    }
    ENCODERS = {
        0: _write_create_partitions_response_0,
        1: _write_create_partitions_response_0,
        2: _write_create_partitions_response_2,
        3: _write_create_partitions_response_2,
    }

    FIELDS = ("throttle_time_ms", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
