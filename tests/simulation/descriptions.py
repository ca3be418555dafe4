"""Descriptions of a share group for administrators, which must agree with what its clients received."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponsePartition,
)
from shareq.protocol.generated.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import NAMES, Slot

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World


def describe_offsets(world: World, group: Group) -> None:
    """Check DescribeShareGroupOffsets of all or of named partitions, while nothing else is in progress."""
    world.settle()
    topics = None
    if world.rng.random() < 0.5:
        topics = [
            DescribeShareGroupOffsetsRequestTopic(name, [slot.partition for slot in world.topics.of(name)])
            for name in NAMES
        ]
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group.id, topics)])
    pending = world.call("describe_share_group_offsets", request, 1, world.connect())
    world.settle()
    response = pending.value
    assert isinstance(response, DescribeShareGroupOffsetsResponse)
    world.seen["descriptions of offsets"] += 1
    if group.administered or not world.knows_what_is_durable():
        return
    known = world.initialized(group)  # of others there may be states whose deletion was cut off
    for topic in response.groups[0].topics:
        for row in topic.partitions:
            if world.topics.of(topic.topic_name):
                slot = world.topics.slot(topic.topic_id, row.partition_index)
                if slot in known:
                    _check_offsets(world, group, slot, row)


def _check_offsets(world: World, group: Group, slot: Slot, row: DescribeShareGroupOffsetsResponsePartition) -> None:
    start, lag, log = row.start_offset, row.lag, world.log(slot)
    reported = f"slot {slot.index} of {group.id} is described with start offset {start}, lag {lag}"
    if row.error_code != ErrorCode.NONE:
        if not log.refusal:
            raise InvariantBroken(f"{reported}: {ErrorCode(row.error_code).name}")
        return
    ledger = group.ledger
    if start < 0:
        # Nobody acknowledged anything that is still there; what was deleted meanwhile takes no state.
        done = [place for place in ledger.finished if place[0] == slot.index and place[1] >= log.log_start_offset]
        if done:
            raise InvariantBroken(f"{reported}, finished are {done}")
        if lag >= 0:  # the first window was acquired
            world.seen["lags behind a window of which nothing is finished"] += 1
            due = ledger.due(slot.index, log.log_start_offset)
            if not len(due) <= lag <= log.high_watermark:
                raise InvariantBroken(f"{reported}, the log ends at {log.high_watermark}, due are {due}")
        return
    due = ledger.due(slot.index, log.log_start_offset)
    if due and due[0] < start:
        raise InvariantBroken(f"{reported}, and {due[0]} is due")
    if not len(due) <= lag <= log.high_watermark - start and start <= log.high_watermark:
        raise InvariantBroken(f"{reported}, the log ends at {log.high_watermark}, due are {due}")
    begin = ledger.begins.get(slot.index)
    if begin is not None and start < begin.floor:
        raise InvariantBroken(f"{reported}, it was altered to {begin.floor}")


def describe_group(world: World, group: Group) -> None:
    """Check ShareGroupDescribe, while nothing else is in progress: the members and their assignments."""
    world.settle()
    pending = world.call("share_group_describe", ShareGroupDescribeRequest([group.id]), 1, world.connect())
    world.settle()
    response = pending.value
    assert isinstance(response, ShareGroupDescribeResponse)
    described, error = response.groups[0], ErrorCode(response.groups[0].error_code)
    world.seen["descriptions of groups"] += 1
    ledger = group.membership
    if group.administered or (error in LOG_FAILED and world.faults.happened):
        return
    if error is not ErrorCode.NONE:
        if ledger.group_epoch:
            raise InvariantBroken(f"group {group.id} was at epoch {ledger.group_epoch}, described: {error.name}")
        return
    found = {
        member.member_id: (
            member.member_epoch,
            frozenset(
                (topic.topic_id, partition)
                for topic in member.assignment.topic_partitions
                for partition in topic.partitions
            ),
        )
        for member in described.members
    }
    if described.group_state != ("Stable" if found else "Empty"):
        raise InvariantBroken(f"group {group.id} with members {sorted(found)} is described as {described.group_state}")
    live = {slot.topic_id for slot in world.topics.live}
    for member_id, known in ledger.members.items():
        if member_id not in found:
            raise InvariantBroken(f"{member_id} is not among the described members {sorted(found)}")
        epoch, assigned = found[member_id]
        existing = frozenset(each for each in known.assigned if each[0] in live)
        if epoch < known.epoch or (known.certain and epoch == known.epoch and assigned != existing):
            raise InvariantBroken(f"{member_id} is described with {(epoch, assigned)}, it was answered {known}")
