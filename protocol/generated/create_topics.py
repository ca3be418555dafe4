"""CreateTopicsRequest 2-7 and CreateTopicsResponse 2-7.

Generated from schemas/rpc/CreateTopicsRequest.json and schemas/rpc/CreateTopicsResponse.json (Apache Kafka 4.4.0) by
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
    bad_tag_size,
    bad_uuid,
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

_unpack_uhB = Struct(">16shB").unpack_from
_unpack_tbtB = Struct(">?b?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_it = Struct(">i?").unpack_from
_unpack_itB = Struct(">i?B").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_uh = Struct(">16sh").pack
_pack_tbt = Struct(">?b?").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_it = Struct(">i?").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack
_pack_ii = Struct(">ii").pack


class CreatableTopic(Structure):
    """An element of CreateTopicsRequest.Topics.

    * `num_partitions`: -1 for the broker's default, or with Assignments.
    * `replication_factor`: -1 for the broker's default, or with Assignments.
    """

    FIELDS = ("name", "num_partitions", "replication_factor", "assignments", "configs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = EMPTY,
        configs: list[CreatableTopicConfig] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is EMPTY else assignments
        self.configs = [] if configs is EMPTY else configs
        self.unknown_tags = unknown_tags


class CreatableReplicaAssignment(Structure):
    """An element of CreatableTopic.Assignments."""

    FIELDS = ("partition_index", "broker_ids", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids
        self.unknown_tags = unknown_tags


class CreatableTopicConfig(Structure):
    """An element of CreatableTopic.Configs."""

    FIELDS = ("name", "value", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.value = value
        self.unknown_tags = unknown_tags


def _read_creatable_replica_assignment_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[CreatableReplicaAssignment], int]:
    # CreatableReplicaAssignment, versions 2-4
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        partition_index, n = _unpack_ii(data, pos)
        pos += 8
        broker_ids, pos = read_numbers(data, pos, n, "i")
        items.append(CreatableReplicaAssignment(partition_index, broker_ids))
    return items, pos


def _write_creatable_replica_assignment_array_2(out: bytearray, items: list[CreatableReplicaAssignment]) -> None:
    # CreatableReplicaAssignment, versions 2-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatableReplicaAssignment", "unknown_tags")
        out += _pack_ii(item.partition_index, len(item.broker_ids))
        put_numbers(out, item.broker_ids, "i")


def _read_creatable_topic_config_array_2(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopicConfig], int]:
    # CreatableTopicConfig, versions 2-4
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopicConfig] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        value: str | None = None
        if n >= 0:
            end = pos + n
            value = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(CreatableTopicConfig(name, value))
    return items, pos


def _write_creatable_topic_config_array_2(out: bytearray, items: list[CreatableTopicConfig]) -> None:
    # CreatableTopicConfig, versions 2-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatableTopicConfig", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.value is None:
            out += _pack_h(-1)
        else:
            raw = item.value.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_creatable_topic_array_2(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopic], int]:
    # CreatableTopic, versions 2-4
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        num_partitions, replication_factor, n = _unpack_ihi(data, pos)
        pos += 10
        assignments, pos = _read_creatable_replica_assignment_array_2(data, pos, n)
        (n,) = _unpack_i(data, pos)
        pos += 4
        configs, pos = _read_creatable_topic_config_array_2(data, pos, n)
        items.append(CreatableTopic(name, num_partitions, replication_factor, assignments, configs))
    return items, pos


def _write_creatable_topic_array_2(out: bytearray, items: list[CreatableTopic]) -> None:
    # CreatableTopic, versions 2-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatableTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_ihi(item.num_partitions, item.replication_factor, len(item.assignments))
        _write_creatable_replica_assignment_array_2(out, item.assignments)
        out += _pack_i(len(item.configs))
        _write_creatable_topic_config_array_2(out, item.configs)


def _read_create_topics_request_2(data: bytes, pos: int) -> tuple[CreateTopicsRequest, int]:
    # CreateTopicsRequest, versions 2-4
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_creatable_topic_array_2(data, pos, n)
    timeout_ms, validate_only = _unpack_it(data, pos)
    pos += 5
    return CreateTopicsRequest(topics, timeout_ms, validate_only), pos


def _write_create_topics_request_2(out: bytearray, item: CreateTopicsRequest) -> None:
    # CreateTopicsRequest, versions 2-4
    if item.unknown_tags:
        raise not_in_version("CreateTopicsRequest", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_creatable_topic_array_2(out, item.topics)
    out += _pack_it(item.timeout_ms, item.validate_only)


def _read_creatable_replica_assignment_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[CreatableReplicaAssignment], int]:
    # CreatableReplicaAssignment, versions 5-7
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        broker_ids, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatableReplicaAssignment(partition_index, broker_ids, unknown_tags))
    return items, pos


def _write_creatable_replica_assignment_array_5(out: bytearray, items: list[CreatableReplicaAssignment]) -> None:
    # CreatableReplicaAssignment, versions 5-7
    for item in items:
        out += _pack_i(item.partition_index)
        n = len(item.broker_ids) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.broker_ids, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_creatable_topic_config_array_5(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopicConfig], int]:
    # CreatableTopicConfig, versions 5-7
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopicConfig] = []
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
        value: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            value = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatableTopicConfig(name, value, unknown_tags))
    return items, pos


def _write_creatable_topic_config_array_5(out: bytearray, items: list[CreatableTopicConfig]) -> None:
    # CreatableTopicConfig, versions 5-7
    for item in items:
        put_compact_string(out, item.name)
        if item.value is None:
            out.append(0)
        else:
            put_compact_string(out, item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_creatable_topic_array_5(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopic], int]:
    # CreatableTopic, versions 5-7
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        num_partitions, replication_factor, n = _unpack_ihB(data, pos)
        pos += 7
        if n > 127:
            n, pos = read_length(data, pos)
        assignments, pos = _read_creatable_replica_assignment_array_5(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        configs, pos = _read_creatable_topic_config_array_5(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatableTopic(name, num_partitions, replication_factor, assignments, configs, unknown_tags))
    return items, pos


def _write_creatable_topic_array_5(out: bytearray, items: list[CreatableTopic]) -> None:
    # CreatableTopic, versions 5-7
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        n = len(item.assignments) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_creatable_replica_assignment_array_5(out, item.assignments)
        n = len(item.configs) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_creatable_topic_config_array_5(out, item.configs)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_topics_request_5(data: bytes, pos: int) -> tuple[CreateTopicsRequest, int]:
    # CreateTopicsRequest, versions 5-7
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_creatable_topic_array_5(data, pos, n - 1)
    timeout_ms, validate_only, n = _unpack_itB(data, pos)
    pos += 6
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreateTopicsRequest(topics, timeout_ms, validate_only, unknown_tags), pos


def _write_create_topics_request_5(out: bytearray, item: CreateTopicsRequest) -> None:
    # CreateTopicsRequest, versions 5-7
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_creatable_topic_array_5(out, item.topics)
    out += _pack_it(item.timeout_ms, item.validate_only)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreateTopicsRequest(Message):
    """Creates topics."""

    API_KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5
    DECODERS = {
        2: _read_create_topics_request_2,
        3: _read_create_topics_request_2,
        4: _read_create_topics_request_2,
        5: _read_create_topics_request_5,
        6: _read_create_topics_request_5,
        7: _read_create_topics_request_5,
    }
    ENCODERS = {
        2: _write_create_topics_request_2,
        3: _write_create_topics_request_2,
        4: _write_create_topics_request_2,
        5: _write_create_topics_request_5,
        6: _write_create_topics_request_5,
        7: _write_create_topics_request_5,
    }

    FIELDS = ("topics", "timeout_ms", "validate_only", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[CreatableTopic] = EMPTY,
        timeout_ms: int = 60000,
        validate_only: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tags = unknown_tags


class CreatableTopicResult(Structure):
    """An element of CreateTopicsResponse.Topics.

    * `topic_config_error_code`: Why Configs is left out, for instance a missing permission.
    """

    FIELDS = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is EMPTY else configs
        self.unknown_tags = unknown_tags


class CreatableTopicConfigs(Structure):
    """An element of CreatableTopicResult.Configs."""

    FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.unknown_tags = unknown_tags


def _read_creatable_topic_result_array_2(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopicResult], int]:
    # CreatableTopicResult, versions 2-4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopicResult] = []
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
        items.append(CreatableTopicResult(name, ZERO_UUID, error_code, error_message, 0, -1, -1, []))
    return items, pos


def _write_creatable_topic_result_array_2(out: bytearray, items: list[CreatableTopicResult]) -> None:
    # CreatableTopicResult, versions 2-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatableTopicResult", "unknown_tags")
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


def _read_create_topics_response_2(data: bytes, pos: int) -> tuple[CreateTopicsResponse, int]:
    # CreateTopicsResponse, versions 2-4
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_creatable_topic_result_array_2(data, pos, n)
    return CreateTopicsResponse(throttle_time_ms, topics), pos


def _write_create_topics_response_2(out: bytearray, item: CreateTopicsResponse) -> None:
    # CreateTopicsResponse, versions 2-4
    if item.unknown_tags:
        raise not_in_version("CreateTopicsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_creatable_topic_result_array_2(out, item.topics)


def _read_creatable_topic_configs_array_5(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopicConfigs], int]:
    # CreatableTopicConfigs, versions 5-7
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopicConfigs] = []
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
        value: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            value = data[pos:end].decode()
            pos = end
        read_only, config_source, is_sensitive, n = _unpack_tbtB(data, pos)
        pos += 4
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatableTopicConfigs(name, value, read_only, config_source, is_sensitive, unknown_tags))
    return items, pos


def _write_creatable_topic_configs_array_5(out: bytearray, items: list[CreatableTopicConfigs]) -> None:
    # CreatableTopicConfigs, versions 5-7
    for item in items:
        put_compact_string(out, item.name)
        if item.value is None:
            out.append(0)
        else:
            put_compact_string(out, item.value)
        out += _pack_tbt(item.read_only, item.config_source, item.is_sensitive)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_creatable_topic_result_array_5(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopicResult], int]:
    # CreatableTopicResult, versions 5-6
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopicResult] = []
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
        num_partitions, replication_factor, n = _unpack_ihB(data, pos)
        pos += 7
        configs: list[CreatableTopicConfigs] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            configs, pos = _read_creatable_topic_configs_array_5(data, pos, n - 1)
        n = data[pos]
        pos += 1
        item = CreatableTopicResult(
            name, ZERO_UUID, error_code, error_message, 0, num_partitions, replication_factor, configs
        )
        if n:
            pos = _read_creatable_topic_result_tags_5(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_creatable_topic_result_tags_5(item: CreatableTopicResult, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (topic_config_error_code,) = _unpack_h(data, pos)
            pos += 2
            item.topic_config_error_code = topic_config_error_code
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("CreatableTopicResult", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_creatable_topic_result_array_5(out: bytearray, items: list[CreatableTopicResult]) -> None:
    # CreatableTopicResult, versions 5-6
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        if item.configs is None:
            out.append(0)
        else:
            n = len(item.configs) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_creatable_topic_configs_array_5(out, item.configs)
        tags = item.unknown_tags
        if item.topic_config_error_code != 0:
            body = bytearray()
            body += _pack_h(item.topic_config_error_code)
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_create_topics_response_5(data: bytes, pos: int) -> tuple[CreateTopicsResponse, int]:
    # CreateTopicsResponse, versions 5-6
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_creatable_topic_result_array_5(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreateTopicsResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_create_topics_response_5(out: bytearray, item: CreateTopicsResponse) -> None:
    # CreateTopicsResponse, versions 5-6
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_creatable_topic_result_array_5(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_creatable_topic_result_array_7(data: bytes, pos: int, count: int) -> tuple[list[CreatableTopicResult], int]:
    # CreatableTopicResult, version 7
    if not 0 <= count * 28 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableTopicResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
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
        num_partitions, replication_factor, n = _unpack_ihB(data, pos)
        pos += 7
        configs: list[CreatableTopicConfigs] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            configs, pos = _read_creatable_topic_configs_array_5(data, pos, n - 1)
        n = data[pos]
        pos += 1
        item = CreatableTopicResult(
            name, topic_id, error_code, error_message, 0, num_partitions, replication_factor, configs
        )
        if n:
            pos = _read_creatable_topic_result_tags_7(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_creatable_topic_result_tags_7(item: CreatableTopicResult, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (topic_config_error_code,) = _unpack_h(data, pos)
            pos += 2
            item.topic_config_error_code = topic_config_error_code
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("CreatableTopicResult", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_creatable_topic_result_array_7(out: bytearray, items: list[CreatableTopicResult]) -> None:
    # CreatableTopicResult, version 7
    for item in items:
        put_compact_string(out, item.name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_uh(item.topic_id, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        if item.configs is None:
            out.append(0)
        else:
            n = len(item.configs) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_creatable_topic_configs_array_5(out, item.configs)
        tags = item.unknown_tags
        if item.topic_config_error_code != 0:
            body = bytearray()
            body += _pack_h(item.topic_config_error_code)
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_create_topics_response_7(data: bytes, pos: int) -> tuple[CreateTopicsResponse, int]:
    # CreateTopicsResponse, version 7
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_creatable_topic_result_array_7(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreateTopicsResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_create_topics_response_7(out: bytearray, item: CreateTopicsResponse) -> None:
    # CreateTopicsResponse, version 7
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_creatable_topic_result_array_7(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreateTopicsResponse(Message):
    """What became of each topic.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5
    DECODERS = {
        2: _read_create_topics_response_2,
        3: _read_create_topics_response_2,
        4: _read_create_topics_response_2,
        5: _read_create_topics_response_5,
        6: _read_create_topics_response_5,
        7: _read_create_topics_response_7,
    }
    ENCODERS = {
        2: _write_create_topics_response_2,
        3: _write_create_topics_response_2,
        4: _write_create_topics_response_2,
        5: _write_create_topics_response_5,
        6: _write_create_topics_response_5,
        7: _write_create_topics_response_7,
    }

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
