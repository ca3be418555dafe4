"""Starting again: what is trusted, what is checked, what is cut off, and what is kept though it is damaged."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.folders import DamagedFolderError
from shareq.broker.log.partition_log import AppendInfo, BatchSpan
from shareq.broker.log.promises.checkpoints import format_offsets, parse_offsets
from shareq.broker.log.promises.manifest import parse_manifest, row_line
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Record, RecordData, build_batch, decode_records
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, batch_of, read_all, values_of

FOLDER = f"{DATA}/{TOPIC}-0"
SIZE = len(batch_of(b"0"))
FIRST_LOG = f"{FOLDER}/00000000000000000000.log"
MANIFEST = f"{DATA}/log-manifest"


def world_of(count: int, settings: LogSettings | None = None) -> LogWorld:
    world = LogWorld(settings or LogSettings(segment_bytes=4 * SIZE))
    for at in range(count):
        world.produce(b"%d" % (at % 10))
    return world


def killed(world: LogWorld) -> LogWorld:
    world.crash(CrashModel.PROCESS_KILL)
    return world


def nothing_known(world: LogWorld) -> LogWorld:
    """As a folder of format 1, or when the manifest is lost: what was promised is not known."""
    world.fs.remove(f"{DATA}/log-manifest")
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


def test_damage_with_sound_batches_behind_it_is_kept_and_read_around(caplog: pytest.LogCaptureFixture) -> None:
    """Never truncate by itself what may hold answered records; never refuse the others for it."""
    world = killed(world_of(10))
    path = f"{FOLDER}/00000000000000000008.log"
    world.fs.content(path)[65] ^= 1
    damaged = bytes(world.fs.content(path))
    world.start()
    assert (
        f"{path}: damaged at byte 0 (offset 8): CRC does not match; offsets 8 to 8 cannot be read, "
        f"{SIZE} bytes are kept as they are" in caplog.text
    )
    assert world.log.read(8, 100, upto=10) is ErrorCode.CORRUPT_MESSAGE
    assert world.log.unreadable_range(8) == (8, 9)
    assert values_of(read_all(world.log, 9)) == [b"9"]
    assert values_of(read_all(world.log, readable_until(world, 8))) == [b"9"]
    assert world.produce(b"x").base_offset == 10
    assert bytes(world.fs.content(path)).startswith(damaged)


def readable_until(world: LogWorld, offset: int) -> int:
    """As a consumer that seeks behind what it cannot read."""
    lost = world.log.unreadable_range(offset)
    return offset if lost is None else lost[1]


def test_damage_in_a_segment_with_sound_ones_behind_it_is_kept() -> None:
    world = killed(world_of(10))
    world.fs.remove(f"{DATA}/recovery-point-offset-checkpoint")
    world.fs.content(FIRST_LOG)[3 * SIZE + 65] ^= 1  # the last batch of the first segment
    world.start()
    assert world.log.unreadable_range(3) == (3, 4)
    assert values_of(read_all(world.log, 4)) == [b"%d" % at for at in range(4, 10)]
    assert [span.base_offset for span in batches_from(world, 0)] == [0, 1, 2]


def batches_from(world: LogWorld, offset: int) -> Sequence[BatchSpan]:
    result = world.log.read(offset, 1 << 20, upto=world.log.high_watermark)
    assert not isinstance(result, ErrorCode)
    return result.batches


@pytest.mark.parametrize("bit", range(64))
def test_a_flipped_bit_in_a_base_offset_costs_that_batch(bit: int) -> None:
    """89 % of a log used to be cut off for it, as a write that was cut off."""
    world = killed(world_of(20, LogSettings()))
    world.fs.flip_bit(FIRST_LOG, 2 * SIZE + bit // 8, bit % 8)
    world.start()
    assert world.log.log_end_offset == 20
    assert values_of(read_all(world.log, 3)) == [b"%d" % (at % 10) for at in range(3, 20)]
    assert [span.base_offset for span in batches_from(world, 0)] == [0, 1]
    assert world.log.unreadable_range(2) == (2, 3)


@pytest.mark.parametrize("bit", range(64))
@pytest.mark.parametrize("settings", [LogSettings(), LogSettings(segment_bytes=4 * SIZE)])
def test_a_flipped_bit_in_a_base_offset_is_never_served_at_run_time(settings: LogSettings, bit: int) -> None:
    world = world_of(20, settings)
    world.fs.flip_bit(FIRST_LOG, 2 * SIZE + bit // 8, bit % 8)
    assert values_of(read_all(world.log, 4)) == [b"%d" % (at % 10) for at in range(4, 20)]
    assert world.log.read(2, 10_000, upto=20) is ErrorCode.CORRUPT_MESSAGE
    assert world.log.unreadable_range(2) == (2, 3)
    assert [span.base_offset for span in batches_from(world, 0)] == [0, 1]
    assert batches_from(world, 3)[0].base_offset == 3
    world.restart()
    assert world.log.read(2, 10_000, upto=20) is ErrorCode.CORRUPT_MESSAGE
    assert values_of(read_all(world.log, 3)) == [b"%d" % (at % 10) for at in range(3, 20)]


def test_a_flipped_bit_in_the_first_base_offset_of_a_compacted_log_costs_that_batch() -> None:
    """`__transaction_state` used to be cut to one id."""
    for clean in (True, False):
        world = world_of(20, LogSettings(compact=True, delete=False))
        world.logs.close(clean=True) if clean else world.crash(CrashModel.PROCESS_KILL)
        if clean:
            world.clock.drop_everything()
        world.fs.flip_bit(FIRST_LOG, 2, 3)
        world.start()
        assert world.log.log_end_offset == 20
        assert values_of(read_all(world.log, 1)) == [b"%d" % (at % 10) for at in range(1, 20)]
        assert world.log.read(0, 10_000, upto=20) is ErrorCode.CORRUPT_MESSAGE
        assert world.log.unreadable_range(0) == (0, 1)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("segment", [0, 2, 4])
def test_a_base_offset_that_no_index_could_hold_costs_that_batch(segment: int, clean: bool) -> None:
    """It used to be believed: reads ended there without a word, and a log of 6 records ended at 2**58."""
    world = LogWorld(LogSettings(compact=True, delete=False, segment_bytes=2 * SIZE))
    for at in range(6):
        world.append(batch_of(b"%d" % at, key=b"%d" % at))
    world.tick()
    world.logs.close(clean=True)
    world.clock.drop_everything()
    if not clean:
        world.start()
        world.crash(CrashModel.PROCESS_KILL)
    world.fs.flip_bit(f"{FOLDER}/{segment:020d}.log", 0, 2)
    world.start()
    assert world.log.log_end_offset == 6
    assert world.log.read(segment, 10_000, upto=6) is ErrorCode.CORRUPT_MESSAGE
    assert world.log.unreadable_range(segment) == (segment, segment + 1)
    assert values_of(read_all(world.log, segment + 1)) == [b"%d" % at for at in range(segment + 1, 6)]


def test_the_only_batch_of_the_last_segment_with_such_a_base_offset_is_damage(caplog: pytest.LogCaptureFixture) -> None:
    world = killed(world_of(5, LogSettings(compact=True, delete=False, segment_bytes=4 * SIZE)))
    world.fs.flip_bit(f"{FOLDER}/00000000000000000004.log", 0, 2)
    world.start()
    assert world.log.log_end_offset == 5
    assert world.log.read(4, 10_000, upto=5) is ErrorCode.CORRUPT_MESSAGE
    assert f"{FOLDER}/00000000000000000004.log: damaged at byte 0 (offset 4)" in caplog.text


def test_a_batch_that_claims_offsets_of_the_one_before_is_not_served() -> None:
    """In a compacted log it was given to whoever read on from its true base offset."""
    size = len(batch_of(b"a", b"b", b"c"))
    world = LogWorld(LogSettings(compact=True, delete=False, segment_bytes=4 * size))
    for at in range(10, 25, 3):
        batch = build_batch([RecordData(b"%d" % (at + each), b"") for each in range(3)], timestamp_ms=1)
        assert len(batch) == size
        world.append(batch)
    world.tick()
    world.logs.close(clean=True)
    world.clock.drop_everything()
    world.fs.flip_bit(FIRST_LOG, 2 * size + 7, 1)  # base offset 6 becomes 4
    world.start()
    assert [span.last_offset for span in batches_from(world, 0)] == [2, 5]
    assert world.log.read(6, 10_000, upto=15) is ErrorCode.CORRUPT_MESSAGE
    assert world.log.unreadable_range(6) == (6, 9)
    assert [record.offset for record in read_all(world.log, 9)] == list(range(9, 15))


@pytest.mark.parametrize("cut", [1, SIZE - 30, SIZE - 1])
def test_a_segment_that_was_cut_while_stopped_ends_reads_with_an_error(cut: int) -> None:
    """At the second start reads of its last bytes used to find nothing, for ever."""
    world = world_of(10)
    for _ in range(2):
        world.logs.close(clean=True)
        world.clock.drop_everything()
        del world.fs.content(FIRST_LOG)[2 * SIZE + cut :]
        world.start()
        assert world.log.read(2, 10_000, upto=10) is ErrorCode.CORRUPT_MESSAGE
        assert world.log.unreadable_range(2) == (2, 4)
        assert values_of(read_all(world.log, 4))[:6] == [b"%d" % at for at in range(4, 10)]
        world.produce(b"x")


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


def test_a_snapshot_of_batches_that_are_gone_is_not_used() -> None:
    world = LogWorld()
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


def test_a_producers_batch_across_the_log_start_is_remembered_without_a_snapshot() -> None:
    world = LogWorld()
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
    """Three batches of producer 4, then nine of producer 3; the first segments are sealed."""
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


def test_segments_stay_that_alone_tell_of_producers() -> None:
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


# -- what was promised


@pytest.mark.parametrize("missing", [0, 4, 8])
@pytest.mark.parametrize("clean", [True, False])
def test_a_missing_segment_costs_its_records(missing: int, clean: bool, caplog: pytest.LogCaptureFixture) -> None:
    """It used to start without a word."""
    world = world_of(10)
    world.logs.close(clean=True)
    world.clock.drop_everything()
    if not clean:
        world.start()
        world.crash(CrashModel.PROCESS_KILL)
    world.fs.remove(f"{FOLDER}/{missing:020d}.log")
    world.start()
    end = min(missing + 4, 10)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 10)
    assert f"records with offsets {missing} to {end - 1} are missing" in caplog.text
    assert world.log.unreadable_range(missing) == (missing, end)
    assert world.log.read(missing, 1000, upto=10) is ErrorCode.CORRUPT_MESSAGE
    readable = [b"%d" % at for at in range(10) if not missing <= at < end]
    found = [] if missing == 0 else values_of(read_until_refused(world, 0))
    found += values_of(read_all(world.log, end))
    assert found == readable
    assert world.produce(b"x").base_offset == 10
    world.restart()
    assert values_of(read_all(world.log, end))[-1] == b"x"
    assert world.log.unreadable_range(missing) == (missing, end)


def read_until_refused(world: LogWorld, offset: int) -> list[Record]:
    records: list[Record] = []
    while not isinstance(result := world.log.read(offset, 10_000, upto=world.log.high_watermark), ErrorCode):
        for span in result.batches:
            records += decode_records(result.records[span.position : span.position + span.size])
        offset = result.batches[-1].last_offset + 1
    assert result is ErrorCode.CORRUPT_MESSAGE
    return records


def test_a_missing_folder_costs_its_records(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of(10)
    world.logs.close(clean=True)
    world.clock.drop_everything()
    for path in [path for path in world.fs.paths() if path.startswith(FOLDER)]:
        world.fs.remove(path)
    world.fs.remove_dir(FOLDER)
    world.start()
    assert f"{FOLDER}: the folder of a partition is missing" in caplog.text
    assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 10)
    assert world.log.unreadable_range(3) == (0, 10)
    assert world.log.read(3, 1000, upto=10) is ErrorCode.CORRUPT_MESSAGE
    assert world.produce(b"x").base_offset == 10
    for clean in (False, True, True):
        world.restart(clean=clean)
        assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 11)
        assert world.log.unreadable_range(3) == (0, 10)
        assert values_of(read_all(world.log, 10)) == [b"x"]


def test_a_flipped_bit_in_the_log_start_checkpoint_brings_no_deleted_record_back() -> None:
    """It used to bring back the deleted records of all topics."""
    path = f"{DATA}/log-start-offset-checkpoint"
    for at in range(len(format_offsets({(TOPIC, 0): 5}))):
        world = world_of(10)
        assert world.delete_records(5) is ErrorCode.NONE
        killed(world)
        world.fs.flip_bit(path, at, at % 7)
        world.start()
        assert world.log.log_start_offset == 5
        assert parse_offsets(world.fs.read_bytes(path)) == {(TOPIC, 0): 5}


def test_without_either_record_of_log_starts_nothing_starts() -> None:
    world = world_of(10)
    assert world.delete_records(5) is ErrorCode.NONE
    killed(world)
    world.fs.flip_bit(f"{DATA}/log-start-offset-checkpoint", 5, 1)
    world.fs.zero(f"{DATA}/log-manifest", 0, 10)
    with pytest.raises(DamagedFolderError, match=r"deleted records would be back. `shareq verify data --repair`"):
        world.start()


@pytest.mark.parametrize("seed", range(40))
def test_lost_pages_of_the_unsynced_tail_never_stop_a_start(seed: int) -> None:
    """11 of 100 starts used to be refused: sound batches followed what was lost."""
    rng = Random(seed)
    world = LogWorld(LogSettings(segment_bytes=60_000), flush_every_message=True, seed=seed)
    world.fs.loses_pages = True
    told: list[int] = []
    sent = 0
    for _ in range(rng.randint(5, 30)):
        for _ in range(rng.randint(1, 6)):
            world.append(batch_of(rng.randbytes(rng.randint(1, 6_000))), lambda _error, at=sent: told.append(at))  # type: ignore[misc]
            sent += 1
        world.clock.run_tick()
    world.crash(CrashModel.POWER_LOSS)
    world.start()
    assert all(offset < world.log.log_end_offset for offset in told)
    assert [record.offset for record in read_all(world.log)] == list(range(world.log.log_end_offset))
    assert world.log.unreadable_range(0) is None
    info = world.produce(b"next")
    world.crash(CrashModel.POWER_LOSS)
    world.start()
    assert values_of(read_all(world.log, info.base_offset)) == [b"next"]


def test_what_is_cut_off_though_it_is_sound_is_kept_aside(caplog: pytest.LogCaptureFixture) -> None:
    world = LogWorld(flush_every_message=True)
    for at in range(4):
        world.produce(b"%d" % at)
    world.fs.held_syncs = []
    for at in range(4, 8):
        world.append(batch_of(b"%d" % at))
    world.clock.run_tick()
    content = bytes(world.fs.content(FIRST_LOG))
    world.fs.held_syncs = None
    world.crash(CrashModel.POWER_LOSS)
    torn = bytearray(content)
    torn[5 * SIZE + 65] ^= 1
    world.fs.remove(FIRST_LOG)
    put(world, FIRST_LOG, bytes(torn))
    world.start()
    assert world.log.log_end_offset == 5
    assert bytes(world.fs.content(f"{FIRST_LOG}.{5 * SIZE}.cut")) == bytes(torn[5 * SIZE :])
    assert "sound records behind offset 5 were written without being synced" in caplog.text


def test_damage_below_the_synced_offset_is_kept_after_a_power_loss() -> None:
    world = LogWorld(flush_every_message=True)
    for at in range(8):
        world.produce(b"%d" % at)
    world.clock.advance(2_000)  # the manifest is synced by then
    world.crash(CrashModel.POWER_LOSS)
    world.fs.flip_bit(FIRST_LOG, 7 * SIZE + 65, 1)  # the last batch of all
    world.start()
    assert world.log.log_end_offset == 8
    assert world.log.unreadable_range(7) == (7, 8)
    assert world.produce(b"x").base_offset == 8
    world.restart(clean=False)
    assert values_of(read_all(world.log, 8)) == [b"x"]


def test_damage_below_the_synced_offset_does_not_take_what_follows_it_into_the_promise() -> None:
    """What was never answered may be anything after a loss of power: it is no damage, and its offset is free."""
    world = LogWorld(flush_every_message=True)
    for at in range(3):
        world.produce(b"%d" % at)
    world.clock.advance(2_000)
    world.crash(CrashModel.POWER_LOSS)
    world.fs.flip_bit(FIRST_LOG, 2 * SIZE + 65, 1)
    world.fs.content(FIRST_LOG).extend(bytes(batch_of(b"z"))[:12] + bytes(SIZE - 12))  # the write that was under way
    world.start()
    assert world.log.log_end_offset == 3
    assert world.log.unreadable_range(2) == (2, 3)
    assert world.produce(b"x").base_offset == 3


def test_a_log_that_the_manifest_does_not_know_yet_has_promised_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Its first line is synced within a second; until then a loss of power may take any page of the log."""
    world = LogWorld(flush_every_message=True)
    world.clock.advance(2_000)
    world.fs.held_syncs = []
    for at in range(4):
        world.append(batch_of(b"%d" % at))
    world.clock.run_tick()
    content = bytes(world.fs.content(FIRST_LOG))
    manifest = bytes(world.fs.content(f"{DATA}/log-manifest"))
    world.fs.held_syncs = None
    world.crash(CrashModel.POWER_LOSS)
    world.fs.make_dirs(FOLDER)
    for path, kept in ((FIRST_LOG, bytes(SIZE) + content[SIZE:]), (f"{DATA}/log-manifest", manifest.split(b"log ")[0])):
        if world.fs.exists(path):
            world.fs.remove(path)
        put(world, path, kept.rpartition(b"\n")[0] + b"\n" if path.endswith("manifest") else kept)
    world.start()
    assert (world.log.log_end_offset, world.log.unreadable_range(0)) == (0, None)
    assert "sound records behind offset 0 were written without being synced" in caplog.text


