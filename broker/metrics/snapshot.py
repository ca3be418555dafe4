"""What the broker is like now, as plain values: taken on the loop in slices, so that many rows delay no request.

Each row is of one moment, different rows need not be of the same. Services that have not been used are not made for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.metrics.coordinator_snapshot import coordinator_state, take_groups, take_offsets, take_transactions
from shareq.broker.metrics.rows import (
    ACK_TYPES,
    AcknowledgementRow,
    DeadLetterRow,
    GroupFetchRow,
    ListenerRow,
    LogRow,
    QuotaRow,
    QuotaUsageRow,
    RedriveTotals,
    RequestRow,
    SharePartitionRow,
    Snapshot,
    Timings,
    TopicRow,
    TopicShareRow,
)
from shareq.broker.metrics.slices import Logs, Steps, slices
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.coordinator.share.share_state import UNSET, lag_of
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.log.partition_log import PartitionLog
    from shareq.broker.network.counters import Requests
    from shareq.broker.network.listener import Listener
    from shareq.broker.quotas.clients import ClientQuotas
    from shareq.broker.services import Services
    from shareq.broker.share.coordinator import ShareCoordinatorService
    from shareq.broker.share.dlq.queues import DeadLetterQueues
    from shareq.broker.share.leader import SharePartitionLeader
    from shareq.broker.share.partitions import SharePartitionManager
    from shareq.protocol.api_keys import ApiKey

MOST_QUOTA_ROWS: Final = 1_000
"""Quotas that have samples of their own, those that were set first."""

LATE_MS: Final = 300_000
"""A transaction counts as forgotten once it lasts so much longer than `transaction.max.timeout.ms`."""


def take(
    into: Snapshot,
    services: Services,
    requests_by_api: Mapping[ApiKey, Requests],
    listeners: Sequence[Listener],
    started_ns: int,
) -> Steps:
    """Fill the snapshot. Other things may be done on the loop at each pause. `started_ns`: of the clock's `now_ns`."""
    into.uptime_ns = services.env.clock.now_ns() - started_ns
    into.held_bytes = services.answer_budget.held
    into.stalls = Timings.of(services.stalls.durations)
    into.longest_stall_ns = services.stalls.longest.of(services.env.clock.now_ns())
    into.waiting_turns = len(services.turns)
    into.held_request_bytes = services.request_budget.held
    into.connections_waiting = services.request_budget.waiting
    space = services.disk.space()
    if space is not None:
        into.disk_total_bytes, into.disk_usable_bytes = space
    into.disk_state, into.disk_reserve_bytes = services.disk.state, services.disk.reserve.size
    into.listeners = [
        ListenerRow(
            each.name,
            len(each),
            each.accepted,
            each.refused,
            each.bytes_in,
            each.bytes_out,
            each.authentications.succeeded,
            each.authentications.failed,
            None if each.certificate_ends_s is None else each.certificate_ends_s(),
        )
        for each in listeners
    ]
    into.requests = [
        RequestRow(
            _rpc_name(api_key.name),
            Timings.of(requests.durations),
            requests.unanswered,
            {ErrorCode(code).name: number for code, number in requests.errors.items()},
        )
        for api_key, requests in requests_by_api.items()
    ]
    quotas = services.quotas
    into.muted_connections = quotas.muted
    into.quotas = [QuotaRow(key, each.number, each.total_ms) for key, each in quotas.throttles.items()]
    yield
    yield from _take_quota_usages(into.quota_usages, quotas)
    logs: Logs = {}
    yield from _take_logs(into, services, logs)
    made, now_ns = services.made, services.env.clock.now_ns()
    if made.groups is not None:
        coordinator = made.groups.coordinator
        into.group_coordinator = coordinator_state(coordinator.partitions, now_ns)
        yield from take_groups(into.groups, made.groups)
        yield from take_offsets(into.groups, services, coordinator, logs)
    if made.transactions is not None:
        into.transaction_coordinator = coordinator_state(made.transactions.coordinator.partitions, now_ns)
        yield from take_transactions(into.transactions, made.transactions, services.env.clock.wall_ms())
    if made.share_states is not None:
        into.share_coordinator = coordinator_state(made.share_states.partitions, now_ns)
        into.state_writes = Timings.of(made.share_states.writes)
        into.longest_state_write_ns = made.share_states.longest_write.of(now_ns)
    if made.share is not None:
        sessions = made.share.sessions.sessions
        into.share_sessions, into.evicted_share_sessions = len(sessions), sessions.evicted
        into.share_session_partitions = sessions.partitions
        into.dead_letters = _dead_letters(made.share.dead_letters.queues)
    if made.redrives is not None:
        running, waiting, ended, letters = made.redrives.numbers()
        into.redrives = RedriveTotals(
            running,
            waiting,
            {state.value.lower(): number for state, number in ended.items()},
            {what.value.lower(): number for what, number in letters.items()},
        )
    yield
    leaders = None if made.share is None else made.share.partitions
    if leaders is not None:
        yield from _take_shares(into, services, leaders)
    yield from _take_share_partitions(into, services, made.share_states, leaders, logs)


