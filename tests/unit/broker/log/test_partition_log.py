from __future__ import annotations

from random import Random

import pytest

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.log.partition_log import AppendInfo, Origin
from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, batch_headers, build_batch, decode_records
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, batch_of, read_all, values_of

FOLDER = f"{DATA}/{TOPIC}-0"


def spans_of(world: LogWorld, offset: int, max_bytes: int = 1 << 20, **how: object) -> list[BatchSpan]:
    result = world.log.read(offset, max_bytes, upto=world.log.high_watermark, **how)  # type: ignore[arg-type]
    assert isinstance(result, ReadResult), result
    assert [position for position, _ in batch_headers(result.records)] == [span.position for span in result.batches]
    assert len(result.records) == sum(span.size for span in result.batches)
    return list(result.batches)


# -- appending


def test_offsets_count_up_and_records_come_back(world: LogWorld) -> None:
    assert world.produce(b"a", b"b") == AppendInfo(0, 1, -1, 0, False)
    assert world.produce(b"c") == AppendInfo(2, 2, -1, 0, False)
    assert [(record.offset, record.value) for record in read_all(world.log)] == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_nobody_sees_an_append_before_the_tick_has_written_it(world: LogWorld) -> None:
    reported: list[ErrorCode] = []
    world.append(batch_of(b"a"), reported.append)
    assert (world.log.log_end_offset, world.log.high_watermark, reported) == (1, 0, [])
    assert spans_of(world, 0) == []
    assert FOLDER + "/00000000000000000000.log" not in world.fs.paths()
    world.tick()
    assert (world.log.high_watermark, reported) == (1, [ErrorCode.NONE])


