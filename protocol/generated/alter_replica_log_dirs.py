"""AlterReplicaLogDirsRequest 1-2 and AlterReplicaLogDirsResponse 1-2.

Generated from schemas/rpc/AlterReplicaLogDirsRequest.json and schemas/rpc/AlterReplicaLogDirsResponse.json (Apache
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

_iterate_ih = Struct(">ih").iter_unpack
_iterate_ihB = Struct(">ihB").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack


class AlterReplicaLogDir(Structure):
    """An element of AlterReplicaLogDirsRequest.Dirs."""

    FIELDS = ("path", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.path = path
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class AlterReplicaLogDirTopic(Structure):
    """An element of AlterReplicaLogDir.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_alter_replica_log_dir_topic_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterReplicaLogDirTopic], int]:
    # AlterReplicaLogDirTopic, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDirTopic] = []
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
        partitions, pos = read_numbers(data, pos, n, "i")
        items.append(AlterReplicaLogDirTopic(name, partitions))
    return items, pos


def _write_alter_replica_log_dir_topic_array_1(out: bytearray, items: list[AlterReplicaLogDirTopic]) -> None:
    # AlterReplicaLogDirTopic, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterReplicaLogDirTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_alter_replica_log_dir_array_1(data: bytes, pos: int, count: int) -> tuple[list[AlterReplicaLogDir], int]:
    # AlterReplicaLogDir, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDir] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        path = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        topics, pos = _read_alter_replica_log_dir_topic_array_1(data, pos, n)
        items.append(AlterReplicaLogDir(path, topics))
    return items, pos


def _write_alter_replica_log_dir_array_1(out: bytearray, items: list[AlterReplicaLogDir]) -> None:
    # AlterReplicaLogDir, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterReplicaLogDir", "unknown_tags")
        raw = item.path.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.topics))
        _write_alter_replica_log_dir_topic_array_1(out, item.topics)


def _read_alter_replica_log_dirs_request_1(data: bytes, pos: int) -> tuple[AlterReplicaLogDirsRequest, int]:
    # AlterReplicaLogDirsRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    dirs, pos = _read_alter_replica_log_dir_array_1(data, pos, n)
    return AlterReplicaLogDirsRequest(dirs), pos


def _write_alter_replica_log_dirs_request_1(out: bytearray, item: AlterReplicaLogDirsRequest) -> None:
    # AlterReplicaLogDirsRequest, version 1
    if item.unknown_tags:
        raise not_in_version("AlterReplicaLogDirsRequest", "unknown_tags")
    out += _pack_i(len(item.dirs))
    _write_alter_replica_log_dir_array_1(out, item.dirs)


def _read_alter_replica_log_dir_topic_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterReplicaLogDirTopic], int]:
    # AlterReplicaLogDirTopic, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDirTopic] = []
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
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterReplicaLogDirTopic(name, partitions, unknown_tags))
    return items, pos


def _write_alter_replica_log_dir_topic_array_2(out: bytearray, items: list[AlterReplicaLogDirTopic]) -> None:
    # AlterReplicaLogDirTopic, version 2
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_replica_log_dir_array_2(data: bytes, pos: int, count: int) -> tuple[list[AlterReplicaLogDir], int]:
    # AlterReplicaLogDir, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDir] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        path = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_alter_replica_log_dir_topic_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterReplicaLogDir(path, topics, unknown_tags))
    return items, pos


