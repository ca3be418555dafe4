"""Last stable offset and aborted transactions of a log, which must always agree with its batches.

`brute_force` computes the expected values by reading every batch on disk.
"""

from __future__ import annotations

import errno
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from shareq.broker.log.partition_log import AppendInfo, PartitionLog
from shareq.broker.log.segments.txn_index import AbortedTransaction, entries_from_bytes
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from tests.support.kafka.transactions import append, batches_of, brute_force, end
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld

FOLDER = f"{DATA}/{TOPIC}-0"
SMALL = LogSettings(segment_bytes=600, index_interval_bytes=100)
PRODUCERS = (1, 2, 3)


def checked(log: PartitionLog) -> list[AbortedTransaction]:
    stable, aborted = brute_force(batches_of(log), log.high_watermark)
    assert log.last_stable_offset == max(stable, log.log_start_offset)
    start = log.segments[0].base_offset if log.segments else 0
    assert [one for one in log.producers.aborted if one.last_offset < log.high_watermark] == aborted
    for first in range(start, stable, 3):
        for upper in range(first + 1, stable + 1, 5):
            expected = [one for one in aborted if one.last_offset >= first and one.first_offset < upper]
            assert log.aborted_transactions(first, upper) == expected
    return aborted


def check_files(world: LogWorld) -> None:
    """Compare each sealed segment's transaction index, or its absence, with the segment's markers."""
    log = world.log
    _, aborted = brute_force(batches_of(log), log.log_end_offset)
    for segment, after in zip(log.segments, log.segments[1:], strict=False):
        own = [one for one in aborted if segment.base_offset <= one.last_offset < after.base_offset]
        path = segment.path(".txnindex")
        found = bytes(world.fs.content(path)) if path in world.fs.paths() else None
        assert (found is not None) == bool(own)
        if found is not None:
            assert entries_from_bytes(found, segment.base_offset, after.base_offset) == own


class Traffic:
    """Random transactions of three producers with plain records between them, determined by the seed."""

    def __init__(self, seed: int, settings: LogSettings = SMALL, *, flush_every_message: bool = False) -> None:
        self.rng = Random(seed)
        self.world = LogWorld(settings, flush_every_message=flush_every_message, seed=seed)

    def some(self, count: int) -> None:
        for _ in range(count):
            self.one()
            if self.rng.random() < 0.6:
                self.world.tick()
        self.world.tick()

    def one(self) -> None:
        rng, log = self.rng, self.world.log
        values = [bytes(rng.randint(0, 60)) for _ in range(rng.randint(1, 3))]
        kind = rng.random()
        if kind < 0.2:
            append(log, *values)
        elif kind < 0.6:
            append(log, *values, producer=rng.choice(PRODUCERS))
        else:
            end(log, rng.choice(PRODUCERS), commit=rng.random() < 0.3)

    def check(self) -> None:
        checked(self.world.log)
        check_files(self.world)


def test_an_aborted_transaction_is_known_from_its_marker_on(world: LogWorld) -> None:
    log = world.log
    append(log, b"plain")
    append(log, b"a", b"b", producer=1)
    append(log, b"c", producer=2)
    world.tick()
    assert (log.last_stable_offset, log.high_watermark) == (1, 4)
    end(log, 1, commit=False)
    assert log.last_stable_offset == 1  # nobody sees the marker before it is written
    world.tick()
    assert log.last_stable_offset == 3  # where the other transaction begins
    assert log.aborted_transactions(0, 3) == [AbortedTransaction(1, 1, 4, 3)]
    end(log, 2, commit=True)
    world.tick()
    assert log.last_stable_offset == 6
    assert checked(log) == [AbortedTransaction(1, 1, 4, 3)]


def test_a_marker_without_a_transaction_aborts_nothing(world: LogWorld) -> None:
    end(world.log, 1, commit=False)
    append(world.log, b"a", producer=1)
    end(world.log, 1, commit=True)
    end(world.log, 1, commit=False)
    world.tick()
    assert (checked(world.log), world.log.last_stable_offset) == ([], 4)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_the_batches_say(seed: int) -> None:
    """The index stays correct through rolls, clean restarts and kills."""
    traffic = Traffic(seed)
    for _ in range(8):
        traffic.some(traffic.rng.randint(1, 15))
        traffic.check()
        if traffic.rng.random() < 0.5:
            traffic.world.restart(clean=traffic.rng.random() < 0.5)
            traffic.check()


@pytest.mark.parametrize("seed", range(8))
def test_a_failed_write_takes_its_transactions_back(seed: int) -> None:
    traffic = Traffic(seed, LogSettings())
    traffic.some(12)
    rng, fs = traffic.rng, traffic.world.fs
    for _ in range(6):
        before = checked(traffic.world.log)
        fs.fail = lambda kind, _path: OSError(errno.ENOSPC, "full") if kind == "write" else None
        traffic.some(rng.randint(1, 6))
        fs.fail = None
        assert checked(traffic.world.log) == before
        traffic.some(rng.randint(1, 4))
        traffic.check()
    traffic.world.restart(clean=False)
    traffic.check()


