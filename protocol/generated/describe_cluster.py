"""DescribeClusterRequest 0-2 and DescribeClusterResponse 0-2.

Generated from schemas/rpc/DescribeClusterRequest.json and schemas/rpc/DescribeClusterResponse.json (Apache Kafka 4.4.0)
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
    not_in_version,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_tbtB = Struct(">?b?B").unpack_from
_unpack_tbB = Struct(">?bB").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_t = Struct(">?").pack
_pack_tb = Struct(">?b").pack
_pack_tbt = Struct(">?b?").pack
_pack_b = Struct(">b").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_describe_cluster_request_0(data: bytes, pos: int) -> tuple[DescribeClusterRequest, int]:
    # DescribeClusterRequest, version 0
    include_cluster_authorized_operations, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeClusterRequest(include_cluster_authorized_operations, 1, False, unknown_tags), pos


def _write_describe_cluster_request_0(out: bytearray, item: DescribeClusterRequest) -> None:
    # DescribeClusterRequest, version 0
    if item.endpoint_type != 1:
        raise not_in_version("DescribeClusterRequest", "endpoint_type")
    if item.include_fenced_brokers:
        raise not_in_version("DescribeClusterRequest", "include_fenced_brokers")
    out += _pack_t(item.include_cluster_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_cluster_request_1(data: bytes, pos: int) -> tuple[DescribeClusterRequest, int]:
    # DescribeClusterRequest, version 1
    include_cluster_authorized_operations, endpoint_type, n = _unpack_tbB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, False, unknown_tags), pos


def _write_describe_cluster_request_1(out: bytearray, item: DescribeClusterRequest) -> None:
    # DescribeClusterRequest, version 1
    if item.include_fenced_brokers:
        raise not_in_version("DescribeClusterRequest", "include_fenced_brokers")
    out += _pack_tb(item.include_cluster_authorized_operations, item.endpoint_type)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_cluster_request_2(data: bytes, pos: int) -> tuple[DescribeClusterRequest, int]:
    # DescribeClusterRequest, version 2
    include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, n = _unpack_tbtB(data, pos)
    pos += 4
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = DescribeClusterRequest(
        include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, unknown_tags
    )
    return item, pos


def _write_describe_cluster_request_2(out: bytearray, item: DescribeClusterRequest) -> None:
    # DescribeClusterRequest, version 2
    out += _pack_tbt(item.include_cluster_authorized_operations, item.endpoint_type, item.include_fenced_brokers)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeClusterRequest(Message):
    """Asks for the cluster's id and nodes.

    * `endpoint_type`: 1 brokers, 2 controllers.
    """

    API_KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_describe_cluster_request_0,
        1: _read_describe_cluster_request_1,
        2: _read_describe_cluster_request_2,
    }
    ENCODERS = {
        0: _write_describe_cluster_request_0,
        1: _write_describe_cluster_request_1,
        2: _write_describe_cluster_request_2,
    }

    FIELDS = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
        self.unknown_tags = unknown_tags


class DescribeClusterBroker(Structure):
    """An element of DescribeClusterResponse.Brokers."""

    FIELDS = ("broker_id", "host", "port", "rack", "is_fenced", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced
        self.unknown_tags = unknown_tags


def _read_describe_cluster_broker_array_0(data: bytes, pos: int, count: int) -> tuple[list[DescribeClusterBroker], int]:
    # DescribeClusterBroker, versions 0-1
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeClusterBroker] = []
    for _ in range(count):
        broker_id, n = _unpack_iB(data, pos)
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
        items.append(DescribeClusterBroker(broker_id, host, port, rack, False, unknown_tags))
    return items, pos


def _write_describe_cluster_broker_array_0(out: bytearray, items: list[DescribeClusterBroker]) -> None:
    # DescribeClusterBroker, versions 0-1
    for item in items:
        if item.is_fenced:
            raise not_in_version("DescribeClusterBroker", "is_fenced")
        out += _pack_i(item.broker_id)
        put_compact_string(out, item.host)
        out += _pack_i(item.port)
        if item.rack is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_cluster_response_0(data: bytes, pos: int) -> tuple[DescribeClusterResponse, int]:
    # DescribeClusterResponse, version 0
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
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_describe_cluster_broker_array_0(data, pos, n - 1)
    cluster_authorized_operations, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = DescribeClusterResponse(
        throttle_time_ms,
        error_code,
        error_message,
        1,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
        unknown_tags,
    )
    return item, pos


def _write_describe_cluster_response_0(out: bytearray, item: DescribeClusterResponse) -> None:
    # DescribeClusterResponse, version 0
    if item.endpoint_type != 1:
        raise not_in_version("DescribeClusterResponse", "endpoint_type")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_cluster_broker_array_0(out, item.brokers)
    out += _pack_i(item.cluster_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_cluster_response_1(data: bytes, pos: int) -> tuple[DescribeClusterResponse, int]:
    # DescribeClusterResponse, version 1
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    endpoint_type, n = _unpack_bB(data, pos)
    pos += 2
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_describe_cluster_broker_array_0(data, pos, n - 1)
    cluster_authorized_operations, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = DescribeClusterResponse(
        throttle_time_ms,
        error_code,
        error_message,
        endpoint_type,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
        unknown_tags,
    )
    return item, pos


def _write_describe_cluster_response_1(out: bytearray, item: DescribeClusterResponse) -> None:
    # DescribeClusterResponse, version 1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += _pack_b(item.endpoint_type)
    put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_cluster_broker_array_0(out, item.brokers)
    out += _pack_i(item.cluster_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_cluster_broker_array_2(data: bytes, pos: int, count: int) -> tuple[list[DescribeClusterBroker], int]:
    # DescribeClusterBroker, version 2
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeClusterBroker] = []
    for _ in range(count):
        broker_id, n = _unpack_iB(data, pos)
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
        is_fenced, n = _unpack_tB(data, pos)
        pos += 2
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeClusterBroker(broker_id, host, port, rack, is_fenced, unknown_tags))
    return items, pos


def _write_describe_cluster_broker_array_2(out: bytearray, items: list[DescribeClusterBroker]) -> None:
    # DescribeClusterBroker, version 2
    for item in items:
        out += _pack_i(item.broker_id)
        put_compact_string(out, item.host)
        out += _pack_i(item.port)
        if item.rack is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack)
        out += _pack_t(item.is_fenced)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_cluster_response_2(data: bytes, pos: int) -> tuple[DescribeClusterResponse, int]:
    # DescribeClusterResponse, version 2
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    endpoint_type, n = _unpack_bB(data, pos)
    pos += 2
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    controller_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    brokers, pos = _read_describe_cluster_broker_array_2(data, pos, n - 1)
    cluster_authorized_operations, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = DescribeClusterResponse(
        throttle_time_ms,
        error_code,
        error_message,
        endpoint_type,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
        unknown_tags,
    )
    return item, pos


def _write_describe_cluster_response_2(out: bytearray, item: DescribeClusterResponse) -> None:
    # DescribeClusterResponse, version 2
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += _pack_b(item.endpoint_type)
    put_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    n = len(item.brokers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_cluster_broker_array_2(out, item.brokers)
    out += _pack_i(item.cluster_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeClusterResponse(Message):
    """The cluster's id and nodes.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `cluster_authorized_operations`: Bit field of ACL operations the client may do on the cluster; -2147483648 if it
    was not asked for.
    """

    API_KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_describe_cluster_response_0,
        1: _read_describe_cluster_response_1,
        2: _read_describe_cluster_response_2,
    }
    ENCODERS = {
        0: _write_describe_cluster_response_0,
        1: _write_describe_cluster_response_1,
        2: _write_describe_cluster_response_2,
    }

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
        self.unknown_tags = unknown_tags
