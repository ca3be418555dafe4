"""Reads of a compacted log: from any offset, by time and by size, before and after a restart."""

from __future__ import annotations

import pytest

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.log.cleaner.schedule import CleanerSettings
from shareq.broker.log.partition_log import Found, PartitionLog
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import decode_records
from tests.support.worlds.cleaner import COMPACTED, append, clean
from tests.support.worlds.log_world import LogWorld, read_all

KEYS = 6


def compacted_world(*, producer: bool = False) -> LogWorld:
    """Return cleaned segments with gaps between their batches, inside them, and between the segments."""
    world = LogWorld(COMPACTED._replace(segment_bytes=500))
    sequence = 0
    for number in range(90):
        size = number % 4 + 1
        rows = [(b"k%d" % ((number + at) % KEYS) if number % 9 else b"only%d" % number, b"v") for at in range(size)]
        if producer:
            append(world, *rows, producer_id=5, base_sequence=sequence)
            sequence += size
        else:
            append(world, *rows)
        world.clock.advance(10)
    clean(world)
    assert len(world.log.segments) > 3
    return world


def read_at(log: PartitionLog, offset: int, max_bytes: int = 1, upto: int | None = None) -> list[int]:
    result = log.read(offset, max_bytes, upto=log.high_watermark if upto is None else upto)
    assert isinstance(result, ReadResult)
    return [
        record.offset
        for span in result.batches
        for record in decode_records(result.records[span.position : span.position + span.size])
        if record.offset >= offset
    ]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_read_from_any_offset_gives_what_comes_next(restarted: bool) -> None:
    world = compacted_world()
    if restarted:
        world.restart()
    left = [record.offset for record in read_all(world.log)]
    assert len(left) < world.log.log_end_offset / 2
    for offset in range(world.log.log_end_offset):
        found = read_at(world.log, offset, max_bytes=200) or read_at(world.log, offset, max_bytes=10_000)
        following = [other for other in left if other >= offset]
        if found:
            assert found == following[: len(found)]
    for offset in left:
        assert read_at(world.log, offset)[0] == offset


def test_walking_from_the_start_meets_no_dead_end() -> None:
    """Every read up to the high watermark returns a batch, perhaps an empty one: no reader may wait in a gap."""
    world = compacted_world()
    for upto in range(1, world.log.high_watermark + 1, 7):
        offset = 0
        while offset < upto:
            result = world.log.read(offset, 100, upto=upto)
            assert isinstance(result, ReadResult)
            if not result.batches:
                break  # the next batch reaches beyond `upto`
            assert result.batches[0].last_offset >= offset
            offset = result.batches[-1].last_offset + 1
        assert all(record.offset < offset for record in read_all(world.log) if record.offset < offset)


def test_available_bytes_are_those_of_the_batches_that_are_left() -> None:
    world = compacted_world()
    log = world.log
    assert log.available_bytes(0, log.high_watermark) == log.size_bytes
    for offset in range(0, log.high_watermark, 5):
        data = 0
        at = offset
        while at < log.high_watermark:
            result = log.read(at, 1, upto=log.high_watermark)
            assert isinstance(result, ReadResult)
            data += len(result.records)
            at = result.batches[-1].last_offset + 1
        assert log.available_bytes(offset, log.high_watermark) == data


@pytest.mark.parametrize("producer", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_records_are_found_by_time(producer: bool, restarted: bool) -> None:
    world = compacted_world(producer=producer)
    if restarted:
        world.restart()
    log, left = world.log, read_all(world.log)
    for timestamp in range(left[0].timestamp - 20, left[-1].timestamp + 20, 7):
        expected = next(((r.timestamp, r.offset) for r in left if r.timestamp >= timestamp), None)
        assert log.offset_for_timestamp(timestamp) == expected
    assert result_of(log.seek_max_timestamp(unpaused)) == max(
        (Found(r.timestamp, r.offset) for r in left), key=lambda found: (found.timestamp, -found.offset)
    )


def test_the_newest_record_is_found_though_a_newer_batch_was_emptied() -> None:
    """The empty batch stays only for its producer, and its time does not count."""
    world = LogWorld(COMPACTED)
    append(world, (b"a", b"v"))
    world.clock.advance(1_000)
    append(world, (b"b", b"v"), producer_id=5, base_sequence=0)
    world.clock.step_wall(-10_000)
    for number in range(30):
        append(world, (b"b", b"w%d" % number), (b"c", b"w"))
    clean(world)
    for _ in range(2):
        emptied = world.log.read(1, 1, upto=2)
        assert isinstance(emptied, ReadResult)
        assert [span.producer_id for span in emptied.batches] == [5]
        assert decode_records(emptied.records) == []
        first = read_all(world.log)[0]
        assert result_of(world.log.seek_max_timestamp(unpaused)) == (first.timestamp, 0)
        assert world.log.offset_for_timestamp(first.timestamp + 1) is None
        world.restart()


def test_the_log_start_may_lie_in_a_gap() -> None:
    world = compacted_world()
    left = [record.offset for record in read_all(world.log)]
    gap = next(offset for offset in range(left[3], left[-1]) if offset not in left)
    assert world.delete_records(gap) is ErrorCode.NONE
    assert world.log.log_start_offset == gap
    assert [record.offset for record in read_all(world.log)] == [offset for offset in left if offset > gap]
    assert world.log.read(gap - 1, 1, upto=world.log.high_watermark) is ErrorCode.OFFSET_OUT_OF_RANGE
    world.restart()
    assert world.log.log_start_offset == gap
    assert [record.offset for record in read_all(world.log)] == [offset for offset in left if offset > gap]


def test_the_end_of_the_log_stays_though_its_last_records_went() -> None:
    """Only expired tombstones filled the last sealed segment."""
    world = LogWorld(COMPACTED._replace(delete_retention_ms=0, min_cleanable_dirty_ratio=0.0))
    append(world, (b"stays", b"v"))
    for number in range(40):
        append(world, (b"k%d" % number, None))
    for _ in range(3):
        world.log.roll(world.clock.wall_ms())
        world.clock.advance(1_000)
        world.logs.cleaner.forget([("orders", 0)])
        clean(world)
    assert [record.offset for record in read_all(world.log)] == [0]
    assert world.log.log_end_offset == 41
    world.restart()
    assert world.log.log_end_offset == 41
    assert append(world, (b"next", b"v")).base_offset == 41


def test_a_reader_in_the_middle_of_the_log_goes_on_after_the_swap() -> None:
    world = LogWorld(COMPACTED)
    world.cleaner = CleanerSettings(enable=False)
    for number in range(60):
        append(world, (b"k%d" % (number % 5), b"v%d" % number))
    before = read_all(world.log, 0, 300)[:10]
    world.cleaner = CleanerSettings()
    clean(world)
    after = read_all(world.log, before[-1].offset + 1)
    assert before[-1].offset == 9
    assert {record.key for record in after} == {b"k%d" % at for at in range(5)}
    assert [record.offset for record in after] == sorted(record.offset for record in after)
