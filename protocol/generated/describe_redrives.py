"""DescribeRedrivesRequest 0 and DescribeRedrivesResponse 0.

Generated from schemas/shareq/DescribeRedrivesRequest.json and schemas/shareq/DescribeRedrivesResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    bad_tag_size,
    put_compact_string,
    put_compact_strings,
    put_numbers,
    read_compact_strings,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iqqB = Struct(">iqqB").iter_unpack
_unpack_bB = Struct(">bB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iqqB = Struct(">iqqB").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_iqq = Struct(">iqq").pack
_pack_q = Struct(">q").pack


def _read_describe_redrives_request_0(data: bytes, pos: int) -> tuple[DescribeRedrivesRequest, int]:
    # DescribeRedrivesRequest, version 0
    n = data[pos]
    pos += 1
    names: list[str] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        names, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = DescribeRedrivesRequest(names, None)
    if n:
        pos = _read_describe_redrives_request_tags_0(item, data, pos, n)
    return item, pos


def _read_describe_redrives_request_tags_0(item: DescribeRedrivesRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            sent_from: str | None = None
            if n:
                if n > 127:
                    n, pos = read_string_length(data, pos)
                end = pos + n - 1
                sent_from = data[pos:end].decode()
                pos = end
            item.sent_from = sent_from
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("DescribeRedrivesRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_describe_redrives_request_0(out: bytearray, item: DescribeRedrivesRequest) -> None:
    # DescribeRedrivesRequest, version 0
    if item.names is None:
        out.append(0)
    else:
        n = len(item.names) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.names)
    tags = item.unknown_tags
    if item.sent_from is not None:
        body = bytearray()
        if item.sent_from is None:
            body.append(0)
        else:
            put_compact_string(body, item.sent_from)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class DescribeRedrivesRequest(Message):
    """shareq's own: how far redrives are.

    * `names`: The redrives; null for all that are known.
    * `sent_from`: Instead of names: a queue, for the redrives that have sent letters of it back.
    """

    API_KEY = 29554
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_redrives_request_0}
    ENCODERS = {0: _write_describe_redrives_request_0}

    FIELDS = ("names", "sent_from", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        names: list[str] | None = None,
        sent_from: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.names = names
        self.sent_from = sent_from
        self.unknown_tags = unknown_tags


class DescribedRedrive(Structure):
    """An element of DescribeRedrivesResponse.Redrives.

    * `state`: RUNNING, DONE, CANCELLED, FAILED.
    * `trouble`: What it waits for, or why it failed.
    * `owner`: The principal that began it, by whose rights it reads and writes.
    """

    FIELDS = (
        "error_code",
        "error_message",
        "name",
        "state",
        "trouble",
        "queue",
        "target",
        "group_id",
        "source_topic",
        "records_per_second",
        "owner",
        "started_ms",
        "counts",
        "partitions",
        "source_partition",
        "first_source_offset",
        "last_source_offset",
        "reason",
        "died_from_ms",
        "died_until_ms",
        "first_offset",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        name: str = "",
        state: str = "",
        trouble: str | None = None,
        queue: str = "",
        target: int = 0,
        group_id: str | None = "",
        source_topic: str | None = "",
        records_per_second: int = 0,
        owner: str = "",
        started_ms: int = 0,
        counts: list[RedriveCount] = EMPTY,
        partitions: list[RedrivePartition] = EMPTY,
        source_partition: int = -1,
        first_source_offset: int = -1,
        last_source_offset: int = -1,
        reason: str | None = None,
        died_from_ms: int = -1,
        died_until_ms: int = -1,
        first_offset: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.name = name
        self.state = state
        self.trouble = trouble
        self.queue = queue
        self.target = target
        self.group_id = group_id
        self.source_topic = source_topic
        self.records_per_second = records_per_second
        self.owner = owner
        self.started_ms = started_ms
        self.counts = [] if counts is EMPTY else counts
        self.partitions = [] if partitions is EMPTY else partitions
        self.source_partition = source_partition
        self.first_source_offset = first_source_offset
        self.last_source_offset = last_source_offset
        self.reason = reason
        self.died_from_ms = died_from_ms
        self.died_until_ms = died_until_ms
        self.first_offset = first_offset
        self.unknown_tags = unknown_tags


class RedriveCount(Structure):
    """An element of DescribedRedrive.Counts.

    * `what`: REDRIVEN, FILTERED, or why a letter was left in the queue.
    """

    FIELDS = ("what", "records", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        what: str = "",
        records: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.what = what
        self.records = records
        self.unknown_tags = unknown_tags


class RedrivePartition(Structure):
    """An element of DescribedRedrive.Partitions.

    * `next_offset`: Everything below it is done.
    * `end_offset`: Exclusive.
    * `stayed`: Offsets below NextOffset that were not sent back although the filter takes them: first and last,
    inclusive, of each range.
    * `beyond`: Offsets from NextOffset on that were sent back, in the same form.
    """

    FIELDS = ("partition", "next_offset", "end_offset", "stayed", "beyond", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        next_offset: int = 0,
        end_offset: int = 0,
        stayed: list[int] = EMPTY,
        beyond: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.next_offset = next_offset
        self.end_offset = end_offset
        self.stayed = [] if stayed is EMPTY else stayed
        self.beyond = [] if beyond is EMPTY else beyond
        self.unknown_tags = unknown_tags


def _read_redrive_count_array_0(data: bytes, pos: int, count: int) -> tuple[list[RedriveCount], int]:
    # RedriveCount, version 0
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[RedriveCount] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        what = data[pos:end].decode()
        pos = end
        records, n = _unpack_qB(data, pos)
        pos += 9
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(RedriveCount(what, records, unknown_tags))
    return items, pos


def _write_redrive_count_array_0(out: bytearray, items: list[RedriveCount]) -> None:
    # RedriveCount, version 0
    for item in items:
        put_compact_string(out, item.what)
        out += _pack_q(item.records)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_redrive_partition_array_0(data: bytes, pos: int, count: int) -> tuple[list[RedrivePartition], int]:
    # RedrivePartition, version 0
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[RedrivePartition] = []
    if count > 3 and count * 21 <= len(data) - pos:
        elements = _iterate_iqqB(data[pos : pos + count * 21])
        for partition, next_offset, end_offset, n in elements:
            if n:
                break
            items.append(RedrivePartition(partition, next_offset, end_offset, [], []))
        pos += len(items) * 21
        count -= len(items)
    for _ in range(count):
        partition, next_offset, end_offset, n = _unpack_iqqB(data, pos)
        pos += 21
        item = RedrivePartition(partition, next_offset, end_offset, [], [])
        if n:
            pos = _read_redrive_partition_tags_0(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_redrive_partition_tags_0(item: RedrivePartition, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            stayed, pos = read_numbers(data, pos, n - 1, "q")
            item.stayed = stayed
        elif tag == 1:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            beyond, pos = read_numbers(data, pos, n - 1, "q")
            item.beyond = beyond
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("RedrivePartition", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_redrive_partition_array_0(out: bytearray, items: list[RedrivePartition]) -> None:
    # RedrivePartition, version 0
    for item in items:
        out += _pack_iqq(item.partition, item.next_offset, item.end_offset)
        tags = item.unknown_tags
        if item.stayed:
            body = bytearray()
            n = len(item.stayed) + 1
            body += SMALL[n] if n < 128 else uvarint(n)
            put_numbers(body, item.stayed, "q")
            tags += ((0, bytes(body)),)
        if item.beyond:
            body = bytearray()
            n = len(item.beyond) + 1
            body += SMALL[n] if n < 128 else uvarint(n)
            put_numbers(body, item.beyond, "q")
            tags += ((1, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_described_redrive_array_0(data: bytes, pos: int, count: int) -> tuple[list[DescribedRedrive], int]:
    # DescribedRedrive, version 0
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedRedrive] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
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
        state = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        trouble: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            trouble = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        queue = data[pos:end].decode()
        pos = end
        target, n = _unpack_bB(data, pos)
        pos += 2
        group_id: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            group_id = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        source_topic: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            source_topic = data[pos:end].decode()
            pos = end
        records_per_second, n = _unpack_iB(data, pos)
        pos += 5
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        owner = data[pos:end].decode()
        pos = end
        started_ms, n = _unpack_qB(data, pos)
        pos += 9
        if n > 127:
            n, pos = read_length(data, pos)
        counts, pos = _read_redrive_count_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_redrive_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        item = DescribedRedrive(
            error_code,
            error_message,
            name,
            state,
            trouble,
            queue,
            target,
            group_id,
            source_topic,
            records_per_second,
            owner,
            started_ms,
            counts,
            partitions,
            -1,
            -1,
            -1,
            None,
            -1,
            -1,
            -1,
        )
        if n:
            pos = _read_described_redrive_tags_0(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_described_redrive_tags_0(item: DescribedRedrive, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (source_partition,) = _unpack_i(data, pos)
            pos += 4
            item.source_partition = source_partition
        elif tag == 1:
            (first_source_offset,) = _unpack_q(data, pos)
            pos += 8
            item.first_source_offset = first_source_offset
        elif tag == 2:
            (last_source_offset,) = _unpack_q(data, pos)
            pos += 8
            item.last_source_offset = last_source_offset
        elif tag == 3:
            n = data[pos]
            pos += 1
            reason: str | None = None
            if n:
                if n > 127:
                    n, pos = read_string_length(data, pos)
                end = pos + n - 1
                reason = data[pos:end].decode()
                pos = end
            item.reason = reason
        elif tag == 4:
            (died_from_ms,) = _unpack_q(data, pos)
            pos += 8
            item.died_from_ms = died_from_ms
        elif tag == 5:
            (died_until_ms,) = _unpack_q(data, pos)
            pos += 8
            item.died_until_ms = died_until_ms
        elif tag == 6:
            (first_offset,) = _unpack_q(data, pos)
            pos += 8
            item.first_offset = first_offset
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("DescribedRedrive", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_described_redrive_array_0(out: bytearray, items: list[DescribedRedrive]) -> None:
    # DescribedRedrive, version 0
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        put_compact_string(out, item.name)
        put_compact_string(out, item.state)
        if item.trouble is None:
            out.append(0)
        else:
            put_compact_string(out, item.trouble)
        put_compact_string(out, item.queue)
        out += _pack_b(item.target)
        if item.group_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_id)
        if item.source_topic is None:
            out.append(0)
        else:
            put_compact_string(out, item.source_topic)
        out += _pack_i(item.records_per_second)
        put_compact_string(out, item.owner)
        out += _pack_q(item.started_ms)
        n = len(item.counts) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_redrive_count_array_0(out, item.counts)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_redrive_partition_array_0(out, item.partitions)
        tags = item.unknown_tags
        if item.source_partition != -1:
            body = bytearray()
            body += _pack_i(item.source_partition)
            tags += ((0, bytes(body)),)
        if item.first_source_offset != -1:
            body = bytearray()
            body += _pack_q(item.first_source_offset)
            tags += ((1, bytes(body)),)
        if item.last_source_offset != -1:
            body = bytearray()
            body += _pack_q(item.last_source_offset)
            tags += ((2, bytes(body)),)
        if item.reason is not None:
            body = bytearray()
            if item.reason is None:
                body.append(0)
            else:
                put_compact_string(body, item.reason)
            tags += ((3, bytes(body)),)
        if item.died_from_ms != -1:
            body = bytearray()
            body += _pack_q(item.died_from_ms)
            tags += ((4, bytes(body)),)
        if item.died_until_ms != -1:
            body = bytearray()
            body += _pack_q(item.died_until_ms)
            tags += ((5, bytes(body)),)
        if item.first_offset != -1:
            body = bytearray()
            body += _pack_q(item.first_offset)
            tags += ((6, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_describe_redrives_response_0(data: bytes, pos: int) -> tuple[DescribeRedrivesResponse, int]:
    # DescribeRedrivesResponse, version 0
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
    if n > 127:
        n, pos = read_length(data, pos)
    redrives, pos = _read_described_redrive_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeRedrivesResponse(throttle_time_ms, error_code, error_message, redrives, unknown_tags), pos


def _write_describe_redrives_response_0(out: bytearray, item: DescribeRedrivesResponse) -> None:
    # DescribeRedrivesResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.redrives) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_redrive_array_0(out, item.redrives)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeRedrivesResponse(Message):
    """How far each redrive is.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 29554
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_redrives_response_0}
    ENCODERS = {0: _write_describe_redrives_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "redrives", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        redrives: list[DescribedRedrive] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.redrives = [] if redrives is EMPTY else redrives
        self.unknown_tags = unknown_tags
