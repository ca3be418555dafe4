"""LeaderChangeMessage 0-1.

Generated from schemas/records/LeaderChangeMessage.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`.
Do not edit.
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
    read_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iuB = Struct(">i16sB").iter_unpack
_iterate_iB = Struct(">iB").iter_unpack
_unpack_hiB = Struct(">hiB").unpack_from
_unpack_iuB = Struct(">i16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_iu = Struct(">i16s").pack


class Voter(Structure):
    """An element of LeaderChangeMessage.Voters."""

    FIELDS = ("voter_id", "voter_directory_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        unknown_tags: Tags = (),
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tags = unknown_tags


def _read_voter_array_0(data: bytes, pos: int, count: int) -> tuple[list[Voter], int]:
    # Voter, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[Voter] = []
    if count > 3 and count * 5 <= len(data) - pos:
        elements = _iterate_iB(data[pos : pos + count * 5])
        for voter_id, n in elements:
            if n:
                break
            items.append(Voter(voter_id, ZERO_UUID))
        pos += len(items) * 5
        count -= len(items)
    for _ in range(count):
        voter_id, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Voter(voter_id, ZERO_UUID, unknown_tags))
    return items, pos


def _write_voter_array_0(out: bytearray, items: list[Voter]) -> None:
    # Voter, version 0
    for item in items:
        if item.voter_directory_id != ZERO_UUID:
            raise not_in_version("Voter", "voter_directory_id")
        out += _pack_i(item.voter_id)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leader_change_message_0(data: bytes, pos: int) -> tuple[LeaderChangeMessage, int]:
    # LeaderChangeMessage, version 0
    version, leader_id, n = _unpack_hiB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    voters, pos = _read_voter_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    granting_voters, pos = _read_voter_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaderChangeMessage(version, leader_id, voters, granting_voters, unknown_tags), pos


def _write_leader_change_message_0(out: bytearray, item: LeaderChangeMessage) -> None:
    # LeaderChangeMessage, version 0
    out += _pack_hi(item.version, item.leader_id)
    n = len(item.voters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_voter_array_0(out, item.voters)
    n = len(item.granting_voters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_voter_array_0(out, item.granting_voters)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_voter_array_1(data: bytes, pos: int, count: int) -> tuple[list[Voter], int]:
    # Voter, version 1
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[Voter] = []
    if count > 3 and count * 21 <= len(data) - pos:
        elements = _iterate_iuB(data[pos : pos + count * 21])
        for voter_id, voter_directory_id, n in elements:
            if n:
                break
            items.append(Voter(voter_id, voter_directory_id))
        pos += len(items) * 21
        count -= len(items)
    for _ in range(count):
        voter_id, voter_directory_id, n = _unpack_iuB(data, pos)
        pos += 21
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Voter(voter_id, voter_directory_id, unknown_tags))
    return items, pos


def _write_voter_array_1(out: bytearray, items: list[Voter]) -> None:
    # Voter, version 1
    for item in items:
        if len(item.voter_directory_id) != 16:
            raise bad_uuid(item.voter_directory_id)
        out += _pack_iu(item.voter_id, item.voter_directory_id)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leader_change_message_1(data: bytes, pos: int) -> tuple[LeaderChangeMessage, int]:
    # LeaderChangeMessage, version 1
    version, leader_id, n = _unpack_hiB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    voters, pos = _read_voter_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    granting_voters, pos = _read_voter_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaderChangeMessage(version, leader_id, voters, granting_voters, unknown_tags), pos


def _write_leader_change_message_1(out: bytearray, item: LeaderChangeMessage) -> None:
    # LeaderChangeMessage, version 1
    out += _pack_hi(item.version, item.leader_id)
    n = len(item.voters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_voter_array_1(out, item.voters)
    n = len(item.granting_voters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_voter_array_1(out, item.granting_voters)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class LeaderChangeMessage(Message):
    """Value of a control record in the metadata log: a leader was elected."""

    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_leader_change_message_0, 1: _read_leader_change_message_1}
    ENCODERS = {0: _write_leader_change_message_0, 1: _write_leader_change_message_1}

    FIELDS = ("version", "leader_id", "voters", "granting_voters", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[Voter] = EMPTY,
        granting_voters: list[Voter] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is EMPTY else voters
        self.granting_voters = [] if granting_voters is EMPTY else granting_voters
        self.unknown_tags = unknown_tags
