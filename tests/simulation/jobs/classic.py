"""A member of a classic group: it joins, assigns or awaits its assignment, sends heartbeats, leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shareq.coordinator.group.classic.embedded import read_assignment, write_assignment
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupResponse
from tests.simulation.jobs.producer import NO_MEMBER, Identity
from tests.simulation.jobs.scripts import Script
from tests.simulation.jobs.settings import REBALANCE_MS, SESSION_MS
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import TOPIC, Slot
from tests.support.kafka.group_requests import join_request, sync_request

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup

JOIN_VERSIONS: Final = (5, 7, 9, 9)
LEADERS_COME_BACK_FROM: Final = 9  # before, nobody knows who has to notice that there are more partitions (KIP-814)
SUBSCRIPTION: Final = (1).to_bytes(2, "big") + ConsumerProtocolSubscription([TOPIC]).encode(1)
AGAIN: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


class ClassicMembership:
    """One member's view of its group. `assigned`: the slots of its generation; none outside of a generation."""

    def __init__(self, group: JobGroup, instance_id: str | None) -> None:
        self._group = group
        self._world = group.world
        self._connection = group.world.connect()
        self._version = group.world.rng.choice(JOIN_VERSIONS if instance_id is None else (LEADERS_COME_BACK_FROM,))
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.joined = False
        self.assigned: frozenset[Slot] = frozenset()
        self._leads = False

    @property
    def identity(self) -> Identity:
        return Identity(self.member_id, self.generation, self.instance_id, classic=True)

    def on_broker_lost(self) -> None:
        self._connection = self._world.connect()

    def must_join(self) -> bool:
        """Return True if the member is in no generation, or leads one that lacks some partitions."""
        if not self.joined or not (self._leads or self._leads_unknowingly()):
            return not self.joined
        if self._group.live_consumer_group() is not None:
            return False
        assigned = list(self._group.assigned.get(self.generation, []))
        if self._group.protocol == "mixed":
            assigned += self._group.has_now()
        return not frozenset(self._group.source()) <= frozenset().union(*assigned)

    def _leads_unknowingly(self) -> bool:
        """Return True if the member leads without a notification, after a conversion without a rebalance.

        As in Apache Kafka, such a leader does not notice new partitions before the next rebalance.
        """
        live = self._group.live() if self._group.protocol == "mixed" else None
        return isinstance(live, ClassicGroup) and live.leader_id == self.member_id

    def join(self) -> Script[None]:
        while not self.joined:
            response = yield self._world.call("join_group", self._join_request(), self._version, self._connection)
            assert isinstance(response, JoinGroupResponse)
            error = ErrorCode(response.error_code)
            self._note(f"joins generation {response.generation_id}", error)
            if error is ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
            elif error is ErrorCode.NONE:
                self.member_id, self.generation = response.member_id, response.generation_id
                self._group.on_generation(self.generation)
                yield None
                yield from self._sync(response)
            else:
                self._refused(error)
                yield None

    def _join_request(self) -> JoinGroupRequest:
        request = join_request(self._group.id, self.member_id, {"range": SUBSCRIPTION}, instance=self.instance_id)
        request.session_timeout_ms, request.rebalance_timeout_ms = SESSION_MS, REBALANCE_MS
        return request

    def _sync(self, joined: JoinGroupResponse) -> Script[None]:
        assignments: dict[str, frozenset[Slot]] = {}
        self._leads = joined.leader == self.member_id
        if joined.leader == self.member_id and not joined.skip_assignment:
            members = [each.member_id for each in joined.members]
            slots = self._group.source()
            assignments = {each: frozenset(slots[at :: len(members)]) for at, each in enumerate(members)}
            self._group.assigned.setdefault(self.generation, []).extend(assignments.values())
        shares = {each: _encoded(slots) for each, slots in assignments.items()}
        of = {"instance": self.instance_id, "protocol": joined.protocol_name}
        request = sync_request(self._group.id, self.generation, self.member_id, shares, **of)
        # What the names in the assignment mean: a consumer group has decided on it now, a leader perhaps not yet.
        decided = self._group.live_consumer_group() is not None
        there = list(self._world.topics.live)
        response = yield self._world.call("sync_group", request, 5, self._connection)
        assert isinstance(response, SyncGroupResponse)
        error = ErrorCode(response.error_code)
        self._note(f"is assigned in generation {self.generation}", error)
        if error is not ErrorCode.NONE:
            self._refused(error)
            yield None
            return
        there = there if decided else list(self._world.topics.live)
        self.assigned = _decoded(there, response.assignment)
        self._note(f"has {sorted(slot.index for slot in self.assigned)}", error)
        self._group.on_synced(self.generation)
        by_leader = self._group.assigned.get(self.generation, [])
        reported = [_named(said, there) for said in by_leader]
        if self._group.protocol == "classic" and _named(self.assigned) not in reported:
            raise InvariantBroken(
                f"{self.member_id} is assigned {self.assigned}, not what a leader of generation {self.generation} said"
            )
        self.joined = True

    def heartbeat(self, owned: frozenset[Slot]) -> Script[None]:
        if not self.joined:
            return
        who = self.identity
        request = HeartbeatRequest(self._group.id, who.epoch, who.member_id, who.instance_id)
        response = yield self._world.call("heartbeat", request, 4, self._connection)
        assert isinstance(response, HeartbeatResponse)
        error = ErrorCode(response.error_code)
        self._world.seen["heartbeats of consumers"] += 1
        if error is not ErrorCode.NONE and who == self.identity:
            self._note(f"heartbeats in generation {who.epoch}", error)
            if error in NO_MEMBER:
                self.joined = False
            self._refused(error)

    def leave(self) -> Script[None]:
        if self.joined and self.instance_id is None:
            request = LeaveGroupRequest(self._group.id, members=[MemberIdentity(self.member_id)])
            self.forget()
            self._group.member_left = True
            self._world.seen["consumers that left"] += 1
            response = yield self._world.call("leave_group", request, 5, self._connection)
            assert isinstance(response, LeaveGroupResponse)
            self._note("leaves", ErrorCode(response.error_code))

    def give_up(self) -> None:
        self.joined = False
        self.assigned = frozenset()

    def forget(self) -> None:
        self.give_up()
        self.member_id, self.generation = "", -1

    def _refused(self, error: ErrorCode) -> None:
        if error not in NO_MEMBER | LOG_FAILED:
            raise InvariantBroken(f"{self._group.id}: {self.member_id} was answered {error.name}")
        if error in LOG_FAILED:
            return
        self._world.seen["consumers that had to join again"] += 1
        self.joined = False
        if error in AGAIN:
            self.member_id = ""

    def _note(self, what: str, error: ErrorCode) -> None:
        self._world.note(f"{self._group.id}/{self.instance_id}/{self.member_id[-4:]} {what}: {error.name}")


def _encoded(slots: frozenset[Slot]) -> bytes:
    topics: dict[str, list[int]] = {}
    for slot in sorted(slots, key=lambda slot: slot.index):
        topics.setdefault(slot.topic, []).append(slot.partition)
    partitions = [TopicPartition(topic, found) for topic, found in topics.items()]
    return write_assignment(ConsumerProtocolAssignment(partitions), 1)


def _named(slots: frozenset[Slot], there: Sequence[Slot] = ()) -> set[tuple[str, int]]:
    names = {(slot.topic, slot.partition) for slot in there}
    return {(slot.topic, slot.partition) for slot in slots if not there or (slot.topic, slot.partition) in names}


def _decoded(there: Sequence[Slot], assignment: bytes) -> frozenset[Slot]:
    topics = read_assignment(assignment).assigned_partitions if assignment else []
    wanted = {(topic.topic, partition) for topic in topics for partition in topic.partitions}
    return frozenset(slot for slot in there if (slot.topic, slot.partition) in wanted)
