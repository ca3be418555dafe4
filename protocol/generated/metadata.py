"""MetadataRequest 0-13 and MetadataResponse 0-13.

Generated from schemas/rpc/MetadataRequest.json and schemas/rpc/MetadataResponse.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
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
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_utB = Struct(">16s?B").unpack_from
_unpack_uB = Struct(">16sB").unpack_from
_unpack_ttt = Struct(">???").unpack_from
_unpack_tttB = Struct(">???B").unpack_from
_unpack_ttB = Struct(">??B").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_ti = Struct(">?i").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_hiii = Struct(">hiii").unpack_from
_unpack_hiiiB = Struct(">hiiiB").unpack_from
_unpack_hiiii = Struct(">hiiii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_u = Struct(">16s").pack
_pack_ut = Struct(">16s?").pack
_pack_t = Struct(">?").pack
_pack_tt = Struct(">??").pack
_pack_ttt = Struct(">???").pack
_pack_ti = Struct(">?i").pack
_pack_h = Struct(">h").pack
_pack_hh = Struct(">hh").pack
_pack_hiii = Struct(">hiii").pack
_pack_hiiii = Struct(">hiiii").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack


class MetadataRequestTopic(Structure):
    """An element of MetadataRequest.Topics."""

    FIELDS = ("topic_id", "name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        name: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.name = name
        self.unknown_tags = unknown_tags


def _read_metadata_request_topic_array_0(data: bytes, pos: int, count: int) -> tuple[list[MetadataRequestTopic], int]:
    # MetadataRequestTopic, versions 0-8
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        items.append(MetadataRequestTopic(ZERO_UUID, name))
    return items, pos


def _write_metadata_request_topic_array_0(out: bytearray, items: list[MetadataRequestTopic]) -> None:
    # MetadataRequestTopic, versions 0-8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataRequestTopic", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("MetadataRequestTopic", "name")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_metadata_request_0(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_metadata_request_topic_array_0(data, pos, n)
    return MetadataRequest(topics, True, False, False), pos


def _write_metadata_request_0(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, version 0
    if not item.allow_auto_topic_creation:
        raise not_in_version("MetadataRequest", "allow_auto_topic_creation")
    if item.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest", "include_cluster_authorized_operations")
    if item.include_topic_authorized_operations:
        raise not_in_version("MetadataRequest", "include_topic_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataRequest", "unknown_tags")
    if item.topics is None:
        raise null_not_allowed("MetadataRequest", "topics")
    out += _pack_i(len(item.topics))
    _write_metadata_request_topic_array_0(out, item.topics)


def _read_metadata_request_1(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, versions 1-3
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None = None
    if n != -1:
        topics, pos = _read_metadata_request_topic_array_0(data, pos, n)
    return MetadataRequest(topics, True, False, False), pos


def _write_metadata_request_1(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, versions 1-3
    if not item.allow_auto_topic_creation:
        raise not_in_version("MetadataRequest", "allow_auto_topic_creation")
    if item.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest", "include_cluster_authorized_operations")
    if item.include_topic_authorized_operations:
        raise not_in_version("MetadataRequest", "include_topic_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataRequest", "unknown_tags")
    if item.topics is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topics))
        _write_metadata_request_topic_array_0(out, item.topics)


def _read_metadata_request_4(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, versions 4-7
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None = None
    if n != -1:
        topics, pos = _read_metadata_request_topic_array_0(data, pos, n)
    allow_auto_topic_creation = data[pos] != 0
    pos += 1
    return MetadataRequest(topics, allow_auto_topic_creation, False, False), pos


def _write_metadata_request_4(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, versions 4-7
    if item.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest", "include_cluster_authorized_operations")
    if item.include_topic_authorized_operations:
        raise not_in_version("MetadataRequest", "include_topic_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataRequest", "unknown_tags")
    if item.topics is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topics))
        _write_metadata_request_topic_array_0(out, item.topics)
    out += _pack_t(item.allow_auto_topic_creation)


def _read_metadata_request_8(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, version 8
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None = None
    if n != -1:
        topics, pos = _read_metadata_request_topic_array_0(data, pos, n)
    (
        allow_auto_topic_creation,
        include_cluster_authorized_operations,
        include_topic_authorized_operations,
    ) = _unpack_ttt(data, pos)
    pos += 3
    item = MetadataRequest(
        topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations
    )
    return item, pos


def _write_metadata_request_8(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, version 8
    if item.unknown_tags:
        raise not_in_version("MetadataRequest", "unknown_tags")
    if item.topics is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topics))
        _write_metadata_request_topic_array_0(out, item.topics)
    out += _pack_ttt(
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
    )


def _read_metadata_request_topic_array_9(data: bytes, pos: int, count: int) -> tuple[list[MetadataRequestTopic], int]:
    # MetadataRequestTopic, version 9
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataRequestTopic] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(MetadataRequestTopic(ZERO_UUID, name, unknown_tags))
    return items, pos


def _write_metadata_request_topic_array_9(out: bytearray, items: list[MetadataRequestTopic]) -> None:
    # MetadataRequestTopic, version 9
    for item in items:
        if item.name is None:
            raise null_not_allowed("MetadataRequestTopic", "name")
        put_compact_string(out, item.name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_request_9(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, version 9
    n = data[pos]
    pos += 1
    topics: list[MetadataRequestTopic] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_metadata_request_topic_array_9(data, pos, n - 1)
    (
        allow_auto_topic_creation,
        include_cluster_authorized_operations,
        include_topic_authorized_operations,
        n,
    ) = _unpack_tttB(data, pos)
    pos += 4
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataRequest(
        topics,
        allow_auto_topic_creation,
        include_cluster_authorized_operations,
        include_topic_authorized_operations,
        unknown_tags,
    )
    return item, pos


def _write_metadata_request_9(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, version 9
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_metadata_request_topic_array_9(out, item.topics)
    out += _pack_ttt(
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
    )
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_request_topic_array_10(data: bytes, pos: int, count: int) -> tuple[list[MetadataRequestTopic], int]:
    # MetadataRequestTopic, versions 10-13
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            name = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(MetadataRequestTopic(topic_id, name, unknown_tags))
    return items, pos


def _write_metadata_request_topic_array_10(out: bytearray, items: list[MetadataRequestTopic]) -> None:
    # MetadataRequestTopic, versions 10-13
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        if item.name is None:
            out.append(0)
        else:
            put_compact_string(out, item.name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_request_10(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, version 10
    n = data[pos]
    pos += 1
    topics: list[MetadataRequestTopic] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_metadata_request_topic_array_10(data, pos, n - 1)
    (
        allow_auto_topic_creation,
        include_cluster_authorized_operations,
        include_topic_authorized_operations,
        n,
    ) = _unpack_tttB(data, pos)
    pos += 4
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataRequest(
        topics,
        allow_auto_topic_creation,
        include_cluster_authorized_operations,
        include_topic_authorized_operations,
        unknown_tags,
    )
    return item, pos


def _write_metadata_request_10(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, version 10
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_metadata_request_topic_array_10(out, item.topics)
    out += _pack_ttt(
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
    )
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_request_11(data: bytes, pos: int) -> tuple[MetadataRequest, int]:
    # MetadataRequest, versions 11-13
    n = data[pos]
    pos += 1
    topics: list[MetadataRequestTopic] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_metadata_request_topic_array_10(data, pos, n - 1)
    allow_auto_topic_creation, include_topic_authorized_operations, n = _unpack_ttB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataRequest(topics, allow_auto_topic_creation, False, include_topic_authorized_operations, unknown_tags)
    return item, pos


def _write_metadata_request_11(out: bytearray, item: MetadataRequest) -> None:
    # MetadataRequest, versions 11-13
    if item.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest", "include_cluster_authorized_operations")
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_metadata_request_topic_array_10(out, item.topics)
    out += _pack_tt(item.allow_auto_topic_creation, item.include_topic_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class MetadataRequest(Message):
    """Asks for brokers, topics and leaders.

    * `topics`: Null for all topics, empty for none.
    * `allow_auto_topic_creation`: Whether topics that do not exist may be created, if the broker is set to.
    """

    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    DECODERS = {
        0: _read_metadata_request_0,
        1: _read_metadata_request_1,
        2: _read_metadata_request_1,
        3: _read_metadata_request_1,
        4: _read_metadata_request_4,
        5: _read_metadata_request_4,
        6: _read_metadata_request_4,
        7: _read_metadata_request_4,
        8: _read_metadata_request_8,
        9: _read_metadata_request_9,
        10: _read_metadata_request_10,
        11: _read_metadata_request_11,
        12: _read_metadata_request_11,
        13: _read_metadata_request_11,
    }
    ENCODERS = {
        0: _write_metadata_request_0,
        1: _write_metadata_request_1,
        2: _write_metadata_request_1,
        3: _write_metadata_request_1,
        4: _write_metadata_request_4,
        5: _write_metadata_request_4,
        6: _write_metadata_request_4,
        7: _write_metadata_request_4,
        8: _write_metadata_request_8,
        9: _write_metadata_request_9,
        10: _write_metadata_request_10,
        11: _write_metadata_request_11,
        12: _write_metadata_request_11,
        13: _write_metadata_request_11,
    }

    FIELDS = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = EMPTY,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
        self.unknown_tags = unknown_tags


class MetadataResponseBroker(Structure):
    """An element of MetadataResponse.Brokers."""

    FIELDS = ("node_id", "host", "port", "rack", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.unknown_tags = unknown_tags


class MetadataResponseTopic(Structure):
    """An element of MetadataResponse.Topics.

    * `name`: Null if the topic was asked for by an id nobody knows.
    * `is_internal`: Whether the topic belongs to the broker itself.
    * `topic_authorized_operations`: Bit field of ACL operations the client may do on the topic; -2147483648 if it was
    not asked for.
    """

    FIELDS = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tags = unknown_tags


class MetadataResponsePartition(Structure):
    """An element of MetadataResponseTopic.Partitions.

    * `leader_id`: -1 if there is no leader.
    """

    FIELDS = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        offline_replicas: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas
        self.unknown_tags = unknown_tags


def _read_metadata_response_broker_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponseBroker], int]:
    # MetadataResponseBroker, version 0
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        node_id, n = _unpack_ih(data, pos)
        pos += 6
        if n < 0:
            raise bad_length(n)
        end = pos + n
        host = data[pos:end].decode()
        pos = end
        (port,) = _unpack_i(data, pos)
        pos += 4
        items.append(MetadataResponseBroker(node_id, host, port, None))
    return items, pos


def _write_metadata_response_broker_array_0(out: bytearray, items: list[MetadataResponseBroker]) -> None:
    # MetadataResponseBroker, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataResponseBroker", "unknown_tags")
        raw = item.host.encode()
        out += _pack_ih(item.node_id, len(raw))
        out += raw
        out += _pack_i(item.port)


def _read_metadata_response_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponsePartition], int]:
    # MetadataResponsePartition, versions 0-4
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        error_code, partition_index, leader_id, n = _unpack_hiii(data, pos)
        pos += 14
        replica_nodes, pos = read_numbers(data, pos, n, "i")
        (n,) = _unpack_i(data, pos)
        pos += 4
        isr_nodes, pos = read_numbers(data, pos, n, "i")
        item = MetadataResponsePartition(error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes, [])
        items.append(item)
    return items, pos


def _write_metadata_response_partition_array_0(out: bytearray, items: list[MetadataResponsePartition]) -> None:
    # MetadataResponsePartition, versions 0-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataResponsePartition", "unknown_tags")
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, len(item.replica_nodes))
        put_numbers(out, item.replica_nodes, "i")
        out += _pack_i(len(item.isr_nodes))
        put_numbers(out, item.isr_nodes, "i")


def _read_metadata_response_topic_array_0(data: bytes, pos: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_metadata_response_partition_array_0(data, pos, n)
        items.append(MetadataResponseTopic(error_code, name, ZERO_UUID, False, partitions, -2147483648))
    return items, pos


def _write_metadata_response_topic_array_0(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, version 0
    for item in items:
        if item.topic_authorized_operations != -2147483648:
            raise not_in_version("MetadataResponseTopic", "topic_authorized_operations")
        if item.unknown_tags:
            raise not_in_version("MetadataResponseTopic", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        raw = item.name.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_metadata_response_partition_array_0(out, item.partitions)


def _read_metadata_response_0(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    brokers, pos = _read_metadata_response_broker_array_0(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_metadata_response_topic_array_0(data, pos, n)
    return MetadataResponse(0, brokers, None, -1, topics, -2147483648, 0), pos


def _write_metadata_response_0(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 0
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_i(len(item.brokers))
    _write_metadata_response_broker_array_0(out, item.brokers)
    out += _pack_i(len(item.topics))
    _write_metadata_response_topic_array_0(out, item.topics)


def _read_metadata_response_broker_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponseBroker], int]:
    # MetadataResponseBroker, versions 1-8
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        node_id, n = _unpack_ih(data, pos)
        pos += 6
        if n < 0:
            raise bad_length(n)
        end = pos + n
        host = data[pos:end].decode()
        pos = end
        port, n = _unpack_ih(data, pos)
        pos += 6
        rack: str | None = None
        if n >= 0:
            end = pos + n
            rack = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(MetadataResponseBroker(node_id, host, port, rack))
    return items, pos


def _write_metadata_response_broker_array_1(out: bytearray, items: list[MetadataResponseBroker]) -> None:
    # MetadataResponseBroker, versions 1-8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataResponseBroker", "unknown_tags")
        raw = item.host.encode()
        out += _pack_ih(item.node_id, len(raw))
        out += raw
        out += _pack_i(item.port)
        if item.rack is None:
            out += _pack_h(-1)
        else:
            raw = item.rack.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_metadata_response_topic_array_1(data: bytes, pos: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, versions 1-4
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        is_internal, n = _unpack_ti(data, pos)
        pos += 5
        partitions, pos = _read_metadata_response_partition_array_0(data, pos, n)
        items.append(MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, -2147483648))
    return items, pos


def _write_metadata_response_topic_array_1(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, versions 1-4
    for item in items:
        if item.topic_authorized_operations != -2147483648:
            raise not_in_version("MetadataResponseTopic", "topic_authorized_operations")
        if item.unknown_tags:
            raise not_in_version("MetadataResponseTopic", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        raw = item.name.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        out += _pack_ti(item.is_internal, len(item.partitions))
        _write_metadata_response_partition_array_0(out, item.partitions)


def _read_metadata_response_1(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    brokers, pos = _read_metadata_response_broker_array_1(data, pos, n)
    controller_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_metadata_response_topic_array_1(data, pos, n)
    return MetadataResponse(0, brokers, None, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_1(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 1
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_i(len(item.brokers))
    _write_metadata_response_broker_array_1(out, item.brokers)
    out += _pack_ii(item.controller_id, len(item.topics))
    _write_metadata_response_topic_array_1(out, item.topics)


def _read_metadata_response_2(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 2
    (n,) = _unpack_i(data, pos)
    pos += 4
    brokers, pos = _read_metadata_response_broker_array_1(data, pos, n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    cluster_id: str | None = None
    if n >= 0:
        end = pos + n
        cluster_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    controller_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_metadata_response_topic_array_1(data, pos, n)
    return MetadataResponse(0, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_2(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 2
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_i(len(item.brokers))
    _write_metadata_response_broker_array_1(out, item.brokers)
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_ii(item.controller_id, len(item.topics))
    _write_metadata_response_topic_array_1(out, item.topics)


def _read_metadata_response_3(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, versions 3-4
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    brokers, pos = _read_metadata_response_broker_array_1(data, pos, n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    cluster_id: str | None = None
    if n >= 0:
        end = pos + n
        cluster_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    controller_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_metadata_response_topic_array_1(data, pos, n)
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_3(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, versions 3-4
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.brokers))
    _write_metadata_response_broker_array_1(out, item.brokers)
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_ii(item.controller_id, len(item.topics))
    _write_metadata_response_topic_array_1(out, item.topics)


def _read_metadata_response_partition_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponsePartition], int]:
    # MetadataResponsePartition, versions 5-6
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        error_code, partition_index, leader_id, n = _unpack_hiii(data, pos)
        pos += 14
        replica_nodes, pos = read_numbers(data, pos, n, "i")
        (n,) = _unpack_i(data, pos)
        pos += 4
        isr_nodes, pos = read_numbers(data, pos, n, "i")
        (n,) = _unpack_i(data, pos)
        pos += 4
        offline_replicas, pos = read_numbers(data, pos, n, "i")
        item = MetadataResponsePartition(
            error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes, offline_replicas
        )
        items.append(item)
    return items, pos


def _write_metadata_response_partition_array_5(out: bytearray, items: list[MetadataResponsePartition]) -> None:
    # MetadataResponsePartition, versions 5-6
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataResponsePartition", "unknown_tags")
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, len(item.replica_nodes))
        put_numbers(out, item.replica_nodes, "i")
        out += _pack_i(len(item.isr_nodes))
        put_numbers(out, item.isr_nodes, "i")
        out += _pack_i(len(item.offline_replicas))
        put_numbers(out, item.offline_replicas, "i")


def _read_metadata_response_topic_array_5(data: bytes, pos: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, versions 5-6
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        is_internal, n = _unpack_ti(data, pos)
        pos += 5
        partitions, pos = _read_metadata_response_partition_array_5(data, pos, n)
        items.append(MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, -2147483648))
    return items, pos


def _write_metadata_response_topic_array_5(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, versions 5-6
    for item in items:
        if item.topic_authorized_operations != -2147483648:
            raise not_in_version("MetadataResponseTopic", "topic_authorized_operations")
        if item.unknown_tags:
            raise not_in_version("MetadataResponseTopic", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        raw = item.name.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        out += _pack_ti(item.is_internal, len(item.partitions))
        _write_metadata_response_partition_array_5(out, item.partitions)


def _read_metadata_response_5(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, versions 5-6
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    brokers, pos = _read_metadata_response_broker_array_1(data, pos, n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    cluster_id: str | None = None
    if n >= 0:
        end = pos + n
        cluster_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    controller_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_metadata_response_topic_array_5(data, pos, n)
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_5(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, versions 5-6
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.brokers))
    _write_metadata_response_broker_array_1(out, item.brokers)
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_ii(item.controller_id, len(item.topics))
    _write_metadata_response_topic_array_5(out, item.topics)


def _read_metadata_response_partition_array_7(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponsePartition], int]:
    # MetadataResponsePartition, versions 7-8
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        error_code, partition_index, leader_id, leader_epoch, n = _unpack_hiiii(data, pos)
        pos += 18
        replica_nodes, pos = read_numbers(data, pos, n, "i")
        (n,) = _unpack_i(data, pos)
        pos += 4
        isr_nodes, pos = read_numbers(data, pos, n, "i")
        (n,) = _unpack_i(data, pos)
        pos += 4
        offline_replicas, pos = read_numbers(data, pos, n, "i")
        item = MetadataResponsePartition(
            error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas
        )
        items.append(item)
    return items, pos


def _write_metadata_response_partition_array_7(out: bytearray, items: list[MetadataResponsePartition]) -> None:
    # MetadataResponsePartition, versions 7-8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataResponsePartition", "unknown_tags")
        out += _pack_hiiii(
            item.error_code, item.partition_index, item.leader_id, item.leader_epoch, len(item.replica_nodes)
        )
        put_numbers(out, item.replica_nodes, "i")
        out += _pack_i(len(item.isr_nodes))
        put_numbers(out, item.isr_nodes, "i")
        out += _pack_i(len(item.offline_replicas))
        put_numbers(out, item.offline_replicas, "i")


def _read_metadata_response_topic_array_7(data: bytes, pos: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, version 7
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        is_internal, n = _unpack_ti(data, pos)
        pos += 5
        partitions, pos = _read_metadata_response_partition_array_7(data, pos, n)
        items.append(MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, -2147483648))
    return items, pos


def _write_metadata_response_topic_array_7(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, version 7
    for item in items:
        if item.topic_authorized_operations != -2147483648:
            raise not_in_version("MetadataResponseTopic", "topic_authorized_operations")
        if item.unknown_tags:
            raise not_in_version("MetadataResponseTopic", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        raw = item.name.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        out += _pack_ti(item.is_internal, len(item.partitions))
        _write_metadata_response_partition_array_7(out, item.partitions)


def _read_metadata_response_7(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 7
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    brokers, pos = _read_metadata_response_broker_array_1(data, pos, n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    cluster_id: str | None = None
    if n >= 0:
        end = pos + n
        cluster_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    controller_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_metadata_response_topic_array_7(data, pos, n)
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_7(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 7
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.brokers))
    _write_metadata_response_broker_array_1(out, item.brokers)
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_ii(item.controller_id, len(item.topics))
    _write_metadata_response_topic_array_7(out, item.topics)


def _read_metadata_response_topic_array_8(data: bytes, pos: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, version 8
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        is_internal, n = _unpack_ti(data, pos)
        pos += 5
        partitions, pos = _read_metadata_response_partition_array_7(data, pos, n)
        (topic_authorized_operations,) = _unpack_i(data, pos)
        pos += 4
        item = MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, topic_authorized_operations)
        items.append(item)
    return items, pos


def _write_metadata_response_topic_array_8(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, version 8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MetadataResponseTopic", "unknown_tags")
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        raw = item.name.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        out += _pack_ti(item.is_internal, len(item.partitions))
        _write_metadata_response_partition_array_7(out, item.partitions)
        out += _pack_i(item.topic_authorized_operations)


def _read_metadata_response_8(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 8
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    brokers, pos = _read_metadata_response_broker_array_1(data, pos, n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    cluster_id: str | None = None
    if n >= 0:
        end = pos + n
        cluster_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    controller_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_metadata_response_topic_array_8(data, pos, n)
    (cluster_authorized_operations,) = _unpack_i(data, pos)
    pos += 4
    item = MetadataResponse(
        throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0
    )
    return item, pos


def _write_metadata_response_8(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 8
    if item.unknown_tags:
        raise not_in_version("MetadataResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.brokers))
    _write_metadata_response_broker_array_1(out, item.brokers)
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_ii(item.controller_id, len(item.topics))
    _write_metadata_response_topic_array_8(out, item.topics)
    out += _pack_i(item.cluster_authorized_operations)


def _read_metadata_response_broker_array_9(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponseBroker], int]:
    # MetadataResponseBroker, versions 9-13
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        node_id, n = _unpack_iB(data, pos)
        pos += 5
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        port, n = _unpack_iB(data, pos)
        pos += 5
        rack: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            rack = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(MetadataResponseBroker(node_id, host, port, rack, unknown_tags))
    return items, pos


def _write_metadata_response_broker_array_9(out: bytearray, items: list[MetadataResponseBroker]) -> None:
    # MetadataResponseBroker, versions 9-13
    for item in items:
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_i(item.port)
        if item.rack is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_partition_array_9(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponsePartition], int]:
    # MetadataResponsePartition, versions 9-13
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        error_code, partition_index, leader_id, leader_epoch, n = _unpack_hiiiB(data, pos)
        pos += 15
        if n > 127:
            n, pos = read_length(data, pos)
        replica_nodes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        isr_nodes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        offline_replicas, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = MetadataResponsePartition(
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_metadata_response_partition_array_9(out: bytearray, items: list[MetadataResponsePartition]) -> None:
    # MetadataResponsePartition, versions 9-13
    for item in items:
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        n = len(item.replica_nodes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.replica_nodes, "i")
        n = len(item.isr_nodes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.isr_nodes, "i")
        n = len(item.offline_replicas) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.offline_replicas, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_topic_array_9(data: bytes, pos: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, version 9
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        is_internal, n = _unpack_tB(data, pos)
        pos += 2
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_metadata_response_partition_array_9(data, pos, n - 1)
        topic_authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = MetadataResponseTopic(
            error_code, name, ZERO_UUID, is_internal, partitions, topic_authorized_operations, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_metadata_response_topic_array_9(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, version 9
    for item in items:
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        out += _pack_h(item.error_code)
        put_compact_string(out, item.name)
        out += _pack_t(item.is_internal)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_metadata_response_partition_array_9(out, item.partitions)
        out += _pack_i(item.topic_authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_9(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 9
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_metadata_response_broker_array_9(data, pos, n - 1)
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_metadata_response_topic_array_9(data, pos, n - 1)
    cluster_authorized_operations, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataResponse(
        throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0, unknown_tags
    )
    return item, pos


def _write_metadata_response_9(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 9
    out += _pack_i(item.throttle_time_ms)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_broker_array_9(out, item.brokers)
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_topic_array_9(out, item.topics)
    out += _pack_i(item.cluster_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_topic_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, versions 10-11
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        topic_id, is_internal, n = _unpack_utB(data, pos)
        pos += 18
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_metadata_response_partition_array_9(data, pos, n - 1)
        topic_authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = MetadataResponseTopic(
            error_code, name, topic_id, is_internal, partitions, topic_authorized_operations, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_metadata_response_topic_array_10(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, versions 10-11
    for item in items:
        if item.name is None:
            raise null_not_allowed("MetadataResponseTopic", "name")
        out += _pack_h(item.error_code)
        put_compact_string(out, item.name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_ut(item.topic_id, item.is_internal)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_metadata_response_partition_array_9(out, item.partitions)
        out += _pack_i(item.topic_authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_10(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 10
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_metadata_response_broker_array_9(data, pos, n - 1)
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_metadata_response_topic_array_10(data, pos, n - 1)
    cluster_authorized_operations, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataResponse(
        throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0, unknown_tags
    )
    return item, pos


def _write_metadata_response_10(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 10
    out += _pack_i(item.throttle_time_ms)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_broker_array_9(out, item.brokers)
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_topic_array_10(out, item.topics)
    out += _pack_i(item.cluster_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_11(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 11
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_metadata_response_broker_array_9(data, pos, n - 1)
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_metadata_response_topic_array_10(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0, unknown_tags)
    return item, pos


def _write_metadata_response_11(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 11
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_broker_array_9(out, item.brokers)
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_topic_array_10(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_topic_array_12(
    data: bytes, pos: int, count: int
) -> tuple[list[MetadataResponseTopic], int]:
    # MetadataResponseTopic, versions 12-13
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            name = data[pos:end].decode()
            pos = end
        topic_id, is_internal, n = _unpack_utB(data, pos)
        pos += 18
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_metadata_response_partition_array_9(data, pos, n - 1)
        topic_authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = MetadataResponseTopic(
            error_code, name, topic_id, is_internal, partitions, topic_authorized_operations, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_metadata_response_topic_array_12(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    # MetadataResponseTopic, versions 12-13
    for item in items:
        out += _pack_h(item.error_code)
        if item.name is None:
            out.append(0)
        else:
            put_compact_string(out, item.name)
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_ut(item.topic_id, item.is_internal)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_metadata_response_partition_array_9(out, item.partitions)
        out += _pack_i(item.topic_authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_12(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 12
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_metadata_response_broker_array_9(data, pos, n - 1)
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_metadata_response_topic_array_12(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0, unknown_tags)
    return item, pos


def _write_metadata_response_12(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 12
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_broker_array_9(out, item.brokers)
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_topic_array_12(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_metadata_response_13(data: bytes, pos: int) -> tuple[MetadataResponse, int]:
    # MetadataResponse, version 13
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_metadata_response_broker_array_9(data, pos, n - 1)
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_metadata_response_topic_array_12(data, pos, n - 1)
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MetadataResponse(
        throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, error_code, unknown_tags
    )
    return item, pos


def _write_metadata_response_13(out: bytearray, item: MetadataResponse) -> None:
    # MetadataResponse, version 13
    if item.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse", "cluster_authorized_operations")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_broker_array_9(out, item.brokers)
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_metadata_response_topic_array_12(out, item.topics)
    out += _pack_h(item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class MetadataResponse(Message):
    """Brokers, the controller, and for each topic its partitions and their leaders.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `controller_id`: -1 if unknown.
    * `cluster_authorized_operations`: Bit field of ACL operations the client may do on the cluster; -2147483648 if it
    was not asked for.
    """

    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    DECODERS = {
        0: _read_metadata_response_0,
        1: _read_metadata_response_1,
        2: _read_metadata_response_2,
        3: _read_metadata_response_3,
        4: _read_metadata_response_3,
        5: _read_metadata_response_5,
        6: _read_metadata_response_5,
        7: _read_metadata_response_7,
        8: _read_metadata_response_8,
        9: _read_metadata_response_9,
        10: _read_metadata_response_10,
        11: _read_metadata_response_11,
        12: _read_metadata_response_12,
        13: _read_metadata_response_13,
    }
    ENCODERS = {
        0: _write_metadata_response_0,
        1: _write_metadata_response_1,
        2: _write_metadata_response_2,
        3: _write_metadata_response_3,
        4: _write_metadata_response_3,
        5: _write_metadata_response_5,
        6: _write_metadata_response_5,
        7: _write_metadata_response_7,
        8: _write_metadata_response_8,
        9: _write_metadata_response_9,
        10: _write_metadata_response_10,
        11: _write_metadata_response_11,
        12: _write_metadata_response_12,
        13: _write_metadata_response_13,
    }

    FIELDS = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = EMPTY,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is EMPTY else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
        self.unknown_tags = unknown_tags
