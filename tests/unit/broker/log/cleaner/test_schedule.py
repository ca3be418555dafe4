"""The cleaner's schedule: when, which log, up to which offset, and the end of a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cramjam
import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.cleaner.schedule import PAUSE_MS, CleanerSettings, Cleaning
from shareq.broker.log.cleaner.survivors import SUBJECT_BYTES, Newest
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import Origin, PartitionLog
from shareq.broker.log.segments.reader import position_of
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.passes.records import read_keys
from shareq.protocol.records import retain
from shareq.protocol.records.batch import Compression
from shareq.protocol.records.compression import STEP_BYTES
from shareq.protocol.records.opening import pieces
from shareq.protocol.records.retain import SLICE_RECORDS
from tests.support.worlds.cleaner import COMPACTED, append, clean, fill, transient_files
from tests.support.worlds.log_world import DATA, TOPIC, TOPIC_ID, LogWorld, batch_of, read_all

MINUTE = 60_000
NEVER = CleanerSettings(enable=False)
PER_SEGMENT = 8  # batches of `fill` in one segment


@pytest.fixture
def world() -> LogWorld:
    return LogWorld(COMPACTED)


def offsets(world: LogWorld) -> list[int]:
    return [record.offset for record in read_all(world.log)]


def checkpoint(world: LogWorld) -> str:
    return bytes(world.fs.content(f"{DATA}/cleaner-offset-checkpoint")).decode()


# -- when


def test_a_sealed_segment_is_cleaned_at_once_not_after_the_backoff(world: LogWorld) -> None:
    fill(world, PER_SEGMENT)
    world.clock.advance(100)
    assert world.logs.cleaner.passes == 0
    fill(world, 1, start=PER_SEGMENT)
    world.clock.advance(100)
    assert world.logs.cleaner.passes == 1
    assert world.logs.cleaner.clean_until(world.log) == PER_SEGMENT
    assert checkpoint(world).startswith(f"0\n1\n{TOPIC} 0 {PER_SEGMENT}\ncrc32c ")


def test_the_active_segment_is_never_cleaned() -> None:
    world = LogWorld(COMPACTED._replace(segment_bytes=10**6))
    fill(world, 50)
    world.clock.advance(MINUTE)
    assert offsets(world) == list(range(50))


def test_a_segment_that_is_not_on_stable_storage_supersedes_nothing(world: LogWorld) -> None:
    world.fs.held_syncs = []
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(MINUTE)
    assert not world.logs.cleaner.busy
    while not world.logs.cleaner.busy:  # of new names first, then of the first sealed segment
        world.fs.held_syncs.pop(0)()
        world.clock.advance(MINUTE)
    assert world.logs.cleaner.busy
    assert offsets(world) == list(range(3 * PER_SEGMENT))
    while world.fs.held_syncs:
        world.fs.held_syncs.pop(0)()
        world.clock.advance(MINUTE)
    assert len(offsets(world)) == 5 + PER_SEGMENT


def test_little_dirt_is_left_until_it_is_worth_it() -> None:
    world = LogWorld(COMPACTED._replace(min_cleanable_dirty_ratio=0.6))
    append(world, *[(b"once%d" % at, b"x") for at in range(60)])  # none of its records is ever removed
    fill(world, 1)
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.passes == 1
    clean_bytes = world.log.segments[0].size
    dirty = []
    while world.logs.cleaner.passes == 1:
        fill(world, 1)
        world.clock.advance(MINUTE)
        dirty.append(sum(segment.size for segment in world.log.segments[1:-1]))
    assert dirty[-2] / (dirty[-2] + clean_bytes) < 0.6


def test_records_younger_than_min_compaction_lag_stay() -> None:
    world = LogWorld(COMPACTED._replace(min_compaction_lag_ms=10 * MINUTE))
    fill(world, 2 * PER_SEGMENT)
    world.clock.advance(9 * MINUTE)
    fill(world, 2 * PER_SEGMENT, start=2 * PER_SEGMENT)
    world.clock.advance(59_000)
    assert world.logs.cleaner.passes == 0
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.clean_until(world.log) == 2 * PER_SEGMENT
    assert offsets(world)[:6] == [11, 12, 13, 14, 15, 16]


def test_max_compaction_lag_forces_a_pass_and_rolls_the_active_segment_for_it() -> None:
    world = LogWorld(COMPACTED._replace(max_compaction_lag_ms=10 * MINUTE, min_cleanable_dirty_ratio=1.0))
    fill(world, PER_SEGMENT + 3)
    world.clock.advance(9 * MINUTE)
    assert world.logs.cleaner.passes == 0
    world.clock.advance(3 * MINUTE)
    assert world.log.active_segment is not None
    assert world.log.active_segment.size == 0
    assert world.logs.cleaner.clean_until(world.log) == PER_SEGMENT + 3
    assert offsets(world) == list(range(6, 11))


def test_segment_ms_rolls_a_compacted_log_that_nobody_appends_to() -> None:
    world = LogWorld(COMPACTED._replace(segment_bytes=10**6, segment_ms=10 * MINUTE))
    fill(world, 20)
    world.clock.advance(9 * MINUTE)
    assert len(offsets(world)) == 20
    world.clock.advance(2 * MINUTE)
    assert offsets(world) == list(range(15, 20))


def test_restarts_do_not_make_a_segment_young_again() -> None:
    world = LogWorld(COMPACTED._replace(segment_bytes=10**6, segment_ms=10 * MINUTE))
    fill(world, 20)
    for _ in range(11):
        world.clock.advance(MINUTE)
        world.restart()
    world.clock.advance(MINUTE)
    assert offsets(world) == list(range(15, 20))


def test_a_segment_ms_that_is_lowered_counts_for_the_active_segment() -> None:
    world = LogWorld(COMPACTED._replace(segment_bytes=10**6))
    fill(world, 20)
    world.clock.advance(11 * MINUTE)
    world.settings = world.settings._replace(segment_ms=10 * MINUTE)
    world.logs.reload_settings()
    world.clock.advance(MINUTE)
    assert offsets(world) == list(range(15, 20))


def test_what_is_not_compacted_is_not_touched() -> None:
    world = LogWorld(COMPACTED._replace(compact=False, delete=True, segment_ms=MINUTE))
    fill(world, 3 * PER_SEGMENT)
    bases = [segment.base_offset for segment in world.log.segments]
    world.clock.advance(10 * MINUTE)
    assert [segment.base_offset for segment in world.log.segments] == bases
    assert offsets(world) == list(range(3 * PER_SEGMENT))


def test_the_cleaner_can_be_off(world: LogWorld) -> None:
    world.cleaner = NEVER
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(MINUTE)
    assert offsets(world) == list(range(3 * PER_SEGMENT))
    world.cleaner = CleanerSettings()
    world.clock.advance(MINUTE)
    assert len(offsets(world)) < 3 * PER_SEGMENT


def test_after_the_backoff_it_looks_again(world: LogWorld) -> None:
    world.cleaner = CleanerSettings(backoff_ms=5_000)
    world.restart()  # from now on it waits for this time
    world.settings = world.settings._replace(min_cleanable_dirty_ratio=1.0)
    world.logs.reload_settings()
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(6_000)
    assert world.logs.cleaner.passes == 0
    world.settings = world.settings._replace(min_cleanable_dirty_ratio=0.5)
    world.logs.reload_settings()
    world.clock.advance(5_000)
    assert world.logs.cleaner.passes == 1


# -- coordinators' topics


def coordinator_logs(world: LogWorld) -> LogManager:
    env = Environment(world.clock, world.rng, world.fs)
    logs = LogManager(env, "other", lambda _topic: world.settings, cleaning=Cleaning(coordinator_topics=(TOPIC,)))
    logs.open_all(world.topics)
    return logs


def test_a_coordinators_active_segment_is_sealed_when_most_of_the_log_is_in_it() -> None:
    """A log in segments of 100 MiB would take seconds to read at the start."""
    world = LogWorld(COMPACTED._replace(segment_bytes=100 << 20))
    logs = coordinator_logs(world)
    log = logs.get(TOPIC, 0)

    def write(count: int) -> None:
        for _ in range(count):
            batch = batch_of(b"x" * 100_000, key=b"state")
            log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=world.clock.wall_ms())
            world.tick()

    write(40)
    world.clock.advance(MINUTE)
    assert log.size_bytes > 4_000_000
    write(3)
    world.clock.advance(MINUTE)
    assert log.size_bytes < 110_000
    assert len(log.segments) == 2
    logs.close(clean=True)


# -- which, and up to where


def test_the_dirtiest_log_is_cleaned_first_and_then_the_others(world: LogWorld) -> None:
    world.cleaner = NEVER
    other = world.logs.get(TOPIC, 1)
    append(world, *[(b"once%d" % at, b"x") for at in range(60)])
    fill(world, 2 * PER_SEGMENT)
    for at in range(3 * PER_SEGMENT):
        other.append(batch_of(b"v", key=b"k"), origin=Origin.COORDINATOR, now_wall_ms=world.clock.wall_ms() + at)
        world.tick()
    world.cleaner = CleanerSettings()
    first_done = None
    world.logs.cleaner.look_soon()
    while world.logs.cleaner.passes < 2:
        world.clock.advance(1)
        if world.logs.cleaner.passes == 1 and first_done is None:
            first_done = [log.partition for log in (world.log, other) if world.logs.cleaner.clean_until(log) >= 0]
    assert first_done is not None
    assert world.logs.cleaner.clean_until(world.log) > 0
    assert world.logs.cleaner.clean_until(other) > 0


def test_a_log_with_more_keys_than_memory_takes_several_passes() -> None:
    world = LogWorld(COMPACTED._replace(min_cleanable_dirty_ratio=0.0))
    world.cleaner = NEVER
    fill(world, 10 * PER_SEGMENT, keys=20)
    world.cleaner = CleanerSettings(memory_bytes=7 * SUBJECT_BYTES)
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.passes > 3
    assert len(offsets(world)) == 20 + PER_SEGMENT  # the active segment is whole


def test_a_pass_goes_on_where_the_last_one_ended_also_after_a_restart(world: LogWorld) -> None:
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(MINUTE)
    until = world.logs.cleaner.clean_until(world.log)
    world.restart()
    assert world.logs.cleaner.clean_until(world.log) == until
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.passes == 0


@pytest.mark.parametrize("content", [b"", b"nonsense", f"0\n1\n{TOPIC} 0 99999\n".encode()])
def test_a_checkpoint_that_cannot_be_means_all_is_dirty(content: bytes, world: LogWorld) -> None:
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(MINUTE)
    before = offsets(world)
    world.tick()
    world.crash(CrashModel.PROCESS_KILL)
    world.fs.write_atomic(f"{DATA}/cleaner-offset-checkpoint", content)
    world.start()
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.passes == 1
    assert offsets(world) == before


def test_nothing_of_an_open_transaction_is_judged_nor_what_comes_after(world: LogWorld) -> None:
    fill(world, PER_SEGMENT)
    append(world, (b"k0", b"open"), producer_id=7, base_sequence=0, transactional=True)
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.clean_until(world.log) == PER_SEGMENT
    assert offsets(world)[5:] == list(range(PER_SEGMENT, 4 * PER_SEGMENT + 1))


# -- what ends a pass


def busy_world() -> LogWorld:
    """Return a world in the middle of a pass, with its segment written but not yet durable."""
    world = LogWorld(COMPACTED)
    world.cleaner = NEVER
    fill(world, 4 * PER_SEGMENT)
    world.cleaner = CleanerSettings()
    world.fs.held_syncs = []
    world.logs.cleaner.look_soon()
    world.clock.advance(50)
    assert world.logs.cleaner.busy
    assert len(transient_files(world)) == 1
    return world


def release_syncs(world: LogWorld) -> None:
    while world.fs.held_syncs:
        world.fs.held_syncs.pop(0)()
    world.fs.held_syncs = None
    world.clock.advance(50)


def test_a_topic_deleted_in_the_middle_of_a_pass(caplog: pytest.LogCaptureFixture) -> None:
    world = busy_world()
    world.topics.images[TOPIC] = TopicImage(TOPIC, bytes(16), 3)
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    release_syncs(world)
    world.clock.advance(MINUTE)
    assert not world.logs.cleaner.busy
    assert [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")] == []
    assert not [path for path in world.fs.paths() if TOPIC in path]
    fill(world, 2)
    assert offsets(world) == [0, 1]
    assert world.logs.cleaner.clean_until(world.log) == -1
    world.restart()
    assert offsets(world) == [0, 1]


def test_a_deleted_topic_whose_segment_cannot_be_synced_is_not_left_alone() -> None:
    """A log that the cleaner left alone would stay excluded from cleaning, as would a new topic of its name."""
    world = busy_world()
    world.topics.images[TOPIC] = TopicImage(TOPIC, bytes(16), 3)
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.clock.advance(50)  # it is forgotten
    world.fs.fail = lambda kind, _path: OSError("no such file") if kind == "sync" else None
    release_syncs(world)
    assert not world.logs.cleaner.busy
    assert world.logs.cleaner.uncleanable == []


def test_a_segment_that_cannot_be_synced_is_left_alone() -> None:
    world = busy_world()
    world.fs.fail = lambda kind, _path: OSError("lost") if kind == "sync" else None
    release_syncs(world)
    assert not world.logs.cleaner.busy
    assert world.logs.cleaner.uncleanable == [(TOPIC, 0)]
    assert transient_files(world) == []
    assert offsets(world) == list(range(4 * PER_SEGMENT))


def test_a_deleted_topics_checkpoint_is_not_inherited_by_one_of_its_name(world: LogWorld) -> None:
    fill(world, 3 * PER_SEGMENT)
    world.clock.advance(MINUTE)
    assert TOPIC in checkpoint(world)
    world.topics.images[TOPIC] = TopicImage(TOPIC, bytes(16), 3)
    world.logs.delete_topic(TOPIC, TOPIC_ID)
    world.tick()
    assert TOPIC not in checkpoint(world)


def test_a_log_cut_at_its_front_in_the_middle_of_a_pass() -> None:
    world = busy_world()
    assert world.delete_records(PER_SEGMENT + 2) is ErrorCode.NONE
    release_syncs(world)
    assert offsets(world)[0] >= PER_SEGMENT + 2
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.uncleanable == []
    assert transient_files(world) == []
    world.restart()
    assert world.log.log_start_offset == PER_SEGMENT + 2


def test_a_topic_that_is_not_compacted_any_more_in_the_middle_of_a_pass() -> None:
    world = busy_world()
    world.settings = world.settings._replace(compact=False, delete=True)
    world.logs.reload_settings()
    release_syncs(world)
    assert not world.logs.cleaner.busy
    assert transient_files(world) == []
    assert offsets(world) == list(range(4 * PER_SEGMENT))


def test_a_broker_that_stops_in_the_middle_of_a_pass() -> None:
    world = busy_world()
    world.fs.held_syncs = None
    world.restart()
    assert transient_files(world) == []
    assert offsets(world) == list(range(4 * PER_SEGMENT))
    world.clock.advance(MINUTE)
    assert len(offsets(world)) == 5 + PER_SEGMENT


def test_appends_and_reads_go_on_between_the_steps_of_a_pass() -> None:
    world = LogWorld(COMPACTED._replace(segment_bytes=400_000, index_interval_bytes=4096))
    world.cleaner = NEVER
    payload = b"x" * 1000
    for number in range(1200):
        append(world, (b"k%d" % (number % 10), payload))
    world.cleaner = CleanerSettings()
    world.logs.cleaner.look_soon()
    steps = 0
    while world.logs.cleaner.passes == 0:
        world.clock.advance(PAUSE_MS)
        steps += 1
        append(world, (b"new%d" % steps, b"v"))
        assert read_all(world.log, start=world.log.high_watermark - 1)
    assert steps > 20
    found = {record.key for record in read_all(world.log)}
    assert {b"k%d" % at for at in range(10)} | {b"new%d" % at for at in range(1, steps + 1)} == found


def test_a_small_batch_of_many_records_is_a_step_of_its_own(world: LogWorld) -> None:
    """Thousands of compressed records take few kilobytes, but reading their keys takes long."""
    world.cleaner = NEVER
    for _ in range(9):
        append(world, *[(b"k", b"v")] * 2_000, compression=Compression.ZSTD)
    assert len(world.log.segments) == 9
    assert world.log.size_bytes < 64 * 1024
    world.cleaner = CleanerSettings()
    world.logs.cleaner.look_soon()
    steps = 0
    while world.logs.cleaner.passes == 0:
        world.clock.advance(PAUSE_MS)
        steps += 1
    assert steps >= 8 + 8 + 8  # noted, cleaned, and the old files removed


@pytest.mark.parametrize("settled", [False, True], ids=["with tombstones", "without"])
def test_a_batch_of_many_records_is_gone_through_in_slices(
    monkeypatch: pytest.MonkeyPatch, settled: bool, world: LogWorld
) -> None:
    """A tick processes one slice: reading, checking and writing 45,000 records take 50 ms each."""
    world.cleaner = NEVER
    count = 15 * SLICE_RECORDS
    keys = [b"%d" % number for number in range(count)]
    append(world, *[(key, b"v") for key in keys], compression=Compression.ZSTD)
    append(world, *[(key, b"v" if settled else None) for key in keys[::2]], compression=Compression.ZSTD)
    append(world, (b"k", b"v"))
    work = 0

    def counted(function: Callable[..., Any], size: Callable[..., int]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            nonlocal work
            work += size(*args)
            return function(*args)

        return call

    monkeypatch.setattr(retain, "read_keys", counted(read_keys, lambda _data, _pos, count, *_: count))
    monkeypatch.setattr(retain, "_timed_from", counted(retain._timed_from, lambda _time, _data, records: len(records)))
    monkeypatch.setattr(Newest, "keeps", counted(Newest.keeps, lambda *_: 1))
    world.cleaner = CleanerSettings()
    world.logs.cleaner.look_soon()
    ticks = []
    while world.logs.cleaner.passes == 0:
        world.clock.advance(PAUSE_MS)
        ticks.append(work)
        work = 0
    assert max(ticks) <= 2 * SLICE_RECORDS
    assert sum(ticks) >= 4 * count
    assert offsets(world)[: count // 2] == list(range(1, count, 2))


@pytest.mark.parametrize("records", [20, 2 * SLICE_RECORDS], ids=["large", "many"])
@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.ZSTD, Compression.LZ4, Compression.SNAPPY])
def test_a_large_batch_is_opened_and_compressed_in_pieces(
    monkeypatch: pytest.MonkeyPatch, codec: Compression, records: int, world: LogWorld
) -> None:
    """A tick processes one piece, however many records it has: compressing 4 MB of gzip takes 150 ms."""
    world.cleaner = NEVER
    size = 4_000_000 // records
    append(world, *[(b"%d" % number, b"v" * size) for number in range(records)], compression=codec)
    append(world, *[(b"%d" % number, b"w") for number in range(0, records, 2)])
    append(world, (b"k", b"v" * 4096))  # which begins a segment
    work = [0]
    opened_bytes = 0

    class Counted:
        """A compressor of cramjam's that counts its input."""

        def __init__(self, compressor: Any) -> None:
            self._compressor = compressor

        def compress(self, data: bytes) -> int:
            work[-1] += len(data)
            return int(self._compressor.compress(data))

        def finish(self) -> bytes:
            return bytes(self._compressor.finish())

    for name in ("gzip", "lz4", "zstd"):
        module = getattr(cramjam, name)
        make = module.Compressor
        monkeypatch.setattr(module, "Compressor", lambda make=make, **given: Counted(make(**given)))

    def compress_raw(data: memoryview, raw: Callable[[memoryview], Any] = cramjam.snappy.compress_raw) -> Any:
        work[-1] += len(data)
        return raw(data)

    def opened(*args: Any) -> Iterator[bytes]:
        nonlocal opened_bytes
        for piece in pieces(*args):
            opened_bytes += len(piece)
            work[-1] += len(piece) // 4  # faster than to compress
            yield piece

    monkeypatch.setattr(cramjam.snappy, "compress_raw", compress_raw)
    monkeypatch.setattr(retain, "pieces", opened)
    world.cleaner = CleanerSettings()
    world.logs.cleaner.look_soon()
    while world.logs.cleaner.passes == 0:
        world.clock.advance(PAUSE_MS)
        work.append(0)
    assert max(work) <= 2 * STEP_BYTES
    assert opened_bytes >= 2 * 4_000_000
    assert sum(work) >= 2_000_000 + opened_bytes // 4
    assert offsets(world)[: records // 2] == list(range(1, records, 2))


def test_a_pass_keeps_up_with_a_log_that_grows_fast() -> None:
    """A pass processes eight times what was appended since, so that it ends before the log grows by an eighth."""
    world = LogWorld(COMPACTED._replace(segment_bytes=400_000, index_interval_bytes=4096))
    payload = b"x" * 10_000
    most = 0
    for number in range(600):
        for _ in range(10):  # 100 kB in a tick
            world.append(batch_of(payload, key=b"k%d" % (number % 10)))
        world.tick()
        world.clock.advance(PAUSE_MS)
        most = max(most, len(world.log.segments))
    assert world.logs.cleaner.passes > 50
    assert most <= 4


def test_what_it_may_read_in_a_second() -> None:
    world = LogWorld(COMPACTED._replace(segment_bytes=400_000, index_interval_bytes=4096))
    world.cleaner = NEVER
    for number in range(450):
        append(world, (b"k%d" % (number % 10), b"x" * 1000))
    world.cleaner = CleanerSettings(bytes_per_second=100_000.0)
    world.logs.cleaner.look_soon()
    before = world.clock.now_ms()
    while world.logs.cleaner.passes == 0:
        world.clock.advance(100)
    assert 7_000 < world.clock.now_ms() - before < 10_000  # 400 kB, read twice


def test_a_damaged_segment_is_left_alone_until_the_next_start(
    caplog: pytest.LogCaptureFixture, world: LogWorld
) -> None:
    """A rewrite would lose the records behind the damage."""
    world.cleaner = NEVER
    fill(world, 4 * PER_SEGMENT)
    segment = world.log.segments[1]
    world.fs.content(segment.log_path)[100] ^= 1
    files = {path: bytes(world.fs.content(path)) for path in world.fs.paths() if path.endswith(".log")}
    world.cleaner = CleanerSettings()
    world.clock.advance(60 * MINUTE)
    assert world.logs.cleaner.uncleanable == [(TOPIC, 0)]
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert "left alone until the next start" in errors[0]
    assert segment.log_path in errors[0]
    assert {path: bytes(world.fs.content(path)) for path in files} == files


@pytest.mark.parametrize("bit", [40, 7], ids=["beyond all files", "in the next segment"])
def test_a_batch_that_says_to_lie_behind_its_segment_is_damage(
    bit: int, caplog: pytest.LogCaptureFixture, world: LogWorld
) -> None:
    """The CRC does not cover the base offset, and no later batch in the segment contradicts it."""
    world.cleaner = NEVER
    fill(world, 4 * PER_SEGMENT)
    segment = world.log.segments[1]
    content = world.fs.content(segment.log_path)
    last = position_of(segment, world.log.segments[2].base_offset - 1)
    assert last is not None
    content[last + 7 - bit // 8] ^= 1 << bit % 8
    files = {path: bytes(world.fs.content(path)) for path in world.fs.paths() if path.endswith(".log")}
    world.cleaner = CleanerSettings()
    world.clock.advance(60 * MINUTE)
    assert world.logs.cleaner.uncleanable == [(TOPIC, 0)]
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [record.exc_info for record in errors] == [None]
    assert segment.log_path in errors[0].message
    assert {path: bytes(world.fs.content(path)) for path in files} == files


def test_others_are_cleaned_while_one_cannot_be(world: LogWorld) -> None:
    world.cleaner = NEVER
    other: PartitionLog = world.logs.get(TOPIC, 1)
    fill(world, 4 * PER_SEGMENT)
    for _ in range(4 * PER_SEGMENT):
        other.append(batch_of(b"v", key=b"k"), origin=Origin.COORDINATOR, now_wall_ms=world.clock.wall_ms())
        world.tick()
    world.fs.content(world.log.segments[1].log_path)[100] ^= 1
    world.cleaner = CleanerSettings()
    world.clock.advance(MINUTE)
    assert world.logs.cleaner.uncleanable == [(TOPIC, 0)]
    assert world.logs.cleaner.clean_until(other) > 0
    clean(world)
