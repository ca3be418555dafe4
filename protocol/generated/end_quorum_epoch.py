"""EndQuorumEpochRequest 0-1 and EndQuorumEpochResponse 0-1.

Generated from schemas/rpc/EndQuorumEpochRequest.json and schemas/rpc/EndQuorumEpochResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
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

_iterate_iuB = Struct(">i16sB").iter_unpack
_iterate_ihii = Struct(">ihii").iter_unpack
_iterate_ihiiB = Struct(">ihiiB").iter_unpack
_unpack_HB = Struct(">HB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iuB = Struct(">i16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_ihiiB = Struct(">ihiiB").unpack_from
_unpack_iiiB = Struct(">iiiB").unpack_from
_unpack_iiii = Struct(">iiii").unpack_from
_pack_H = Struct(">H").pack
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_iu = Struct(">i16s").pack
_pack_ihii = Struct(">ihii").pack
_pack_iii = Struct(">iii").pack
_pack_iiii = Struct(">iiii").pack


class EndQuorumEpochRequestTopicData(Structure):
    """An element of EndQuorumEpochRequest.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[EndQuorumEpochRequestPartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class EndQuorumEpochRequestPartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = (
        "partition_index",
        "leader_id",
        "leader_epoch",
        "preferred_successors",
        "preferred_candidates",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = EMPTY,
        preferred_candidates: list[ReplicaInfo] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors = [] if preferred_successors is EMPTY else preferred_successors
        self.preferred_candidates = [] if preferred_candidates is EMPTY else preferred_candidates
        self.unknown_tags = unknown_tags


class ReplicaInfo(Structure):
    """An element of PartitionData.PreferredCandidates."""

    FIELDS = ("candidate_id", "candidate_directory_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        candidate_id: int = 0,
        candidate_directory_id: bytes = ZERO_UUID,
        unknown_tags: Tags = (),
    ) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id
        self.unknown_tags = unknown_tags


class LeaderEndpoint(Structure):
    """An element of EndQuorumEpochRequest.LeaderEndpoints."""

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


def _read_end_quorum_epoch_request_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochRequestPartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochRequestPartitionData] = []
    for _ in range(count):
        partition_index, leader_id, leader_epoch, n = _unpack_iiii(data, pos)
        pos += 16
        preferred_successors, pos = read_numbers(data, pos, n, "i")
        item = EndQuorumEpochRequestPartitionData(partition_index, leader_id, leader_epoch, preferred_successors, [])
        items.append(item)
    return items, pos


def _write_end_quorum_epoch_request_partition_data_array_0(
    out: bytearray, items: list[EndQuorumEpochRequestPartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EndQuorumEpochRequestPartitionData", "unknown_tags")
        out += _pack_iiii(item.partition_index, item.leader_id, item.leader_epoch, len(item.preferred_successors))
        put_numbers(out, item.preferred_successors, "i")


def _read_end_quorum_epoch_request_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochRequestTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochRequestTopicData] = []
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
        partitions, pos = _read_end_quorum_epoch_request_partition_data_array_0(data, pos, n)
        items.append(EndQuorumEpochRequestTopicData(topic_name, partitions))
    return items, pos


def _write_end_quorum_epoch_request_topic_data_array_0(
    out: bytearray, items: list[EndQuorumEpochRequestTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EndQuorumEpochRequestTopicData", "unknown_tags")
        raw = item.topic_name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_end_quorum_epoch_request_partition_data_array_0(out, item.partitions)


def _read_end_quorum_epoch_request_0(data: bytes, pos: int) -> tuple[EndQuorumEpochRequest, int]:
    # EndQuorumEpochRequest, version 0
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
    topics, pos = _read_end_quorum_epoch_request_topic_data_array_0(data, pos, n)
    return EndQuorumEpochRequest(cluster_id, topics, []), pos


def _write_end_quorum_epoch_request_0(out: bytearray, item: EndQuorumEpochRequest) -> None:
    # EndQuorumEpochRequest, version 0
    if item.unknown_tags:
        raise not_in_version("EndQuorumEpochRequest", "unknown_tags")
    if item.cluster_id is None:
        out += _pack_h(-1)
    else:
        raw = item.cluster_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.topics))
    _write_end_quorum_epoch_request_topic_data_array_0(out, item.topics)


def _read_replica_info_array_1(data: bytes, pos: int, count: int) -> tuple[list[ReplicaInfo], int]:
    # ReplicaInfo, version 1
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReplicaInfo] = []
    if count > 3 and count * 21 <= len(data) - pos:
        elements = _iterate_iuB(data[pos : pos + count * 21])
        for candidate_id, candidate_directory_id, n in elements:
            if n:
                break
            items.append(ReplicaInfo(candidate_id, candidate_directory_id))
        pos += len(items) * 21
        count -= len(items)
    for _ in range(count):
        candidate_id, candidate_directory_id, n = _unpack_iuB(data, pos)
        pos += 21
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReplicaInfo(candidate_id, candidate_directory_id, unknown_tags))
    return items, pos


