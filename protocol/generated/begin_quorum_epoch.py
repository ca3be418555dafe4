"""BeginQuorumEpochRequest 0-1 and BeginQuorumEpochResponse 0-1.

Generated from schemas/rpc/BeginQuorumEpochRequest.json and schemas/rpc/BeginQuorumEpochResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iuiiB = Struct(">i16siiB").iter_unpack
_iterate_ihii = Struct(">ihii").iter_unpack
_iterate_ihiiB = Struct(">ihiiB").iter_unpack
_iterate_iii = Struct(">iii").iter_unpack
_unpack_HB = Struct(">HB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iuiiB = Struct(">i16siiB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_ihiiB = Struct(">ihiiB").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_pack_H = Struct(">H").pack
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_iuii = Struct(">i16sii").pack
_pack_ihii = Struct(">ihii").pack
_pack_iii = Struct(">iii").pack


class BeginQuorumEpochRequestTopicData(Structure):
    """An element of BeginQuorumEpochRequest.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[BeginQuorumEpochRequestPartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class BeginQuorumEpochRequestPartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = ("partition_index", "voter_directory_id", "leader_id", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.voter_directory_id = voter_directory_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


class LeaderEndpoint(Structure):
    """An element of BeginQuorumEpochRequest.LeaderEndpoints."""

    FIELDS = ("name", "host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


def _read_begin_quorum_epoch_request_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochRequestPartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochRequestPartitionData] = []
    if count > 3:
        elements = _iterate_iii(data[pos : pos + count * 12])
        for partition_index, leader_id, leader_epoch in elements:
            items.append(BeginQuorumEpochRequestPartitionData(partition_index, ZERO_UUID, leader_id, leader_epoch))
        pos += len(items) * 12
        count -= len(items)
    for _ in range(count):
        partition_index, leader_id, leader_epoch = _unpack_iii(data, pos)
        pos += 12
        items.append(BeginQuorumEpochRequestPartitionData(partition_index, ZERO_UUID, leader_id, leader_epoch))
    return items, pos


def _write_begin_quorum_epoch_request_partition_data_array_0(
    out: bytearray, items: list[BeginQuorumEpochRequestPartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("BeginQuorumEpochRequestPartitionData", "unknown_tags")
        out += _pack_iii(item.partition_index, item.leader_id, item.leader_epoch)


def _read_begin_quorum_epoch_request_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochRequestTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochRequestTopicData] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic_name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_begin_quorum_epoch_request_partition_data_array_0(data, pos, n)
        items.append(BeginQuorumEpochRequestTopicData(topic_name, partitions))
    return items, pos


def _write_begin_quorum_epoch_request_topic_data_array_0(
    out: bytearray, items: list[BeginQuorumEpochRequestTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("BeginQuorumEpochRequestTopicData", "unknown_tags")
        raw = item.topic_name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_begin_quorum_epoch_request_partition_data_array_0(out, item.partitions)


def _read_begin_quorum_epoch_request_0(data: bytes, pos: int) -> tuple[BeginQuorumEpochRequest, int]:
    # BeginQuorumEpochRequest, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    cluster_id: str | None = None
    if n >= 0:
        end = pos + n
        cluster_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_begin_quorum_epoch_request_topic_data_array_0(data, pos, n)
    return BeginQuorumEpochRequest(cluster_id, -1, topics, []), pos


def _write_begin_quorum_epoch_request_0(out: bytearray, item: BeginQuorumEpochRequest) -> None:
    # BeginQuorumEpochRequest, version 0
    if item.unknown_tags:
        raise not_in_version("BeginQuorumEpochRequest", "unknown_tags")
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.topics))
    _write_begin_quorum_epoch_request_topic_data_array_0(out, item.topics)


def _read_begin_quorum_epoch_request_partition_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochRequestPartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 29 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochRequestPartitionData] = []
    if count > 3 and count * 29 <= len(data) - pos:
        elements = _iterate_iuiiB(data[pos : pos + count * 29])
        for partition_index, voter_directory_id, leader_id, leader_epoch, n in elements:
            if n:
                break
            item = BeginQuorumEpochRequestPartitionData(partition_index, voter_directory_id, leader_id, leader_epoch)
            items.append(item)
        pos += len(items) * 29
        count -= len(items)
    for _ in range(count):
        partition_index, voter_directory_id, leader_id, leader_epoch, n = _unpack_iuiiB(data, pos)
        pos += 29
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = BeginQuorumEpochRequestPartitionData(
            partition_index, voter_directory_id, leader_id, leader_epoch, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_begin_quorum_epoch_request_partition_data_array_1(
    out: bytearray, items: list[BeginQuorumEpochRequestPartitionData]
) -> None:
    # PartitionData, version 1
    for item in items:
        if len(item.voter_directory_id) != 16:
            raise bad_uuid(item.voter_directory_id)
        out += _pack_iuii(item.partition_index, item.voter_directory_id, item.leader_id, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_begin_quorum_epoch_request_topic_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochRequestTopicData], int]:
    # TopicData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochRequestTopicData] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_begin_quorum_epoch_request_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(BeginQuorumEpochRequestTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_begin_quorum_epoch_request_topic_data_array_1(
    out: bytearray, items: list[BeginQuorumEpochRequestTopicData]
) -> None:
    # TopicData, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_begin_quorum_epoch_request_partition_data_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leader_endpoint_array_1(data: bytes, pos: int, count: int) -> tuple[list[LeaderEndpoint], int]:
    # LeaderEndpoint, version 1
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[LeaderEndpoint] = []
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
        items.append(LeaderEndpoint(name, host, port, unknown_tags))
    return items, pos


def _write_leader_endpoint_array_1(out: bytearray, items: list[LeaderEndpoint]) -> None:
    # LeaderEndpoint, version 1
    for item in items:
        put_compact_string(out, item.name)
        put_compact_string(out, item.host)
        out += _pack_H(item.port)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_begin_quorum_epoch_request_1(data: bytes, pos: int) -> tuple[BeginQuorumEpochRequest, int]:
    # BeginQuorumEpochRequest, version 1
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    voter_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_begin_quorum_epoch_request_topic_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    leader_endpoints, pos = _read_leader_endpoint_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return BeginQuorumEpochRequest(cluster_id, voter_id, topics, leader_endpoints, unknown_tags), pos


def _write_begin_quorum_epoch_request_1(out: bytearray, item: BeginQuorumEpochRequest) -> None:
    # BeginQuorumEpochRequest, version 1
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.voter_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_begin_quorum_epoch_request_topic_data_array_1(out, item.topics)
    n = len(item.leader_endpoints) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_leader_endpoint_array_1(out, item.leader_endpoints)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class BeginQuorumEpochRequest(Message):
    """Between KRaft controllers: a new leader makes itself known."""

    API_KEY = 53
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_begin_quorum_epoch_request_0, 1: _read_begin_quorum_epoch_request_1}
    ENCODERS = {0: _write_begin_quorum_epoch_request_0, 1: _write_begin_quorum_epoch_request_1}

    FIELDS = ("cluster_id", "voter_id", "topics", "leader_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[BeginQuorumEpochRequestTopicData] = EMPTY,
        leader_endpoints: list[LeaderEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is EMPTY else topics
        self.leader_endpoints = [] if leader_endpoints is EMPTY else leader_endpoints
        self.unknown_tags = unknown_tags


class BeginQuorumEpochResponseTopicData(Structure):
    """An element of BeginQuorumEpochResponse.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[BeginQuorumEpochResponsePartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class BeginQuorumEpochResponsePartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = ("partition_index", "error_code", "leader_id", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


class NodeEndpoint(Structure):
    """An element of BeginQuorumEpochResponse.NodeEndpoints."""

    FIELDS = ("node_id", "host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


def _read_begin_quorum_epoch_response_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochResponsePartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochResponsePartitionData] = []
    if count > 3:
        elements = _iterate_ihii(data[pos : pos + count * 14])
        for partition_index, error_code, leader_id, leader_epoch in elements:
            items.append(BeginQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch))
        pos += len(items) * 14
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(data, pos)
        pos += 14
        items.append(BeginQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch))
    return items, pos


def _write_begin_quorum_epoch_response_partition_data_array_0(
    out: bytearray, items: list[BeginQuorumEpochResponsePartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("BeginQuorumEpochResponsePartitionData", "unknown_tags")
        out += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)


def _read_begin_quorum_epoch_response_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochResponseTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochResponseTopicData] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic_name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_begin_quorum_epoch_response_partition_data_array_0(data, pos, n)
        items.append(BeginQuorumEpochResponseTopicData(topic_name, partitions))
    return items, pos


def _write_begin_quorum_epoch_response_topic_data_array_0(
    out: bytearray, items: list[BeginQuorumEpochResponseTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("BeginQuorumEpochResponseTopicData", "unknown_tags")
        raw = item.topic_name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_begin_quorum_epoch_response_partition_data_array_0(out, item.partitions)


def _read_begin_quorum_epoch_response_0(data: bytes, pos: int) -> tuple[BeginQuorumEpochResponse, int]:
    # BeginQuorumEpochResponse, version 0
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    topics, pos = _read_begin_quorum_epoch_response_topic_data_array_0(data, pos, n)
    return BeginQuorumEpochResponse(error_code, topics, []), pos


def _write_begin_quorum_epoch_response_0(out: bytearray, item: BeginQuorumEpochResponse) -> None:
    # BeginQuorumEpochResponse, version 0
    if item.node_endpoints:
        raise not_in_version("BeginQuorumEpochResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("BeginQuorumEpochResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.topics))
    _write_begin_quorum_epoch_response_topic_data_array_0(out, item.topics)


def _read_begin_quorum_epoch_response_partition_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochResponsePartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochResponsePartitionData] = []
    if count > 3 and count * 15 <= len(data) - pos:
        elements = _iterate_ihiiB(data[pos : pos + count * 15])
        for partition_index, error_code, leader_id, leader_epoch, n in elements:
            if n:
                break
            items.append(BeginQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch))
        pos += len(items) * 15
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch, n = _unpack_ihiiB(data, pos)
        pos += 15
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = BeginQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch, unknown_tags)
        items.append(item)
    return items, pos


def _write_begin_quorum_epoch_response_partition_data_array_1(
    out: bytearray, items: list[BeginQuorumEpochResponsePartitionData]
) -> None:
    # PartitionData, version 1
    for item in items:
        out += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_begin_quorum_epoch_response_topic_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[BeginQuorumEpochResponseTopicData], int]:
    # TopicData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[BeginQuorumEpochResponseTopicData] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_begin_quorum_epoch_response_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(BeginQuorumEpochResponseTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_begin_quorum_epoch_response_topic_data_array_1(
    out: bytearray, items: list[BeginQuorumEpochResponseTopicData]
) -> None:
    # TopicData, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_begin_quorum_epoch_response_partition_data_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_node_endpoint_array_1(data: bytes, pos: int, count: int) -> tuple[list[NodeEndpoint], int]:
    # NodeEndpoint, version 1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[NodeEndpoint] = []
    for _ in range(count):
        node_id, n = _unpack_iB(data, pos)
        pos += 5
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
        items.append(NodeEndpoint(node_id, host, port, unknown_tags))
    return items, pos


def _write_node_endpoint_array_1(out: bytearray, items: list[NodeEndpoint]) -> None:
    # NodeEndpoint, version 1
    for item in items:
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_H(item.port)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_begin_quorum_epoch_response_1(data: bytes, pos: int) -> tuple[BeginQuorumEpochResponse, int]:
    # BeginQuorumEpochResponse, version 1
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_begin_quorum_epoch_response_topic_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = BeginQuorumEpochResponse(error_code, topics, [])
    if n:
        pos = _read_begin_quorum_epoch_response_tags_1(item, data, pos, n)
    return item, pos


def _read_begin_quorum_epoch_response_tags_1(item: BeginQuorumEpochResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            node_endpoints, pos = _read_node_endpoint_array_1(data, pos, n - 1)
            item.node_endpoints = node_endpoints
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("BeginQuorumEpochResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_begin_quorum_epoch_response_1(out: bytearray, item: BeginQuorumEpochResponse) -> None:
    # BeginQuorumEpochResponse, version 1
    out += _pack_h(item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_begin_quorum_epoch_response_topic_data_array_1(out, item.topics)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_1(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class BeginQuorumEpochResponse(Message):
    """Between KRaft controllers: whether the leader is accepted.

    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 53
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_begin_quorum_epoch_response_0, 1: _read_begin_quorum_epoch_response_1}
    ENCODERS = {0: _write_begin_quorum_epoch_response_0, 1: _write_begin_quorum_epoch_response_1}

    FIELDS = ("error_code", "topics", "node_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        topics: list[BeginQuorumEpochResponseTopicData] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags
