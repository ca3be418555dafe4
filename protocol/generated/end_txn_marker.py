"""EndTxnMarker 0.

Generated from schemas/records/EndTxnMarker.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not
edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import Message

_unpack_i = Struct(">i").unpack_from
_pack_i = Struct(">i").pack


def _read_end_txn_marker_0(data: bytes, pos: int) -> tuple[EndTxnMarker, int]:
    # EndTxnMarker, version 0
    (coordinator_epoch,) = _unpack_i(data, pos)
    pos += 4
    return EndTxnMarker(coordinator_epoch), pos


def _write_end_txn_marker_0(out: bytearray, item: EndTxnMarker) -> None:
    # EndTxnMarker, version 0
    out += _pack_i(item.coordinator_epoch)


class EndTxnMarker(Message):
    """Value of a transaction marker, after an int16 version."""

    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_end_txn_marker_0}
    ENCODERS = {0: _write_end_txn_marker_0}

    FIELDS = ("coordinator_epoch",)
    __slots__ = FIELDS

    def __init__(self, coordinator_epoch: int = 0) -> None:
        self.coordinator_epoch = coordinator_epoch
