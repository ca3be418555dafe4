"""DeleteShareGroupOffsetsRequest 0 and DeleteShareGroupOffsetsResponse 0.

Generated from schemas/rpc/DeleteShareGroupOffsetsRequest.json and schemas/rpc/DeleteShareGroupOffsetsResponse.json
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

_unpack_uhB = Struct(">16shB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_uh = Struct(">16sh").pack
_pack_ih = Struct(">ih").pack


class DeleteShareGroupOffsetsRequestTopic(Structure):
    """An element of DeleteShareGroupOffsetsRequest.Topics."""

    FIELDS = ("topic_name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topic_name: str = "", unknown_tags: Tags = ()) -> None:
        self.topic_name = topic_name
        self.unknown_tags = unknown_tags


def _read_delete_share_group_offsets_request_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteShareGroupOffsetsRequestTopic], int]:
    # DeleteShareGroupOffsetsRequestTopic, version 0
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteShareGroupOffsetsRequestTopic] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteShareGroupOffsetsRequestTopic(topic_name, unknown_tags))
    return items, pos


def _write_delete_share_group_offsets_request_topic_array_0(
    out: bytearray, items: list[DeleteShareGroupOffsetsRequestTopic]
) -> None:
    # DeleteShareGroupOffsetsRequestTopic, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_share_group_offsets_request_0(data: bytes, pos: int) -> tuple[DeleteShareGroupOffsetsRequest, int]:
    # DeleteShareGroupOffsetsRequest, version 0
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
    topics, pos = _read_delete_share_group_offsets_request_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteShareGroupOffsetsRequest(group_id, topics, unknown_tags), pos


def _write_delete_share_group_offsets_request_0(out: bytearray, item: DeleteShareGroupOffsetsRequest) -> None:
    # DeleteShareGroupOffsetsRequest, version 0
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_share_group_offsets_request_topic_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteShareGroupOffsetsRequest(Message):
    """Makes a share group without members forget topics."""

    API_KEY = 92
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_delete_share_group_offsets_request_0}
    ENCODERS = {0: _write_delete_share_group_offsets_request_0}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequestTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class DeleteShareGroupOffsetsResponseTopic(Structure):
    """An element of DeleteShareGroupOffsetsResponse.Responses."""

    FIELDS = ("topic_name", "topic_id", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_delete_share_group_offsets_response_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteShareGroupOffsetsResponseTopic], int]:
    # DeleteShareGroupOffsetsResponseTopic, version 0
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
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
        item = DeleteShareGroupOffsetsResponseTopic(topic_name, topic_id, error_code, error_message, unknown_tags)
        items.append(item)
    return items, pos


def _write_delete_share_group_offsets_response_topic_array_0(
    out: bytearray, items: list[DeleteShareGroupOffsetsResponseTopic]
) -> None:
    # DeleteShareGroupOffsetsResponseTopic, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_uh(item.topic_id, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_share_group_offsets_response_0(data: bytes, pos: int) -> tuple[DeleteShareGroupOffsetsResponse, int]:
    # DeleteShareGroupOffsetsResponse, version 0
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
    responses, pos = _read_delete_share_group_offsets_response_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteShareGroupOffsetsResponse(throttle_time_ms, error_code, error_message, responses, unknown_tags), pos


def _write_delete_share_group_offsets_response_0(out: bytearray, item: DeleteShareGroupOffsetsResponse) -> None:
    # DeleteShareGroupOffsetsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_share_group_offsets_response_topic_array_0(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteShareGroupOffsetsResponse(Message):
    """What became of each topic.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 92
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_delete_share_group_offsets_response_0}
    ENCODERS = {0: _write_delete_share_group_offsets_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "responses", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is EMPTY else responses
        self.unknown_tags = unknown_tags
