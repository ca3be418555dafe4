"""KRaftVersionRecord 0.

Generated from schemas/records/KRaftVersionRecord.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    read_tags,
    tag_buffer,
)

_unpack_hhB = Struct(">hhB").unpack_from
_pack_hh = Struct(">hh").pack


def _read_kraft_version_record_0(data: bytes, pos: int) -> tuple[KRaftVersionRecord, int]:
    # KRaftVersionRecord, version 0
    version, kraft_version, n = _unpack_hhB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return KRaftVersionRecord(version, kraft_version, unknown_tags), pos


def _write_kraft_version_record_0(out: bytearray, item: KRaftVersionRecord) -> None:
    # KRaftVersionRecord, version 0
    out += _pack_hh(item.version, item.kraft_version)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class KRaftVersionRecord(Message):
    """Value of a control record in the metadata log: the version of KRaft in force."""

    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_kraft_version_record_0}
    ENCODERS = {0: _write_kraft_version_record_0}

    FIELDS = ("version", "kraft_version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        version: int = 0,
        kraft_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.version = version
        self.kraft_version = kraft_version
        self.unknown_tags = unknown_tags
