"""Plain commits and fetches of offsets, in any version, and whether the group must accept them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.simulation.jobs.producer import NO_MEMBER, Identity, JobProducer
from tests.simulation.jobs.scripts import Script
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import Slot

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup
    from tests.simulation.world import SimConnection

NONE: Final = ErrorCode.NONE
COMMIT_VERSIONS: Final = (9, 10, 7, 8)  # the last two without member epochs
FETCH_VERSIONS: Final = (8, 9, 10)


def expected_error(live: ClassicGroup | ConsumerGroup | None, who: Identity, slots: Sequence[Slot]) -> ErrorCode:
    """What a member's commit is to be answered, by the state its group is in when it comes."""
    if live is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if isinstance(live, ClassicGroup):
        return _expected_of_classic(live, who)
    if who.member_id not in live.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    current = live.current_of(who.member_id)
    if who.epoch == current.member_epoch:
        return NONE
    since = [current.assignment_epoch_of(slot.topic_id, slot.partition) for slot in slots]
    stale = who.epoch > current.member_epoch or any(first is None or who.epoch < first for first in since)
    if not stale:
        return NONE
    return ErrorCode.ILLEGAL_GENERATION if live.members[who.member_id].classic else ErrorCode.STALE_MEMBER_EPOCH


def _expected_of_classic(live: ClassicGroup, who: Identity) -> ErrorCode:
    if who.instance_id is not None:
        holder = next((each.member_id for each in live.members.values() if each.instance_id == who.instance_id), None)
        if holder is not None and holder != who.member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if who.member_id not in live.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if who.epoch != live.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.REBALANCE_IN_PROGRESS if live.state is ClassicState.COMPLETING_REBALANCE else NONE


def commit(group: JobGroup, connection: SimConnection, offsets: Mapping[Slot, int], who: Identity) -> Script[ErrorCode]:
    """OffsetCommit; what was answered counts."""
    world, ledger = group.world, group.ledger
    version = world.rng.choice(COMMIT_VERSIONS if who.classic else COMMIT_VERSIONS[:2])
    expected = expected_error(group.live(), who, list(offsets))
    topics: dict[Slot, OffsetCommitRequestTopic] = {}
    for slot, offset in offsets.items():
        row = OffsetCommitRequestPartition(slot.partition, offset)
        topics[slot] = OffsetCommitRequestTopic("" if version >= 10 else slot.topic, slot.topic_id, [row])
    request = OffsetCommitRequest(group.id, who.epoch, who.member_id, who.instance_id, topics=list(topics.values()))
    token = ledger.on_sent({slot.index: offset for slot, offset in offsets.items()})
    world.seen["offsets committed plainly"] += 1
    response = yield world.call("offset_commit", request, version, connection)
    assert isinstance(response, OffsetCommitResponse)
    (error,) = {ErrorCode(row.error_code) for topic in response.topics for row in topic.partitions}
    world.note(f"{who} commits { {slot.index: offset for slot, offset in offsets.items()} }: {error.name}")
    if error is not expected and not (error in LOG_FAILED and world.faults.happened):
        raise InvariantBroken(f"{group.id}: {who} committed and was answered {error.name}, due was {expected.name}")
    if error in NO_MEMBER:
        world.seen["offset commits that were fenced"] += 1
    if error is NONE or error is expected:
        for slot in offsets:
            ledger.on_answered(token, slot.index, committed=error is NONE)
    return error


def commit_in_transaction(
    group: JobGroup, producer: JobProducer, offsets: Mapping[Slot, int], who: Identity
) -> Script[ErrorCode]:
    """TxnOffsetCommit. A transaction is not held up by a rebalance, but its member has to be one of now."""
    due = _due_in_transaction(group, who, list(offsets))
    error = yield from producer.commit_offsets(group.id, offsets, who)
    if due is not _due_in_transaction(group, who, list(offsets)) or due is ErrorCode.GROUP_ID_NOT_FOUND:
        return error  # the group has changed meanwhile
    if (error is NONE or error in NO_MEMBER) and error is not due:
        raise InvariantBroken(f"{group.id}: {who} committed, and was answered {error.name}, due was {due.name}")
    return error


def _due_in_transaction(group: JobGroup, who: Identity, slots: Sequence[Slot]) -> ErrorCode:
    due = expected_error(group.live(), who, slots)
    if due is ErrorCode.REBALANCE_IN_PROGRESS:
        return NONE
    return ErrorCode.ILLEGAL_GENERATION if due is ErrorCode.STALE_MEMBER_EPOCH else due


def fetch(
    group: JobGroup, connection: SimConnection, slots: Sequence[Slot], who: Identity | None, *, stable: bool
) -> Script[dict[Slot, int] | ErrorCode]:
    """OffsetFetch: the offsets of all `slots`, or an error. `who` None: somebody who is no member."""
    world, ledger = group.world, group.ledger
    version = world.rng.choice(FETCH_VERSIONS)
    wanted = OffsetFetchRequestGroup(
        group.id,
        topics=[
            OffsetFetchRequestTopics("" if version >= 10 else slot.topic, slot.topic_id, [slot.partition])
            for slot in slots
        ],
    )
    if who is not None and version >= 9 and not who.classic:
        wanted.member_id, wanted.member_epoch = who.member_id, who.epoch
    order, pending = ledger.next_order(), _pending(group)
    response = yield world.call(
        "offset_fetch", OffsetFetchRequest(groups=[wanted], require_stable=stable), version, connection
    )
    assert isinstance(response, OffsetFetchResponse)
    (answer,) = response.groups
    if answer.error_code:
        error = ErrorCode(answer.error_code)
        if error not in NO_MEMBER and not (error in LOG_FAILED and world.faults.happened):
            raise InvariantBroken(f"{group.id}: offsets were asked for, and answered {error.name}")
        return error
    found: dict[Slot, int] = {}
    for slot, topic in zip(slots, answer.topics, strict=True):
        (row,) = topic.partitions
        if row.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT and stable:
            world.seen["offsets that were unstable"] += 1
            return ErrorCode.UNSTABLE_OFFSET_COMMIT
        if row.error_code:
            raise InvariantBroken(f"{group.id}: the offset of {slot} was answered {ErrorCode(row.error_code).name}")
        if stable and slot.index in pending & _pending(group):
            raise InvariantBroken(f"{group.id}: the offset of {slot} is answered as stable, and one is pending")
        torn = world.jobs.is_torn()
        ledger.register(slot.index).on_read(row.committed_offset, order, stable=stable, torn=torn)
        found[slot] = row.committed_offset
    world.seen["offsets fetched"] += 1
    return found


def _pending(group: JobGroup) -> set[int]:
    """Slots with an offset of a transaction that is open: its time is not over, either."""
    is_ongoing = group.world.jobs.is_ongoing
    return {slot for attempt in group.ledger.pending() if is_ongoing(*attempt.producer) for slot in attempt.offsets}
