"""ShareFetchRequest 1-2 and ShareFetchResponse 1-2.

Generated from schemas/rpc/ShareFetchRequest.json and schemas/rpc/ShareFetchResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    bad_uuid,
    not_in_version,
    null_not_allowed,
    put_compact_string,
    put_int8s,
    put_numbers,
    put_records,
    read_bytes_length,
    read_compact_int8s,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)
from shareq.protocol.rows import Rows, put_rows

_iterate_qqBbB = Struct(">qqBbB").iter_unpack
_iterate_qqhB = Struct(">qqhB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iiiiiiB = Struct(">iiiiiiB").unpack_from
_unpack_iiiiiibtB = Struct(">iiiiiib?B").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_unpack_qqhB = Struct(">qqhB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiiiii = Struct(">iiiiii").pack
_pack_iiiiiibt = Struct(">iiiiiib?").pack
_pack_qq = Struct(">qq").pack
_pack_qqh = Struct(">qqh").pack


class FetchTopic(Structure):
    """An element of ShareFetchRequest.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class FetchPartition(Structure):
    """An element of FetchTopic.Partitions.

    * `acknowledgement_batches`: In ascending order, without overlap.
    """

    FIELDS = ("partition_index", "acknowledgement_batches", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is EMPTY else acknowledgement_batches
        self.unknown_tags = unknown_tags


class AcknowledgementBatch(Structure):
    """An element of FetchPartition.AcknowledgementBatches.

    * `last_offset`: Inclusive.
    * `acknowledge_types`: One for the whole range, or one for each offset of it: 0 gap, 1 accept, 2 release, 3 reject,
    4 renew (from version 2 on).
    """

    FIELDS = ("first_offset", "last_offset", "acknowledge_types", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is EMPTY else acknowledge_types
        self.unknown_tags = unknown_tags


class ForgottenTopic(Structure):
    """An element of ShareFetchRequest.ForgottenTopicsData."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _make_acknowledgement_batch_array_1(data: bytes) -> list[AcknowledgementBatch]:
    return [
        AcknowledgementBatch(first_offset, last_offset, [acknowledge_types])
        for first_offset, last_offset, _, acknowledge_types, _ in _iterate_qqBbB(data)
    ]


def _read_acknowledgement_batch_array_1(
    data: bytes, pos: int, count: int
) -> tuple[Sequence[AcknowledgementBatch], int]:
    # AcknowledgementBatch, versions 1-2
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AcknowledgementBatch] = []
    if count > 3 and count * 19 <= len(data) - pos:
        rows = data[pos : pos + count * 19]
        if rows[16::19] == b"\2" * count and rows[18::19] == b"\0" * count:
            return Rows(rows, count, "qqxbx", _make_acknowledgement_batch_array_1), pos + count * 19
        elements = _iterate_qqBbB(rows)
        for first_offset, last_offset, acknowledge_types_n, acknowledge_types, n in elements:
            if acknowledge_types_n != 2 or n:
                break
            items.append(AcknowledgementBatch(first_offset, last_offset, [acknowledge_types]))
        pos += len(items) * 19
        count -= len(items)
    for _ in range(count):
        first_offset, last_offset, n = _unpack_qqB(data, pos)
        pos += 17
        if n == 2 and data[pos] < 128:
            acknowledge_types = [data[pos]]
            pos += 1
        else:
            acknowledge_types, pos = read_compact_int8s(data, pos, n)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AcknowledgementBatch(first_offset, last_offset, acknowledge_types, unknown_tags))
    return items, pos


def _write_acknowledgement_batch_array_1(out: bytearray, items: Sequence[AcknowledgementBatch]) -> None:
    # AcknowledgementBatch, versions 1-2
    for item in items:
        out += _pack_qq(item.first_offset, item.last_offset)
        n = len(item.acknowledge_types) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_int8s(out, item.acknowledge_types)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_partition_array_1(data: bytes, pos: int, count: int) -> tuple[list[FetchPartition], int]:
    # FetchPartition, versions 1-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchPartition] = []
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        acknowledgement_batches, pos = _read_acknowledgement_batch_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchPartition(partition_index, acknowledgement_batches, unknown_tags))
    return items, pos


def _write_fetch_partition_array_1(out: bytearray, items: list[FetchPartition]) -> None:
    # FetchPartition, versions 1-2
    for item in items:
        out += _pack_i(item.partition_index)
        n = len(item.acknowledgement_batches) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_acknowledgement_batch_array_1(out, item.acknowledgement_batches)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_fetch_topic_array_1(data: bytes, pos: int, count: int) -> tuple[list[FetchTopic], int]:
    # FetchTopic, versions 1-2
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[FetchTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_fetch_partition_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FetchTopic(topic_id, partitions, unknown_tags))
    return items, pos


def _write_fetch_topic_array_1(out: bytearray, items: list[FetchTopic]) -> None:
    # FetchTopic, versions 1-2
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_fetch_partition_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_forgotten_topic_array_1(data: bytes, pos: int, count: int) -> tuple[list[ForgottenTopic], int]:
    # ForgottenTopic, versions 1-2
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
        items.append(ForgottenTopic(topic_id, partitions, unknown_tags))
    return items, pos


def _write_forgotten_topic_array_1(out: bytearray, items: list[ForgottenTopic]) -> None:
    # ForgottenTopic, versions 1-2
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_fetch_request_1(data: bytes, pos: int) -> tuple[ShareFetchRequest, int]:
    # ShareFetchRequest, version 1
    n = data[pos]
    pos += 1
    group_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    member_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        member_id = data[pos:end].decode()
        pos = end
    share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, n = _unpack_iiiiiiB(data, pos)
    pos += 25
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ShareFetchRequest(
        group_id,
        member_id,
        share_session_epoch,
        max_wait_ms,
        min_bytes,
        max_bytes,
        max_records,
        batch_size,
        0,
        False,
        topics,
        forgotten_topics_data,
        unknown_tags,
    )
    return item, pos


def _write_share_fetch_request_1(out: bytearray, item: ShareFetchRequest) -> None:
    # ShareFetchRequest, version 1
    if item.is_renew_ack:
        raise not_in_version("ShareFetchRequest", "is_renew_ack")
    if item.group_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_id)
    if item.member_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.member_id)
    out += _pack_iiiiii(
        item.share_session_epoch, item.max_wait_ms, item.min_bytes, item.max_bytes, item.max_records, item.batch_size
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_1(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_1(out, item.forgotten_topics_data)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_fetch_request_2(data: bytes, pos: int) -> tuple[ShareFetchRequest, int]:
    # ShareFetchRequest, version 2
    n = data[pos]
    pos += 1
    group_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    member_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        member_id = data[pos:end].decode()
        pos = end
    (
        share_session_epoch,
        max_wait_ms,
        min_bytes,
        max_bytes,
        max_records,
        batch_size,
        share_acquire_mode,
        is_renew_ack,
        n,
    ) = _unpack_iiiiiibtB(data, pos)
    pos += 27
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_fetch_topic_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    forgotten_topics_data, pos = _read_forgotten_topic_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ShareFetchRequest(
        group_id,
        member_id,
        share_session_epoch,
        max_wait_ms,
        min_bytes,
        max_bytes,
        max_records,
        batch_size,
        share_acquire_mode,
        is_renew_ack,
        topics,
        forgotten_topics_data,
        unknown_tags,
    )
    return item, pos


def _write_share_fetch_request_2(out: bytearray, item: ShareFetchRequest) -> None:
    # ShareFetchRequest, version 2
    if item.group_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_id)
    if item.member_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.member_id)
    out += _pack_iiiiiibt(
        item.share_session_epoch,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.max_records,
        item.batch_size,
        item.share_acquire_mode,
        item.is_renew_ack,
    )
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_fetch_topic_array_1(out, item.topics)
    n = len(item.forgotten_topics_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_forgotten_topic_array_1(out, item.forgotten_topics_data)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareFetchRequest(Message):
    """Acquires records for a member of a share group, and acknowledges ones acquired before (KIP-932).

    * `group_id`: May not be null, whatever the schema allows.
    * `member_id`: The id from the group's heartbeats; with the group it names the share session.
    * `share_session_epoch`: 0 opens a session with the given partitions, -1 closes it, else it counts up from 1 and
    only changes are sent.
    * `max_wait_ms`: How long the broker may wait for MinBytes.
    * `max_bytes`: Limit of the whole answer; the first batch is returned even if it is larger.
    * `max_records`: How many records to acquire, rounded up to whole batches unless ShareAcquireMode says otherwise; 0
    only acknowledges.
    * `batch_size`: The size of the ranges records are acquired in, where batches of the log are larger.
    * `share_acquire_mode`: 0 whole batches beyond MaxRecords if need be, 1 never more than MaxRecords (KIP-1206).
    * `is_renew_ack`: An acknowledgement in here renews a lock; the four limits must be 0, and nothing is acquired
    (KIP-1222).
    * `topics`: The partitions to add to the session, and those with acknowledgements.
    * `forgotten_topics_data`: Partitions to take out of the session.
    """

    API_KEY = 78
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {1: _read_share_fetch_request_1, 2: _read_share_fetch_request_2}
    ENCODERS = {1: _write_share_fetch_request_1, 2: _write_share_fetch_request_2}

    FIELDS = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "max_records",
        "batch_size",
        "share_acquire_mode",
        "is_renew_ack",
        "topics",
        "forgotten_topics_data",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is EMPTY else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        self.unknown_tags = unknown_tags


class ShareFetchableTopicResponse(Structure):
    """An element of ShareFetchResponse.Responses."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionData(Structure):
    """An element of ShareFetchableTopicResponse.Partitions.

    * `error_code`: What became of the fetch.
    * `acknowledge_error_code`: What became of the acknowledgements.
    * `current_leader`: The leader the broker knows of; only when it is not this one.
    * `records`: Whole record batches, empty rather than null; they may hold records that were not acquired.
    * `acquired_records`: The ranges acquired; everything else in Records is to be skipped.
    """

    FIELDS = (
        "partition_index",
        "error_code",
        "error_message",
        "acknowledge_error_code",
        "acknowledge_error_message",
        "current_leader",
        "records",
        "acquired_records",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acknowledge_error_code: int = 0,
        acknowledge_error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        records: bytes | memoryview | None = None,
        acquired_records: list[AcquiredRecords] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.acknowledge_error_code = acknowledge_error_code
        self.acknowledge_error_message = acknowledge_error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.records = records
        self.acquired_records = [] if acquired_records is EMPTY else acquired_records
        self.unknown_tags = unknown_tags


class LeaderIdAndEpoch(Structure):
    """The value of PartitionData.CurrentLeader."""

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


class AcquiredRecords(Structure):
    """An element of PartitionData.AcquiredRecords.

    * `last_offset`: Inclusive.
    * `delivery_count`: 1 on the first delivery.
    """

    FIELDS = ("first_offset", "last_offset", "delivery_count", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_count: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_count = delivery_count
        self.unknown_tags = unknown_tags


class NodeEndpoint(Structure):
    """An element of ShareFetchResponse.NodeEndpoints."""

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


def _read_leader_id_and_epoch_1(data: bytes, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    # LeaderIdAndEpoch, versions 1-2
    leader_id, leader_epoch, n = _unpack_iiB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaderIdAndEpoch(leader_id, leader_epoch, unknown_tags), pos


def _write_leader_id_and_epoch_1(out: bytearray, item: LeaderIdAndEpoch) -> None:
    # LeaderIdAndEpoch, versions 1-2
    out += _pack_ii(item.leader_id, item.leader_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_acquired_records_array_1(data: bytes, pos: int, count: int) -> tuple[list[AcquiredRecords], int]:
    # AcquiredRecords, versions 1-2
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[AcquiredRecords] = []
    if count > 3 and count * 19 <= len(data) - pos:
        elements = _iterate_qqhB(data[pos : pos + count * 19])
        for first_offset, last_offset, delivery_count, n in elements:
            if n:
                break
            items.append(AcquiredRecords(first_offset, last_offset, delivery_count))
        pos += len(items) * 19
        count -= len(items)
    for _ in range(count):
        first_offset, last_offset, delivery_count, n = _unpack_qqhB(data, pos)
        pos += 19
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AcquiredRecords(first_offset, last_offset, delivery_count, unknown_tags))
    return items, pos


def _write_acquired_records_array_1(out: bytearray, items: list[AcquiredRecords]) -> None:
    # AcquiredRecords, versions 1-2
    if items and isinstance(items[0], tuple):
        put_rows(out, items, "qqhx")
        return
    for item in items:
        out += _pack_qqh(item.first_offset, item.last_offset, item.delivery_count)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, versions 1-2
    view = memoryview(data)
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        acknowledge_error_code, n = _unpack_hB(data, pos)
        pos += 3
        acknowledge_error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            acknowledge_error_message = data[pos:end].decode()
            pos = end
        current_leader, pos = _read_leader_id_and_epoch_1(data, pos)
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        records = view[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        acquired_records, pos = _read_acquired_records_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = PartitionData(
            partition_index,
            error_code,
            error_message,
            acknowledge_error_code,
            acknowledge_error_message,
            current_leader,
            records,
            acquired_records,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_partition_data_array_1(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, versions 1-2
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_h(item.acknowledge_error_code)
        if item.acknowledge_error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.acknowledge_error_message)
        _write_leader_id_and_epoch_1(out, item.current_leader)
        if item.records is None:
            raise null_not_allowed("PartitionData", "records")
        n = len(item.records) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_records(out, item.records)
        n = len(item.acquired_records) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_acquired_records_array_1(out, item.acquired_records)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_fetchable_topic_response_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[ShareFetchableTopicResponse], int]:
    # ShareFetchableTopicResponse, versions 1-2
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ShareFetchableTopicResponse] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ShareFetchableTopicResponse(topic_id, partitions, unknown_tags))
    return items, pos


def _write_share_fetchable_topic_response_array_1(out: bytearray, items: list[ShareFetchableTopicResponse]) -> None:
    # ShareFetchableTopicResponse, versions 1-2
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_node_endpoint_array_1(data: bytes, pos: int, count: int) -> tuple[list[NodeEndpoint], int]:
    # NodeEndpoint, versions 1-2
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


def _write_node_endpoint_array_1(out: bytearray, items: list[NodeEndpoint]) -> None:
    # NodeEndpoint, versions 1-2
    for item in items:
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_i(item.port)
        if item.rack is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_fetch_response_1(data: bytes, pos: int) -> tuple[ShareFetchResponse, int]:
    # ShareFetchResponse, versions 1-2
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    acquisition_lock_timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_share_fetchable_topic_response_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    node_endpoints, pos = _read_node_endpoint_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ShareFetchResponse(
        throttle_time_ms,
        error_code,
        error_message,
        acquisition_lock_timeout_ms,
        responses,
        node_endpoints,
        unknown_tags,
    )
    return item, pos


def _write_share_fetch_response_1(out: bytearray, item: ShareFetchResponse) -> None:
    # ShareFetchResponse, versions 1-2
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += _pack_i(item.acquisition_lock_timeout_ms)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_share_fetchable_topic_response_array_1(out, item.responses)
    n = len(item.node_endpoints) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_node_endpoint_array_1(out, item.node_endpoints)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareFetchResponse(Message):
    """Records with what of them was acquired, and what became of the acknowledgements.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `error_code`: An error of the session or the request as a whole.
    * `acquisition_lock_timeout_ms`: How long the acquired records stay with the member.
    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 78
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {1: _read_share_fetch_response_1, 2: _read_share_fetch_response_1}
    ENCODERS = {1: _write_share_fetch_response_1, 2: _write_share_fetch_response_1}

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareFetchableTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags
