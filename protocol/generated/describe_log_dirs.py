"""DescribeLogDirsRequest 1-5 and DescribeLogDirsResponse 1-5.

Generated from schemas/rpc/DescribeLogDirsRequest.json and schemas/rpc/DescribeLogDirsResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
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
    bad_length,
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

_iterate_iqqt = Struct(">iqq?").iter_unpack
_iterate_iqqtB = Struct(">iqq?B").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqqt = Struct(">iqq?").unpack_from
_unpack_iqqtB = Struct(">iqq?B").unpack_from
_unpack_qqtB = Struct(">qq?B").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_h = Struct(">h").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iqqt = Struct(">iqq?").pack
_pack_qq = Struct(">qq").pack
_pack_qqt = Struct(">qq?").pack


class DescribableLogDirTopic(Structure):
    """An element of DescribeLogDirsRequest.Topics."""

    FIELDS = ("topic", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_describable_log_dir_topic_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribableLogDirTopic], int]:
    # DescribableLogDirTopic, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribableLogDirTopic] = []
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
        items.append(DescribableLogDirTopic(topic, partitions))
    return items, pos


def _write_describable_log_dir_topic_array_1(out: bytearray, items: list[DescribableLogDirTopic]) -> None:
    # DescribableLogDirTopic, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribableLogDirTopic", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_describe_log_dirs_request_1(data: bytes, pos: int) -> tuple[DescribeLogDirsRequest, int]:
    # DescribeLogDirsRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics: list[DescribableLogDirTopic] | None = None
    if n != -1:
        topics, pos = _read_describable_log_dir_topic_array_1(data, pos, n)
    return DescribeLogDirsRequest(topics), pos


def _write_describe_log_dirs_request_1(out: bytearray, item: DescribeLogDirsRequest) -> None:
    # DescribeLogDirsRequest, version 1
    if item.unknown_tags:
        raise not_in_version("DescribeLogDirsRequest", "unknown_tags")
    if item.topics is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topics))
        _write_describable_log_dir_topic_array_1(out, item.topics)


def _read_describable_log_dir_topic_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribableLogDirTopic], int]:
    # DescribableLogDirTopic, versions 2-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribableLogDirTopic] = []
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
        items.append(DescribableLogDirTopic(topic, partitions, unknown_tags))
    return items, pos


def _write_describable_log_dir_topic_array_2(out: bytearray, items: list[DescribableLogDirTopic]) -> None:
    # DescribableLogDirTopic, versions 2-5
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_request_2(data: bytes, pos: int) -> tuple[DescribeLogDirsRequest, int]:
    # DescribeLogDirsRequest, versions 2-5
    n = data[pos]
    pos += 1
    topics: list[DescribableLogDirTopic] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_describable_log_dir_topic_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeLogDirsRequest(topics, unknown_tags), pos


def _write_describe_log_dirs_request_2(out: bytearray, item: DescribeLogDirsRequest) -> None:
    # DescribeLogDirsRequest, versions 2-5
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describable_log_dir_topic_array_2(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeLogDirsRequest(Message):
    """Asks how full the log directories are.

    * `topics`: Null for all.
    """

    API_KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2
    DECODERS = {
        1: _read_describe_log_dirs_request_1,
        2: _read_describe_log_dirs_request_2,
        3: _read_describe_log_dirs_request_2,
        4: _read_describe_log_dirs_request_2,
        5: _read_describe_log_dirs_request_2,
    }
    ENCODERS = {
        1: _write_describe_log_dirs_request_1,
        2: _write_describe_log_dirs_request_2,
        3: _write_describe_log_dirs_request_2,
        4: _write_describe_log_dirs_request_2,
        5: _write_describe_log_dirs_request_2,
    }

    FIELDS = ("topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topics: list[DescribableLogDirTopic] | None = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class DescribeLogDirsResult(Structure):
    """An element of DescribeLogDirsResponse.Results.

    * `total_bytes`: Size of the volume; -1 if unknown.
    """

    FIELDS = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = EMPTY,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is EMPTY else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned
        self.unknown_tags = unknown_tags


class DescribeLogDirsTopic(Structure):
    """An element of DescribeLogDirsResult.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class DescribeLogDirsPartition(Structure):
    """An element of DescribeLogDirsTopic.Partitions.

    * `offset_lag`: How far a replica that is being moved in is behind.
    """

    FIELDS = ("partition_index", "partition_size", "offset_lag", "is_future_key", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key
        self.unknown_tags = unknown_tags


def _read_describe_log_dirs_partition_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeLogDirsPartition], int]:
    # DescribeLogDirsPartition, version 1
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsPartition] = []
    if count > 3:
        elements = _iterate_iqqt(data[pos : pos + count * 21])
        for partition_index, partition_size, offset_lag, is_future_key in elements:
            items.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
        pos += len(items) * 21
        count -= len(items)
    for _ in range(count):
        partition_index, partition_size, offset_lag, is_future_key = _unpack_iqqt(data, pos)
        pos += 21
        items.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
    return items, pos


