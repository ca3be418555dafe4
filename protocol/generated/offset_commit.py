"""OffsetCommitKey 0 and OffsetCommitRequest 2-10 and OffsetCommitResponse 2-10 and OffsetCommitValue 0-4.

Generated from schemas/records/OffsetCommitKey.json and schemas/rpc/OffsetCommitRequest.json and
schemas/rpc/OffsetCommitResponse.json and schemas/records/OffsetCommitValue.json (Apache Kafka 4.4.0) by `python -m
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

_iterate_ih = Struct(">ih").iter_unpack
_iterate_ihB = Struct(">ihB").iter_unpack
_unpack_u = Struct(">16s").unpack_from
_unpack_uB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qh = Struct(">qh").unpack_from
_unpack_qi = Struct(">qi").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from
_unpack_qih = Struct(">qih").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_iqi = Struct(">iqi").pack
_pack_q = Struct(">q").pack
_pack_qh = Struct(">qh").pack
_pack_qi = Struct(">qi").pack
_pack_qih = Struct(">qih").pack
_pack_qq = Struct(">qq").pack


def _read_offset_commit_key_0(data: bytes, pos: int) -> tuple[OffsetCommitKey, int]:
    # OffsetCommitKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    topic = data[pos:end].decode()
    pos = end
    (partition,) = _unpack_i(data, pos)
    pos += 4
    return OffsetCommitKey(group, topic, partition), pos


def _write_offset_commit_key_0(out: bytearray, item: OffsetCommitKey) -> None:
    # OffsetCommitKey, version 0
    raw = item.group.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.topic.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(item.partition)


class OffsetCommitKey(Message):
    """__consumer_offsets, type 1: a group's offset of a partition."""

    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_offset_commit_key_0}
    ENCODERS = {0: _write_offset_commit_key_0}

    FIELDS = ("group", "topic", "partition")
    __slots__ = FIELDS

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


class OffsetCommitRequestTopic(Structure):
    """An element of OffsetCommitRequest.Topics.

    * `topic_id`: Replaces the name from version 10 on.
    """

    FIELDS = ("name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class OffsetCommitRequestPartition(Structure):
    """An element of OffsetCommitRequestTopic.Partitions.

    * `committed_offset`: The next record to consume.
    * `committed_leader_epoch`: Leader epoch of the last record consumed; -1 if unknown.
    * `committed_metadata`: Any text the client wants back.
    """

    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata
        self.unknown_tags = unknown_tags


def _read_offset_commit_request_partition_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestPartition], int]:
    # OffsetCommitRequestPartition, versions 2-5
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partition_index, committed_offset, n = _unpack_iqh(data, pos)
        pos += 14
        committed_metadata: str | None = None
        if n >= 0:
            end = pos + n
            committed_metadata = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(OffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
    return items, pos


def _write_offset_commit_request_partition_array_2(out: bytearray, items: list[OffsetCommitRequestPartition]) -> None:
    # OffsetCommitRequestPartition, versions 2-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetCommitRequestPartition", "unknown_tags")
        out += _pack_iq(item.partition_index, item.committed_offset)
        if item.committed_metadata is None:
            out += _pack_h(-1)
        else:
            raw = item.committed_metadata.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_offset_commit_request_topic_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestTopic], int]:
    # OffsetCommitRequestTopic, versions 2-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_offset_commit_request_partition_array_2(data, pos, n)
        items.append(OffsetCommitRequestTopic(name, ZERO_UUID, partitions))
    return items, pos


def _write_offset_commit_request_topic_array_2(out: bytearray, items: list[OffsetCommitRequestTopic]) -> None:
    # OffsetCommitRequestTopic, versions 2-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetCommitRequestTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_commit_request_partition_array_2(out, item.partitions)


def _read_offset_commit_request_2(data: bytes, pos: int) -> tuple[OffsetCommitRequest, int]:
    # OffsetCommitRequest, versions 2-4
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    generation_id_or_member_epoch, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    retention_time_ms, n = _unpack_qi(data, pos)
    pos += 12
    topics, pos = _read_offset_commit_request_topic_array_2(data, pos, n)
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, retention_time_ms, topics), pos