def test_what_is_sealed_and_synced_is_promised_though_the_manifest_is_behind() -> None:
    """The recovery point tells of whole segments, and is on stable storage before the manifest is."""
    world = killed(world_of(10))
    behind = parse_manifest(bytes(world.fs.content(MANIFEST)))
    assert behind is not None
    put(world, MANIFEST, row_line((TOPIC, 0), behind.rows[TOPIC, 0]._replace(synced=1)))
    world.start()
    assert world.log.manifest_row().synced >= 8


def test_the_sequence_in_a_damaged_header_is_not_believed() -> None:
    """The batch that has this sequence would be answered as known, with the offset of the damaged one, and be lost."""
    world = LogWorld()
    world.append(batch_of(b"a", producer_id=7, producer_epoch=0, base_sequence=0))
    world.produce(b"b")
    killed(world)
    world.fs.flip_bit(FIRST_LOG, 56, 2)  # base sequence 0 becomes 4
    world.start()
    info = world.append(batch_of(b"c", producer_id=7, producer_epoch=0, base_sequence=4))
    assert isinstance(info, AppendInfo)
    assert (info.base_offset, info.duplicate) == (2, False)


def test_what_comes_behind_missing_segments_is_promised() -> None:
    """What is missing beyond the synced offset is nothing that a sync could bring there."""
    world = world_of(10)
    manifest = bytes(world.fs.content(MANIFEST))
    killed(world)
    row = parse_manifest(manifest)
    assert row is not None
    put(world, MANIFEST, row_line((TOPIC, 0), row.rows[TOPIC, 0]._replace(synced=5)))
    put(world, f"{DATA}/recovery-point-offset-checkpoint", b"")
    world.fs.remove(f"{FOLDER}/{4:020d}.log")
    world.flush_every_message = True
    world.start()
    assert world.log.unreadable_range(5) == (4, 8)
    assert world.produce(b"x").base_offset == 10
    assert world.log.manifest_row().synced == 11


