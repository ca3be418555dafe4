from __future__ import annotations

import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatch

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import BatchHeader, RecordData, build_batch, decode_records, validate_batch
from shareq.protocol.records.control import (
    ControlRecord,
    ControlType,
    build_end_transaction_marker,
    read_control_record,
)


@pytest.mark.parametrize("commit", [True, False])
def test_marker_is_the_78_bytes_apache_kafka_writes(commit: bool) -> None:
    marker = build_end_transaction_marker(
        commit=commit, producer_id=9, producer_epoch=3, coordinator_epoch=12, timestamp_ms=1_000
    )
    header = validate_batch(marker)
    assert isinstance(header, BatchHeader)
    assert len(marker) == 78
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, -1)
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    assert read_control_record(marker) == ControlRecord(0, kind, 12)
    assert DefaultRecordBatch(bytes(marker)).is_control_batch
    (record,) = decode_records(marker)
    assert record.key == struct.pack(">hh", 0, int(commit))
    assert record.value == struct.pack(">hi", 0, 12)
    assert record.timestamp == 1_000


def control(key: bytes | None, value: bytes | None) -> bytearray:
    return build_batch([RecordData(key, value)], timestamp_ms=0, control=True)


def test_types_this_release_does_not_know_are_unknown() -> None:
    for number, kind in ((99, ControlType.UNKNOWN), (2, ControlType.LEADER_CHANGE)):
        assert read_control_record(control(struct.pack(">hh", 0, number), b"")) == ControlRecord(0, kind, -1)


def test_a_higher_version_is_read_as_version_zero() -> None:
    record = read_control_record(control(struct.pack(">hhi", 4, 1, 7), struct.pack(">hiq", 3, 21, 9)))
    assert record == ControlRecord(0, ControlType.COMMIT, 21)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        (None, b"", "a short key"),
        (b"\x00\x00", b"", "a short key"),
        (struct.pack(">hh", -1, 0), b"", "key of version -1"),
        (struct.pack(">hh", 0, 0), b"\x00\x00", "a short value"),
        (struct.pack(">hh", 0, 1), None, "a short value"),
    ],
)
def test_short_or_negative_is_malformed(key: bytes | None, value: bytes | None, what: str) -> None:
    with pytest.raises(MalformedMessage, match=what):
        read_control_record(control(key, value))


def test_a_control_batch_has_one_record() -> None:
    with pytest.raises(MalformedMessage, match="2 records"):
        read_control_record(build_batch([RecordData(b"\0" * 4, b"")] * 2, timestamp_ms=0, control=True))