def _write_offset_commit_request_2(out: bytearray, item: OffsetCommitRequest) -> None:
    # OffsetCommitRequest, versions 2-4
    if item.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("OffsetCommitRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id_or_member_epoch, len(raw))
    out += raw
    out += _pack_qi(item.retention_time_ms, len(item.topics))
    _write_offset_commit_request_topic_array_2(out, item.topics)


def _read_offset_commit_request_5(data: bytes, pos: int) -> tuple[OffsetCommitRequest, int]:
    # OffsetCommitRequest, version 5
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    generation_id_or_member_epoch, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_commit_request_topic_array_2(data, pos, n)
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics), pos


def _write_offset_commit_request_5(out: bytearray, item: OffsetCommitRequest) -> None:
    # OffsetCommitRequest, version 5
    if item.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("OffsetCommitRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id_or_member_epoch, len(raw))
    out += raw
    out += _pack_i(len(item.topics))
    _write_offset_commit_request_topic_array_2(out, item.topics)


def _read_offset_commit_request_partition_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestPartition], int]:
    # OffsetCommitRequestPartition, versions 6-7
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqih(data, pos)
        pos += 18
        committed_metadata: str | None = None
        if n >= 0:
            end = pos + n
            committed_metadata = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        item = OffsetCommitRequestPartition(
            partition_index, committed_offset, committed_leader_epoch, committed_metadata
        )
        items.append(item)
    return items, pos


def _write_offset_commit_request_partition_array_6(out: bytearray, items: list[OffsetCommitRequestPartition]) -> None:
    # OffsetCommitRequestPartition, versions 6-7
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetCommitRequestPartition", "unknown_tags")
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.committed_metadata is None:
            out += _pack_h(-1)
        else:
            raw = item.committed_metadata.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_offset_commit_request_topic_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestTopic], int]:
    # OffsetCommitRequestTopic, versions 6-7
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_offset_commit_request_partition_array_6(data, pos, n)
        items.append(OffsetCommitRequestTopic(name, ZERO_UUID, partitions))
    return items, pos


def _write_offset_commit_request_topic_array_6(out: bytearray, items: list[OffsetCommitRequestTopic]) -> None:
    # OffsetCommitRequestTopic, versions 6-7
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetCommitRequestTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_commit_request_partition_array_6(out, item.partitions)


def _read_offset_commit_request_6(data: bytes, pos: int) -> tuple[OffsetCommitRequest, int]:
    # OffsetCommitRequest, version 6
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    generation_id_or_member_epoch, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_commit_request_topic_array_6(data, pos, n)
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics), pos


def _write_offset_commit_request_6(out: bytearray, item: OffsetCommitRequest) -> None:
    # OffsetCommitRequest, version 6
    if item.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("OffsetCommitRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id_or_member_epoch, len(raw))
    out += raw
    out += _pack_i(len(item.topics))
    _write_offset_commit_request_topic_array_6(out, item.topics)


def _read_offset_commit_request_7(data: bytes, pos: int) -> tuple[OffsetCommitRequest, int]:
    # OffsetCommitRequest, version 7
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    generation_id_or_member_epoch, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    group_instance_id: str | None = None
    if n >= 0:
        end = pos + n
        group_instance_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_commit_request_topic_array_6(data, pos, n)
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics), pos


def _write_offset_commit_request_7(out: bytearray, item: OffsetCommitRequest) -> None:
    # OffsetCommitRequest, version 7
    if item.unknown_tags:
        raise not_in_version("OffsetCommitRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id_or_member_epoch, len(raw))
    out += raw
    if item.group_instance_id is None:
        out += _pack_h(-1)
    else:
        raw = item.group_instance_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.topics))
    _write_offset_commit_request_topic_array_6(out, item.topics)


