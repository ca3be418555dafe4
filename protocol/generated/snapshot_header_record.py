"""SnapshotHeaderRecord 0.

Generated from schemas/records/SnapshotHeaderRecord.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`.
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

_unpack_hqB = Struct(">hqB").unpack_from
_pack_hq = Struct(">hq").pack


def _read_snapshot_header_record_0(data: bytes, pos: int) -> tuple[SnapshotHeaderRecord, int]:
    # SnapshotHeaderRecord, version 0
    version, last_contained_log_timestamp, n = _unpack_hqB(data, pos)
    pos += 11
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SnapshotHeaderRecord(version, last_contained_log_timestamp, unknown_tags), pos


def _write_snapshot_header_record_0(out: bytearray, item: SnapshotHeaderRecord) -> None:
    # SnapshotHeaderRecord, version 0
    out += _pack_hq(item.version, item.last_contained_log_timestamp)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class SnapshotHeaderRecord(Message):
    """Value of the control record at the start of a metadata snapshot."""

    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_snapshot_header_record_0}
    ENCODERS = {0: _write_snapshot_header_record_0}

    FIELDS = ("version", "last_contained_log_timestamp", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp
        self.unknown_tags = unknown_tags
