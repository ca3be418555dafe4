"""The metrics of the coordinators: groups, committed offsets and share state at present. `families` describes their
names.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shareq.broker.metrics.family import COUNTER, GAUGE, HISTOGRAM, NS_PER_S, Table, distribution, itself
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.coordinator.group.classic.group import ClassicState
from shareq.coordinator.group.groups import GroupKind
from shareq.protocol.names import PAUSED_BY_BREAKER

if TYPE_CHECKING:
    from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.groups.coordinator import GroupCoordinatorService
    from shareq.broker.groups.service import GroupService
    from shareq.broker.services import Services
    from shareq.broker.share.coordinator import ShareCoordinatorService
    from shareq.coordinator.group.offsets.store import OffsetStore
    from shareq.coordinator.group.shard import GroupCoordinatorShard
    from shareq.coordinator.group.share.group import ShareGroup
    from shareq.coordinator.ports import ShareGroupSettings, ShareGroupSettingsSource

_GROUPS: Final = "kafka_server_group_coordinator_metrics"
_GROUP_MANAGER: Final = "kafka_coordinator_group_group_metadata_manager"
_STATES: Final = "kafka_server_share_coordinator_metrics"

DEAD: Final = "Dead"
"""A state that groups have only in Apache Kafka's memory: no client ever sees such a group there, and here there is
none.
"""

SHARE_STATES: Final = ("Empty", "Stable", DEAD)
CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", DEAD)


class SeenPartitions(NamedTuple):
    """The partitions of one coordinator, with shards of any type."""

    partitions: CoordinatorPartitions[Any]
    now_ns: int


class SeenWrites(NamedTuple):
    """The writes of the share coordinator."""

    service: ShareCoordinatorService
    now_ns: int


class SeenShareGroup(NamedTuple):
    """One share group, and its settings in effect."""

    group: ShareGroup
    settings: ShareGroupSettings


class SeenOffset(NamedTuple):
    """The committed progress of a classic or consumer group. `lag` is None if it is unknown."""

    offset: int
    lag: int | None


class Runtime:
    """Metrics that all coordinators have. `partitions` is the name of the metric that counts the served partitions."""

    def __init__(self, coordinator: str, prefix: str, partitions: str) -> None:
        self.served = Table(
            ("state",),
            (
                GAUGE,
                partitions,
                f"Partitions of the {coordinator} coordinator's topic that are served (active) or refused (failed).",
                itself,
            ),
        )
        self.work = Table(
            (),
            (
                HISTOGRAM,
                f"{prefix}_partition_load_time_seconds",
                f"What it took to read a partition of the {coordinator} coordinator's topic.",
                lambda it: distribution(it.partitions.loads),
            ),
            (
                GAUGE,
                f"{prefix}_partition_load_time_max_seconds",
                "The longest load that ended in the last 30 to 60 seconds.",
                lambda it: it.partitions.longest_load.of(it.now_ns) / NS_PER_S,
            ),
            (
                GAUGE,
                f"shareq_{coordinator}_coordinator_waiting_operations",
                f"Operations of the {coordinator} coordinator that were decided and are not durable yet.",
                lambda it: sum(each.waiting for each in it.partitions),
            ),
        )


GROUP_COORDINATOR: Final = Runtime("group", _GROUPS, f"{_GROUPS}_num_partitions")
SHARE_COORDINATOR: Final = Runtime("share", _STATES, f"{_STATES}_num_partitions")

GROUPS: Final = Table(
    ("protocol",),
    (GAUGE, f"{_GROUPS}_group_count", "Groups by protocol.", itself),
)
SHARE_GROUPS_BY_STATE: Final = Table(
    ("state",),
    (GAUGE, f"{_GROUPS}_share_group_count", "Share groups by state.", itself),
)
CONSUMER_GROUPS_BY_STATE: Final = Table(
    ("state",),
    (GAUGE, f"{_GROUPS}_consumer_group_count", "Consumer groups by state.", itself),
)
CLASSIC_GROUPS: Final = Table(
    (),
    (
        GAUGE,
        f"{_GROUP_MANAGER}_num_groups_preparing_rebalance",
        "Classic groups whose members are asked to join.",
        lambda states: states[ClassicState.PREPARING_REBALANCE.value],
    ),
    (
        GAUGE,
        f"{_GROUP_MANAGER}_num_groups_completing_rebalance",
        "Classic groups that wait for the assignment of their leader.",
        lambda states: states[ClassicState.COMPLETING_REBALANCE.value],
    ),
    (
        GAUGE,
        f"{_GROUP_MANAGER}_num_groups_stable",
        "Classic groups whose members have their assignment.",
        lambda states: states[ClassicState.STABLE.value],
    ),
    (
        GAUGE,
        f"{_GROUP_MANAGER}_num_groups_dead",
        "Always 0: a group that is deleted is gone at once.",
        lambda states: states[DEAD],
    ),
    (
        GAUGE,
        f"{_GROUP_MANAGER}_num_groups_empty",
        "Classic groups without members.",
        lambda states: states[ClassicState.EMPTY.value],
    ),
)
SHARE_GROUPS: Final = Table(
    (),
    (
        COUNTER,
        f"{_GROUPS}_share_group_rebalance_total",
        "Group epochs raised by heartbeats: members that joined, other subscriptions, changed topics.",
        attrgetter("rebalances"),
    ),
)
EACH_SHARE_GROUP: Final = Table(
    ("group",),
    (GAUGE, "shareq_share_group_members", "Members of the share group.", lambda it: len(it.group.members)),
    (
        GAUGE,
        "shareq_share_group_paused",
        "1 while the share group is paused; without names, how many are.",
        lambda it: it.settings.paused,
    ),
    (
        GAUGE,
        "shareq_share_group_paused_by_breaker",
        "1 while the share group is paused because it had too many dead letters; without names, how many are.",
        lambda it: it.settings.paused_by == PAUSED_BY_BREAKER,
    ),
)
CONSUMER_MEMBERS: Final = Table(
    ("group",),
    (GAUGE, "shareq_consumer_group_members", "Members of the classic or consumer group.", itself),
)
GROUP_COUNTERS: Final = Table(
    (),
    (
        COUNTER,
        f"{_GROUPS}_group_completed_rebalance_total",
        "Generations of classic groups that got their assignment.",
        attrgetter("classic_rebalances"),
    ),
    (
        COUNTER,
        f"{_GROUPS}_consumer_group_rebalance_total",
        "Epochs of consumer groups raised by members that joined, other subscriptions, changed topics.",
        attrgetter("consumer_rebalances"),
    ),
    (
        COUNTER,
        f"{_GROUPS}_offset_commit_total",
        "Offsets that were committed, one for each partition.",
        attrgetter("offset_commits"),
    ),
    (
        COUNTER,
        f"{_GROUPS}_offset_expiration_total",
        "Committed offsets whose retention was over.",
        attrgetter("offset_expirations"),
    ),
    (
        COUNTER,
        f"{_GROUPS}_offset_deletion_total",
        "Committed offsets that administrators deleted.",
        attrgetter("offset_deletions"),
    ),
)
ALL_OFFSETS: Final = Table(
    (),
    (GAUGE, f"{_GROUP_MANAGER}_num_offsets", "Committed offsets.", itself),
)
OFFSETS: Final = Table(
    ("group", "topic", "partition"),
    (GAUGE, "shareq_consumer_group_committed_offset", "The offset the group goes on from.", attrgetter("offset")),
    (
        GAUGE,
        "shareq_consumer_group_lag",
        "Records from the committed offset to the end of the partition, those of open transactions included.",
        attrgetter("lag"),
    ),
)
STATE_WRITES: Final = Table(
    (),
    (
        COUNTER,
        f"{_STATES}_write_total",
        "Calls that write the state of a share partition.",
        lambda it: sum(it.service.writes.buckets),
    ),
    (
        HISTOGRAM,
        f"{_STATES}_write_latency_seconds",
        "From such a call to the durable state, or to the refusal.",
        lambda it: distribution(it.service.writes),
    ),
    (
        GAUGE,
        f"{_STATES}_write_latency_max_seconds",
        "The longest such call that ended in the last 30 to 60 seconds.",
        lambda it: it.service.longest_write.of(it.now_ns) / NS_PER_S,
    ),
)
COORDINATORS: Final = (
    *(GROUPS, SHARE_GROUPS_BY_STATE, SHARE_GROUPS, EACH_SHARE_GROUP),
    *(GROUP_COORDINATOR.served, GROUP_COORDINATOR.work),
    *(CONSUMER_GROUPS_BY_STATE, CLASSIC_GROUPS, GROUP_COUNTERS, CONSUMER_MEMBERS, ALL_OFFSETS, OFFSETS),
    *(STATE_WRITES, SHARE_COORDINATOR.served, SHARE_COORDINATOR.work),
)


async def take_coordinators(into: Snapshot, services: Services, ends: Ends) -> None:
    """Add the rows of each coordinator that was used."""
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
    """Add the rows that all coordinators have, for one of them; None means that it was not used."""
    failed = 0 if partitions is None else sum(each.is_lost for each in partitions)
    into.take(metrics.served, ("active",), 0 if partitions is None else partitions.count - failed)
    into.take(metrics.served, ("failed",), failed)
    if partitions is not None:
        into.take(metrics.work, (), SeenPartitions(partitions, now_ns))


async def _take_groups(
    into: Snapshot, service: GroupService | None, settings: ShareGroupSettingsSource, breathe: Breathe
) -> None:
    """Add the rows of groups of every kind, and their counters."""
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
    """Add the rows of consumer groups of both protocols. A consumer group's state has to be computed from its
    members, which count as work.
    """
    for states, groups in ((classic, shard.classic.all()), (consumer, shard.consumer.all())):
        for group in groups:
            states[group.state_name] += 1
            into.take(CONSUMER_MEMBERS, (group.group_id,), len(group.members))
            await breathe(1 + len(group.members))


async def _take_offsets(into: Snapshot, services: Services, coordinator: GroupCoordinatorService, ends: Ends) -> None:
    """Add the rows of committed offsets and lags. A partition has a lag if its topic exists and this broker leads
    it.
    """
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
    """Return a copy of the group's offsets, since the store may change during a pause."""
    return [
        (topic, partition, committed.offset)
        for topic, partitions in store.of(group_id).items()
        for partition, committed in partitions.items()
    ]


def _lag(services: Services, ends: Ends, topic: str, partition: int, offset: int) -> int | None:
    """Return the lag as kafka-consumer-groups.sh computes it: up to the end that read_uncommitted consumers see, and
    never below 0.
    """
    if offset < 0 or services.leaders.other_leader(topic, partition) is not None:
        return None
    log = ends.get((topic, partition))
    if log is not None:
        return max(0, log.high_watermark - offset)
    image = services.metadata.topic(topic)
    return 0 if image is not None and partition < image.partitions else None  # a partition that no client has used yet
