"""Reads of records that are not in memory: the loop never waits for the disk, and a second read finds them loaded."""

from __future__ import annotations

import logging
from typing import TypeVar

import pytest

from devtools.in_memory.disk.page_cache import PageCache
from shareq.broker.foundation.loop.coroutines import Waiting, beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import TurnBudget, unpaused
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.cold_reads import (
    AHEAD_BYTES,
    AHEAD_PIECE,
    MOST_READERS,
    MOST_TRIES,
    WHOLE_FILE,
    Ahead,
    BeingRead,
)
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.broker.log.upkeep import DEFAULT_CHECK_TIMES
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.log_world import TOPIC, TOPIC_ID, LogWorld, read_all, values_of

T = TypeVar("T")

SMALL_SEGMENTS = LogSettings(segment_bytes=4_000, index_interval_bytes=500)


def cold_world(settings: LogSettings | None = None, batches: int = 40) -> tuple[LogWorld, PageCache]:
    """Return a log with records whose files are not in memory; loads end when the test ends them."""
    world = LogWorld(settings)
    for at in range(batches):
        world.produce(b"%03d" % at * 50)
    cache = world.fs.page_cache = PageCache()
    cache.held = []
    return world, cache


def read(log: PartitionLog, offset: int = 0, max_bytes: int = 1_000) -> ReadResult | ErrorCode | BeingRead:
    return log.read(offset, max_bytes, upto=log.high_watermark)


def arrive(cache: PageCache) -> None:
    held, cache.held = cache.held or [], []
    for end in held:
        end()


def read_through(log: PartitionLog, cache: PageCache, offset: int = 0, max_bytes: int = 1_000) -> ReadResult:
    while isinstance(found := read(log, offset, max_bytes), BeingRead):
        assert not found.arrived.done
        arrive(cache)
        assert found.arrived.done
    assert isinstance(found, ReadResult)
    return found


def test_the_loop_reads_nothing_that_is_not_in_memory() -> None:
    world, cache = cold_world()
    before = len(world.fs.waits)
    first, again = read(world.log), read(world.log)
    assert isinstance(first, BeingRead)
    assert first == again, "the same bytes are loaded once"
    assert len(world.fs.waits) == before
    assert len(cache.loads) == 1
    assert [span.base_offset for span in read_through(world.log, cache).batches][:2] == [0, 1]


def test_what_is_in_memory_is_read_at_once() -> None:
    world, cache = cold_world()
    world.fs.page_cache = PageCache(misses=0)
    assert isinstance(read(world.log), ReadResult)
    assert not cache.loads


def test_every_record_arrives_across_segments_and_a_restart() -> None:
    """Index files are loaded, too; those of sealed segments are read at their first use."""
    world, _ = cold_world(SMALL_SEGMENTS)
    world.fs.page_cache = None
    expected = values_of(read_all(world.log))
    world.restart()
    assert len(world.log.segments) > 2
    cache = world.fs.page_cache = PageCache()
    cache.held = []
    found: list[int] = []
    before = len(world.fs.waits)
    while (offset := found[-1] + 1 if found else 0) < world.log.high_watermark:
        result = read(world.log, offset)
        if isinstance(result, BeingRead):
            arrive(cache)
            continue
        assert isinstance(result, ReadResult)
        found += [span.base_offset for span in result.batches]
    assert len(world.fs.waits) == before
    assert found == list(range(40))
    assert any(size == WHOLE_FILE for _, _, size, _ in cache.loads)
    world.fs.page_cache = None
    assert values_of(read_all(world.log)) == expected


def test_a_reader_that_goes_on_finds_the_next_records_in_memory() -> None:
    world, cache = cold_world()
    offset, waits = 0, 0
    while offset < world.log.high_watermark:
        result = read(world.log, offset)
        if isinstance(result, BeingRead):
            waits += 1
            arrive(cache)
            continue
        arrive(cache)  # what is read ahead
        assert isinstance(result, ReadResult)
        offset = result.batches[-1].last_offset + 1
    assert waits == 1
    assert any(ahead for *_, ahead in cache.loads)


def test_reading_ahead_is_bounded_and_follows_each_reader() -> None:
    ahead, size = Ahead(), 1 << 30
    assert ahead.went_on(0, 100, size) == [], "nobody was kept waiting"
    ahead.expect(0, 1_000)
    pieces = ahead.went_on(0, 1_000, size)
    assert sum(length for _, length in pieces) <= AHEAD_BYTES
    assert [at for at, _ in pieces] == list(range(1_000, 1_000 + AHEAD_BYTES, AHEAD_PIECE))[: len(pieces)]
    assert ahead.went_on(1_000, 2_000, size) == [], "enough is under way"
    later = 1_000 + AHEAD_PIECE + 1_000
    assert ahead.went_on(2_000, later, size) == [(1_000 + AHEAD_BYTES, AHEAD_PIECE)]
    assert ahead.went_on(later, size - 10, size) == [(size - 10, 10)], "the rest of the file"
    for reader in range(MOST_READERS):
        ahead.expect(reader * 10, reader * 10)
    assert ahead.went_on(size - 10, size - 5, size) == [], "the reader that was seen longest ago is forgotten"


def test_a_topic_that_is_deleted_while_it_is_read() -> None:
    world, cache = cold_world()
    log = world.log
    waits = read(log)
    assert isinstance(waits, BeingRead)
    world.topics.delete(TOPIC)
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.tick()
    arrive(cache)
    assert waits.arrived.done
    assert read(log) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_segment_that_is_removed_while_it_is_read() -> None:
    world, cache = cold_world(SMALL_SEGMENTS)
    waits = read(world.log)
    assert isinstance(waits, BeingRead)
    end = world.log.segments[1].base_offset
    world.delete_records(end)
    world.log.remove_deleted_segments()
    arrive(cache)
    assert waits.arrived.done
    assert read(world.log) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read_through(world.log, cache, end).batches[0].base_offset == end


