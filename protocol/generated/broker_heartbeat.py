"""BrokerHeartbeatRequest 0-2 and BrokerHeartbeatResponse 0-2.

Generated from schemas/rpc/BrokerHeartbeatRequest.json and schemas/rpc/BrokerHeartbeatResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    Message,
    Tags,
    bad_tag,
    bad_tag_size,
    not_in_version,
    put_uuids,
    read_length,
    read_tags,
    read_uuids,
    tag_buffer,
    uvarint,
)

_unpack_ihtttB = Struct(">ih???B").unpack_from
_unpack_iqqttB = Struct(">iqq??B").unpack_from
_pack_ihttt = Struct(">ih???").pack
_pack_iqqtt = Struct(">iqq??").pack


def _read_broker_heartbeat_request_0(data: bytes, pos: int) -> tuple[BrokerHeartbeatRequest, int]:
    # BrokerHeartbeatRequest, version 0
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, n = _unpack_iqqttB(data, pos)
    pos += 23
    item = BrokerHeartbeatRequest(
        broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, [], None
    )
    if n:
        pos = _read_broker_heartbeat_request_tags_0(item, data, pos, n)
    return item, pos


def _read_broker_heartbeat_request_tags_0(item: BrokerHeartbeatRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag in (0, 1):
            raise bad_tag("BrokerHeartbeatRequest", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_broker_heartbeat_request_0(out: bytearray, item: BrokerHeartbeatRequest) -> None:
    # BrokerHeartbeatRequest, version 0
    if item.offline_log_dirs:
        raise not_in_version("BrokerHeartbeatRequest", "offline_log_dirs")
    if item.cordoned_log_dirs is not None:
        raise not_in_version("BrokerHeartbeatRequest", "cordoned_log_dirs")
    out += _pack_iqqtt(
        item.broker_id, item.broker_epoch, item.current_metadata_offset, item.want_fence, item.want_shut_down
    )
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_broker_heartbeat_request_1(data: bytes, pos: int) -> tuple[BrokerHeartbeatRequest, int]:
    # BrokerHeartbeatRequest, version 1
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, n = _unpack_iqqttB(data, pos)
    pos += 23
    item = BrokerHeartbeatRequest(
        broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, [], None
    )
    if n:
        pos = _read_broker_heartbeat_request_tags_1(item, data, pos, n)
    return item, pos


def _read_broker_heartbeat_request_tags_1(item: BrokerHeartbeatRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            offline_log_dirs, pos = read_uuids(data, pos, n - 1)
            item.offline_log_dirs = offline_log_dirs
        elif tag == 1:
            raise bad_tag("BrokerHeartbeatRequest", tag)
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("BrokerHeartbeatRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_broker_heartbeat_request_1(out: bytearray, item: BrokerHeartbeatRequest) -> None:
    # BrokerHeartbeatRequest, version 1
    if item.cordoned_log_dirs is not None:
        raise not_in_version("BrokerHeartbeatRequest", "cordoned_log_dirs")
    out += _pack_iqqtt(
        item.broker_id, item.broker_epoch, item.current_metadata_offset, item.want_fence, item.want_shut_down
    )
    tags = item.unknown_tags
    if item.offline_log_dirs:
        body = bytearray()
        n = len(item.offline_log_dirs) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        put_uuids(body, item.offline_log_dirs)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_broker_heartbeat_request_2(data: bytes, pos: int) -> tuple[BrokerHeartbeatRequest, int]:
    # BrokerHeartbeatRequest, version 2
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, n = _unpack_iqqttB(data, pos)
    pos += 23
    item = BrokerHeartbeatRequest(
        broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, [], None
    )
    if n:
        pos = _read_broker_heartbeat_request_tags_2(item, data, pos, n)
    return item, pos


def _read_broker_heartbeat_request_tags_2(item: BrokerHeartbeatRequest, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            offline_log_dirs, pos = read_uuids(data, pos, n - 1)
            item.offline_log_dirs = offline_log_dirs
        elif tag == 1:
            n = data[pos]
            pos += 1
            cordoned_log_dirs: list[bytes] | None = None
            if n:
                if n > 127:
                    n, pos = read_length(data, pos)
                cordoned_log_dirs, pos = read_uuids(data, pos, n - 1)
            item.cordoned_log_dirs = cordoned_log_dirs
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("BrokerHeartbeatRequest", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_broker_heartbeat_request_2(out: bytearray, item: BrokerHeartbeatRequest) -> None:
    # BrokerHeartbeatRequest, version 2
    out += _pack_iqqtt(
        item.broker_id, item.broker_epoch, item.current_metadata_offset, item.want_fence, item.want_shut_down
    )
    tags = item.unknown_tags
    if item.offline_log_dirs:
        body = bytearray()
        n = len(item.offline_log_dirs) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        put_uuids(body, item.offline_log_dirs)
        tags += ((0, bytes(body)),)
    if item.cordoned_log_dirs is not None:
        body = bytearray()
        if item.cordoned_log_dirs is None:
            body.append(0)
        else:
            n = len(item.cordoned_log_dirs) + 1
            body += SMALL[n] if n < 128 else uvarint(n)
            put_uuids(body, item.cordoned_log_dirs)
        tags += ((1, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class BrokerHeartbeatRequest(Message):
    """Keeps a broker's registration alive."""

    API_KEY = 63
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_broker_heartbeat_request_0,
        1: _read_broker_heartbeat_request_1,
        2: _read_broker_heartbeat_request_2,
    }
    ENCODERS = {
        0: _write_broker_heartbeat_request_0,
        1: _write_broker_heartbeat_request_1,
        2: _write_broker_heartbeat_request_2,
    }

    FIELDS = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is EMPTY else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tags = unknown_tags


def _read_broker_heartbeat_response_0(data: bytes, pos: int) -> tuple[BrokerHeartbeatResponse, int]:
    # BrokerHeartbeatResponse, versions 0-2
    throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down, n = _unpack_ihtttB(data, pos)
    pos += 10
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = BrokerHeartbeatResponse(
        throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down, unknown_tags
    )
    return item, pos


def _write_broker_heartbeat_response_0(out: bytearray, item: BrokerHeartbeatResponse) -> None:
    # BrokerHeartbeatResponse, versions 0-2
    out += _pack_ihttt(item.throttle_time_ms, item.error_code, item.is_caught_up, item.is_fenced, item.should_shut_down)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class BrokerHeartbeatResponse(Message):
    """What the broker may or should do.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 63
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_broker_heartbeat_response_0,
        1: _read_broker_heartbeat_response_0,
        2: _read_broker_heartbeat_response_0,
    }
    ENCODERS = {
        0: _write_broker_heartbeat_response_0,
        1: _write_broker_heartbeat_response_0,
        2: _write_broker_heartbeat_response_0,
    }

    FIELDS = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
        self.unknown_tags = unknown_tags
