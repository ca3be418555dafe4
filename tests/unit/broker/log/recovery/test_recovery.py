"""Restarts: files that are trusted, checked, rebuilt or removed."""

from __future__ import annotations

import errno

import pytest

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.log.partition_log import AppendInfo
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.log_world import DATA, LogWorld, batch_of, read_all, values_of
from tests.support.worlds.recovered_log import (
    FIRST_LOG,
    FOLDER,
    SIZE,
    batches_from,
    idempotent,
    killed,
    nothing_known,
    put,
    world_of,
)


def test_segments_below_the_recovery_point_are_not_read_again() -> None:
    world = world_of(40, LogSettings(segment_bytes=4 * SIZE))
    assert world.log.stable.recovery_point == 36
    killed(world)
    world.fs.content(FIRST_LOG)[65] ^= 1  # found when it is read
    world.start()
    assert world.log.log_end_offset == 40
    assert world.log.unreadable_range(0) is None
    assert world.log.read(0, 100, upto=40) is ErrorCode.CORRUPT_MESSAGE
    assert world.log.unreadable_range(0) == (0, 1)
    assert len(read_all(world.log, 1)) == 39


def test_an_empty_or_junk_segment_behind_a_torn_one_is_removed() -> None:
    world = nothing_known(killed(world_of(6)))
    del world.fs.content(f"{FOLDER}/00000000000000000004.log")[SIZE + 20 :]
    put(world, f"{FOLDER}/00000000000000000006.log", bytes(500))
    world.start()
    assert world.log.log_end_offset == 5
    assert f"{FOLDER}/00000000000000000006.log" not in world.fs.paths()
    assert world.produce(b"y").base_offset == 5


def test_indexes_are_made_again_when_missing_or_bad() -> None:
    settings = LogSettings(segment_bytes=4_000, index_interval_bytes=200)
    for damage in ("remove", "zeros", "short"):
        world = LogWorld(settings)
        for at in range(120):
            world.produce(b"%d" % at, timestamp_ms=1_000 + at)
        world.logs.close(clean=True)
        for path in world.fs.paths():
            if path.endswith(("index",)):
                content = world.fs.content(path)
                if damage == "remove":
                    world.fs.remove(path)
                elif damage == "zeros":
                    content[:] = bytes(len(content))
                else:
                    del content[-3:]
        world.start()
        assert len(read_all(world.log, max_bytes=700)) == 120
        assert world.log.offset_for_timestamp(1_077) == (1_077, 77)
        assert result_of(world.log.seek_max_timestamp(unpaused)) == (1_119, 119)


def test_a_clean_start_reads_little(world: LogWorld) -> None:
    for _ in range(50):
        world.produce(bytes(100_000))
    world.logs.close(clean=True)
    world.fs.reads = 0
    world.start()
    assert world.log.log_end_offset == 50
    assert world.fs.reads < 20


