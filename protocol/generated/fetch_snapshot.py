"""FetchSnapshotRequest 0-1 and FetchSnapshotResponse 0-1.

Generated from schemas/rpc/FetchSnapshotRequest.json and schemas/rpc/FetchSnapshotResponse.json (Apache Kafka 4.4.0) by
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
    bad_tag,
    bad_tag_size,
    bad_uuid,
    not_in_version,
    null_not_allowed,
    put_compact_string,
    put_records,
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_u = Struct(">16s").unpack_from
_unpack_HB = Struct(">HB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_H = Struct(">H").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_q = Struct(">q").pack
_pack_qi = Struct(">qi").pack
_pack_qq = Struct(">qq").pack


class FetchSnapshotRequestTopicSnapshot(Structure):
    """An element of FetchSnapshotRequest.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotRequestPartitionSnapshot] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class FetchSnapshotRequestPartitionSnapshot(Structure):
    """An element of TopicSnapshot.Partitions.

    * `current_leader_epoch`: The leader epoch as the client knows it; -1 to skip the check.
    """

    FIELDS = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: FetchSnapshotRequestSnapshotId | None = None,
        position: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = FetchSnapshotRequestSnapshotId() if snapshot_id is None else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id
        self.unknown_tags = unknown_tags


class FetchSnapshotRequestSnapshotId(Structure):
    """The value of PartitionSnapshot.SnapshotId."""

    FIELDS = ("end_offset", "epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tags = unknown_tags


def _read_fetch_snapshot_request_snapshot_id_0(data: bytes, pos: int) -> tuple[FetchSnapshotRequestSnapshotId, int]:
    # SnapshotId, versions 0-1
    end_offset, epoch, n = _unpack_qiB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return FetchSnapshotRequestSnapshotId(end_offset, epoch, unknown_tags), pos


def _write_fetch_snapshot_request_snapshot_id_0(out: bytearray, item: FetchSnapshotRequestSnapshotId) -> None:
    # SnapshotId, versions 0-1
    out += _pack_qi(item.end_offset, item.epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_snapshot_request_partition_snapshot_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchSnapshotRequestPartitionSnapshot], int]:
    # PartitionSnapshot, version 0
    if not 0 <= count * 30 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchSnapshotRequestPartitionSnapshot] = []
    for _ in range(count):
        partition, current_leader_epoch = _unpack_ii(data, pos)
        pos += 8
        snapshot_id, pos = _read_fetch_snapshot_request_snapshot_id_0(data, pos)
        position, n = _unpack_qB(data, pos)
        pos += 9
        item = FetchSnapshotRequestPartitionSnapshot(partition, current_leader_epoch, snapshot_id, position, ZERO_UUID)
        if n:
            pos = _read_fetch_snapshot_request_partition_snapshot_tags_0(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_fetch_snapshot_request_partition_snapshot_tags_0(
    item: FetchSnapshotRequestPartitionSnapshot, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("FetchSnapshotRequestPartitionSnapshot", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_request_partition_snapshot_array_0(
    out: bytearray, items: list[FetchSnapshotRequestPartitionSnapshot]
) -> None:
    # PartitionSnapshot, version 0
    for item in items:
        out += _pack_ii(item.partition, item.current_leader_epoch)
        _write_fetch_snapshot_request_snapshot_id_0(out, item.snapshot_id)
        out += _pack_q(item.position)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_snapshot_request_topic_snapshot_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchSnapshotRequestTopicSnapshot], int]:
    # TopicSnapshot, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchSnapshotRequestTopicSnapshot] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_snapshot_request_partition_snapshot_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchSnapshotRequestTopicSnapshot(name, partitions, unknown_tags))
    return items, pos


def _write_fetch_snapshot_request_topic_snapshot_array_0(
    out: bytearray, items: list[FetchSnapshotRequestTopicSnapshot]
) -> None:
    # TopicSnapshot, version 0
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_snapshot_request_partition_snapshot_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_snapshot_request_0(data: bytes, pos: int) -> tuple[FetchSnapshotRequest, int]:
    # FetchSnapshotRequest, version 0
    replica_id, max_bytes, n = _unpack_iiB(data, pos)
    pos += 9
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_snapshot_request_topic_snapshot_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchSnapshotRequest(None, replica_id, max_bytes, topics)
    if n:
        pos = _read_fetch_snapshot_request_tags_0(item, data, pos, n)
    return item, pos


def _read_fetch_snapshot_request_tags_0(item: FetchSnapshotRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            cluster_id: str | None = None
            if n:
                if n > 127:
                    n, pos = read_string_length(data, pos)
                end = pos + n - 1
                cluster_id = data[pos:end].decode()
                pos = end
            item.cluster_id = cluster_id
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchSnapshotRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_request_0(out: bytearray, item: FetchSnapshotRequest) -> None:
    # FetchSnapshotRequest, version 0
    out += _pack_ii(item.replica_id, item.max_bytes)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_snapshot_request_topic_snapshot_array_0(out, item.topics)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_snapshot_request_partition_snapshot_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchSnapshotRequestPartitionSnapshot], int]:
    # PartitionSnapshot, version 1
    if not 0 <= count * 30 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchSnapshotRequestPartitionSnapshot] = []
    for _ in range(count):
        partition, current_leader_epoch = _unpack_ii(data, pos)
        pos += 8
        snapshot_id, pos = _read_fetch_snapshot_request_snapshot_id_0(data, pos)
        position, n = _unpack_qB(data, pos)
        pos += 9
        item = FetchSnapshotRequestPartitionSnapshot(partition, current_leader_epoch, snapshot_id, position, ZERO_UUID)
        if n:
            pos = _read_fetch_snapshot_request_partition_snapshot_tags_1(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_fetch_snapshot_request_partition_snapshot_tags_1(
    item: FetchSnapshotRequestPartitionSnapshot, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (replica_directory_id,) = _unpack_u(data, pos)
            pos += 16
            item.replica_directory_id = replica_directory_id
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchSnapshotRequestPartitionSnapshot", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_request_partition_snapshot_array_1(
    out: bytearray, items: list[FetchSnapshotRequestPartitionSnapshot]
) -> None:
    # PartitionSnapshot, version 1
    for item in items:
        out += _pack_ii(item.partition, item.current_leader_epoch)
        _write_fetch_snapshot_request_snapshot_id_0(out, item.snapshot_id)
        out += _pack_q(item.position)
        tags = item.unknown_tags
        if item.replica_directory_id != ZERO_UUID:
            body = bytearray()
            if len(item.replica_directory_id) != 16:
                raise bad_uuid(item.replica_directory_id)
            body += _pack_u(item.replica_directory_id)
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_snapshot_request_topic_snapshot_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchSnapshotRequestTopicSnapshot], int]:
    # TopicSnapshot, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchSnapshotRequestTopicSnapshot] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_snapshot_request_partition_snapshot_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchSnapshotRequestTopicSnapshot(name, partitions, unknown_tags))
    return items, pos


