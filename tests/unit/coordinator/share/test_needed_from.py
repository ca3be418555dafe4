"""The offset from which a share coordinator needs its log; records below it may be deleted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.shard import at_once
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.shard import NOTHING, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch
from tests.unit.coordinator.share.world import ACKNOWLEDGED, KEY, World
from tests.unit.coordinator.support import topic_id_of

KEYS = [KEY, SharePartitionKey("g", topic_id_of("t"), 1), SharePartitionKey("h", topic_id_of("t"), 0)]


def states(shard: ShareCoordinatorShard) -> dict[SharePartitionKey, tuple[object, ...]]:
    found: dict[SharePartitionKey, tuple[object, ...]] = {}
    for key in shard.share_partitions():
        state = shard.state_of(key)
        assert state is not None
        found[key] = state.state_epoch, state.start_offset, state.delivery_complete_count, list(state.batches)
    return found


def loaded_from(world: World, offset: int) -> ShareCoordinatorShard:
    shard = world.log.fresh()
    for at, (key, value) in enumerate(world.log.encoded):
        record = world.log._serde.decode(key, value)
        assert record is not None
        if at >= offset:
            shard.replay(record, at)
    at_once(shard.on_loaded(0))
    return shard


def test_without_states_nothing_is_needed() -> None:
    world = World()
    assert world.shard.needed_from() == NOTHING
    world.initialize()
    assert world.shard.needed_from() == 0
    world.log.run(world.shard.delete(KEY))
    assert world.shard.needed_from() == NOTHING


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "write", "write", "initialize", "delete", "cold"]), st.sampled_from(KEYS)),
    max_size=60,
)


@given(STEPS)
def test_a_load_from_there_has_the_same_states(steps: list[tuple[str, SharePartitionKey]]) -> None:
    world = World(snapshot_update_records_per_snapshot=3, cold_partition_snapshot_interval_ms=1_000)
    for at, (what, key) in enumerate(steps):
        if what == "initialize":
            world.initialize(state_epoch=at, start_offset=0, key=key)
        elif what == "delete":
            world.log.run(world.shard.delete(key))
        elif what == "cold":
            world.log.advance(1_000)
        else:
            state = world.shard.state_of(key)
            if state is not None:
                batch = StateBatch(at, at, ACKNOWLEDGED, 1)
                world.write(batch, start=at // 2, state_epoch=state.state_epoch, key=key)
    needed = world.shard.needed_from()
    assert states(loaded_from(world, needed)) == states(world.shard)
    assert world.log.loaded().needed_from() == needed
