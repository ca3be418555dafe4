"""LegacyOffsetCommitKey 0 and LegacyOffsetCommitValue 0.

Generated from schemas/records/LegacyOffsetCommitKey.json and schemas/records/LegacyOffsetCommitValue.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    Message,
    bad_length,
)

_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qh = Struct(">qh").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack
_pack_qh = Struct(">qh").pack


def _read_legacy_offset_commit_key_0(data: bytes, pos: int) -> tuple[LegacyOffsetCommitKey, int]:
    # LegacyOffsetCommitKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    topic = data[pos:end].decode()
    pos = end
    (partition,) = _unpack_i(data, pos)
    pos += 4
    return LegacyOffsetCommitKey(group, topic, partition), pos


def _write_legacy_offset_commit_key_0(out: bytearray, item: LegacyOffsetCommitKey) -> None:
    # LegacyOffsetCommitKey, version 0
    raw = item.group.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.topic.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(item.partition)


class LegacyOffsetCommitKey(Message):
    """__consumer_offsets, type 0: an offset in the form of old releases."""

    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_legacy_offset_commit_key_0}
    ENCODERS = {0: _write_legacy_offset_commit_key_0}

    FIELDS = ("group", "topic", "partition")
    __slots__ = FIELDS

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


def _read_legacy_offset_commit_value_0(data: bytes, pos: int) -> tuple[LegacyOffsetCommitValue, int]:
    # LegacyOffsetCommitValue, version 0
    offset, n = _unpack_qh(data, pos)
    pos += 10
    if n < 0:
        raise bad_length(n)
    end = pos + n
    metadata = data[pos:end].decode()
    pos = end
    (commit_timestamp,) = _unpack_q(data, pos)
    pos += 8
    return LegacyOffsetCommitValue(offset, metadata, commit_timestamp), pos


def _write_legacy_offset_commit_value_0(out: bytearray, item: LegacyOffsetCommitValue) -> None:
    # LegacyOffsetCommitValue, version 0
    raw = item.metadata.encode()
    out += _pack_qh(item.offset, len(raw))
    out += raw
    out += _pack_q(item.commit_timestamp)


class LegacyOffsetCommitValue(Message):
    """__consumer_offsets, type 0."""

    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_legacy_offset_commit_value_0}
    ENCODERS = {0: _write_legacy_offset_commit_value_0}

    FIELDS = ("offset", "metadata", "commit_timestamp")
    __slots__ = FIELDS

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
