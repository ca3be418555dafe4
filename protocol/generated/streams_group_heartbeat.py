"""StreamsGroupHeartbeatRequest 0-1 and StreamsGroupHeartbeatResponse 0-1.

Generated from schemas/rpc/StreamsGroupHeartbeatRequest.json and schemas/rpc/StreamsGroupHeartbeatResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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

_unpack_tB = Struct(">?B").unpack_from
_unpack_tiB = Struct(">?iB").unpack_from
_unpack_HB = Struct(">HB").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ib = Struct(">ib").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iiiiB = Struct(">iiiiB").unpack_from
_unpack_iiiqB = Struct(">iiiqB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_t = Struct(">?").pack
_pack_ti = Struct(">?i").pack
_pack_H = Struct(">H").pack
_pack_b = Struct(">b").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiii = Struct(">iiii").pack
_pack_iiiq = Struct(">iiiq").pack
_pack_iq = Struct(">iq").pack


class KeyValue(Structure):
    """An element of StreamsGroupHeartbeatRequest.ClientTags."""

    FIELDS = ("key", "value", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        value: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tags = unknown_tags


class TopicInfo(Structure):
    """An element of Subtopology.StateChangelogTopics."""

    FIELDS = ("name", "partitions", "replication_factor", "topic_configs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[KeyValue] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is EMPTY else topic_configs
        self.unknown_tags = unknown_tags


class StreamsGroupHeartbeatRequestEndpoint(Structure):
    """The value of StreamsGroupHeartbeatRequest.UserEndpoint."""

    FIELDS = ("host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


class TaskOffset(Structure):
    """An element of StreamsGroupHeartbeatRequest.TaskOffsets."""

    FIELDS = ("subtopology_id", "partition", "offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset
        self.unknown_tags = unknown_tags


class StreamsGroupHeartbeatRequestTaskIds(Structure):
    """An element of StreamsGroupHeartbeatRequest.ActiveTasks."""

    FIELDS = ("subtopology_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class Topology(Structure):
    """The value of StreamsGroupHeartbeatRequest.Topology."""

    FIELDS = ("epoch", "subtopologies", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is EMPTY else subtopologies
        self.unknown_tags = unknown_tags


class Subtopology(Structure):
    """An element of Topology.Subtopologies."""

    FIELDS = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = EMPTY,
        source_topic_regex: list[str] = EMPTY,
        state_changelog_topics: list[TopicInfo] = EMPTY,
        repartition_sink_topics: list[str] = EMPTY,
        repartition_source_topics: list[TopicInfo] = EMPTY,
        copartition_groups: list[CopartitionGroup] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is EMPTY else source_topics
        self.source_topic_regex = [] if source_topic_regex is EMPTY else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is EMPTY else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is EMPTY else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is EMPTY else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is EMPTY else copartition_groups
        self.unknown_tags = unknown_tags


class CopartitionGroup(Structure):
    """An element of Subtopology.CopartitionGroups."""

    FIELDS = ("source_topics", "source_topic_regex", "repartition_source_topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        source_topics: list[int] = EMPTY,
        source_topic_regex: list[int] = EMPTY,
        repartition_source_topics: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.source_topics = [] if source_topics is EMPTY else source_topics
        self.source_topic_regex = [] if source_topic_regex is EMPTY else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is EMPTY else repartition_source_topics
        self.unknown_tags = unknown_tags


def _read_key_value_array_0(data: bytes, pos: int, count: int) -> tuple[list[KeyValue], int]:
    # KeyValue, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[KeyValue] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        key = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        value = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(KeyValue(key, value, unknown_tags))
    return items, pos


def _write_key_value_array_0(out: bytearray, items: list[KeyValue]) -> None:
    # KeyValue, versions 0-1
    for item in items:
        put_compact_string(out, item.key)
        put_compact_string(out, item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_info_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicInfo], int]:
    # TopicInfo, versions 0-1
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicInfo] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        partitions, replication_factor, n = _unpack_ihB(data, pos)
        pos += 7
        if n > 127:
            n, pos = read_length(data, pos)
        topic_configs, pos = _read_key_value_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicInfo(name, partitions, replication_factor, topic_configs, unknown_tags))
    return items, pos


def _write_topic_info_array_0(out: bytearray, items: list[TopicInfo]) -> None:
    # TopicInfo, versions 0-1
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_ih(item.partitions, item.replication_factor)
        n = len(item.topic_configs) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_key_value_array_0(out, item.topic_configs)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_copartition_group_array_0(data: bytes, pos: int, count: int) -> tuple[list[CopartitionGroup], int]:
    # CopartitionGroup, versions 0-1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[CopartitionGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        source_topics, pos = read_numbers(data, pos, n - 1, "h")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        source_topic_regex, pos = read_numbers(data, pos, n - 1, "h")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        repartition_source_topics, pos = read_numbers(data, pos, n - 1, "h")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CopartitionGroup(source_topics, source_topic_regex, repartition_source_topics, unknown_tags))
    return items, pos


def _write_copartition_group_array_0(out: bytearray, items: list[CopartitionGroup]) -> None:
    # CopartitionGroup, versions 0-1
    for item in items:
        n = len(item.source_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.source_topics, "h")
        n = len(item.source_topic_regex) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.source_topic_regex, "h")
        n = len(item.repartition_source_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.repartition_source_topics, "h")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_subtopology_array_0(data: bytes, pos: int, count: int) -> tuple[list[Subtopology], int]:
    # Subtopology, versions 0-1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[Subtopology] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subtopology_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        source_topics, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        source_topic_regex, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        state_changelog_topics, pos = _read_topic_info_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        repartition_sink_topics, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        repartition_source_topics, pos = _read_topic_info_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        copartition_groups, pos = _read_copartition_group_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = Subtopology(
            subtopology_id,
            source_topics,
            source_topic_regex,
            state_changelog_topics,
            repartition_sink_topics,
            repartition_source_topics,
            copartition_groups,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_subtopology_array_0(out: bytearray, items: list[Subtopology]) -> None:
    # Subtopology, versions 0-1
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.source_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.source_topics)
        n = len(item.source_topic_regex) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.source_topic_regex)
        n = len(item.state_changelog_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_info_array_0(out, item.state_changelog_topics)
        n = len(item.repartition_sink_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.repartition_sink_topics)
        n = len(item.repartition_source_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_info_array_0(out, item.repartition_source_topics)
        n = len(item.copartition_groups) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_copartition_group_array_0(out, item.copartition_groups)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_0(data: bytes, pos: int) -> tuple[Topology, int]:
    # Topology, versions 0-1
    epoch, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    subtopologies, pos = _read_subtopology_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return Topology(epoch, subtopologies, unknown_tags), pos


def _write_topology_0(out: bytearray, item: Topology) -> None:
    # Topology, versions 0-1
    out += _pack_i(item.epoch)
    n = len(item.subtopologies) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_subtopology_array_0(out, item.subtopologies)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_request_task_ids_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[StreamsGroupHeartbeatRequestTaskIds], int]:
    # TaskIds, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[StreamsGroupHeartbeatRequestTaskIds] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subtopology_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(StreamsGroupHeartbeatRequestTaskIds(subtopology_id, partitions, unknown_tags))
    return items, pos


def _write_streams_group_heartbeat_request_task_ids_array_0(
    out: bytearray, items: list[StreamsGroupHeartbeatRequestTaskIds]
) -> None:
    # TaskIds, versions 0-1
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_request_endpoint_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupHeartbeatRequestEndpoint, int]:
    # Endpoint, versions 0-1
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    host = data[pos:end].decode()
    pos = end
    port, n = _unpack_HB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StreamsGroupHeartbeatRequestEndpoint(host, port, unknown_tags), pos


def _write_streams_group_heartbeat_request_endpoint_0(
    out: bytearray, item: StreamsGroupHeartbeatRequestEndpoint
) -> None:
    # Endpoint, versions 0-1
    put_compact_string(out, item.host)
    out += _pack_H(item.port)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_task_offset_array_0(data: bytes, pos: int, count: int) -> tuple[list[TaskOffset], int]:
    # TaskOffset, versions 0-1
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[TaskOffset] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subtopology_id = data[pos:end].decode()
        pos = end
        partition, offset, n = _unpack_iqB(data, pos)
        pos += 13
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TaskOffset(subtopology_id, partition, offset, unknown_tags))
    return items, pos


def _write_task_offset_array_0(out: bytearray, items: list[TaskOffset]) -> None:
    # TaskOffset, versions 0-1
    for item in items:
        put_compact_string(out, item.subtopology_id)
        out += _pack_iq(item.partition, item.offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_request_0(data: bytes, pos: int) -> tuple[StreamsGroupHeartbeatRequest, int]:
    # StreamsGroupHeartbeatRequest, versions 0-1
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
    member_epoch, endpoint_information_epoch, n = _unpack_iiB(data, pos)
    pos += 9
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
    rebalance_timeout_ms, n = _unpack_ib(data, pos)
    pos += 5
    topology: Topology | None = None
    if n >= 0:
        topology, pos = _read_topology_0(data, pos)
    n = data[pos]
    pos += 1
    active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        active_tasks, pos = _read_streams_group_heartbeat_request_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        standby_tasks, pos = _read_streams_group_heartbeat_request_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        warmup_tasks, pos = _read_streams_group_heartbeat_request_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    process_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        process_id = data[pos:end].decode()
        pos = end
    (n,) = _unpack_b(data, pos)
    pos += 1
    user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = None
    if n >= 0:
        user_endpoint, pos = _read_streams_group_heartbeat_request_endpoint_0(data, pos)
    n = data[pos]
    pos += 1
    client_tags: list[KeyValue] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        client_tags, pos = _read_key_value_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    task_offsets: list[TaskOffset] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        task_offsets, pos = _read_task_offset_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    task_end_offsets: list[TaskOffset] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        task_end_offsets, pos = _read_task_offset_array_0(data, pos, n - 1)
    shutdown_application, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupHeartbeatRequest(
        group_id,
        member_id,
        member_epoch,
        endpoint_information_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        topology,
        active_tasks,
        standby_tasks,
        warmup_tasks,
        process_id,
        user_endpoint,
        client_tags,
        task_offsets,
        task_end_offsets,
        shutdown_application,
        unknown_tags,
    )
    return item, pos


def _write_streams_group_heartbeat_request_0(out: bytearray, item: StreamsGroupHeartbeatRequest) -> None:
    # StreamsGroupHeartbeatRequest, versions 0-1
    put_compact_string(out, item.group_id)
    put_compact_string(out, item.member_id)
    out += _pack_ii(item.member_epoch, item.endpoint_information_epoch)
    if item.instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.instance_id)
    if item.rack_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack_id)
    out += _pack_i(item.rebalance_timeout_ms)
    if item.topology is None:
        out.append(255)
    else:
        out.append(1)
        _write_topology_0(out, item.topology)
    if item.active_tasks is None:
        out.append(0)
    else:
        n = len(item.active_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_request_task_ids_array_0(out, item.active_tasks)
    if item.standby_tasks is None:
        out.append(0)
    else:
        n = len(item.standby_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_request_task_ids_array_0(out, item.standby_tasks)
    if item.warmup_tasks is None:
        out.append(0)
    else:
        n = len(item.warmup_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_request_task_ids_array_0(out, item.warmup_tasks)
    if item.process_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.process_id)
    if item.user_endpoint is None:
        out.append(255)
    else:
        out.append(1)
        _write_streams_group_heartbeat_request_endpoint_0(out, item.user_endpoint)
    if item.client_tags is None:
        out.append(0)
    else:
        n = len(item.client_tags) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_key_value_array_0(out, item.client_tags)
    if item.task_offsets is None:
        out.append(0)
    else:
        n = len(item.task_offsets) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_task_offset_array_0(out, item.task_offsets)
    if item.task_end_offsets is None:
        out.append(0)
    else:
        n = len(item.task_end_offsets) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_task_offset_array_0(out, item.task_end_offsets)
    out += _pack_t(item.shutdown_application)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupHeartbeatRequest(Message):
    """The whole of the KIP-1071 Streams protocol: join, hand in the topology, own tasks, leave.

    * `member_epoch`: 0 joins, -1 leaves, -2 leaves but will come back under the same instance id.
    * `topology`: Sent with the first heartbeat, else null.
    """

    API_KEY = 88
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_heartbeat_request_0, 1: _read_streams_group_heartbeat_request_0}
    ENCODERS = {0: _write_streams_group_heartbeat_request_0, 1: _write_streams_group_heartbeat_request_0}

    FIELDS = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application
        self.unknown_tags = unknown_tags


class Status(Structure):
    """An element of StreamsGroupHeartbeatResponse.Status."""

    FIELDS = ("status_code", "status_detail", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        status_code: int = 0,
        status_detail: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail
        self.unknown_tags = unknown_tags


class TopicPartition(Structure):
    """An element of EndpointToPartitions.ActivePartitions."""

    FIELDS = ("topic", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class StreamsGroupHeartbeatResponseTaskIds(Structure):
    """An element of StreamsGroupHeartbeatResponse.ActiveTasks."""

    FIELDS = ("subtopology_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class StreamsGroupHeartbeatResponseEndpoint(Structure):
    """The value of EndpointToPartitions.UserEndpoint."""

    FIELDS = ("host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


class EndpointToPartitions(Structure):
    """An element of StreamsGroupHeartbeatResponse.PartitionsByUserEndpoint."""

    FIELDS = ("user_endpoint", "active_partitions", "standby_partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        user_endpoint: StreamsGroupHeartbeatResponseEndpoint | None = None,
        active_partitions: list[TopicPartition] = EMPTY,
        standby_partitions: list[TopicPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.user_endpoint = StreamsGroupHeartbeatResponseEndpoint() if user_endpoint is None else user_endpoint
        self.active_partitions = [] if active_partitions is EMPTY else active_partitions
        self.standby_partitions = [] if standby_partitions is EMPTY else standby_partitions
        self.unknown_tags = unknown_tags


def _read_status_array_0(data: bytes, pos: int, count: int) -> tuple[list[Status], int]:
    # Status, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[Status] = []
    for _ in range(count):
        status_code, n = _unpack_bB(data, pos)
        pos += 2
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        status_detail = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Status(status_code, status_detail, unknown_tags))
    return items, pos


def _write_status_array_0(out: bytearray, items: list[Status]) -> None:
    # Status, versions 0-1
    for item in items:
        out += _pack_b(item.status_code)
        put_compact_string(out, item.status_detail)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_response_task_ids_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[StreamsGroupHeartbeatResponseTaskIds], int]:
    # TaskIds, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[StreamsGroupHeartbeatResponseTaskIds] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subtopology_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(StreamsGroupHeartbeatResponseTaskIds(subtopology_id, partitions, unknown_tags))
    return items, pos


def _write_streams_group_heartbeat_response_task_ids_array_0(
    out: bytearray, items: list[StreamsGroupHeartbeatResponseTaskIds]
) -> None:
    # TaskIds, versions 0-1
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_response_endpoint_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupHeartbeatResponseEndpoint, int]:
    # Endpoint, versions 0-1
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    host = data[pos:end].decode()
    pos = end
    port, n = _unpack_HB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StreamsGroupHeartbeatResponseEndpoint(host, port, unknown_tags), pos


def _write_streams_group_heartbeat_response_endpoint_0(
    out: bytearray, item: StreamsGroupHeartbeatResponseEndpoint
) -> None:
    # Endpoint, versions 0-1
    put_compact_string(out, item.host)
    out += _pack_H(item.port)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_partition_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicPartition], int]:
    # TopicPartition, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartition] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicPartition(topic, partitions, unknown_tags))
    return items, pos


def _write_topic_partition_array_0(out: bytearray, items: list[TopicPartition]) -> None:
    # TopicPartition, versions 0-1
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_endpoint_to_partitions_array_0(data: bytes, pos: int, count: int) -> tuple[list[EndpointToPartitions], int]:
    # EndpointToPartitions, versions 0-1
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndpointToPartitions] = []
    for _ in range(count):
        user_endpoint, pos = _read_streams_group_heartbeat_response_endpoint_0(data, pos)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        active_partitions, pos = _read_topic_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        standby_partitions, pos = _read_topic_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(EndpointToPartitions(user_endpoint, active_partitions, standby_partitions, unknown_tags))
    return items, pos


def _write_endpoint_to_partitions_array_0(out: bytearray, items: list[EndpointToPartitions]) -> None:
    # EndpointToPartitions, versions 0-1
    for item in items:
        _write_streams_group_heartbeat_response_endpoint_0(out, item.user_endpoint)
        n = len(item.active_partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_partition_array_0(out, item.active_partitions)
        n = len(item.standby_partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_partition_array_0(out, item.standby_partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_response_0(data: bytes, pos: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
    # StreamsGroupHeartbeatResponse, version 0
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
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    (
        member_epoch,
        heartbeat_interval_ms,
        acceptable_recovery_lag_legacy,
        task_offset_interval_ms,
        n,
    ) = _unpack_iiiiB(data, pos)
    pos += 17
    status: list[Status] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        status, pos = _read_status_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        active_tasks, pos = _read_streams_group_heartbeat_response_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        standby_tasks, pos = _read_streams_group_heartbeat_response_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        warmup_tasks, pos = _read_streams_group_heartbeat_response_task_ids_array_0(data, pos, n - 1)
    endpoint_information_epoch, n = _unpack_iB(data, pos)
    pos += 5
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        partitions_by_user_endpoint, pos = _read_endpoint_to_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupHeartbeatResponse(
        throttle_time_ms,
        error_code,
        error_message,
        member_id,
        member_epoch,
        heartbeat_interval_ms,
        acceptable_recovery_lag_legacy,
        task_offset_interval_ms,
        -1,
        status,
        active_tasks,
        standby_tasks,
        warmup_tasks,
        False,
        endpoint_information_epoch,
        partitions_by_user_endpoint,
        unknown_tags,
    )
    return item, pos


def _write_streams_group_heartbeat_response_0(out: bytearray, item: StreamsGroupHeartbeatResponse) -> None:
    # StreamsGroupHeartbeatResponse, version 0
    if item.topology_description_required:
        raise not_in_version("StreamsGroupHeartbeatResponse", "topology_description_required")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    put_compact_string(out, item.member_id)
    out += _pack_iiii(
        item.member_epoch, item.heartbeat_interval_ms, item.acceptable_recovery_lag_legacy, item.task_offset_interval_ms
    )
    if item.status is None:
        out.append(0)
    else:
        n = len(item.status) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_status_array_0(out, item.status)
    if item.active_tasks is None:
        out.append(0)
    else:
        n = len(item.active_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_response_task_ids_array_0(out, item.active_tasks)
    if item.standby_tasks is None:
        out.append(0)
    else:
        n = len(item.standby_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_response_task_ids_array_0(out, item.standby_tasks)
    if item.warmup_tasks is None:
        out.append(0)
    else:
        n = len(item.warmup_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_response_task_ids_array_0(out, item.warmup_tasks)
    out += _pack_i(item.endpoint_information_epoch)
    if item.partitions_by_user_endpoint is None:
        out.append(0)
    else:
        n = len(item.partitions_by_user_endpoint) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_endpoint_to_partitions_array_0(out, item.partitions_by_user_endpoint)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_heartbeat_response_1(data: bytes, pos: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
    # StreamsGroupHeartbeatResponse, version 1
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
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    (
        member_epoch,
        heartbeat_interval_ms,
        task_offset_interval_ms,
        acceptable_recovery_lag,
        n,
    ) = _unpack_iiiqB(data, pos)
    pos += 21
    status: list[Status] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        status, pos = _read_status_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        active_tasks, pos = _read_streams_group_heartbeat_response_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        standby_tasks, pos = _read_streams_group_heartbeat_response_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        warmup_tasks, pos = _read_streams_group_heartbeat_response_task_ids_array_0(data, pos, n - 1)
    topology_description_required, endpoint_information_epoch, n = _unpack_tiB(data, pos)
    pos += 6
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        partitions_by_user_endpoint, pos = _read_endpoint_to_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupHeartbeatResponse(
        throttle_time_ms,
        error_code,
        error_message,
        member_id,
        member_epoch,
        heartbeat_interval_ms,
        0,
        task_offset_interval_ms,
        acceptable_recovery_lag,
        status,
        active_tasks,
        standby_tasks,
        warmup_tasks,
        topology_description_required,
        endpoint_information_epoch,
        partitions_by_user_endpoint,
        unknown_tags,
    )
    return item, pos


def _write_streams_group_heartbeat_response_1(out: bytearray, item: StreamsGroupHeartbeatResponse) -> None:
    # StreamsGroupHeartbeatResponse, version 1
    if item.acceptable_recovery_lag_legacy != 0:
        raise not_in_version("StreamsGroupHeartbeatResponse", "acceptable_recovery_lag_legacy")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    put_compact_string(out, item.member_id)
    out += _pack_iiiq(
        item.member_epoch, item.heartbeat_interval_ms, item.task_offset_interval_ms, item.acceptable_recovery_lag
    )
    if item.status is None:
        out.append(0)
    else:
        n = len(item.status) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_status_array_0(out, item.status)
    if item.active_tasks is None:
        out.append(0)
    else:
        n = len(item.active_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_response_task_ids_array_0(out, item.active_tasks)
    if item.standby_tasks is None:
        out.append(0)
    else:
        n = len(item.standby_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_response_task_ids_array_0(out, item.standby_tasks)
    if item.warmup_tasks is None:
        out.append(0)
    else:
        n = len(item.warmup_tasks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_streams_group_heartbeat_response_task_ids_array_0(out, item.warmup_tasks)
    out += _pack_ti(item.topology_description_required, item.endpoint_information_epoch)
    if item.partitions_by_user_endpoint is None:
        out.append(0)
    else:
        n = len(item.partitions_by_user_endpoint) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_endpoint_to_partitions_array_0(out, item.partitions_by_user_endpoint)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupHeartbeatResponse(Message):
    """The member's epoch and, when they change, its tasks.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `topology_description_required`: Whether the member is asked to send what its topology consists of.
    """

    API_KEY = 88
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_heartbeat_response_0, 1: _read_streams_group_heartbeat_response_1}
    ENCODERS = {0: _write_streams_group_heartbeat_response_0, 1: _write_streams_group_heartbeat_response_1}

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag_legacy",
        "task_offset_interval_ms",
        "acceptable_recovery_lag",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "topology_description_required",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag_legacy: int = 0,
        task_offset_interval_ms: int = 0,
        acceptable_recovery_lag: int = -1,
        status: list[Status] | None = EMPTY,
        active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None,
        topology_description_required: bool = False,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag_legacy = acceptable_recovery_lag_legacy
        self.task_offset_interval_ms = task_offset_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.status = [] if status is EMPTY else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.topology_description_required = topology_description_required
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
        self.unknown_tags = unknown_tags
