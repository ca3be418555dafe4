"""Replaying a log: accepted records, skipped ones, and errors that end the replay."""

from __future__ import annotations

import logging

import pytest

from shareq.broker.coordinator_runtime import replay
from shareq.broker.coordinator_runtime.replay import CoordinatorLoadError, Loaded, replay_log, replay_one
from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, InconsistentRecords, Steps
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.fakes.memory_log import MemoryLog
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, Replayed, encoded, note


def log_of(*batches: bytes | bytearray) -> MemoryLog:
    log = MemoryLog("__state", 3, bytes(16))
    for batch in batches:
        log.high_watermark = log.contents.add(batch).next_offset
    return log


def batch(*names: str, producer_id: int = -1) -> bytearray:
    return batch_of(*(encoded(note(name)) for name in names), producer_id=producer_id)


def batch_of(*records: RecordData, producer_id: int = -1) -> bytearray:
    if producer_id < 0:
        return build_batch(records, timestamp_ms=1)
    return build_batch(
        records, timestamp_ms=1, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
    )


def marker(producer_id: int, *, commit: bool) -> bytes | bytearray:
    return build_end_transaction_marker(
        commit=commit, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp_ms=1
    )


def load(log: MemoryLog, buffer_bytes: int = 1_000_000) -> tuple[NoteShard, Loaded]:
    shard = NoteShard()
    return shard, result_of(replay_log(log, shard, NOTE_SERDE, unpaused, buffer_bytes))


@pytest.mark.parametrize("buffer_bytes", [1, 200, 1_000_000])
def test_every_durable_record_is_replayed_with_its_offset(buffer_bytes: int) -> None:
    log = log_of(batch("a", "b"), batch("c"))
    log.contents.add(batch("not durable"))
    shard, loaded = load(log, buffer_bytes)
    assert loaded == Loaded(3, 0)
    assert shard.replayed == [Replayed("a", 0, 0), Replayed("b", 0, 1), Replayed("c", 0, 2)]


def test_it_begins_at_the_log_start() -> None:
    log = log_of(batch("a"), batch("b"), batch("c"))
    log.log_start_offset = 1
    shard, loaded = load(log)
    assert (shard.names, loaded) == (["b", "c"], Loaded(2, 0))


def test_an_empty_log_is_not_read() -> None:
    log = log_of()
    log.unreadable_with = ErrorCode.KAFKA_STORAGE_ERROR
    assert load(log)[1] == Loaded(0, 0)


def test_records_of_transactions_and_their_ends() -> None:
    log = log_of(batch("a", producer_id=5), batch("b"), marker(5, commit=True), marker(6, commit=False))
    shard, loaded = load(log)
    assert shard.replayed == [Replayed("a", 0, 0, 5), Replayed("b", 0, 1)]
    assert shard.ended == [(5, True), (6, False)]
    assert loaded == Loaded(2, 0)


class PlainShard:
    def __init__(self) -> None:
        self.offsets: list[int] = []

    def replay(self, record: CoordinatorRecord, offset: int) -> None:
        self.offsets.append(offset)

    def on_loaded(self, now_ms: int) -> Steps[None]:
        yield from ()

    def next_deadline_ms(self) -> int | None:
        return None

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        return CoordinatorResult(None)


def test_a_shard_without_transactions_skips_theirs(caplog: pytest.LogCaptureFixture) -> None:
    shard = PlainShard()
    log = log_of(batch("a", producer_id=5), marker(5, commit=True), batch("b"))
    assert result_of(replay_log(log, shard, NOTE_SERDE, unpaused)) == Loaded(1, 1)
    assert shard.offsets == [2]
    assert caplog.messages == [
        "__state-3: record at offset 0 skipped: a transaction in the log of a PlainShard, which knows of none"
    ]
    with pytest.raises(InconsistentRecords):
        replay_one(shard, note("a"), 0, producer_id=0)


def test_what_makes_no_sense_is_skipped_with_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    log = log_of(
        batch_of(encoded(note("a")), RecordData(None, b"x"), encoded(note("bad")), encoded(note("b"))),
        batch_of(RecordData(b"\x7f\xff", b"x")),
        batch("broken", "c"),
    )
    shard, loaded = load(log)
    assert shard.replayed == [Replayed("a", 0, 0), Replayed("b", 0, 3), Replayed("c", 0, 6)]
    assert loaded == Loaded(3, 4)
    assert [(each.levelno, each.getMessage()) for each in caplog.records if each.exc_info is None] == [
        (logging.ERROR, "__state-3: record at offset 1 skipped: it has no key"),
        (logging.ERROR, "__state-3: record at offset 2 skipped: a bad record"),
        (logging.WARNING, "__state-3: record at offset 4 skipped: record of an unknown type"),
        (logging.ERROR, "__state-3: record at offset 5 skipped: ZeroDivisionError()"),
    ]
    (fault,) = [each.getMessage() for each in caplog.records if each.exc_info]
    assert fault == "__state-3: record at offset 5"


