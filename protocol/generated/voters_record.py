"""VotersRecord 0.

Generated from schemas/records/VotersRecord.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not
edit.
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
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_HB = Struct(">HB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_iuB = Struct(">i16sB").unpack_from
_pack_H = Struct(">H").pack
_pack_h = Struct(">h").pack
_pack_hh = Struct(">hh").pack
_pack_iu = Struct(">i16s").pack


class Voter(Structure):
    """An element of VotersRecord.Voters."""

    FIELDS = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        endpoints: list[Endpoint] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is EMPTY else endpoints
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        self.unknown_tags = unknown_tags


class Endpoint(Structure):
    """An element of Voter.Endpoints."""

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
    """The value of Voter.KRaftVersionFeature."""

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


def _read_endpoint_array_0(data: bytes, pos: int, count: int) -> tuple[list[Endpoint], int]:
    # Endpoint, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[Endpoint] = []
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
        items.append(Endpoint(name, host, port, unknown_tags))
    return items, pos


def _write_endpoint_array_0(out: bytearray, items: list[Endpoint]) -> None:
    # Endpoint, version 0
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


def _read_voter_array_0(data: bytes, pos: int, count: int) -> tuple[list[Voter], int]:
    # Voter, version 0
    if not 0 <= count * 27 <= len(data) - pos:
        raise bad_count(count)
    items: list[Voter] = []
    for _ in range(count):
        voter_id, voter_directory_id, n = _unpack_iuB(data, pos)
        pos += 21
        if n > 127:
            n, pos = read_length(data, pos)
        endpoints, pos = _read_endpoint_array_0(data, pos, n - 1)
        kraft_version_feature, pos = _read_kraft_version_feature_0(data, pos)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Voter(voter_id, voter_directory_id, endpoints, kraft_version_feature, unknown_tags))
    return items, pos


def _write_voter_array_0(out: bytearray, items: list[Voter]) -> None:
    # Voter, version 0
    for item in items:
        if len(item.voter_directory_id) != 16:
            raise bad_uuid(item.voter_directory_id)
        out += _pack_iu(item.voter_id, item.voter_directory_id)
        n = len(item.endpoints) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_endpoint_array_0(out, item.endpoints)
        _write_kraft_version_feature_0(out, item.kraft_version_feature)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_voters_record_0(data: bytes, pos: int) -> tuple[VotersRecord, int]:
    # VotersRecord, version 0
    version, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    voters, pos = _read_voter_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return VotersRecord(version, voters, unknown_tags), pos


def _write_voters_record_0(out: bytearray, item: VotersRecord) -> None:
    # VotersRecord, version 0
    out += _pack_h(item.version)
    n = len(item.voters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_voter_array_0(out, item.voters)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class VotersRecord(Message):
    """Value of a control record in the metadata log: the set of voters."""

    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_voters_record_0}
    ENCODERS = {0: _write_voters_record_0}

    FIELDS = ("version", "voters", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        version: int = 0,
        voters: list[Voter] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.version = version
        self.voters = [] if voters is EMPTY else voters
        self.unknown_tags = unknown_tags
