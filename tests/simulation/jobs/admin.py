"""An administrator in a world with jobs: recreates topics, deletes offsets, groups and records, and lets time pass.

The required answer follows from the group's state when the request arrives; any other is wrong. An operation that a
crash or failed write cut off may have happened or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.log.log_starts import TO_HIGH_WATERMARK
from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from shareq.protocol.primitives import Message
from tests.simulation.jobs.offsets import pending
from tests.simulation.jobs.settings import SESSION_MS
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.reading import contents
from tests.simulation.topics import NAMES, SECOND, TOPIC, Slot

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup
    from tests.simulation.jobs.worker import Worker
    from tests.simulation.world import World

NONE: Final = ErrorCode.NONE
NO_PARTITION: Final = 9  # of no topic
LONGEST_WAIT_MS: Final = 100_000
EITHER: Final = (NONE, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)


class JobAdministrator:
    """An administrator that does one thing at a time, mostly without waiting for work in progress."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._connection = world.connect()
        self.starts = LogStarts()

    # -- topics

    def change_a_topic(self) -> None:
        world, rng = self._world, self._world.rng
        gone = [name for name in NAMES if not world.topics.of(name)]
        if gone:
            world.topics.create(rng.choice(gone))
            return
        name = rng.choice(NAMES)
        copying = self._copying(world.jobs.workers())
        if copying and rng.random() < 0.6:
            name = TOPIC
            world.jobs.bring_one_to_its_offsets([each for each in copying if each.adds_by_itself] or copying)
        elif copying:
            world.jobs.bring_to_an_end(rng.choice(copying))
        world.jobs.copies.on_cut([value for value, at in world.topics.records.sent.items() if self._is_of(at, name)])
        on_their_way = any(worker.commits_offsets for worker in world.jobs.workers())
        world.seen["topics deleted while offsets were on their way"] += on_their_way and name == TOPIC
        world.topics.delete(name)
        if rng.random() < 0.4:
            world.settle()
        if rng.random() < 0.6 and not world.topics.of(name):
            world.topics.create(name)

    def _is_of(self, index: int, name: str) -> bool:
        return name == SECOND and index >= 0 and self._world.topics.slots[index].topic == name

    # -- offsets and groups

    def delete_offsets(self) -> None:
        world = self._world
        group = self._some_group()
        due = _due(group.live())  # now: the group is another one when the answer comes
        slots = [slot for slot in world.topics.of(TOPIC) if world.rng.random() < 0.7]
        topics = {TOPIC: [NO_PARTITION]}
        for slot in slots + world.topics.of(SECOND):
            topics.setdefault(slot.topic, []).append(slot.partition)
        goes = [slot.index for slot in slots] if NONE in due else []
        token = group.ledger.on_deletion_sent(goes)
        world.note(f"{group.id}: offsets of {[slot.index for slot in slots]} are deleted")

        def answered(response: Message) -> None:
            assert isinstance(response, OffsetDeleteResponse)
            error = ErrorCode(response.error_code)
            rows = {
                (topic.name, row.partition_index): row.error_code
                for topic in response.topics
                for row in topic.partitions
            }
            world.note(f"... {error.name} {rows}")
            if error in LOG_FAILED and world.faults.happened:
                return
            _check_deletion(group.id, due, topics, error, rows)
            gone = {index for index in goes if rows[_name(world.topics.slots[index])] == NONE}
            wiped = group.ledger.on_deletion_answered(token, gone, deleted=True)
            world.seen["offsets deleted while they were pending"] += wiped
            group.ledger.on_deletion_answered(token, set(goes) - gone, deleted=False)
            world.seen["offsets deleted" if gone else "deletions of offsets that were refused"] += 1

        request = OffsetDeleteRequest(
            group.id,
            [
                OffsetDeleteRequestTopic(name, list(map(OffsetDeleteRequestPartition, at)))
                for name, at in topics.items()
            ],
        )
        world.call("offset_delete", request, 0, self._connection).on_complete(answered)
        self._perhaps_die()

    def delete_group(self) -> None:
        world = self._world
        group = self._some_group()
        live = group.live()
        due = NONE if live is not None and live.is_empty else ErrorCode.NON_EMPTY_GROUP
        if live is None:
            due = ErrorCode.GROUP_ID_NOT_FOUND
        goes = list(group.ledger.registers()) if due is NONE else []
        token = group.ledger.on_deletion_sent(goes)
        world.note(f"{group.id} is deleted")

        def answered(response: Message) -> None:
            assert isinstance(response, DeleteGroupsResponse)
            error = ErrorCode(response.results[0].error_code)
            world.note(f"... {error.name}")
            if error in LOG_FAILED and world.faults.happened:
                return
            if error is not due:
                raise InvariantBroken(f"{group.id}: deleting it was answered {error.name}, due was {due.name}")
            wiped = group.ledger.on_deletion_answered(token, goes, deleted=due is NONE)
            world.seen["offsets deleted while they were pending"] += wiped
            world.seen["groups deleted" if due is NONE else "deletions of groups that were refused"] += 1

        if due is NONE:
            group.member_left = True
        world.call("delete_groups", DeleteGroupsRequest([group.id]), 2, self._connection).on_complete(answered)
        group.look()
        self._perhaps_die()

    def let_offsets_expire(self) -> None:
        """Let the retention of offsets pass while no member acts, or all only stay."""
        world, rng = self._world, self._world.rng
        longer_ms = rng.choice(world.jobs.groups).retention.retention_ms
        if longer_ms > LONGEST_WAIT_MS:
            return
        world.seen["long times"] += 1
        if rng.random() < 0.5:
            self._stay(longer_ms)
            return
        copying = self._copying(world.jobs.workers())
        patient = [each for each in copying if each.producer is not None and each.producer.timeout_ms > longer_ms]
        for worker in patient * 2:
            for producer in world.producers * 2:
                producer.act()
            if world.jobs.bring_to_an_end(worker) is not None:
                break
        self._some_group()
        world.note("nobody does anything for a long time")
        for worker in world.jobs.workers():
            worker.be_silent(longer_ms + 2 * SESSION_MS)
        for ms in (SESSION_MS + 1, longer_ms // 2, longer_ms // 2 + SESSION_MS):
            world.advance(ms)
            world.look_inside()
        world.seen["long times with offsets pending"] += any(map(pending, world.jobs.groups))
        world.settle()
        world.audit()

    def _stay(self, longer_ms: int) -> None:
        """Let members stay in their groups; perhaps leave once their commits are old."""
        world = self._world
        world.note("members stay for a long time")
        for _ in range(longer_ms // (SESSION_MS - 1) + 1):
            for worker in world.jobs.workers():
                worker.heartbeat()
            world.settle()
            world.advance(SESSION_MS - 1)
        if world.rng.random() < 0.7:
            world.look_inside()
            for worker in world.jobs.workers():
                worker.leave()
                worker.be_silent(2 * SESSION_MS)
            world.settle()
            world.advance(SESSION_MS + 2)
            world.look_inside()
        world.settle()
        world.audit()

    def _some_group(self) -> JobGroup:
        """Return a group, mostly one that all members have just left, perhaps with an open transaction."""
        world, rng = self._world, self._world.rng
        group = rng.choice(world.jobs.groups)
        if rng.random() < 0.75:
            copying = self._copying(group.workers)
            if copying and rng.random() < 0.5:
                world.jobs.bring_to_an_end(rng.choice(copying))
            for worker in group.workers:
                worker.leave()
            if rng.random() < 0.7:
                world.settle()
            if rng.random() < 0.5:
                for worker in group.workers:
                    worker.be_silent(SESSION_MS + 2)
                world.advance(SESSION_MS + 1)
            world.look_inside()
        return group

    def _copying(self, workers: Sequence[Worker]) -> list[Worker]:
        return [worker for worker in workers if worker.producer is not None]

    def _perhaps_die(self) -> None:
        if self._world.rng.random() < 0.25:
            self._world.faults.crash_soon()

    # -- records

    def delete_records(self) -> None:
        """Delete records at the front of a log: up to below its end, or beyond, which is refused."""
        world, rng = self._world, self._world.rng
        slots = [slot for slot in world.topics.live if world.log(slot).refusal is NONE]
        if not slots:
            return
        blocked = [each for worker in world.jobs.workers() if (each := worker.blocked_at()) and each[0] in slots]
        slot, position = rng.choice(blocked) if blocked else (rng.choice(slots), -1)
        log = world.log(slot)
        start, end = log.log_start_offset, log.high_watermark
        to = rng.choice((TO_HIGH_WATERMARK, end, end + 1, *(rng.randint(start, end) for _ in range(5))))
        inside = self._inside_of_transactions(slot, start, end)
        if blocked:
            world.seen["records deleted that a reader waits for"] += 1
            to = rng.randint(position + 1, end)
        elif inside and rng.random() < 0.5:
            to = rng.choice(inside)
        due = max(start, end if to == TO_HIGH_WATERMARK else to)
        if due <= end:
            self._is_cut(slot, due)
        world.note(f"records of {slot.index} below {to} are deleted")
        row = DeleteRecordsTopic(slot.topic, [DeleteRecordsPartition(slot.partition, to)])
        pending = world.call("delete_records", DeleteRecordsRequest([row]), 2, self._connection)
        while not pending.done:  # another commit was made in this turn
            assert world.clock.run_tick()
        answer = pending.value
        assert isinstance(answer, DeleteRecordsResponse)
        ((found,),) = [topic.partitions for topic in answer.topics]
        error = ErrorCode(found.error_code)
        if error is ErrorCode.KAFKA_STORAGE_ERROR and world.faults.happened:
            return
        expected = (ErrorCode.OFFSET_OUT_OF_RANGE, -1) if due > end else (NONE, due)
        if (error, found.low_watermark) != expected:
            raise InvariantBroken(f"records of {slot} were deleted below {to} of {end}: {found}, due was {expected}")
        world.seen["deletions of records"] += error is NONE
        if error is NONE:
            self.starts.answered(slot, due)
        if blocked:
            world.settle()
            world.audit()
        self._perhaps_die()

    def _inside_of_transactions(self, slot: Slot, start: int, end: int) -> list[int]:
        """Return offsets just after the first records of uncommitted transactions."""
        firsts = [
            each.first_offset
            for each in self._world.topics.records.transactions
            if each.slot == slot.index and each.first_offset is not None and not each.commits
        ]
        return [first + 1 for first in firsts if start <= first < end]

    def _is_cut(self, slot: Slot, start: int) -> None:
        """Record the deletion: unread copies and transactions that began there are no longer expected."""
        world = self._world
        self.starts.sent(slot, start)
        gone = [value for offset, value in contents(world.log(slot)).items() if offset < start]
        world.jobs.copies.on_cut([value for value in gone if value in world.jobs.copies.copies])
        for transaction in world.topics.records.transactions:
            first = transaction.first_offset
            if transaction.slot == slot.index and first is not None and first < start and transaction.commits is None:
                transaction.first_offset = None

    def audit(self) -> None:
        for slot in self._world.topics.live:
            self.starts.check(slot, self._world.log(slot).log_start_offset)


def _name(slot: Slot) -> tuple[str, int]:
    return slot.topic, slot.partition


def _due(live: ClassicGroup | ConsumerGroup | None) -> tuple[ErrorCode, ...]:
    """Return the possible answers to the deletion of an offset in the topic that all consumers read."""
    if live is None:
        return ()
    if isinstance(live, ClassicGroup) and live.state is ClassicState.PREPARING_REBALANCE:
        return EITHER  # it reads what the last generation did: nothing, if nobody was in that
    return (NONE,) if live.is_empty else (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,)


def _check_deletion(
    group_id: str,
    due: tuple[ErrorCode, ...],
    topics: Mapping[str, Sequence[int]],
    error: ErrorCode,
    rows: Mapping[tuple[str, int], int],
) -> None:
    """Check the answer. `due`: see `_due`. `rows`: the errors of the partitions."""
    if not due:
        if error is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise InvariantBroken(f"{group_id}: there is no such group, its offsets were deleted: {error.name}")
        return
    wanted: dict[tuple[str, int], tuple[ErrorCode, ...]] = {}
    of_others = EITHER if due == EITHER else (NONE,)
    for name, partitions in topics.items():
        wanted |= dict.fromkeys(((name, at) for at in partitions), due if name == TOPIC else of_others)
    wanted[TOPIC, NO_PARTITION] = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)
    if error or rows.keys() != wanted.keys() or any(rows[at] not in errors for at, errors in wanted.items()):
        raise InvariantBroken(f"{group_id}: deleting offsets was answered {error.name} {rows}, due was {wanted}")


class LogStarts:
    """The log starts, which only an administrator moves, and never back."""

    def __init__(self) -> None:
        self._known: dict[Slot, int] = {}
        self._maybe: dict[Slot, set[int]] = {}

    def sent(self, slot: Slot, start: int) -> None:
        self._maybe.setdefault(slot, set()).add(start)

    def answered(self, slot: Slot, start: int) -> None:
        self._known[slot] = start
        self._maybe.pop(slot, None)

    def check(self, slot: Slot, start: int) -> None:
        known, maybe = self._known.get(slot, 0), self._maybe.get(slot, set())
        if start != known and start not in maybe:
            raise InvariantBroken(f"slot {slot.index} begins at {start}, answered was {known}, perhaps {maybe}")
        self.answered(slot, start)
