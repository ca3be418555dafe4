"""UpdateRaftVoterRequest 0 and UpdateRaftVoterResponse 0.

Generated from schemas/rpc/UpdateRaftVoterRequest.json and schemas/rpc/UpdateRaftVoterResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
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
    bad_tag_size,
    bad_uuid,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_HB = Struct(">HB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiuB = Struct(">ii16sB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_pack_H = Struct(">H").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiu = Struct(">ii16s").pack


class Listener(Structure):
    """An element of UpdateRaftVoterRequest.Listeners."""

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


class KRaftVersionFeature(Structure):
    """The value of UpdateRaftVoterRequest.KRaftVersionFeature."""

    FIELDS = ("min_supported_version", "max_supported_version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tags = unknown_tags


def _read_listener_array_0(data: bytes, pos: int, count: int) -> tuple[list[Listener], int]:
    # Listener, version 0
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
    # Listener, version 0
    for item in items:
        put_compact_string(out, item.name)
        put_compact_string(out, item.host)
        out += _pack_H(item.port)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_kraft_version_feature_0(data: bytes, pos: int) -> tuple[KRaftVersionFeature, int]:
    # KRaftVersionFeature, version 0
    min_supported_version, max_supported_version, n = _unpack_hhB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return KRaftVersionFeature(min_supported_version, max_supported_version, unknown_tags), pos


def _write_kraft_version_feature_0(out: bytearray, item: KRaftVersionFeature) -> None:
    # KRaftVersionFeature, version 0
    out += _pack_hh(item.min_supported_version, item.max_supported_version)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_update_raft_voter_request_0(data: bytes, pos: int) -> tuple[UpdateRaftVoterRequest, int]:
    # UpdateRaftVoterRequest, version 0
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    current_leader_epoch, voter_id, voter_directory_id, n = _unpack_iiuB(data, pos)
    pos += 25
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    kraft_version_feature, pos = _read_kraft_version_feature_0(data, pos)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = UpdateRaftVoterRequest(
        cluster_id, current_leader_epoch, voter_id, voter_directory_id, listeners, kraft_version_feature, unknown_tags
    )
    return item, pos


def _write_update_raft_voter_request_0(out: bytearray, item: UpdateRaftVoterRequest) -> None:
    # UpdateRaftVoterRequest, version 0
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    if len(item.voter_directory_id) != 16:
        raise bad_uuid(item.voter_directory_id)
    out += _pack_iiu(item.current_leader_epoch, item.voter_id, item.voter_directory_id)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    _write_kraft_version_feature_0(out, item.kraft_version_feature)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class UpdateRaftVoterRequest(Message):
    """A voter changes its endpoints.

    * `current_leader_epoch`: The leader epoch as the client knows it; -1 to skip the check.
    """

    API_KEY = 82
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_update_raft_voter_request_0}
    ENCODERS = {0: _write_update_raft_voter_request_0}

    FIELDS = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is EMPTY else listeners
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        self.unknown_tags = unknown_tags


class CurrentLeader(Structure):
    """The value of UpdateRaftVoterResponse.CurrentLeader."""

    FIELDS = ("leader_id", "leader_epoch", "host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


def _read_current_leader_0(data: bytes, pos: int) -> tuple[CurrentLeader, int]:
    # CurrentLeader, version 0
    leader_id, leader_epoch, n = _unpack_iiB(data, pos)
    pos += 9
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    host = data[pos:end].decode()
    pos = end
    port, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CurrentLeader(leader_id, leader_epoch, host, port, unknown_tags), pos


def _write_current_leader_0(out: bytearray, item: CurrentLeader) -> None:
    # CurrentLeader, version 0
    out += _pack_ii(item.leader_id, item.leader_epoch)
    put_compact_string(out, item.host)
    out += _pack_i(item.port)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_update_raft_voter_response_0(data: bytes, pos: int) -> tuple[UpdateRaftVoterResponse, int]:
    # UpdateRaftVoterResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    item = UpdateRaftVoterResponse(throttle_time_ms, error_code, CurrentLeader())
    if n:
        pos = _read_update_raft_voter_response_tags_0(item, data, pos, n)
    return item, pos


def _read_update_raft_voter_response_tags_0(item: UpdateRaftVoterResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            current_leader, pos = _read_current_leader_0(data, pos)
            item.current_leader = current_leader
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("UpdateRaftVoterResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_update_raft_voter_response_0(out: bytearray, item: UpdateRaftVoterResponse) -> None:
    # UpdateRaftVoterResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    tags = item.unknown_tags
    if not _is_default_current_leader(item.current_leader):
        body = bytearray()
        _write_current_leader_0(body, item.current_leader)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class UpdateRaftVoterResponse(Message):
    """Whether the voter was changed.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `current_leader`: The leader the broker knows of; only when it is not this one.
    """

    API_KEY = 82
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_update_raft_voter_response_0}
    ENCODERS = {0: _write_update_raft_voter_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "current_leader", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = CurrentLeader() if current_leader is None else current_leader
        self.unknown_tags = unknown_tags


def _is_default_current_leader(item: CurrentLeader) -> bool:
    return (
        item.leader_id == -1
        and item.leader_epoch == -1
        and item.host == ""
        and item.port == 0
        and not item.unknown_tags
    )
