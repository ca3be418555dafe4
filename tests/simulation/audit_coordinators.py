"""Audits of the coordinators: memory agrees with their logs, and nothing of deleted objects is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shareq.broker.share.coordinator import share_coordinator_settings
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.coordinator.share.share_state import ShareState
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.names import SHARE_GROUP_STATE
from tests.simulation.ledger import InvariantBroken
from tests.simulation.replayed import ReplayedGroups, replayed

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World


# -- share states


def share_states(world: World) -> dict[SharePartitionKey, ShareState]:
    """Return the live state of every share partition, which must equal a replay of the log."""
    broker = world.broker
    partitions = broker.services.share_states.partitions
    settings = share_coordinator_settings(broker.services.started_with)
    states: dict[SharePartitionKey, ShareState] = {}

    def new_shard() -> ShareCoordinatorShard:
        return ShareCoordinatorShard(broker.services.metadata, world.clock.wall_ms, settings)

    for _, live, after in replayed(world, partitions, SHARE_GROUP_STATE, SHARE_STATE_SERDE, new_shard):
        for key in {*live.share_partitions(), *after.share_partitions()}:
            state, reported = live.state_of(key), _reported(after.state_of(key))
            if _reported(state) != reported:
                raise InvariantBroken(f"{key.text()}: live {_reported(state)}, replayed {reported}")
            if state is not None:
                states[key] = state
    return states


def _reported(state: ShareState | None) -> object:
    if state is None:
        return None
    return (
        state.state_epoch,
        state.leader_epoch,
        state.snapshot_epoch,
        state.start_offset,
        state.delivery_complete_count,
        [tuple(batch) for batch in combine(state.batches, state.start_offset)],
    )


def check_nothing_left(world: World) -> None:
    """Check that deleted topics and groups have no state, unless writing that has failed since the start."""
    if world.faults.happened or not world.knows_what_is_durable():
        return
    partitions = world.services.share_states.partitions
    administered = {group.id for group in world.groups if group.administered}
    for partition in partitions:
        for key in partition.shard.share_partitions():
            if world.services.metadata.topic_by_id(key.topic_id) is None:
                raise InvariantBroken(f"{key.text()} has state, its topic was deleted")
            if key.group_id not in administered and world.live_group(key.group_id) is None:
                raise InvariantBroken(f"{key.text()} has state, its group was deleted")


# -- groups


def check_groups(world: World, replayed: Sequence[ReplayedGroups], states: dict[SharePartitionKey, ShareState]) -> None:
    """Check that a replay gives the live groups, and that partitions initialised for them have state."""
    count = world.services.groups.coordinator.partitions.count
    for route, live, after in replayed:
        for group in world.groups:
            if group_partition_for(group.id, count) == route:
                _check_group(world, group, live.share_group(group.id), after.share_group(group.id), states)


def _check_group(
    world: World,
    group: Group,
    live: ShareGroup | None,
    after: ShareGroup | None,
    states: dict[SharePartitionKey, ShareState],
) -> None:
    if _group_reported(live) != _group_reported(after):
        raise InvariantBroken(f"group {group.id}: live {_group_reported(live)}, replayed {_group_reported(after)}")
    if live is not None and not group.administered:
        group.membership.on_durable(live)
    if live is not None and world.knows_what_is_durable():
        _check_initialized(world, group, live, states)


def _group_reported(group: ShareGroup | None) -> object:
    if group is None:
        return None
    return (
        group.group_epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assignment_timestamp_ms,
        group.members,
        group.current,
        group.targets,
        group.state_partitions,
        group.subscribers,
    )


def _check_initialized(
    world: World, group: Group, live: ShareGroup, states: dict[SharePartitionKey, ShareState]
) -> None:
    for slot in world.topics.live:
        topic = live.initialized.get(slot.topic_id)
        if topic is not None and slot.partition in topic.partitions and world.key(group, slot) not in states:
            raise InvariantBroken(f"{world.key(group, slot).text()} counts as initialised and has no durable state")
    known = live.state_partitions
    if known is not None and not world.faults.happened:
        gone = [t for t in (*known.initializing, *known.initialized, *known.deleting) if not _exists(world, t)]
        if gone:
            raise InvariantBroken(f"group {group.id} keeps partitions of deleted topics {gone}")


def _exists(world: World, topic_id: bytes) -> bool:
    return world.services.metadata.topic_by_id(topic_id) is not None
