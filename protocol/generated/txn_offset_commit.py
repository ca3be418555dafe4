"""TxnOffsetCommitRequest 0-6 and TxnOffsetCommitResponse 0-6.

Generated from schemas/rpc/TxnOffsetCommitRequest.json and schemas/rpc/TxnOffsetCommitResponse.json (Apache Kafka 4.4.0)
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
_unpack_qhi = Struct(">qhi").unpack_from
_unpack_qhiB = Struct(">qhiB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_iqi = Struct(">iqi").pack
_pack_qhi = Struct(">qhi").pack


class TxnOffsetCommitRequestTopic(Structure):
    """An element of TxnOffsetCommitRequest.Topics."""

    FIELDS = ("name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[TxnOffsetCommitRequestPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class TxnOffsetCommitRequestPartition(Structure):
    """An element of TxnOffsetCommitRequestTopic.Partitions.

    * `committed_leader_epoch`: Leader epoch of the last record consumed; -1 if unknown.
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


def _read_txn_offset_commit_request_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    # TxnOffsetCommitRequestPartition, versions 0-1
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestPartition] = []
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
        items.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
    return items, pos


def _write_txn_offset_commit_request_partition_array_0(
    out: bytearray, items: list[TxnOffsetCommitRequestPartition]
) -> None:
    # TxnOffsetCommitRequestPartition, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TxnOffsetCommitRequestPartition", "unknown_tags")
        out += _pack_iq(item.partition_index, item.committed_offset)
        if item.committed_metadata is None:
            out += _pack_h(-1)
        else:
            raw = item.committed_metadata.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_txn_offset_commit_request_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    # TxnOffsetCommitRequestTopic, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestTopic] = []
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
        partitions, pos = _read_txn_offset_commit_request_partition_array_0(data, pos, n)
        items.append(TxnOffsetCommitRequestTopic(name, ZERO_UUID, partitions))
    return items, pos


def _write_txn_offset_commit_request_topic_array_0(out: bytearray, items: list[TxnOffsetCommitRequestTopic]) -> None:
    # TxnOffsetCommitRequestTopic, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TxnOffsetCommitRequestTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_txn_offset_commit_request_partition_array_0(out, item.partitions)


def _read_txn_offset_commit_request_0(data: bytes, pos: int) -> tuple[TxnOffsetCommitRequest, int]:
    # TxnOffsetCommitRequest, versions 0-1
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    transactional_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, n = _unpack_qhi(data, pos)
    pos += 14
    topics, pos = _read_txn_offset_commit_request_topic_array_0(data, pos, n)
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics), pos


def _write_txn_offset_commit_request_0(out: bytearray, item: TxnOffsetCommitRequest) -> None:
    # TxnOffsetCommitRequest, versions 0-1
    if item.generation_id_or_member_epoch != -1:
        raise not_in_version("TxnOffsetCommitRequest", "generation_id_or_member_epoch")
    if item.member_id != "":
        raise not_in_version("TxnOffsetCommitRequest", "member_id")
    if item.group_instance_id is not None:
        raise not_in_version("TxnOffsetCommitRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("TxnOffsetCommitRequest", "unknown_tags")
    raw = item.transactional_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_qhi(item.producer_id, item.producer_epoch, len(item.topics))
    _write_txn_offset_commit_request_topic_array_0(out, item.topics)


def _read_txn_offset_commit_request_partition_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    # TxnOffsetCommitRequestPartition, version 2
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestPartition] = []
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
        item = TxnOffsetCommitRequestPartition(
            partition_index, committed_offset, committed_leader_epoch, committed_metadata
        )
        items.append(item)
    return items, pos