def _write_replica_info_array_1(out: bytearray, items: list[ReplicaInfo]) -> None:
    # ReplicaInfo, version 1
    for item in items:
        if len(item.candidate_directory_id) != 16:
            raise bad_uuid(item.candidate_directory_id)
        out += _pack_iu(item.candidate_id, item.candidate_directory_id)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_end_quorum_epoch_request_partition_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochRequestPartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochRequestPartitionData] = []
    for _ in range(count):
        partition_index, leader_id, leader_epoch, n = _unpack_iiiB(data, pos)
        pos += 13
        if n > 127:
            n, pos = read_length(data, pos)
        preferred_candidates, pos = _read_replica_info_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = EndQuorumEpochRequestPartitionData(
            partition_index, leader_id, leader_epoch, [], preferred_candidates, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_end_quorum_epoch_request_partition_data_array_1(
    out: bytearray, items: list[EndQuorumEpochRequestPartitionData]
) -> None:
    # PartitionData, version 1
    for item in items:
        out += _pack_iii(item.partition_index, item.leader_id, item.leader_epoch)
        n = len(item.preferred_candidates) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_replica_info_array_1(out, item.preferred_candidates)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_end_quorum_epoch_request_topic_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochRequestTopicData], int]:
    # TopicData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochRequestTopicData] = []
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
        partitions, pos = _read_end_quorum_epoch_request_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(EndQuorumEpochRequestTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_end_quorum_epoch_request_topic_data_array_1(
    out: bytearray, items: list[EndQuorumEpochRequestTopicData]
) -> None:
    # TopicData, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_end_quorum_epoch_request_partition_data_array_1(out, item.partitions)
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


def _read_end_quorum_epoch_request_1(data: bytes, pos: int) -> tuple[EndQuorumEpochRequest, int]:
    # EndQuorumEpochRequest, version 1
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_end_quorum_epoch_request_topic_data_array_1(data, pos, n - 1)
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
    return EndQuorumEpochRequest(cluster_id, topics, leader_endpoints, unknown_tags), pos


def _write_end_quorum_epoch_request_1(out: bytearray, item: EndQuorumEpochRequest) -> None:
    # EndQuorumEpochRequest, version 1
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_end_quorum_epoch_request_topic_data_array_1(out, item.topics)
    n = len(item.leader_endpoints) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_leader_endpoint_array_1(out, item.leader_endpoints)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class EndQuorumEpochRequest(Message):
    """Between KRaft controllers: a leader steps down."""

    API_KEY = 54
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_end_quorum_epoch_request_0, 1: _read_end_quorum_epoch_request_1}
    ENCODERS = {0: _write_end_quorum_epoch_request_0, 1: _write_end_quorum_epoch_request_1}

    FIELDS = ("cluster_id", "topics", "leader_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = None,
        topics: list[EndQuorumEpochRequestTopicData] = EMPTY,
        leader_endpoints: list[LeaderEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = [] if topics is EMPTY else topics
        self.leader_endpoints = [] if leader_endpoints is EMPTY else leader_endpoints
        self.unknown_tags = unknown_tags


class EndQuorumEpochResponseTopicData(Structure):
    """An element of EndQuorumEpochResponse.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[EndQuorumEpochResponsePartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class EndQuorumEpochResponsePartitionData(Structure):
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
    """An element of EndQuorumEpochResponse.NodeEndpoints."""

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


def _read_end_quorum_epoch_response_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochResponsePartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochResponsePartitionData] = []
    if count > 3:
        elements = _iterate_ihii(data[pos : pos + count * 14])
        for partition_index, error_code, leader_id, leader_epoch in elements:
            items.append(EndQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch))
        pos += len(items) * 14
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(data, pos)
        pos += 14
        items.append(EndQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch))
    return items, pos


def _write_end_quorum_epoch_response_partition_data_array_0(
    out: bytearray, items: list[EndQuorumEpochResponsePartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EndQuorumEpochResponsePartitionData", "unknown_tags")
        out += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)


def _read_end_quorum_epoch_response_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochResponseTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochResponseTopicData] = []
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
        partitions, pos = _read_end_quorum_epoch_response_partition_data_array_0(data, pos, n)
        items.append(EndQuorumEpochResponseTopicData(topic_name, partitions))
    return items, pos


def _write_end_quorum_epoch_response_topic_data_array_0(
    out: bytearray, items: list[EndQuorumEpochResponseTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EndQuorumEpochResponseTopicData", "unknown_tags")
        raw = item.topic_name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_end_quorum_epoch_response_partition_data_array_0(out, item.partitions)


def _read_end_quorum_epoch_response_0(data: bytes, pos: int) -> tuple[EndQuorumEpochResponse, int]:
    # EndQuorumEpochResponse, version 0
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    topics, pos = _read_end_quorum_epoch_response_topic_data_array_0(data, pos, n)
    return EndQuorumEpochResponse(error_code, topics, []), pos


def _write_end_quorum_epoch_response_0(out: bytearray, item: EndQuorumEpochResponse) -> None:
    # EndQuorumEpochResponse, version 0
    if item.node_endpoints:
        raise not_in_version("EndQuorumEpochResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("EndQuorumEpochResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.topics))
    _write_end_quorum_epoch_response_topic_data_array_0(out, item.topics)


def _read_end_quorum_epoch_response_partition_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochResponsePartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochResponsePartitionData] = []
    if count > 3 and count * 15 <= len(data) - pos:
        elements = _iterate_ihiiB(data[pos : pos + count * 15])
        for partition_index, error_code, leader_id, leader_epoch, n in elements:
            if n:
                break
            items.append(EndQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch))
        pos += len(items) * 15
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch, n = _unpack_ihiiB(data, pos)
        pos += 15
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = EndQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch, unknown_tags)
        items.append(item)
    return items, pos


def _write_end_quorum_epoch_response_partition_data_array_1(
    out: bytearray, items: list[EndQuorumEpochResponsePartitionData]
) -> None:
    # PartitionData, version 1
    for item in items:
        out += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_end_quorum_epoch_response_topic_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[EndQuorumEpochResponseTopicData], int]:
    # TopicData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[EndQuorumEpochResponseTopicData] = []
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
        partitions, pos = _read_end_quorum_epoch_response_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(EndQuorumEpochResponseTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_end_quorum_epoch_response_topic_data_array_1(
    out: bytearray, items: list[EndQuorumEpochResponseTopicData]
) -> None:
    # TopicData, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_end_quorum_epoch_response_partition_data_array_1(out, item.partitions)
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


def _read_end_quorum_epoch_response_1(data: bytes, pos: int) -> tuple[EndQuorumEpochResponse, int]:
    # EndQuorumEpochResponse, version 1
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_end_quorum_epoch_response_topic_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = EndQuorumEpochResponse(error_code, topics, [])
    if n:
        pos = _read_end_quorum_epoch_response_tags_1(item, data, pos, n)
    return item, pos


def _read_end_quorum_epoch_response_tags_1(item: EndQuorumEpochResponse, data: bytes, pos: int, first: int) -> int:
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
            raise bad_tag_size("EndQuorumEpochResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_end_quorum_epoch_response_1(out: bytearray, item: EndQuorumEpochResponse) -> None:
    # EndQuorumEpochResponse, version 1
    out += _pack_h(item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_end_quorum_epoch_response_topic_data_array_1(out, item.topics)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_1(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class EndQuorumEpochResponse(Message):
    """Between KRaft controllers: whether that was taken note of.

    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 54
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_end_quorum_epoch_response_0, 1: _read_end_quorum_epoch_response_1}
    ENCODERS = {0: _write_end_quorum_epoch_response_0, 1: _write_end_quorum_epoch_response_1}

    FIELDS = ("error_code", "topics", "node_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        topics: list[EndQuorumEpochResponseTopicData] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags
