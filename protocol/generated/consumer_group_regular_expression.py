"""ConsumerGroupRegularExpressionKey 0 and ConsumerGroupRegularExpressionValue 0.

Generated from schemas/records/ConsumerGroupRegularExpressionKey.json and
schemas/records/ConsumerGroupRegularExpressionValue.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`.
Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    Message,
    Tags,
    bad_length,
    put_compact_strings,
    read_compact_strings,
    read_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_h = Struct(">h").pack
_pack_qq = Struct(">qq").pack


def _read_consumer_group_regular_expression_key_0(
    data: bytes, pos: int
) -> tuple[ConsumerGroupRegularExpressionKey, int]:
    # ConsumerGroupRegularExpressionKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    regular_expression = data[pos:end].decode()
    pos = end
    return ConsumerGroupRegularExpressionKey(group_id, regular_expression), pos


def _write_consumer_group_regular_expression_key_0(out: bytearray, item: ConsumerGroupRegularExpressionKey) -> None:
    # ConsumerGroupRegularExpressionKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.regular_expression.encode()
    out += _pack_h(len(raw))
    out += raw


class ConsumerGroupRegularExpressionKey(Message):
    """__consumer_offsets, type 16: a regular expression members subscribe by."""

    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_consumer_group_regular_expression_key_0}
    ENCODERS = {0: _write_consumer_group_regular_expression_key_0}

    FIELDS = ("group_id", "regular_expression")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", regular_expression: str = "") -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression


def _read_consumer_group_regular_expression_value_0(
    data: bytes, pos: int
) -> tuple[ConsumerGroupRegularExpressionValue, int]:
    # ConsumerGroupRegularExpressionValue, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = read_compact_strings(data, pos, n - 1)
    version, timestamp, n = _unpack_qqB(data, pos)
    pos += 17
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ConsumerGroupRegularExpressionValue(topics, version, timestamp, unknown_tags), pos


def _write_consumer_group_regular_expression_value_0(out: bytearray, item: ConsumerGroupRegularExpressionValue) -> None:
    # ConsumerGroupRegularExpressionValue, version 0
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.topics)
    out += _pack_qq(item.version, item.timestamp)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ConsumerGroupRegularExpressionValue(Message):
    """__consumer_offsets, type 16: the topics it matched.

    * `version`: The version of the metadata it was matched against.
    """

    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_regular_expression_value_0}
    ENCODERS = {0: _write_consumer_group_regular_expression_value_0}

    FIELDS = ("topics", "version", "timestamp", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[str] = EMPTY,
        version: int = 0,
        timestamp: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.version = version
        self.timestamp = timestamp
        self.unknown_tags = unknown_tags