def _take_quota_usages(into: list[QuotaUsageRow], quotas: ClientQuotas) -> Steps:
    for some in slices(list(quotas.usages.items())[:MOST_QUOTA_ROWS]):
        for (key, entity), usage in some:
            bound = quotas.bound_of(key, entity)
            if bound is not None:  # it was not removed since the last pause
                names = (_entity_name(entity.user), _entity_name(entity.client_id))
                into.append(QuotaUsageRow(key, *names, bound, usage.amount, usage.throttles.total_ms))
        yield


def _entity_name(name: str | None) -> str:
    return "" if name is None else name or "<default>"


def _take_logs(into: Snapshot, services: Services, by_name: Logs) -> Steps:
    topics: dict[str, list[int]] = {}
    cleaner = services.logs.cleaner
    into.uncleanable_logs, into.cleaner_passes = len(cleaner.uncleanable), cleaner.passes
    late_before_ms = services.env.clock.wall_ms() - services.started_with.transaction_max_timeout_ms - LATE_MS
    for logs in slices(list(services.logs.logs())):
        for log in logs:
            cleaned_offset = cleaner.clean_until(log)
            by_name[log.topic, log.partition] = log
            into.logs.append(
                LogRow(
                    log.topic,
                    str(log.partition),
                    log.size_bytes,
                    len(log.segments),
                    log.log_start_offset,
                    log.log_end_offset,
                    cleaned_offset if cleaned_offset >= 0 else None,
                    log.high_watermark - log.last_stable_offset,
                )
            )
            into.offline_logs += log.refusal is ErrorCode.KAFKA_STORAGE_ERROR
            into.producer_ids += len(log.producers)
            heard_of_ms = log.producers.oldest_open_timestamp()
            into.late_logs += heard_of_ms is not None and 0 < heard_of_ms < late_before_ms
            sums = topics.setdefault(log.topic, [0, 0, 0])
            sums[0] += log.traffic.records_in
            sums[1] += log.traffic.bytes_in
            sums[2] += log.traffic.bytes_out
        yield
    into.topics = [TopicRow(topic, *sums) for topic, sums in topics.items()]


def _take_shares(into: Snapshot, services: Services, leaders: SharePartitionManager) -> Steps:
    counters = leaders.counters
    into.share_loads = Timings.of(counters.loads)
    into.parked_share_fetches = leaders.parked
    into.expired_share_fetches = counters.expired_fetches
    into.share_totals.add(counters.ended)
    for some_groups in slices(list(counters.groups.items())):
        into.group_fetches += (
            GroupFetchRow(group_id, each.answered, each.ratio_sum, each.waited_ns) for group_id, each in some_groups
        )
        yield
    for some_topics in slices(list(counters.topics.items())):
        for topic_id, each in some_topics:
            topic = services.metadata.topic_by_id(topic_id)
            if topic is not None:
                sums = each.fetches, each.failed_fetches, each.acknowledgements, each.failed_acknowledgements
                into.topic_shares.append(TopicShareRow(topic.name, *sums))
        yield