def test_only_the_first_ten_skips_have_lines_the_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(batch_of(*[RecordData(None, b"x")] * 10), batch("a"))
    assert load(log)[1] == Loaded(1, 10)
    assert len(caplog.messages) == 10
    caplog.clear()
    log = log_of(batch_of(*[RecordData(None, b"x")] * 13), batch("a"))
    assert load(log)[1] == Loaded(1, 13)
    assert len(caplog.messages) == 11
    assert caplog.messages[-1] == "__state-3: 3 more records or ranges were skipped while loading"


def test_damage_is_skipped_as_far_as_it_is_known_to_reach(caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(batch("a"), batch("x", "x", "x"), batch("b"), batch("x"), batch("c"))
    log.contents.unreadable = [(1, 4), (5, 6)]
    shard, loaded = load(log)
    assert (shard.names, loaded) == (["a", "b", "c"], Loaded(3, 2))
    assert caplog.messages == [
        "__state-3: offsets 1 to 3 skipped: damaged",
        "__state-3: record at offset 5 skipped: damaged",
    ]


def test_damage_at_the_end_reaches_no_further_than_what_is_durable(caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(batch("a"), batch("x", "x"))
    log.contents.add(batch("not durable"))
    log.contents.unreadable = [(1, 100)]
    assert load(log)[1] == Loaded(1, 1)
    assert caplog.messages == ["__state-3: offsets 1 to 2 skipped: damaged"]


def test_damage_of_which_nothing_is_known_is_passed_offset_by_offset() -> None:
    class Forgetful(MemoryLog):
        def unreadable_range(self, offset: int) -> tuple[int, int] | None:
            return None

    log = Forgetful("__state", 3, bytes(16))
    for each in (batch("a"), batch("x", "x", "x"), batch("b")):
        log.high_watermark = log.contents.add(each).next_offset
    log.contents.unreadable = [(1, 4)]
    shard, loaded = load(log)
    assert (shard.names, loaded) == (["a", "b"], Loaded(2, 3))


def test_a_batch_that_is_too_large_is_skipped_and_one_that_is_larger_than_the_buffer_is_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    large = batch("y", "x" * 400)
    log = log_of(batch("a"), large, batch("b"))
    monkeypatch.setattr(replay, "LARGEST_BATCH_BYTES", len(large))
    assert load(log, 100)[0].names == ["a", "y", "x" * 400, "b"]
    monkeypatch.setattr(replay, "LARGEST_BATCH_BYTES", len(large) - 1)
    shard, loaded = load(log, 100)
    assert (shard.names, loaded) == (["a", "b"], Loaded(2, 1))
    assert caplog.messages == [f"__state-3: offsets 1 to 2 skipped: a batch of {len(large)} bytes"]


def test_a_log_that_refuses_to_be_read_is_given_up() -> None:
    log = log_of(batch("a"))
    log.unreadable_with = ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(CoordinatorLoadError, match=r"__state-3: reading offset 0 gave KAFKA_STORAGE_ERROR"):
        load(log)


def test_a_disk_that_fails_at_a_header_gives_the_log_up() -> None:
    class Failing(MemoryLog):
        def next_header(self, offset: int) -> None:
            raise OSError("no such device")

    log = Failing("__state", 3, bytes(16))
    log.high_watermark = log.contents.add(batch("a")).next_offset
    with pytest.raises(CoordinatorLoadError, match="__state-3: reading offset 0: no such device"):
        load(log, 1)


def test_gaps_that_compaction_leaves_are_no_damage() -> None:
    log = log_of(batch("a"))
    log.contents.add(batch("b"), base_offset=5)
    log.high_watermark = 9  # and nothing is left behind offset 5
    shard, loaded = load(log)
    assert shard.replayed == [Replayed("a", 0, 0), Replayed("b", 0, 5)]
    assert loaded == Loaded(2, 0)


def test_a_plain_batch_of_a_producer_is_no_transactions(caplog: pytest.LogCaptureFixture) -> None:
    record = encoded(note("a"))
    plain = build_batch([record], timestamp_ms=1, producer_id=5, producer_epoch=0, base_sequence=0)
    assert load(log_of(plain))[0].replayed == [Replayed("a", 0, 0)]
    assert caplog.messages == []


def test_a_batch_that_cannot_be_decoded_is_skipped_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A small compressed batch is skipped whose declared content exceeds the limit."""
    large = build_batch([encoded(note("x" * 9_000)), encoded(note("y"))], timestamp_ms=1, compression=Compression.GZIP)
    log = log_of(batch("a"), large, batch("b"))
    monkeypatch.setattr(replay, "LARGEST_BATCH_BYTES", 5_000)
    shard, loaded = load(log)
    assert (shard.names, loaded) == (["a", "b"], Loaded(2, 1))
    (line,) = caplog.messages
    assert line.startswith("__state-3: offsets 1 to 2 skipped: ")
    assert not line.endswith("None")


def test_damage_that_ends_before_it_begins_is_passed_all_the_same() -> None:
    class Muddled(MemoryLog):
        def unreadable_range(self, offset: int) -> tuple[int, int] | None:
            return (0, 0)

    log = Muddled("__state", 3, bytes(16))
    for each in (batch("x"), batch("b")):
        log.high_watermark = log.contents.add(each).next_offset
    log.contents.unreadable = [(0, 1)]
    assert load(log)[0].names == ["b"]