def _read_offset_commit_request_partition_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestPartition], int]:
    # OffsetCommitRequestPartition, versions 8-10
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, pos)
        pos += 17
        committed_metadata: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            committed_metadata = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = OffsetCommitRequestPartition(
            partition_index, committed_offset, committed_leader_epoch, committed_metadata, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_offset_commit_request_partition_array_8(out: bytearray, items: list[OffsetCommitRequestPartition]) -> None:
    # OffsetCommitRequestPartition, versions 8-10
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.committed_metadata is None:
            out.append(0)
        else:
            put_compact_string(out, item.committed_metadata)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_request_topic_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestTopic], int]:
    # OffsetCommitRequestTopic, versions 8-9
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestTopic] = []
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
        partitions, pos = _read_offset_commit_request_partition_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetCommitRequestTopic(name, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_offset_commit_request_topic_array_8(out: bytearray, items: list[OffsetCommitRequestTopic]) -> None:
    # OffsetCommitRequestTopic, versions 8-9
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_commit_request_partition_array_8(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_request_8(data: bytes, pos: int) -> tuple[OffsetCommitRequest, int]:
    # OffsetCommitRequest, versions 8-9
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    generation_id_or_member_epoch, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    group_instance_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_instance_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_commit_request_topic_array_8(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = OffsetCommitRequest(
        group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics, unknown_tags
    )
    return item, pos


def _write_offset_commit_request_8(out: bytearray, item: OffsetCommitRequest) -> None:
    # OffsetCommitRequest, versions 8-9
    put_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_commit_request_topic_array_8(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_request_topic_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitRequestTopic], int]:
    # OffsetCommitRequestTopic, version 10
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_offset_commit_request_partition_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetCommitRequestTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_offset_commit_request_topic_array_10(out: bytearray, items: list[OffsetCommitRequestTopic]) -> None:
    # OffsetCommitRequestTopic, version 10
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_commit_request_partition_array_8(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_request_10(data: bytes, pos: int) -> tuple[OffsetCommitRequest, int]:
    # OffsetCommitRequest, version 10
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    generation_id_or_member_epoch, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    group_instance_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_instance_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_commit_request_topic_array_10(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = OffsetCommitRequest(
        group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics, unknown_tags
    )
    return item, pos


def _write_offset_commit_request_10(out: bytearray, item: OffsetCommitRequest) -> None:
    # OffsetCommitRequest, version 10
    put_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_commit_request_topic_array_10(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class OffsetCommitRequest(Message):
    """Stores how far a group has consumed.

    * `generation_id_or_member_epoch`: The generation of a classic group, the member epoch of a consumer group; -1
    without a group.
    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    * `retention_time_ms`: How long to keep the offsets; -1 for the broker's setting.
    """

    API_KEY = 8
    MIN_VERSION = 2
    MAX_VERSION = 10
    FLEXIBLE_FROM = 8
    DECODERS = {
        2: _read_offset_commit_request_2,
        3: _read_offset_commit_request_2,
        4: _read_offset_commit_request_2,
        5: _read_offset_commit_request_5,
        6: _read_offset_commit_request_6,
        7: _read_offset_commit_request_7,
        8: _read_offset_commit_request_8,
        9: _read_offset_commit_request_8,
        10: _read_offset_commit_request_10,
    }
    ENCODERS = {
        2: _write_offset_commit_request_2,
        3: _write_offset_commit_request_2,
        4: _write_offset_commit_request_2,
        5: _write_offset_commit_request_5,
        6: _write_offset_commit_request_6,
        7: _write_offset_commit_request_7,
        8: _write_offset_commit_request_8,
        9: _write_offset_commit_request_8,
        10: _write_offset_commit_request_10,
    }

    FIELDS = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class OffsetCommitResponseTopic(Structure):
    """An element of OffsetCommitResponse.Topics."""

    FIELDS = ("name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class OffsetCommitResponsePartition(Structure):
    """An element of OffsetCommitResponseTopic.Partitions."""

    FIELDS = ("partition_index", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = unknown_tags


def _read_offset_commit_response_partition_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitResponsePartition], int]:
    # OffsetCommitResponsePartition, versions 2-7
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitResponsePartition] = []
    if count > 3:
        elements = _iterate_ih(data[pos : pos + count * 6])
        for partition_index, error_code in elements:
            items.append(OffsetCommitResponsePartition(partition_index, error_code))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
        items.append(OffsetCommitResponsePartition(partition_index, error_code))
    return items, pos


def _write_offset_commit_response_partition_array_2(out: bytearray, items: list[OffsetCommitResponsePartition]) -> None:
    # OffsetCommitResponsePartition, versions 2-7
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetCommitResponsePartition", "unknown_tags")
        out += _pack_ih(item.partition_index, item.error_code)


def _read_offset_commit_response_topic_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitResponseTopic], int]:
    # OffsetCommitResponseTopic, versions 2-7
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_offset_commit_response_partition_array_2(data, pos, n)
        items.append(OffsetCommitResponseTopic(name, ZERO_UUID, partitions))
    return items, pos


def _write_offset_commit_response_topic_array_2(out: bytearray, items: list[OffsetCommitResponseTopic]) -> None:
    # OffsetCommitResponseTopic, versions 2-7
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetCommitResponseTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_commit_response_partition_array_2(out, item.partitions)


def _read_offset_commit_response_2(data: bytes, pos: int) -> tuple[OffsetCommitResponse, int]:
    # OffsetCommitResponse, version 2
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_commit_response_topic_array_2(data, pos, n)
    return OffsetCommitResponse(0, topics), pos


def _write_offset_commit_response_2(out: bytearray, item: OffsetCommitResponse) -> None:
    # OffsetCommitResponse, version 2
    if item.unknown_tags:
        raise not_in_version("OffsetCommitResponse", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_offset_commit_response_topic_array_2(out, item.topics)


def _read_offset_commit_response_3(data: bytes, pos: int) -> tuple[OffsetCommitResponse, int]:
    # OffsetCommitResponse, versions 3-7
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_offset_commit_response_topic_array_2(data, pos, n)
    return OffsetCommitResponse(throttle_time_ms, topics), pos


def _write_offset_commit_response_3(out: bytearray, item: OffsetCommitResponse) -> None:
    # OffsetCommitResponse, versions 3-7
    if item.unknown_tags:
        raise not_in_version("OffsetCommitResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_offset_commit_response_topic_array_2(out, item.topics)


def _read_offset_commit_response_partition_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitResponsePartition], int]:
    # OffsetCommitResponsePartition, versions 8-10
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitResponsePartition] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_ihB(data[pos : pos + count * 7])
        for partition_index, error_code, n in elements:
            if n:
                break
            items.append(OffsetCommitResponsePartition(partition_index, error_code))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetCommitResponsePartition(partition_index, error_code, unknown_tags))
    return items, pos


