"""Audits of a job's coordinators: memory agrees with their logs, and no transaction hangs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.transactions.coordinator import transaction_coordinator_settings
from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.member import PartitionEpochs
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import NO_PRODUCER_EPOCH, TopicPartition, Transaction, TransactionState
from shareq.coordinator.transaction.records import TRANSACTION_SERDE
from shareq.coordinator.transaction.shard import TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from shareq.protocol.primitives import ZERO_UUID
from tests.simulation.ledger import InvariantBroken
from tests.simulation.replayed import ReplayedGroups, replayed
from tests.simulation.topics import SECOND

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup
    from tests.simulation.world import World


def audit_jobs(world: World, replayed: Sequence[ReplayedGroups]) -> None:
    """Check all invariants of idle coordinators. `replayed`: the group coordinator's shards beside their logs."""
    _check_groups(world, replayed)
    _check_nothing_left(world)
    _check_transactions(world)
    _check_nothing_hangs(world)


# -- groups and their offsets


def _check_groups(world: World, replayed: Sequence[ReplayedGroups]) -> None:
    count = world.services.groups.coordinator.partitions.count
    for route, live, after in replayed:
        for group in world.jobs.groups:
            if group_partition_for(group.id, count) == route:
                _check_same(f"group {group.id}", _group_reported(live, group), _group_reported(after, group))
                _check_owners(live.consumer.group(group.id))
        _check_same("offsets", sorted(live.offsets.store.all()), sorted(after.offsets.store.all()))


def _check_nothing_left(world: World) -> None:
    """Check that deleted topics have no offsets, unless writing that has failed since the start."""
    if world.faults.happened or not world.jobs.all_is_well():
        return
    metadata = world.services.metadata
    for partition in world.services.groups.coordinator.partitions:
        for group_id, topic, at, committed in partition.shard.offsets.store.all():
            known = metadata.topic(topic)
            if known is None or committed.topic_id not in (known.topic_id, ZERO_UUID):
                raise InvariantBroken(f"{group_id} has {committed} in {topic}-{at}, that topic was deleted")


def _group_reported(shard: GroupCoordinatorShard, group: JobGroup) -> object:
    consumer, classic = shard.consumer.group(group.id), shard.classic.group(group.id)
    members = None if consumer is None else _consumers_reported(consumer)
    if classic is not None:
        live = group.live()
        members = _classic_reported(classic, live if isinstance(live, ClassicGroup) else classic)
    store = shard.offsets.store
    committed = {topic: dict(partitions) for topic, partitions in store.of(group.id).items()}
    return members, committed, sorted(store.pending(group.id))


def _consumers_reported(group: ConsumerGroup) -> object:
    return (
        group.group_epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assignment_timestamp_ms,
        group.members,
        group.current,
        group.targets,
        group.static_members,
    )


def _check_owners(group: ConsumerGroup | None) -> None:
    """Check that no partition has two owners: a member keeps one until it has given it up."""
    owners: dict[tuple[bytes, int], str] = {}
    for member_id, current in group.current.items() if group is not None else ():
        for topic_id, partition in _of(current.assigned) | _of(current.revoking):
            other = owners.setdefault((topic_id, partition), member_id)
            if other != member_id:
                raise InvariantBroken(f"partition {partition} is {other}'s and {member_id}'s at once")


def _of(epochs: PartitionEpochs) -> set[tuple[bytes, int]]:
    return {(topic_id, partition) for topic_id, partitions in epochs.items() for partition in partitions}


def _classic_reported(group: ClassicGroup, live: ClassicGroup) -> object:
    """Return the content of the group's record.

    The live group is ahead of it while members join. A group just converted from a consumer group is written one
    generation further on, which no member is in.
    """
    if live.state not in (ClassicState.STABLE, ClassicState.EMPTY):
        return group.generation <= live.generation + 1
    members = sorted((each.member_id, each.instance_id, each.assignment) for each in group.members.values())
    return group.state, group.generation, group.leader_id, members


# -- transactions


def _check_transactions(world: World) -> None:
    broker = world.broker
    partitions = data_folder_of(broker.services).transactions.coordinator.partitions
    settings = transaction_coordinator_settings(broker.services.started_with)

    def new_shard() -> TransactionCoordinatorShard:
        return TransactionCoordinatorShard(world.clock.wall_ms, lambda: ErrorCode.NONE, lambda: 2, settings)

    for _, live, after in replayed(world, partitions, TRANSACTION_STATE, TRANSACTION_SERDE, new_shard):
        for name in world.jobs.transactional_ids:
            _check_same(
                f"transactional id {name}",
                _transaction_reported(live.get(name)),
                _transaction_reported(after.get(name)),
            )


def _transaction_reported(transaction: Transaction | None) -> object:
    return None if transaction is None else replace(transaction, last_producer_epoch=NO_PRODUCER_EPOCH)


def _check_same(what: str, live: object, replayed: object) -> None:
    if live != replayed:
        raise InvariantBroken(f"{what}: live {live}, replayed {replayed}")


def _check_nothing_hangs(world: World) -> None:
    """Check that every open transaction in a log is open, or writing its markers, at its coordinator."""
    known = world.jobs.transactions()
    if known is None:
        return
    by_producer = {transaction.producer_id: transaction for transaction in known}
    places = [TopicPartition(slot.topic, slot.partition) for slot in world.topics.of(SECOND)]
    places += [
        TopicPartition(CONSUMER_OFFSETS, route) for route in range(world.services.groups.coordinator.partitions.count)
    ]
    for at in places:
        for producer_id in _open_in(world.folder.logs.get(*at)):
            transaction = by_producer.get(producer_id)
            if transaction is None or not _is_under_way(transaction) or at not in transaction.partitions:
                raise InvariantBroken(f"{at}: a transaction of producer {producer_id} hangs, known is {transaction}")


def _is_under_way(transaction: Transaction) -> bool:
    return transaction.is_preparing or transaction.state is TransactionState.ONGOING


def _open_in(log: PartitionLog) -> list[int]:
    if log.refusal is not ErrorCode.NONE:
        return []
    producers = log.producers
    found = ((producer_id, producers.get(producer_id)) for producer_id in producers.producer_ids())
    return [producer_id for producer_id, known in found if known is not None and known.transaction_first_offset >= 0]
