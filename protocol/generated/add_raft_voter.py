"""AddRaftVoterRequest 0-1 and AddRaftVoterResponse 0-1.

Generated from schemas/rpc/AddRaftVoterRequest.json and schemas/rpc/AddRaftVoterResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_HB = Struct(">HB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiuB = Struct(">ii16sB").unpack_from
_pack_t = Struct(">?").pack
_pack_H = Struct(">H").pack
_pack_ih = Struct(">ih").pack
_pack_iiu = Struct(">ii16s").pack


class Listener(Structure):
    """An element of AddRaftVoterRequest.Listeners."""

    FIELDS = ("name", "host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


def _read_listener_array_0(data: bytes, pos: int, count: int) -> tuple[list[Listener], int]:
    # Listener, versions 0-1
    if not 0 <= count * 5 <= len(data) - pos:
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
        port, n = _unpack_HB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Listener(name, host, port, unknown_tags))
    return items, pos


def _write_listener_array_0(out: bytearray, items: list[Listener]) -> None:
    # Listener, versions 0-1
    for item in items:
        put_compact_string(out, item.name)
        put_compact_string(out, item.host)
        out += _pack_H(item.port)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_raft_voter_request_0(data: bytes, pos: int) -> tuple[AddRaftVoterRequest, int]:
    # AddRaftVoterRequest, version 0
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    timeout_ms, voter_id, voter_directory_id, n = _unpack_iiuB(data, pos)
    pos += 25
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddRaftVoterRequest(cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, True, unknown_tags), pos


def _write_add_raft_voter_request_0(out: bytearray, item: AddRaftVoterRequest) -> None:
    # AddRaftVoterRequest, version 0
    if not item.ack_when_committed:
        raise not_in_version("AddRaftVoterRequest", "ack_when_committed")
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    if len(item.voter_directory_id) != 16:
        raise bad_uuid(item.voter_directory_id)
    out += _pack_iiu(item.timeout_ms, item.voter_id, item.voter_directory_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_raft_voter_request_1(data: bytes, pos: int) -> tuple[AddRaftVoterRequest, int]:
    # AddRaftVoterRequest, version 1
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    timeout_ms, voter_id, voter_directory_id, n = _unpack_iiuB(data, pos)
    pos += 25
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    ack_when_committed, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = AddRaftVoterRequest(
        cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, ack_when_committed, unknown_tags
    )
    return item, pos


def _write_add_raft_voter_request_1(out: bytearray, item: AddRaftVoterRequest) -> None:
    # AddRaftVoterRequest, version 1
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    if len(item.voter_directory_id) != 16:
        raise bad_uuid(item.voter_directory_id)
    out += _pack_iiu(item.timeout_ms, item.voter_id, item.voter_directory_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    out += _pack_t(item.ack_when_committed)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AddRaftVoterRequest(Message):
    """Adds a controller to the metadata quorum."""

    API_KEY = 80
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_add_raft_voter_request_0, 1: _read_add_raft_voter_request_1}
    ENCODERS = {0: _write_add_raft_voter_request_0, 1: _write_add_raft_voter_request_1}

    FIELDS = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        ack_when_committed: bool = True,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is EMPTY else listeners
        self.ack_when_committed = ack_when_committed
        self.unknown_tags = unknown_tags


def _read_add_raft_voter_response_0(data: bytes, pos: int) -> tuple[AddRaftVoterResponse, int]:
    # AddRaftVoterResponse, versions 0-1
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
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddRaftVoterResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_add_raft_voter_response_0(out: bytearray, item: AddRaftVoterResponse) -> None:
    # AddRaftVoterResponse, versions 0-1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AddRaftVoterResponse(Message):
    """Whether the voter was added.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 80
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_add_raft_voter_response_0, 1: _read_add_raft_voter_response_0}
    ENCODERS = {0: _write_add_raft_voter_response_0, 1: _write_add_raft_voter_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags
