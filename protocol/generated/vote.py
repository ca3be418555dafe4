"""VoteRequest 0-2 and VoteResponse 0-2.

Generated from schemas/rpc/VoteRequest.json and schemas/rpc/VoteResponse.json (Apache Kafka 4.4.0) by `python -m
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
    bad_tag,
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

_iterate_ihiitB = Struct(">ihii?B").iter_unpack
_iterate_iiiuuiqtB = Struct(">iii16s16siq?B").iter_unpack
_iterate_iiiuuiqB = Struct(">iii16s16siqB").iter_unpack
_iterate_iiiiqB = Struct(">iiiiqB").iter_unpack
_unpack_HB = Struct(">HB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihiitB = Struct(">ihii?B").unpack_from
_unpack_iiiuuiqtB = Struct(">iii16s16siq?B").unpack_from
_unpack_iiiuuiqB = Struct(">iii16s16siqB").unpack_from
_unpack_iiiiqB = Struct(">iiiiqB").unpack_from
_pack_H = Struct(">H").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ihiit = Struct(">ihii?").pack
_pack_iiiuuiq = Struct(">iii16s16siq").pack
_pack_iiiuuiqt = Struct(">iii16s16siq?").pack
_pack_iiiiq = Struct(">iiiiq").pack


class VoteRequestTopicData(Structure):
    """An element of VoteRequest.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteRequestPartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class VoteRequestPartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        voter_directory_id: bytes = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote
        self.unknown_tags = unknown_tags


