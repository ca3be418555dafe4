"""Starting again: what is trusted, what is checked, what is cut off, and what stops the start."""

from __future__ import annotations

import pytest

from shareq.broker.log.manager import CorruptLogError
from shareq.broker.log.partition_log import AppendInfo
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from tests.support.log_world import DATA, TOPIC, LogWorld, batch_of, read_all, values_of
from tests.support.mem_fs import CrashModel

FOLDER = f"{DATA}/{TOPIC}-0"
SIZE = len(batch_of(b"0"))
FIRST_LOG = f"{FOLDER}/00000000000000000000.log"


def world_of(count: int, settings: LogSettings | None = None) -> LogWorld:
    world = LogWorld(settings or LogSettings(segment_bytes=4 * SIZE))
    for at in range(count):
        world.produce(b"%d" % (at % 10))
    return world


def killed(world: LogWorld) -> LogWorld:
    world.crash(CrashModel.PROCESS_KILL)
    return world


def put(world: LogWorld, path: str, content: bytes) -> None:
    """Leave a file behind."""
    file = world.fs.open(path, create=True)
    file.append([content])
    file.close()


@pytest.mark.parametrize("cut", [1, 30, SIZE - 1])
def test_a_torn_tail_is_cut_off(cut: int, caplog: pytest.LogCaptureFixture) -> None:
    world = killed(world_of(10))
    tail = f"{FOLDER}/00000000000000000008.log"
    world.fs.content(tail).extend(bytes(batch_of(b"x"))[:cut])
    world.start()
    assert len(world.fs.content(tail)) == 2 * SIZE
    assert world.log.log_end_offset == 10
    assert f"{tail}: " in caplog.text
    assert f"(offset 10): removing the last {cut} bytes" in caplog.text
    assert world.append(batch_of(b"y")) == AppendInfo(10, 10, -1, 0, False)
    world.tick()
    world.restart()
    assert values_of(read_all(world.log))[-2:] == [b"9", b"y"]


def test_a_torn_first_write_of_a_segment_leaves_it_empty() -> None:
    world = killed(world_of(8))
    put(world, f"{FOLDER}/00000000000000000008.log", bytes(batch_of(b"x"))[:50])
    world.start()
    assert world.log.log_end_offset == 8
    assert world.produce(b"y").base_offset == 8
    world.restart()
    assert len(read_all(world.log)) == 9


def test_damage_with_sound_batches_behind_it_stops_the_start() -> None:
    """Never truncate by itself what may hold answered records."""
    world = killed(world_of(10))
    path = f"{FOLDER}/00000000000000000008.log"
    before = world.fs.content(path)
    before[65] ^= 1
    with pytest.raises(CorruptLogError) as raised:
        world.start()
    assert (raised.value.path, raised.value.position, raised.value.offset) == (path, 0, 8)
    assert f"{path}: damaged at byte 0 (offset 8): CRC does not match" in str(raised.value)
    assert len(world.fs.content(path)) == 2 * SIZE  # nothing was changed
    before[65] ^= 1
    assert world.start().get(TOPIC, 0).log_end_offset == 10  # the lock was given back


def test_damage_in_a_segment_with_sound_ones_behind_it_stops_the_start() -> None:
    world = killed(world_of(10))
    world.fs.remove(f"{DATA}/recovery-point-offset-checkpoint")
    world.fs.content(FIRST_LOG)[3 * SIZE + 65] ^= 1  # the last batch of the first segment
    with pytest.raises(CorruptLogError, match=r"0\.log: damaged at byte .* \(offset 3\).*in data/orders-0/0*4\.log"):
        world.start()


def test_segments_below_the_recovery_point_are_not_read_again() -> None:
    world = world_of(40, LogSettings(segment_bytes=4 * SIZE))
    assert world.log.recovery_point == 36
    killed(world)
    world.fs.content(FIRST_LOG)[65] ^= 1  # would stop the start, were it looked at
    world.start()
    assert world.log.log_end_offset == 40
    assert world.log.read(0, 100, upto=40) is ErrorCode.CORRUPT_MESSAGE