def _write_describe_log_dirs_partition_array_1(out: bytearray, items: list[DescribeLogDirsPartition]) -> None:
    # DescribeLogDirsPartition, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeLogDirsPartition", "unknown_tags")
        out += _pack_iqqt(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key)


def _read_describe_log_dirs_topic_array_1(data: bytes, pos: int, count: int) -> tuple[list[DescribeLogDirsTopic], int]:
    # DescribeLogDirsTopic, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsTopic] = []
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
        partitions, pos = _read_describe_log_dirs_partition_array_1(data, pos, n)
        items.append(DescribeLogDirsTopic(name, partitions))
    return items, pos


def _write_describe_log_dirs_topic_array_1(out: bytearray, items: list[DescribeLogDirsTopic]) -> None:
    # DescribeLogDirsTopic, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeLogDirsTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_describe_log_dirs_partition_array_1(out, item.partitions)


def _read_describe_log_dirs_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeLogDirsResult], int]:
    # DescribeLogDirsResult, version 1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        log_dir = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        topics, pos = _read_describe_log_dirs_topic_array_1(data, pos, n)
        items.append(DescribeLogDirsResult(error_code, log_dir, topics, -1, -1, False))
    return items, pos


def _write_describe_log_dirs_result_array_1(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    # DescribeLogDirsResult, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeLogDirsResult", "unknown_tags")
        raw = item.log_dir.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        out += _pack_i(len(item.topics))
        _write_describe_log_dirs_topic_array_1(out, item.topics)


def _read_describe_log_dirs_response_1(data: bytes, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # DescribeLogDirsResponse, version 1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_describe_log_dirs_result_array_1(data, pos, n)
    return DescribeLogDirsResponse(throttle_time_ms, 0, results), pos


def _write_describe_log_dirs_response_1(out: bytearray, item: DescribeLogDirsResponse) -> None:
    # DescribeLogDirsResponse, version 1
    if item.unknown_tags:
        raise not_in_version("DescribeLogDirsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_describe_log_dirs_result_array_1(out, item.results)


def _read_describe_log_dirs_partition_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeLogDirsPartition], int]:
    # DescribeLogDirsPartition, versions 2-5
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsPartition] = []
    if count > 3 and count * 22 <= len(data) - pos:
        elements = _iterate_iqqtB(data[pos : pos + count * 22])
        for partition_index, partition_size, offset_lag, is_future_key, n in elements:
            if n:
                break
            items.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
        pos += len(items) * 22
        count -= len(items)
    for _ in range(count):
        partition_index, partition_size, offset_lag, is_future_key, n = _unpack_iqqtB(data, pos)
        pos += 22
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key, unknown_tags))
    return items, pos


def _write_describe_log_dirs_partition_array_2(out: bytearray, items: list[DescribeLogDirsPartition]) -> None:
    # DescribeLogDirsPartition, versions 2-5
    for item in items:
        out += _pack_iqqt(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_topic_array_2(data: bytes, pos: int, count: int) -> tuple[list[DescribeLogDirsTopic], int]:
    # DescribeLogDirsTopic, versions 2-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsTopic] = []
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
        partitions, pos = _read_describe_log_dirs_partition_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeLogDirsTopic(name, partitions, unknown_tags))
    return items, pos


