"""A JoinGroup that turns a consumer group into a classic one, and a refused SyncGroup that has no effect."""

from __future__ import annotations

from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS
from tests.unit.coordinator.group.migration.world import CLASSIC_REBALANCE_MS, MixedWorld


def test_a_member_that_comes_back_where_all_have_arrived_makes_no_rebalance() -> None:
    world = MixedWorld()
    world.join("new", instance="i")
    had, epoch = world.has("new"), world.group.group_epoch
    joined = world.joined(world.ask_join(owned=had, instance="i"))
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (ErrorCode.NONE, epoch, "range")
    assert (world.kind, world.classic.state_name) == ("classic", "Stable")


def test_while_partitions_are_on_their_way_the_classic_group_rebalances() -> None:
    world = MixedWorld()
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    world.join("new", instance="i")
    assert world.has(one) == {"foo": {0, 1, 2, 3}}
    world.ask_join(instance="i")
    assert (world.kind, world.classic.state_name) == ("classic", "PreparingRebalance")


def test_a_refused_sync_does_not_make_a_member_join_again() -> None:
    world = MixedWorld()
    world.join("new")
    world.log.advance(INTERVAL_MS)
    one, _, _ = world.rejoin()
    world.rest({one: world.has(one)}, "new")
    epoch = world.group.current_of(one).member_epoch
    assert world.error(world.ask_sync(one, epoch + 1)) is ErrorCode.ILLEGAL_GENERATION
    for _ in range(CLASSIC_REBALANCE_MS // INTERVAL_MS + 2):
        world.log.advance(INTERVAL_MS)
        world.beat("new", owned=world.has("new"))
        assert world.beat_classic(one, epoch) is ErrorCode.NONE
