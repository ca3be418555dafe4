"""Plain commits and fetches of offsets in any version, with the expected errors."""

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
    from shareq.broker.network.connection import Connection
    from tests.simulation.jobs.group import JobGroup
    from tests.simulation.world import World

NONE: Final = ErrorCode.NONE
COMMIT_VERSIONS: Final = (9, 10, 7, 8)  # the last two without member epochs
BY_NAME: Final = 7  # a version, of commits in transactions, too: without topic ids, and groups that are not found
FETCH_VERSIONS: Final = (8, 9, 10)


BY_ID_FROM: Final = 10
GROUP_NOT_FOUND_FROM: Final = 9


def meant(world: World, slot: Slot, version: int) -> Slot | None:
    if version >= BY_ID_FROM:
        return slot if world.topics.is_live(slot.index) else None
    return world.topics.at(slot.topic, slot.partition)


def unknown(world: World, slot: Slot, version: int) -> ErrorCode:
    there = any(each.topic_id == slot.topic_id for each in world.topics.live)
    by_id = version >= BY_ID_FROM and not there
    return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def expected_error(
    live: ClassicGroup | ConsumerGroup | None, who: Identity, slots: Sequence[Slot], version: int
) -> ErrorCode:
    """Return the required answer to a member's commit, by its group's state on arrival."""
    if live is None:
        return ErrorCode.GROUP_ID_NOT_FOUND if version >= GROUP_NOT_FOUND_FROM else ErrorCode.ILLEGAL_GENERATION
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


def commit(group: JobGroup, connection: Connection, offsets: Mapping[Slot, int], who: Identity) -> Script[ErrorCode]:
    world, ledger = group.world, group.ledger
    version = world.rng.choice(COMMIT_VERSIONS if who.classic else COMMIT_VERSIONS[:2])
    by_id = version >= BY_ID_FROM
    found = {slot: meant(world, slot, version) for slot in offsets}
    there = [slot for slot in found.values() if slot is not None]
    of_group = expected_error(group.live(), who, there, version)
    due = {slot: of_group if at is not None else unknown(world, slot, version) for slot, at in found.items()}
    topics: list[OffsetCommitRequestTopic] = []
    for slot, offset in offsets.items():
        row = OffsetCommitRequestPartition(slot.partition, offset)
        topics.append(OffsetCommitRequestTopic("" if by_id else slot.topic, slot.topic_id, [row]))
    request = OffsetCommitRequest(group.id, who.epoch, who.member_id, who.instance_id, topics=topics)
    token = ledger.on_sent({at.index: offsets[slot] for slot, at in found.items() if at is not None})
    world.seen["offsets committed plainly"] += 1
    response = yield world.call("offset_commit", request, version, connection)
    assert isinstance(response, OffsetCommitResponse)
    errors = {
        (topic.topic_id if by_id else topic.name, row.partition_index): ErrorCode(row.error_code)
        for topic in response.topics
        for row in topic.partitions
    }
    failed = NONE
    for slot, at in found.items():
        error = errors[slot.topic_id if by_id else slot.topic, slot.partition]
        world.note(f"{who} commits {offsets[slot]} in {slot.index}: {error.name}")
        if error is not due[slot] and not (error in LOG_FAILED and world.faults.happened):
            raise InvariantBroken(f"{group.id}: {who} committed: {error.name}, due was {due[slot].name}")
        if at is not None and error is due[slot]:
            ledger.on_answered(token, at.index, committed=error is NONE)
        failed = failed or error
    world.seen["offset commits that were fenced"] += failed in NO_MEMBER
    world.seen["offsets committed in topics that are gone"] += len(there) < len(found)
    return failed


def commit_in_transaction(
    group: JobGroup, producer: JobProducer, offsets: Mapping[Slot, int], who: Identity
) -> Script[ErrorCode]:
    """Send TxnOffsetCommit: a rebalance does not stop it, but the member must be a current one."""
    due = _due_in_transaction(group, who, list(offsets))
    error = yield from producer.commit_offsets(group.id, offsets, who)
    if due is not _due_in_transaction(group, who, list(offsets)):
        return error  # the group has changed meanwhile
    if (error is NONE or error in NO_MEMBER) and error is not due:
        raise InvariantBroken(f"{group.id}: {who} committed, and was answered {error.name}, due was {due.name}")
    return error


def _due_in_transaction(group: JobGroup, who: Identity, slots: Sequence[Slot]) -> ErrorCode:
    there = [at for slot in slots if (at := meant(group.world, slot, BY_NAME)) is not None]
    if len(there) < len(slots):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    due = expected_error(group.live(), who, there, BY_NAME)
    if due is ErrorCode.REBALANCE_IN_PROGRESS:
        return NONE
    return ErrorCode.ILLEGAL_GENERATION if due is ErrorCode.STALE_MEMBER_EPOCH else due


def fetch(
    group: JobGroup, connection: Connection, slots: Sequence[Slot], who: Identity | None, *, stable: bool
) -> Script[dict[Slot, int] | ErrorCode]:
    """Return the offsets of all existing `slots`, or an error. `who` None: a client that is no member."""
    world, ledger = group.world, group.ledger
    gone = [slot for slot in slots if not world.topics.is_live(slot.index)]
    version = BY_ID_FROM if gone else world.rng.choice(FETCH_VERSIONS)
    slots = [slot for slot in slots if slot not in gone] + gone  # answered in that order
    wanted = OffsetFetchRequestGroup(
        group.id,
        topics=[
            OffsetFetchRequestTopics("" if version >= BY_ID_FROM else slot.topic, slot.topic_id, [slot.partition])
            for slot in slots
        ],
    )
    if who is not None and version >= 9 and not who.classic:
        wanted.member_id, wanted.member_epoch = who.member_id, who.epoch
    order, open_now = ledger.next_order(), pending(group)
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
        if slot in gone:
            if row.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                raise InvariantBroken(f"{group.id}: {slot} is gone, its offset was answered {row}")
            continue
        if row.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT and stable:
            world.seen["offsets that were unstable"] += 1
            return ErrorCode.UNSTABLE_OFFSET_COMMIT
        if row.error_code:
            raise InvariantBroken(f"{group.id}: the offset of {slot} was answered {ErrorCode(row.error_code).name}")
        if stable and slot.index in open_now & pending(group):
            raise InvariantBroken(f"{group.id}: the offset of {slot} is answered as stable, and one is pending")
        torn = world.jobs.is_torn()
        has_expired = ledger.register(slot.index).on_read(row.committed_offset, order, stable=stable, torn=torn)
        world.seen["offsets that had expired"] += has_expired
        found[slot] = row.committed_offset
    world.seen["offsets fetched"] += 1
    world.seen["offsets asked for in topics that are gone"] += bool(gone)
    return found


def pending(group: JobGroup) -> set[int]:
    """Return slots with an offset in an open transaction, which has not expired either."""
    is_ongoing = group.world.jobs.is_ongoing
    ongoing = [attempt for attempt in group.ledger.pending() if is_ongoing(*attempt.producer)]
    return {slot for attempt in ongoing for slot in attempt.offsets if attempt.still_has(slot)}
