"""The share coordinator: snapshots, deletion and the replay of its records (KIP-932)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, at_once
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import update_batches
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from tests.unit.coordinator.share.world import ACKNOWLEDGED, KEY, World, initialized
from tests.unit.coordinator.support import START_WALL_MS, topic_id_of

# -- snapshots


def test_every_so_many_updates_a_snapshot_is_written() -> None:
    """Snapshot epochs start at 0 and rise by one; updates repeat the latest one (KIP-932)."""
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=3)
    kinds = []
    for n in range(8):
        world.write(StateBatch(2 * n, 2 * n, ACKNOWLEDGED, 1), start=0, count=n + 1)
        value = world.last_value()
        kinds.append((type(value).__name__.removesuffix("Value"), value.snapshot_epoch))
    assert kinds == [
        *[("ShareUpdate", 0)] * 3,
        ("ShareSnapshot", 1),
        *[("ShareUpdate", 1)] * 3,
        ("ShareSnapshot", 2),
    ]
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert len(value.state_batches) == 8
    assert (value.state_epoch, value.delivery_complete_count) == (2, 8)


def test_with_a_limit_of_zero_every_write_is_a_snapshot() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=0)
    for n in range(3):
        world.write(StateBatch(n, n, ACKNOWLEDGED, 1), start=0, count=n + 1)
        assert isinstance(world.last_value(), ShareSnapshotValue)
    assert world.batches() == [StateBatch(0, 2, ACKNOWLEDGED, 1)]


@pytest.mark.parametrize(("batches", "updates"), [(20_000, 2), (45_000, 7)])
def test_a_state_of_many_batches_gets_a_snapshot_once_the_updates_are_worth_it(batches: int, updates: int) -> None:
    """Up to 10,000 offsets, Apache Kafka's widest window, only the number of updates decides."""
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=2)
    world.write(*[StateBatch(2 * n, 2 * n, ACKNOWLEDGED, 1) for n in range(batches)], start=0, count=batches)
    kinds: list[type] = []
    while kinds.count(ShareSnapshotValue) < 2:
        world.write(StateBatch(0, 0, ACKNOWLEDGED, 1), start=0, count=batches)
        kinds.append(type(world.last_value()))
    assert kinds == [ShareUpdateValue, ShareSnapshotValue, *[ShareUpdateValue] * updates, ShareSnapshotValue]


def test_a_snapshot_that_moves_the_start_offset_has_nothing_below_it() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=1)
    world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=10)
    world.write(StateBatch(15, 15, ACKNOWLEDGED, 1), start=10, count=1)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert value.start_offset == 10
    assert [(b.first_offset, b.last_offset) for b in value.state_batches] == [(15, 15)]


def test_an_initialisation_does_not_reset_the_update_count() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=2)
    world.write(start=0, count=0)
    world.initialize(state_epoch=3, start_offset=0)
    world.write(start=0, count=0, state_epoch=3)
    assert isinstance(world.last_value(), ShareUpdateValue)
    world.write(start=0, count=0, state_epoch=3)
    assert isinstance(world.last_value(), ShareSnapshotValue)


# -- cold snapshots


def test_a_snapshot_after_updates_is_of_now_and_makes_a_cold_state_due_again() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=1, cold_partition_snapshot_interval_ms=100)
    world.log.advance(100)
    assert world.shard.next_deadline_ms() is None
    world.write(start=0, count=0)
    world.time.now_ms = 150
    world.write(start=0, count=0)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert value.create_timestamp == value.write_timestamp == START_WALL_MS + 150
    assert world.shard.next_deadline_ms() is not None


def test_a_state_without_snapshot_for_an_interval_gets_one_that_keeps_its_creation_time() -> None:
    world = initialized(start_offset=0, cold_partition_snapshot_interval_ms=1000)
    world.time.now_ms = 500
    world.write(StateBatch(0, 0, ACKNOWLEDGED, 1), start=0, count=1)
    world.log.advance(1500)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert (value.snapshot_epoch, value.create_timestamp) == (1, START_WALL_MS)
    assert value.write_timestamp == START_WALL_MS + 1000
    assert len(value.state_batches) == 1
    assert world.shard.next_deadline_ms() is None


def test_nothing_is_due_while_all_states_are_cold() -> None:
    world = World()
    assert world.shard.next_deadline_ms() is None
    world.initialize()
    assert world.shard.next_deadline_ms() == 300_000