def _write_offset_commit_response_partition_array_8(out: bytearray, items: list[OffsetCommitResponsePartition]) -> None:
    # OffsetCommitResponsePartition, versions 8-10
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_response_topic_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitResponseTopic], int]:
    # OffsetCommitResponseTopic, versions 8-9
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitResponseTopic] = []
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
        partitions, pos = _read_offset_commit_response_partition_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetCommitResponseTopic(name, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_offset_commit_response_topic_array_8(out: bytearray, items: list[OffsetCommitResponseTopic]) -> None:
    # OffsetCommitResponseTopic, versions 8-9
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_commit_response_partition_array_8(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_response_8(data: bytes, pos: int) -> tuple[OffsetCommitResponse, int]:
    # OffsetCommitResponse, versions 8-9
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_commit_response_topic_array_8(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetCommitResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_offset_commit_response_8(out: bytearray, item: OffsetCommitResponse) -> None:
    # OffsetCommitResponse, versions 8-9
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_commit_response_topic_array_8(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_response_topic_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetCommitResponseTopic], int]:
    # OffsetCommitResponseTopic, version 10
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_offset_commit_response_partition_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetCommitResponseTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_offset_commit_response_topic_array_10(out: bytearray, items: list[OffsetCommitResponseTopic]) -> None:
    # OffsetCommitResponseTopic, version 10
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_commit_response_partition_array_8(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_commit_response_10(data: bytes, pos: int) -> tuple[OffsetCommitResponse, int]:
    # OffsetCommitResponse, version 10
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_commit_response_topic_array_10(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetCommitResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_offset_commit_response_10(out: bytearray, item: OffsetCommitResponse) -> None:
    # OffsetCommitResponse, version 10
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_commit_response_topic_array_10(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class OffsetCommitResponse(Message):
    """What became of each partition's commit.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 8
    MIN_VERSION = 2
    MAX_VERSION = 10
    FLEXIBLE_FROM = 8
    DECODERS = {
        2: _read_offset_commit_response_2,
        3: _read_offset_commit_response_3,
        4: _read_offset_commit_response_3,
        5: _read_offset_commit_response_3,
        6: _read_offset_commit_response_3,
        7: _read_offset_commit_response_3,
        8: _read_offset_commit_response_8,
        9: _read_offset_commit_response_8,
        10: _read_offset_commit_response_10,
    }
    ENCODERS = {
        2: _write_offset_commit_response_2,
        3: _write_offset_commit_response_3,
        4: _write_offset_commit_response_3,
        5: _write_offset_commit_response_3,
        6: _write_offset_commit_response_3,
        7: _write_offset_commit_response_3,
        8: _write_offset_commit_response_8,
        9: _write_offset_commit_response_8,
        10: _write_offset_commit_response_10,
    }

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


def _read_offset_commit_value_0(data: bytes, pos: int) -> tuple[OffsetCommitValue, int]:
    # OffsetCommitValue, versions 0, 2
    offset, n = _unpack_qh(data, pos)
    pos += 10
    if n < 0:
        raise bad_length(n)
    end = pos + n
    metadata = data[pos:end].decode()
    pos = end
    (commit_timestamp,) = _unpack_q(data, pos)
    pos += 8
    return OffsetCommitValue(offset, -1, metadata, commit_timestamp, -1, ZERO_UUID), pos


def _write_offset_commit_value_0(out: bytearray, item: OffsetCommitValue) -> None:
    # OffsetCommitValue, versions 0, 2
    if item.unknown_tags:
        raise not_in_version("OffsetCommitValue", "unknown_tags")
    raw = item.metadata.encode()
    out += _pack_qh(item.offset, len(raw))
    out += raw
    out += _pack_q(item.commit_timestamp)


def _read_offset_commit_value_1(data: bytes, pos: int) -> tuple[OffsetCommitValue, int]:
    # OffsetCommitValue, version 1
    offset, n = _unpack_qh(data, pos)
    pos += 10
    if n < 0:
        raise bad_length(n)
    end = pos + n
    metadata = data[pos:end].decode()
    pos = end
    commit_timestamp, expire_timestamp = _unpack_qq(data, pos)
    pos += 16
    return OffsetCommitValue(offset, -1, metadata, commit_timestamp, expire_timestamp, ZERO_UUID), pos


def _write_offset_commit_value_1(out: bytearray, item: OffsetCommitValue) -> None:
    # OffsetCommitValue, version 1
    if item.unknown_tags:
        raise not_in_version("OffsetCommitValue", "unknown_tags")
    raw = item.metadata.encode()
    out += _pack_qh(item.offset, len(raw))
    out += raw
    out += _pack_qq(item.commit_timestamp, item.expire_timestamp)


def _read_offset_commit_value_3(data: bytes, pos: int) -> tuple[OffsetCommitValue, int]:
    # OffsetCommitValue, version 3
    offset, leader_epoch, n = _unpack_qih(data, pos)
    pos += 14
    if n < 0:
        raise bad_length(n)
    end = pos + n
    metadata = data[pos:end].decode()
    pos = end
    (commit_timestamp,) = _unpack_q(data, pos)
    pos += 8
    return OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, -1, ZERO_UUID), pos


def _write_offset_commit_value_3(out: bytearray, item: OffsetCommitValue) -> None:
    # OffsetCommitValue, version 3
    if item.unknown_tags:
        raise not_in_version("OffsetCommitValue", "unknown_tags")
    raw = item.metadata.encode()
    out += _pack_qih(item.offset, item.leader_epoch, len(raw))
    out += raw
    out += _pack_q(item.commit_timestamp)


def _read_offset_commit_value_4(data: bytes, pos: int) -> tuple[OffsetCommitValue, int]:
    # OffsetCommitValue, version 4
    offset, leader_epoch, n = _unpack_qiB(data, pos)
    pos += 13
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    metadata = data[pos:end].decode()
    pos = end
    commit_timestamp, n = _unpack_qB(data, pos)
    pos += 9
    item = OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, -1, ZERO_UUID)
    if n:
        pos = _read_offset_commit_value_tags_4(item, data, pos, n)
    return item, pos


def _read_offset_commit_value_tags_4(item: OffsetCommitValue, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.topic_id = topic_id
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("OffsetCommitValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_offset_commit_value_4(out: bytearray, item: OffsetCommitValue) -> None:
    # OffsetCommitValue, version 4
    out += _pack_qi(item.offset, item.leader_epoch)
    put_compact_string(out, item.metadata)
    out += _pack_q(item.commit_timestamp)
    tags = item.unknown_tags
    if item.topic_id != ZERO_UUID:
        body = bytearray()
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        body += _pack_u(item.topic_id)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class OffsetCommitValue(Message):
    """__consumer_offsets, type 1: written at version 4, or at 1 with an expiry.

    * `leader_epoch`: -1 if unknown.
    * `topic_id`: The zero id in records of earlier releases.
    """

    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_offset_commit_value_0,
        1: _read_offset_commit_value_1,
        2: _read_offset_commit_value_0,
        3: _read_offset_commit_value_3,
        4: _read_offset_commit_value_4,
    }
    ENCODERS = {
        0: _write_offset_commit_value_0,
        1: _write_offset_commit_value_1,
        2: _write_offset_commit_value_0,
        3: _write_offset_commit_value_3,
        4: _write_offset_commit_value_4,
    }

    FIELDS = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
        unknown_tags: Tags = (),
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
        self.unknown_tags = unknown_tags
