"""The metrics of share groups: share partitions, dead letters and sessions at present. `families` describes their
names.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.metrics.family import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    NS_PER_S,
    SUMMARY,
    Distribution,
    Table,
    distribution,
    itself,
)
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.coordinator.share.share_state import UNSET, lag_of
from shareq.protocol.share import AcknowledgeType

if TYPE_CHECKING:
    from shareq.broker.groups.ports import EndedLog
    from shareq.broker.services import Services
    from shareq.broker.share.coordinator import ShareCoordinatorService
    from shareq.broker.share.core.partition import SharePartition
    from shareq.broker.share.dlq.counters import GroupDeadLetters
    from shareq.broker.share.dlq.queues import DeadLetterQueues
    from shareq.broker.share.leader import SharePartitionLeader
    from shareq.broker.share.partitions import SharePartitionManager

_SHARE_GROUP: Final = "kafka_server_share_group_metrics"
_SHARE_PARTITION: Final = "kafka_server_share_partition_metrics"
_SESSIONS: Final = "kafka_server_share_session_cache"
_TOPIC: Final = "kafka_server_broker_topic_metrics"

ACK_TYPES: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
"""The counted types of acknowledgements. GAP is not one, because it acknowledges no record."""


class SeenPartition(NamedTuple):
    """One share partition. `start_offset`, `lag`, `oldest_ms` (an age) and `limit` are None while unknown."""

    counters: SharePartitionCounters
    in_flight_records: int = 0
    in_flight_batches: int = 0
    start_offset: int | None = None
    lag: int | None = None
    oldest_ms: int | None = None
    limit: int | None = None


class SeenLetters(NamedTuple):
    """The dead letters of one group. `waiting` is the number of dead records whose letters are not written yet."""

    counters: GroupDeadLetters
    waiting: int


ACKNOWLEDGED: Final = Table(
    ("ack_type",),
    (COUNTER, f"{_SHARE_GROUP}_record_acknowledgements_total", "Records acknowledged, once that is durable.", itself),
)
ACKNOWLEDGEMENTS: Final = Table(
    ("group", "topic", "ack_type"),
    (COUNTER, "shareq_share_group_acknowledgements_total", "Records acknowledged, once that is durable.", itself),
)
SHARE_GROUPS: Final = Table(
    (),
    (
        HISTOGRAM,
        f"{_SHARE_GROUP}_partition_load_time_seconds",
        "What it took until a share partition could be used, or was found not to be loadable.",
        lambda leaders: distribution(leaders.counters.loads),
    ),
    (
        COUNTER,
        "kafka_server_delayed_share_fetch_metrics_expires_total",
        "Share fetches that waited for records until their time was up.",
        attrgetter("counters.expired_fetches"),
    ),
)
WAITING_FETCHES: Final = Table(
    ("delayed_operation",),
    (
        GAUGE,
        "kafka_server_delayed_operation_purgatory_num_delayed_operations",
        "Requests that wait for records.",
        itself,
    ),
)
GROUP_FETCHES: Final = Table(
    ("group",),
    (
        SUMMARY,
        f"{_SHARE_GROUP}_request_topic_partitions_fetch_ratio",
        "Of each share fetch, which part (0 to 1) of the partitions it asked for was open to it when it ended.",
        lambda it: Distribution(it.ratio_sum, it.answered),
    ),
    (
        SUMMARY,
        f"{_SHARE_GROUP}_topic_partitions_acquire_time_seconds",
        "How long share fetches waited until one of their partitions was open to them, or their time was up.",
        lambda it: Distribution(it.waited_ns / NS_PER_S, it.answered),
    ),
)
DEAD_LETTERS: Final = Table(
    ("group",),
    (
        COUNTER,
        f"{_SHARE_GROUP}_dead_letter_queue_records_total",
        "Dead letters written to the group's queue.",
        attrgetter("counters.records"),
    ),
    (
        COUNTER,
        f"{_SHARE_GROUP}_dead_letter_queue_total_produce_requests_total",
        "Batches of dead letters sent to the group's queue.",
        attrgetter("counters.requests"),
    ),
    (
        COUNTER,
        f"{_SHARE_GROUP}_dead_letter_queue_failed_produce_requests_total",
        "Those of them that the queue did not take.",
        attrgetter("counters.failed_requests"),
    ),
    (GAUGE, "shareq_dead_letters_waiting", "Dead records that have no dead letter yet.", attrgetter("waiting")),
    (
        COUNTER,
        "shareq_dead_letters_lost_total",
        "Dead records archived without a dead letter, because it could not be written.",
        attrgetter("counters.without_letter"),
    ),
    (
        COUNTER,
        "shareq_dead_letters_refused_total",
        "Those of them whose dead letters would go round in circles.",
        attrgetter("counters.refused"),
    ),
    (
        COUNTER,
        "shareq_dead_letters_without_content_total",
        "Dead letters without key and value, of a group that copies them.",
        attrgetter("counters.without_content"),
    ),
    (
        COUNTER,
        "shareq_dead_letter_retries_total",
        "Times that dead letters could not be written and were to be tried again.",
        attrgetter("counters.retries"),
    ),
)
BREAKERS: Final = Table(
    ("group",),
    (
        COUNTER,
        "shareq_share_group_breaker_pauses_total",
        "Times that the share group was paused because it had too many dead letters.",
        itself,
    ),
)
SHARE_PARTITIONS: Final = Table(
    ("group", "topic", "partition"),
    (
        GAUGE,
        f"{_SHARE_PARTITION}_in_flight_message_count",
        "Offsets from the first to the last in flight, finished ones between them included: what the limit of "
        "record locks is about.",
        attrgetter("in_flight_records"),
    ),
    (
        GAUGE,
        "shareq_share_partition_in_flight_limit",
        "How many offsets may be in flight; with so many, nothing new is handed out.",
        attrgetter("limit"),
    ),
    (
        GAUGE,
        f"{_SHARE_PARTITION}_in_flight_batch_count",
        "Ranges of records in flight.",
        attrgetter("in_flight_batches"),
    ),
    (
        SUMMARY,
        f"{_SHARE_PARTITION}_in_flight_batch_message_count",
        "Records delivered for the first time, by range that was put in flight.",
        lambda it: Distribution(it.counters.deliveries - it.counters.redeliveries, it.counters.new_batches),
    ),
    (
        COUNTER,
        f"{_SHARE_PARTITION}_acquisition_lock_timeout_total",
        "Records whose acquisition lock ran out.",
        attrgetter("counters.lock_timeouts"),
    ),
    (
        COUNTER,
        "shareq_share_partition_deliveries_total",
        "Records handed to consumers, again or for the first time.",
        attrgetter("counters.deliveries"),
    ),
    (
        COUNTER,
        "shareq_share_partition_redeliveries_total",
        "Records handed to consumers again.",
        attrgetter("counters.redeliveries"),
    ),
    (
        COUNTER,
        "shareq_share_partition_dead_letters_total",
        "Records given up because their last delivery failed; rejected ones are acknowledgements.",
        attrgetter("counters.dead_letters"),
    ),
    (
        COUNTER,
        "shareq_share_partition_delays_total",
        "Records that began to wait: before they come again, or for their own time.",
        attrgetter("counters.delays"),
    ),
    (
        COUNTER,
        "shareq_share_partition_expired_total",
        "Records rejected because they had expired when a consumer would have been handed them.",
        attrgetter("counters.expired"),
    ),
    (
        GAUGE,
        "shareq_share_partition_start_offset",
        "The first offset whose delivery is not finished; absent before the group has begun.",
        attrgetter("start_offset"),
    ),
    (
        GAUGE,
        "shareq_share_partition_oldest_unacknowledged_age_seconds",
        "Since the oldest record was first handed out that is not finished with; 0 without one. A restart "
        "begins again.",
        lambda it: None if it.oldest_ms is None else it.oldest_ms / 1000,
    ),
    (
        GAUGE,
        "shareq_share_partition_lag",
        "Records whose delivery is not finished; absent before the group has begun.",
        attrgetter("lag"),
    ),
)
FIRST_RECORDS: Final = Table(
    ("group", "topic", "partition", "state"),
    (
        GAUGE,
        "shareq_share_partition_first_record_age_seconds",
        "Since a member has the record at the start offset, or since it was put in flight if none has it.",
        lambda age_ms: age_ms / 1000,
    ),
)
ALL_SHARE_PARTITIONS: Final = Table(
    (),
    (
        COUNTER,
        "shareq_share_session_released_records_total",
        "Records given back because the share session of their holder ended.",
        attrgetter("session_releases"),
    ),
)
SHARE_SESSIONS: Final = Table(
    (),
    (GAUGE, f"{_SESSIONS}_share_sessions_count", "Open share sessions.", len),
    (GAUGE, f"{_SESSIONS}_share_partitions_count", "Share partitions of all share sessions.", attrgetter("partitions")),
    (
        COUNTER,
        f"{_SESSIONS}_share_session_evictions_total",
        "Share sessions that ended with their connection.",
        attrgetter("evicted"),
    ),
)
TOPIC_SHARES: Final = Table(
    ("topic",),
    (COUNTER, f"{_TOPIC}_total_share_fetch_requests_total", "Share fetches from the topic.", attrgetter("fetches")),
    (
        COUNTER,
        f"{_TOPIC}_failed_share_fetch_requests_total",
        "Those of them that were answered with an error for one of its partitions.",
        attrgetter("failed_fetches"),
    ),
    (
        COUNTER,
        f"{_TOPIC}_total_share_acknowledgement_requests_total",
        "Requests with acknowledgements for the topic, share fetches among them.",
        attrgetter("acknowledgements"),
    ),
    (
        COUNTER,
        f"{_TOPIC}_failed_share_acknowledgement_requests_total",
        "Those of them that failed for one of its partitions.",
        attrgetter("failed_acknowledgements"),
    ),
)

SHARES: Final = (
    *(ACKNOWLEDGED, ACKNOWLEDGEMENTS, SHARE_GROUPS, GROUP_FETCHES, DEAD_LETTERS, SHARE_PARTITIONS),
    *(FIRST_RECORDS, ALL_SHARE_PARTITIONS, SHARE_SESSIONS, TOPIC_SHARES, WAITING_FETCHES, BREAKERS),
)


async def take_shares(into: Snapshot, services: Services, ends: Ends) -> None:
    """Add the rows of share groups that were used."""
    made = services.made
    if made.share is not None:
        into.take(SHARE_SESSIONS, (), made.share.sessions)
        _take_dead_letters(into, made.share.dead_letters.queues)
    leaders = None if made.share is None else made.share.partitions
    into.take(WAITING_FETCHES, ("ShareFetch",), 0 if leaders is None else len(leaders.purgatory))
    if leaders is not None:
        await _take_counters(into, services, leaders)
    await _take_share_partitions(into, services, made.share_states, leaders, ends)


async def _take_counters(into: Snapshot, services: Services, leaders: SharePartitionManager) -> None:
    counters, breathe = leaders.counters, services.env.budget.breathe
    into.take(SHARE_GROUPS, (), leaders)
    for group_id, fetches in list(counters.groups.items()):
        into.take(GROUP_FETCHES, (group_id,), fetches)
        await breathe()
    for group_id, pauses in counters.breakers.items():
        into.take(BREAKERS, (group_id,), pauses)
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
    """Add the rows of share partitions that have a state here, and of those that are or were led here, whose state
    may be elsewhere.
    """
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
    """Add the row of the record at the start offset. Its member is no label, because the number of members has no
    limit.
    """
    first = core.first_record()
    if first is not None:
        since_ms = core.oldest_since_ms() if first.since_ms is None else first.since_ms
        into.take(FIRST_RECORDS, (*names, first.state), 0 if since_ms is None else max(0, now_ms - since_ms))


_NOTHING: Final = SharePartitionCounters()


def _stored(key: SharePartitionKey, shard: ShareCoordinatorShard) -> tuple[int, int]:
    """Return the stored start offset, and the number of finished records from there on; UNSET without a state."""
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