def test_cold_snapshots_come_in_batches_that_fit() -> None:
    world = World(cold_partition_snapshot_interval_ms=1000, max_batch_bytes=600)
    for group in ("a", "b", "c", "d", "e"):
        world.initialize(key=KEY._replace(group_id=group))
    world.time.now_ms = 1000
    sizes = []
    while world.shard.next_deadline_ms() is not None:
        result = world.shard.on_deadline(1000)
        assert not result.atomic  # each is true without the others
        world.log.run(result)
        sizes.append(len(world.log.last))
    assert sizes == [2, 2, 1]


# -- deletion


def test_delete_writes_a_tombstone_and_forgets_everything() -> None:
    world = World()
    world.initialize(state_epoch=5)
    world.log.run(world.shard.delete(KEY))
    assert world.log.value_types() == ["-ShareSnapshotKey"]
    assert world.shard.state_of(KEY) is None
    assert world.initialize(state_epoch=1).code is ErrorCode.NONE
    assert world.shard.next_deadline_ms() is not None


def test_a_deleted_topic_takes_its_states_with_it() -> None:
    world = World()
    world.topics.create("other", 1)
    other = SharePartitionKey("g", topic_id_of("other"), 0)
    for key in (KEY, KEY._replace(partition=1), other):
        world.initialize(key=key)
    world.topics.delete("t")
    world.log.run(world.shard.topics_deleted([KEY.topic_id]))
    assert world.log.value_types() == ["-ShareSnapshotKey"] * 2
    assert world.shard.share_partitions() == [other]
    assert world.shard.share_partitions_of([KEY.topic_id]) == []
    assert world.shard.share_partitions_of([other.topic_id]) == [other]


# -- replay


def test_an_update_without_its_snapshot_becomes_the_state() -> None:
    """A compacted or pruned log may begin with an update: its state has state epoch 0 and timestamps 0."""
    world = World(cold_partition_snapshot_interval_ms=1000)
    value = ShareUpdateValue(
        snapshot_epoch=4,
        leader_epoch=3,
        start_offset=10,
        delivery_complete_count=1,
        state_batches=update_batches([StateBatch(12, 12, ACKNOWLEDGED, 1)]),
    )
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), value), 0)
    state = world.shard.state_of(KEY)
    assert state is not None
    assert (state.snapshot_epoch, state.state_epoch, state.leader_epoch, state.start_offset) == (4, 0, 3, 10)
    assert (state.create_timestamp_ms, state.write_timestamp_ms) == (0, 0)
    assert world.batches() == [StateBatch(12, 12, ACKNOWLEDGED, 1)]
    world.log.advance(1000)
    assert isinstance(world.last_value(), ShareSnapshotValue)


def test_an_update_without_its_snapshot_and_without_a_start_offset_begins_at_0_after_a_load() -> None:
    world = World()
    value = ShareUpdateValue(snapshot_epoch=4, leader_epoch=3, start_offset=-1, delivery_complete_count=1)
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), value), 0)
    at_once(world.shard.on_loaded(0))
    assert world.shard.read(KEY, 3).response.start_offset == 0


def test_a_snapshot_without_a_start_offset_keeps_none_after_a_load() -> None:
    world = initialized(start_offset=-1)
    assert world.log.loaded().read(KEY, 0).response.start_offset == -1


def test_an_update_with_unset_fields_changes_only_the_count() -> None:
    world = initialized(start_offset=10)
    world.log.run(world.shard.read(KEY, 3))
    unset = ShareUpdateValue(snapshot_epoch=0, leader_epoch=-1, start_offset=-1, delivery_complete_count=6)
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), unset), 9)
    assert world.shard.read_summary(KEY).response == SummaryResult(
        state_epoch=2, leader_epoch=3, start_offset=10, delivery_complete_count=6, first_offset=10
    )


def test_tombstones_of_unknown_states_are_passed_over() -> None:
    world = World()
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), None), 0)
    world.log.run(CoordinatorResult(None, ()))
    assert world.shard.share_partitions() == []


def test_settings_can_change_at_any_time() -> None:
    world = initialized(start_offset=0)
    world.write(start=0, count=0)
    world.shard.settings = replace(world.settings, snapshot_update_records_per_snapshot=1)
    world.write(start=0, count=0)
    assert isinstance(world.last_value(), ShareSnapshotValue)
