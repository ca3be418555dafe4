"""StreamsGroupTopologyKey 0 and StreamsGroupTopologyValue 0.

Generated from schemas/records/StreamsGroupTopologyKey.json and schemas/records/StreamsGroupTopologyValue.json (Apache
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
    bad_length,
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

_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_streams_group_topology_key_0(data: bytes, pos: int) -> tuple[StreamsGroupTopologyKey, int]:
    # StreamsGroupTopologyKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return StreamsGroupTopologyKey(group_id), pos


def _write_streams_group_topology_key_0(out: bytearray, item: StreamsGroupTopologyKey) -> None:
    # StreamsGroupTopologyKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class StreamsGroupTopologyKey(Message):
    """__consumer_offsets, type 23: a Streams group's topology."""

    API_KEY = 23
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_streams_group_topology_key_0}
    ENCODERS = {0: _write_streams_group_topology_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


class TopicConfig(Structure):
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
        topic_configs: list[TopicConfig] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is EMPTY else topic_configs
        self.unknown_tags = unknown_tags


class Subtopology(Structure):
    """An element of StreamsGroupTopologyValue.Subtopologies."""

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


def _read_topic_config_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicConfig], int]:
    # TopicConfig, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicConfig] = []
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
        items.append(TopicConfig(key, value, unknown_tags))
    return items, pos


def _write_topic_config_array_0(out: bytearray, items: list[TopicConfig]) -> None:
    # TopicConfig, version 0
    for item in items:
        put_compact_string(out, item.key)
        put_compact_string(out, item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_info_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicInfo], int]:
    # TopicInfo, version 0
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
        topic_configs, pos = _read_topic_config_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicInfo(name, partitions, replication_factor, topic_configs, unknown_tags))
    return items, pos


def _write_topic_info_array_0(out: bytearray, items: list[TopicInfo]) -> None:
    # TopicInfo, version 0
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_ih(item.partitions, item.replication_factor)
        n = len(item.topic_configs) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_config_array_0(out, item.topic_configs)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_copartition_group_array_0(data: bytes, pos: int, count: int) -> tuple[list[CopartitionGroup], int]:
    # CopartitionGroup, version 0
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
    # CopartitionGroup, version 0
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
    # Subtopology, version 0
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
    # Subtopology, version 0
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


def _read_streams_group_topology_value_0(data: bytes, pos: int) -> tuple[StreamsGroupTopologyValue, int]:
    # StreamsGroupTopologyValue, version 0
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
    return StreamsGroupTopologyValue(epoch, subtopologies, unknown_tags), pos


def _write_streams_group_topology_value_0(out: bytearray, item: StreamsGroupTopologyValue) -> None:
    # StreamsGroupTopologyValue, version 0
    out += _pack_i(item.epoch)
    n = len(item.subtopologies) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_subtopology_array_0(out, item.subtopologies)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupTopologyValue(Message):
    """__consumer_offsets, type 23."""

    API_KEY = 23
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_topology_value_0}
    ENCODERS = {0: _write_streams_group_topology_value_0}

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
