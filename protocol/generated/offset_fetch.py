"""OffsetFetchRequest 1-10 and OffsetFetchResponse 1-10.

Generated from schemas/rpc/OffsetFetchRequest.json and schemas/rpc/OffsetFetchResponse.json (Apache Kafka 4.4.0) by
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
    bad_length,
    bad_uuid,
    not_in_version,
    null_not_allowed,
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_pack_u = Struct(">16s").pack
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_iqi = Struct(">iqi").pack


class OffsetFetchRequestTopic(Structure):
    """An element of OffsetFetchRequest.Topics."""

    FIELDS = ("name", "partition_indexes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tags = unknown_tags


class OffsetFetchRequestGroup(Structure):
    """An element of OffsetFetchRequest.Groups.

    * `member_epoch`: -1 from classic and admin clients, which are not checked.
    * `topics`: Null for all topics of the group.
    """

    FIELDS = ("group_id", "member_id", "member_epoch", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class OffsetFetchRequestTopics(Structure):
    """An element of OffsetFetchRequestGroup.Topics."""

    FIELDS = ("name", "topic_id", "partition_indexes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_indexes: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tags = unknown_tags


def _read_offset_fetch_request_topic_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestTopic], int]:
    # OffsetFetchRequestTopic, versions 1-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partition_indexes, pos = read_numbers(data, pos, n, "i")
        items.append(OffsetFetchRequestTopic(name, partition_indexes))
    return items, pos


def _write_offset_fetch_request_topic_array_1(out: bytearray, items: list[OffsetFetchRequestTopic]) -> None:
    # OffsetFetchRequestTopic, versions 1-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetFetchRequestTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_indexes))
        put_numbers(out, item.partition_indexes, "i")


def _read_offset_fetch_request_1(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, version 1
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_fetch_request_topic_array_1(data, pos, n)
    return OffsetFetchRequest(group_id, topics, [], False), pos


def _write_offset_fetch_request_1(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, version 1
    if item.groups:
        raise not_in_version("OffsetFetchRequest", "groups")
    if item.require_stable:
        raise not_in_version("OffsetFetchRequest", "require_stable")
    if item.unknown_tags:
        raise not_in_version("OffsetFetchRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    if item.topics is None:
        raise null_not_allowed("OffsetFetchRequest", "topics")
    out += _pack_i(len(item.topics))
    _write_offset_fetch_request_topic_array_1(out, item.topics)


def _read_offset_fetch_request_2(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, versions 2-5
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics: list[OffsetFetchRequestTopic] | None = None
    if n != -1:
        topics, pos = _read_offset_fetch_request_topic_array_1(data, pos, n)
    return OffsetFetchRequest(group_id, topics, [], False), pos


def _write_offset_fetch_request_2(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, versions 2-5
    if item.groups:
        raise not_in_version("OffsetFetchRequest", "groups")
    if item.require_stable:
        raise not_in_version("OffsetFetchRequest", "require_stable")
    if item.unknown_tags:
        raise not_in_version("OffsetFetchRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    if item.topics is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.topics))
        _write_offset_fetch_request_topic_array_1(out, item.topics)


def _read_offset_fetch_request_topic_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestTopic], int]:
    # OffsetFetchRequestTopic, versions 6-7
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestTopic] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partition_indexes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchRequestTopic(name, partition_indexes, unknown_tags))
    return items, pos


def _write_offset_fetch_request_topic_array_6(out: bytearray, items: list[OffsetFetchRequestTopic]) -> None:
    # OffsetFetchRequestTopic, versions 6-7
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_indexes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_indexes, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_6(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, version 6
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    topics: list[OffsetFetchRequestTopic] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_offset_fetch_request_topic_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchRequest(group_id, topics, [], False, unknown_tags), pos


def _write_offset_fetch_request_6(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, version 6
    if item.groups:
        raise not_in_version("OffsetFetchRequest", "groups")
    if item.require_stable:
        raise not_in_version("OffsetFetchRequest", "require_stable")
    put_compact_string(out, item.group_id)
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_request_topic_array_6(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_7(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, version 7
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    topics: list[OffsetFetchRequestTopic] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_offset_fetch_request_topic_array_6(data, pos, n - 1)
    require_stable, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchRequest(group_id, topics, [], require_stable, unknown_tags), pos


def _write_offset_fetch_request_7(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, version 7
    if item.groups:
        raise not_in_version("OffsetFetchRequest", "groups")
    put_compact_string(out, item.group_id)
    if item.topics is None:
        out.append(0)
    else:
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_request_topic_array_6(out, item.topics)
    out += _pack_t(item.require_stable)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_topics_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestTopics], int]:
    # OffsetFetchRequestTopics, versions 8-9
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestTopics] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partition_indexes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchRequestTopics(name, ZERO_UUID, partition_indexes, unknown_tags))
    return items, pos


def _write_offset_fetch_request_topics_array_8(out: bytearray, items: list[OffsetFetchRequestTopics]) -> None:
    # OffsetFetchRequestTopics, versions 8-9
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_indexes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_indexes, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_group_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestGroup], int]:
    # OffsetFetchRequestGroup, version 8
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        topics: list[OffsetFetchRequestTopics] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            topics, pos = _read_offset_fetch_request_topics_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchRequestGroup(group_id, None, -1, topics, unknown_tags))
    return items, pos


def _write_offset_fetch_request_group_array_8(out: bytearray, items: list[OffsetFetchRequestGroup]) -> None:
    # OffsetFetchRequestGroup, version 8
    for item in items:
        put_compact_string(out, item.group_id)
        if item.topics is None:
            out.append(0)
        else:
            n = len(item.topics) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_offset_fetch_request_topics_array_8(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_8(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, version 8
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_offset_fetch_request_group_array_8(data, pos, n - 1)
    require_stable, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchRequest("", [], groups, require_stable, unknown_tags), pos


def _write_offset_fetch_request_8(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, version 8
    if item.group_id != "":
        raise not_in_version("OffsetFetchRequest", "group_id")
    if item.topics != []:
        raise not_in_version("OffsetFetchRequest", "topics")
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_fetch_request_group_array_8(out, item.groups)
    out += _pack_t(item.require_stable)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_group_array_9(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestGroup], int]:
    # OffsetFetchRequestGroup, version 9
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        member_id: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            member_id = data[pos:end].decode()
            pos = end
        member_epoch, n = _unpack_iB(data, pos)
        pos += 5
        topics: list[OffsetFetchRequestTopics] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            topics, pos = _read_offset_fetch_request_topics_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics, unknown_tags))
    return items, pos


def _write_offset_fetch_request_group_array_9(out: bytearray, items: list[OffsetFetchRequestGroup]) -> None:
    # OffsetFetchRequestGroup, version 9
    for item in items:
        put_compact_string(out, item.group_id)
        if item.member_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.member_id)
        out += _pack_i(item.member_epoch)
        if item.topics is None:
            out.append(0)
        else:
            n = len(item.topics) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_offset_fetch_request_topics_array_8(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_9(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, version 9
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_offset_fetch_request_group_array_9(data, pos, n - 1)
    require_stable, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchRequest("", [], groups, require_stable, unknown_tags), pos


def _write_offset_fetch_request_9(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, version 9
    if item.group_id != "":
        raise not_in_version("OffsetFetchRequest", "group_id")
    if item.topics != []:
        raise not_in_version("OffsetFetchRequest", "topics")
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_fetch_request_group_array_9(out, item.groups)
    out += _pack_t(item.require_stable)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_topics_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestTopics], int]:
    # OffsetFetchRequestTopics, version 10
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestTopics] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partition_indexes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchRequestTopics("", topic_id, partition_indexes, unknown_tags))
    return items, pos


def _write_offset_fetch_request_topics_array_10(out: bytearray, items: list[OffsetFetchRequestTopics]) -> None:
    # OffsetFetchRequestTopics, version 10
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partition_indexes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_indexes, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_group_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchRequestGroup], int]:
    # OffsetFetchRequestGroup, version 10
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        member_id: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            member_id = data[pos:end].decode()
            pos = end
        member_epoch, n = _unpack_iB(data, pos)
        pos += 5
        topics: list[OffsetFetchRequestTopics] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            topics, pos = _read_offset_fetch_request_topics_array_10(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics, unknown_tags))
    return items, pos


def _write_offset_fetch_request_group_array_10(out: bytearray, items: list[OffsetFetchRequestGroup]) -> None:
    # OffsetFetchRequestGroup, version 10
    for item in items:
        put_compact_string(out, item.group_id)
        if item.member_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.member_id)
        out += _pack_i(item.member_epoch)
        if item.topics is None:
            out.append(0)
        else:
            n = len(item.topics) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            _write_offset_fetch_request_topics_array_10(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_request_10(data: bytes, pos: int) -> tuple[OffsetFetchRequest, int]:
    # OffsetFetchRequest, version 10
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_offset_fetch_request_group_array_10(data, pos, n - 1)
    require_stable, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchRequest("", [], groups, require_stable, unknown_tags), pos


def _write_offset_fetch_request_10(out: bytearray, item: OffsetFetchRequest) -> None:
    # OffsetFetchRequest, version 10
    if item.group_id != "":
        raise not_in_version("OffsetFetchRequest", "group_id")
    if item.topics != []:
        raise not_in_version("OffsetFetchRequest", "topics")
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_fetch_request_group_array_10(out, item.groups)
    out += _pack_t(item.require_stable)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class OffsetFetchRequest(Message):
    """Reads committed offsets, from version 8 on of several groups.

    * `topics`: Null for all topics of the group.
    * `require_stable`: Answer UNSTABLE_OFFSET_COMMIT where a transaction's commit is pending.
    """

    API_KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6
    DECODERS = {
        1: _read_offset_fetch_request_1,
        2: _read_offset_fetch_request_2,
        3: _read_offset_fetch_request_2,
        4: _read_offset_fetch_request_2,
        5: _read_offset_fetch_request_2,
        6: _read_offset_fetch_request_6,
        7: _read_offset_fetch_request_7,
        8: _read_offset_fetch_request_8,
        9: _read_offset_fetch_request_9,
        10: _read_offset_fetch_request_10,
    }
    ENCODERS = {
        1: _write_offset_fetch_request_1,
        2: _write_offset_fetch_request_2,
        3: _write_offset_fetch_request_2,
        4: _write_offset_fetch_request_2,
        5: _write_offset_fetch_request_2,
        6: _write_offset_fetch_request_6,
        7: _write_offset_fetch_request_7,
        8: _write_offset_fetch_request_8,
        9: _write_offset_fetch_request_9,
        10: _write_offset_fetch_request_10,
    }

    FIELDS = ("group_id", "topics", "groups", "require_stable", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,
        groups: list[OffsetFetchRequestGroup] = EMPTY,
        require_stable: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.groups = [] if groups is EMPTY else groups
        self.require_stable = require_stable
        self.unknown_tags = unknown_tags


class OffsetFetchResponseTopic(Structure):
    """An element of OffsetFetchResponse.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class OffsetFetchResponsePartition(Structure):
    """An element of OffsetFetchResponseTopic.Partitions.

    * `committed_leader_epoch`: Leader epoch of the last record consumed; -1 if unknown.
    """

    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tags = unknown_tags


