"""StartRedriveRequest 0 and StartRedriveResponse 0.

Generated from schemas/shareq/StartRedriveRequest.json and schemas/shareq/StartRedriveResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    bad_tag_size,
    put_compact_string,
    read_string_length,
    read_tags,
    tag_buffer,
)

_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iqqB = Struct(">iqqB").unpack_from
_unpack_qqbiB = Struct(">qqbiB").unpack_from
_pack_t = Struct(">?").pack
_pack_ih = Struct(">ih").pack
_pack_iqq = Struct(">iqq").pack
_pack_qqbi = Struct(">qqbi").pack


def _read_start_redrive_request_0(data: bytes, pos: int) -> tuple[StartRedriveRequest, int]:
    # StartRedriveRequest, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    name = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    queue = data[pos:end].decode()
    pos = end
    queue_partition, first_offset, last_offset, n = _unpack_iqqB(data, pos)
    pos += 21
    group_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    source_topic: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        source_topic = data[pos:end].decode()
        pos = end
    source_partition, first_source_offset, last_source_offset, n = _unpack_iqqB(data, pos)
    pos += 21
    reason: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        reason = data[pos:end].decode()
        pos = end
    died_from_ms, died_until_ms, target, records_per_second, n = _unpack_qqbiB(data, pos)
    pos += 22
    item = StartRedriveRequest(
        name,
        queue,
        queue_partition,
        first_offset,
        last_offset,
        group_id,
        source_topic,
        source_partition,
        first_source_offset,
        last_source_offset,
        reason,
        died_from_ms,
        died_until_ms,
        target,
        records_per_second,
        False,
    )
    if n:
        pos = _read_start_redrive_request_tags_0(item, data, pos, n)
    return item, pos


def _read_start_redrive_request_tags_0(item: StartRedriveRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            again = data[pos] != 0
            pos += 1
            item.again = again
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("StartRedriveRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_start_redrive_request_0(out: bytearray, item: StartRedriveRequest) -> None:
    # StartRedriveRequest, version 0
    put_compact_string(out, item.name)
    put_compact_string(out, item.queue)
    out += _pack_iqq(item.queue_partition, item.first_offset, item.last_offset)
    if item.group_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_id)
    if item.source_topic is None:
        out.append(0)
    else:
        put_compact_string(out, item.source_topic)
    out += _pack_iqq(item.source_partition, item.first_source_offset, item.last_source_offset)
    if item.reason is None:
        out.append(0)
    else:
        put_compact_string(out, item.reason)
    out += _pack_qqbi(item.died_from_ms, item.died_until_ms, item.target, item.records_per_second)
    tags = item.unknown_tags
    if item.again:
        body = bytearray()
        body += _pack_t(item.again)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class StartRedriveRequest(Message):
    """shareq's own: send dead letters of a queue back, in the background.

    * `name`: What the redrive is called: 1 to 100 of a-z, A-Z, 0-9, '.', '_' and '-'. Each name is used once.
    * `queue`: The topic that has the dead letters.
    * `queue_partition`: Its partition; -1 for all.
    * `first_offset`: The first offset in the queue, inclusive; -1 for the start of the log.
    * `last_offset`: The last offset in the queue, inclusive; -1 for the last that there is at the start of the redrive.
    * `group_id`: Only letters of this group; null for all. Must be given with target 1.
    * `source_topic`: Only letters of records of this topic; null for all.
    * `source_partition`: Only letters of records of this partition; -1 for all.
    * `first_source_offset`: Only letters of records from this offset on, inclusive; -1 for all.
    * `last_source_offset`: Only letters of records up to this offset, inclusive; -1 for all.
    * `reason`: Only letters with this message or this disposition; null for all.
    * `died_from_ms`: Only letters that were made at this time or later, in milliseconds; -1 for all.
    * `died_until_ms`: Only letters that were made before this time, in milliseconds; -1 for all.
    * `target`: 0: each record back to its topic. 1: to the topic of its group alone, redrive.GROUP.
    * `records_per_second`: At most so many records a second, 1 to 1,000,000.
    * `again`: Also letters that a redrive has sent back before.
    """

    API_KEY = 29553
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_start_redrive_request_0}
    ENCODERS = {0: _write_start_redrive_request_0}

    FIELDS = (
        "name",
        "queue",
        "queue_partition",
        "first_offset",
        "last_offset",
        "group_id",
        "source_topic",
        "source_partition",
        "first_source_offset",
        "last_source_offset",
        "reason",
        "died_from_ms",
        "died_until_ms",
        "target",
        "records_per_second",
        "again",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        queue: str = "",
        queue_partition: int = -1,
        first_offset: int = -1,
        last_offset: int = -1,
        group_id: str | None = None,
        source_topic: str | None = None,
        source_partition: int = -1,
        first_source_offset: int = -1,
        last_source_offset: int = -1,
        reason: str | None = None,
        died_from_ms: int = -1,
        died_until_ms: int = -1,
        target: int = 0,
        records_per_second: int = 100,
        again: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.queue = queue
        self.queue_partition = queue_partition
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.group_id = group_id
        self.source_topic = source_topic
        self.source_partition = source_partition
        self.first_source_offset = first_source_offset
        self.last_source_offset = last_source_offset
        self.reason = reason
        self.died_from_ms = died_from_ms
        self.died_until_ms = died_until_ms
        self.target = target
        self.records_per_second = records_per_second
        self.again = again
        self.unknown_tags = unknown_tags


def _read_start_redrive_response_0(data: bytes, pos: int) -> tuple[StartRedriveResponse, int]:
    # StartRedriveResponse, version 0
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
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StartRedriveResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_start_redrive_response_0(out: bytearray, item: StartRedriveResponse) -> None:
    # StartRedriveResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StartRedriveResponse(Message):
    """Whether the redrive has begun; it goes on whatever becomes of the connection.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 29553
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_start_redrive_response_0}
    ENCODERS = {0: _write_start_redrive_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags
