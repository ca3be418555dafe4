"""ConsumerGroupHeartbeatRequest 0-1 and ConsumerGroupHeartbeatResponse 0-1.

Generated from schemas/rpc/ConsumerGroupHeartbeatRequest.json and schemas/rpc/ConsumerGroupHeartbeatResponse.json
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
    not_in_version,
    put_compact_string,
    put_compact_strings,
    put_numbers,
    read_compact_strings,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iib = Struct(">iib").unpack_from
_pack_u = Struct(">16s").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack


class ConsumerGroupHeartbeatRequestTopicPartitions(Structure):
    """An element of ConsumerGroupHeartbeatRequest.TopicPartitions."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_consumer_group_heartbeat_request_topic_partitions_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ConsumerGroupHeartbeatRequestTopicPartitions], int]:
    # TopicPartitions, versions 0-1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ConsumerGroupHeartbeatRequestTopicPartitions] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ConsumerGroupHeartbeatRequestTopicPartitions(topic_id, partitions, unknown_tags))
    return items, pos


def _write_consumer_group_heartbeat_request_topic_partitions_array_0(
    out: bytearray, items: list[ConsumerGroupHeartbeatRequestTopicPartitions]
) -> None:
    # TopicPartitions, versions 0-1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_consumer_group_heartbeat_request_0(data: bytes, pos: int) -> tuple[ConsumerGroupHeartbeatRequest, int]:
    # ConsumerGroupHeartbeatRequest, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    member_epoch, n = _unpack_iB(data, pos)
    pos += 5
    instance_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        instance_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    rack_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack_id = data[pos:end].decode()
        pos = end
    rebalance_timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    subscribed_topic_names: list[str] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        subscribed_topic_names, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    server_assignor: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        server_assignor = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    topic_partitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topic_partitions, pos = _read_consumer_group_heartbeat_request_topic_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ConsumerGroupHeartbeatRequest(
        group_id,
        member_id,
        member_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        subscribed_topic_names,
        None,
        server_assignor,
        topic_partitions,
        unknown_tags,
    )
    return item, pos


def _write_consumer_group_heartbeat_request_0(out: bytearray, item: ConsumerGroupHeartbeatRequest) -> None:
    # ConsumerGroupHeartbeatRequest, version 0
    if item.subscribed_topic_regex is not None:
        raise not_in_version("ConsumerGroupHeartbeatRequest", "subscribed_topic_regex")
    put_compact_string(out, item.group_id)
    put_compact_string(out, item.member_id)
    out += _pack_i(item.member_epoch)
    if item.instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.instance_id)
    if item.rack_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack_id)
    out += _pack_i(item.rebalance_timeout_ms)
    if item.subscribed_topic_names is None:
        out.append(0)
    else:
        n = len(item.subscribed_topic_names) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.subscribed_topic_names)
    if item.server_assignor is None:
        out.append(0)
    else:
        put_compact_string(out, item.server_assignor)
    if item.topic_partitions is None:
        out.append(0)
    else:
        n = len(item.topic_partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_consumer_group_heartbeat_request_topic_partitions_array_0(out, item.topic_partitions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_consumer_group_heartbeat_request_1(data: bytes, pos: int) -> tuple[ConsumerGroupHeartbeatRequest, int]:
    # ConsumerGroupHeartbeatRequest, version 1
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    member_epoch, n = _unpack_iB(data, pos)
    pos += 5
    instance_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        instance_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    rack_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack_id = data[pos:end].decode()
        pos = end
    rebalance_timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    subscribed_topic_names: list[str] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        subscribed_topic_names, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    subscribed_topic_regex: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subscribed_topic_regex = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    server_assignor: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        server_assignor = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    topic_partitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topic_partitions, pos = _read_consumer_group_heartbeat_request_topic_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ConsumerGroupHeartbeatRequest(
        group_id,
        member_id,
        member_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        subscribed_topic_names,
        subscribed_topic_regex,
        server_assignor,
        topic_partitions,
        unknown_tags,
    )
    return item, pos


def _write_consumer_group_heartbeat_request_1(out: bytearray, item: ConsumerGroupHeartbeatRequest) -> None:
    # ConsumerGroupHeartbeatRequest, version 1
    put_compact_string(out, item.group_id)
    put_compact_string(out, item.member_id)
    out += _pack_i(item.member_epoch)
    if item.instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.instance_id)
    if item.rack_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack_id)
    out += _pack_i(item.rebalance_timeout_ms)
    if item.subscribed_topic_names is None:
        out.append(0)
    else:
        n = len(item.subscribed_topic_names) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.subscribed_topic_names)
    if item.subscribed_topic_regex is None:
        out.append(0)
    else:
        put_compact_string(out, item.subscribed_topic_regex)
    if item.server_assignor is None:
        out.append(0)
    else:
        put_compact_string(out, item.server_assignor)
    if item.topic_partitions is None:
        out.append(0)
    else:
        n = len(item.topic_partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_consumer_group_heartbeat_request_topic_partitions_array_0(out, item.topic_partitions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ConsumerGroupHeartbeatRequest(Message):
    """The whole of the KIP-848 consumer protocol: join, subscribe, acknowledge an assignment, leave.

    * `member_id`: Chosen by the member and kept for its life.
    * `member_epoch`: 0 joins, -1 leaves, -2 leaves but will come back under the same instance id.
    * `rebalance_timeout_ms`: How long the member may take to give partitions up; -1 if unchanged.
    * `subscribed_topic_names`: Null if unchanged.
    * `subscribed_topic_regex`: A regular expression in RE2 syntax; null if unchanged, empty for none.
    * `server_assignor`: Null if unchanged or for the broker's choice.
    * `topic_partitions`: What the member owns; null if unchanged.
    """

    API_KEY = 68
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_heartbeat_request_0, 1: _read_consumer_group_heartbeat_request_1}
    ENCODERS = {0: _write_consumer_group_heartbeat_request_0, 1: _write_consumer_group_heartbeat_request_1}

    FIELDS = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions
        self.unknown_tags = unknown_tags


class ConsumerGroupHeartbeatResponseTopicPartitions(Structure):
    """An element of Assignment.TopicPartitions."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class Assignment(Structure):
    """The value of ConsumerGroupHeartbeatResponse.Assignment."""

    FIELDS = ("topic_partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self, topic_partitions: list[ConsumerGroupHeartbeatResponseTopicPartitions] = EMPTY, unknown_tags: Tags = ()
    ) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.unknown_tags = unknown_tags


def _read_consumer_group_heartbeat_response_topic_partitions_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ConsumerGroupHeartbeatResponseTopicPartitions], int]:
    # TopicPartitions, versions 0-1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ConsumerGroupHeartbeatResponseTopicPartitions] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ConsumerGroupHeartbeatResponseTopicPartitions(topic_id, partitions, unknown_tags))
    return items, pos


def _write_consumer_group_heartbeat_response_topic_partitions_array_0(
    out: bytearray, items: list[ConsumerGroupHeartbeatResponseTopicPartitions]
) -> None:
    # TopicPartitions, versions 0-1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assignment_0(data: bytes, pos: int) -> tuple[Assignment, int]:
    # Assignment, versions 0-1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topic_partitions, pos = _read_consumer_group_heartbeat_response_topic_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return Assignment(topic_partitions, unknown_tags), pos


def _write_assignment_0(out: bytearray, item: Assignment) -> None:
    # Assignment, versions 0-1
    n = len(item.topic_partitions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_consumer_group_heartbeat_response_topic_partitions_array_0(out, item.topic_partitions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_consumer_group_heartbeat_response_0(data: bytes, pos: int) -> tuple[ConsumerGroupHeartbeatResponse, int]:
    # ConsumerGroupHeartbeatResponse, versions 0-1
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
    member_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        member_id = data[pos:end].decode()
        pos = end
    member_epoch, heartbeat_interval_ms, n = _unpack_iib(data, pos)
    pos += 9
    assignment: Assignment | None = None
    if n >= 0:
        assignment, pos = _read_assignment_0(data, pos)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ConsumerGroupHeartbeatResponse(
        throttle_time_ms,
        error_code,
        error_message,
        member_id,
        member_epoch,
        heartbeat_interval_ms,
        assignment,
        unknown_tags,
    )
    return item, pos


def _write_consumer_group_heartbeat_response_0(out: bytearray, item: ConsumerGroupHeartbeatResponse) -> None:
    # ConsumerGroupHeartbeatResponse, versions 0-1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    if item.member_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.member_id)
    out += _pack_ii(item.member_epoch, item.heartbeat_interval_ms)
    if item.assignment is None:
        out.append(255)
    else:
        out.append(1)
        _write_assignment_0(out, item.assignment)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ConsumerGroupHeartbeatResponse(Message):
    """The member's epoch and, when it changes, its assignment.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `assignment`: Null if unchanged.
    """

    API_KEY = 68
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_heartbeat_response_0, 1: _read_consumer_group_heartbeat_response_0}
    ENCODERS = {0: _write_consumer_group_heartbeat_response_0, 1: _write_consumer_group_heartbeat_response_0}

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
        self.unknown_tags = unknown_tags
