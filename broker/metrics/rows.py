"""What one scrape shows: plain values, each row of one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from shareq import __version__
from shareq.broker.foundation.durations import Durations
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.coordinator.group.groups import GroupKind
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.share import AcknowledgeType

ACK_TYPES: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
"""What is counted of acknowledgements: a gap is no record."""


REDRIVE_ENDS: Final = ("done", "cancelled", "failed")
"""How a redrive ends."""
LETTER_ENDS: Final = (
    "redriven",
    "filtered",
    "already_sent",
    "not_a_letter",
    "unreadable",
    "without_content",
    "no_topic",
    "not_authorized",
    "refused",
)
"""What a redrive makes of a letter."""


class Timings(NamedTuple):
    """`Durations`, as they were."""

    buckets: tuple[int, ...]
    total_ns: int

    @classmethod
    def of(cls, durations: Durations) -> Timings:
        return cls(tuple(durations.buckets), durations.total_ns)


NO_TIMINGS: Final = Timings.of(Durations())


class ListenerRow(NamedTuple):
    """One listener. `certificate_ends_s` is since the epoch, None without TLS."""

    name: str
    connections: int
    accepted: int
    refused: int
    bytes_in: int
    bytes_out: int
    authenticated: int = 0
    unauthenticated: int = 0
    certificate_ends_s: int | None = None


class QuotaRow(NamedTuple):
    """One kind of client quota."""

    key: str
    throttled: int
    throttled_ms: int


class QuotaUsageRow(NamedTuple):
    """One quota of an entity: the names as they were set, "<default>" for a default, "" where they do not matter."""

    key: str
    user: str
    client_id: str
    bound: float
    used: float
    throttled_ms: int


class RequestRow(NamedTuple):
    """One RPC, by its name in Apache Kafka. `errors` by name."""

    name: str
    timings: Timings
    unanswered: int
    errors: Mapping[str, int]


class LogRow(NamedTuple):
    """One partition's log. `cleaned_offset` is None when it was never cleaned. `unstable`: offsets from where the first
    transaction begins that has not ended.
    """

    topic: str
    partition: str
    size_bytes: int
    segments: int
    start_offset: int
    end_offset: int
    cleaned_offset: int | None
    unstable: int


class TopicRow(NamedTuple):
    """The traffic of one topic."""

    topic: str
    records_in: int
    bytes_in: int
    bytes_out: int


class TopicShareRow(NamedTuple):
    """What share consumers asked of one topic."""

    topic: str
    fetches: int
    failed_fetches: int
    acknowledgements: int
    failed_acknowledgements: int


class GroupFetchRow(NamedTuple):
    """The share fetches of one group."""

    group: str
    answered: int
    ratio_sum: float
    waited_ns: int


class DeadLetterRow(NamedTuple):
    """The dead letters of one group; `waiting` are dead records that have none yet."""

    group: str
    waiting: int
    records: int
    requests: int
    failed_requests: int
    without_letter: int
    refused: int
    without_content: int
    retries: int


class RedriveTotals(NamedTuple):
    """All redrives since the start: those at work, and `waiting` of them; by `REDRIVE_ENDS` and `LETTER_ENDS`."""

    running: int = 0
    waiting: int = 0
    ended: Mapping[str, int] = MappingProxyType({})
    letters: Mapping[str, int] = MappingProxyType({})


NO_REDRIVES: Final = RedriveTotals()


class SharePartitionRow(NamedTuple):
    """One share partition. `start_offset`, `lag` and `oldest_ms` (an age) are None while they are not known."""

    group: str
    topic: str
    partition: str
    in_flight_records: int
    in_flight_batches: int
    deliveries: int
    redeliveries: int
    new_batches: int
    lock_timeouts: int
    dead_letters: int
    start_offset: int | None
    lag: int | None
    oldest_ms: int | None = None
    delays: int = 0


class AcknowledgementRow(NamedTuple):
    """The acknowledgements of one type, of one group on one topic."""

    group: str
    topic: str
    ack_type: str
    records: int


@dataclass(slots=True)
class CoordinatorState:
    """The partitions of one coordinator."""

    active: int = 0
    failed: int = 0
    waiting: int = 0
    loads: Timings = NO_TIMINGS
    longest_load_ns: int = 0


class CommittedOffsetRow(NamedTuple):
    """How far a classic or consumer group has come. `lag` is None where it is unknown."""

    group: str
    topic: str
    partition: str
    offset: int
    lag: int | None


@dataclass(slots=True)
class GroupTotals:
    """Groups of all kinds by kind and state, rebalances and offsets; members by group. `consumer_members` are those of
    classic groups, too.
    """

    kinds: Counter[GroupKind] = field(default_factory=Counter)
    share_states: Counter[str] = field(default_factory=Counter)
    classic_states: Counter[str] = field(default_factory=Counter)
    consumer_states: Counter[str] = field(default_factory=Counter)
    share_members: list[tuple[str, int]] = field(default_factory=list)
    consumer_members: list[tuple[str, int]] = field(default_factory=list)
    share_rebalances: int = 0
    classic_rebalances: int = 0
    consumer_rebalances: int = 0
    offset_commits: int = 0
    offset_expirations: int = 0
    offset_deletions: int = 0
    offsets: list[CommittedOffsetRow] = field(default_factory=list)


@dataclass(slots=True)
class TransactionTotals:
    """Transactional ids by state, and what has become of transactions. `oldest_age_ms` is of those that have not ended,
    0 without one.
    """

    states: Counter[TransactionState] = field(default_factory=Counter)
    oldest_age_ms: int = 0
    commits: int = 0
    aborts: int = 0
    timed_out: int = 0
    markers_to_retry: int = 0
    ends_to_retry: int = 0


class LeftOutRow(NamedTuple):
    """How many samples of a metric a scrape has left out."""

    metric: str
    number: int


@dataclass(slots=True)
class Snapshot:
    """Everything that is exposed."""

    version: str = __version__
    uptime_ns: int = 0
    stalls: Timings = NO_TIMINGS
    longest_stall_ns: int = 0
    waiting_turns: int = 0
    held_bytes: int = 0
    held_request_bytes: int = 0
    connections_waiting: int = 0
    disk_total_bytes: int | None = None
    disk_usable_bytes: int | None = None
    disk_state: int = 0
    disk_reserve_bytes: int = 0
    offline_logs: int = 0
    producer_ids: int = 0
    late_logs: int = 0
    uncleanable_logs: int = 0
    cleaner_passes: int = 0
    listeners: list[ListenerRow] = field(default_factory=list)
    requests: list[RequestRow] = field(default_factory=list)
    quotas: list[QuotaRow] = field(default_factory=list)
    quota_usages: list[QuotaUsageRow] = field(default_factory=list)
    muted_connections: int = 0
    logs: list[LogRow] = field(default_factory=list)
    topics: list[TopicRow] = field(default_factory=list)
    topic_shares: list[TopicShareRow] = field(default_factory=list)
    groups: GroupTotals = field(default_factory=GroupTotals)
    group_coordinator: CoordinatorState = field(default_factory=CoordinatorState)
    transactions: TransactionTotals = field(default_factory=TransactionTotals)
    transaction_coordinator: CoordinatorState = field(default_factory=CoordinatorState)
    share_coordinator: CoordinatorState = field(default_factory=CoordinatorState)
    state_writes: Timings = NO_TIMINGS
    longest_state_write_ns: int = 0
    left_out: list[LeftOutRow] = field(default_factory=list)
    share_partitions: list[SharePartitionRow] = field(default_factory=list)
    acknowledgements: list[AcknowledgementRow] = field(default_factory=list)
    group_fetches: list[GroupFetchRow] = field(default_factory=list)
    dead_letters: list[DeadLetterRow] = field(default_factory=list)
    redrives: RedriveTotals = NO_REDRIVES
    share_loads: Timings = NO_TIMINGS
    parked_share_fetches: int = 0
    expired_share_fetches: int = 0
    share_totals: SharePartitionCounters = field(default_factory=SharePartitionCounters)
    share_sessions: int = 0
    share_session_partitions: int = 0
    evicted_share_sessions: int = 0

    def lists(self) -> list[list[object]]:
        """Return the lists of rows."""
        values = [getattr(each, name) for each in (self, self.groups) for name in type(each).__dataclass_fields__]
        return [value for value in values if isinstance(value, list)]
