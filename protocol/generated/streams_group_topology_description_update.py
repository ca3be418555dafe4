"""StreamsGroupTopologyDescriptionUpdateRequest 0 and StreamsGroupTopologyDescriptionUpdateResponse 0.

Generated from schemas/rpc/StreamsGroupTopologyDescriptionUpdateRequest.json and
schemas/rpc/StreamsGroupTopologyDescriptionUpdateResponse.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
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
    put_compact_string,
    put_compact_strings,
    read_compact_strings,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_bB = Struct(">bB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_b = Struct(">b").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


class TopologyDescription(Structure):
    """The value of StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription."""

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


def _read_topology_description_node_0(data: bytes, pos: int) -> tuple[TopologyDescriptionNode, int]:
    # TopologyDescriptionNode, version 0
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


def _read_topology_description_node_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TopologyDescriptionNode], int]:
    # TopologyDescriptionNode, version 0
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


def _write_topology_description_node_0(out: bytearray, item: TopologyDescriptionNode) -> None:
    # TopologyDescriptionNode, version 0
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


def _write_topology_description_node_array_0(out: bytearray, items: list[TopologyDescriptionNode]) -> None:
    # TopologyDescriptionNode, version 0
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


def _read_topology_description_subtopology_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TopologyDescriptionSubtopology], int]:
    # TopologyDescriptionSubtopology, version 0
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
        nodes, pos = _read_topology_description_node_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopologyDescriptionSubtopology(subtopology_id, nodes, unknown_tags))
    return items, pos


def _write_topology_description_subtopology_array_0(
    out: bytearray, items: list[TopologyDescriptionSubtopology]
) -> None:
    # TopologyDescriptionSubtopology, version 0
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.nodes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topology_description_node_array_0(out, item.nodes)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_description_global_store_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TopologyDescriptionGlobalStore], int]:
    # TopologyDescriptionGlobalStore, version 0
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopologyDescriptionGlobalStore] = []
    for _ in range(count):
        source, pos = _read_topology_description_node_0(data, pos)
        processor, pos = _read_topology_description_node_0(data, pos)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopologyDescriptionGlobalStore(source, processor, unknown_tags))
    return items, pos


def _write_topology_description_global_store_array_0(
    out: bytearray, items: list[TopologyDescriptionGlobalStore]
) -> None:
    # TopologyDescriptionGlobalStore, version 0
    for item in items:
        _write_topology_description_node_0(out, item.source)
        _write_topology_description_node_0(out, item.processor)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topology_description_0(data: bytes, pos: int) -> tuple[TopologyDescription, int]:
    # TopologyDescription, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    subtopologies, pos = _read_topology_description_subtopology_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    global_stores, pos = _read_topology_description_global_store_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return TopologyDescription(subtopologies, global_stores, unknown_tags), pos


def _write_topology_description_0(out: bytearray, item: TopologyDescription) -> None:
    # TopologyDescription, version 0
    n = len(item.subtopologies) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topology_description_subtopology_array_0(out, item.subtopologies)
    n = len(item.global_stores) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topology_description_global_store_array_0(out, item.global_stores)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_topology_description_update_request_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupTopologyDescriptionUpdateRequest, int]:
    # StreamsGroupTopologyDescriptionUpdateRequest, version 0
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
    (topology_epoch,) = _unpack_i(data, pos)
    pos += 4
    topology_description, pos = _read_topology_description_0(data, pos)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupTopologyDescriptionUpdateRequest(
        group_id, member_id, topology_epoch, topology_description, unknown_tags
    )
    return item, pos


def _write_streams_group_topology_description_update_request_0(
    out: bytearray, item: StreamsGroupTopologyDescriptionUpdateRequest
) -> None:
    # StreamsGroupTopologyDescriptionUpdateRequest, version 0
    put_compact_string(out, item.group_id)
    put_compact_string(out, item.member_id)
    out += _pack_i(item.topology_epoch)
    _write_topology_description_0(out, item.topology_description)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    """What the topology of a Streams group consists of, as one of its members has it."""

    API_KEY = 93
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_topology_description_update_request_0}
    ENCODERS = {0: _write_streams_group_topology_description_update_request_0}

    FIELDS = ("group_id", "member_id", "topology_epoch", "topology_description", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        topology_epoch: int = 0,
        topology_description: TopologyDescription | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.topology_epoch = topology_epoch
        self.topology_description = TopologyDescription() if topology_description is None else topology_description
        self.unknown_tags = unknown_tags


def _read_streams_group_topology_description_update_response_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupTopologyDescriptionUpdateResponse, int]:
    # StreamsGroupTopologyDescriptionUpdateResponse, version 0
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
    return StreamsGroupTopologyDescriptionUpdateResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_streams_group_topology_description_update_response_0(
    out: bytearray, item: StreamsGroupTopologyDescriptionUpdateResponse
) -> None:
    # StreamsGroupTopologyDescriptionUpdateResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    """Whether the topology was taken.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 93
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_topology_description_update_response_0}
    ENCODERS = {0: _write_streams_group_topology_description_update_response_0}

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
