"""Starts after acknowledged data was lost: missing files and pages, as known from manifest and checkpoints."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.folders import DamagedFolderError
from shareq.broker.log.partition_log import AppendInfo
from shareq.broker.log.promises.checkpoints import format_offsets, parse_offsets
from shareq.broker.log.promises.manifest import parse_manifest, row_line
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Record, decode_records
from tests.support.each import for_each
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, batch_of, read_all, values_of
from tests.support.worlds.recovered_log import FIRST_LOG, FOLDER, MANIFEST, SIZE, idempotent, killed, put, world_of

# -- what was promised


@pytest.mark.parametrize("missing", [0, 4, 8])
@pytest.mark.parametrize("clean", [True, False])
def test_a_missing_segment_costs_its_records(missing: int, clean: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The loss is reported; such a start was once silent."""
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
    while isinstance(result := world.log.read(offset, 10_000, upto=world.log.high_watermark), ReadResult):
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
    assert world.log.available_bytes(3, 10) == 0
    assert world.produce(b"x").base_offset == 10
    for clean in (False, True, True):
        world.restart(clean=clean)
        assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 11)
        assert world.log.unreadable_range(3) == (0, 10)
        assert values_of(read_all(world.log, 10)) == [b"x"]


def test_a_flipped_bit_in_the_log_start_checkpoint_brings_no_deleted_record_back() -> None:
    """One flipped bit once brought back the deleted records of all topics."""
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


@for_each("seed", range(40))
def test_lost_pages_of_the_unsynced_tail_never_stop_a_start(seed: int) -> None:
    """11 of 100 starts were once refused because sound batches followed the lost pages."""
    rng = Random(seed)
    world = LogWorld(LogSettings(segment_bytes=60_000), flush_every_message=True, seed=seed)
    world.fs.loses_pages = True
    reported: list[int] = []
    sent = 0
    for _ in range(rng.randint(5, 30)):
        for _ in range(rng.randint(1, 6)):
            world.append(batch_of(rng.randbytes(rng.randint(1, 6_000))), lambda _error, at=sent: reported.append(at))  # type: ignore[misc]
            sent += 1
        world.clock.run_tick()
    world.crash(CrashModel.POWER_LOSS)
    world.start()
    assert all(offset < world.log.log_end_offset for offset in reported)
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
    """Unanswered bytes may be anything after a power loss, so their offsets are used again."""
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
    """The log's first line is synced within a second, and any page may be lost before."""
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
    """The recovery point covers whole segments and is durable before the manifest."""
    world = killed(world_of(10))
    behind = parse_manifest(bytes(world.fs.content(MANIFEST)))
    assert behind is not None
    put(world, MANIFEST, row_line((TOPIC, 0), behind.rows[TOPIC, 0]._replace(synced=1)))
    world.start()
    assert world.log.manifest_row().synced >= 8


def test_the_sequence_in_a_damaged_header_is_not_believed(world: LogWorld) -> None:
    """The batch that really has this sequence would be treated as a duplicate, and be lost."""
    world.append(batch_of(b"a", producer_id=7, producer_epoch=0, base_sequence=0))
    world.produce(b"b")
    killed(world)
    world.fs.flip_bit(FIRST_LOG, 56, 2)  # base sequence 0 becomes 4
    world.start()
    info = world.append(batch_of(b"c", producer_id=7, producer_epoch=0, base_sequence=4))
    assert isinstance(info, AppendInfo)
    assert (info.base_offset, info.duplicate) == (2, False)


def test_what_comes_behind_missing_segments_is_promised() -> None:
    """No sync stores later records while earlier ones are missing, so the later ones count as synced."""
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


def test_a_lost_batch_before_others_of_its_producer_is_known_as_before(world: LogWorld) -> None:
    """The lost batch counts as a duplicate: stored now, it would follow batches that were sent after it."""
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


def test_what_is_behind_damage_at_the_end_is_reported_as_one_range() -> None:
    world = world_of(3)
    world.restart()
    world.fs.flip_bit(FIRST_LOG, 2 * SIZE + 65, 1)
    log = world.log
    assert log.read(2, 1 << 20, upto=3) is ErrorCode.CORRUPT_MESSAGE
    assert log.unreadable_range(2) == (2, 3)
    log.high_watermark = log.log_end_offset = 1 << 30  # as a damaged header may have said to an earlier start
    assert log.read(3, 1 << 20, upto=1 << 30) is ErrorCode.CORRUPT_MESSAGE
    assert log.unreadable_range(3) == (3, 1 << 30)
