"""ElectLeadersRequest 0-2 and ElectLeadersResponse 0-2.

Generated from schemas/rpc/ElectLeadersRequest.json and schemas/rpc/ElectLeadersResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
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

_unpack_bB = Struct(">bB").unpack_from
_unpack_bi = Struct(">bi").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack
_pack_ii = Struct(">ii").pack


class TopicPartitions(Structure):
    """An element of ElectLeadersRequest.TopicPartitions."""

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


def _read_topic_partitions_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicPartitions], int]:
    # TopicPartitions, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartitions] = []
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
        items.append(TopicPartitions(topic, partitions))
    return items, pos


def _write_topic_partitions_array_0(out: bytearray, items: list[TopicPartitions]) -> None:
    # TopicPartitions, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TopicPartitions", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_elect_leaders_request_0(data: bytes, pos: int) -> tuple[ElectLeadersRequest, int]:
    # ElectLeadersRequest, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    topic_partitions: list[TopicPartitions] | None = None
    if n != -1:
        topic_partitions, pos = _read_topic_partitions_array_0(data, pos, n)
    (timeout_ms,) = _unpack_i(data, pos)
    pos += 4
    return ElectLeadersRequest(0, topic_partitions, timeout_ms), pos


def _write_elect_leaders_request_0(out: bytearray, item: ElectLeadersRequest) -> None:
    # ElectLeadersRequest, version 0
    if item.election_type != 0:
        raise not_in_version("ElectLeadersRequest", "election_type")
    if item.unknown_tags:
        raise not_in_version("ElectLeadersRequest", "unknown_tags")
    if item.topic_partitions is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topic_partitions))
        _write_topic_partitions_array_0(out, item.topic_partitions)
    out += _pack_i(item.timeout_ms)


def _read_elect_leaders_request_1(data: bytes, pos: int) -> tuple[ElectLeadersRequest, int]:
    # ElectLeadersRequest, version 1
    election_type, n = _unpack_bi(data, pos)
    pos += 5
    topic_partitions: list[TopicPartitions] | None = None
    if n != -1:
        topic_partitions, pos = _read_topic_partitions_array_0(data, pos, n)
    (timeout_ms,) = _unpack_i(data, pos)
    pos += 4
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), pos


def _write_elect_leaders_request_1(out: bytearray, item: ElectLeadersRequest) -> None:
    # ElectLeadersRequest, version 1
    if item.unknown_tags:
        raise not_in_version("ElectLeadersRequest", "unknown_tags")
    out += _pack_b(item.election_type)
    if item.topic_partitions is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topic_partitions))
        _write_topic_partitions_array_0(out, item.topic_partitions)
    out += _pack_i(item.timeout_ms)


def _read_topic_partitions_array_2(data: bytes, pos: int, count: int) -> tuple[list[TopicPartitions], int]:
    # TopicPartitions, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartitions] = []
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
        items.append(TopicPartitions(topic, partitions, unknown_tags))
    return items, pos


def _write_topic_partitions_array_2(out: bytearray, items: list[TopicPartitions]) -> None:
    # TopicPartitions, version 2
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_elect_leaders_request_2(data: bytes, pos: int) -> tuple[ElectLeadersRequest, int]:
    # ElectLeadersRequest, version 2
    election_type, n = _unpack_bB(data, pos)
    pos += 2
    topic_partitions: list[TopicPartitions] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topic_partitions, pos = _read_topic_partitions_array_2(data, pos, n - 1)
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms, unknown_tags), pos


def _write_elect_leaders_request_2(out: bytearray, item: ElectLeadersRequest) -> None:
    # ElectLeadersRequest, version 2
    out += _pack_b(item.election_type)
    if item.topic_partitions is None:
        out.append(0)
    else:
        n = len(item.topic_partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_partitions_array_2(out, item.topic_partitions)
    out += _pack_i(item.timeout_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ElectLeadersRequest(Message):
    """Starts leader elections.

    * `election_type`: 0 the preferred replica, 1 any live one, at the risk of losing records.
    """

    API_KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {0: _read_elect_leaders_request_0, 1: _read_elect_leaders_request_1, 2: _read_elect_leaders_request_2}
    ENCODERS = {0: _write_elect_leaders_request_0, 1: _write_elect_leaders_request_1, 2: _write_elect_leaders_request_2}

    FIELDS = ("election_type", "topic_partitions", "timeout_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = EMPTY,
        timeout_ms: int = 60000,
        unknown_tags: Tags = (),
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.timeout_ms = timeout_ms
        self.unknown_tags = unknown_tags


class ReplicaElectionResult(Structure):
    """An element of ElectLeadersResponse.ReplicaElectionResults."""

    FIELDS = ("topic", "partition_result", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is EMPTY else partition_result
        self.unknown_tags = unknown_tags


class PartitionResult(Structure):
    """An element of ReplicaElectionResult.PartitionResult."""

    FIELDS = ("partition_id", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_partition_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, versions 0-1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionResult] = []
    for _ in range(count):
        partition_id, error_code, n = _unpack_ihh(data, pos)
        pos += 8
        error_message: str | None = None
        if n >= 0:
            end = pos + n
            error_message = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(PartitionResult(partition_id, error_code, error_message))
    return items, pos


def _write_partition_result_array_0(out: bytearray, items: list[PartitionResult]) -> None:
    # PartitionResult, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("PartitionResult", "unknown_tags")
        out += _pack_ih(item.partition_id, item.error_code)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_replica_election_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReplicaElectionResult], int]:
    # ReplicaElectionResult, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReplicaElectionResult] = []
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
        partition_result, pos = _read_partition_result_array_0(data, pos, n)
        items.append(ReplicaElectionResult(topic, partition_result))
    return items, pos


def _write_replica_election_result_array_0(out: bytearray, items: list[ReplicaElectionResult]) -> None:
    # ReplicaElectionResult, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ReplicaElectionResult", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_result))
        _write_partition_result_array_0(out, item.partition_result)


def _read_elect_leaders_response_0(data: bytes, pos: int) -> tuple[ElectLeadersResponse, int]:
    # ElectLeadersResponse, version 0
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    replica_election_results, pos = _read_replica_election_result_array_0(data, pos, n)
    return ElectLeadersResponse(throttle_time_ms, 0, replica_election_results), pos


def _write_elect_leaders_response_0(out: bytearray, item: ElectLeadersResponse) -> None:
    # ElectLeadersResponse, version 0
    if item.error_code != 0:
        raise not_in_version("ElectLeadersResponse", "error_code")
    if item.unknown_tags:
        raise not_in_version("ElectLeadersResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.replica_election_results))
    _write_replica_election_result_array_0(out, item.replica_election_results)


def _read_elect_leaders_response_1(data: bytes, pos: int) -> tuple[ElectLeadersResponse, int]:
    # ElectLeadersResponse, version 1
    throttle_time_ms, error_code, n = _unpack_ihi(data, pos)
    pos += 10
    replica_election_results, pos = _read_replica_election_result_array_0(data, pos, n)
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), pos


def _write_elect_leaders_response_1(out: bytearray, item: ElectLeadersResponse) -> None:
    # ElectLeadersResponse, version 1
    if item.unknown_tags:
        raise not_in_version("ElectLeadersResponse", "unknown_tags")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, len(item.replica_election_results))
    _write_replica_election_result_array_0(out, item.replica_election_results)


def _read_partition_result_array_2(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, version 2
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionResult] = []
    for _ in range(count):
        partition_id, error_code, n = _unpack_ihB(data, pos)
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionResult(partition_id, error_code, error_message, unknown_tags))
    return items, pos


def _write_partition_result_array_2(out: bytearray, items: list[PartitionResult]) -> None:
    # PartitionResult, version 2
    for item in items:
        out += _pack_ih(item.partition_id, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_replica_election_result_array_2(data: bytes, pos: int, count: int) -> tuple[list[ReplicaElectionResult], int]:
    # ReplicaElectionResult, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReplicaElectionResult] = []
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
        partition_result, pos = _read_partition_result_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReplicaElectionResult(topic, partition_result, unknown_tags))
    return items, pos


def _write_replica_election_result_array_2(out: bytearray, items: list[ReplicaElectionResult]) -> None:
    # ReplicaElectionResult, version 2
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partition_result) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_2(out, item.partition_result)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_elect_leaders_response_2(data: bytes, pos: int) -> tuple[ElectLeadersResponse, int]:
    # ElectLeadersResponse, version 2
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    replica_election_results, pos = _read_replica_election_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results, unknown_tags), pos


def _write_elect_leaders_response_2(out: bytearray, item: ElectLeadersResponse) -> None:
    # ElectLeadersResponse, version 2
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.replica_election_results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_replica_election_result_array_2(out, item.replica_election_results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ElectLeadersResponse(Message):
    """What became of each partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {0: _read_elect_leaders_response_0, 1: _read_elect_leaders_response_1, 2: _read_elect_leaders_response_2}
    ENCODERS = {
        0: _write_elect_leaders_response_0,
        1: _write_elect_leaders_response_1,
        2: _write_elect_leaders_response_2,
    }

    FIELDS = ("throttle_time_ms", "error_code", "replica_election_results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is EMPTY else replica_election_results
        self.unknown_tags = unknown_tags