class OffsetFetchResponseGroup(Structure):
    """An element of OffsetFetchResponse.Groups."""

    FIELDS = ("group_id", "topics", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = EMPTY,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.unknown_tags = unknown_tags


class OffsetFetchResponseTopics(Structure):
    """An element of OffsetFetchResponseGroup.Topics."""

    FIELDS = ("name", "topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class OffsetFetchResponsePartitions(Structure):
    """An element of OffsetFetchResponseTopics.Partitions.

    * `committed_leader_epoch`: Leader epoch of the last record consumed; -1 if unknown.
    """

    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tags = unknown_tags


def _read_offset_fetch_response_partition_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponsePartition], int]:
    # OffsetFetchResponsePartition, versions 1-4
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        partition_index, committed_offset, n = _unpack_iqh(data, pos)
        pos += 14
        metadata: str | None = None
        if n >= 0:
            end = pos + n
            metadata = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        (error_code,) = _unpack_h(data, pos)
        pos += 2
        items.append(OffsetFetchResponsePartition(partition_index, committed_offset, -1, metadata, error_code))
    return items, pos


def _write_offset_fetch_response_partition_array_1(out: bytearray, items: list[OffsetFetchResponsePartition]) -> None:
    # OffsetFetchResponsePartition, versions 1-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetFetchResponsePartition", "unknown_tags")
        out += _pack_iq(item.partition_index, item.committed_offset)
        if item.metadata is None:
            out += _pack_h(-1)
        else:
            raw = item.metadata.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_h(item.error_code)


