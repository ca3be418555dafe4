"""A snapshot of the broker as plain values, taken on the loop with pauses, so that many rows delay no request.

Each row is of one moment, different rows need not be of the same. Services that have not been used are not made for it.
What is read of each thing is declared with its metrics (`families`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shareq import __version__
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.metrics.coordinator_snapshot import take_coordinators
from shareq.broker.metrics.families import (
    BUILD,
    LISTENERS,
    PROCESS,
    QUOTA_USAGES,
    QUOTAS,
    REQUEST_ERRORS,
    REQUESTS,
    Moment,
    QuotaUsage,
)
from shareq.broker.metrics.rows import Ends, GroundMetrics, Snapshot
from shareq.broker.metrics.share_families import (
    ACK_TYPES,
    ACKNOWLEDGED,
    ACKNOWLEDGEMENTS,
    ALL_SHARE_PARTITIONS,
    DEAD_LETTERS,
    FIRST_RECORDS,
    GROUP_FETCHES,
    SHARE_GROUPS,
    SHARE_PARTITIONS,
    SHARE_SESSIONS,
    TOPIC_SHARES,
    WAITING_FETCHES,
    SeenLetters,
    SeenPartition,
)
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.coordinator.share.share_state import UNSET, lag_of
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.groups.ports import EndedLog
    from shareq.broker.network.counters import Requests
    from shareq.broker.network.listener import Listener
    from shareq.broker.quotas.clients import ClientQuotas
    from shareq.broker.services import Services
    from shareq.broker.share.coordinator import ShareCoordinatorService
    from shareq.broker.share.core.partition import SharePartition
    from shareq.broker.share.dlq.queues import DeadLetterQueues
    from shareq.broker.share.leader import SharePartitionLeader
    from shareq.broker.share.partitions import SharePartitionManager
    from shareq.protocol.api_keys import ApiKey

MOST_QUOTA_ROWS: Final = 1_000
"""Quotas that have samples of their own, those that were set first."""


async def take(
    into: Snapshot,
    services: Services,
    metrics: GroundMetrics,
    requests_by_api: Mapping[ApiKey, Requests],
    listeners: Sequence[Listener],
    started_ns: int,
) -> None:
    """Fill the snapshot. `metrics` are those of what the broker stands on, `started_ns` is of the clock's `now_ns`."""
    now_ns = services.env.clock.now_ns()
    into.take(BUILD, (__version__,), 1)
    into.take(PROCESS, (), Moment(services, now_ns, now_ns - started_ns))
    for listener in listeners:
        into.take(LISTENERS, (listener.name,), listener)
    for api_key, requests in requests_by_api.items():
        name = _rpc_name(api_key.name)
        into.take(REQUESTS, (name,), requests)
        for code, number in requests.errors.items():
            into.take(REQUEST_ERRORS, (name, ErrorCode(code).name), number)
    for key, throttles in services.quotas.throttles.items():
        into.take(QUOTAS, (key,), throttles)
    await _take_quota_usages(into, services.quotas, services.env.budget.breathe)
    ends = await metrics.take(into, services)
    await take_coordinators(into, services, ends)
    made = services.made
    if made.share is not None:
        into.take(SHARE_SESSIONS, (), made.share.sessions)
        _take_dead_letters(into, made.share.dead_letters.queues)
    leaders = None if made.share is None else made.share.partitions
    into.take(WAITING_FETCHES, ("ShareFetch",), 0 if leaders is None else len(leaders.purgatory))
    if leaders is not None:
        await _take_shares(into, services, leaders)
    await _take_share_partitions(into, services, made.share_states, leaders, ends)


async def _take_quota_usages(into: Snapshot, quotas: ClientQuotas, breathe: Breathe) -> None:
    for (key, entity), usage in list(quotas.usages.items())[:MOST_QUOTA_ROWS]:
        bound = quotas.bound_of(key, entity)
        if bound is not None:  # it was not removed since the last pause
            names = key, _entity_name(entity.user), _entity_name(entity.client_id)
            into.take(QUOTA_USAGES, names, QuotaUsage(bound, usage.amount, usage.throttles.total_ms))
        await breathe()


def _entity_name(name: str | None) -> str:
    """Return the name as it was set, "<default>" for a default, "" where it does not matter."""
    return "" if name is None else name or "<default>"


async def _take_shares(into: Snapshot, services: Services, leaders: SharePartitionManager) -> None:
    counters, breathe = leaders.counters, services.env.budget.breathe
    into.take(SHARE_GROUPS, (), leaders)
    for group_id, fetches in list(counters.groups.items()):
        into.take(GROUP_FETCHES, (group_id,), fetches)
        await breathe()
    for topic_id, each in list(counters.topics.items()):
        topic = services.metadata.topic_by_id(topic_id)
        if topic is not None:
            into.take(TOPIC_SHARES, (topic.name,), each)
        await breathe()


