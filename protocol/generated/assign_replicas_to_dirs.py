"""AssignReplicasToDirsRequest 0 and AssignReplicasToDirsResponse 0.

Generated from schemas/rpc/AssignReplicasToDirsRequest.json and schemas/rpc/AssignReplicasToDirsResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    bad_uuid,
    read_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iB = Struct(">iB").iter_unpack
_iterate_ihB = Struct(">ihB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_iq = Struct(">iq").pack


class AssignReplicasToDirsRequestDirectoryData(Structure):
    """An element of AssignReplicasToDirsRequest.Directories."""

    FIELDS = ("id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        topics: list[AssignReplicasToDirsRequestTopicData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.id = id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class AssignReplicasToDirsRequestTopicData(Structure):
    """An element of DirectoryData.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AssignReplicasToDirsRequestPartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AssignReplicasToDirsRequestPartitionData(Structure):
    """An element of TopicData.Partitions."""

    FIELDS = ("partition_index", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, partition_index: int = 0, unknown_tags: Tags = ()) -> None:
        self.partition_index = partition_index
        self.unknown_tags = unknown_tags


def _read_assign_replicas_to_dirs_request_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AssignReplicasToDirsRequestPartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[AssignReplicasToDirsRequestPartitionData] = []
    if count > 3 and count * 5 <= len(data) - pos:
        elements = _iterate_iB(data[pos : pos + count * 5])
        for partition_index, n in elements:
            if n:
                break
            items.append(AssignReplicasToDirsRequestPartitionData(partition_index))
        pos += len(items) * 5
        count -= len(items)
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AssignReplicasToDirsRequestPartitionData(partition_index, unknown_tags))
    return items, pos


def _write_assign_replicas_to_dirs_request_partition_data_array_0(
    out: bytearray, items: list[AssignReplicasToDirsRequestPartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_i(item.partition_index)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assign_replicas_to_dirs_request_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AssignReplicasToDirsRequestTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AssignReplicasToDirsRequestTopicData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_assign_replicas_to_dirs_request_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AssignReplicasToDirsRequestTopicData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_assign_replicas_to_dirs_request_topic_data_array_0(
    out: bytearray, items: list[AssignReplicasToDirsRequestTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_assign_replicas_to_dirs_request_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assign_replicas_to_dirs_request_directory_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AssignReplicasToDirsRequestDirectoryData], int]:
    # DirectoryData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AssignReplicasToDirsRequestDirectoryData] = []
    for _ in range(count):
        id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_assign_replicas_to_dirs_request_topic_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AssignReplicasToDirsRequestDirectoryData(id, topics, unknown_tags))
    return items, pos


def _write_assign_replicas_to_dirs_request_directory_data_array_0(
    out: bytearray, items: list[AssignReplicasToDirsRequestDirectoryData]
) -> None:
    # DirectoryData, version 0
    for item in items:
        if len(item.id) != 16:
            raise bad_uuid(item.id)
        out += _pack_u(item.id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_assign_replicas_to_dirs_request_topic_data_array_0(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assign_replicas_to_dirs_request_0(data: bytes, pos: int) -> tuple[AssignReplicasToDirsRequest, int]:
    # AssignReplicasToDirsRequest, version 0
    broker_id, broker_epoch, n = _unpack_iqB(data, pos)
    pos += 13
    if n > 127:
        n, pos = read_length(data, pos)
    directories, pos = _read_assign_replicas_to_dirs_request_directory_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AssignReplicasToDirsRequest(broker_id, broker_epoch, directories, unknown_tags), pos


def _write_assign_replicas_to_dirs_request_0(out: bytearray, item: AssignReplicasToDirsRequest) -> None:
    # AssignReplicasToDirsRequest, version 0
    out += _pack_iq(item.broker_id, item.broker_epoch)
    n = len(item.directories) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_assign_replicas_to_dirs_request_directory_data_array_0(out, item.directories)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AssignReplicasToDirsRequest(Message):
    """A broker tells the controller in which directories replicas lie."""

    API_KEY = 73
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_assign_replicas_to_dirs_request_0}
    ENCODERS = {0: _write_assign_replicas_to_dirs_request_0}

    FIELDS = ("broker_id", "broker_epoch", "directories", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[AssignReplicasToDirsRequestDirectoryData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is EMPTY else directories
        self.unknown_tags = unknown_tags


class AssignReplicasToDirsResponseDirectoryData(Structure):
    """An element of AssignReplicasToDirsResponse.Directories."""

    FIELDS = ("id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        topics: list[AssignReplicasToDirsResponseTopicData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.id = id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class AssignReplicasToDirsResponseTopicData(Structure):
    """An element of DirectoryData.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AssignReplicasToDirsResponsePartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AssignReplicasToDirsResponsePartitionData(Structure):
    """An element of TopicData.Partitions."""

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


def _read_assign_replicas_to_dirs_response_partition_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AssignReplicasToDirsResponsePartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[AssignReplicasToDirsResponsePartitionData] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_ihB(data[pos : pos + count * 7])
        for partition_index, error_code, n in elements:
            if n:
                break
            items.append(AssignReplicasToDirsResponsePartitionData(partition_index, error_code))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AssignReplicasToDirsResponsePartitionData(partition_index, error_code, unknown_tags))
    return items, pos


def _write_assign_replicas_to_dirs_response_partition_data_array_0(
    out: bytearray, items: list[AssignReplicasToDirsResponsePartitionData]
) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assign_replicas_to_dirs_response_topic_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AssignReplicasToDirsResponseTopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AssignReplicasToDirsResponseTopicData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_assign_replicas_to_dirs_response_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AssignReplicasToDirsResponseTopicData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_assign_replicas_to_dirs_response_topic_data_array_0(
    out: bytearray, items: list[AssignReplicasToDirsResponseTopicData]
) -> None:
    # TopicData, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_assign_replicas_to_dirs_response_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assign_replicas_to_dirs_response_directory_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AssignReplicasToDirsResponseDirectoryData], int]:
    # DirectoryData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AssignReplicasToDirsResponseDirectoryData] = []
    for _ in range(count):
        id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_assign_replicas_to_dirs_response_topic_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AssignReplicasToDirsResponseDirectoryData(id, topics, unknown_tags))
    return items, pos


def _write_assign_replicas_to_dirs_response_directory_data_array_0(
    out: bytearray, items: list[AssignReplicasToDirsResponseDirectoryData]
) -> None:
    # DirectoryData, version 0
    for item in items:
        if len(item.id) != 16:
            raise bad_uuid(item.id)
        out += _pack_u(item.id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_assign_replicas_to_dirs_response_topic_data_array_0(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assign_replicas_to_dirs_response_0(data: bytes, pos: int) -> tuple[AssignReplicasToDirsResponse, int]:
    # AssignReplicasToDirsResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    directories, pos = _read_assign_replicas_to_dirs_response_directory_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AssignReplicasToDirsResponse(throttle_time_ms, error_code, directories, unknown_tags), pos


def _write_assign_replicas_to_dirs_response_0(out: bytearray, item: AssignReplicasToDirsResponse) -> None:
    # AssignReplicasToDirsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.directories) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_assign_replicas_to_dirs_response_directory_data_array_0(out, item.directories)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AssignReplicasToDirsResponse(Message):
    """What became of each replica.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 73
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_assign_replicas_to_dirs_response_0}
    ENCODERS = {0: _write_assign_replicas_to_dirs_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "directories", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[AssignReplicasToDirsResponseDirectoryData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is EMPTY else directories
        self.unknown_tags = unknown_tags
