"""Log start offsets: how several move together, and in which order the changes become visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from shareq.broker.log.log_starts import TO_HIGH_WATERMARK, LogStarts
from shareq.broker.log.partition_log import Origin, PartitionLog
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, parse_offsets
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, batch_of

TWO_BATCHES = LogSettings(segment_bytes=2 * len(batch_of(b"x")))


def filled(batches: int = 6, settings: LogSettings = TWO_BATCHES) -> LogWorld:
    world = LogWorld(settings)
    for partition in range(3):
        log = world.logs.get(TOPIC, partition)
        for _ in range(batches):
            log.append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
        world.tick()
    return world


class Starts:
    """`LogStarts` over the logs of a world; `events` lists the events in order."""

    def __init__(self, world: LogWorld) -> None:
        self.logs = [world.logs.get(TOPIC, partition) for partition in range(3)]
        self.events: list[tuple[str, object]] = []
        self.fails = False
        self.synced: list[bool] = []
        self.starts = LogStarts(world.fs, self._save, self._moved, world.logs.gate)
        self.starts.listeners.append(lambda log: self.events.append(("start", (log.partition, self._begins()))))

    def _save(self, name: str, offsets: Mapping[tuple[str, int], int], sync: bool) -> None:
        if self.fails:
            raise OSError(28, "full")
        self.events.append((name, {partition: offset for (_, partition), offset in offsets.items()}))
        self.synced.append(sync)
        assert self._begins() == self._before

    def _moved(self, logs: Iterable[PartitionLog]) -> None:
        self.events.append(("moved", [(log.partition, log.segments[0].base_offset) for log in logs]))

    def _begins(self) -> list[int]:
        return [log.log_start_offset for log in self.logs]

    def delete(self, *offsets: int) -> list[ErrorCode]:
        """Delete the records below the given offsets, one for each of the first logs."""
        self._before = self._begins()
        results = self.starts.delete_records(dict(zip(self.logs, offsets, strict=False)))
        return list(results.values())


def test_all_are_saved_with_one_write_then_all_move_then_segments_go() -> None:
    starts = Starts(filled())
    assert starts.delete(3, TO_HIGH_WATERMARK, 0) == [ErrorCode.NONE] * 3
    assert starts.events == [
        (LOG_START_FILE, {0: 3, 1: 6}),
        ("start", (0, [3, 6, 0])),
        ("start", (1, [3, 6, 0])),
        ("moved", [(0, 2), (1, 4)]),
    ]


def test_starts_are_synced_where_segments_go() -> None:
    starts = Starts(filled())
    starts.delete(1, 1)
    starts.delete(1, 2)
    assert starts.synced == [False, True]


def test_what_was_saved_before_is_saved_again() -> None:
    starts = Starts(filled())
    starts.delete(3)
    starts.events.clear()
    starts.delete(0, 2)
    starts.delete(0, 0, 1)
    saved = [offsets for name, offsets in starts.events if name == LOG_START_FILE]
    assert saved == [{0: 3, 1: 2}, {0: 3, 1: 2, 2: 1}]


@pytest.mark.parametrize("offsets", [(0, 0), (-2, 7), ()])
def test_where_nothing_moves_nothing_is_written(offsets: tuple[int, ...]) -> None:
    starts = Starts(filled())
    starts.delete(*offsets)
    assert starts.events == []
    assert starts.starts.offsets == {}


def test_a_start_that_cannot_be_saved_moves_none() -> None:
    starts = Starts(filled())
    starts.fails = True
    assert starts.delete(3, 7, 0) == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NONE]
    assert [log.log_start_offset for log in starts.logs] == [0, 0, 0]
    assert [len(log.segments) for log in starts.logs] == [3, 3, 3]
    assert (starts.events, starts.starts.offsets) == ([], {})
    starts.fails = False
    assert starts.delete(3) == [ErrorCode.NONE]
    assert starts.logs[0].log_start_offset == 3


def test_one_refused_offset_does_not_hold_back_the_others() -> None:
    world = filled()
    starts = Starts(world)
    starts.logs[1].go_offline(OSError(5, "broken"))
    refused = [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE]
    assert starts.delete(7, 1, 1) == refused
    assert [log.log_start_offset for log in starts.logs] == [0, 0, 1]


def test_retention_seals_what_has_all_expired_but_not_what_is_buffered() -> None:
    world = filled()
    world.settings = LogSettings(segment_bytes=TWO_BATCHES.segment_bytes, retention_bytes=0)
    world.logs.reload_settings()
    starts = Starts(world)
    buffered = starts.logs[1]
    buffered.append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    starts._before = [0, 0, 0]
    starts.starts.apply_retention(starts.logs, world.clock.wall_ms())
    assert [log.log_start_offset for log in starts.logs] == [6, 6, 6]
    assert [log.segments[-1].exists for log in starts.logs] == [False, False, False]
    world.tick()
    assert (buffered.log_end_offset, buffered.high_watermark) == (7, 7)
    starts.starts.apply_retention([starts.logs[0]], world.clock.wall_ms())  # nothing left
    assert starts.logs[0].log_start_offset == 6


def test_the_manager_keeps_them_over_a_start() -> None:
    world = filled()
    assert world.delete_records(3) is ErrorCode.NONE
    assert world.delete_records(2, 2) is ErrorCode.NONE
    assert parse_offsets(world.fs.read_bytes(f"{DATA}/{LOG_START_FILE}")) == {(TOPIC, 0): 3, (TOPIC, 2): 2}
    world.restart(clean=False)
    assert [world.logs.get(TOPIC, partition).log_start_offset for partition in range(3)] == [3, 0, 2]


def syncs_by_turn(world: LogWorld) -> list[int]:
    """Count the syncs on the loop in each tick until none is left; those off the loop are held back."""
    world.fs.held_syncs = []
    counts: list[int] = []
    at = len(world.fs.history)
    while True:
        ran = world.clock.run_tick()
        counts.append(sum(kind in ("sync", "sync_dir") for kind, _ in world.fs.history[at:]))
        at = len(world.fs.history)
        if not ran:
            return counts


def with_producers() -> LogWorld:
    world = LogWorld(LogSettings(segment_bytes=100))
    for partition in range(3):
        log = world.logs.get(TOPIC, partition)
        for sequence in range(2):
            batch = batch_of(b"x", producer_id=7, producer_epoch=0, base_sequence=sequence)
            log.append(batch, origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
            world.tick()
        for name in world.fs.list_dir(log.folder):
            if name.endswith(".snapshot"):
                world.fs.remove(f"{log.folder}/{name}")
    return world


def test_logs_whose_producers_have_to_be_saved_are_cut_one_in_a_turn() -> None:
    world = with_producers()
    cutting = world.logs.truncate_many({world.logs.get(TOPIC, partition): 1 for partition in range(3)})
    counts: list[int] = []
    at = len(world.fs.history)
    while True:
        try:
            cutting.send(None)
        except StopIteration as end:
            results = end.value
            break
        finally:
            counts.append(sum(kind in ("sync", "sync_dir") for kind, _ in world.fs.history[at:]))
            at = len(world.fs.history)
            world.clock.run_tick()
    assert list(results.values()) == [ErrorCode.NONE] * 3
    assert max(counts) == 4  # a snapshot and the starts, each with its name
    assert [log.log_start_offset for log in world.logs.logs()] == [1, 1, 1]


def test_retention_seals_one_segment_in_a_turn_where_that_is_synced() -> None:
    world = LogWorld(LogSettings(retention_ms=1_000), flush_every_message=True)
    for partition in range(3):
        batch = batch_of(b"x", timestamp_ms=world.clock.wall_ms())
        world.logs.get(TOPIC, partition).append(batch, origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    world.tick()
    world.clock.advance(10_000)
    world.logs.upkeep.apply_retention()
    assert [log.log_start_offset for log in world.logs.logs()] == [1, 0, 0]
    counts = syncs_by_turn(world)
    assert [log.log_start_offset for log in world.logs.logs()] == [1, 1, 1]
    assert sum(count > 2 for count in counts) == 2