def idempotent(value: bytes, sequence: int, *, transactional: bool = False) -> bytearray:
    return batch_of(value, producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=transactional)


def test_a_batch_that_was_lost_is_stored_when_its_producer_sends_it_again() -> None:
    """It would be answered as known, though nobody can read it any more."""
    world = LogWorld()
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


def test_a_lost_batch_before_others_of_its_producer_is_known_as_before() -> None:
    """Stored now, it would be behind what was sent after it."""
    world = LogWorld()
    for sequence in range(2):
        world.append(idempotent(b"%d" % sequence, sequence))
        world.tick()
    size = len(world.fs.content(FIRST_LOG)) // 2
    world.fs.flip_bit(FIRST_LOG, size - 1, 0)
    world.fs.flip_bit(FIRST_LOG, 2 * size - 1, 0)
    assert world.log.read(0, 1 << 20, upto=2) is ErrorCode.CORRUPT_MESSAGE
    known = world.append(idempotent(b"0", 0))
    assert isinstance(known, AppendInfo)
    assert (known.base_offset, known.duplicate) == (0, True)


def test_what_is_behind_damage_at_the_end_is_told_as_one_range() -> None:
    world = world_of(3)
    world.restart()
    world.fs.flip_bit(FIRST_LOG, 2 * SIZE + 65, 1)
    log = world.log
    assert log.read(2, 1 << 20, upto=3) is ErrorCode.CORRUPT_MESSAGE
    assert log.unreadable_range(2) == (2, 3)
    log.high_watermark = log.log_end_offset = 1 << 30  # as a damaged header may have told an earlier start
    assert log.read(3, 1 << 20, upto=1 << 30) is ErrorCode.CORRUPT_MESSAGE
    assert log.unreadable_range(3) == (3, 1 << 30)


def test_an_empty_segment_that_is_removed_is_not_synced() -> None:
    """The file was cut to nothing while the broker was dead, and power is lost once more while it starts."""
    world = LogWorld(flush_every_message=True)
    world.produce(b"0")
    world.clock.advance(2_000)
    killed(world)
    world.fs.cut(FIRST_LOG, 0)
    world.start()
    assert (world.log.log_end_offset, world.log.unreadable_range(0)) == (1, (0, 1))
