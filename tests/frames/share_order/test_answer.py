"""Record batches sent to a group with order by key: large ones are cut to the acquired records."""

from __future__ import annotations

from itertools import chain
from random import Random

import pytest

from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.share.core.values import AcquiredRange
from shareq.broker.share.ordered.answer import (
    LEAST_CUT,
    LEAST_RECORDS,
    MOST_OPENED,
    Marks,
    cut_to,
    key_hashes,
    size_of_last,
)
from shareq.protocol.records.batch import Record, RecordData, batch_headers, build_batch, decode_records
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.control import build_end_transaction_marker
from tests.frames.share_order.test_order_by_key import member_of, ordered_world, produce
from tests.support.clients.share_client import acquired_of
from tests.support.each import for_each


def read_of(batches: list[bytes]) -> ReadResult:
    data, spans, position = b"".join(batches), [], 0
    for _, header in batch_headers(data):
        place = (position, header.size, header.attributes, header.producer_id)
        spans.append(BatchSpan(header.base_offset, header.last_offset, *place))
        position += header.size
    return ReadResult(data, spans)


def sent_records(data: bytes | memoryview) -> list[Record]:
    whole = bytes(data)
    spans = ((at, header) for at, header in batch_headers(whole))
    return list(chain.from_iterable(decode_records(whole[at : at + header.size]) for at, header in spans))


@for_each("seed", range(150))
def test_the_acquired_records_of_several_batches_are_sent_in_order_each_as_it_was(seed: int) -> None:
    rng = Random(seed)
    batches: list[bytes] = []
    offset = 40
    for _ in range(rng.randint(1, 6)):
        if rng.random() < 0.2:
            marker = build_end_transaction_marker(
                commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp_ms=5
            )
            batches.append(offset.to_bytes(8, "big") + bytes(marker[8:]))
            offset += 1
            continue
        records = [RecordData(rng.randbytes(5), rng.randbytes(rng.choice((3, 300)))) for _ in range(rng.randint(1, 30))]
        codec = rng.choice(list(Compression))
        batches.append(bytes(build_batch(records, timestamp_ms=9, base_offset=offset, compression=codec)))
        offset += len(records)
    read = read_of(batches)
    wanted = sorted(rng.sample(range(40, offset), rng.randint(1, offset - 40)))
    acquired: list[AcquiredRange] = []
    for each in wanted:
        if acquired and acquired[-1].last_offset == each - 1 and rng.random() < 0.8:
            acquired[-1] = acquired[-1]._replace(last_offset=each)
        else:
            acquired.append(AcquiredRange(each, each, 1))

    sent = cut_to(read, acquired)

    assert len(sent) <= len(read.records)
    found = {record.offset: record for record in sent_records(sent)}
    whole = {record.offset: record for record in sent_records(read.records)}
    assert [found[each] for each in wanted] == [whole[each] for each in wanted]
    assert list(found) == sorted(found)
    uncompressed = {
        each
        for span in read.batches
        if span.size >= LEAST_CUT and not span.attributes & 7
        for each in range(span.base_offset, span.last_offset + 1)
    }
    assert not (found.keys() - set(wanted)) & uncompressed


def test_batches_that_are_acquired_whole_are_not_copied() -> None:
    records = [RecordData(b"k", bytes(100)) for _ in range(50)]
    read = read_of([bytes(build_batch(records, timestamp_ms=9, base_offset=base)) for base in (0, 50, 100)])
    sent = cut_to(read, [AcquiredRange(50, 149, 1)])
    assert isinstance(sent, memoryview)
    assert sent.obj is read.records
    assert sent == read.records[read.batches[1].position :]


def test_of_what_was_read_no_more_than_as_much_again_stays_in_memory() -> None:
    records = [RecordData(b"k", bytes(100)) for _ in range(50)]
    made = [bytes(build_batch(records, timestamp_ms=9, base_offset=base)) for base in (0, 50, 100)]
    half = cut_to(read_of(made[:2]), [AcquiredRange(50, 99, 1)])
    assert isinstance(half, memoryview)
    assert half == made[1]
    third = cut_to(read_of(made), [AcquiredRange(50, 99, 1)])
    assert isinstance(third, bytes)
    assert third == made[1]


def batch_of(base: int, count: int, size: int, codec: Compression = Compression.NONE) -> bytes:
    records = [RecordData(b"%d" % number, bytes(size)) for number in range(count)]
    return bytes(build_batch(records, timestamp_ms=9, base_offset=base, compression=codec))


def sent_of(batch: bytes) -> int:
    """Return how many records are sent if the first was acquired of a batch that begins at offset 500."""
    return len(sent_records(cut_to(read_of([batch]), [AcquiredRange(500, 500, 1)])))


