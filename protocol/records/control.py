"""Control batches: one record, uncompressed, no sequence, one offset used. Consumers skip them.

key    int16 version 0, int16 type (0 ABORT, 1 COMMIT; others are for other readers)
value  of ABORT and COMMIT: int16 version 0, int32 coordinator epoch
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import RecordData, build_batch, decode_records

_KEY: Final = struct.Struct(">hh")
_END_TRANSACTION: Final = struct.Struct(">hi")


class ControlType(IntEnum):
    """The types of control records (Apache Kafka: ControlRecordType)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1


class ControlRecord(NamedTuple):
    """A control record. `coordinator_epoch` is -1 for all types but ABORT and COMMIT."""

    offset: int
    type: ControlType
    coordinator_epoch: int


def build_end_transaction_marker(
    *, commit: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
) -> bytearray:
    """Return the batch that ends a producer's transaction in one partition."""
    key = _KEY.pack(0, ControlType.COMMIT if commit else ControlType.ABORT)
    value = _END_TRANSACTION.pack(0, coordinator_epoch)
    return build_batch(
        [RecordData(key, value)],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_control_record(batch: bytes | bytearray | memoryview) -> ControlRecord:
    """Return the record of a control batch; a type of a later release is UNKNOWN.

    Versions above 0 are read as 0: their first fields are the same. Raises `MalformedMessage`.
    """
    records = decode_records(batch)
    if len(records) != 1:
        raise MalformedMessage(f"control batch with {len(records)} records")
    key, value = records[0].key, records[0].value
    if key is None or len(key) < _KEY.size:
        raise MalformedMessage("control record with a short key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise MalformedMessage(f"control record key of version {version}")
    try:
        kind = ControlType(number)
    except ValueError:
        kind = ControlType.UNKNOWN
    epoch = -1
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        if value is None or len(value) < _END_TRANSACTION.size:
            raise MalformedMessage("transaction marker with a short value")
        _, epoch = _END_TRANSACTION.unpack_from(value)
    return ControlRecord(records[0].offset, kind, epoch)