def _read_offset_fetch_response_topic_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseTopic], int]:
    # OffsetFetchResponseTopic, versions 1-4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_offset_fetch_response_partition_array_1(data, pos, n)
        items.append(OffsetFetchResponseTopic(name, partitions))
    return items, pos


def _write_offset_fetch_response_topic_array_1(out: bytearray, items: list[OffsetFetchResponseTopic]) -> None:
    # OffsetFetchResponseTopic, versions 1-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetFetchResponseTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_fetch_response_partition_array_1(out, item.partitions)


def _read_offset_fetch_response_1(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_fetch_response_topic_array_1(data, pos, n)
    return OffsetFetchResponse(0, topics, 0, []), pos


def _write_offset_fetch_response_1(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, version 1
    if item.groups:
        raise not_in_version("OffsetFetchResponse", "groups")
    if item.unknown_tags:
        raise not_in_version("OffsetFetchResponse", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_offset_fetch_response_topic_array_1(out, item.topics)


def _read_offset_fetch_response_2(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, version 2
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_fetch_response_topic_array_1(data, pos, n)
    (error_code,) = _unpack_h(data, pos)
    pos += 2
    return OffsetFetchResponse(0, topics, error_code, []), pos


def _write_offset_fetch_response_2(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, version 2
    if item.groups:
        raise not_in_version("OffsetFetchResponse", "groups")
    if item.unknown_tags:
        raise not_in_version("OffsetFetchResponse", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_offset_fetch_response_topic_array_1(out, item.topics)
    out += _pack_h(item.error_code)


def _read_offset_fetch_response_3(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, versions 3-4
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_offset_fetch_response_topic_array_1(data, pos, n)
    (error_code,) = _unpack_h(data, pos)
    pos += 2
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, []), pos


def _write_offset_fetch_response_3(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, versions 3-4
    if item.groups:
        raise not_in_version("OffsetFetchResponse", "groups")
    if item.unknown_tags:
        raise not_in_version("OffsetFetchResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_offset_fetch_response_topic_array_1(out, item.topics)
    out += _pack_h(item.error_code)


def _read_offset_fetch_response_partition_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponsePartition], int]:
    # OffsetFetchResponsePartition, version 5
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqih(data, pos)
        pos += 18
        metadata: str | None = None
        if n >= 0:
            end = pos + n
            metadata = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        (error_code,) = _unpack_h(data, pos)
        pos += 2
        item = OffsetFetchResponsePartition(
            partition_index, committed_offset, committed_leader_epoch, metadata, error_code
        )
        items.append(item)
    return items, pos


def _write_offset_fetch_response_partition_array_5(out: bytearray, items: list[OffsetFetchResponsePartition]) -> None:
    # OffsetFetchResponsePartition, version 5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetFetchResponsePartition", "unknown_tags")
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.metadata is None:
            out += _pack_h(-1)
        else:
            raw = item.metadata.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_h(item.error_code)


def _read_offset_fetch_response_topic_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseTopic], int]:
    # OffsetFetchResponseTopic, version 5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_offset_fetch_response_partition_array_5(data, pos, n)
        items.append(OffsetFetchResponseTopic(name, partitions))
    return items, pos


def _write_offset_fetch_response_topic_array_5(out: bytearray, items: list[OffsetFetchResponseTopic]) -> None:
    # OffsetFetchResponseTopic, version 5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetFetchResponseTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_fetch_response_partition_array_5(out, item.partitions)


def _read_offset_fetch_response_5(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, version 5
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_offset_fetch_response_topic_array_5(data, pos, n)
    (error_code,) = _unpack_h(data, pos)
    pos += 2
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, []), pos


def _write_offset_fetch_response_5(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, version 5
    if item.groups:
        raise not_in_version("OffsetFetchResponse", "groups")
    if item.unknown_tags:
        raise not_in_version("OffsetFetchResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_offset_fetch_response_topic_array_5(out, item.topics)
    out += _pack_h(item.error_code)


def _read_offset_fetch_response_partition_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponsePartition], int]:
    # OffsetFetchResponsePartition, versions 6-7
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, pos)
        pos += 17
        metadata: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            metadata = data[pos:end].decode()
            pos = end
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = OffsetFetchResponsePartition(
            partition_index, committed_offset, committed_leader_epoch, metadata, error_code, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_offset_fetch_response_partition_array_6(out: bytearray, items: list[OffsetFetchResponsePartition]) -> None:
    # OffsetFetchResponsePartition, versions 6-7
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.metadata is None:
            out.append(0)
        else:
            put_compact_string(out, item.metadata)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_topic_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseTopic], int]:
    # OffsetFetchResponseTopic, versions 6-7
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseTopic] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_offset_fetch_response_partition_array_6(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchResponseTopic(name, partitions, unknown_tags))
    return items, pos


def _write_offset_fetch_response_topic_array_6(out: bytearray, items: list[OffsetFetchResponseTopic]) -> None:
    # OffsetFetchResponseTopic, versions 6-7
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_response_partition_array_6(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_6(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, versions 6-7
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_fetch_response_topic_array_6(data, pos, n - 1)
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, [], unknown_tags), pos


def _write_offset_fetch_response_6(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, versions 6-7
    if item.groups:
        raise not_in_version("OffsetFetchResponse", "groups")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_fetch_response_topic_array_6(out, item.topics)
    out += _pack_h(item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_partitions_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponsePartitions], int]:
    # OffsetFetchResponsePartitions, versions 8-10
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponsePartitions] = []
    for _ in range(count):
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, pos)
        pos += 17
        metadata: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            metadata = data[pos:end].decode()
            pos = end
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = OffsetFetchResponsePartitions(
            partition_index, committed_offset, committed_leader_epoch, metadata, error_code, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_offset_fetch_response_partitions_array_8(out: bytearray, items: list[OffsetFetchResponsePartitions]) -> None:
    # OffsetFetchResponsePartitions, versions 8-10
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        if item.metadata is None:
            out.append(0)
        else:
            put_compact_string(out, item.metadata)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_topics_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseTopics], int]:
    # OffsetFetchResponseTopics, versions 8-9
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseTopics] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_offset_fetch_response_partitions_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchResponseTopics(name, ZERO_UUID, partitions, unknown_tags))
    return items, pos


