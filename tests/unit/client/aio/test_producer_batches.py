"""Records gathered into batches by partition: sizes, sequences, retries, splits, and partitions of keys."""

from __future__ import annotations

import pytest

from shareq.client.errors import ClientError
from shareq.client.partitioner import partition_of_key
from shareq.client.produce.batches import Batch, Lane, check, size_of
from shareq.protocol.records.batch import Compression, decode_records, read_header
from shareq.protocol.records.record_codec import RecordData

NONE = Compression.NONE


def put(lane: Lane, *values: bytes, batch_bytes: int = 1000) -> list[tuple[int, int, ClientError | None]]:
    outcomes: list[tuple[int, int, ClientError | None]] = []
    for value in values:
        record = RecordData(None, value)
        lane.add(record, size_of(record), lambda *outcome: outcomes.append(outcome), 0.0, batch_bytes)
    return outcomes


def test_a_batch_takes_records_until_it_is_full_or_sent() -> None:
    lane = Lane("t", 0)
    put(lane, b"a" * 400, b"b" * 400, b"c" * 400)
    assert [len(batch.records) for batch in lane.batches] == [2, 1]
    lane.encode(lane.batches[1], (1, 0), NONE, 5)
    put(lane, b"d")
    assert [len(batch.records) for batch in lane.batches] == [2, 1, 1]


def test_sequences_count_up_and_a_retry_is_the_same_bytes() -> None:
    lane = Lane("t", 0)
    put(lane, b"a", b"b")
    first = lane.batches[0]
    data = lane.encode(first, (7, 1), NONE, 5)
    assert lane.encode(first, (8, 0), NONE, 6) is data
    header = read_header(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 0)
    assert [record.value for record in decode_records(data)] == [b"a", b"b"]
    lane.batches.popleft()
    put(lane, b"c")
    assert read_header(lane.encode(lane.batches[0], (7, 1), NONE, 5)).base_sequence == 2
    lane.batches.popleft()
    put(lane, b"d")
    assert read_header(lane.encode(lane.batches[0], (8, 0), NONE, 5)).base_sequence == 0


def test_sequences_begin_again_after_the_last() -> None:
    lane = Lane("t", 0)
    put(lane, b"a")
    lane._producer, lane._next_sequence = (7, 0), (1 << 31) - 1
    assert read_header(lane.encode(lane.batches[0], (7, 0), NONE, 5)).base_sequence == (1 << 31) - 1
    lane.batches.popleft()
    put(lane, b"b")
    assert read_header(lane.encode(lane.batches[0], (7, 0), NONE, 5)).base_sequence == 0


def test_without_idempotence_there_is_no_producer() -> None:
    lane = Lane("t", 0)
    put(lane, b"a")
    header = read_header(lane.encode(lane.batches[0], (-1, -1), NONE, 5))
    assert (header.producer_id, header.base_sequence) == (-1, -1)


def test_a_batch_that_is_too_large_becomes_two_with_its_sequences() -> None:
    lane = Lane("t", 0)
    outcomes = put(lane, b"a", b"b", b"c")
    whole = lane.batches[0]
    lane.encode(whole, (7, 0), NONE, 5)
    lane.split(whole)
    headers = [read_header(lane.encode(batch, (7, 0), NONE, 5)) for batch in lane.batches]
    assert [(header.base_sequence, header.records_count) for header in headers] == [(0, 1), (1, 2)]
    lane.batches[0].appended(10, -1)
    lane.batches[1].failed(ClientError("x"))
    assert [offset for offset, _, _ in outcomes] == [10, -1, -1]


def test_offsets_count_up_from_the_batchs() -> None:
    lane = Lane("t", 0)
    outcomes = put(lane, b"a", b"b")
    lane.batches[0].appended(10, 99)
    assert outcomes == [(10, 99, None), (11, 99, None)]
    other = Batch(0.0)
    seen: list[object] = []
    other.add(RecordData(None, b""), 1, lambda *outcome: seen.append(outcome))
    other.appended(-1, -1)
    assert seen == [(-1, -1, None)]


def test_a_key_goes_to_one_of_the_partitions_that_there_are() -> None:
    assert partition_of_key(b"21", range(10)) == (-973932308 & 0x7FFFFFFF) % 10
    assert partition_of_key(b"abc", [5]) == 5


@pytest.mark.parametrize(
    ("record", "refusal"),
    [
        (RecordData(None, "text"), "value is str: must be bytes or None"),  # type: ignore[arg-type]
        (RecordData(7, b""), "key is int: must be bytes or None"),  # type: ignore[arg-type]
        (RecordData(None, b"", (("trace", "1"),)), "trace is str: must be bytes or None"),  # type: ignore[arg-type]
        (RecordData(None, b"", (("\ud800", b"1"),)), "surrogates not allowed"),
        (RecordData(None, b"", (), 2**63), r"timestamp_ms is 9223372036854775808: must be from -1 to "),
    ],
)
def test_what_cannot_be_written_is_refused_before_it_is_in_a_batch(record: RecordData, refusal: str) -> None:
    """In a batch such a record would fail its neighbours."""
    with pytest.raises((TypeError, ValueError), match=refusal):
        check(record)
    check(RecordData(bytearray(b"k"), memoryview(b"v"), (("null", None),), -1))  # type: ignore[arg-type]
