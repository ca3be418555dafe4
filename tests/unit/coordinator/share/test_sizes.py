"""Exact sizes that fit into a record and a batch of `__share_group_state`, and snapshots of cold states."""

from __future__ import annotations

from typing import Final

import pytest

from shareq.coordinator.share.delays import DELAY_BYTES, Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import RECORD_OVERHEAD_BYTES, SHARE_STATE_SERDE, STATE_BATCH_BYTES
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey
from shareq.protocol.share import RecordState
from tests.unit.coordinator.support import START_WALL_MS, Log, Time, Topics, topic_id_of

AVAILABLE: Final = RecordState.AVAILABLE
ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
KEY = SharePartitionKey("g", topic_id_of("t"), 0)
OVERHEAD = RECORD_OVERHEAD_BYTES + 3 * len(KEY.group_id)
INTERVAL_MS = 1_000


def room_for(batches: int) -> int:
    """Return the maximum size estimated for a record of the given number of state batches."""
    return OVERHEAD + STATE_BATCH_BYTES * batches


class World:
    """A shard over topic t with one partition, and group "g" initialised at offset 0."""

    def __init__(self, **settings: int) -> None:
        self.time, topics = Time(), Topics(t=1)
        knobs = ShareCoordinatorSettings(cold_partition_snapshot_interval_ms=INTERVAL_MS, **settings)
        self.log = Log(lambda: ShareCoordinatorShard(topics, self.time.wall_ms, knobs), SHARE_STATE_SERDE, self.time)
        self.initialize("g")

    @property
    def shard(self) -> ShareCoordinatorShard:
        return self.log.shard

    def initialize(self, *groups: str) -> None:
        for group in groups:
            key = KEY._replace(group_id=group)
            assert self.log.run(self.shard.initialize(key, 1, 0)).code is ErrorCode.NONE

    def delete(self, group: str) -> None:
        assert self.log.run(self.shard.delete(KEY._replace(group_id=group))).code is ErrorCode.NONE

    def write(self, batches: list[StateBatch], *waiting: Delay) -> ErrorCode:
        return self.log.run(self.shard.write(KEY, 1, 0, 0, 0, batches, waiting)).code

    def cold_snapshots(self) -> list[int]:
        """Return the number of snapshots in each batch once the interval has passed."""
        self.time.now_ms += INTERVAL_MS
        sizes = []
        while self.shard.next_deadline_ms() is not None:
            self.log.run(self.shard.on_deadline(self.time.now_ms))
            sizes.append(len(self.log.last))
        return sizes


def every_other(first: int, number: int, state: int = ACKNOWLEDGED) -> list[StateBatch]:
    """Return batches of one offset each from `first` on, with a gap of one offset between neighbours."""
    return [StateBatch(first + 2 * n, first + 2 * n, state, 1) for n in range(number)]


def snapshots_of(world: World) -> list[str]:
    return [record.key.group_id for record in world.log.last if isinstance(record.key, ShareSnapshotKey)]


# -- one record


@pytest.mark.parametrize(("spare", "expected"), [(0, ErrorCode.NONE), (-1, ErrorCode.UNKNOWN_SERVER_ERROR)])
def test_a_state_may_fill_a_record_to_its_last_byte(spare: int, expected: ErrorCode) -> None:
    world = World(max_record_bytes=room_for(37) + spare)
    assert world.write(every_other(0, 36)) is ErrorCode.NONE
    assert world.write([StateBatch(100, 100, ACKNOWLEDGED, 1)]) is expected


@pytest.mark.parametrize(("room", "expected"), [(38, ErrorCode.NONE), (37, ErrorCode.UNKNOWN_SERVER_ERROR)])
def test_a_batch_that_splits_a_stored_one_counts_twice(room: int, expected: ErrorCode) -> None:
    world = World(max_record_bytes=room_for(room))
    stored = [StateBatch(4 * n, 4 * n + 2, AVAILABLE, 1) for n in range(36)]
    assert world.write(stored) is ErrorCode.NONE
    assert world.write([StateBatch(41, 41, ACKNOWLEDGED, 1)]) is expected