def _write_fetch_snapshot_request_topic_snapshot_array_1(
    out: bytearray, items: list[FetchSnapshotRequestTopicSnapshot]
) -> None:
    # TopicSnapshot, version 1
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_snapshot_request_partition_snapshot_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_snapshot_request_1(data: bytes, pos: int) -> tuple[FetchSnapshotRequest, int]:
    # FetchSnapshotRequest, version 1
    replica_id, max_bytes, n = _unpack_iiB(data, pos)
    pos += 9
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_snapshot_request_topic_snapshot_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchSnapshotRequest(None, replica_id, max_bytes, topics)
    if n:
        pos = _read_fetch_snapshot_request_tags_1(item, data, pos, n)
    return item, pos


def _read_fetch_snapshot_request_tags_1(item: FetchSnapshotRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            cluster_id: str | None = None
            if n:
                if n > 127:
                    n, pos = read_string_length(data, pos)
                end = pos + n - 1
                cluster_id = data[pos:end].decode()
                pos = end
            item.cluster_id = cluster_id
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchSnapshotRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_request_1(out: bytearray, item: FetchSnapshotRequest) -> None:
    # FetchSnapshotRequest, version 1
    out += _pack_ii(item.replica_id, item.max_bytes)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_snapshot_request_topic_snapshot_array_1(out, item.topics)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class FetchSnapshotRequest(Message):
    """Between KRaft nodes: reads a part of a metadata snapshot."""

    API_KEY = 59
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_fetch_snapshot_request_0, 1: _read_fetch_snapshot_request_1}
    ENCODERS = {0: _write_fetch_snapshot_request_0, 1: _write_fetch_snapshot_request_1}

    FIELDS = ("cluster_id", "replica_id", "max_bytes", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[FetchSnapshotRequestTopicSnapshot] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class FetchSnapshotResponseTopicSnapshot(Structure):
    """An element of FetchSnapshotResponse.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotResponsePartitionSnapshot] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class FetchSnapshotResponsePartitionSnapshot(Structure):
    """An element of TopicSnapshot.Partitions.

    * `current_leader`: The leader the broker knows of; only when it is not this one.
    """

    FIELDS = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",
        "size",
        "position",
        "unaligned_records",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: FetchSnapshotResponseSnapshotId | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: bytes | memoryview | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = FetchSnapshotResponseSnapshotId() if snapshot_id is None else snapshot_id
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records
        self.unknown_tags = unknown_tags


class FetchSnapshotResponseSnapshotId(Structure):
    """The value of PartitionSnapshot.SnapshotId."""

    FIELDS = ("end_offset", "epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tags = unknown_tags


class LeaderIdAndEpoch(Structure):
    """The value of PartitionSnapshot.CurrentLeader."""

    FIELDS = ("leader_id", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


class NodeEndpoint(Structure):
    """An element of FetchSnapshotResponse.NodeEndpoints."""

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


def _read_fetch_snapshot_response_snapshot_id_0(data: bytes, pos: int) -> tuple[FetchSnapshotResponseSnapshotId, int]:
    # SnapshotId, versions 0-1
    end_offset, epoch, n = _unpack_qiB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return FetchSnapshotResponseSnapshotId(end_offset, epoch, unknown_tags), pos


def _write_fetch_snapshot_response_snapshot_id_0(out: bytearray, item: FetchSnapshotResponseSnapshotId) -> None:
    # SnapshotId, versions 0-1
    out += _pack_qi(item.end_offset, item.epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leader_id_and_epoch_0(data: bytes, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    # LeaderIdAndEpoch, versions 0-1
    leader_id, leader_epoch, n = _unpack_iiB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaderIdAndEpoch(leader_id, leader_epoch, unknown_tags), pos


def _write_leader_id_and_epoch_0(out: bytearray, item: LeaderIdAndEpoch) -> None:
    # LeaderIdAndEpoch, versions 0-1
    out += _pack_ii(item.leader_id, item.leader_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_snapshot_response_partition_snapshot_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchSnapshotResponsePartitionSnapshot], int]:
    # PartitionSnapshot, versions 0-1
    view = memoryview(data)
    if not 0 <= count * 37 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchSnapshotResponsePartitionSnapshot] = []
    for _ in range(count):
        index, error_code = _unpack_ih(data, pos)
        pos += 6
        snapshot_id, pos = _read_fetch_snapshot_response_snapshot_id_0(data, pos)
        size, position, n = _unpack_qqB(data, pos)
        pos += 17
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        unaligned_records = view[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        item = FetchSnapshotResponsePartitionSnapshot(
            index, error_code, snapshot_id, LeaderIdAndEpoch(), size, position, unaligned_records
        )
        if n:
            pos = _read_fetch_snapshot_response_partition_snapshot_tags_0(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_fetch_snapshot_response_partition_snapshot_tags_0(
    item: FetchSnapshotResponsePartitionSnapshot, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            current_leader, pos = _read_leader_id_and_epoch_0(data, pos)
            item.current_leader = current_leader
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchSnapshotResponsePartitionSnapshot", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_response_partition_snapshot_array_0(
    out: bytearray, items: list[FetchSnapshotResponsePartitionSnapshot]
) -> None:
    # PartitionSnapshot, versions 0-1
    for item in items:
        out += _pack_ih(item.index, item.error_code)
        _write_fetch_snapshot_response_snapshot_id_0(out, item.snapshot_id)
        if item.unaligned_records is None:
            raise null_not_allowed("FetchSnapshotResponsePartitionSnapshot", "unaligned_records")
        out += _pack_qq(item.size, item.position)
        n = len(item.unaligned_records) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_records(out, item.unaligned_records)
        tags = item.unknown_tags
        if not _is_default_leader_id_and_epoch(item.current_leader):
            body = bytearray()
            _write_leader_id_and_epoch_0(body, item.current_leader)
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_snapshot_response_topic_snapshot_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchSnapshotResponseTopicSnapshot], int]:
    # TopicSnapshot, versions 0-1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchSnapshotResponseTopicSnapshot] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_snapshot_response_partition_snapshot_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchSnapshotResponseTopicSnapshot(name, partitions, unknown_tags))
    return items, pos


def _write_fetch_snapshot_response_topic_snapshot_array_0(
    out: bytearray, items: list[FetchSnapshotResponseTopicSnapshot]
) -> None:
    # TopicSnapshot, versions 0-1
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_snapshot_response_partition_snapshot_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_snapshot_response_0(data: bytes, pos: int) -> tuple[FetchSnapshotResponse, int]:
    # FetchSnapshotResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_snapshot_response_topic_snapshot_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchSnapshotResponse(throttle_time_ms, error_code, topics, [])
    if n:
        pos = _read_fetch_snapshot_response_tags_0(item, data, pos, n)
    return item, pos


def _read_fetch_snapshot_response_tags_0(item: FetchSnapshotResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("FetchSnapshotResponse", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_response_0(out: bytearray, item: FetchSnapshotResponse) -> None:
    # FetchSnapshotResponse, version 0
    if item.node_endpoints:
        raise not_in_version("FetchSnapshotResponse", "node_endpoints")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_snapshot_response_topic_snapshot_array_0(out, item.topics)
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


def _read_fetch_snapshot_response_1(data: bytes, pos: int) -> tuple[FetchSnapshotResponse, int]:
    # FetchSnapshotResponse, version 1
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_snapshot_response_topic_snapshot_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchSnapshotResponse(throttle_time_ms, error_code, topics, [])
    if n:
        pos = _read_fetch_snapshot_response_tags_1(item, data, pos, n)
    return item, pos


def _read_fetch_snapshot_response_tags_1(item: FetchSnapshotResponse, data: bytes, pos: int, first: int) -> int:
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
            raise bad_tag_size("FetchSnapshotResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_snapshot_response_1(out: bytearray, item: FetchSnapshotResponse) -> None:
    # FetchSnapshotResponse, version 1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_snapshot_response_topic_snapshot_array_0(out, item.topics)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_1(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class FetchSnapshotResponse(Message):
    """A part of a metadata snapshot.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 59
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_fetch_snapshot_response_0, 1: _read_fetch_snapshot_response_1}
    ENCODERS = {0: _write_fetch_snapshot_response_0, 1: _write_fetch_snapshot_response_1}

    FIELDS = ("throttle_time_ms", "error_code", "topics", "node_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[FetchSnapshotResponseTopicSnapshot] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is EMPTY else topics
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags


def _is_default_leader_id_and_epoch(item: LeaderIdAndEpoch) -> bool:
    return item.leader_id == 0 and item.leader_epoch == 0 and not item.unknown_tags
