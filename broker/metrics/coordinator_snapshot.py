"""Groups and offsets as they are now; a part of `snapshot`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from shareq.broker.metrics.coordinator_families import (
    ALL_OFFSETS,
    CLASSIC_GROUPS,
    CONSUMER_GROUPS_BY_STATE,
    CONSUMER_MEMBERS,
    CONSUMER_STATES,
    EACH_SHARE_GROUP,
    GROUP_COORDINATOR,
    GROUP_COUNTERS,
    GROUPS,
    OFFSETS,
    SHARE_COORDINATOR,
    SHARE_GROUPS,
    SHARE_GROUPS_BY_STATE,
    SHARE_STATES,
    STATE_WRITES,
    Runtime,
    SeenOffset,
    SeenPartitions,
    SeenShareGroup,
    SeenWrites,
)
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.coordinator.group.groups import GroupKind

if TYPE_CHECKING:
    from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.groups.coordinator import GroupCoordinatorService
    from shareq.broker.groups.service import GroupService
    from shareq.broker.services import Services
    from shareq.coordinator.group.offsets.store import OffsetStore
    from shareq.coordinator.group.shard import GroupCoordinatorShard
    from shareq.coordinator.ports import ShareGroupSettingsSource


async def take_coordinators(into: Snapshot, services: Services, ends: Ends) -> None:
    """Take what each coordinator is like, as far as it was used."""
    breathe = services.env.budget.breathe
    made, now_ns = services.made, services.env.clock.now_ns()
    groups, states = made.groups, made.share_states
    take_partitions(into, GROUP_COORDINATOR, None if groups is None else groups.coordinator.partitions, now_ns)
    await _take_groups(into, groups, services.configs, breathe)
    if groups is not None:
        await _take_offsets(into, services, groups.coordinator, ends)
    take_partitions(into, SHARE_COORDINATOR, None if states is None else states.partitions, now_ns)
    if states is not None:
        into.take(STATE_WRITES, (), SeenWrites(states, now_ns))


def take_partitions(
    into: Snapshot,
    metrics: Runtime,
    partitions: CoordinatorPartitions[Any] | None,  # Any: any shard
    now_ns: int,
) -> None:
    """Take what all coordinators have of one; None: it was not used."""
    failed = 0 if partitions is None else sum(each.is_lost for each in partitions)
    into.take(metrics.served, ("active",), 0 if partitions is None else partitions.count - failed)
    into.take(metrics.served, ("failed",), failed)
    if partitions is not None:
        into.take(metrics.work, (), SeenPartitions(partitions, now_ns))


async def _take_groups(
    into: Snapshot, service: GroupService | None, settings: ShareGroupSettingsSource, breathe: Breathe
) -> None:
    """Take groups of every kind, and what was counted of them."""
    kinds: Counter[GroupKind] = Counter()
    share: Counter[str] = Counter()
    classic: Counter[str] = Counter()
    consumer: Counter[str] = Counter()
    if service is not None:
        into.take(SHARE_GROUPS, (), service.share)
        into.take(GROUP_COUNTERS, (), service.coordinator.counters)
        for partition in service.coordinator.partitions:
            shard = partition.shard
            kinds.update(shard.kinds())
            for group in shard.share.all():
                share[group.state_name] += 1
                seen = SeenShareGroup(group, settings.share_group(group.group_id))
                into.take(EACH_SHARE_GROUP, (group.group_id,), seen)
                await breathe()
            await _take_consumer_groups(into, shard, classic, consumer, breathe)
    into.count(GROUPS, kinds, ((kind.value, kind) for kind in GroupKind))
    into.count(SHARE_GROUPS_BY_STATE, share, ((state.lower(), state) for state in SHARE_STATES))
    into.count(CONSUMER_GROUPS_BY_STATE, consumer, ((state.lower(), state) for state in CONSUMER_STATES))
    into.take(CLASSIC_GROUPS, (), classic)


async def _take_consumer_groups(
    into: Snapshot, shard: GroupCoordinatorShard, classic: Counter[str], consumer: Counter[str], breathe: Breathe
) -> None:
    """Take those of both protocols. The state of a consumer group is found in its members, so these count."""
    for states, groups in ((classic, shard.classic.all()), (consumer, shard.consumer.all())):
        for group in groups:
            states[group.state_name] += 1
            into.take(CONSUMER_MEMBERS, (group.group_id,), len(group.members))
            await breathe(1 + len(group.members))


async def _take_offsets(into: Snapshot, services: Services, coordinator: GroupCoordinatorService, ends: Ends) -> None:
    """Take committed offsets and lags. Topics that exist and partitions that are led here have a lag."""
    breathe, taken = services.env.budget.breathe, 0
    for partition in coordinator.partitions:
        store = partition.shard.offsets.store
        for group_id in store.group_ids():
            for topic, number, offset in _offsets_of(store, group_id):
                lag = _lag(services, ends, topic, number, offset)
                into.take(OFFSETS, (group_id, topic, str(number)), SeenOffset(offset, lag))
                taken += 1
                await breathe()
    into.take(ALL_OFFSETS, (), taken)


def _offsets_of(store: OffsetStore, group_id: str) -> list[tuple[str, int, int]]:
    """Return a copy: the store may change at a pause."""
    return [
        (topic, partition, committed.offset)
        for topic, partitions in store.of(group_id).items()
        for partition, committed in partitions.items()
    ]


def _lag(services: Services, ends: Ends, topic: str, partition: int, offset: int) -> int | None:
    """Count the lag as kafka-consumer-groups.sh does: to the end that readers of uncommitted records see. Never below
    0, which an offset beyond the end would be.
    """
    if offset < 0 or services.leaders.other_leader(topic, partition) is not None:
        return None
    log = ends.get((topic, partition))
    if log is not None:
        return max(0, log.high_watermark - offset)
    image = services.metadata.topic(topic)
    return 0 if image is not None and partition < image.partitions else None  # a partition that no client has used yet