def test_appends_of_one_tick_are_one_write(world: LogWorld) -> None:
    world.produce(b"first")
    before = len(world.fs.history)
    for at in range(50):
        world.append(batch_of(b"%d" % at))
    world.append(batch_of(bytes(200_000)))
    world.append(batch_of(b"last"))
    world.tick()
    assert world.fs.history[before:] == [("write", FOLDER + "/00000000000000000000.log")]
    assert values_of(read_all(world.log))[-2:] == [bytes(200_000), b"last"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_batches_come_as_any_kind_of_bytes(kind: type, world: LogWorld) -> None:
    for value in (b"small", bytes(100_000)):
        assert isinstance(world.append(kind(bytes(batch_of(value)))), AppendInfo)
    world.tick()
    assert values_of(read_all(world.log)) == [b"small", bytes(100_000)]


def test_the_callers_bytes_are_not_changed(world: LogWorld) -> None:
    world.produce(b"x")
    batch = batch_of(b"y")
    before = bytes(batch)
    world.append(batch)
    world.tick()
    assert batch == before


def test_a_log_without_appends_has_no_files(world: LogWorld) -> None:
    """A hundred empty partitions cost nothing at the start."""
    log = world.logs.get(TOPIC, 2)
    assert log.read(0, 100, upto=0) == (b"", ())
    assert log.available_bytes(0, 0) == 0
    assert log.offset_for_timestamp(0) is None
    assert result_of(log.seek_max_timestamp(unpaused)) is None
    world.tick()
    assert not any("orders-2" in path for path in world.fs.paths())


def test_files_are_apache_kafkas() -> None:
    world = LogWorld(LogSettings(segment_bytes=300))
    world.produce(bytes(100))
    world.produce(bytes(100))
    folder = [path.removeprefix(FOLDER + "/") for path in world.fs.paths() if path.startswith(FOLDER)]
    assert folder == [
        "00000000000000000000.checksums",  # Apache Kafka does not know it, and leaves it alone
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000001.log",
        "00000000000000000001.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert world.fs.content(f"{FOLDER}/partition.metadata") == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert world.fs.content(f"{FOLDER}/leader-epoch-checkpoint") == b"0\n1\n0 0\n"


def test_refused_batches_leave_nothing_behind(world: LogWorld) -> None:
    reported: list[ErrorCode] = []
    damaged = batch_of(b"x")
    damaged[-1] ^= 1
    assert world.append(damaged, reported.append) is ErrorCode.CORRUPT_MESSAGE
    assert world.append(b"", reported.append) is ErrorCode.INVALID_RECORD
    world.tick()
    assert (world.log.log_end_offset, reported) == (0, [])


def test_the_brokers_own_batches_are_not_checked() -> None:
    world = LogWorld(LogSettings(max_message_bytes=100))
    batch = batch_of(bytes(500))
    now = world.clock.wall_ms()
    assert world.log.append(batch, origin=Origin.CLIENT, now_wall_ms=now) is ErrorCode.MESSAGE_TOO_LARGE
    assert isinstance(world.log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=now), AppendInfo)


def test_log_append_time_is_the_brokers() -> None:
    world = LogWorld(LogSettings(append_time=True))
    info = world.produce(b"a", b"b", timestamp_ms=5)
    now = world.clock.wall_ms()
    assert info.log_append_time_ms == now
    assert [record.timestamp for record in read_all(world.log)] == [now, now]


# -- idempotence


def idempotent(world: LogWorld, sequence: int, *values: bytes, epoch: int = 0) -> AppendInfo | ErrorCode:
    return world.append(batch_of(*values, producer_id=4, producer_epoch=epoch, base_sequence=sequence))


def test_a_batch_sent_again_gets_its_first_offsets_and_is_not_written_again(world: LogWorld) -> None:
    world.produce(b"before")
    assert idempotent(world, 0, b"a", b"b") == AppendInfo(1, 2, -1, 0, False)
    world.tick()
    assert idempotent(world, 2, b"c") == AppendInfo(3, 3, -1, 0, False)
    assert idempotent(world, 0, b"a", b"b") == AppendInfo(1, 2, -1, 0, True)
    assert idempotent(world, 2, b"c") == AppendInfo(3, 3, -1, 0, True)  # not even written yet
    assert idempotent(world, 9, b"z") is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    world.tick()
    assert values_of(read_all(world.log)) == [b"before", b"a", b"b", b"c"]


def test_a_duplicate_is_not_answered_before_the_batch_it_repeats_is_durable() -> None:
    world = LogWorld(flush_every_message=True)
    world.produce(b"x")
    reported: list[str] = []
    batch = batch_of(b"a", producer_id=4, producer_epoch=0, base_sequence=0)
    world.append(batch, lambda _error: reported.append("first"))
    world.append(batch, lambda _error: reported.append("again"))
    world.clock.run_tick()  # written, the sync is under way
    world.append(batch, lambda _error: reported.append("and again"))
    assert reported == []
    world.tick()
    assert reported == ["first", "again", "and again"]
    assert world.log.log_end_offset == 2


@pytest.mark.parametrize("clean", [True, False])
def test_producers_are_remembered_across_restarts(clean: bool) -> None:
    world = LogWorld(LogSettings(segment_bytes=400))
    for sequence in range(9):
        idempotent(world, sequence, b"v%d" % sequence)
        world.tick()
    world.restart(clean=clean)
    assert idempotent(world, 8, b"v8") == AppendInfo(8, 8, -1, 0, True)
    assert idempotent(world, 10, b"x") is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert idempotent(world, 9, b"v9") == AppendInfo(9, 9, -1, 0, False)


def test_producers_are_forgotten_after_their_expiration() -> None:
    world = LogWorld(LogSettings(producer_id_expiration_ms=60_000))
    idempotent(world, 0, b"a")
    world.tick()
    world.clock.advance(10 * 60_000)
    assert idempotent(world, 7, b"b") == AppendInfo(1, 1, -1, 0, False)


def test_last_stable_offset_is_where_the_open_transaction_begins(world: LogWorld) -> None:
    world.produce(b"plain")
    now = world.clock.wall_ms()
    world.append(batch_of(b"t", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True))
    world.produce(b"plain")
    assert (world.log.last_stable_offset, world.log.high_watermark) == (1, 3)
    world.restart(clean=False)
    assert world.log.last_stable_offset == 1
    marker = build_end_transaction_marker(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=3, timestamp_ms=now
    )
    world.log.append(marker, origin=Origin.COORDINATOR, now_wall_ms=now)
    assert world.log.last_stable_offset == 1  # nobody sees the marker yet
    world.tick()
    assert world.log.last_stable_offset == 4
    [span] = spans_of(world, 3)
    assert span.is_control
    assert span.is_transactional
    assert (span.producer_id, span.last_offset) == (7, 3)
    stale = build_end_transaction_marker(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=2, timestamp_ms=now
    )
    refused = world.log.append(stale, origin=Origin.COORDINATOR, now_wall_ms=now)
    assert refused is ErrorCode.TRANSACTION_COORDINATOR_FENCED


# -- reading


def test_reading_outside_the_log_is_out_of_range(world: LogWorld) -> None:
    for _ in range(3):
        world.produce(b"x")
    assert world.delete_records(1) is ErrorCode.NONE
    assert world.log.read(0, 100, upto=3) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.log.read(4, 100, upto=3) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.log.read(-1, 100, upto=3) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert spans_of(world, 3) == []
    assert len(spans_of(world, 1)) == 2


def test_a_read_gives_whole_batches_within_its_limits(world: LogWorld) -> None:
    for at in range(10):
        world.produce(b"%d" % at, bytes(100))
    size = len(batch_of(b"0", bytes(100)))
    assert [span.base_offset for span in spans_of(world, 5, 3 * size)] == [4, 6, 8]  # 5 is inside the batch at 4
    assert len(spans_of(world, 0, 3 * size - 1)) == 2
    assert len(spans_of(world, 0, 1)) == 1  # one batch whatever its size
    assert spans_of(world, 0, 1, min_one_batch=False) == []
    assert len(spans_of(world, 0, size, min_one_batch=False)) == 1


def test_a_read_stays_below_its_upper_bound(world: LogWorld) -> None:
    for _ in range(5):
        world.produce(b"a", b"b")
    result = world.log.read(0, 1 << 20, upto=6)
    assert isinstance(result, ReadResult)
    assert [span.last_offset for span in result.batches] == [1, 3, 5]
    result = world.log.read(0, 1 << 20, upto=5)  # inside a batch: that one is not below it
    assert isinstance(result, ReadResult)
    assert [span.last_offset for span in result.batches] == [1, 3]
    assert world.log.read(6, 1 << 20, upto=6) == (b"", ())


def test_a_read_ends_with_the_batch_that_reaches_the_record_limit(world: LogWorld) -> None:
    for _ in range(6):
        world.produce(b"a", b"b", b"c")
    assert [span.base_offset for span in spans_of(world, 0, max_records=3)] == [0]
    assert [span.base_offset for span in spans_of(world, 0, max_records=4)] == [0, 3]
    assert [span.base_offset for span in spans_of(world, 5, max_records=1)] == [3]
    assert [span.base_offset for span in spans_of(world, 5, max_records=2)] == [3, 6]


def test_reading_one_megabyte_of_large_batches_is_one_read_of_the_disk(world: LogWorld) -> None:
    for at in range(40):
        world.produce(bytes([at]) * 100_000)
    world.fs.reads = 0
    offset = 0
    reads = 0
    while offset < 40:
        offset = spans_of(world, offset)[-1].last_offset + 1
        reads += 1
    assert reads == 4
    assert world.fs.reads == reads


def test_reading_on_from_where_the_last_read_ended_costs_one_read_of_the_disk(world: LogWorld) -> None:
    for at in range(300):
        for _ in range(20):
            world.append(batch_of(b"%d" % at))
        world.tick()
    world.restart()
    offset = spans_of(world, 0, 50_000)[-1].last_offset + 1
    world.fs.reads = 0
    reads = 0
    while offset < 6_000:
        offset = spans_of(world, offset, 50_000)[-1].last_offset + 1
        reads += 1
    assert world.fs.reads == reads


@pytest.mark.parametrize("seed", range(6))
def test_every_read_agrees_with_a_list(seed: int) -> None:
    """Reads begin at any offset, with any limits, across segments, before and after clean restarts and kills."""
    rng = Random(seed)
    world = LogWorld(LogSettings(segment_bytes=6_000, index_interval_bytes=300), seed=seed)
    batches: list[tuple[int, int, int]] = []  # first offset, last offset, bytes
    for _ in range(150):
        values = [bytes(rng.randint(0, 120)) for _ in range(rng.randint(1, 5))]
        info = world.produce(*values)
        batches.append((info.base_offset, info.last_offset, len(batch_of(*values))))
        if rng.random() < 0.04:
            world.restart(clean=rng.random() < 0.5)
    end = world.log.high_watermark
    for _ in range(400):
        offset, max_bytes, upto = rng.randrange(end), rng.randint(1, 4_000), rng.randint(0, end)
        max_records = rng.choice([None, rng.randint(1, 40)])
        result = world.log.read(offset, max_bytes, upto=upto, max_records=max_records)
        assert isinstance(result, ReadResult)
        got = [(span.base_offset, span.last_offset, span.size) for span in result.batches]
        possible = [row for row in batches if row[1] >= offset and row[1] < upto]
        assert got == possible[: len(got)]
        if offset < upto and possible:
            assert got
        assert len(got) <= 1 or sum(size for _, _, size in got) <= max_bytes
        if max_records is not None and got:
            assert len(got) == 1 or got[-2][1] + 1 < offset + max_records
        records = [
            record.offset
            for span in result.batches
            for record in decode_records(result.records[span.position : span.position + span.size])
        ]
        assert records == [at for first, last, _ in got for at in range(first, last + 1)]
        expected = sum(size for first, last, size in possible if first < upto)
        if upto == end or any(first == upto for first, _, _ in batches):
            assert world.log.available_bytes(offset, upto) == (expected if offset < upto else 0)


def test_damaged_bytes_are_named_and_never_served(caplog: pytest.LogCaptureFixture, world: LogWorld) -> None:
    for at in range(4):
        world.produce(b"value-%d" % at)
    size = len(batch_of(b"value-0"))
    world.fs.content(f"{FOLDER}/00000000000000000000.log")[2 * size + 70] ^= 1
    assert [span.base_offset for span in spans_of(world, 0)] == [0, 1]
    assert world.log.read(2, 1 << 20, upto=4) is ErrorCode.CORRUPT_MESSAGE
    assert f"00000000000000000000.log: damaged at byte {2 * size} (offset 2): CRC does not match" in caplog.text
    assert [span.base_offset for span in spans_of(world, 3)] == [3]


def test_a_damaged_length_is_not_believed(world: LogWorld) -> None:
    world.produce(b"value")
    world.produce(b"value")
    world.fs.content(f"{FOLDER}/00000000000000000000.log")[8] = 0x7F
    assert world.log.read(0, 1 << 20, upto=2) is ErrorCode.CORRUPT_MESSAGE


def test_wrong_index_files_cost_a_rebuild_not_the_data() -> None:
    world = LogWorld(LogSettings(index_interval_bytes=200, segment_bytes=5_000))
    for at in range(100):
        world.produce(b"%d" % at * 10)
    world.logs.close(clean=True)
    for path in world.fs.paths():
        if path.endswith(".index"):
            content = world.fs.content(path)
            for entry in range(0, len(content) - 8, 8):  # positions that grow and are all wrong, but for the last
                content[entry + 7] ^= 1
    world.start()
    assert [record.offset for record in read_all(world.log, max_bytes=400)] == list(range(100))
    for offset in range(100):
        assert spans_of(world, offset)[0].base_offset == offset


def test_a_failing_disk_is_reported_and_does_not_stop_the_broker(
    caplog: pytest.LogCaptureFixture, world: LogWorld
) -> None:
    world.produce(b"x")
    world.fs.fail_reads = True
    assert world.log.read(0, 100, upto=1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert "reading at offset 0 failed" in caplog.text
    world.fs.fail_reads = False
    assert len(spans_of(world, 0)) == 1


# -- times


def test_offsets_by_time() -> None:
    world = LogWorld(LogSettings(segment_bytes=1_500, index_interval_bytes=150))
    for at in range(40):
        batch = build_batch(
            [RecordData(b"k", b"v", (), 1_000 * at), RecordData(b"k", b"v", (), 1_000 * at + 500)], timestamp_ms=0
        )
        world.append(batch)
        world.tick()
    for restart in (False, True):
        if restart:
            world.restart()
        for at in range(40):
            assert world.log.offset_for_timestamp(1_000 * at) == (1_000 * at, 2 * at)
            assert world.log.offset_for_timestamp(1_000 * at + 1) == (1_000 * at + 500, 2 * at + 1)
        assert world.log.offset_for_timestamp(-1) == (0, 0)
        assert world.log.offset_for_timestamp(39_501) is None
        assert result_of(world.log.seek_max_timestamp(unpaused)) == (39_500, 79)
    assert world.delete_records(11) is ErrorCode.NONE
    assert world.log.offset_for_timestamp(0) == (5_500, 11)


def test_the_largest_timestamp_need_not_be_the_last_record(world: LogWorld) -> None:
    for timestamp in (5_000, 9_000, 9_000, 7_000):
        world.produce(b"x", timestamp_ms=timestamp)
    assert result_of(world.log.seek_max_timestamp(unpaused)) == (9_000, 1)
    world.append(batch_of(b"x", timestamp_ms=99_000))  # not written yet
    assert result_of(world.log.seek_max_timestamp(unpaused)) == (9_000, 1)


@pytest.mark.parametrize("restart", [False, True])
def test_the_largest_timestamp_may_be_of_a_record_below_the_start_until_its_segment_goes(restart: bool) -> None:
    """Apache Kafka 4.3.1 returns that timestamp, too, even if the start offset lies within its batch."""
    world = LogWorld(LogSettings(segment_bytes=2 * len(batch_of(b"x", b"x"))))
    for timestamp in (9_000, 8_000, 7_000):
        world.produce(b"x", b"x", timestamp_ms=timestamp)
    assert [segment.base_offset for segment in world.log.segments] == [0, 4]
    for start, largest in ((1, (9_000, 0)), (3, (9_000, 0)), (4, (7_000, 4)), (6, (7_000, 4))):
        assert world.delete_records(start) is ErrorCode.NONE
        if restart:
            world.restart()
        assert (world.log.log_start_offset, result_of(world.log.seek_max_timestamp(unpaused))) == (start, largest)


# -- rolling


def test_segments_roll_by_size() -> None:
    size = len(batch_of(b"x"))
    world = LogWorld(LogSettings(segment_bytes=3 * size))
    for _ in range(7):
        world.produce(b"x")
    assert [segment.base_offset for segment in world.log.segments] == [0, 3, 6]
    assert all(segment.size <= 3 * size for segment in world.log.segments)


def test_segments_roll_within_a_tick() -> None:
    size = len(batch_of(b"x"))
    world = LogWorld(LogSettings(segment_bytes=3 * size))
    reported: list[ErrorCode] = []
    for _ in range(7):
        world.append(batch_of(b"x"), reported.append)
    assert reported == []
    world.tick()
    assert reported == [ErrorCode.NONE] * 7
    assert [segment.base_offset for segment in world.log.segments] == [0, 3, 6]
    assert len(read_all(world.log)) == 7


def test_segments_roll_by_time() -> None:
    world = LogWorld(LogSettings(segment_ms=60_000))
    world.produce(b"a")
    world.clock.advance(59_999)
    world.produce(b"b")
    world.clock.advance(1)
    world.produce(b"c")
    assert [segment.base_offset for segment in world.log.segments] == [0, 2]


def test_segments_roll_when_their_index_is_full() -> None:
    world = LogWorld(LogSettings(index_interval_bytes=0, segment_index_bytes=24))
    for _ in range(10):
        world.produce(b"x")
    assert [segment.base_offset for segment in world.log.segments] == [0, 4, 8]


def test_changed_settings_take_effect_at_once(world: LogWorld) -> None:
    size = len(batch_of(b"x"))
    for _ in range(4):
        world.produce(b"x")
    world.settings = world.settings._replace(segment_bytes=2 * size, max_message_bytes=size)
    world.logs.reload_settings(TOPIC)
    assert world.append(batch_of(b"xy")) is ErrorCode.MESSAGE_TOO_LARGE
    for _ in range(4):
        world.produce(b"x")
    assert [segment.base_offset for segment in world.log.segments] == [0, 4, 6]


# -- removing from the front


def test_truncating_the_prefix_removes_whole_segments_and_survives() -> None:
    size = len(batch_of(b"x"))
    world = LogWorld(LogSettings(segment_bytes=3 * size))
    moved: list[int] = []
    world.logs.add_log_start_listener(lambda log: moved.append(log.log_start_offset))
    for _ in range(10):
        world.produce(b"x")
    assert world.delete_records(11) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.delete_records(-2) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.delete_records(7) is ErrorCode.NONE
    assert [segment.base_offset for segment in world.log.segments] == [6, 9]
    assert world.delete_records(5) is ErrorCode.NONE
    assert (world.log.log_start_offset, moved) == (7, [7])
    assert f"{FOLDER}/00000000000000000000.log" not in world.fs.paths()
    assert world.append(batch_of(b"x")) == AppendInfo(10, 10, -1, 7, False)
    world.tick()
    world.restart(clean=False)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (7, 11)
    assert world.delete_records(-1) is ErrorCode.NONE
    assert world.log.log_start_offset == 11
    world.restart()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (11, 11)


def test_a_log_start_that_could_not_be_saved_does_not_move(world: LogWorld) -> None:
    world.produce(b"a")
    world.produce(b"b")
    world.fs.fail = lambda _kind, path: OSError("full") if "log-start" in path else None
    assert world.delete_records(1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.log.log_start_offset == 0
    assert len(read_all(world.log)) == 2
