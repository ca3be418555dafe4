"""DeleteTopicsRequest 1-6 and DeleteTopicsResponse 1-6.

Generated from schemas/rpc/DeleteTopicsRequest.json and schemas/rpc/DeleteTopicsResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
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
    bad_length,
    bad_uuid,
    not_in_version,
    null_not_allowed,
    put_compact_string,
    put_compact_strings,
    put_strings,
    read_compact_strings,
    read_length,
    read_string_length,
    read_strings,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_uhB = Struct(">16shB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_u = Struct(">16s").pack
_pack_uh = Struct(">16sh").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


class DeleteTopicState(Structure):
    """An element of DeleteTopicsRequest.Topics."""

    FIELDS = ("name", "topic_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str | None = None,
        topic_id: bytes = ZERO_UUID,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tags = unknown_tags


def _read_delete_topics_request_1(data: bytes, pos: int) -> tuple[DeleteTopicsRequest, int]:
    # DeleteTopicsRequest, versions 1-3
    (n,) = _unpack_i(data, pos)
    pos += 4
    topic_names, pos = read_strings(data, pos, n)
    (timeout_ms,) = _unpack_i(data, pos)
    pos += 4
    return DeleteTopicsRequest([], topic_names, timeout_ms), pos


def _write_delete_topics_request_1(out: bytearray, item: DeleteTopicsRequest) -> None:
    # DeleteTopicsRequest, versions 1-3
    if item.topics:
        raise not_in_version("DeleteTopicsRequest", "topics")
    if item.unknown_tags:
        raise not_in_version("DeleteTopicsRequest", "unknown_tags")
    out += _pack_i(len(item.topic_names))
    put_strings(out, item.topic_names)
    out += _pack_i(item.timeout_ms)


def _read_delete_topics_request_4(data: bytes, pos: int) -> tuple[DeleteTopicsRequest, int]:
    # DeleteTopicsRequest, versions 4-5
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topic_names, pos = read_compact_strings(data, pos, n - 1)
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteTopicsRequest([], topic_names, timeout_ms, unknown_tags), pos


def _write_delete_topics_request_4(out: bytearray, item: DeleteTopicsRequest) -> None:
    # DeleteTopicsRequest, versions 4-5
    if item.topics:
        raise not_in_version("DeleteTopicsRequest", "topics")
    n = len(item.topic_names) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.topic_names)
    out += _pack_i(item.timeout_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_topic_state_array_6(data: bytes, pos: int, count: int) -> tuple[list[DeleteTopicState], int]:
    # DeleteTopicState, version 6
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteTopicState] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            name = data[pos:end].decode()
            pos = end
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteTopicState(name, topic_id, unknown_tags))
    return items, pos


def _write_delete_topic_state_array_6(out: bytearray, items: list[DeleteTopicState]) -> None:
    # DeleteTopicState, version 6
    for item in items:
        if item.name is None:
            out.append(0)
        else:
            put_compact_string(out, item.name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_topics_request_6(data: bytes, pos: int) -> tuple[DeleteTopicsRequest, int]:
    # DeleteTopicsRequest, version 6
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_delete_topic_state_array_6(data, pos, n - 1)
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteTopicsRequest(topics, [], timeout_ms, unknown_tags), pos


def _write_delete_topics_request_6(out: bytearray, item: DeleteTopicsRequest) -> None:
    # DeleteTopicsRequest, version 6
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_topic_state_array_6(out, item.topics)
    out += _pack_i(item.timeout_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteTopicsRequest(Message):
    """Deletes topics, by name or, from version 6 on, by id."""

    API_KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4
    DECODERS = {
        1: _read_delete_topics_request_1,
        2: _read_delete_topics_request_1,
        3: _read_delete_topics_request_1,
        4: _read_delete_topics_request_4,
        5: _read_delete_topics_request_4,
        6: _read_delete_topics_request_6,
    }
    ENCODERS = {
        1: _write_delete_topics_request_1,
        2: _write_delete_topics_request_1,
        3: _write_delete_topics_request_1,
        4: _write_delete_topics_request_4,
        5: _write_delete_topics_request_4,
        6: _write_delete_topics_request_6,
    }

    FIELDS = ("topics", "topic_names", "timeout_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[DeleteTopicState] = EMPTY,
        topic_names: list[str] = EMPTY,
        timeout_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.topic_names = [] if topic_names is EMPTY else topic_names
        self.timeout_ms = timeout_ms
        self.unknown_tags = unknown_tags


class DeletableTopicResult(Structure):
    """An element of DeleteTopicsResponse.Responses."""

    FIELDS = ("name", "topic_id", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_deletable_topic_result_array_1(data: bytes, pos: int, count: int) -> tuple[list[DeletableTopicResult], int]:
    # DeletableTopicResult, versions 1-3
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (error_code,) = _unpack_h(data, pos)
        pos += 2
        items.append(DeletableTopicResult(name, ZERO_UUID, error_code, None))
    return items, pos


def _write_deletable_topic_result_array_1(out: bytearray, items: list[DeletableTopicResult]) -> None:
    # DeletableTopicResult, versions 1-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeletableTopicResult", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("DeletableTopicResult", "name")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_h(item.error_code)


def _read_delete_topics_response_1(data: bytes, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # DeleteTopicsResponse, versions 1-3
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    responses, pos = _read_deletable_topic_result_array_1(data, pos, n)
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _write_delete_topics_response_1(out: bytearray, item: DeleteTopicsResponse) -> None:
    # DeleteTopicsResponse, versions 1-3
    if item.unknown_tags:
        raise not_in_version("DeleteTopicsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.responses))
    _write_deletable_topic_result_array_1(out, item.responses)


def _read_deletable_topic_result_array_4(data: bytes, pos: int, count: int) -> tuple[list[DeletableTopicResult], int]:
    # DeletableTopicResult, version 4
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableTopicResult] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeletableTopicResult(name, ZERO_UUID, error_code, None, unknown_tags))
    return items, pos


def _write_deletable_topic_result_array_4(out: bytearray, items: list[DeletableTopicResult]) -> None:
    # DeletableTopicResult, version 4
    for item in items:
        if item.name is None:
            raise null_not_allowed("DeletableTopicResult", "name")
        put_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_topics_response_4(data: bytes, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # DeleteTopicsResponse, version 4
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_deletable_topic_result_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteTopicsResponse(throttle_time_ms, responses, unknown_tags), pos


def _write_delete_topics_response_4(out: bytearray, item: DeleteTopicsResponse) -> None:
    # DeleteTopicsResponse, version 4
    out += _pack_i(item.throttle_time_ms)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_deletable_topic_result_array_4(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_deletable_topic_result_array_5(data: bytes, pos: int, count: int) -> tuple[list[DeletableTopicResult], int]:
    # DeletableTopicResult, version 5
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableTopicResult] = []
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
        items.append(DeletableTopicResult(name, ZERO_UUID, error_code, error_message, unknown_tags))
    return items, pos


def _write_deletable_topic_result_array_5(out: bytearray, items: list[DeletableTopicResult]) -> None:
    # DeletableTopicResult, version 5
    for item in items:
        if item.name is None:
            raise null_not_allowed("DeletableTopicResult", "name")
        put_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_topics_response_5(data: bytes, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # DeleteTopicsResponse, version 5
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_deletable_topic_result_array_5(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteTopicsResponse(throttle_time_ms, responses, unknown_tags), pos


def _write_delete_topics_response_5(out: bytearray, item: DeleteTopicsResponse) -> None:
    # DeleteTopicsResponse, version 5
    out += _pack_i(item.throttle_time_ms)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_deletable_topic_result_array_5(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_deletable_topic_result_array_6(data: bytes, pos: int, count: int) -> tuple[list[DeletableTopicResult], int]:
    # DeletableTopicResult, version 6
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            name = data[pos:end].decode()
            pos = end
        topic_id, error_code, n = _unpack_uhB(data, pos)
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
        items.append(DeletableTopicResult(name, topic_id, error_code, error_message, unknown_tags))
    return items, pos


def _write_deletable_topic_result_array_6(out: bytearray, items: list[DeletableTopicResult]) -> None:
    # DeletableTopicResult, version 6
    for item in items:
        if item.name is None:
            out.append(0)
        else:
            put_compact_string(out, item.name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_uh(item.topic_id, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_topics_response_6(data: bytes, pos: int) -> tuple[DeleteTopicsResponse, int]:
    # DeleteTopicsResponse, version 6
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_deletable_topic_result_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteTopicsResponse(throttle_time_ms, responses, unknown_tags), pos


def _write_delete_topics_response_6(out: bytearray, item: DeleteTopicsResponse) -> None:
    # DeleteTopicsResponse, version 6
    out += _pack_i(item.throttle_time_ms)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_deletable_topic_result_array_6(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteTopicsResponse(Message):
    """What became of each topic.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4
    DECODERS = {
        1: _read_delete_topics_response_1,
        2: _read_delete_topics_response_1,
        3: _read_delete_topics_response_1,
        4: _read_delete_topics_response_4,
        5: _read_delete_topics_response_5,
        6: _read_delete_topics_response_6,
    }
    ENCODERS = {
        1: _write_delete_topics_response_1,
        2: _write_delete_topics_response_1,
        3: _write_delete_topics_response_1,
        4: _write_delete_topics_response_4,
        5: _write_delete_topics_response_5,
        6: _write_delete_topics_response_6,
    }

    FIELDS = ("throttle_time_ms", "responses", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses
        self.unknown_tags = unknown_tags
