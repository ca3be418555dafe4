"""StreamsGroupDescribeRequest 0-1 and StreamsGroupDescribeResponse 0-1.

Generated from schemas/rpc/StreamsGroupDescribeRequest.json and schemas/rpc/StreamsGroupDescribeResponse.json (Apache
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

_unpack_ttB = Struct(">??B").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_HB = Struct(">HB").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ib = Struct(">ib").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iib = Struct(">iib").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_t = Struct(">?").pack
_pack_tt = Struct(">??").pack
_pack_H = Struct(">H").pack
_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack


def _read_streams_group_describe_request_0(data: bytes, pos: int) -> tuple[StreamsGroupDescribeRequest, int]:
    # StreamsGroupDescribeRequest, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    group_ids, pos = read_compact_strings(data, pos, n - 1)
    include_authorized_operations, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StreamsGroupDescribeRequest(group_ids, include_authorized_operations, False, unknown_tags), pos


def _write_streams_group_describe_request_0(out: bytearray, item: StreamsGroupDescribeRequest) -> None:
    # StreamsGroupDescribeRequest, version 0
    if item.include_topology_description:
        raise not_in_version("StreamsGroupDescribeRequest", "include_topology_description")
    n = len(item.group_ids) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.group_ids)
    out += _pack_t(item.include_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_describe_request_1(data: bytes, pos: int) -> tuple[StreamsGroupDescribeRequest, int]:
    # StreamsGroupDescribeRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    group_ids, pos = read_compact_strings(data, pos, n - 1)
    include_authorized_operations, include_topology_description, n = _unpack_ttB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupDescribeRequest(
        group_ids, include_authorized_operations, include_topology_description, unknown_tags
    )
    return item, pos


def _write_streams_group_describe_request_1(out: bytearray, item: StreamsGroupDescribeRequest) -> None:
    # StreamsGroupDescribeRequest, version 1
    n = len(item.group_ids) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.group_ids)
    out += _pack_tt(item.include_authorized_operations, item.include_topology_description)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupDescribeRequest(Message):
    """Describes Streams groups.

    * `include_authorized_operations`: Whether to tell what the client may do.
    * `include_topology_description`: Whether the processors of the topology are asked for, too.
    """

    API_KEY = 89
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_describe_request_0, 1: _read_streams_group_describe_request_1}
    ENCODERS = {0: _write_streams_group_describe_request_0, 1: _write_streams_group_describe_request_1}

    FIELDS = ("group_ids", "include_authorized_operations", "include_topology_description", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_ids: list[str] = EMPTY,
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_ids = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.include_topology_description = include_topology_description
        self.unknown_tags = unknown_tags


class Endpoint(Structure):
    """The value of Member.UserEndpoint."""

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
    """An element of Member.TaskOffsets."""

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


class Assignment(Structure):
    """The value of Member.Assignment."""

    FIELDS = ("active_tasks", "standby_tasks", "warmup_tasks", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        active_tasks: list[TaskIds] = EMPTY,
        standby_tasks: list[TaskIds] = EMPTY,
        warmup_tasks: list[TaskIds] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.active_tasks = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is EMPTY else warmup_tasks
        self.unknown_tags = unknown_tags


class TaskIds(Structure):
    """An element of Assignment.ActiveTasks."""

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


class KeyValue(Structure):
    """An element of TopicInfo.TopicConfigs."""

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


class TopologyDescription(Structure):
    """The value of DescribedGroup.TopologyDescription."""

    FIELDS = ("subtopologies", "global_stores", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopologies: list[TopologyDescriptionSubtopology] = EMPTY,
        global_stores: list[TopologyDescriptionGlobalStore] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopologies = [] if subtopologies is EMPTY else subtopologies
        self.global_stores = [] if global_stores is EMPTY else global_stores
        self.unknown_tags = unknown_tags


class TopologyDescriptionSubtopology(Structure):
    """An element of TopologyDescription.Subtopologies."""

    FIELDS = ("subtopology_id", "nodes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        nodes: list[TopologyDescriptionNode] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.nodes = [] if nodes is EMPTY else nodes
        self.unknown_tags = unknown_tags


class TopologyDescriptionNode(Structure):
    """An element of TopologyDescriptionSubtopology.Nodes.

    * `node_type`: 1 for a source, 2 for a processor, 3 for a sink.
    * `successors`: The nodes that get what this one puts out.
    """

    FIELDS = ("name", "node_type", "source_topics", "sink_topic", "stores", "successors", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        node_type: int = 0,
        source_topics: list[str] = EMPTY,
        sink_topic: str | None = None,
        stores: list[str] = EMPTY,
        successors: list[str] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.node_type = node_type
        self.source_topics = [] if source_topics is EMPTY else source_topics
        self.sink_topic = sink_topic
        self.stores = [] if stores is EMPTY else stores
        self.successors = [] if successors is EMPTY else successors
        self.unknown_tags = unknown_tags


class TopologyDescriptionGlobalStore(Structure):
    """An element of TopologyDescription.GlobalStores."""

    FIELDS = ("source", "processor", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        source: TopologyDescriptionNode | None = None,
        processor: TopologyDescriptionNode | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.source = TopologyDescriptionNode() if source is None else source
        self.processor = TopologyDescriptionNode() if processor is None else processor
        self.unknown_tags = unknown_tags


class DescribedGroup(Structure):
    """An element of StreamsGroupDescribeResponse.Groups.

    * `authorized_operations`: Bit field of ACL operations the client may do; -2147483648 if it was not asked for.
    * `topology_description`: The processors of the topology, where they were asked for and are known.
    """

    FIELDS = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "topology",
        "members",
        "authorized_operations",
        "topology_description",
        "topology_description_status",
        "assignor_name",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: list[Member] = EMPTY,
        authorized_operations: int = -2147483648,
        topology_description: TopologyDescription | None = None,
        topology_description_status: int = 0,
        assignor_name: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations
        self.topology_description = topology_description
        self.topology_description_status = topology_description_status
        self.assignor_name = assignor_name
        self.unknown_tags = unknown_tags


class Topology(Structure):
    """The value of DescribedGroup.Topology."""

    FIELDS = ("epoch", "subtopologies", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies
        self.unknown_tags = unknown_tags


class Subtopology(Structure):
    """An element of Topology.Subtopologies."""

    FIELDS = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = EMPTY,
        repartition_sink_topics: list[str] = EMPTY,
        state_changelog_topics: list[TopicInfo] = EMPTY,
        repartition_source_topics: list[TopicInfo] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is EMPTY else source_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is EMPTY else repartition_sink_topics
        self.state_changelog_topics = [] if state_changelog_topics is EMPTY else state_changelog_topics
        self.repartition_source_topics = [] if repartition_source_topics is EMPTY else repartition_source_topics
        self.unknown_tags = unknown_tags


class Member(Structure):
    """An element of DescribedGroup.Members."""

    FIELDS = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = EMPTY,
        task_offsets: list[TaskOffset] = EMPTY,
        task_end_offsets: list[TaskOffset] = EMPTY,
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        is_classic: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is EMPTY else client_tags
        self.task_offsets = [] if task_offsets is EMPTY else task_offsets
        self.task_end_offsets = [] if task_end_offsets is EMPTY else task_end_offsets
        self.assignment = Assignment() if assignment is None else assignment
        self.target_assignment = Assignment() if target_assignment is None else target_assignment
        self.is_classic = is_classic
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


def _read_subtopology_array_0(data: bytes, pos: int, count: int) -> tuple[list[Subtopology], int]:
    # Subtopology, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
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
        repartition_sink_topics, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        state_changelog_topics, pos = _read_topic_info_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        repartition_source_topics, pos = _read_topic_info_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = Subtopology(
            subtopology_id,
            source_topics,
            repartition_sink_topics,
            state_changelog_topics,
            repartition_source_topics,
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
        n = len(item.repartition_sink_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.repartition_sink_topics)
        n = len(item.state_changelog_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_info_array_0(out, item.state_changelog_topics)
        n = len(item.repartition_source_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_info_array_0(out, item.repartition_source_topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_0(data: bytes, pos: int) -> tuple[Topology, int]:
    # Topology, versions 0-1
    epoch, n = _unpack_iB(data, pos)
    pos += 5
    subtopologies: list[Subtopology] | None = None
    if n:
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
    if item.subtopologies is None:
        out.append(0)
    else:
        n = len(item.subtopologies) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_subtopology_array_0(out, item.subtopologies)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_endpoint_0(data: bytes, pos: int) -> tuple[Endpoint, int]:
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
    return Endpoint(host, port, unknown_tags), pos


def _write_endpoint_0(out: bytearray, item: Endpoint) -> None:
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


def _read_task_ids_array_0(data: bytes, pos: int, count: int) -> tuple[list[TaskIds], int]:
    # TaskIds, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TaskIds] = []
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
        items.append(TaskIds(subtopology_id, partitions, unknown_tags))
    return items, pos


def _write_task_ids_array_0(out: bytearray, items: list[TaskIds]) -> None:
    # TaskIds, versions 0-1
    for item in items:
        put_compact_string(out, item.subtopology_id)
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
    active_tasks, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    standby_tasks, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    warmup_tasks, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return Assignment(active_tasks, standby_tasks, warmup_tasks, unknown_tags), pos


def _write_assignment_0(out: bytearray, item: Assignment) -> None:
    # Assignment, versions 0-1
    n = len(item.active_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.active_tasks)
    n = len(item.standby_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.standby_tasks)
    n = len(item.warmup_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.warmup_tasks)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_member_array_0(data: bytes, pos: int, count: int) -> tuple[list[Member], int]:
    # Member, versions 0-1
    if not 0 <= count * 28 <= len(data) - pos:
        raise bad_count(count)
    items: list[Member] = []
    for _ in range(count):
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
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        client_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        client_host = data[pos:end].decode()
        pos = end
        topology_epoch, n = _unpack_iB(data, pos)
        pos += 5
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        process_id = data[pos:end].decode()
        pos = end
        (n,) = _unpack_b(data, pos)
        pos += 1
        user_endpoint: Endpoint | None = None
        if n >= 0:
            user_endpoint, pos = _read_endpoint_0(data, pos)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        client_tags, pos = _read_key_value_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        task_offsets, pos = _read_task_offset_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        task_end_offsets, pos = _read_task_offset_array_0(data, pos, n - 1)
        assignment, pos = _read_assignment_0(data, pos)
        target_assignment, pos = _read_assignment_0(data, pos)
        is_classic, n = _unpack_tB(data, pos)
        pos += 2
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = Member(
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            client_id,
            client_host,
            topology_epoch,
            process_id,
            user_endpoint,
            client_tags,
            task_offsets,
            task_end_offsets,
            assignment,
            target_assignment,
            is_classic,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_member_array_0(out: bytearray, items: list[Member]) -> None:
    # Member, versions 0-1
    for item in items:
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
        put_compact_string(out, item.client_id)
        put_compact_string(out, item.client_host)
        out += _pack_i(item.topology_epoch)
        put_compact_string(out, item.process_id)
        if item.user_endpoint is None:
            out.append(255)
        else:
            out.append(1)
            _write_endpoint_0(out, item.user_endpoint)
        n = len(item.client_tags) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_key_value_array_0(out, item.client_tags)
        n = len(item.task_offsets) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_task_offset_array_0(out, item.task_offsets)
        n = len(item.task_end_offsets) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_task_offset_array_0(out, item.task_end_offsets)
        _write_assignment_0(out, item.assignment)
        _write_assignment_0(out, item.target_assignment)
        out += _pack_t(item.is_classic)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_group_array_0(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 0
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
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
        group_state = data[pos:end].decode()
        pos = end
        group_epoch, assignment_epoch, n = _unpack_iib(data, pos)
        pos += 9
        topology: Topology | None = None
        if n >= 0:
            topology, pos = _read_topology_0(data, pos)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        members, pos = _read_member_array_0(data, pos, n - 1)
        authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            topology,
            members,
            authorized_operations,
            None,
            0,
            None,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_group_array_0(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 0
    for item in items:
        if item.topology_description is not None:
            raise not_in_version("DescribedGroup", "topology_description")
        if item.topology_description_status != 0:
            raise not_in_version("DescribedGroup", "topology_description_status")
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.group_state)
        out += _pack_ii(item.group_epoch, item.assignment_epoch)
        if item.topology is None:
            out.append(255)
        else:
            out.append(1)
            _write_topology_0(out, item.topology)
        n = len(item.members) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_member_array_0(out, item.members)
        out += _pack_i(item.authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_describe_response_0(data: bytes, pos: int) -> tuple[StreamsGroupDescribeResponse, int]:
    # StreamsGroupDescribeResponse, version 0
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_described_group_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StreamsGroupDescribeResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_streams_group_describe_response_0(out: bytearray, item: StreamsGroupDescribeResponse) -> None:
    # StreamsGroupDescribeResponse, version 0
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_group_array_0(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_description_node_1(data: bytes, pos: int) -> tuple[TopologyDescriptionNode, int]:
    # TopologyDescriptionNode, version 1
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    name = data[pos:end].decode()
    pos = end
    node_type, n = _unpack_bB(data, pos)
    pos += 2
    if n > 127:
        n, pos = read_length(data, pos)
    source_topics, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    sink_topic: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        sink_topic = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    stores, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    successors, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return TopologyDescriptionNode(name, node_type, source_topics, sink_topic, stores, successors, unknown_tags), pos


def _read_topology_description_node_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[TopologyDescriptionNode], int]:
    # TopologyDescriptionNode, version 1
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopologyDescriptionNode] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        node_type, n = _unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = read_length(data, pos)
        source_topics, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        sink_topic: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            sink_topic = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        stores, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        successors, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = TopologyDescriptionNode(name, node_type, source_topics, sink_topic, stores, successors, unknown_tags)
        items.append(item)
    return items, pos


def _write_topology_description_node_1(out: bytearray, item: TopologyDescriptionNode) -> None:
    # TopologyDescriptionNode, version 1
    put_compact_string(out, item.name)
    out += _pack_b(item.node_type)
    n = len(item.source_topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.source_topics)
    if item.sink_topic is None:
        out.append(0)
    else:
        put_compact_string(out, item.sink_topic)
    n = len(item.stores) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.stores)
    n = len(item.successors) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.successors)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _write_topology_description_node_array_1(out: bytearray, items: list[TopologyDescriptionNode]) -> None:
    # TopologyDescriptionNode, version 1
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_b(item.node_type)
        n = len(item.source_topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.source_topics)
        if item.sink_topic is None:
            out.append(0)
        else:
            put_compact_string(out, item.sink_topic)
        n = len(item.stores) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.stores)
        n = len(item.successors) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.successors)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_description_subtopology_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[TopologyDescriptionSubtopology], int]:
    # TopologyDescriptionSubtopology, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopologyDescriptionSubtopology] = []
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
        nodes, pos = _read_topology_description_node_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopologyDescriptionSubtopology(subtopology_id, nodes, unknown_tags))
    return items, pos


def _write_topology_description_subtopology_array_1(
    out: bytearray, items: list[TopologyDescriptionSubtopology]
) -> None:
    # TopologyDescriptionSubtopology, version 1
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.nodes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topology_description_node_array_1(out, item.nodes)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_description_global_store_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[TopologyDescriptionGlobalStore], int]:
    # TopologyDescriptionGlobalStore, version 1
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopologyDescriptionGlobalStore] = []
    for _ in range(count):
        source, pos = _read_topology_description_node_1(data, pos)
        processor, pos = _read_topology_description_node_1(data, pos)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopologyDescriptionGlobalStore(source, processor, unknown_tags))
    return items, pos


def _write_topology_description_global_store_array_1(
    out: bytearray, items: list[TopologyDescriptionGlobalStore]
) -> None:
    # TopologyDescriptionGlobalStore, version 1
    for item in items:
        _write_topology_description_node_1(out, item.source)
        _write_topology_description_node_1(out, item.processor)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_description_1(data: bytes, pos: int) -> tuple[TopologyDescription, int]:
    # TopologyDescription, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    subtopologies, pos = _read_topology_description_subtopology_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    global_stores, pos = _read_topology_description_global_store_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return TopologyDescription(subtopologies, global_stores, unknown_tags), pos


def _write_topology_description_1(out: bytearray, item: TopologyDescription) -> None:
    # TopologyDescription, version 1
    n = len(item.subtopologies) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topology_description_subtopology_array_1(out, item.subtopologies)
    n = len(item.global_stores) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topology_description_global_store_array_1(out, item.global_stores)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_group_array_1(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 1
    if not 0 <= count * 23 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
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
        group_state = data[pos:end].decode()
        pos = end
        group_epoch, assignment_epoch, n = _unpack_iib(data, pos)
        pos += 9
        topology: Topology | None = None
        if n >= 0:
            topology, pos = _read_topology_0(data, pos)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        members, pos = _read_member_array_0(data, pos, n - 1)
        authorized_operations, n = _unpack_ib(data, pos)
        pos += 5
        topology_description: TopologyDescription | None = None
        if n >= 0:
            topology_description, pos = _read_topology_description_1(data, pos)
        topology_description_status, n = _unpack_bB(data, pos)
        pos += 2
        assignor_name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            assignor_name = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            topology,
            members,
            authorized_operations,
            topology_description,
            topology_description_status,
            assignor_name,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_group_array_1(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 1
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.group_state)
        out += _pack_ii(item.group_epoch, item.assignment_epoch)
        if item.topology is None:
            out.append(255)
        else:
            out.append(1)
            _write_topology_0(out, item.topology)
        n = len(item.members) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_member_array_0(out, item.members)
        out += _pack_i(item.authorized_operations)
        if item.topology_description is None:
            out.append(255)
        else:
            out.append(1)
            _write_topology_description_1(out, item.topology_description)
        out += _pack_b(item.topology_description_status)
        if item.assignor_name is None:
            out.append(0)
        else:
            put_compact_string(out, item.assignor_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_describe_response_1(data: bytes, pos: int) -> tuple[StreamsGroupDescribeResponse, int]:
    # StreamsGroupDescribeResponse, version 1
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_described_group_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StreamsGroupDescribeResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_streams_group_describe_response_1(out: bytearray, item: StreamsGroupDescribeResponse) -> None:
    # StreamsGroupDescribeResponse, version 1
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_group_array_1(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupDescribeResponse(Message):
    """State, topology and members of each Streams group.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 89
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_describe_response_0, 1: _read_streams_group_describe_response_1}
    ENCODERS = {0: _write_streams_group_describe_response_0, 1: _write_streams_group_describe_response_1}

    FIELDS = ("throttle_time_ms", "groups", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups
        self.unknown_tags = unknown_tags