@pytest.mark.parametrize(("written", "expected"), [(37, ErrorCode.NONE), (38, ErrorCode.UNKNOWN_SERVER_ERROR)])
def test_an_update_has_to_fit_although_the_state_becomes_smaller(written: int, expected: ErrorCode) -> None:
    """An update that is too large is refused, even if it fills all gaps and would leave one stored batch."""
    world = World(max_record_bytes=room_for(37))
    assert world.write(every_other(1, 37)) is ErrorCode.NONE
    assert world.write(every_other(0, written)) is expected


# -- cold snapshots


@pytest.mark.parametrize(("spare", "sizes"), [(0, [2, 2]), (-1, [1, 1, 1, 1])])
def test_cold_snapshots_fill_a_batch_to_its_last_byte(spare: int, sizes: list[int]) -> None:
    world = World(max_batch_bytes=2 * room_for(0) + spare)
    world.initialize("h", "i", "j")
    assert world.cold_snapshots() == sizes


def test_no_more_cold_snapshots_come_together_than_a_turn_takes() -> None:
    """3,000 small snapshots fit into a batch, but would take a turn of 25 ms."""
    world = World(max_batch_bytes=1 << 20)
    world.initialize(*(f"group-{number}" for number in range(1_200)))
    assert world.cold_snapshots() == [500, 500, 201]


def test_a_cold_snapshot_that_fits_into_no_batch_goes_alone() -> None:
    world = World(max_batch_bytes=1)
    world.initialize("h", "i")
    assert world.cold_snapshots() == [1, 1, 1]


@pytest.mark.parametrize(("spare", "sizes"), [(0, [2]), (-1, [1, 1])])
def test_batches_and_times_of_a_cold_state_take_room(spare: int, sizes: list[int]) -> None:
    world = World(max_batch_bytes=room_for(5) + 2 * DELAY_BYTES + room_for(0) + spare)
    waiting = [Delay(0, 0, START_WALL_MS + 60_000, 1), Delay(2, 2, START_WALL_MS + 70_000, 1)]
    assert world.write(every_other(0, 5, AVAILABLE), *waiting) is ErrorCode.NONE
    world.initialize("h")
    assert world.cold_snapshots() == sizes


def test_what_has_had_a_snapshot_within_the_interval_gets_none() -> None:
    """The next check comes an interval after the load or the last check; then each state's last snapshot decides."""
    world = World()
    world.time.now_ms = 1
    world.initialize("h")
    world.log.advance(INTERVAL_MS - 1)
    assert snapshots_of(world) == ["g"]
    assert world.shard.next_deadline_ms() == 2 * INTERVAL_MS
    world.log.advance(INTERVAL_MS)
    assert snapshots_of(world) == ["g", "h"]
    assert world.shard.next_deadline_ms() is None


def test_nothing_is_looked_at_before_it_is_due() -> None:
    world = World()
    world.time.now_ms = INTERVAL_MS
    assert world.shard.on_deadline(INTERVAL_MS - 1).records == ()
    assert len(world.shard.on_deadline(INTERVAL_MS).records) == 1


# -- how many are warm


def test_a_state_that_is_wiped_is_one_warm_state_still() -> None:
    world = World()
    world.initialize("g")
    assert world.cold_snapshots() == [1]


def test_a_warm_state_that_is_deleted_leaves_nothing_to_look_at() -> None:
    world = World()
    world.delete("g")
    assert world.shard.next_deadline_ms() is None


def test_a_cold_state_that_is_deleted_or_wiped_leaves_the_warm_ones() -> None:
    world = World()
    world.initialize("h")
    assert world.cold_snapshots() == [2]
    world.initialize("i")
    world.delete("g")
    assert world.shard.next_deadline_ms() is not None
    world.initialize("h")
    world.delete("i")
    assert world.shard.next_deadline_ms() is not None
    world.delete("h")
    assert world.shard.next_deadline_ms() is None