def _write_txn_offset_commit_request_partition_array_2(
    out: bytearray, items: list[TxnOffsetCommitRequestPartition]
) -> None:
    # TxnOffsetCommitRequestPartition, version 2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TxnOffsetCommitRequestPartition", "unknown_tags")
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.committed_metadata is None:
            out += _pack_h(-1)
        else:
            raw = item.committed_metadata.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_txn_offset_commit_request_topic_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    # TxnOffsetCommitRequestTopic, version 2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestTopic] = []
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
        partitions, pos = _read_txn_offset_commit_request_partition_array_2(data, pos, n)
        items.append(TxnOffsetCommitRequestTopic(name, ZERO_UUID, partitions))
    return items, pos


def _write_txn_offset_commit_request_topic_array_2(out: bytearray, items: list[TxnOffsetCommitRequestTopic]) -> None:
    # TxnOffsetCommitRequestTopic, version 2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TxnOffsetCommitRequestTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_txn_offset_commit_request_partition_array_2(out, item.partitions)


def _read_txn_offset_commit_request_2(data: bytes, pos: int) -> tuple[TxnOffsetCommitRequest, int]:
    # TxnOffsetCommitRequest, version 2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    transactional_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, n = _unpack_qhi(data, pos)
    pos += 14
    topics, pos = _read_txn_offset_commit_request_topic_array_2(data, pos, n)
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics), pos