def test_a_clean_shutdown_whose_log_was_cut_afterwards_is_not_trusted(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of(10)
    world.logs.close(clean=True)
    del world.fs.content(f"{FOLDER}/00000000000000000008.log")[-5:]
    world.start()
    assert "not as a clean shutdown leaves it" in caplog.text
    assert world.log.log_end_offset == 10
    assert world.log.unreadable_range(9) == (9, 10)
    assert world.produce(b"x").base_offset == 10
    world.restart(clean=False)
    assert [span.base_offset for span in batches_from(world, 0)] == [0, 1, 2, 3]
    assert values_of(read_all(world.log, 10)) == [b"x"]


def test_producer_snapshots_that_cannot_be_believed_are_replaced_by_a_replay() -> None:
    for damage in ("flip", "remove"):
        world = LogWorld(LogSettings(segment_bytes=400))
        for sequence in range(12):
            world.append(batch_of(b"v", producer_id=3, producer_epoch=0, base_sequence=sequence))
            world.tick()
        world.logs.close(clean=True)
        for path in world.fs.paths():
            if path.endswith(".snapshot"):
                if damage == "flip":
                    world.fs.content(path)[10] ^= 1
                else:
                    world.fs.remove(path)
        world.start()
        for sequence in range(7, 12):  # the last five, because they were all replayed
            repeated = world.append(batch_of(b"v", producer_id=3, producer_epoch=0, base_sequence=sequence))
            assert repeated == AppendInfo(sequence, sequence, -1, 0, True)


def test_a_snapshot_of_batches_that_are_gone_is_not_used(world: LogWorld) -> None:
    for sequence in range(5):
        world.append(batch_of(b"v", producer_id=3, producer_epoch=0, base_sequence=sequence))
        world.tick()
    world.restart()  # a snapshot at offset 5
    nothing_known(killed(world))
    del world.fs.content(FIRST_LOG)[-10:]
    world.start()
    assert world.log.log_end_offset == 4
    info = world.append(batch_of(b"v", producer_id=3, producer_epoch=0, base_sequence=4))
    assert info == AppendInfo(4, 4, -1, 0, False)


def test_a_producers_batch_across_the_log_start_is_remembered_without_a_snapshot(world: LogWorld) -> None:
    world.append(batch_of(b"a", b"b", b"c", producer_id=3, producer_epoch=0, base_sequence=0))
    world.tick()
    assert world.delete_records(2) is ErrorCode.NONE
    killed(world)
    world.start()
    again = world.append(batch_of(b"a", b"b", b"c", producer_id=3, producer_epoch=0, base_sequence=0))
    assert again == AppendInfo(0, 2, -1, 2, True)


def without_a_snapshot(step: str, path: str) -> OSError | None:
    return OSError(errno.EIO, "broken", path) if step == "write" and ".snapshot" in path else None


def a_log_without_snapshots() -> LogWorld:
    """Return a log with three batches of producer 4, then nine of producer 3; its first segments are sealed."""
    world = LogWorld(LogSettings(segment_bytes=400))
    world.fs.fail = without_a_snapshot
    for producer_id, batches in ((4, 3), (3, 9)):
        for sequence in range(batches):
            world.append(batch_of(b"v", producer_id=producer_id, producer_epoch=0, base_sequence=sequence))
            world.tick()
    assert not any(path.endswith(".snapshot") for path in world.fs.paths())
    return world


@pytest.mark.parametrize("clean", [True, False])
def test_producers_are_remembered_although_segments_go_that_no_snapshot_covers(clean: bool) -> None:
    world = a_log_without_snapshots()
    world.fs.fail = None
    assert world.delete_records(world.log.high_watermark) is ErrorCode.NONE
    world.logs.close(clean=clean)
    world.start()
    assert world.log.producers.producer_ids() == [3, 4]
    again = world.append(batch_of(b"v", producer_id=4, producer_epoch=0, base_sequence=2))
    assert again == AppendInfo(2, 2, -1, 12, True)


def test_segments_stay_that_alone_know_of_producers() -> None:
    world = a_log_without_snapshots()
    before = world.fs.paths()
    assert world.delete_records(world.log.high_watermark) is ErrorCode.KAFKA_STORAGE_ERROR
    assert (world.fs.paths(), world.log.log_start_offset) == (before, 0)


def test_leftovers_of_a_crash_are_swept() -> None:
    world = killed(world_of(10))
    for name in ("00000000000000000077.index", "00000000000000000077.timeindex", "partition.metadata.tmp"):
        put(world, f"{FOLDER}/{name}", b"junk")
    world.start()
    assert not any("77." in path or path.endswith(".tmp") for path in world.fs.paths())


def test_a_deletion_of_old_segments_is_finished() -> None:
    world = world_of(10)
    kept = bytes(world.fs.content(FIRST_LOG))
    assert world.delete_records(5) is ErrorCode.NONE
    killed(world)
    put(world, FIRST_LOG, kept)  # its removal was undone
    world.start()
    assert [segment.base_offset for segment in world.log.segments] == [4, 8]
    assert FIRST_LOG not in world.fs.paths()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (5, 10)


def test_a_log_that_lost_everything_above_its_start_goes_on_there() -> None:
    world = world_of(3)
    assert world.delete_records(3) is ErrorCode.NONE
    nothing_known(killed(world))
    del world.fs.content(FIRST_LOG)[SIZE:]  # as after a power cut without flushing
    world.start()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (3, 3)
    world.tick()  # nobody syncs the segments that are gone
    assert world.log.refusal is ErrorCode.NONE
    assert world.produce(b"x").base_offset == 3
    world.restart(clean=False)
    assert [record.offset for record in read_all(world.log)] == [3]


def test_a_segment_with_a_wrong_name_costs_what_it_hides() -> None:
    world = killed(world_of(6))
    world.fs.remove(f"{DATA}/recovery-point-offset-checkpoint")
    world.fs.rename(f"{FOLDER}/00000000000000000004.log", f"{FOLDER}/00000000000000000003.log")
    world.start()
    assert world.log.log_end_offset == 6
    assert values_of(read_all(world.log, 4)) == [b"4", b"5"]
    assert [span.base_offset for span in batches_from(world, 0)][:3] == [0, 1, 2]


def test_a_log_that_apache_kafka_wrote_is_taken_over() -> None:
    """The folder has no index files of ours, but leader epochs and a metadata file without a final newline."""
    world = world_of(10)
    world.logs.close(clean=True)
    world.fs.write_atomic(f"{FOLDER}/leader-epoch-checkpoint", b"0\n2\n0 0\n4 7\n")
    world.fs.write_atomic(f"{FOLDER}/partition.metadata", b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    world.fs.remove(f"{DATA}/clean-shutdown")
    world.start()
    assert world.log.leader_epoch == 4
    assert world.produce(b"x").base_offset == 10
    assert len(read_all(world.log)) == 11


def test_a_batch_that_was_lost_is_stored_when_its_producer_sends_it_again(world: LogWorld) -> None:
    """Treated as a duplicate, the batch would stay lost."""
    for sequence in range(3):
        world.append(idempotent(b"%d" % sequence, sequence))
        world.tick()
    world.restart()
    world.fs.flip_bit(FIRST_LOG, len(world.fs.content(FIRST_LOG)) - 1, 0)
    assert world.log.read(2, 1 << 20, upto=3) is ErrorCode.CORRUPT_MESSAGE
    known = world.append(idempotent(b"1", 1))
    again = world.append(idempotent(b"2", 2))
    twice = world.append(idempotent(b"2", 2))
    world.tick()
    assert isinstance(known, AppendInfo)
    assert isinstance(again, AppendInfo)
    assert isinstance(twice, AppendInfo)
    assert (known.base_offset, known.duplicate) == (1, True)
    assert (again.base_offset, again.duplicate) == (3, False)
    assert (twice.base_offset, twice.duplicate) == (3, True)
    assert isinstance(world.append(idempotent(b"3", 3)), AppendInfo)


def test_an_empty_segment_that_is_removed_is_not_synced() -> None:
    """The file was cut to nothing while the broker was down, and another power loss follows."""
    world = LogWorld(flush_every_message=True)
    world.produce(b"0")
    world.clock.advance(2_000)
    killed(world)
    world.fs.cut(FIRST_LOG, 0)
    world.start()
    assert (world.log.log_end_offset, world.log.unreadable_range(0)) == (1, (0, 1))