def test_a_segment_whose_index_cannot_be_written_is_not_sealed() -> None:
    """The append that would need a new segment fails; the next append tries again."""
    world = LogWorld(SMALL)
    append(world.log, b"x", producer=1)
    end(world.log, 1, commit=False)
    world.tick()
    world.fs.fail = lambda _kind, path: OSError(errno.ENOSPC, "full") if ".txnindex" in path else None
    assert append(world.log, bytes(500)) is ErrorCode.KAFKA_STORAGE_ERROR
    world.fs.fail = None
    assert isinstance(append(world.log, bytes(500)), AppendInfo)
    world.tick()
    assert len(world.log.segments) == 2
    check_files(world)
    assert checked(world.log) == [AbortedTransaction(1, 0, 1, 2)]


def test_a_clean_start_believes_the_files() -> None:
    """Neither headers nor markers are read again."""
    traffic = Traffic(3)
    traffic.some(60)
    expected = checked(traffic.world.log)
    assert len(expected) > 5
    traffic.world.logs.close(clean=True)
    reads = traffic.world.fs.reads
    traffic.world.start()
    assert traffic.world.fs.reads - reads < 2 * len(traffic.world.log.segments) + 12
    assert checked(traffic.world.log) == expected


@pytest.mark.parametrize("damage", ["short", "another version", "from another segment"])
def test_a_damaged_file_is_made_again_from_the_log(damage: str) -> None:
    traffic = Traffic(3)
    traffic.some(60)
    expected = checked(traffic.world.log)
    traffic.world.logs.close(clean=True)
    fs = traffic.world.fs
    files = [path for path in fs.paths() if path.endswith(".txnindex")]
    path = files[len(files) // 2]
    sound = bytes(fs.content(path))
    fs.content(path)[:] = {
        "short": sound[:-1],
        "another version": b"\0\1" + sound[2:],
        "from another segment": bytes(fs.content(files[0])),
    }[damage]
    traffic.world.start()
    assert checked(traffic.world.log) == expected
    assert bytes(fs.content(path)) == sound


def test_without_snapshots_everything_is_read_again() -> None:
    """An index file is rebuilt, which needs the transactions that were open at the start of its segment."""
    traffic = Traffic(5)
    traffic.some(60)
    expected = checked(traffic.world.log)
    traffic.world.crash(CrashModel.PROCESS_KILL)
    for path in traffic.world.fs.paths():
        if path.endswith((".snapshot", ".txnindex", "recovery-point-offset-checkpoint")):
            traffic.world.fs.remove(path)
    traffic.world.start()
    assert checked(traffic.world.log) == expected
    check_files(traffic.world)


def test_the_snapshot_that_recovery_would_begin_with_is_kept() -> None:
    """Recovery reads unsynced sealed segments again, and needs their open transactions."""

    def snapshots() -> list[int]:
        return [int(path.rpartition("/")[2][:20]) for path in world.fs.paths() if path.endswith(".snapshot")]

    world = LogWorld(SMALL)
    for number in range(30):
        append(world.log, bytes(200), producer=1)
        if number == 9:
            world.fs.held_syncs = []
        world.tick()
    waiting = [
        segment.base_offset for segment in world.log.segments if segment.base_offset >= world.log.stable.recovery_point
    ]
    assert len(waiting) > 5
    assert snapshots() == waiting
    world.fs.held_syncs = None
    world.restart()
    for _ in range(4):
        append(world.log, bytes(200), producer=1)
        world.tick()
    assert len(snapshots()) == 2


def test_a_file_of_a_log_that_was_longer_is_removed(world: LogWorld) -> None:
    """The stale file is of the last clean stop: a torn tail lost the marker, so the transaction is open again."""
    append(world.log, b"a", producer=1)
    end(world.log, 1, commit=False)
    world.tick()
    world.restart()
    assert f"{FOLDER}/00000000000000000000.txnindex" in world.fs.paths()
    world.crash(CrashModel.PROCESS_KILL)
    world.fs.remove(f"{DATA}/log-manifest")  # it is not known that the marker was on stable storage
    del world.fs.content(f"{FOLDER}/00000000000000000000.log")[-10:]
    world.start()
    assert (checked(world.log), world.log.last_stable_offset, world.log.log_end_offset) == ([], 0, 1)
    assert f"{FOLDER}/00000000000000000000.txnindex" not in world.fs.paths()
    end(world.log, 1, commit=True)
    world.tick()
    world.restart()
    assert (checked(world.log), world.log.last_stable_offset) == ([], 2)


def test_deleting_records_takes_the_last_stable_offset_along(world: LogWorld) -> None:
    """The log start stays at or below the last stable offset, as in Apache Kafka, even within an open transaction."""
    append(world.log, b"a", b"b", b"c", producer=1)
    append(world.log, b"plain")
    world.tick()
    assert world.log.last_stable_offset == 0
    assert world.delete_records(2) is ErrorCode.NONE
    assert (world.log.last_stable_offset, world.log.high_watermark) == (2, 4)
    end(world.log, 1, commit=False)
    world.tick()
    assert world.log.last_stable_offset == 5
    assert world.log.aborted_transactions(2, 5) == [AbortedTransaction(1, 0, 4, 5)]


@pytest.mark.parametrize("clean", [True, False])
def test_deleted_segments_take_their_aborted_transactions_with_them(clean: bool) -> None:
    traffic = Traffic(8)
    traffic.some(80)
    log = traffic.world.log
    aborted = checked(log)
    cut = log.segments[len(log.segments) // 2].base_offset + 1
    assert traffic.world.delete_records(cut) is ErrorCode.NONE
    start = log.segments[0].base_offset
    left = [one for one in aborted if one.last_offset >= start]
    assert 0 < len(left) < len(aborted)
    assert list(log.producers.aborted) == left
    names = [path for path in traffic.world.fs.paths() if path.endswith(".txnindex")]
    assert all(int(name.rpartition("/")[2][:20]) >= start for name in names)
    traffic.world.restart(clean=clean)
    assert list(traffic.world.log.producers.aborted) == left
    assert traffic.world.log.aborted_transactions(cut, cut + 1) == [
        one for one in left if one.first_offset <= cut <= one.last_offset
    ]


def test_retention_removes_the_index_with_its_segment() -> None:
    world = LogWorld(LogSettings(segment_bytes=600, retention_bytes=900))
    for _ in range(12):
        append(world.log, bytes(60), producer=1, now_ms=world.clock.wall_ms())
        end(world.log, 1, commit=False, now_ms=world.clock.wall_ms())
        world.tick()
    world.logs.upkeep.apply_retention()
    bases = {segment.base_offset for segment in world.log.segments}
    files = {int(path.rpartition("/")[2][:20]) for path in world.fs.paths() if path.endswith(".txnindex")}
    assert 0 not in bases
    assert files <= bases
    assert next(iter(world.log.producers.aborted)).last_offset >= min(bases)


# -- dying


def steps_of(seed: int, count: int, *, flush_every_message: bool) -> range:
    traffic = Traffic(seed, flush_every_message=flush_every_message)
    first = traffic.world.fs.steps + 1
    traffic.some(count)
    return range(first, traffic.world.fs.steps + 1)


@pytest.mark.parametrize("model", list(CrashModel))
def test_dying_at_every_disk_operation(model: CrashModel) -> None:
    """Answered records stay, and an aborted record is never reported as committed."""
    steps = steps_of(0, 40, flush_every_message=True)
    assert len(steps) > 60
    for step in steps:
        traffic = Traffic(0, flush_every_message=True)
        traffic.world.fs.crash_at = step
        with pytest.raises(SimulatedCrash):
            traffic.some(40)
        stable = traffic.world.log.last_stable_offset
        traffic.world.crash(model)
        traffic.world.start()
        traffic.check()
        assert traffic.world.log.last_stable_offset >= stable
        traffic.some(6)
        traffic.check()
        traffic.world.restart()
        traffic.check()


@pytest.mark.parametrize("seed", range(6))
def test_power_lost_after_a_segment_is_known_to_be_durable(seed: int) -> None:
    """The index of a segment that is not read again is right, even if appends were not flushed one by one."""
    traffic = Traffic(seed)
    traffic.some(50)
    world, expected = traffic.world, checked(traffic.world.log)
    assert world.log.stable.recovery_point > 0
    for path in world.fs.paths():
        if not path.endswith(".txnindex"):
            file = world.fs.open(path)
            file.sync()
            file.close()
    for folder in (DATA, FOLDER):
        world.fs.sync_dir(folder)
    world.crash(CrashModel.POWER_LOSS)
    world.start()
    assert checked(world.log) == expected
    check_files(world)


@pytest.mark.parametrize("model", list(CrashModel))
def test_dying_again_and_again_during_recovery(model: CrashModel) -> None:
    traffic = Traffic(4, flush_every_message=True)
    traffic.some(50)
    traffic.world.crash(model)
    for step in range(1, 25):
        traffic.world.fs.crash_at = traffic.world.fs.steps + step
        try:
            traffic.world.start()
            traffic.world.tick()
        except SimulatedCrash:
            pass
        traffic.world.crash(model)
    traffic.world.start()
    traffic.check()
