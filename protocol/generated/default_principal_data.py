"""DefaultPrincipalData 0.

Generated from schemas/records/DefaultPrincipalData.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`.
Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    put_compact_string,
    read_string_length,
    read_tags,
    tag_buffer,
)

_unpack_tB = Struct(">?B").unpack_from
_pack_t = Struct(">?").pack


def _read_default_principal_data_0(data: bytes, pos: int) -> tuple[DefaultPrincipalData, int]:
    # DefaultPrincipalData, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    type = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    name = data[pos:end].decode()
    pos = end
    token_authenticated, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DefaultPrincipalData(type, name, token_authenticated, unknown_tags), pos


def _write_default_principal_data_0(out: bytearray, item: DefaultPrincipalData) -> None:
    # DefaultPrincipalData, version 0
    put_compact_string(out, item.type)
    put_compact_string(out, item.name)
    out += _pack_t(item.token_authenticated)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DefaultPrincipalData(Message):
    """The principal of a forwarded request, after an int16 version."""

    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_default_principal_data_0}
    ENCODERS = {0: _write_default_principal_data_0}

    FIELDS = ("type", "name", "token_authenticated", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
        self.unknown_tags = unknown_tags
