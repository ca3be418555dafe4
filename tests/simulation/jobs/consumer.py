"""A member of a KIP-848 consumer group: it joins, reports what it owns, revokes, leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from tests.simulation.jobs.producer import Identity
from tests.simulation.jobs.scripts import Script
from tests.simulation.jobs.settings import REBALANCE_MS
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import TOPIC, Slot

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2
FENCED: Final = frozenset(
    (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    )
)
REFUSED: Final = frozenset((ErrorCode.UNRELEASED_INSTANCE_ID,))


class ConsumerMembership:
    """One member's view of its group. `assigned`: the slots that it may own."""

    def __init__(self, group: JobGroup, instance_id: str | None) -> None:
        self._group = group
        self._world = group.world
        self._connection = group.world.connect()
        self.instance_id = instance_id
        self.member_id = group.new_member_id()
        self.epoch = JOIN
        self._reported: frozenset[Slot] | None = None
        self._repeats = True
        self.assigned: frozenset[Slot] = frozenset()

    @property
    def joined(self) -> bool:
        return self.epoch > JOIN

    @property
    def identity(self) -> Identity:
        return Identity(self.member_id, self.epoch, self.instance_id)

    def on_broker_lost(self) -> None:
        self._connection = self._world.connect()
        self._repeats = True

    def must_join(self) -> bool:
        return not self.joined

    def join(self) -> Script[None]:
        """Join until the client is a member; another member may first have to leave."""
        while not self.joined:
            yield from self._beat(JOIN, frozenset())
            yield None

    def heartbeat(self, owned: frozenset[Slot]) -> Script[None]:
        if self.joined:
            yield from self._beat(self.epoch, owned)

    def _beat(self, epoch: int, owned: frozenset[Slot]) -> Script[None]:
        world, group = self._world, self._group
        full = epoch == JOIN or self._repeats
        request = ConsumerGroupHeartbeatRequest(group.id, self.member_id, epoch, self.instance_id)
        if full:
            request.rebalance_timeout_ms, request.subscribed_topic_names = REBALANCE_MS, [TOPIC]
        if full or owned != self._reported:
            request.topic_partitions = _wire(owned)
        live = group.live_consumer_group()
        is_member = live is not None and self.member_id in live.members
        response = yield world.call("consumer_group_heartbeat", request, 1, self._connection)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        error = ErrorCode(response.error_code)
        world.seen["heartbeats of consumers"] += 1
        world.note(f"{self.member_id} at {epoch} owns {_reported(owned)}: {error.name} {response.member_epoch}")
        if self.epoch != epoch:
            return  # it has left meanwhile
        if error is not ErrorCode.NONE:
            self._refused(error, is_member=is_member)
            return
        if response.member_epoch < epoch:
            raise InvariantBroken(f"{self.member_id}: member epoch {epoch} became {response.member_epoch}")
        group.on_epoch(response.member_epoch)
        self.epoch, self._reported, self._repeats = response.member_epoch, owned, False
        if response.assignment is not None:
            self.assigned = frozenset(
                world.topics.slot(topic.topic_id, partition)
                for topic in response.assignment.topic_partitions
                for partition in topic.partitions
            )
            world.note(f"{self.member_id} is assigned {_reported(self.assigned)}")

    def _refused(self, error: ErrorCode, *, is_member: bool) -> None:
        if error in LOG_FAILED:
            self._repeats = True
        elif error in FENCED:
            self._world.seen["consumers that had to join again"] += 1
            if error is ErrorCode.UNKNOWN_MEMBER_ID and is_member and self._group.has_member(self.member_id):
                raise InvariantBroken(
                    f"{self.member_id} is a member of {self._group.id}, and was answered {error.name}"
                )
            self.give_up()
        elif error not in REFUSED:
            raise InvariantBroken(f"{self._group.id}: {self.member_id} was answered {error.name}")

    def leave(self) -> Script[None]:
        if not self.joined:
            return
        epoch = LEAVE if self.instance_id is None or self._world.rng.random() < 0.3 else LEAVE_FOR_A_WHILE
        request = ConsumerGroupHeartbeatRequest(self._group.id, self.member_id, epoch, self.instance_id)
        self.give_up()
        self._group.member_left = True
        self._world.seen["consumers that left"] += 1
        response = yield self._world.call("consumer_group_heartbeat", request, 1, self._connection)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        error = ErrorCode(response.error_code)
        self._world.note(f"{self.member_id} leaves: {error.name}")

    def give_up(self) -> None:
        self.epoch = JOIN
        self.assigned = frozenset()
        self._reported = None

    def forget(self) -> None:
        self.give_up()
        self.member_id = self._group.new_member_id()


def _wire(slots: frozenset[Slot]) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
    topics: dict[bytes, list[int]] = {}
    for slot in sorted(slots, key=lambda slot: slot.index):
        topics.setdefault(slot.topic_id, []).append(slot.partition)
    return [ConsumerGroupHeartbeatRequestTopicPartitions(*topic) for topic in topics.items()]


def _reported(slots: frozenset[Slot]) -> list[int]:
    return sorted(slot.index for slot in slots)
