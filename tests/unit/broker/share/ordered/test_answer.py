"""What a group with order by key is sent of record batches: large ones are cut to what was acquired."""

from __future__ import annotations

from itertools import chain
from random import Random

import pytest

from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.share.core.values import AcquiredRange
from shareq.broker.share.ordered.answer import LEAST_CUT, MOST_OPENED, cut_to
from shareq.protocol.records.batch import Record, RecordData, batch_headers, build_batch, decode_records
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.clients.share_client import acquired_of
from tests.unit.broker.share.test_order_by_key import member_of, ordered_world, produce


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


@pytest.mark.parametrize("seed", range(150))
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
    assert cut_to(read, [AcquiredRange(50, 99, 1)]) == read.records[read.batches[1].position :][: read.batches[1].size]


def test_what_is_opened_for_one_answer_is_bounded() -> None:
    """Batches beyond it are sent whole, as they were before."""
    half = [RecordData(b"%d" % number, bytes(MOST_OPENED // 1000)) for number in range(600)]
    made = [build_batch(half, timestamp_ms=9, base_offset=base, compression=Compression.LZ4) for base in (0, 600, 1200)]
    read = read_of([bytes(batch) for batch in made])
    found = sent_records(cut_to(read, [AcquiredRange(base, base, 1) for base in (0, 600, 1200)]))
    assert [record.offset for record in found] == [0, *range(600, 1800)]


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
