"""SnapshotFooterRecord 0.

Generated from schemas/records/SnapshotFooterRecord.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`.
Do not edit.
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

_unpack_hB = Struct(">hB").unpack_from
_pack_h = Struct(">h").pack


def _read_snapshot_footer_record_0(data: bytes, pos: int) -> tuple[SnapshotFooterRecord, int]:
    # SnapshotFooterRecord, version 0
    version, n = _unpack_hB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SnapshotFooterRecord(version, unknown_tags), pos


def _write_snapshot_footer_record_0(out: bytearray, item: SnapshotFooterRecord) -> None:
    # SnapshotFooterRecord, version 0
    out += _pack_h(item.version)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class SnapshotFooterRecord(Message):
    """Value of the control record at the end of a metadata snapshot."""

    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_snapshot_footer_record_0}
    ENCODERS = {0: _write_snapshot_footer_record_0}

    FIELDS = ("version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, version: int = 0, unknown_tags: Tags = ()) -> None:
        self.version = version
        self.unknown_tags = unknown_tags
