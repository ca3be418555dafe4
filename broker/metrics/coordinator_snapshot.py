"""What groups, offsets and transactions are like now; a part of `snapshot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shareq.broker.metrics.rows import CommittedOffsetRow, CoordinatorState, GroupTotals, Timings, TransactionTotals
from shareq.broker.metrics.slices import SLICE, Logs, Steps, slices
from shareq.coordinator.transaction.metadata import RESTING

if TYPE_CHECKING:
    from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
    from shareq.broker.groups.coordinator import GroupCoordinatorService
    from shareq.broker.groups.service import GroupService
    from shareq.broker.services import Services
    from shareq.broker.transactions.service import TransactionService
    from shareq.coordinator.group.offsets.store import OffsetStore
    from shareq.coordinator.group.shard import GroupCoordinatorShard


def coordinator_state(partitions: CoordinatorPartitions[Any], now_ns: int) -> CoordinatorState:  # Any: any shard
    """The partitions of a coordinator. `now_ns`: of the monotonic clock."""
    used = list(partitions)
    failed = sum(each.is_lost for each in used)
    return CoordinatorState(
        partitions.count - failed,
        failed,
        sum(each.waiting for each in used),
        Timings.of(partitions.loads),
        partitions.longest_load.of(now_ns),
    )


def take_groups(into: GroupTotals, service: GroupService) -> Steps:
    """Groups of every kind, and what was counted of them."""
    coordinator, counters = service.coordinator, service.coordinator.counters
    into.share_rebalances = service.share.rebalances
    into.classic_rebalances, into.consumer_rebalances = counters.classic_rebalances, counters.consumer_rebalances
    into.offset_commits = counters.offset_commits
    into.offset_expirations, into.offset_deletions = counters.offset_expirations, counters.offset_deletions
    for partition in coordinator.partitions:
        shard = partition.shard
        into.kinds.update(shard.kinds())
        for groups in slices(shard.share.all()):
            into.share_states.update(group.state_name for group in groups)
            into.share_members += ((group.group_id, len(group.members)) for group in groups)
            yield
        yield from _take_consumer_groups(into, shard)


def _take_consumer_groups(into: GroupTotals, shard: GroupCoordinatorShard) -> Steps:
    """Those of both protocols. The state of a consumer group is found in its members: large groups take their time."""
    looked_at = 0
    for states, groups in ((into.classic_states, shard.classic.all()), (into.consumer_states, shard.consumer.all())):
        for group in groups:
            states[group.state_name] += 1
            into.consumer_members.append((group.group_id, len(group.members)))
            looked_at += 1 + len(group.members)
            if looked_at >= SLICE:
                looked_at = 0
                yield


def take_offsets(into: GroupTotals, services: Services, coordinator: GroupCoordinatorService, logs: Logs) -> Steps:
    """Committed offsets and lags. Topics that exist and partitions that are led here have a lag."""
    for partition in coordinator.partitions:
        store = partition.shard.offsets.store
        for group_id in store.group_ids():
            for topic, number, offset in _offsets_of(store, group_id):
                lag = _lag(services, logs, topic, number, offset)
                into.offsets.append(CommittedOffsetRow(group_id, topic, str(number), offset, lag))
                if len(into.offsets) % SLICE == 0:
                    yield


def _offsets_of(store: OffsetStore, group_id: str) -> list[tuple[str, int, int]]:
    """A copy: the store may change at a pause."""
    return [
        (topic, partition, committed.offset)
        for topic, partitions in store.of(group_id).items()
        for partition, committed in partitions.items()
    ]


def _lag(services: Services, logs: Logs, topic: str, partition: int, offset: int) -> int | None:
    """As kafka-consumer-groups.sh counts: to the end that readers of uncommitted records see. Never below 0, which an
    offset beyond the end would be.
    """
    if offset < 0 or services.leaders.other_leader(topic, partition) is not None:
        return None
    log = logs.get((topic, partition))
    if log is not None:
        return max(0, log.high_watermark - offset)
    image = services.metadata.topic(topic)
    return 0 if image is not None and partition < image.partitions else None  # a partition that no client has used yet


def take_transactions(into: TransactionTotals, service: TransactionService, wall_ms: int) -> Steps:
    """Transactional ids, and what was counted of their transactions. `wall_ms`: the time of day."""
    coordinator, markers = service.coordinator, service.markers
    into.commits, into.aborts, into.timed_out = markers.commits, markers.aborts, coordinator.timed_out
    into.markers_to_retry, into.ends_to_retry = markers.markers_to_retry, markers.ends_to_retry
    for partition in coordinator.partitions:
        for transactions in slices(partition.shard.all()):
            into.states.update(each.state for each in transactions)
            began = (each.start_ms for each in transactions if each.state not in RESTING)
            into.oldest_age_ms = max(into.oldest_age_ms, wall_ms - min(began, default=wall_ms))
            yield
