"""Looking inside a broker that has nothing under way: is what it keeps in memory what its logs say?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shareq.broker.coordinators import replay_log
from shareq.broker.group_coordinator import group_coordinator_settings
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.share.partition import RangeView, SharePartition
from shareq.broker.share.record_state import TERMINAL, RecordState
from shareq.broker.share_coordinator import share_coordinator_settings
from shareq.broker.share_partitions import LeaderState
from shareq.broker.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.coordinator.group.records import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.share.keys import SharePartitionKey, group_partition_for, partition_for
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorShard, ShareState
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import decode_records
from tests.simulation.ledger import GroupLedger, InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.world import Group, World

TOPIC: Final = "topic"


def audit(world: World) -> None:
    """Everything that holds whenever nothing is under way."""
    world.seen["audits"] += 1
    for partition in range(world.partitions):
        _check_log(world, partition)
    states = _share_states(world)
    for group in world.groups:
        _check_group(world, group)
        for partition in range(world.partitions):
            state = states.get(world.key(group, partition))
            if state is not None:
                group.ledger.on_persisted_start(partition, state.start_offset)
            _check_leader(world, group, partition, state)


# -- the topic


def _check_log(world: World, partition: int) -> None:
    log = world.broker.logs.get(TOPIC, partition)
    if log.refusal is ErrorCode.NONE:  # else offline after a failed sync; the next start tells
        world.topic.on_read(partition, log.log_start_offset, log.high_watermark, contents(log))


def contents(log: PartitionLog) -> dict[int, bytes | None]:
    """Offset to value of all that readers see."""
    found: dict[int, bytes | None] = {}
    offset = log.log_start_offset
    while offset < log.high_watermark:
        read = log.read(offset, 1 << 20, upto=log.high_watermark)
        if isinstance(read, ErrorCode) or not read.batches:
            raise InvariantBroken(f"{log.topic}-{log.partition} cannot be read at {offset}: {read}")
        for span in read.batches:
            data = bytes(read.records[span.position : span.position + span.size])
            found.update({record.offset: record.value for record in decode_records(data)})
            offset = span.last_offset + 1
    return {offset: value for offset, value in found.items() if offset >= log.log_start_offset}


# -- the coordinators


def _replayed_states(world: World) -> dict[int, tuple[ShareCoordinatorShard, ShareCoordinatorShard]]:
    """The live and the replayed shard of each partition of the share coordinator's topic that is not offline."""
    broker = world.broker
    partitions = broker.share_coordinator.partitions
    settings = share_coordinator_settings(broker.config)
    shards: dict[int, tuple[ShareCoordinatorShard, ShareCoordinatorShard]] = {}
    for route in range(partitions.count):
        log = broker.logs.get(SHARE_GROUP_STATE, route)
        if log.refusal is ErrorCode.NONE:
            replayed = ShareCoordinatorShard(broker.metadata, world.clock.wall_ms, settings)
            replay_log(log, replayed, SHARE_STATE_SERDE)
            shards[route] = (partitions.get(route).shard, replayed)
    return shards


def _share_states(world: World) -> dict[SharePartitionKey, ShareState]:
    """The live states. Replaying the share coordinator's log gives the same ones."""
    shards = _replayed_states(world)
    count = world.broker.share_coordinator.partitions.count
    states: dict[SharePartitionKey, ShareState] = {}
    for group in world.groups:
        for partition in range(world.partitions):
            key = world.key(group, partition)
            both = shards.get(partition_for(key, count)) if count else None
            if both is None:
                continue
            live, replayed = (shard.state_of(key) for shard in both)
            if _told(live) != _told(replayed):
                raise InvariantBroken(f"{key.text()}: live {_told(live)}, replayed {_told(replayed)}")
            if live is not None:
                states[key] = live
    return states


def _told(state: ShareState | None) -> object:
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


def _check_group(world: World, group: Group) -> None:
    """Replaying the group coordinator's log gives the live group."""
    broker = world.broker
    partitions = broker.group_coordinator.partitions
    if not partitions.count:
        return
    route = group_partition_for(group.id, partitions.count)
    log = broker.logs.get(CONSUMER_OFFSETS, route)
    if log.refusal is not ErrorCode.NONE:
        return
    settings = group_coordinator_settings(broker.config)
    replayed = GroupCoordinatorShard(broker.metadata, broker.configs, world.clock.wall_ms, settings)
    replay_log(log, replayed, GROUP_SERDE)
    live, after = _group_told(partitions.get(route).shard, group.id), _group_told(replayed, group.id)
    if live != after:
        raise InvariantBroken(f"group {group.id}: live {live}, replayed {after}")


def _group_told(shard: GroupCoordinatorShard, group_id: str) -> object:
    group = shard.share_group(group_id)
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


# -- the leaders


def _check_leader(world: World, group: Group, partition: int, state: ShareState | None) -> None:
    leader = world.broker.share_partitions.get(world.key(group, partition))
    if leader is None or leader.state is not LeaderState.ACTIVE:
        return
    core = leader.core
    ranges = core.snapshot()
    check_locks(ranges, world.clock.now_ms(), partition)
    _check_counts(core, ranges, partition)
    if state is None:
        return
    if core.start_offset < state.start_offset:
        raise InvariantBroken(f"partition {partition} starts at {core.start_offset}, persisted {state.start_offset}")
    durable = {
        offset: batch.delivery_state
        for batch in combine(state.batches, state.start_offset)
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    _check_acknowledged(core, ranges, durable, partition)
    passed = range(max(state.start_offset, leader.log.log_start_offset), core.start_offset)
    _check_passed(group.ledger, durable, passed, partition)


def check_locks(ranges: list[RangeView], now_ms: int, partition: int) -> None:
    """No lock outlives its deadline."""
    for view in ranges:
        if view.state is RecordState.ACQUIRED and (view.deadline_ms is None or view.deadline_ms <= now_ms):
            raise InvariantBroken(f"partition {partition}: at {now_ms} there is still {view}")


def _check_counts(core: SharePartition, ranges: list[RangeView], partition: int) -> None:
    for view in ranges:
        if view.pending:
            raise InvariantBroken(f"partition {partition}: the outcome of a state write was never told to {view}")
    terminal = sum(view.last_offset - view.first_offset + 1 for view in ranges if view.state in TERMINAL)
    if core.delivery_complete_count != terminal:
        raise InvariantBroken(
            f"partition {partition}: delivery complete count {core.delivery_complete_count}, there are {terminal}"
        )


def _check_acknowledged(
    core: SharePartition, ranges: list[RangeView], durable: Mapping[int, int], partition: int
) -> None:
    """What an acknowledgement made of a record is durable. (Expiry and the log's start act in memory first.)"""
    for view in ranges:
        if view.state is not RecordState.ACKNOWLEDGED:
            continue
        for offset in range(view.first_offset, view.last_offset + 1):
            if offset >= core.start_offset and durable.get(offset) != RecordState.ACKNOWLEDGED:
                raise InvariantBroken(f"{(partition, offset)} is acknowledged in memory, persisted {durable}")


def _check_passed(ledger: GroupLedger, durable: Mapping[int, int], passed: range, partition: int) -> None:
    """The start offset in memory is ahead of the persisted one only over what is terminal on disk, where a client was
    told so: else the next crash brings it back.
    """
    for offset in passed:
        if (partition, offset) in ledger.finished and durable.get(offset) not in TERMINAL:
            raise InvariantBroken(f"{(partition, offset)} is finished and passed, persisted is {durable.get(offset)}")