def test_small_batches_are_sent_whole() -> None:
    assert sent_of(batch_of(500, LEAST_RECORDS - 1, 5)) == LEAST_RECORDS - 1
    assert sent_of(batch_of(500, LEAST_RECORDS, 5)) == 1
    batches = {}
    for size in range(1_900, 2_000):
        records = [RecordData(None, bytes(each)) for each in (size // 2, size - size // 2)]
        batch = bytes(build_batch(records, timestamp_ms=9, base_offset=500))
        batches[len(batch)] = batch
    assert sent_of(batches[LEAST_CUT - 1]) == 2
    assert sent_of(batches[LEAST_CUT]) == 1


def test_control_batches_are_sent_as_they_are() -> None:
    """Control batches are sent whole, whatever they hold; Apache Kafka's have one record."""
    read = read_of([batch_of(0, 100, 100)])
    control = [span._replace(attributes=span.attributes | 0x20) for span in read.batches]
    assert cut_to(ReadResult(read.records, control), [AcquiredRange(0, 0, 1)]) == read.records


def test_where_records_lie_is_noted_for_the_next_fetch() -> None:
    read = read_of([batch_of(0, 20, 100), batch_of(20, 20, 100)])
    marks: Marks = {}
    cut_to(read, [AcquiredRange(25, 25, 1)], marks)
    position = read.batches[1].position
    assert marks.keys() == {position}
    assert marks[position][0] == 5


def test_hashes_are_those_of_all_batches_with_wanted_offsets() -> None:
    read = read_of([batch_of(base, 10, 1) for base in (0, 10, 20)])
    assert key_hashes(read, (10, 19)).offsets == [*range(10, 20)]
    assert key_hashes(read, (9, 10)).offsets == [*range(20)]
    assert key_hashes(read, (19, 20)).offsets == [*range(10, 30)]
    assert key_hashes(read, None) == ([], [])


@pytest.mark.parametrize(("last", "size"), [(0, 10), (9, 10), (10, 20), (29, 20), (30, 5), (34, 5)])
def test_the_size_of_the_last_batch_is_in_offsets(last: int, size: int) -> None:
    read = read_of([batch_of(base, count, 1) for base, count in ((0, 10), (10, 20), (30, 5))])
    assert size_of_last(read, [AcquiredRange(0, last, 1)]) == size


def test_what_is_opened_for_one_answer_is_bounded() -> None:
    half = [RecordData(b"%d" % number, bytes(MOST_OPENED // 1000)) for number in range(600)]
    made = [build_batch(half, timestamp_ms=9, base_offset=base, compression=Compression.LZ4) for base in (0, 600, 1200)]
    read = read_of([bytes(batch) for batch in made])
    found = sent_records(cut_to(read, [AcquiredRange(base, base, 1) for base in (0, 600, 1200)]))
    assert [record.offset for record in found] == [0, *range(600, 1800)]


def test_what_is_acquired_whole_does_not_count_as_opened() -> None:
    half = MOST_OPENED // 1000
    read = read_of([batch_of(base, 600, half, Compression.LZ4) for base in (0, 600, 1200)])
    found = sent_records(cut_to(read, [AcquiredRange(0, 1200, 1)]))
    assert [record.offset for record in found] == [*range(1201)]


def test_behind_a_batch_that_is_too_large_to_open_all_are_sent_whole() -> None:
    read = read_of([batch_of(0, 2, MOST_OPENED, Compression.LZ4), batch_of(2, 100, 100)])
    found = sent_records(cut_to(read, [AcquiredRange(0, 0, 1), AcquiredRange(2, 2, 1)]))
    assert [record.offset for record in found] == [*range(102)]


@pytest.mark.parametrize("codec", Compression)
def test_a_member_gets_the_records_it_acquired_and_no_others(codec: Compression) -> None:
    world, place = ordered_world()
    member = member_of(world, place)
    produce(world, [b"key %d" % (number % 10) for number in range(500)], codec)
    answer = member.fetch(place, max_records=500)
    if not acquired_of(answer):
        answer = member.fetch(place, max_records=500)
    assert acquired_of(answer) == [(0, 9, 1)]
    records = bytes(answer.responses[0].partitions[0].records or b"")
    assert [record.offset for record in decode_records(records)] == list(range(10))
    configured, place = ordered_world(shareq_order="none")
    other = member_of(configured, place)
    produce(configured, [b"key %d" % (number % 10) for number in range(500)], codec)
    answer = other.fetch(place, max_records=10)
    if not acquired_of(answer):
        answer = other.fetch(place, max_records=10)
    records = bytes(answer.responses[0].partitions[0].records or b"")
    assert [record.offset for record in decode_records(records)] == list(range(500))