def _write_offset_fetch_response_topics_array_8(out: bytearray, items: list[OffsetFetchResponseTopics]) -> None:
    # OffsetFetchResponseTopics, versions 8-9
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_response_partitions_array_8(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_group_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseGroup], int]:
    # OffsetFetchResponseGroup, versions 8-9
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_offset_fetch_response_topics_array_8(data, pos, n - 1)
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchResponseGroup(group_id, topics, error_code, unknown_tags))
    return items, pos


def _write_offset_fetch_response_group_array_8(out: bytearray, items: list[OffsetFetchResponseGroup]) -> None:
    # OffsetFetchResponseGroup, versions 8-9
    for item in items:
        put_compact_string(out, item.group_id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_response_topics_array_8(out, item.topics)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_8(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, versions 8-9
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_offset_fetch_response_group_array_8(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchResponse(throttle_time_ms, [], 0, groups, unknown_tags), pos


def _write_offset_fetch_response_8(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, versions 8-9
    if item.topics:
        raise not_in_version("OffsetFetchResponse", "topics")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_fetch_response_group_array_8(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_topics_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseTopics], int]:
    # OffsetFetchResponseTopics, version 10
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseTopics] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_offset_fetch_response_partitions_array_8(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchResponseTopics("", topic_id, partitions, unknown_tags))
    return items, pos


def _write_offset_fetch_response_topics_array_10(out: bytearray, items: list[OffsetFetchResponseTopics]) -> None:
    # OffsetFetchResponseTopics, version 10
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_response_partitions_array_8(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_group_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetFetchResponseGroup], int]:
    # OffsetFetchResponseGroup, version 10
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_offset_fetch_response_topics_array_10(data, pos, n - 1)
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetFetchResponseGroup(group_id, topics, error_code, unknown_tags))
    return items, pos