def _dead_letters(queues: DeadLetterQueues | None) -> list[DeadLetterRow]:
    if queues is None:
        return []
    waiting = queues.waiting()
    return [
        DeadLetterRow(
            group_id,
            waiting.get(group_id, 0),
            each.records,
            each.requests,
            each.failed_requests,
            each.without_letter,
            each.refused,
            each.without_content,
            each.retries,
        )
        for group_id, each in queues.groups.items()
    ]


def _take_share_partitions(
    into: Snapshot,
    services: Services,
    states: ShareCoordinatorService | None,
    leaders: SharePartitionManager | None,
    logs: Logs,
) -> Steps:
    """Those that have a state, and those that are or were led: their state may be kept elsewhere."""
    shards: dict[SharePartitionKey, ShareCoordinatorShard | None] = {}
    if leaders is not None:
        shards.update(dict.fromkeys(leaders.counters.partitions))
    for partition in states.partitions if states is not None else ():
        shards.update(dict.fromkeys(partition.shard.share_partitions(), partition.shard))
        yield
    now_ms = services.env.clock.now_ms()
    acknowledged: dict[tuple[str, str], list[int]] = {}
    for some in slices(list(shards.items())):
        for key, shard in some:
            counters = leaders.counters.partitions.get(key, _NOTHING) if leaders is not None else _NOTHING
            into.share_totals.add(counters)
            topic = services.metadata.topic_by_id(key.topic_id)
            if topic is not None:
                leader = leaders.get(key) if leaders is not None else None
                log = logs.get((topic.name, key.partition))
                into.share_partitions.append(_share_partition(key, topic.name, leader, shard, log, counters, now_ms))
                sums = acknowledged.setdefault((key.group_id, topic.name), [0] * len(ACK_TYPES))
                for at, kind in enumerate(ACK_TYPES):
                    sums[at] += counters.acknowledged[kind]
        yield
    for some_sums in slices(list(acknowledged.items())):
        into.acknowledgements += [
            AcknowledgementRow(*names, kind.name.lower(), number)
            for names, sums in some_sums
            for kind, number in zip(ACK_TYPES, sums, strict=True)
        ]
        yield


_NOTHING: Final = SharePartitionCounters()


def _share_partition(
    key: SharePartitionKey,
    topic: str,
    leader: SharePartitionLeader | None,
    shard: ShareCoordinatorShard | None,
    log: PartitionLog | None,
    counters: SharePartitionCounters,
    now_ms: int,
) -> SharePartitionRow:
    in_flight_records = in_flight_batches = 0
    oldest_ms = None
    start_offset = finished = UNSET
    if leader is not None and leader.is_active:
        core = leader.core
        in_flight_records, in_flight_batches = core.in_flight_records, core.in_flight_batches
        since_ms = core.oldest_since_ms()
        oldest_ms = 0 if since_ms is None else now_ms - since_ms
        start_offset, finished = core.start_offset, core.delivery_complete_count
    elif shard is not None and (state := shard.state_of(key)) is not None:
        start_offset, finished = state.start_offset, state.delivery_complete_count
    known = start_offset != UNSET
    end_offset = 0 if log is None else log.high_watermark
    return SharePartitionRow(
        key.group_id,
        topic,
        str(key.partition),
        in_flight_records,
        in_flight_batches,
        counters.deliveries,
        counters.redeliveries,
        counters.new_batches,
        counters.lock_timeouts,
        counters.dead_letters,
        start_offset if known else None,
        max(0, lag_of(end_offset, start_offset, finished)) if known else None,
        oldest_ms,
        counters.delays,
    )


def _rpc_name(name: str) -> str:
    """SHARE_FETCH -> ShareFetch."""
    return name.title().replace("_", "")