def test_an_empty_or_junk_segment_behind_a_torn_one_is_removed() -> None:
    world = killed(world_of(6))
    del world.fs.content(f"{FOLDER}/00000000000000000004.log")[SIZE + 20 :]
    put(world, f"{FOLDER}/00000000000000000006.log", bytes(500))
    world.start()
    assert world.log.log_end_offset == 5
    assert f"{FOLDER}/00000000000000000006.log" not in world.fs.paths()
    assert world.produce(b"y").base_offset == 5


def test_indexes_are_made_anew_when_missing_or_bad() -> None:
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
        assert world.log.max_timestamp() == (1_119, 119)


def test_a_clean_start_reads_little() -> None:
    world = LogWorld()
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
    assert world.log.log_end_offset == 9


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


def test_a_snapshot_of_batches_that_are_gone_is_not_used() -> None:
    world = LogWorld()
    for sequence in range(5):
        world.append(batch_of(b"v", producer_id=3, producer_epoch=0, base_sequence=sequence))
        world.tick()
    world.restart()  # a snapshot at offset 5
    killed(world)
    del world.fs.content(FIRST_LOG)[-10:]
    world.start()
    assert world.log.log_end_offset == 4
    info = world.append(batch_of(b"v", producer_id=3, producer_epoch=0, base_sequence=4))
    assert info == AppendInfo(4, 4, -1, 0, False)


def test_a_producers_batch_across_the_log_start_is_remembered_without_a_snapshot() -> None:
    world = LogWorld()
    world.append(batch_of(b"a", b"b", b"c", producer_id=3, producer_epoch=0, base_sequence=0))
    world.tick()
    assert world.log.truncate_prefix(2) is ErrorCode.NONE
    killed(world)
    world.start()
    again = world.append(batch_of(b"a", b"b", b"c", producer_id=3, producer_epoch=0, base_sequence=0))
    assert again == AppendInfo(0, 2, -1, 2, True)


def test_leftovers_of_a_crash_are_swept() -> None:
    world = killed(world_of(10))
    for name in ("00000000000000000077.index", "00000000000000000077.timeindex", "partition.metadata.tmp"):
        put(world, f"{FOLDER}/{name}", b"junk")
    world.start()
    assert not any("77." in path or path.endswith(".tmp") for path in world.fs.paths())


def test_a_deletion_of_old_segments_is_finished() -> None:
    world = world_of(10)
    kept = bytes(world.fs.content(FIRST_LOG))
    assert world.log.truncate_prefix(5) is ErrorCode.NONE
    killed(world)
    put(world, FIRST_LOG, kept)  # its removal was undone
    world.start()
    assert [segment.base_offset for segment in world.log.segments] == [4, 8]
    assert FIRST_LOG not in world.fs.paths()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (5, 10)


def test_a_log_that_lost_everything_above_its_start_goes_on_there() -> None:
    world = world_of(3)
    assert world.log.truncate_prefix(3) is ErrorCode.NONE
    killed(world)
    del world.fs.content(FIRST_LOG)[SIZE:]  # as after a power cut without flushing
    world.start()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (3, 3)
    world.tick()  # nobody syncs the segments that are gone
    assert world.log.refusal is ErrorCode.NONE
    assert world.produce(b"x").base_offset == 3
    world.restart(clean=False)
    assert [record.offset for record in read_all(world.log)] == [3]


def test_overlapping_segments_stop_the_start() -> None:
    world = killed(world_of(6))
    world.fs.remove(f"{DATA}/recovery-point-offset-checkpoint")
    world.fs.rename(f"{FOLDER}/00000000000000000004.log", f"{FOLDER}/00000000000000000003.log")
    with pytest.raises(CorruptLogError, match="overlaps"):
        world.start()


def test_a_log_that_apache_kafka_wrote_is_taken_over() -> None:
    """Without our index files, with its leader epochs and a metadata file without a final newline."""
    world = world_of(10)
    world.logs.close(clean=True)
    world.fs.write_atomic(f"{FOLDER}/leader-epoch-checkpoint", b"0\n2\n0 0\n4 7\n")
    world.fs.write_atomic(f"{FOLDER}/partition.metadata", b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    world.fs.remove(f"{DATA}/clean-shutdown")
    world.start()
    assert world.log.leader_epoch == 4
    assert world.produce(b"x").base_offset == 10
    assert len(read_all(world.log)) == 11
