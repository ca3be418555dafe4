"""Validation of clients' batches (Apache Kafka 4.3.1: LogValidator, UnifiedLog.analyzeAndValidateRecords)."""

from __future__ import annotations

import pytest

from shareq.broker.log.admission import Admission, own_header
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    BatchHeader,
    Compression,
    RecordData,
    build_batch,
    decode_records,
    read_header,
    stamp,
    validate_batch,
    with_append_time,
)
from shareq.protocol.records.checksum import crc32c
from tests.support.worlds.log_world import batch_of

NOW = 1_700_000_000_000
HOUR = 3_600_000


def check(batch: bytes | bytearray, **settings: object) -> BatchHeader | ErrorCode:
    admitted = Admission(LogSettings(**settings)).check(batch, NOW)  # type: ignore[arg-type]
    return admitted if isinstance(admitted, ErrorCode) else admitted[1]


def accepted(batch: bytes | bytearray, **settings: object) -> bool:
    return isinstance(check(batch, **settings), BatchHeader)


def with_attributes(batch: bytearray, attributes: int) -> bytearray:
    batch[22] |= attributes
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    return batch


def test_an_ordinary_batch() -> None:
    assert accepted(batch_of(b"v", timestamp_ms=NOW))
    assert accepted(batch_of(b"v", timestamp_ms=-1))


def test_size_is_of_the_whole_batch_as_it_came() -> None:
    batch = batch_of(bytes(100))
    assert accepted(batch, max_message_bytes=len(batch))
    assert check(batch, max_message_bytes=len(batch) - 1) is ErrorCode.MESSAGE_TOO_LARGE
    assert check(batch, segment_bytes=len(batch) - 1) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_what_only_the_broker_may_write() -> None:
    assert check(with_attributes(batch_of(b"v"), 0x20)) is ErrorCode.INVALID_RECORD  # control
    assert check(with_attributes(batch_of(b"v"), 0x40)) is ErrorCode.INVALID_RECORD  # delete horizon
    assert check(with_append_time(batch_of(b"v"), NOW)) is ErrorCode.INVALID_TIMESTAMP
    assert check(with_attributes(batch_of(b"v"), 0x10)) is ErrorCode.INVALID_RECORD  # a transaction of nobody
    assert accepted(batch_of(b"v", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True))


def test_base_offset_is_zero() -> None:
    batch = batch_of(b"v")
    stamp(batch, 1, -1)
    assert check(batch) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("timestamp", "settings", "sound"),
    [
        (NOW + HOUR, {}, True),
        (NOW + HOUR + 1, {}, False),
        (NOW + 10, {"message_timestamp_after_max_ms": 10}, True),
        (NOW + 11, {"message_timestamp_after_max_ms": 10}, False),
        (0, {}, True),
        (NOW - 10, {"message_timestamp_before_max_ms": 10}, True),
        (NOW - 11, {"message_timestamp_before_max_ms": 10}, False),
        (-1, {"message_timestamp_before_max_ms": 10}, True),
        (NOW + 10 * HOUR, {"append_time": True}, True),
    ],
)
def test_timestamps_have_their_window(timestamp: int, settings: dict[str, object], sound: bool) -> None:
    found = check(batch_of(b"v", timestamp_ms=timestamp), **settings)
    assert isinstance(found, BatchHeader) if sound else found is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", list(Compression))
def test_a_compacted_topic_needs_a_key_in_every_record(codec: Compression) -> None:
    keyed = build_batch([RecordData(b"", b"v"), RecordData(b"k", None)], timestamp_ms=NOW, compression=codec)
    lacking = build_batch([RecordData(b"k", b"v"), RecordData(None, b"v")], timestamp_ms=NOW, compression=codec)
    assert accepted(keyed, compact=True)
    assert check(lacking, compact=True) is ErrorCode.INVALID_RECORD
    assert accepted(lacking)


def test_records_that_cannot_be_read() -> None:
    batch = batch_of(b"value")
    batch[61] = 99  # the record's length
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    assert check(batch) is ErrorCode.INVALID_RECORD
    assert check(batch, compact=True) is ErrorCode.INVALID_RECORD


def test_batches_are_stored_with_the_topics_compression() -> None:
    admission = Admission(LogSettings(compression_type=Compression.ZSTD, append_time=True))
    batch = build_batch([RecordData(b"k", b"v" * 500)] * 3, timestamp_ms=1, compression=Compression.GZIP)
    stored = admission.rewritten(batch, read_header(batch), NOW)
    assert not isinstance(stored, ErrorCode)
    header = validate_batch(stored)
    assert isinstance(header, BatchHeader)
    assert header.compression == Compression.ZSTD
    assert [record.timestamp for record in decode_records(stored)] == [NOW] * 3


def test_a_bomb_is_not_recompressed() -> None:
    admission = Admission(LogSettings(compression_type=Compression.GZIP))
    bomb = build_batch([RecordData(b"k", bytes(70_000_000))], timestamp_ms=1, compression=Compression.ZSTD)
    assert admission.rewritten(bomb, read_header(bomb), NOW) is ErrorCode.INVALID_RECORD


def test_the_brokers_own_batch_is_one_and_whole() -> None:
    batch = batch_of(b"v")
    assert own_header(batch) == validate_batch(batch)
    for wrong in (bytes(batch) * 2, bytes(batch)[:-1]):
        with pytest.raises(ValueError, match=f"not one record batch: {len(wrong)} bytes, its length says {len(batch)}"):
            own_header(wrong)


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_the_largest_record_of_a_compressed_batch(codec: Compression) -> None:
    """max.decompressed.message.bytes limits one record's size, without its length field (Apache Kafka 4.4)."""
    records = [RecordData(b"k", bytes(100)), RecordData(b"k", bytes(200)), RecordData(b"k", bytes(150))]
    batch = build_batch(records, timestamp_ms=NOW, compression=codec)
    body = 200 + len(b"k") + 1 + 1 + 1 + 1 + 2 + 1  # attributes, time, offset, two lengths, headers
    assert accepted(batch, max_decompressed_message_bytes=body)
    assert check(batch, max_decompressed_message_bytes=body - 1) is ErrorCode.INVALID_RECORD
    assert Admission(LogSettings(max_decompressed_message_bytes=body - 1)).record_errors(batch, NOW) == []


def test_records_that_are_not_compressed_may_be_of_any_size() -> None:
    """The limit does not apply: reading records that max.message.bytes allows takes no further memory."""
    assert accepted(build_batch([RecordData(b"k", bytes(200))], timestamp_ms=NOW), max_decompressed_message_bytes=1)


def test_a_record_that_is_too_large_comes_before_its_time() -> None:
    batch = build_batch([RecordData(b"k", bytes(200))], timestamp_ms=NOW + 2 * HOUR, compression=Compression.GZIP)
    assert check(batch) is ErrorCode.INVALID_TIMESTAMP
    assert check(batch, max_decompressed_message_bytes=100) is ErrorCode.INVALID_RECORD
    assert Admission(LogSettings(max_decompressed_message_bytes=100)).record_errors(batch, NOW) == []
