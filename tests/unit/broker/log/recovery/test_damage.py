"""Starts on damaged bytes: what is cut off, and what is kept despite the damage."""

from __future__ import annotations

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.partition_log import AppendInfo
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.worlds.log_world import DATA, LogWorld, batch_of, read_all, values_of
from tests.support.worlds.recovered_log import FIRST_LOG, FOLDER, SIZE, batches_from, killed, put, world_of


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
    """Batches that may hold answered records are never truncated, and the others are served."""
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
    """Return the offset at which a consumer continues that skips unreadable records."""
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


@pytest.mark.parametrize("bit", range(64))
def test_a_flipped_bit_in_a_base_offset_costs_that_batch(bit: int) -> None:
    """A start once cut off 89 % of such a log as a torn write."""
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
    """`__transaction_state` was once cut to one id."""
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
    """Reads once ended there silently, and a log of 6 records ended at 2**58."""
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
    """Reads of the lost bytes fail; at the second start they once found nothing, for ever."""
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
