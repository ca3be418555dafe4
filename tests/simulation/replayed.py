"""Coordinators' live shards, each with a shard made by a replay of its log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions, ShardT
from shareq.broker.coordinator_runtime.replay import replay_log
from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.groups.coordinator import group_coordinator_settings
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.shard import RecordSerde
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from tests.simulation.world import World

ReplayedGroups = tuple[int, GroupCoordinatorShard, GroupCoordinatorShard]
"""A partition's number, its live shard, and one into which its log was replayed."""


def replayed(
    world: World,
    partitions: CoordinatorPartitions[ShardT],
    topic: str,
    serde: RecordSerde,
    new_shard: Callable[[], ShardT],
) -> Iterator[tuple[int, ShardT, ShardT]]:
    """Return each partition's number, its live shard, and a new one into which its log was replayed.

    A partition whose log is offline is left out.
    """
    for route in range(partitions.count):
        log = world.folder.logs.get(topic, route)
        if log.refusal is ErrorCode.NONE:
            after = new_shard()
            with world.folder.logs.pool.waiting():
                result_of(replay_log(log, after, serde, unpaused))
            yield route, partitions.get(route).shard, after


def replayed_groups(world: World) -> list[ReplayedGroups]:
    """Return the group coordinator's partitions as `replayed` does, for audits of one kind of group: a log has groups
    of all kinds.
    """
    broker = world.broker
    settings = group_coordinator_settings(broker.services.started_with)

    def new_shard() -> GroupCoordinatorShard:
        return GroupCoordinatorShard(broker.services.metadata, broker.services.configs, world.clock.wall_ms, settings)

    return list(
        replayed(world, broker.services.groups.coordinator.partitions, CONSUMER_OFFSETS, GROUP_SERDE, new_shard)
    )