def _read_vote_request_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[VoteRequestPartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 25 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteRequestPartitionData] = []
    if count > 3 and count * 25 <= len(data) - pos:
        elements = _iterate_iiiiqB(data[pos : pos + count * 25])
        for partition_index, replica_epoch, replica_id, last_offset_epoch, last_offset, n in elements:
            if n:
                break
            item = VoteRequestPartitionData(
                partition_index, replica_epoch, replica_id, ZERO_UUID, ZERO_UUID, last_offset_epoch, last_offset, False
            )
            items.append(item)
        pos += len(items) * 25
        count -= len(items)
    for _ in range(count):
        partition_index, replica_epoch, replica_id, last_offset_epoch, last_offset, n = _unpack_iiiiqB(data, pos)
        pos += 25
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = VoteRequestPartitionData(
            partition_index,
            replica_epoch,
            replica_id,
            ZERO_UUID,
            ZERO_UUID,
            last_offset_epoch,
            last_offset,
            False,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_vote_request_partition_data_array_0(out: bytearray, items: list[VoteRequestPartitionData]) -> None:
    # PartitionData, version 0
    for item in items:
        if item.pre_vote:
            raise not_in_version("VoteRequestPartitionData", "pre_vote")
        out += _pack_iiiiq(
            item.partition_index, item.replica_epoch, item.replica_id, item.last_offset_epoch, item.last_offset
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_topic_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[VoteRequestTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteRequestTopicData] = []
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
        partitions, pos = _read_vote_request_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(VoteRequestTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_vote_request_topic_data_array_0(out: bytearray, items: list[VoteRequestTopicData]) -> None:
    # TopicData, version 0
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_vote_request_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_0(data: bytes, pos: int) -> tuple[VoteRequest, int]:
    # VoteRequest, version 0
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
    topics, pos = _read_vote_request_topic_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return VoteRequest(cluster_id, -1, topics, unknown_tags), pos


def _write_vote_request_0(out: bytearray, item: VoteRequest) -> None:
    # VoteRequest, version 0
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_vote_request_topic_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_partition_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[VoteRequestPartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 57 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteRequestPartitionData] = []
    if count > 3 and count * 57 <= len(data) - pos:
        elements = _iterate_iiiuuiqB(data[pos : pos + count * 57])
        for (
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            n,
        ) in elements:
            if n:
                break
            item = VoteRequestPartitionData(
                partition_index,
                replica_epoch,
                replica_id,
                replica_directory_id,
                voter_directory_id,
                last_offset_epoch,
                last_offset,
                False,
            )
            items.append(item)
        pos += len(items) * 57
        count -= len(items)
    for _ in range(count):
        (
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            n,
        ) = _unpack_iiiuuiqB(data, pos)
        pos += 57
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = VoteRequestPartitionData(
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            False,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_vote_request_partition_data_array_1(out: bytearray, items: list[VoteRequestPartitionData]) -> None:
    # PartitionData, version 1
    for item in items:
        if item.pre_vote:
            raise not_in_version("VoteRequestPartitionData", "pre_vote")
        if len(item.replica_directory_id) != 16:
            raise bad_uuid(item.replica_directory_id)
        if len(item.voter_directory_id) != 16:
            raise bad_uuid(item.voter_directory_id)
        out += _pack_iiiuuiq(
            item.partition_index,
            item.replica_epoch,
            item.replica_id,
            item.replica_directory_id,
            item.voter_directory_id,
            item.last_offset_epoch,
            item.last_offset,
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_topic_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[VoteRequestTopicData], int]:
    # TopicData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteRequestTopicData] = []
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
        partitions, pos = _read_vote_request_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(VoteRequestTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_vote_request_topic_data_array_1(out: bytearray, items: list[VoteRequestTopicData]) -> None:
    # TopicData, version 1
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_vote_request_partition_data_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_1(data: bytes, pos: int) -> tuple[VoteRequest, int]:
    # VoteRequest, version 1
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
    topics, pos = _read_vote_request_topic_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return VoteRequest(cluster_id, voter_id, topics, unknown_tags), pos


def _write_vote_request_1(out: bytearray, item: VoteRequest) -> None:
    # VoteRequest, version 1
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.voter_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_vote_request_topic_data_array_1(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_partition_data_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[VoteRequestPartitionData], int]:
    # PartitionData, version 2
    if not 0 <= count * 58 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteRequestPartitionData] = []
    if count > 3 and count * 58 <= len(data) - pos:
        elements = _iterate_iiiuuiqtB(data[pos : pos + count * 58])
        for (
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            pre_vote,
            n,
        ) in elements:
            if n:
                break
            item = VoteRequestPartitionData(
                partition_index,
                replica_epoch,
                replica_id,
                replica_directory_id,
                voter_directory_id,
                last_offset_epoch,
                last_offset,
                pre_vote,
            )
            items.append(item)
        pos += len(items) * 58
        count -= len(items)
    for _ in range(count):
        (
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            pre_vote,
            n,
        ) = _unpack_iiiuuiqtB(data, pos)
        pos += 58
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = VoteRequestPartitionData(
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            pre_vote,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_vote_request_partition_data_array_2(out: bytearray, items: list[VoteRequestPartitionData]) -> None:
    # PartitionData, version 2
    for item in items:
        if len(item.replica_directory_id) != 16:
            raise bad_uuid(item.replica_directory_id)
        if len(item.voter_directory_id) != 16:
            raise bad_uuid(item.voter_directory_id)
        out += _pack_iiiuuiqt(
            item.partition_index,
            item.replica_epoch,
            item.replica_id,
            item.replica_directory_id,
            item.voter_directory_id,
            item.last_offset_epoch,
            item.last_offset,
            item.pre_vote,
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_topic_data_array_2(data: bytes, pos: int, count: int) -> tuple[list[VoteRequestTopicData], int]:
    # TopicData, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteRequestTopicData] = []
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
        partitions, pos = _read_vote_request_partition_data_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(VoteRequestTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_vote_request_topic_data_array_2(out: bytearray, items: list[VoteRequestTopicData]) -> None:
    # TopicData, version 2
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_vote_request_partition_data_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_request_2(data: bytes, pos: int) -> tuple[VoteRequest, int]:
    # VoteRequest, version 2
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
    topics, pos = _read_vote_request_topic_data_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return VoteRequest(cluster_id, voter_id, topics, unknown_tags), pos


def _write_vote_request_2(out: bytearray, item: VoteRequest) -> None:
    # VoteRequest, version 2
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.voter_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_vote_request_topic_data_array_2(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class VoteRequest(Message):
    """Between KRaft controllers: asks for a vote."""

    API_KEY = 52
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_vote_request_0, 1: _read_vote_request_1, 2: _read_vote_request_2}
    ENCODERS = {0: _write_vote_request_0, 1: _write_vote_request_1, 2: _write_vote_request_2}

    FIELDS = ("cluster_id", "voter_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[VoteRequestTopicData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class VoteResponseTopicData(Structure):
    """An element of VoteResponse.Topics."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteResponsePartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class VoteResponsePartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted
        self.unknown_tags = unknown_tags


class NodeEndpoint(Structure):
    """An element of VoteResponse.NodeEndpoints."""

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


def _read_vote_response_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[VoteResponsePartitionData], int]:
    # PartitionData, versions 0-2
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteResponsePartitionData] = []
    if count > 3 and count * 16 <= len(data) - pos:
        elements = _iterate_ihiitB(data[pos : pos + count * 16])
        for partition_index, error_code, leader_id, leader_epoch, vote_granted, n in elements:
            if n:
                break
            items.append(VoteResponsePartitionData(partition_index, error_code, leader_id, leader_epoch, vote_granted))
        pos += len(items) * 16
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, leader_id, leader_epoch, vote_granted, n = _unpack_ihiitB(data, pos)
        pos += 16
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = VoteResponsePartitionData(
            partition_index, error_code, leader_id, leader_epoch, vote_granted, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_vote_response_partition_data_array_0(out: bytearray, items: list[VoteResponsePartitionData]) -> None:
    # PartitionData, versions 0-2
    for item in items:
        out += _pack_ihiit(item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.vote_granted)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_response_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[VoteResponseTopicData], int]:
    # TopicData, versions 0-2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[VoteResponseTopicData] = []
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
        partitions, pos = _read_vote_response_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(VoteResponseTopicData(topic_name, partitions, unknown_tags))
    return items, pos


def _write_vote_response_topic_data_array_0(out: bytearray, items: list[VoteResponseTopicData]) -> None:
    # TopicData, versions 0-2
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_vote_response_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_response_0(data: bytes, pos: int) -> tuple[VoteResponse, int]:
    # VoteResponse, version 0
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_vote_response_topic_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = VoteResponse(error_code, topics, [])
    if n:
        pos = _read_vote_response_tags_0(item, data, pos, n)
    return item, pos


def _read_vote_response_tags_0(item: VoteResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("VoteResponse", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_vote_response_0(out: bytearray, item: VoteResponse) -> None:
    # VoteResponse, version 0
    if item.node_endpoints:
        raise not_in_version("VoteResponse", "node_endpoints")
    out += _pack_h(item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_vote_response_topic_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_node_endpoint_array_1(data: bytes, pos: int, count: int) -> tuple[list[NodeEndpoint], int]:
    # NodeEndpoint, versions 1-2
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
    # NodeEndpoint, versions 1-2
    for item in items:
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_H(item.port)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_vote_response_1(data: bytes, pos: int) -> tuple[VoteResponse, int]:
    # VoteResponse, versions 1-2
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_vote_response_topic_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = VoteResponse(error_code, topics, [])
    if n:
        pos = _read_vote_response_tags_1(item, data, pos, n)
    return item, pos


def _read_vote_response_tags_1(item: VoteResponse, data: bytes, pos: int, first: int) -> int:
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
            raise bad_tag_size("VoteResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_vote_response_1(out: bytearray, item: VoteResponse) -> None:
    # VoteResponse, versions 1-2
    out += _pack_h(item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_vote_response_topic_data_array_0(out, item.topics)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_1(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class VoteResponse(Message):
    """Between KRaft controllers: grants or refuses a vote.

    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 52
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_vote_response_0, 1: _read_vote_response_1, 2: _read_vote_response_1}
    ENCODERS = {0: _write_vote_response_0, 1: _write_vote_response_1, 2: _write_vote_response_1}

    FIELDS = ("error_code", "topics", "node_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        topics: list[VoteResponseTopicData] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags
