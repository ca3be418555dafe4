"""BrokerRegistrationRequest 0-4 and BrokerRegistrationResponse 0-4.

Generated from schemas/rpc/BrokerRegistrationRequest.json and schemas/rpc/BrokerRegistrationResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    not_in_version,
    put_compact_string,
    put_uuids,
    read_length,
    read_string_length,
    read_tags,
    read_uuids,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_HhB = Struct(">HhB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihqB = Struct(">ihqB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_u = Struct(">16s").pack
_pack_t = Struct(">?").pack
_pack_Hh = Struct(">Hh").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_ihq = Struct(">ihq").pack
_pack_q = Struct(">q").pack


class Listener(Structure):
    """An element of BrokerRegistrationRequest.Listeners."""

    FIELDS = ("name", "host", "port", "security_protocol", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tags = unknown_tags


class Feature(Structure):
    """An element of BrokerRegistrationRequest.Features."""

    FIELDS = ("name", "min_supported_version", "max_supported_version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tags = unknown_tags


def _read_listener_array_0(data: bytes, pos: int, count: int) -> tuple[list[Listener], int]:
    # Listener, versions 0-4
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[Listener] = []
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
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        port, security_protocol, n = _unpack_HhB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Listener(name, host, port, security_protocol, unknown_tags))
    return items, pos


def _write_listener_array_0(out: bytearray, items: list[Listener]) -> None:
    # Listener, versions 0-4
    for item in items:
        put_compact_string(out, item.name)
        put_compact_string(out, item.host)
        out += _pack_Hh(item.port, item.security_protocol)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_feature_array_0(data: bytes, pos: int, count: int) -> tuple[list[Feature], int]:
    # Feature, versions 0-4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[Feature] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        min_supported_version, max_supported_version, n = _unpack_hhB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Feature(name, min_supported_version, max_supported_version, unknown_tags))
    return items, pos


def _write_feature_array_0(out: bytearray, items: list[Feature]) -> None:
    # Feature, versions 0-4
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_hh(item.min_supported_version, item.max_supported_version)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_broker_registration_request_0(data: bytes, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # BrokerRegistrationRequest, version 0
    broker_id, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    incarnation_id, n = _unpack_uB(data, pos)
    pos += 17
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    features, pos = _read_feature_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
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
    item = BrokerRegistrationRequest(
        broker_id, cluster_id, incarnation_id, listeners, features, rack, False, [], -1, unknown_tags
    )
    return item, pos


def _write_broker_registration_request_0(out: bytearray, item: BrokerRegistrationRequest) -> None:
    # BrokerRegistrationRequest, version 0
    if item.is_migrating_zk_broker:
        raise not_in_version("BrokerRegistrationRequest", "is_migrating_zk_broker")
    out += _pack_i(item.broker_id)
    put_compact_string(out, item.cluster_id)
    if len(item.incarnation_id) != 16:
        raise bad_uuid(item.incarnation_id)
    out += _pack_u(item.incarnation_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    n = len(item.features) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_array_0(out, item.features)
    if item.rack is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_broker_registration_request_1(data: bytes, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # BrokerRegistrationRequest, version 1
    broker_id, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    incarnation_id, n = _unpack_uB(data, pos)
    pos += 17
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    features, pos = _read_feature_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    rack: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack = data[pos:end].decode()
        pos = end
    is_migrating_zk_broker, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = BrokerRegistrationRequest(
        broker_id, cluster_id, incarnation_id, listeners, features, rack, is_migrating_zk_broker, [], -1, unknown_tags
    )
    return item, pos


def _write_broker_registration_request_1(out: bytearray, item: BrokerRegistrationRequest) -> None:
    # BrokerRegistrationRequest, version 1
    out += _pack_i(item.broker_id)
    put_compact_string(out, item.cluster_id)
    if len(item.incarnation_id) != 16:
        raise bad_uuid(item.incarnation_id)
    out += _pack_u(item.incarnation_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    n = len(item.features) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_array_0(out, item.features)
    if item.rack is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack)
    out += _pack_t(item.is_migrating_zk_broker)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_broker_registration_request_2(data: bytes, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # BrokerRegistrationRequest, version 2
    broker_id, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    incarnation_id, n = _unpack_uB(data, pos)
    pos += 17
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    features, pos = _read_feature_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    rack: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack = data[pos:end].decode()
        pos = end
    is_migrating_zk_broker, n = _unpack_tB(data, pos)
    pos += 2
    if n > 127:
        n, pos = read_length(data, pos)
    log_dirs, pos = read_uuids(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = BrokerRegistrationRequest(
        broker_id,
        cluster_id,
        incarnation_id,
        listeners,
        features,
        rack,
        is_migrating_zk_broker,
        log_dirs,
        -1,
        unknown_tags,
    )
    return item, pos


def _write_broker_registration_request_2(out: bytearray, item: BrokerRegistrationRequest) -> None:
    # BrokerRegistrationRequest, version 2
    out += _pack_i(item.broker_id)
    put_compact_string(out, item.cluster_id)
    if len(item.incarnation_id) != 16:
        raise bad_uuid(item.incarnation_id)
    out += _pack_u(item.incarnation_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    n = len(item.features) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_array_0(out, item.features)
    if item.rack is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack)
    out += _pack_t(item.is_migrating_zk_broker)
    n = len(item.log_dirs) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_uuids(out, item.log_dirs)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_broker_registration_request_3(data: bytes, pos: int) -> tuple[BrokerRegistrationRequest, int]:
    # BrokerRegistrationRequest, versions 3-4
    broker_id, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    cluster_id = data[pos:end].decode()
    pos = end
    incarnation_id, n = _unpack_uB(data, pos)
    pos += 17
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    features, pos = _read_feature_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    rack: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack = data[pos:end].decode()
        pos = end
    is_migrating_zk_broker, n = _unpack_tB(data, pos)
    pos += 2
    if n > 127:
        n, pos = read_length(data, pos)
    log_dirs, pos = read_uuids(data, pos, n - 1)
    previous_broker_epoch, n = _unpack_qB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = BrokerRegistrationRequest(
        broker_id,
        cluster_id,
        incarnation_id,
        listeners,
        features,
        rack,
        is_migrating_zk_broker,
        log_dirs,
        previous_broker_epoch,
        unknown_tags,
    )
    return item, pos


def _write_broker_registration_request_3(out: bytearray, item: BrokerRegistrationRequest) -> None:
    # BrokerRegistrationRequest, versions 3-4
    out += _pack_i(item.broker_id)
    put_compact_string(out, item.cluster_id)
    if len(item.incarnation_id) != 16:
        raise bad_uuid(item.incarnation_id)
    out += _pack_u(item.incarnation_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    n = len(item.features) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_array_0(out, item.features)
    if item.rack is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack)
    out += _pack_t(item.is_migrating_zk_broker)
    n = len(item.log_dirs) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_uuids(out, item.log_dirs)
    out += _pack_q(item.previous_broker_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class BrokerRegistrationRequest(Message):
    """A broker makes itself known to the controller."""

    API_KEY = 62
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_broker_registration_request_0,
        1: _read_broker_registration_request_1,
        2: _read_broker_registration_request_2,
        3: _read_broker_registration_request_3,
        4: _read_broker_registration_request_3,
    }
    ENCODERS = {
        0: _write_broker_registration_request_0,
        1: _write_broker_registration_request_1,
        2: _write_broker_registration_request_2,
        3: _write_broker_registration_request_3,
        4: _write_broker_registration_request_3,
    }

    FIELDS = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] = EMPTY,
        previous_broker_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is EMPTY else listeners
        self.features = [] if features is EMPTY else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is EMPTY else log_dirs
        self.previous_broker_epoch = previous_broker_epoch
        self.unknown_tags = unknown_tags


def _read_broker_registration_response_0(data: bytes, pos: int) -> tuple[BrokerRegistrationResponse, int]:
    # BrokerRegistrationResponse, versions 0-4
    throttle_time_ms, error_code, broker_epoch, n = _unpack_ihqB(data, pos)
    pos += 15
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return BrokerRegistrationResponse(throttle_time_ms, error_code, broker_epoch, unknown_tags), pos


def _write_broker_registration_response_0(out: bytearray, item: BrokerRegistrationResponse) -> None:
    # BrokerRegistrationResponse, versions 0-4
    out += _pack_ihq(item.throttle_time_ms, item.error_code, item.broker_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class BrokerRegistrationResponse(Message):
    """The epoch of the registration.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 62
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_broker_registration_response_0,
        1: _read_broker_registration_response_0,
        2: _read_broker_registration_response_0,
        3: _read_broker_registration_response_0,
        4: _read_broker_registration_response_0,
    }
    ENCODERS = {
        0: _write_broker_registration_response_0,
        1: _write_broker_registration_response_0,
        2: _write_broker_registration_response_0,
        3: _write_broker_registration_response_0,
        4: _write_broker_registration_response_0,
    }

    FIELDS = ("throttle_time_ms", "error_code", "broker_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch
        self.unknown_tags = unknown_tags
