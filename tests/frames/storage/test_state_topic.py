"""The share coordinator's records in `__share_group_state` (KIP-932, managing durable share-partition state)."""

from __future__ import annotations

from random import Random
from struct import unpack

import pytest

from devtools.clients.state_rpcs import StateCaller
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.routing import share_partition_for
from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from tests.interop.support.share_wire import begin_at
from tests.support.clients.share_client import ACCEPT, GAP, REJECT, RELEASE, ShareClient, append
from tests.support.worlds.internal_records import records

NONE = ErrorCode.NONE


class Life:
    """A member of group g that has acquired 100 records of the one partition of topic t."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        self.place = (self.world.create_topic("t").topic_id, 0)
        self.key = SharePartitionKey("g", *self.place)
        begin_at(self.world.connect(), "g", "t", [0])
        append(self.world, "t", 100)
        self.member = ShareClient(self.world)
        self.member.join("t")
        assert self.member.acquire(self.place) == [(0, 99, 1)]
        self.state = StateCaller(self.world.connect(), "g", self.place[0])

    def acknowledge(self, *acks: tuple[int, int, int]) -> None:
        assert self.member.acknowledge(self.place, *acks) is NONE

    def written(self) -> list[CoordinatorRecord]:
        return list(records(self.world, "__share_group_state", share_partition_for(self.key, 50), SHARE_STATE_SERDE))

    def values(self) -> list[ShareSnapshotValue | ShareUpdateValue]:
        values = [record.value for record in self.written()]
        return [value for value in values if isinstance(value, ShareSnapshotValue | ShareUpdateValue)]


def test_a_record_is_a_snapshot_or_an_update_by_the_first_number_of_its_key() -> None:
    """Both keys have the same three fields, so that both go to the same partition."""
    life = Life()
    life.acknowledge((0, 9, ACCEPT))
    assert [record.key for record in life.written()] == [ShareSnapshotKey(*life.key), ShareUpdateKey(*life.key)]
    keys = [SHARE_STATE_SERDE.encode(record)[0] for record in life.written()]
    assert [unpack(">h", key[:2])[0] for key in keys] == [0, 1]
    assert keys[0][2:] == keys[1][2:]
    assert all(
        life.world.folder.logs.get("__share_group_state", number).log_end_offset == 0
        for number in set(range(50)) - {share_partition_for(life.key, 50)}
    )


def test_the_first_snapshot_has_epoch_0_and_each_one_counts_on() -> None:
    """Updates repeat the epoch of the snapshot they build on. There are so many of them as is configured."""
    life = Life(share_coordinator_snapshot_update_records_per_snapshot="3")
    for offset in range(8):
        life.acknowledge((offset, offset, ACCEPT))
    kinds = [(type(value).__name__[:-5], value.snapshot_epoch) for value in life.values()]
    updates = [("ShareUpdate", 0)] * 3, [("ShareUpdate", 1)] * 3
    assert kinds == [("ShareSnapshot", 0), *updates[0], ("ShareSnapshot", 1), *updates[1], ("ShareSnapshot", 2)]


def test_a_limit_of_0_writes_snapshots_alone() -> None:
    life = Life(share_coordinator_snapshot_update_records_per_snapshot="0")
    for offset in range(3):
        life.acknowledge((offset, offset, ACCEPT))
    assert [type(value) for value in life.values()] == [ShareSnapshotValue] * 4
    assert [value.snapshot_epoch for value in life.values()] == [0, 1, 2, 3]


def test_a_state_that_rests_gets_one_more_snapshot() -> None:
    """It keeps the time it was created at, and after that nothing is written until something happens."""
    life = Life(share_coordinator_cold_partition_snapshot_interval_ms="60000")
    life.acknowledge((0, 9, ACCEPT))
    life.member.leave()
    before = life.values()
    life.world.clock.advance(130_000)  # the locks run out, and are written
    *_, cold = life.values()
    assert isinstance(before[0], ShareSnapshotValue)
    assert isinstance(cold, ShareSnapshotValue)
    assert cold.create_timestamp == before[0].create_timestamp
    assert cold.write_timestamp - cold.create_timestamp >= 60_000
    assert cold.snapshot_epoch == 1
    count = len(life.written())
    life.world.clock.advance(3_600_000)
    assert len(life.written()) == count


def test_finishing_the_whole_window_is_an_update_like_any_other() -> None:
    """The KIP's second text wanted a snapshot then, as it is small; Apache Kafka 4.3.1 counts updates only."""
    life = Life()
    life.acknowledge((0, 99, ACCEPT))
    (update,) = [value for value in life.values() if isinstance(value, ShareUpdateValue)]
    assert (update.start_offset, update.delivery_complete_count) == (0, 100)
    assert [(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count) for b in update.state_batches] == [
        (0, 99, 2, 1)
    ]


