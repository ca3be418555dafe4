"""FetchRequest 4-18 and FetchResponse 4-18.

Generated from schemas/rpc/FetchRequest.json and schemas/rpc/FetchResponse.json (Apache Kafka 4.4.0) by `python -m
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
    bad_tag,
    bad_tag_size,
    bad_uuid,
    not_in_version,
    put_compact_string,
    put_numbers,
    put_records,
    read_bytes_length,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iiqiqiB = Struct(">iiqiqiB").iter_unpack
_iterate_iiqqi = Struct(">iiqqi").iter_unpack
_iterate_iqi = Struct(">iqi").iter_unpack
_iterate_iqqi = Struct(">iqqi").iter_unpack
_iterate_qq = Struct(">qq").iter_unpack
_iterate_qqB = Struct(">qqB").iter_unpack
_unpack_u = Struct(">16s").unpack_from
_unpack_uB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihiB = Struct(">ihiB").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ihqqqB = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iiibiiB = Struct(">iiibiiB").unpack_from
_unpack_iiiibi = Struct(">iiiibi").unpack_from
_unpack_iiiibiiB = Struct(">iiiibiiB").unpack_from
_unpack_iiiibiii = Struct(">iiiibiii").unpack_from
_unpack_iiqiqiB = Struct(">iiqiqiB").unpack_from
_unpack_iiqqi = Struct(">iiqqi").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqi = Struct(">iqi").unpack_from
_unpack_iqqi = Struct(">iqqi").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihii = Struct(">ihii").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ii = Struct(">ii").pack
_pack_iiibii = Struct(">iiibii").pack
_pack_iiiibi = Struct(">iiiibi").pack
_pack_iiiibii = Struct(">iiiibii").pack
_pack_iiiibiii = Struct(">iiiibiii").pack
_pack_iiqiqi = Struct(">iiqiqi").pack
_pack_iiqqi = Struct(">iiqqi").pack
_pack_iq = Struct(">iq").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqqi = Struct(">iqqi").pack
_pack_q = Struct(">q").pack
_pack_qi = Struct(">qi").pack
_pack_qq = Struct(">qq").pack


class ReplicaState(Structure):
    """The value of FetchRequest.ReplicaState."""

    FIELDS = ("replica_id", "replica_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.unknown_tags = unknown_tags


class FetchTopic(Structure):
    """An element of FetchRequest.Topics."""

    FIELDS = ("topic", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class FetchPartition(Structure):
    """An element of FetchTopic.Partitions.

    * `current_leader_epoch`: The leader epoch as the client knows it; -1 to skip the check.
    * `last_fetched_epoch`: Epoch of the last record fetched, so that the broker can tell where the logs part; -1 to
    skip the check.
    * `log_start_offset`: A follower's log start; -1 from consumers.
    * `high_watermark`: The high watermark the follower knows; the largest number if it knows none.
    """

    FIELDS = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark
        self.unknown_tags = unknown_tags


class ForgottenTopic(Structure):
    """An element of FetchRequest.ForgottenTopicsData."""

    FIELDS = ("topic", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_fetch_partition_array_4(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, version 4
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    if count > 3:
        elements = _iterate_iqi(data[pos : pos + count * 16])
        for partition, fetch_offset, partition_max_bytes in elements:
            item = FetchPartition(
                partition, -1, fetch_offset, -1, -1, partition_max_bytes, ZERO_UUID, 9223372036854775807
            )
            items.append(item)
        pos += len(items) * 16
        count -= len(items)
    for _ in range(count):
        partition, fetch_offset, partition_max_bytes = _unpack_iqi(data, pos)
        pos += 16
        item = FetchPartition(partition, -1, fetch_offset, -1, -1, partition_max_bytes, ZERO_UUID, 9223372036854775807)
        items.append(item)
    return items, pos


def _write_fetch_partition_array_4(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, version 4
    for item in items:
        if item.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition", "last_fetched_epoch")
        if item.unknown_tags:
            raise not_in_version("FetchPartition", "unknown_tags")
        out += _pack_iqi(item.partition, item.fetch_offset, item.partition_max_bytes)


def _read_fetch_topic_array_4(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, version 4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_fetch_partition_array_4(data, pos, n)
        items.append(FetchTopic(topic, ZERO_UUID, partitions))
    return items, pos


def _write_fetch_topic_array_4(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, version 4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("FetchTopic", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_fetch_partition_array_4(out, item.partitions)


def _read_fetch_request_4(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, version 4
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = _unpack_iiiibi(data, pos)
    pos += 21
    topics, pos = _read_fetch_topic_array_4(data, pos, n)
    item = FetchRequest(
        None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, [], ""
    )
    return item, pos


def _write_fetch_request_4(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, version 4
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    if item.forgotten_topics_data:
        raise not_in_version("FetchRequest", "forgotten_topics_data")
    if item.unknown_tags:
        raise not_in_version("FetchRequest", "unknown_tags")
    out += _pack_iiiibi(
        item.replica_id, item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level, len(item.topics)
    )
    _write_fetch_topic_array_4(out, item.topics)


def _read_fetch_partition_array_5(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, versions 5-8
    if not 0 <= count * 24 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    if count > 3:
        elements = _iterate_iqqi(data[pos : pos + count * 24])
        for partition, fetch_offset, log_start_offset, partition_max_bytes in elements:
            item = FetchPartition(
                partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, ZERO_UUID, 9223372036854775807
            )
            items.append(item)
        pos += len(items) * 24
        count -= len(items)
    for _ in range(count):
        partition, fetch_offset, log_start_offset, partition_max_bytes = _unpack_iqqi(data, pos)
        pos += 24
        item = FetchPartition(
            partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, ZERO_UUID, 9223372036854775807
        )
        items.append(item)
    return items, pos


def _write_fetch_partition_array_5(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, versions 5-8
    for item in items:
        if item.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition", "last_fetched_epoch")
        if item.unknown_tags:
            raise not_in_version("FetchPartition", "unknown_tags")
        out += _pack_iqqi(item.partition, item.fetch_offset, item.log_start_offset, item.partition_max_bytes)


def _read_fetch_topic_array_5(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, versions 5-8
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_fetch_partition_array_5(data, pos, n)
        items.append(FetchTopic(topic, ZERO_UUID, partitions))
    return items, pos


def _write_fetch_topic_array_5(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, versions 5-8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("FetchTopic", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_fetch_partition_array_5(out, item.partitions)


def _read_fetch_request_5(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, versions 5-6
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = _unpack_iiiibi(data, pos)
    pos += 21
    topics, pos = _read_fetch_topic_array_5(data, pos, n)
    item = FetchRequest(
        None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, [], ""
    )
    return item, pos


def _write_fetch_request_5(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, versions 5-6
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    if item.forgotten_topics_data:
        raise not_in_version("FetchRequest", "forgotten_topics_data")
    if item.unknown_tags:
        raise not_in_version("FetchRequest", "unknown_tags")
    out += _pack_iiiibi(
        item.replica_id, item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level, len(item.topics)
    )
    _write_fetch_topic_array_5(out, item.topics)


def _read_forgotten_topic_array_7(data: bytes, pos: int, count: int) -> tuple[list[ForgottenTopic], int]:
    # ForgottenTopic, versions 7-11
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ForgottenTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = read_numbers(data, pos, n, "i")
        items.append(ForgottenTopic(topic, ZERO_UUID, partitions))
    return items, pos


def _write_forgotten_topic_array_7(out: bytearray, items: list[ForgottenTopic]) -> None:
    # ForgottenTopic, versions 7-11
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ForgottenTopic", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_fetch_request_7(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, versions 7-8
    (
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        n,
    ) = _unpack_iiiibiii(data, pos)
    pos += 29
    topics, pos = _read_fetch_topic_array_5(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    forgotten_topics_data, pos = _read_forgotten_topic_array_7(data, pos, n)
    item = FetchRequest(
        None,
        replica_id,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        "",
    )
    return item, pos


def _write_fetch_request_7(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, versions 7-8
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    if item.unknown_tags:
        raise not_in_version("FetchRequest", "unknown_tags")
    out += _pack_iiiibiii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
        len(item.topics),
    )
    _write_fetch_topic_array_5(out, item.topics)
    out += _pack_i(len(item.forgotten_topics_data))
    _write_forgotten_topic_array_7(out, item.forgotten_topics_data)


def _read_fetch_partition_array_9(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, versions 9-11
    if not 0 <= count * 28 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    if count > 3:
        elements = _iterate_iiqqi(data[pos : pos + count * 28])
        for partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes in elements:
            item = FetchPartition(
                partition,
                current_leader_epoch,
                fetch_offset,
                -1,
                log_start_offset,
                partition_max_bytes,
                ZERO_UUID,
                9223372036854775807,
            )
            items.append(item)
        pos += len(items) * 28
        count -= len(items)
    for _ in range(count):
        partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = _unpack_iiqqi(data, pos)
        pos += 28
        item = FetchPartition(
            partition,
            current_leader_epoch,
            fetch_offset,
            -1,
            log_start_offset,
            partition_max_bytes,
            ZERO_UUID,
            9223372036854775807,
        )
        items.append(item)
    return items, pos


def _write_fetch_partition_array_9(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, versions 9-11
    for item in items:
        if item.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition", "last_fetched_epoch")
        if item.unknown_tags:
            raise not_in_version("FetchPartition", "unknown_tags")
        out += _pack_iiqqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.log_start_offset,
            item.partition_max_bytes,
        )


def _read_fetch_topic_array_9(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, versions 9-11
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_fetch_partition_array_9(data, pos, n)
        items.append(FetchTopic(topic, ZERO_UUID, partitions))
    return items, pos


def _write_fetch_topic_array_9(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, versions 9-11
    for item in items:
        if item.unknown_tags:
            raise not_in_version("FetchTopic", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_fetch_partition_array_9(out, item.partitions)


def _read_fetch_request_9(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, versions 9-10
    (
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        n,
    ) = _unpack_iiiibiii(data, pos)
    pos += 29
    topics, pos = _read_fetch_topic_array_9(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    forgotten_topics_data, pos = _read_forgotten_topic_array_7(data, pos, n)
    item = FetchRequest(
        None,
        replica_id,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        "",
    )
    return item, pos


def _write_fetch_request_9(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, versions 9-10
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    if item.unknown_tags:
        raise not_in_version("FetchRequest", "unknown_tags")
    out += _pack_iiiibiii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
        len(item.topics),
    )
    _write_fetch_topic_array_9(out, item.topics)
    out += _pack_i(len(item.forgotten_topics_data))
    _write_forgotten_topic_array_7(out, item.forgotten_topics_data)


def _read_fetch_request_11(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, version 11
    (
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        n,
    ) = _unpack_iiiibiii(data, pos)
    pos += 29
    topics, pos = _read_fetch_topic_array_9(data, pos, n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    forgotten_topics_data, pos = _read_forgotten_topic_array_7(data, pos, n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    rack_id = data[pos:end].decode()
    pos = end
    item = FetchRequest(
        None,
        replica_id,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    )
    return item, pos


def _write_fetch_request_11(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, version 11
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    if item.unknown_tags:
        raise not_in_version("FetchRequest", "unknown_tags")
    out += _pack_iiiibiii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
        len(item.topics),
    )
    _write_fetch_topic_array_9(out, item.topics)
    out += _pack_i(len(item.forgotten_topics_data))
    _write_forgotten_topic_array_7(out, item.forgotten_topics_data)
    raw = item.rack_id.encode()
    out += _pack_h(len(raw))
    out += raw


def _read_fetch_partition_array_12(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, versions 12-16
    if not 0 <= count * 33 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    if count > 3 and count * 33 <= len(data) - pos:
        elements = _iterate_iiqiqiB(data[pos : pos + count * 33])
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            n,
        ) in elements:
            if n:
                break
            item = FetchPartition(
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                ZERO_UUID,
                9223372036854775807,
            )
            items.append(item)
        pos += len(items) * 33
        count -= len(items)
    for _ in range(count):
        (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            n,
        ) = _unpack_iiqiqiB(data, pos)
        pos += 33
        item = FetchPartition(
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            ZERO_UUID,
            9223372036854775807,
        )
        if n:
            pos = _read_fetch_partition_tags_12(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_fetch_partition_tags_12(item: FetchPartition, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag in (0, 1):
            raise bad_tag("FetchPartition", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_partition_array_12(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, versions 12-16
    for item in items:
        out += _pack_iiqiqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_topic_array_12(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, version 12
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_partition_array_12(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchTopic(topic, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_fetch_topic_array_12(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, version 12
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_partition_array_12(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_forgotten_topic_array_12(data: bytes, pos: int, count: int) -> tuple[list[ForgottenTopic], int]:
    # ForgottenTopic, version 12
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ForgottenTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic = data[pos:end].decode()
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
        items.append(ForgottenTopic(topic, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_forgotten_topic_array_12(out: bytearray, items: list[ForgottenTopic]) -> None:
    # ForgottenTopic, version 12
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_request_12(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, version 12
    (
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        n,
    ) = _unpack_iiiibiiB(data, pos)
    pos += 26
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_12(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_12(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    rack_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    item = FetchRequest(
        None,
        replica_id,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    )
    if n:
        pos = _read_fetch_request_tags_12(item, data, pos, n)
    return item, pos


def _read_fetch_request_tags_12(item: FetchRequest, data: bytes, pos: int, first: int) -> int:
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
        elif tag == 1:
            raise bad_tag("FetchRequest", tag)
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_request_12(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, version 12
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_12(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_12(out, item.forgotten_topics_data)
    put_compact_string(out, item.rack_id)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_topic_array_13(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, versions 13-16
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_partition_array_12(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_fetch_topic_array_13(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, versions 13-16
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_partition_array_12(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_forgotten_topic_array_13(data: bytes, pos: int, count: int) -> tuple[list[ForgottenTopic], int]:
    # ForgottenTopic, versions 13-18
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ForgottenTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ForgottenTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_forgotten_topic_array_13(out: bytearray, items: list[ForgottenTopic]) -> None:
    # ForgottenTopic, versions 13-18
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_request_13(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, versions 13-14
    (
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        n,
    ) = _unpack_iiiibiiB(data, pos)
    pos += 26
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    rack_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    item = FetchRequest(
        None,
        replica_id,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    )
    if n:
        pos = _read_fetch_request_tags_13(item, data, pos, n)
    return item, pos


def _read_fetch_request_tags_13(item: FetchRequest, data: bytes, pos: int, first: int) -> int:
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
        elif tag == 1:
            raise bad_tag("FetchRequest", tag)
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_request_13(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, versions 13-14
    if not _is_default_replica_state(item.replica_state):
        raise not_in_version("FetchRequest", "replica_state")
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_13(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_13(out, item.forgotten_topics_data)
    put_compact_string(out, item.rack_id)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_replica_state_15(data: bytes, pos: int) -> tuple[ReplicaState, int]:
    # ReplicaState, versions 15-18
    replica_id, replica_epoch, n = _unpack_iqB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ReplicaState(replica_id, replica_epoch, unknown_tags), pos


def _write_replica_state_15(out: bytearray, item: ReplicaState) -> None:
    # ReplicaState, versions 15-18
    out += _pack_iq(item.replica_id, item.replica_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_request_15(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, versions 15-16
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiibiiB(data, pos)
    pos += 22
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    rack_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    item = FetchRequest(
        None,
        -1,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    )
    if n:
        pos = _read_fetch_request_tags_15(item, data, pos, n)
    return item, pos


def _read_fetch_request_tags_15(item: FetchRequest, data: bytes, pos: int, first: int) -> int:
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
        elif tag == 1:
            replica_state, pos = _read_replica_state_15(data, pos)
            item.replica_state = replica_state
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_request_15(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, versions 15-16
    if item.replica_id != -1:
        raise not_in_version("FetchRequest", "replica_id")
    out += _pack_iiibii(
        item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level, item.session_id, item.session_epoch
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_13(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_13(out, item.forgotten_topics_data)
    put_compact_string(out, item.rack_id)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    if not _is_default_replica_state(item.replica_state):
        body = bytearray()
        _write_replica_state_15(body, item.replica_state)
        tags += ((1, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_partition_array_17(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, version 17
    if not 0 <= count * 33 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    if count > 3 and count * 33 <= len(data) - pos:
        elements = _iterate_iiqiqiB(data[pos : pos + count * 33])
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            n,
        ) in elements:
            if n:
                break
            item = FetchPartition(
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                ZERO_UUID,
                9223372036854775807,
            )
            items.append(item)
        pos += len(items) * 33
        count -= len(items)
    for _ in range(count):
        (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            n,
        ) = _unpack_iiqiqiB(data, pos)
        pos += 33
        item = FetchPartition(
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            ZERO_UUID,
            9223372036854775807,
        )
        if n:
            pos = _read_fetch_partition_tags_17(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_fetch_partition_tags_17(item: FetchPartition, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (replica_directory_id,) = _unpack_u(data, pos)
            pos += 16
            item.replica_directory_id = replica_directory_id
        elif tag == 1:
            raise bad_tag("FetchPartition", tag)
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchPartition", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_partition_array_17(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, version 17
    for item in items:
        out += _pack_iiqiqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
        )
        tags = item.unknown_tags
        if item.replica_directory_id != ZERO_UUID:
            body = bytearray()
            if len(item.replica_directory_id) != 16:
                raise bad_uuid(item.replica_directory_id)
            body += _pack_u(item.replica_directory_id)
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_topic_array_17(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, version 17
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_partition_array_17(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_fetch_topic_array_17(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, version 17
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_partition_array_17(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_request_17(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, version 17
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiibiiB(data, pos)
    pos += 22
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_17(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    rack_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    item = FetchRequest(
        None,
        -1,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    )
    if n:
        pos = _read_fetch_request_tags_17(item, data, pos, n)
    return item, pos


def _read_fetch_request_tags_17(item: FetchRequest, data: bytes, pos: int, first: int) -> int:
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
        elif tag == 1:
            replica_state, pos = _read_replica_state_15(data, pos)
            item.replica_state = replica_state
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_request_17(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, version 17
    if item.replica_id != -1:
        raise not_in_version("FetchRequest", "replica_id")
    out += _pack_iiibii(
        item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level, item.session_id, item.session_epoch
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_17(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_13(out, item.forgotten_topics_data)
    put_compact_string(out, item.rack_id)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    if not _is_default_replica_state(item.replica_state):
        body = bytearray()
        _write_replica_state_15(body, item.replica_state)
        tags += ((1, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_partition_array_18(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, version 18
    if not 0 <= count * 33 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    if count > 3 and count * 33 <= len(data) - pos:
        elements = _iterate_iiqiqiB(data[pos : pos + count * 33])
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            n,
        ) in elements:
            if n:
                break
            item = FetchPartition(
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                ZERO_UUID,
                9223372036854775807,
            )
            items.append(item)
        pos += len(items) * 33
        count -= len(items)
    for _ in range(count):
        (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            n,
        ) = _unpack_iiqiqiB(data, pos)
        pos += 33
        item = FetchPartition(
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            ZERO_UUID,
            9223372036854775807,
        )
        if n:
            pos = _read_fetch_partition_tags_18(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_fetch_partition_tags_18(item: FetchPartition, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (replica_directory_id,) = _unpack_u(data, pos)
            pos += 16
            item.replica_directory_id = replica_directory_id
        elif tag == 1:
            (high_watermark,) = _unpack_q(data, pos)
            pos += 8
            item.high_watermark = high_watermark
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchPartition", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_partition_array_18(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, version 18
    for item in items:
        out += _pack_iiqiqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
        )
        tags = item.unknown_tags
        if item.replica_directory_id != ZERO_UUID:
            body = bytearray()
            if len(item.replica_directory_id) != 16:
                raise bad_uuid(item.replica_directory_id)
            body += _pack_u(item.replica_directory_id)
            tags += ((0, bytes(body)),)
        if item.high_watermark != 9223372036854775807:
            body = bytearray()
            body += _pack_q(item.high_watermark)
            tags += ((1, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetch_topic_array_18(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, version 18
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_partition_array_18(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchTopic("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_fetch_topic_array_18(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, version 18
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_partition_array_18(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_request_18(data: bytes, pos: int) -> tuple[FetchRequest, int]:
    # FetchRequest, version 18
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiibiiB(data, pos)
    pos += 22
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_18(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    rack_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    item = FetchRequest(
        None,
        -1,
        ReplicaState(),
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    )
    if n:
        pos = _read_fetch_request_tags_18(item, data, pos, n)
    return item, pos


def _read_fetch_request_tags_18(item: FetchRequest, data: bytes, pos: int, first: int) -> int:
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
        elif tag == 1:
            replica_state, pos = _read_replica_state_15(data, pos)
            item.replica_state = replica_state
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_request_18(out: bytearray, item: FetchRequest) -> None:
    # FetchRequest, version 18
    if item.replica_id != -1:
        raise not_in_version("FetchRequest", "replica_id")
    out += _pack_iiibii(
        item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level, item.session_id, item.session_epoch
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_18(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_13(out, item.forgotten_topics_data)
    put_compact_string(out, item.rack_id)
    tags = item.unknown_tags
    if item.cluster_id is not None:
        body = bytearray()
        if item.cluster_id is None:
            body.append(0)
        else:
            put_compact_string(body, item.cluster_id)
        tags += ((0, bytes(body)),)
    if not _is_default_replica_state(item.replica_state):
        body = bytearray()
        _write_replica_state_15(body, item.replica_state)
        tags += ((1, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class FetchRequest(Message):
    """Reads record batches; within a session only changes to the set of partitions are sent.

    * `replica_id`: -1 for consumers; ReplicaState takes its place from version 15 on.
    * `max_wait_ms`: How long the broker may wait for MinBytes.
    * `max_bytes`: Limit of the whole answer; the first batch is returned even if it is larger.
    * `isolation_level`: 0 read uncommitted, 1 read committed.
    * `session_id`: 0 to fetch without a session or to open one.
    * `session_epoch`: 0 opens a session, -1 closes it; within one it counts up.
    * `forgotten_topics_data`: Partitions to take out of the session.
    * `rack_id`: To let the broker point to a replica nearby; empty for no preference.
    """

    API_KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12
    DECODERS = {
        4: _read_fetch_request_4,
        5: _read_fetch_request_5,
        6: _read_fetch_request_5,
        7: _read_fetch_request_7,
        8: _read_fetch_request_7,
        9: _read_fetch_request_9,
        10: _read_fetch_request_9,
        11: _read_fetch_request_11,
        12: _read_fetch_request_12,
        13: _read_fetch_request_13,
        14: _read_fetch_request_13,
        15: _read_fetch_request_15,
        16: _read_fetch_request_15,
        17: _read_fetch_request_17,
        18: _read_fetch_request_18,
    }
    ENCODERS = {
        4: _write_fetch_request_4,
        5: _write_fetch_request_5,
        6: _write_fetch_request_5,
        7: _write_fetch_request_7,
        8: _write_fetch_request_7,
        9: _write_fetch_request_9,
        10: _write_fetch_request_9,
        11: _write_fetch_request_11,
        12: _write_fetch_request_12,
        13: _write_fetch_request_13,
        14: _write_fetch_request_13,
        15: _write_fetch_request_15,
        16: _write_fetch_request_15,
        17: _write_fetch_request_17,
        18: _write_fetch_request_18,
    }

    FIELDS = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
        rack_id: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = ReplicaState() if replica_state is None else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is EMPTY else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        self.rack_id = rack_id
        self.unknown_tags = unknown_tags


class FetchableTopicResponse(Structure):
    """An element of FetchResponse.Responses."""

    FIELDS = ("topic", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionData(Structure):
    """An element of FetchableTopicResponse.Partitions.

    * `high_watermark`: Records below this offset are readable.
    * `last_stable_offset`: Every transaction below it has been decided; -1 if unknown.
    * `diverging_epoch`: Where the follower's log parts from the leader's; only after a failed check of
    LastFetchedEpoch.
    * `current_leader`: The leader the broker knows of; only when it is not this one.
    * `snapshot_id`: The snapshot to read instead; only metadata logs have them.
    * `aborted_transactions`: For read committed: whose records to leave out, and from which offset on.
    * `preferred_read_replica`: Where a consumer of the given rack should read instead; -1 for here.
    * `records`: Never null in an answer of this broker; the last batch may be cut short.
    """

    FIELDS = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: list[AbortedTransaction] | None = EMPTY,
        preferred_read_replica: int = -1,
        records: bytes | memoryview | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = EpochEndOffset() if diverging_epoch is None else diverging_epoch
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.aborted_transactions = [] if aborted_transactions is EMPTY else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.unknown_tags = unknown_tags


class EpochEndOffset(Structure):
    """The value of PartitionData.DivergingEpoch."""

    FIELDS = ("epoch", "end_offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset
        self.unknown_tags = unknown_tags


class LeaderIdAndEpoch(Structure):
    """The value of PartitionData.CurrentLeader."""

    FIELDS = ("leader_id", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


class SnapshotId(Structure):
    """The value of PartitionData.SnapshotId."""

    FIELDS = ("end_offset", "epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tags = unknown_tags


class AbortedTransaction(Structure):
    """An element of PartitionData.AbortedTransactions."""

    FIELDS = ("producer_id", "first_offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.unknown_tags = unknown_tags


class NodeEndpoint(Structure):
    """An element of FetchResponse.NodeEndpoints."""

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


def _read_aborted_transaction_array_4(data: bytes, pos: int, count: int) -> tuple[list[AbortedTransaction], int]:
    # AbortedTransaction, versions 4-11
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[AbortedTransaction] = []
    if count > 3:
        elements = _iterate_qq(data[pos : pos + count * 16])
        for producer_id, first_offset in elements:
            items.append(AbortedTransaction(producer_id, first_offset))
        pos += len(items) * 16
        count -= len(items)
    for _ in range(count):
        producer_id, first_offset = _unpack_qq(data, pos)
        pos += 16
        items.append(AbortedTransaction(producer_id, first_offset))
    return items, pos


def _write_aborted_transaction_array_4(out: bytearray, items: list[AbortedTransaction]) -> None:
    # AbortedTransaction, versions 4-11
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AbortedTransaction", "unknown_tags")
        out += _pack_qq(item.producer_id, item.first_offset)


def _read_partition_data_array_4(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 4
    view = memoryview(data)
    if not 0 <= count * 30 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition_index, error_code, high_watermark, last_stable_offset, n = _unpack_ihqqi(data, pos)
        pos += 26
        aborted_transactions: list[AbortedTransaction] | None = None
        if n != -1:
            aborted_transactions, pos = _read_aborted_transaction_array_4(data, pos, n)
        (n,) = _unpack_i(data, pos)
        pos += 4
        records: bytes | memoryview | None = None
        if n >= 0:
            end = pos + n
            records = view[pos:end]
            pos = end
        elif n != -1:
            raise bad_length(n)
        item = PartitionData(
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            -1,
            EpochEndOffset(),
            LeaderIdAndEpoch(),
            SnapshotId(),
            aborted_transactions,
            -1,
            records,
        )
        items.append(item)
    return items, pos


def _write_partition_data_array_4(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 4
    for item in items:
        if not _is_default_epoch_end_offset(item.diverging_epoch):
            raise not_in_version("PartitionData", "diverging_epoch")
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionData", "current_leader")
        if not _is_default_snapshot_id(item.snapshot_id):
            raise not_in_version("PartitionData", "snapshot_id")
        if item.preferred_read_replica != -1:
            raise not_in_version("PartitionData", "preferred_read_replica")
        if item.unknown_tags:
            raise not_in_version("PartitionData", "unknown_tags")
        out += _pack_ihqq(item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset)
        if item.aborted_transactions is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.aborted_transactions))
            _write_aborted_transaction_array_4(out, item.aborted_transactions)
        if item.records is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.records))
            put_records(out, item.records)


def _read_fetchable_topic_response_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchableTopicResponse], int]:
    # FetchableTopicResponse, version 4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_partition_data_array_4(data, pos, n)
        items.append(FetchableTopicResponse(topic, ZERO_UUID, partitions))
    return items, pos


def _write_fetchable_topic_response_array_4(out: bytearray, items: list[FetchableTopicResponse]) -> None:
    # FetchableTopicResponse, version 4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("FetchableTopicResponse", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_partition_data_array_4(out, item.partitions)


def _read_fetch_response_4(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, version 4
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    responses, pos = _read_fetchable_topic_response_array_4(data, pos, n)
    return FetchResponse(throttle_time_ms, 0, 0, responses, []), pos


def _write_fetch_response_4(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, version 4
    if item.session_id != 0:
        raise not_in_version("FetchResponse", "session_id")
    if item.node_endpoints:
        raise not_in_version("FetchResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("FetchResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.responses))
    _write_fetchable_topic_response_array_4(out, item.responses)


def _read_partition_data_array_5(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, versions 5-10
    view = memoryview(data)
    if not 0 <= count * 38 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _unpack_ihqqqi(data, pos)
        pos += 34
        aborted_transactions: list[AbortedTransaction] | None = None
        if n != -1:
            aborted_transactions, pos = _read_aborted_transaction_array_4(data, pos, n)
        (n,) = _unpack_i(data, pos)
        pos += 4
        records: bytes | memoryview | None = None
        if n >= 0:
            end = pos + n
            records = view[pos:end]
            pos = end
        elif n != -1:
            raise bad_length(n)
        item = PartitionData(
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            EpochEndOffset(),
            LeaderIdAndEpoch(),
            SnapshotId(),
            aborted_transactions,
            -1,
            records,
        )
        items.append(item)
    return items, pos


def _write_partition_data_array_5(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, versions 5-10
    for item in items:
        if not _is_default_epoch_end_offset(item.diverging_epoch):
            raise not_in_version("PartitionData", "diverging_epoch")
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionData", "current_leader")
        if not _is_default_snapshot_id(item.snapshot_id):
            raise not_in_version("PartitionData", "snapshot_id")
        if item.preferred_read_replica != -1:
            raise not_in_version("PartitionData", "preferred_read_replica")
        if item.unknown_tags:
            raise not_in_version("PartitionData", "unknown_tags")
        out += _pack_ihqqq(
            item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset, item.log_start_offset
        )
        if item.aborted_transactions is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.aborted_transactions))
            _write_aborted_transaction_array_4(out, item.aborted_transactions)
        if item.records is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.records))
            put_records(out, item.records)


def _read_fetchable_topic_response_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchableTopicResponse], int]:
    # FetchableTopicResponse, versions 5-10
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_partition_data_array_5(data, pos, n)
        items.append(FetchableTopicResponse(topic, ZERO_UUID, partitions))
    return items, pos


def _write_fetchable_topic_response_array_5(out: bytearray, items: list[FetchableTopicResponse]) -> None:
    # FetchableTopicResponse, versions 5-10
    for item in items:
        if item.unknown_tags:
            raise not_in_version("FetchableTopicResponse", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_partition_data_array_5(out, item.partitions)


def _read_fetch_response_5(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, versions 5-6
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    responses, pos = _read_fetchable_topic_response_array_5(data, pos, n)
    return FetchResponse(throttle_time_ms, 0, 0, responses, []), pos


def _write_fetch_response_5(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, versions 5-6
    if item.session_id != 0:
        raise not_in_version("FetchResponse", "session_id")
    if item.node_endpoints:
        raise not_in_version("FetchResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("FetchResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.responses))
    _write_fetchable_topic_response_array_5(out, item.responses)


def _read_fetch_response_7(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, versions 7-10
    throttle_time_ms, error_code, session_id, n = _unpack_ihii(data, pos)
    pos += 14
    responses, pos = _read_fetchable_topic_response_array_5(data, pos, n)
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, []), pos


def _write_fetch_response_7(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, versions 7-10
    if item.node_endpoints:
        raise not_in_version("FetchResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("FetchResponse", "unknown_tags")
    out += _pack_ihii(item.throttle_time_ms, item.error_code, item.session_id, len(item.responses))
    _write_fetchable_topic_response_array_5(out, item.responses)


def _read_partition_data_array_11(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 11
    view = memoryview(data)
    if not 0 <= count * 42 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _unpack_ihqqqi(data, pos)
        pos += 34
        aborted_transactions: list[AbortedTransaction] | None = None
        if n != -1:
            aborted_transactions, pos = _read_aborted_transaction_array_4(data, pos, n)
        preferred_read_replica, n = _unpack_ii(data, pos)
        pos += 8
        records: bytes | memoryview | None = None
        if n >= 0:
            end = pos + n
            records = view[pos:end]
            pos = end
        elif n != -1:
            raise bad_length(n)
        item = PartitionData(
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            EpochEndOffset(),
            LeaderIdAndEpoch(),
            SnapshotId(),
            aborted_transactions,
            preferred_read_replica,
            records,
        )
        items.append(item)
    return items, pos


def _write_partition_data_array_11(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 11
    for item in items:
        if not _is_default_epoch_end_offset(item.diverging_epoch):
            raise not_in_version("PartitionData", "diverging_epoch")
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionData", "current_leader")
        if not _is_default_snapshot_id(item.snapshot_id):
            raise not_in_version("PartitionData", "snapshot_id")
        if item.unknown_tags:
            raise not_in_version("PartitionData", "unknown_tags")
        out += _pack_ihqqq(
            item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset, item.log_start_offset
        )
        if item.aborted_transactions is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.aborted_transactions))
            _write_aborted_transaction_array_4(out, item.aborted_transactions)
        out += _pack_i(item.preferred_read_replica)
        if item.records is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.records))
            put_records(out, item.records)


def _read_fetchable_topic_response_array_11(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchableTopicResponse], int]:
    # FetchableTopicResponse, version 11
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_partition_data_array_11(data, pos, n)
        items.append(FetchableTopicResponse(topic, ZERO_UUID, partitions))
    return items, pos


def _write_fetchable_topic_response_array_11(out: bytearray, items: list[FetchableTopicResponse]) -> None:
    # FetchableTopicResponse, version 11
    for item in items:
        if item.unknown_tags:
            raise not_in_version("FetchableTopicResponse", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_partition_data_array_11(out, item.partitions)


def _read_fetch_response_11(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, version 11
    throttle_time_ms, error_code, session_id, n = _unpack_ihii(data, pos)
    pos += 14
    responses, pos = _read_fetchable_topic_response_array_11(data, pos, n)
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, []), pos


def _write_fetch_response_11(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, version 11
    if item.node_endpoints:
        raise not_in_version("FetchResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("FetchResponse", "unknown_tags")
    out += _pack_ihii(item.throttle_time_ms, item.error_code, item.session_id, len(item.responses))
    _write_fetchable_topic_response_array_11(out, item.responses)


def _read_epoch_end_offset_12(data: bytes, pos: int) -> tuple[EpochEndOffset, int]:
    # EpochEndOffset, versions 12-18
    epoch, end_offset, n = _unpack_iqB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return EpochEndOffset(epoch, end_offset, unknown_tags), pos


def _write_epoch_end_offset_12(out: bytearray, item: EpochEndOffset) -> None:
    # EpochEndOffset, versions 12-18
    out += _pack_iq(item.epoch, item.end_offset)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leader_id_and_epoch_12(data: bytes, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    # LeaderIdAndEpoch, versions 12-18
    leader_id, leader_epoch, n = _unpack_iiB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaderIdAndEpoch(leader_id, leader_epoch, unknown_tags), pos


def _write_leader_id_and_epoch_12(out: bytearray, item: LeaderIdAndEpoch) -> None:
    # LeaderIdAndEpoch, versions 12-18
    out += _pack_ii(item.leader_id, item.leader_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_snapshot_id_12(data: bytes, pos: int) -> tuple[SnapshotId, int]:
    # SnapshotId, versions 12-18
    end_offset, epoch, n = _unpack_qiB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SnapshotId(end_offset, epoch, unknown_tags), pos


def _write_snapshot_id_12(out: bytearray, item: SnapshotId) -> None:
    # SnapshotId, versions 12-18
    out += _pack_qi(item.end_offset, item.epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_aborted_transaction_array_12(data: bytes, pos: int, count: int) -> tuple[list[AbortedTransaction], int]:
    # AbortedTransaction, versions 12-18
    if not 0 <= count * 17 <= len(data) - pos:
        raise bad_count(count)
    items: list[AbortedTransaction] = []
    if count > 3 and count * 17 <= len(data) - pos:
        elements = _iterate_qqB(data[pos : pos + count * 17])
        for producer_id, first_offset, n in elements:
            if n:
                break
            items.append(AbortedTransaction(producer_id, first_offset))
        pos += len(items) * 17
        count -= len(items)
    for _ in range(count):
        producer_id, first_offset, n = _unpack_qqB(data, pos)
        pos += 17
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AbortedTransaction(producer_id, first_offset, unknown_tags))
    return items, pos


def _write_aborted_transaction_array_12(out: bytearray, items: list[AbortedTransaction]) -> None:
    # AbortedTransaction, versions 12-18
    for item in items:
        out += _pack_qq(item.producer_id, item.first_offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_data_array_12(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, versions 12-18
    view = memoryview(data)
    if not 0 <= count * 37 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _unpack_ihqqqB(data, pos)
        pos += 31
        aborted_transactions: list[AbortedTransaction] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            aborted_transactions, pos = _read_aborted_transaction_array_12(data, pos, n - 1)
        preferred_read_replica, n = _unpack_iB(data, pos)
        pos += 5
        records: bytes | memoryview | None = None
        if n:
            if n > 127:
                n, pos = read_bytes_length(data, pos)
            end = pos + n - 1
            records = view[pos:end]
            pos = end
        n = data[pos]
        pos += 1
        item = PartitionData(
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            EpochEndOffset(),
            LeaderIdAndEpoch(),
            SnapshotId(),
            aborted_transactions,
            preferred_read_replica,
            records,
        )
        if n:
            pos = _read_partition_data_tags_12(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_partition_data_tags_12(item: PartitionData, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            diverging_epoch, pos = _read_epoch_end_offset_12(data, pos)
            item.diverging_epoch = diverging_epoch
        elif tag == 1:
            current_leader, pos = _read_leader_id_and_epoch_12(data, pos)
            item.current_leader = current_leader
        elif tag == 2:
            snapshot_id, pos = _read_snapshot_id_12(data, pos)
            item.snapshot_id = snapshot_id
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("PartitionData", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_partition_data_array_12(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, versions 12-18
    for item in items:
        out += _pack_ihqqq(
            item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset, item.log_start_offset
        )
        if item.aborted_transactions is None:
            out.append(0)
        else:
            n = len(item.aborted_transactions) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_aborted_transaction_array_12(out, item.aborted_transactions)
        out += _pack_i(item.preferred_read_replica)
        if item.records is None:
            out.append(0)
        else:
            n = len(item.records) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            put_records(out, item.records)
        tags = item.unknown_tags
        if not _is_default_epoch_end_offset(item.diverging_epoch):
            body = bytearray()
            _write_epoch_end_offset_12(body, item.diverging_epoch)
            tags += ((0, bytes(body)),)
        if not _is_default_leader_id_and_epoch(item.current_leader):
            body = bytearray()
            _write_leader_id_and_epoch_12(body, item.current_leader)
            tags += ((1, bytes(body)),)
        if not _is_default_snapshot_id(item.snapshot_id):
            body = bytearray()
            _write_snapshot_id_12(body, item.snapshot_id)
            tags += ((2, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_fetchable_topic_response_array_12(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchableTopicResponse], int]:
    # FetchableTopicResponse, version 12
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_data_array_12(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchableTopicResponse(topic, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_fetchable_topic_response_array_12(out: bytearray, items: list[FetchableTopicResponse]) -> None:
    # FetchableTopicResponse, version 12
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_12(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_response_12(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, version 12
    throttle_time_ms, error_code, session_id, n = _unpack_ihiB(data, pos)
    pos += 11
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_fetchable_topic_response_array_12(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    if n:
        pos = _read_fetch_response_tags_12(item, data, pos, n)
    return item, pos


def _read_fetch_response_tags_12(item: FetchResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("FetchResponse", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_response_12(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, version 12
    if item.node_endpoints:
        raise not_in_version("FetchResponse", "node_endpoints")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetchable_topic_response_array_12(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetchable_topic_response_array_13(
    data: bytes, pos: int, count: int
) -> tuple[list[FetchableTopicResponse], int]:
    # FetchableTopicResponse, versions 13-18
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_data_array_12(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchableTopicResponse("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_fetchable_topic_response_array_13(out: bytearray, items: list[FetchableTopicResponse]) -> None:
    # FetchableTopicResponse, versions 13-18
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_12(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_response_13(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, versions 13-15
    throttle_time_ms, error_code, session_id, n = _unpack_ihiB(data, pos)
    pos += 11
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_fetchable_topic_response_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    if n:
        pos = _read_fetch_response_tags_13(item, data, pos, n)
    return item, pos


def _read_fetch_response_tags_13(item: FetchResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("FetchResponse", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_response_13(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, versions 13-15
    if item.node_endpoints:
        raise not_in_version("FetchResponse", "node_endpoints")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetchable_topic_response_array_13(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_node_endpoint_array_16(data: bytes, pos: int, count: int) -> tuple[list[NodeEndpoint], int]:
    # NodeEndpoint, versions 16-18
    if not 0 <= count * 11 <= len(data) - pos:
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
        items.append(NodeEndpoint(node_id, host, port, rack, unknown_tags))
    return items, pos


def _write_node_endpoint_array_16(out: bytearray, items: list[NodeEndpoint]) -> None:
    # NodeEndpoint, versions 16-18
    for item in items:
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_i(item.port)
        if item.rack is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_response_16(data: bytes, pos: int) -> tuple[FetchResponse, int]:
    # FetchResponse, versions 16-18
    throttle_time_ms, error_code, session_id, n = _unpack_ihiB(data, pos)
    pos += 11
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_fetchable_topic_response_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    if n:
        pos = _read_fetch_response_tags_16(item, data, pos, n)
    return item, pos


def _read_fetch_response_tags_16(item: FetchResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            node_endpoints, pos = _read_node_endpoint_array_16(data, pos, n - 1)
            item.node_endpoints = node_endpoints
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("FetchResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_fetch_response_16(out: bytearray, item: FetchResponse) -> None:
    # FetchResponse, versions 16-18
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetchable_topic_response_array_13(out, item.responses)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_16(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class FetchResponse(Message):
    """Whole record batches from each partition; the first may start before the offset asked for.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `error_code`: An error of the session or the request as a whole.
    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12
    DECODERS = {
        4: _read_fetch_response_4,
        5: _read_fetch_response_5,
        6: _read_fetch_response_5,
        7: _read_fetch_response_7,
        8: _read_fetch_response_7,
        9: _read_fetch_response_7,
        10: _read_fetch_response_7,
        11: _read_fetch_response_11,
        12: _read_fetch_response_12,
        13: _read_fetch_response_13,
        14: _read_fetch_response_13,
        15: _read_fetch_response_13,
        16: _read_fetch_response_16,
        17: _read_fetch_response_16,
        18: _read_fetch_response_16,
    }
    ENCODERS = {
        4: _write_fetch_response_4,
        5: _write_fetch_response_5,
        6: _write_fetch_response_5,
        7: _write_fetch_response_7,
        8: _write_fetch_response_7,
        9: _write_fetch_response_7,
        10: _write_fetch_response_7,
        11: _write_fetch_response_11,
        12: _write_fetch_response_12,
        13: _write_fetch_response_13,
        14: _write_fetch_response_13,
        15: _write_fetch_response_13,
        16: _write_fetch_response_16,
        17: _write_fetch_response_16,
        18: _write_fetch_response_16,
    }

    FIELDS = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags


def _is_default_epoch_end_offset(item: EpochEndOffset) -> bool:
    return item.epoch == -1 and item.end_offset == -1 and not item.unknown_tags


def _is_default_leader_id_and_epoch(item: LeaderIdAndEpoch) -> bool:
    return item.leader_id == -1 and item.leader_epoch == -1 and not item.unknown_tags


def _is_default_replica_state(item: ReplicaState) -> bool:
    return item.replica_id == -1 and item.replica_epoch == -1 and not item.unknown_tags


def _is_default_snapshot_id(item: SnapshotId) -> bool:
    return item.end_offset == -1 and item.epoch == -1 and not item.unknown_tags