def test_a_log_that_is_closed_while_it_is_read() -> None:
    world, cache = cold_world()
    waits = read(world.log)
    assert isinstance(waits, BeingRead)
    world.logs.close(clean=True)
    arrive(cache)
    assert waits.arrived.done


def test_what_a_thread_cannot_read_is_answered_as_what_the_loop_cannot(caplog: pytest.LogCaptureFixture) -> None:
    world, cache = cold_world()
    segment = world.log.segments[0]
    world.fs.make_unreadable(segment.log_path, 0, 10)
    assert isinstance(read(world.log), BeingRead)
    arrive(cache)
    with caplog.at_level(logging.ERROR):
        assert read(world.log) is ErrorCode.CORRUPT_MESSAGE
    assert "cannot be read" in caplog.text
    assert world.log.unreadable_range(0) is not None


def test_a_disk_that_gives_nothing() -> None:
    world, cache = cold_world()
    world.fs.fail_reads = True
    assert isinstance(read(world.log), BeingRead)
    arrive(cache)
    assert read(world.log) is ErrorCode.KAFKA_STORAGE_ERROR


def test_bytes_that_do_not_stay_in_memory_are_waited_for_in_the_end() -> None:
    """A fetch completes even on a machine that is short of memory."""
    world, _ = cold_world()
    cache = world.fs.page_cache = PageCache(evicts=1.0)
    cache.held = []
    for _ in range(MOST_TRIES):
        assert isinstance(read(world.log), BeingRead)
        arrive(cache)
    assert isinstance(read(world.log), ReadResult)


def test_many_readers_of_the_same_bytes_are_no_tries() -> None:
    world, cache = cold_world()
    for _ in range(10 * MOST_TRIES):
        assert isinstance(read(world.log), BeingRead)
    assert len(cache.loads) == 1


def test_the_bytes_that_can_be_read_are_counted_without_the_disk() -> None:
    world, _ = cold_world(SMALL_SEGMENTS)
    world.fs.page_cache = None
    exact = world.log.available_bytes(3, world.log.high_watermark)
    world.restart()
    world.fs.page_cache = PageCache()
    before = len(world.fs.waits)
    assert world.log.available_bytes(3, world.log.high_watermark) >= exact
    assert len(world.fs.waits) == before


def test_a_walk_through_damage_waits() -> None:
    """The read waits until the damaged range is loaded, because each read would start the search from its beginning."""
    world, cache = cold_world()
    segment = world.log.segments[0]
    world.fs.zero(segment.log_path, 100, 1_500)
    while isinstance(found := read(world.log), BeingRead):
        arrive(cache)
    assert found is ErrorCode.CORRUPT_MESSAGE
    lost = world.log.unreadable_range(0)
    assert lost is not None
    assert read_through(world.log, cache, lost[1]).batches[0].base_offset == lost[1]


def begun(world: LogWorld, coroutine: Waiting[T]) -> Pending[T]:
    return beginner(TurnBudget(world.clock), Turns(world.clock.call_soon).run)(coroutine)


def test_a_record_is_found_by_its_time_without_waiting() -> None:
    world, _ = cold_world(SMALL_SEGMENTS, batches=0)
    world.fs.page_cache = None
    for at in range(30):
        world.produce(b"x" * 150, timestamp_ms=1_000 * at)
    world.restart()
    cache = world.fs.page_cache = PageCache()
    before = len(world.fs.waits)
    assert cache.loads == []
    found = begun(world, world.log.seek_timestamp(20_500, unpaused))
    assert not found.done
    world.tick()
    assert found.value == (21_000, 21)
    assert len(world.fs.waits) == before
    assert world.log.offset_for_timestamp(20_500) == (21_000, 21), "in one go, and waiting, where that is asked for"


def test_the_cleaner_waits_for_threads() -> None:
    world, _ = cold_world(LogSettings(segment_bytes=2_000, compact=True, min_cleanable_dirty_ratio=0.0), batches=0)
    world.fs.page_cache = None
    for at in range(60):
        world.produce(b"%d" % at * 50)
    cache = world.fs.page_cache = PageCache()
    cache.held = []
    before = len(world.log.segments)
    for _ in range(40):
        world.clock.advance(15_000)
        arrive(cache)
    world.tick()
    assert any(path.endswith(".log") for path, *_ in cache.loads)
    assert len(world.log.segments) < before
    assert not any(path.endswith(".log") for path in world.fs.waits)
    world.fs.page_cache = None
    assert values_of(read_all(world.log))[-1] == b"59" * 50


def test_retention_looks_at_the_oldest_segment_without_waiting() -> None:
    world, _ = cold_world(LogSettings(segment_bytes=4_000, index_interval_bytes=500, retention_ms=600_000))
    world.fs.page_cache = None
    world.restart()
    cache = world.fs.page_cache = PageCache()
    world.clock.advance(DEFAULT_CHECK_TIMES.retention_ms)
    assert cache.loads
    assert world.fs.waits == []
    before = len(world.log.segments)
    world.clock.advance(2 * 600_000)
    assert len(world.log.segments) < before


def test_what_is_tried_for_the_last_time_is_waited_for_by_no_other_reader() -> None:
    world, _ = cold_world()
    cache = world.fs.page_cache = PageCache(evicts=1.0)
    cache.held = []
    for _ in range(MOST_TRIES - 1):
        assert isinstance(read(world.log), BeingRead)
        arrive(cache)
    assert isinstance(read(world.log), BeingRead)
    assert isinstance(read(world.log), BeingRead), "it is under way"
    arrive(cache)
    assert isinstance(read(world.log), ReadResult)