def _write_txn_offset_commit_request_2(out: bytearray, item: TxnOffsetCommitRequest) -> None:
    # TxnOffsetCommitRequest, version 2
    if item.generation_id_or_member_epoch != -1:
        raise not_in_version("TxnOffsetCommitRequest", "generation_id_or_member_epoch")
    if item.member_id != "":
        raise not_in_version("TxnOffsetCommitRequest", "member_id")
    if item.group_instance_id is not None:
        raise not_in_version("TxnOffsetCommitRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("TxnOffsetCommitRequest", "unknown_tags")
    raw = item.transactional_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_qhi(item.producer_id, item.producer_epoch, len(item.topics))
    _write_txn_offset_commit_request_topic_array_2(out, item.topics)


def _read_txn_offset_commit_request_partition_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    # TxnOffsetCommitRequestPartition, versions 3-6
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestPartition] = []
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
        item = TxnOffsetCommitRequestPartition(
            partition_index, committed_offset, committed_leader_epoch, committed_metadata, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_txn_offset_commit_request_partition_array_3(
    out: bytearray, items: list[TxnOffsetCommitRequestPartition]
) -> None:
    # TxnOffsetCommitRequestPartition, versions 3-6
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.committed_metadata is None:
            out.append(0)
        else:
            put_compact_string(out, item.committed_metadata)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_request_topic_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    # TxnOffsetCommitRequestTopic, versions 3-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestTopic] = []
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
        partitions, pos = _read_txn_offset_commit_request_partition_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnOffsetCommitRequestTopic(name, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_txn_offset_commit_request_topic_array_3(out: bytearray, items: list[TxnOffsetCommitRequestTopic]) -> None:
    # TxnOffsetCommitRequestTopic, versions 3-5
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_txn_offset_commit_request_partition_array_3(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_request_3(data: bytes, pos: int) -> tuple[TxnOffsetCommitRequest, int]:
    # TxnOffsetCommitRequest, versions 3-5
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    transactional_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, generation_id_or_member_epoch, n = _unpack_qhiB(data, pos)
    pos += 15
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
    topics, pos = _read_txn_offset_commit_request_topic_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = TxnOffsetCommitRequest(
        transactional_id,
        group_id,
        producer_id,
        producer_epoch,
        generation_id_or_member_epoch,
        member_id,
        group_instance_id,
        topics,
        unknown_tags,
    )
    return item, pos


def _write_txn_offset_commit_request_3(out: bytearray, item: TxnOffsetCommitRequest) -> None:
    # TxnOffsetCommitRequest, versions 3-5
    put_compact_string(out, item.transactional_id)
    put_compact_string(out, item.group_id)
    out += _pack_qhi(item.producer_id, item.producer_epoch, item.generation_id_or_member_epoch)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_txn_offset_commit_request_topic_array_3(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_request_topic_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    # TxnOffsetCommitRequestTopic, version 6
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_txn_offset_commit_request_partition_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnOffsetCommitRequestTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_txn_offset_commit_request_topic_array_6(out: bytearray, items: list[TxnOffsetCommitRequestTopic]) -> None:
    # TxnOffsetCommitRequestTopic, version 6
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_txn_offset_commit_request_partition_array_3(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_request_6(data: bytes, pos: int) -> tuple[TxnOffsetCommitRequest, int]:
    # TxnOffsetCommitRequest, version 6
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    transactional_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, generation_id_or_member_epoch, n = _unpack_qhiB(data, pos)
    pos += 15
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
    topics, pos = _read_txn_offset_commit_request_topic_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = TxnOffsetCommitRequest(
        transactional_id,
        group_id,
        producer_id,
        producer_epoch,
        generation_id_or_member_epoch,
        member_id,
        group_instance_id,
        topics,
        unknown_tags,
    )
    return item, pos


def _write_txn_offset_commit_request_6(out: bytearray, item: TxnOffsetCommitRequest) -> None:
    # TxnOffsetCommitRequest, version 6
    put_compact_string(out, item.transactional_id)
    put_compact_string(out, item.group_id)
    out += _pack_qhi(item.producer_id, item.producer_epoch, item.generation_id_or_member_epoch)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_txn_offset_commit_request_topic_array_6(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class TxnOffsetCommitRequest(Message):
    """Commits offsets as part of a transaction.

    * `generation_id_or_member_epoch`: -1 to skip the check of the group.
    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    """

    API_KEY = 28
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_txn_offset_commit_request_0,
        1: _read_txn_offset_commit_request_0,
        2: _read_txn_offset_commit_request_2,
        3: _read_txn_offset_commit_request_3,
        4: _read_txn_offset_commit_request_3,
        5: _read_txn_offset_commit_request_3,
        6: _read_txn_offset_commit_request_6,
    }
    ENCODERS = {
        0: _write_txn_offset_commit_request_0,
        1: _write_txn_offset_commit_request_0,
        2: _write_txn_offset_commit_request_2,
        3: _write_txn_offset_commit_request_3,
        4: _write_txn_offset_commit_request_3,
        5: _write_txn_offset_commit_request_3,
        6: _write_txn_offset_commit_request_6,
    }

    FIELDS = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "topics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class TxnOffsetCommitResponseTopic(Structure):
    """An element of TxnOffsetCommitResponse.Topics."""

    FIELDS = ("name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[TxnOffsetCommitResponsePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class TxnOffsetCommitResponsePartition(Structure):
    """An element of TxnOffsetCommitResponseTopic.Partitions."""

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


def _read_txn_offset_commit_response_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    # TxnOffsetCommitResponsePartition, versions 0-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitResponsePartition] = []
    if count > 3:
        elements = _iterate_ih(data[pos : pos + count * 6])
        for partition_index, error_code in elements:
            items.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
        items.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
    return items, pos


def _write_txn_offset_commit_response_partition_array_0(
    out: bytearray, items: list[TxnOffsetCommitResponsePartition]
) -> None:
    # TxnOffsetCommitResponsePartition, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TxnOffsetCommitResponsePartition", "unknown_tags")
        out += _pack_ih(item.partition_index, item.error_code)


def _read_txn_offset_commit_response_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    # TxnOffsetCommitResponseTopic, versions 0-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitResponseTopic] = []
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
        partitions, pos = _read_txn_offset_commit_response_partition_array_0(data, pos, n)
        items.append(TxnOffsetCommitResponseTopic(name, ZERO_UUID, partitions))
    return items, pos


def _write_txn_offset_commit_response_topic_array_0(out: bytearray, items: list[TxnOffsetCommitResponseTopic]) -> None:
    # TxnOffsetCommitResponseTopic, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TxnOffsetCommitResponseTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_txn_offset_commit_response_partition_array_0(out, item.partitions)


def _read_txn_offset_commit_response_0(data: bytes, pos: int) -> tuple[TxnOffsetCommitResponse, int]:
    # TxnOffsetCommitResponse, versions 0-2
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_txn_offset_commit_response_topic_array_0(data, pos, n)
    return TxnOffsetCommitResponse(throttle_time_ms, topics), pos


def _write_txn_offset_commit_response_0(out: bytearray, item: TxnOffsetCommitResponse) -> None:
    # TxnOffsetCommitResponse, versions 0-2
    if item.unknown_tags:
        raise not_in_version("TxnOffsetCommitResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_txn_offset_commit_response_topic_array_0(out, item.topics)


def _read_txn_offset_commit_response_partition_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    # TxnOffsetCommitResponsePartition, versions 3-6
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitResponsePartition] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_ihB(data[pos : pos + count * 7])
        for partition_index, error_code, n in elements:
            if n:
                break
            items.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnOffsetCommitResponsePartition(partition_index, error_code, unknown_tags))
    return items, pos


def _write_txn_offset_commit_response_partition_array_3(
    out: bytearray, items: list[TxnOffsetCommitResponsePartition]
) -> None:
    # TxnOffsetCommitResponsePartition, versions 3-6
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_response_topic_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    # TxnOffsetCommitResponseTopic, versions 3-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitResponseTopic] = []
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
        partitions, pos = _read_txn_offset_commit_response_partition_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnOffsetCommitResponseTopic(name, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_txn_offset_commit_response_topic_array_3(out: bytearray, items: list[TxnOffsetCommitResponseTopic]) -> None:
    # TxnOffsetCommitResponseTopic, versions 3-5
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_txn_offset_commit_response_partition_array_3(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_response_3(data: bytes, pos: int) -> tuple[TxnOffsetCommitResponse, int]:
    # TxnOffsetCommitResponse, versions 3-5
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_txn_offset_commit_response_topic_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return TxnOffsetCommitResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_txn_offset_commit_response_3(out: bytearray, item: TxnOffsetCommitResponse) -> None:
    # TxnOffsetCommitResponse, versions 3-5
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_txn_offset_commit_response_topic_array_3(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_response_topic_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    # TxnOffsetCommitResponseTopic, version 6
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_txn_offset_commit_response_partition_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnOffsetCommitResponseTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_txn_offset_commit_response_topic_array_6(out: bytearray, items: list[TxnOffsetCommitResponseTopic]) -> None:
    # TxnOffsetCommitResponseTopic, version 6
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_txn_offset_commit_response_partition_array_3(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_offset_commit_response_6(data: bytes, pos: int) -> tuple[TxnOffsetCommitResponse, int]:
    # TxnOffsetCommitResponse, version 6
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_txn_offset_commit_response_topic_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return TxnOffsetCommitResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_txn_offset_commit_response_6(out: bytearray, item: TxnOffsetCommitResponse) -> None:
    # TxnOffsetCommitResponse, version 6
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_txn_offset_commit_response_topic_array_6(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class TxnOffsetCommitResponse(Message):
    """What became of each partition's commit.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 28
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_txn_offset_commit_response_0,
        1: _read_txn_offset_commit_response_0,
        2: _read_txn_offset_commit_response_0,
        3: _read_txn_offset_commit_response_3,
        4: _read_txn_offset_commit_response_3,
        5: _read_txn_offset_commit_response_3,
        6: _read_txn_offset_commit_response_6,
    }
    ENCODERS = {
        0: _write_txn_offset_commit_response_0,
        1: _write_txn_offset_commit_response_0,
        2: _write_txn_offset_commit_response_0,
        3: _write_txn_offset_commit_response_3,
        4: _write_txn_offset_commit_response_3,
        5: _write_txn_offset_commit_response_3,
        6: _write_txn_offset_commit_response_6,
    }

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
