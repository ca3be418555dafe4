"""The share coordinator's records in `__share_group_state` (KIP-932, durable share-partition state)."""

from __future__ import annotations

from random import Random

import pytest

from devtools.clients.state_rpcs import StateCaller
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.routing import share_partition_for
from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateValue
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


def test_the_first_snapshot_has_epoch_0_and_each_one_counts_on() -> None:
    """After each snapshot come as many updates as configured, with its epoch."""
    life = Life(share_coordinator_snapshot_update_records_per_snapshot="3")
    for offset in range(8):
        life.acknowledge((offset, offset, ACCEPT))
    kinds = [(type(value).__name__[:-5], value.snapshot_epoch) for value in life.values()]
    updates = [("ShareUpdate", 0)] * 3, [("ShareUpdate", 1)] * 3
    assert kinds == [("ShareSnapshot", 0), *updates[0], ("ShareSnapshot", 1), *updates[1], ("ShareSnapshot", 2)]


def test_a_state_that_rests_gets_one_more_snapshot() -> None:
    """The snapshot keeps the creation time; then nothing is written until something happens."""
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
    """Only updates are counted, as in Apache Kafka 4.3.1; the KIP's second text had a snapshot then."""
    life = Life()
    life.acknowledge((0, 99, ACCEPT))
    (update,) = [value for value in life.values() if isinstance(value, ShareUpdateValue)]
    assert (update.start_offset, update.delivery_complete_count) == (0, 100)
    assert [(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count) for b in update.state_batches] == [
        (0, 99, 2, 1)
    ]


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
    """The records are read as the KIP describes, offset by offset, and compared with ReadShareGroupState."""
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
