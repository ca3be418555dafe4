"""ControlRecordTypeSchema 0.

Generated from schemas/records/ControlRecordTypeSchema.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import Message

_unpack_h = Struct(">h").unpack_from
_pack_h = Struct(">h").pack


def _read_control_record_type_schema_0(data: bytes, pos: int) -> tuple[ControlRecordTypeSchema, int]:
    # ControlRecordTypeSchema, version 0
    (type,) = _unpack_h(data, pos)
    pos += 2
    return ControlRecordTypeSchema(type), pos


def _write_control_record_type_schema_0(out: bytearray, item: ControlRecordTypeSchema) -> None:
    # ControlRecordTypeSchema, version 0
    out += _pack_h(item.type)


class ControlRecordTypeSchema(Message):
    """Key of a control record, after an int16 version.

    * `type`: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 KRaft version, 6 voters.
    """

    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_control_record_type_schema_0}
    ENCODERS = {0: _write_control_record_type_schema_0}

    FIELDS = ("type",)
    __slots__ = FIELDS

    def __init__(self, type: int = 0) -> None:
        self.type = type