def _write_describe_log_dirs_topic_array_2(out: bytearray, items: list[DescribeLogDirsTopic]) -> None:
    # DescribeLogDirsTopic, versions 2-5
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_log_dirs_partition_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeLogDirsResult], int]:
    # DescribeLogDirsResult, versions 2-3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        log_dir = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_describe_log_dirs_topic_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeLogDirsResult(error_code, log_dir, topics, -1, -1, False, unknown_tags))
    return items, pos


def _write_describe_log_dirs_result_array_2(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    # DescribeLogDirsResult, versions 2-3
    for item in items:
        out += _pack_h(item.error_code)
        put_compact_string(out, item.log_dir)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_log_dirs_topic_array_2(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_response_2(data: bytes, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # DescribeLogDirsResponse, version 2
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_describe_log_dirs_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeLogDirsResponse(throttle_time_ms, 0, results, unknown_tags), pos


def _write_describe_log_dirs_response_2(out: bytearray, item: DescribeLogDirsResponse) -> None:
    # DescribeLogDirsResponse, version 2
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_log_dirs_result_array_2(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_response_3(data: bytes, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # DescribeLogDirsResponse, version 3
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_describe_log_dirs_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results, unknown_tags), pos


def _write_describe_log_dirs_response_3(out: bytearray, item: DescribeLogDirsResponse) -> None:
    # DescribeLogDirsResponse, version 3
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_log_dirs_result_array_2(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_result_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeLogDirsResult], int]:
    # DescribeLogDirsResult, version 4
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        log_dir = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_describe_log_dirs_topic_array_2(data, pos, n - 1)
        total_bytes, usable_bytes, n = _unpack_qqB(data, pos)
        pos += 17
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes, False, unknown_tags))
    return items, pos


def _write_describe_log_dirs_result_array_4(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    # DescribeLogDirsResult, version 4
    for item in items:
        out += _pack_h(item.error_code)
        put_compact_string(out, item.log_dir)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_log_dirs_topic_array_2(out, item.topics)
        out += _pack_qq(item.total_bytes, item.usable_bytes)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_response_4(data: bytes, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # DescribeLogDirsResponse, version 4
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_describe_log_dirs_result_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results, unknown_tags), pos


def _write_describe_log_dirs_response_4(out: bytearray, item: DescribeLogDirsResponse) -> None:
    # DescribeLogDirsResponse, version 4
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_log_dirs_result_array_4(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_result_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeLogDirsResult], int]:
    # DescribeLogDirsResult, version 5
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        log_dir = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_describe_log_dirs_topic_array_2(data, pos, n - 1)
        total_bytes, usable_bytes, is_cordoned, n = _unpack_qqtB(data, pos)
        pos += 18
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned, unknown_tags)
        items.append(item)
    return items, pos


def _write_describe_log_dirs_result_array_5(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    # DescribeLogDirsResult, version 5
    for item in items:
        out += _pack_h(item.error_code)
        put_compact_string(out, item.log_dir)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_log_dirs_topic_array_2(out, item.topics)
        out += _pack_qqt(item.total_bytes, item.usable_bytes, item.is_cordoned)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_log_dirs_response_5(data: bytes, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    # DescribeLogDirsResponse, version 5
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_describe_log_dirs_result_array_5(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results, unknown_tags), pos


def _write_describe_log_dirs_response_5(out: bytearray, item: DescribeLogDirsResponse) -> None:
    # DescribeLogDirsResponse, version 5
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_log_dirs_result_array_5(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeLogDirsResponse(Message):
    """Sizes by directory and partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2
    DECODERS = {
        1: _read_describe_log_dirs_response_1,
        2: _read_describe_log_dirs_response_2,
        3: _read_describe_log_dirs_response_3,
        4: _read_describe_log_dirs_response_4,
        5: _read_describe_log_dirs_response_5,
    }
    ENCODERS = {
        1: _write_describe_log_dirs_response_1,
        2: _write_describe_log_dirs_response_2,
        3: _write_describe_log_dirs_response_3,
        4: _write_describe_log_dirs_response_4,
        5: _write_describe_log_dirs_response_5,
    }

    FIELDS = ("throttle_time_ms", "error_code", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