def _write_alter_replica_log_dir_array_2(out: bytearray, items: list[AlterReplicaLogDir]) -> None:
    # AlterReplicaLogDir, version 2
    for item in items:
        put_compact_string(out, item.path)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_replica_log_dir_topic_array_2(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_replica_log_dirs_request_2(data: bytes, pos: int) -> tuple[AlterReplicaLogDirsRequest, int]:
    # AlterReplicaLogDirsRequest, version 2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    dirs, pos = _read_alter_replica_log_dir_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterReplicaLogDirsRequest(dirs, unknown_tags), pos


def _write_alter_replica_log_dirs_request_2(out: bytearray, item: AlterReplicaLogDirsRequest) -> None:
    # AlterReplicaLogDirsRequest, version 2
    n = len(item.dirs) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_replica_log_dir_array_2(out, item.dirs)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterReplicaLogDirsRequest(Message):
    """Moves replicas between a broker's log directories."""

    API_KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_alter_replica_log_dirs_request_1, 2: _read_alter_replica_log_dirs_request_2}
    ENCODERS = {1: _write_alter_replica_log_dirs_request_1, 2: _write_alter_replica_log_dirs_request_2}

    FIELDS = ("dirs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, dirs: list[AlterReplicaLogDir] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.dirs = [] if dirs is EMPTY else dirs
        self.unknown_tags = unknown_tags


class AlterReplicaLogDirTopicResult(Structure):
    """An element of AlterReplicaLogDirsResponse.Results."""

    FIELDS = ("topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AlterReplicaLogDirPartitionResult(Structure):
    """An element of AlterReplicaLogDirTopicResult.Partitions."""

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


def _read_alter_replica_log_dir_partition_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
    # AlterReplicaLogDirPartitionResult, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDirPartitionResult] = []
    if count > 3:
        elements = _iterate_ih(data[pos : pos + count * 6])
        for partition_index, error_code in elements:
            items.append(AlterReplicaLogDirPartitionResult(partition_index, error_code))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
        items.append(AlterReplicaLogDirPartitionResult(partition_index, error_code))
    return items, pos


def _write_alter_replica_log_dir_partition_result_array_1(
    out: bytearray, items: list[AlterReplicaLogDirPartitionResult]
) -> None:
    # AlterReplicaLogDirPartitionResult, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterReplicaLogDirPartitionResult", "unknown_tags")
        out += _pack_ih(item.partition_index, item.error_code)


def _read_alter_replica_log_dir_topic_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
    # AlterReplicaLogDirTopicResult, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDirTopicResult] = []
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
        partitions, pos = _read_alter_replica_log_dir_partition_result_array_1(data, pos, n)
        items.append(AlterReplicaLogDirTopicResult(topic_name, partitions))
    return items, pos


def _write_alter_replica_log_dir_topic_result_array_1(
    out: bytearray, items: list[AlterReplicaLogDirTopicResult]
) -> None:
    # AlterReplicaLogDirTopicResult, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterReplicaLogDirTopicResult", "unknown_tags")
        raw = item.topic_name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_alter_replica_log_dir_partition_result_array_1(out, item.partitions)


def _read_alter_replica_log_dirs_response_1(data: bytes, pos: int) -> tuple[AlterReplicaLogDirsResponse, int]:
    # AlterReplicaLogDirsResponse, version 1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_alter_replica_log_dir_topic_result_array_1(data, pos, n)
    return AlterReplicaLogDirsResponse(throttle_time_ms, results), pos


def _write_alter_replica_log_dirs_response_1(out: bytearray, item: AlterReplicaLogDirsResponse) -> None:
    # AlterReplicaLogDirsResponse, version 1
    if item.unknown_tags:
        raise not_in_version("AlterReplicaLogDirsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_alter_replica_log_dir_topic_result_array_1(out, item.results)


def _read_alter_replica_log_dir_partition_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
    # AlterReplicaLogDirPartitionResult, version 2
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDirPartitionResult] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_ihB(data[pos : pos + count * 7])
        for partition_index, error_code, n in elements:
            if n:
                break
            items.append(AlterReplicaLogDirPartitionResult(partition_index, error_code))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterReplicaLogDirPartitionResult(partition_index, error_code, unknown_tags))
    return items, pos


def _write_alter_replica_log_dir_partition_result_array_2(
    out: bytearray, items: list[AlterReplicaLogDirPartitionResult]
) -> None:
    # AlterReplicaLogDirPartitionResult, version 2
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_replica_log_dir_topic_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
    # AlterReplicaLogDirTopicResult, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterReplicaLogDirTopicResult] = []
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
        partitions, pos = _read_alter_replica_log_dir_partition_result_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterReplicaLogDirTopicResult(topic_name, partitions, unknown_tags))
    return items, pos


def _write_alter_replica_log_dir_topic_result_array_2(
    out: bytearray, items: list[AlterReplicaLogDirTopicResult]
) -> None:
    # AlterReplicaLogDirTopicResult, version 2
    for item in items:
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_replica_log_dir_partition_result_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_replica_log_dirs_response_2(data: bytes, pos: int) -> tuple[AlterReplicaLogDirsResponse, int]:
    # AlterReplicaLogDirsResponse, version 2
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_alter_replica_log_dir_topic_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterReplicaLogDirsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_alter_replica_log_dirs_response_2(out: bytearray, item: AlterReplicaLogDirsResponse) -> None:
    # AlterReplicaLogDirsResponse, version 2
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_replica_log_dir_topic_result_array_2(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterReplicaLogDirsResponse(Message):
    """What became of each replica.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_alter_replica_log_dirs_response_1, 2: _read_alter_replica_log_dirs_response_2}
    ENCODERS = {1: _write_alter_replica_log_dirs_response_1, 2: _write_alter_replica_log_dirs_response_2}

    FIELDS = ("throttle_time_ms", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
