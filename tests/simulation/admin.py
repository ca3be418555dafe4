"""An administrator of share groups who describes, alters and deletes offsets and groups, also while they are in use.

An answered operation has happened, a refused one has not. If a crash or a failed write cut one off, each partition has
either its old state or the requested one; the broker's state shows which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_share_group_offsets as alter
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.primitives import Message
from tests.simulation.descriptions import describe_group, describe_offsets
from tests.simulation.ledger import Begin, InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import NAMES, Slot

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

RESET: Final = -1  # an offset: where the group's reset mode says
NO_PARTITION: Final = 9  # of no topic


@dataclass
class Operation:
    """A change in progress. `offsets`: the requested start of each slot; `before`: its old state, if known."""

    what: str
    group: Group
    offsets: dict[int, int]
    had_members: bool
    before: dict[int, object] = field(default_factory=dict)
    deletes_group: bool = False
    sets_offsets: bool = False


class Administrator:
    def __init__(self, world: World) -> None:
        self._world = world
        self._connection = world.connect()
        self._open: list[Operation] = []  # whose outcome is not known
        self._left_over: list[tuple[Group, int]] = []  # slots with states that were to be deleted
        self._settled = False

    def act(self) -> None:
        world, rng = self._world, self._world.rng
        group = rng.choice(world.groups)
        action = rng.random()
        if action < 0.15:
            describe_group(world, group)
        elif action < 0.35:
            describe_offsets(world, group)
        elif not group.administered:
            if rng.random() < 0.75:
                for member in group.members:
                    member.heartbeats.leave()
            self._settled = rng.random() < 0.7
            if self._settled:
                world.settle()
            if action < 0.7:
                self._alter_offsets(group)
            elif action < 0.85:
                self._delete_offsets(group)
            else:
                self._delete_group(group)

    # -- the operations

    def _alter_offsets(self, group: Group) -> None:
        world, rng = self._world, self._world.rng
        offsets = {slot.index: self._offset_for(slot) for slot in world.topics.live if rng.random() < 0.7}
        if not offsets:
            return
        operation = self._begin("offsets altered", group, offsets)
        operation.sets_offsets = True
        topics: dict[str, list[alter.AlterShareGroupOffsetsRequestPartition]] = {}
        for index, offset in offsets.items():
            slot = world.topics.slots[index]
            row = alter.AlterShareGroupOffsetsRequestPartition(slot.partition, offset)
            topics.setdefault(slot.topic, []).append(row)
        if rng.random() < 0.1:
            next(iter(topics.values())).append(alter.AlterShareGroupOffsetsRequestPartition(NO_PARTITION, 0))
        rows = [alter.AlterShareGroupOffsetsRequestTopic(name, parts) for name, parts in topics.items()]

        def answered(response: Message) -> None:
            assert isinstance(response, AlterShareGroupOffsetsResponse)
            errors = {
                (topic.topic_name, row.partition_index): ErrorCode(row.error_code)
                for topic in response.responses
                for row in topic.partitions
            }
            for (name, partition), error in errors.items():
                if partition == NO_PARTITION and error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise InvariantBroken(f"altering {name}-{partition} was answered {error.name}")
            by_slot = {index: errors.get(_name(world.topics.slots[index])) for index in offsets}
            self._ended(operation, ErrorCode(response.error_code), by_slot)

        request = AlterShareGroupOffsetsRequest(group.id, rows)
        world.call("alter_share_group_offsets", request, 0, self._connection).on_complete(answered)

    def _offset_for(self, slot: Slot) -> int:
        rng, log = self._world.rng, self._world.log(slot)
        start, end = log.log_start_offset, log.high_watermark
        return rng.choice((RESET, start, end, rng.randint(start, end), rng.randint(start, end), 0, end + 3))

    def _delete_offsets(self, group: Group) -> None:
        world = self._world
        names = [name for name in NAMES if world.rng.random() < 0.7]
        slots = {slot.index: RESET for name in names for slot in world.topics.of(name)}
        operation = self._begin("offsets deleted", group, slots)

        def answered(response: Message) -> None:
            assert isinstance(response, DeleteShareGroupOffsetsResponse)
            errors = {topic.topic_name: ErrorCode(topic.error_code) for topic in response.responses}
            # A topic that is not in the answer, or not known to the group, had no offsets.
            by_slot = {index: errors.get(world.topics.slots[index].topic, ErrorCode.NONE) for index in slots}
            self._ended(operation, ErrorCode(response.error_code), by_slot)

        topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in names]
        request = DeleteShareGroupOffsetsRequest(group.id, topics)
        world.call("delete_share_group_offsets", request, 0, self._connection).on_complete(answered)

    def _delete_group(self, group: Group) -> None:
        world = self._world
        operation = self._begin("groups deleted", group, {slot.index: RESET for slot in world.topics.live})
        operation.deletes_group = True

        def answered(response: Message) -> None:
            assert isinstance(response, DeleteGroupsResponse)
            self._ended(operation, ErrorCode(response.results[0].error_code), {})

        world.call("delete_groups", DeleteGroupsRequest([group.id]), 2, self._connection).on_complete(answered)

    # -- their outcomes

    def _begin(self, what: str, group: Group, offsets: dict[int, int]) -> Operation:
        world = self._world
        live = world.live_group(group.id)
        operation = Operation(what, group, offsets, had_members=live is not None and bool(live.members))
        busy = any(member.busy for member in group.members)  # a write may come in between
        if self._settled and not busy and world.knows_what_is_durable():
            operation.before = {index: world.state_now(group, world.topics.slots[index]) for index in offsets}
        world.note(f"{group.id}: {what}: {offsets}")
        group.administered += 1
        self._open.append(operation)
        return operation

    def _ended(self, operation: Operation, error: ErrorCode, by_slot: Mapping[int, ErrorCode | None]) -> None:
        world = self._world
        world.note(f"{operation.group.id}: {operation.what}: {error.name} {by_slot}")
        if (error is ErrorCode.NON_EMPTY_GROUP) > operation.had_members and not operation.deletes_group:
            raise InvariantBroken(f"{operation.what}: an empty group was answered NON_EMPTY_GROUP")
        if error is ErrorCode.NONE and operation.had_members:
            raise InvariantBroken(f"{operation.what}, while the group has members")
        if error is ErrorCode.NONE:
            self._happened(operation, by_slot)
        elif error in (ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND):
            world.seen["operations on groups that were refused"] += 1
            # A group that a member joined while it was being deleted has lost its offsets all the same.
            if error is ErrorCode.GROUP_ID_NOT_FOUND or operation.had_members or not operation.deletes_group:
                self._close(operation)
        elif self._may_fail(operation, error):
            world.seen["operations on groups that failed"] += 1
        else:
            raise InvariantBroken(f"{operation.what}: answered {error.name}")

    def _may_fail(self, operation: Operation, error: ErrorCode) -> bool:
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # a topic went meanwhile; to be deleted again
            return operation.deletes_group and not all(map(self._world.topics.is_live, operation.offsets))
        return error in LOG_FAILED and self._world.faults.happened

    def _happened(self, operation: Operation, by_slot: Mapping[int, ErrorCode | None]) -> None:
        group = operation.group
        self._world.seen[operation.what] += 1
        if operation.deletes_group:
            group.deleted()
            self._close(operation)
            return
        for index, error in by_slot.items():
            if error is None:
                raise InvariantBroken(f"{operation.what}: slot {index} is not in the answer")
            if error is ErrorCode.NONE or not self._world.topics.is_live(index):
                self._begun_again(group, index, operation.offsets.pop(index))
            elif error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                if operation.sets_offsets:
                    raise InvariantBroken(f"{operation.what}: slot {index} was answered {error.name}")
                operation.offsets.pop(index)
        if not operation.offsets:
            self._close(operation)

    def look(self) -> None:
        """Determine from the broker's idle state how the open operations ended.

        Some of it is only known after the next start.
        """
        sound = self._world.knows_what_is_durable()
        if sound:
            self._left_over = [each for each in self._left_over if not self._is_taken_over(*each)]
        for operation in list(self._open):
            if sound:
                self._resolve(operation)
                self._close(operation)
            else:
                operation.before.clear()  # locks run out meanwhile

    def _is_taken_over(self, group: Group, index: int) -> bool:
        """Return whether the group has started over with the slot; it shows only until something happens there."""
        world, slot = self._world, self._world.topics.slots[index]
        if not world.topics.is_live(index):
            return True
        if slot not in world.initialized(group):
            return False
        if world.state_now(group, slot) == (RESET, RESET, ()):
            group.ledger.on_left_over_gone(index)
        return True

    def _resolve(self, operation: Operation) -> None:
        world, group = self._world, operation.group
        if operation.deletes_group and world.live_group(group.id) is None:
            group.deleted()
            return
        for index, offset in operation.offsets.items():
            if not world.topics.is_live(index):
                continue
            group.ledger.on_lock_lost(index)
            slot = world.topics.slots[index]
            state = world.state_now(group, slot)
            if slot not in world.initialized(group) and not world.left_initializing(group, slot):
                group.assigned.discard(index)
                if state is None:  # it is deleted, or has never been there
                    self._begun_again(group, index, RESET)
                else:
                    group.ledger.on_left_over(index)
                    self._left_over.append((group, index))
                continue
            if state == (offset, RESET if offset == RESET else 0, ()):
                self._begun_again(group, index, offset)
            elif operation.before.get(index) is None:
                if state == (RESET, RESET, ()):  # a member joined, and initialised it
                    self._begun_again(group, index, RESET)
            elif operation.before[index] != state:
                raise InvariantBroken(
                    f"{operation.what}: slot {index} was {operation.before[index]}, asked was {offset}, it is {state}"
                )

    def _begun_again(self, group: Group, index: int, offset: int) -> None:
        if not self._world.topics.is_live(index):
            return
        end = self._world.log(self._world.topics.slots[index]).high_watermark
        group.ledger.on_begun_again(index, None if offset == RESET else Begin(min(offset, end), offset))

    def _close(self, operation: Operation) -> None:
        if operation in self._open:
            self._open.remove(operation)
            operation.group.administered -= 1


def _name(slot: Slot) -> tuple[str, int]:
    return slot.topic, slot.partition