def test_the_start_offset_of_a_write_may_be_left_out() -> None:
    """The update has the stored one, as those of Apache Kafka 4.4.0 have."""
    life = Life()
    assert life.state.write((5, 5, 2, 1), start=-1) == NONE
    update = life.values()[-1]
    assert isinstance(update, ShareUpdateValue)
    assert update.start_offset == 0
    assert life.state.read()[2:] == (0, [(5, 5, 2, 1)])


def test_a_snapshot_has_the_epoch_that_the_group_had_when_it_was_initialised() -> None:
    """The epoch fences writers from before; updates have none."""
    life = Life()
    life.member.leave()
    epoch = life.member.describe().group_epoch
    begin_at(life.world.connect(), "g", "t", [50])
    snapshots = [value for value in life.values() if isinstance(value, ShareSnapshotValue)]
    assert (snapshots[-1].state_epoch, snapshots[-1].start_offset) == (epoch, 50)
    assert snapshots[-1].state_epoch > snapshots[0].state_epoch
    assert not hasattr(ShareUpdateValue(), "state_epoch")
    stale = life.state.write((60, 60, 2, 1), start=50, state_epoch=snapshots[0].state_epoch)
    assert stale == ErrorCode.FENCED_STATE_EPOCH


def test_deleting_a_state_writes_a_tombstone_with_the_key_of_a_snapshot() -> None:
    life = Life()
    life.acknowledge((0, 9, ACCEPT))
    assert life.state.delete() == NONE
    assert life.state.delete() == NONE, "and no second one"
    assert [record.value is None for record in life.written()] == [False, False, True]
    assert life.written()[-1].key == ShareSnapshotKey(*life.key)


def test_deleting_a_topic_writes_a_tombstone_too() -> None:
    life = Life()
    life.world.folder.metadata.delete_topics(["t"])
    life.world.clock.run_until_idle()
    assert life.written()[-1] == CoordinatorRecord(ShareSnapshotKey(*life.key), None)


@pytest.mark.parametrize("seed", range(4))
def test_the_last_snapshot_and_the_updates_after_it_are_the_state(seed: int) -> None:
    """Read as the KIP describes it, offset by offset, and compared with what ReadShareGroupState answers."""
    rng = Random(seed)
    life = Life(share_coordinator_snapshot_update_records_per_snapshot="7")
    held = set(range(1, 100))
    for _ in range(30):
        offset = rng.choice(sorted(held))
        last = offset
        while last + 1 in held and rng.random() < 0.7:
            last += 1
        life.acknowledge((offset, last, rng.choice((ACCEPT, RELEASE, REJECT, GAP))))
        held -= set(range(offset, last + 1))
        if not held:
            break
    cells: dict[int, tuple[int, int]] = {}
    start = -1
    for value in life.values():
        if isinstance(value, ShareSnapshotValue):
            cells.clear()
        start = value.start_offset
        for batch in value.state_batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                cells[offset] = (batch.delivery_state, batch.delivery_count)
    stored = life.state.read()
    assert stored.start_offset == start
    assert cells == {
        offset: (batch.state, batch.delivery_count)
        for batch in stored.batches
        for offset in range(batch.first, batch.last + 1)
    }
    assert life.state.summary().delivery_complete_count == sum(1 for state, _count in cells.values() if state != 0)