def _write_offset_fetch_response_group_array_10(out: bytearray, items: list[OffsetFetchResponseGroup]) -> None:
    # OffsetFetchResponseGroup, version 10
    for item in items:
        put_compact_string(out, item.group_id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_fetch_response_topics_array_10(out, item.topics)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_fetch_response_10(data: bytes, pos: int) -> tuple[OffsetFetchResponse, int]:
    # OffsetFetchResponse, version 10
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_offset_fetch_response_group_array_10(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetFetchResponse(throttle_time_ms, [], 0, groups, unknown_tags), pos


def _write_offset_fetch_response_10(out: bytearray, item: OffsetFetchResponse) -> None:
    # OffsetFetchResponse, version 10
    if item.topics:
        raise not_in_version("OffsetFetchResponse", "topics")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_fetch_response_group_array_10(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class OffsetFetchResponse(Message):
    """Committed offsets; -1 where there is none.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6
    DECODERS = {
        1: _read_offset_fetch_response_1,
        2: _read_offset_fetch_response_2,
        3: _read_offset_fetch_response_3,
        4: _read_offset_fetch_response_3,
        5: _read_offset_fetch_response_5,
        6: _read_offset_fetch_response_6,
        7: _read_offset_fetch_response_6,
        8: _read_offset_fetch_response_8,
        9: _read_offset_fetch_response_8,
        10: _read_offset_fetch_response_10,
    }
    ENCODERS = {
        1: _write_offset_fetch_response_1,
        2: _write_offset_fetch_response_2,
        3: _write_offset_fetch_response_3,
        4: _write_offset_fetch_response_3,
        5: _write_offset_fetch_response_5,
        6: _write_offset_fetch_response_6,
        7: _write_offset_fetch_response_6,
        8: _write_offset_fetch_response_8,
        9: _write_offset_fetch_response_8,
        10: _write_offset_fetch_response_10,
    }

    FIELDS = ("throttle_time_ms", "topics", "error_code", "groups", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = EMPTY,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups
        self.unknown_tags = unknown_tags