def _take_dead_letters(into: Snapshot, queues: DeadLetterQueues | None) -> None:
    if queues is not None:
        waiting = queues.waiting()
        for group_id, each in queues.groups.items():
            into.take(DEAD_LETTERS, (group_id,), SeenLetters(each, waiting.get(group_id, 0)))


async def _take_share_partitions(
    into: Snapshot,
    services: Services,
    states: ShareCoordinatorService | None,
    leaders: SharePartitionManager | None,
    ends: Ends,
) -> None:
    """Take those that have a state, and those that are or were led: their state may be kept elsewhere."""
    breathe = services.env.budget.breathe
    shards: dict[SharePartitionKey, ShareCoordinatorShard | None] = {}
    totals = SharePartitionCounters()
    if leaders is not None:
        totals.add(leaders.counters.ended)
        shards.update(dict.fromkeys(leaders.counters.partitions))
    for partition in states.partitions if states is not None else ():
        shards.update(dict.fromkeys(partition.shard.share_partitions(), partition.shard))
        await breathe(LOOK)
    now_ms = services.env.clock.now_ms()
    acknowledged: dict[tuple[str, str], list[int]] = {}
    for key, shard in shards.items():
        counters = leaders.counters.partitions.get(key, _NOTHING) if leaders is not None else _NOTHING
        totals.add(counters)
        topic = services.metadata.topic_by_id(key.topic_id)
        if topic is not None:
            leader = leaders.get(key) if leaders is not None else None
            state = (UNSET, UNSET) if shard is None else _stored(key, shard)
            seen = _seen(leader, state, ends.get((topic.name, key.partition)), counters, now_ms)
            names = key.group_id, topic.name, str(key.partition)
            into.take(SHARE_PARTITIONS, names, seen)
            if leader is not None and leader.is_active:
                _take_first_record(into, names, leader.core, now_ms)
            sums = acknowledged.setdefault((key.group_id, topic.name), [0] * len(ACK_TYPES))
            for at, kind in enumerate(ACK_TYPES):
                sums[at] += counters.acknowledged[kind]
        await breathe()
    into.take(ALL_SHARE_PARTITIONS, (), totals)
    for kind in ACK_TYPES:
        into.take(ACKNOWLEDGED, (kind.name.lower(),), totals.acknowledged[kind])
    for (group_id, name), sums in acknowledged.items():
        for kind, number in zip(ACK_TYPES, sums, strict=True):
            into.take(ACKNOWLEDGEMENTS, (group_id, name, kind.name.lower()), number)
        await breathe()


def _take_first_record(into: Snapshot, names: tuple[str, ...], core: SharePartition, now_ms: int) -> None:
    """Take the record that the window cannot pass. Who has it is no label: there is no end of members."""
    first = core.first_record()
    if first is not None:
        since_ms = core.oldest_since_ms() if first.since_ms is None else first.since_ms
        into.take(FIRST_RECORDS, (*names, first.state), 0 if since_ms is None else max(0, now_ms - since_ms))


_NOTHING: Final = SharePartitionCounters()


def _stored(key: SharePartitionKey, shard: ShareCoordinatorShard) -> tuple[int, int]:
    """Return the stored start offset, and how many records behind it are finished; UNSET without a state."""
    state = shard.state_of(key)
    return (UNSET, UNSET) if state is None else (state.start_offset, state.delivery_complete_count)


def _seen(
    leader: SharePartitionLeader | None,
    stored: tuple[int, int],
    log: EndedLog | None,
    counters: SharePartitionCounters,
    now_ms: int,
) -> SeenPartition:
    in_flight_records = in_flight_batches = 0
    oldest_ms = limit = None
    start_offset, finished = stored
    if leader is not None and leader.is_active:
        core = leader.core
        in_flight_records, in_flight_batches = core.in_flight_records, core.in_flight_batches
        since_ms = core.oldest_since_ms()
        oldest_ms = 0 if since_ms is None else now_ms - since_ms
        limit = core.settings.partition_max_record_locks
        start_offset, finished = core.start_offset, core.delivery_complete_count
    if start_offset == UNSET:
        return SeenPartition(counters, in_flight_records, in_flight_batches, oldest_ms=oldest_ms, limit=limit)
    end_offset = 0 if log is None else log.high_watermark
    lag = max(0, lag_of(end_offset, start_offset, finished))
    return SeenPartition(
        counters, in_flight_records, in_flight_batches, start_offset, lag, oldest_ms=oldest_ms, limit=limit
    )


def _rpc_name(name: str) -> str:
    """SHARE_FETCH -> ShareFetch."""
    return name.title().replace("_", "")
