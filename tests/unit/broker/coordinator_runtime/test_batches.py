from __future__ import annotations

import pytest

from shareq.broker.coordinator_runtime import batches
from shareq.broker.coordinator_runtime.batches import (
    MAX_BATCH_BYTES,
    MOST_BYTES_TO_COMPRESS,
    BatchLimit,
    CoordinatorLogSettings,
    LogBatchRoom,
    encoded_bytes,
    parts_of,
)
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, Compression
from tests.support.fakes.note_shard import NOTE_SERDE, note


def data(size: int) -> RecordData:
    """Return a record of `size` bytes, as counted by `encoded_bytes`."""
    return RecordData(b"k" * 2, b"v" * (size - 34))


@pytest.mark.parametrize(
    ("record", "size"),
    [(RecordData(b"ab", b"cde"), 37), (RecordData(None, b"cde"), 35), (RecordData(b"ab", None), 34)],
)
def test_a_record_counts_its_key_its_value_and_32_bytes(record: RecordData, size: int) -> None:
    assert encoded_bytes([record]) == size
    assert encoded_bytes([record, record]) == 2 * size
    assert encoded_bytes([]) == 0


def test_the_limit_is_the_topics_or_the_least_of_the_settings_and_what_readers_take() -> None:
    assert BatchLimit.of(CoordinatorLogSettings(), 1_000) == BatchLimit(1_000, Compression.NONE)
    settings = CoordinatorLogSettings(Compression.GZIP, least_max_batch_bytes=2_000)
    assert BatchLimit.of(settings, 1_000) == BatchLimit(2_000, Compression.GZIP)
    assert BatchLimit.of(settings, 3_000).max_bytes == 3_000
    assert BatchLimit.of(settings, 2**31 - 1).max_bytes == MAX_DECOMPRESSED_BYTES


def test_operations_share_at_most_900_000_bytes() -> None:
    assert BatchLimit(1_000, Compression.NONE).shared_bytes == 939
    assert BatchLimit(MAX_BATCH_BYTES + 61, Compression.NONE).shared_bytes == MAX_BATCH_BYTES
    assert BatchLimit(MAX_BATCH_BYTES + 62, Compression.NONE).shared_bytes == MAX_BATCH_BYTES


def test_what_is_compressed_may_be_larger_before() -> None:
    assert BatchLimit(1_000, Compression.NONE).most_bytes == 1_000
    assert BatchLimit(1_000, Compression.ZSTD).most_bytes == MOST_BYTES_TO_COMPRESS
    assert BatchLimit(MOST_BYTES_TO_COMPRESS + 1, Compression.ZSTD).most_bytes == MOST_BYTES_TO_COMPRESS + 1


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.GZIP])
def test_a_batch_takes_what_fits_to_the_byte(compression: Compression) -> None:
    record = RecordData(b"key", bytes(range(256)) * 4)
    exact = len(build_batch([record], timestamp_ms=0, compression=compression))
    assert BatchLimit(exact, compression).takes([record])
    assert not BatchLimit(exact - 1, compression).takes([record])


def test_what_surely_fits_is_not_built_and_what_surely_does_not_is_not_compressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_args: object, **_kwargs: object) -> bytes:
        raise AssertionError("built")

    monkeypatch.setattr(batches, "build_batch", never)
    monkeypatch.setattr(batches, "MOST_BYTES_TO_COMPRESS", 2_000)
    assert BatchLimit(1_000, Compression.NONE).takes([data(939)])
    with pytest.raises(AssertionError, match="built"):
        BatchLimit(1_000, Compression.NONE).takes([data(940)])
    assert not BatchLimit(1_000, Compression.NONE).takes([data(1_033)])
    with pytest.raises(AssertionError, match="built"):
        BatchLimit(1_000, Compression.NONE).takes([data(1_032)])
    assert not BatchLimit(1_000, Compression.GZIP).takes([data(2_033)])
    with pytest.raises(AssertionError, match="built"):
        BatchLimit(1_000, Compression.GZIP).takes([data(2_032)])


def test_room_leaves_bytes_to_spare() -> None:
    record = note("x" * 100)
    exact = len(build_batch([RecordData(*NOTE_SERDE.encode(record))], timestamp_ms=0))
    room = LogBatchRoom(NOTE_SERDE, lambda: BatchLimit(exact + 10, Compression.NONE))
    assert room.fits([record])
    assert room.fits([record], spare_bytes=10)
    assert not room.fits([record], spare_bytes=11)
    assert (room.room_bytes(), room.most_bytes()) == (exact + 10 - 61, exact + 10)


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([100], [[100]]),
        ([100, 100], [[100, 100]]),
        ([100, 101], [[100], [101]]),
        ([300], [[300]]),
        ([300, 50], [[300], [50]]),
        ([50, 300, 50, 150, 50], [[50], [300], [50, 150], [50]]),
        ([100, 100, 100, 100], [[100, 100], [100, 100]]),
    ],
)
def test_parts_are_as_large_as_may_be_and_a_larger_record_is_alone(sizes: list[int], parts: list[list[int]]) -> None:
    records = [data(size) for size in sizes]
    found = [[encoded_bytes([each]) for each in part] for part in parts_of(records, 200)]
    assert found == parts


def test_many_records_that_surely_do_not_fit_are_not_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_args: object, **_kwargs: object) -> bytes:
        raise AssertionError("built")

    monkeypatch.setattr(batches, "build_batch", never)
    monkeypatch.setattr(batches, "MOST_BYTES_TO_COMPRESS", 2_000)
    room = BatchLimit(1_000, Compression.GZIP)
    with pytest.raises(AssertionError, match="built"):
        room.takes([data(532)] * 4)
    assert not room.takes([data(532)] * 3 + [data(533)])


def test_without_bytes_to_spare_a_room_takes_what_fits_exactly() -> None:
    record = note("x" * 100)
    exact = len(build_batch([RecordData(*NOTE_SERDE.encode(record))], timestamp_ms=0))
    assert LogBatchRoom(NOTE_SERDE, lambda: BatchLimit(exact, Compression.NONE)).fits([record])
