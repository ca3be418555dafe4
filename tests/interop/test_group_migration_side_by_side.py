"""Clients of both protocols that join, leave and rejoin on both brokers: the answers and groups must be equal.

Runs with `--side-by-side`. Results are compared when the clients are at rest, because in between Apache Kafka's depend
on hash maps. Partitions are only counted, for the same reason; their number is divisible by any number of members.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from random import Random
from typing import Final, cast

import pytest

from devtools.clients.admin import create_topic
from devtools.clients.wire import WireClient
from shareq.coordinator.group.classic.embedded import read_assignment, read_subscription, write_assignment
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from shareq.protocol.generated.consumer_protocol_assignment import TopicPartition as Assigned
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from shareq.protocol.generated.consumer_protocol_subscription import TopicPartition as Owned
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.test_classic_group_rpcs import Member
from tests.interop.test_classic_groups_side_by_side import wait_for_coordinator

pytestmark = pytest.mark.interop

BROKER_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "1",
}
TOPIC, PARTITIONS = "topic", 12
SEQUENCES, STEPS, ROUNDS = 12, 14, 40
ANSWER_S: Final = 0.25
AGAIN: Final = ErrorCode.REBALANCE_IN_PROGRESS
Reported = tuple[object, ...]


class Old(Member):
    """A client of the classic protocol that keeps its partitions while it rejoins."""

    def __init__(self, broker: BrokerUnderTest, group: str, instance: str | None) -> None:
        super().__init__(broker, group, instance)
        self.owned: set[int] = set()
        self.waits = False

    def ask(self) -> Reported:
        """Send JoinGroup, repeatedly if necessary, and SyncGroup unless others have to join first."""
        parts = [Owned(TOPIC, sorted(self.owned))] if self.owned else []
        subscription = ConsumerProtocolSubscription([TOPIC], None, parts)
        self.send_join(protocols={"range": b"\0\3" + subscription.encode(3)})
        self.waits = True
        return self.hear()

    def hear(self) -> Reported:
        if not select.select([self.wire._socket], [], [], ANSWER_S)[0]:
            return ("waits",)
        self.waits = False
        answer = self.wire.receive()
        if isinstance(answer, SyncGroupResponse):
            return self._synced(answer)
        joined = cast(JoinGroupResponse, answer)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return ("id required", *self.ask())
        if joined.error_code != ErrorCode.NONE:
            self.forget(joined.error_code)
            return ("join", joined.error_code)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        self.wire.send(
            SyncGroupRequest(
                self.group, self.generation, self.member_id, self.instance, "consumer", "range", _dealt(joined)
            ),
            5,
        )
        self.waits = True
        head = ("join", joined.generation_id, joined.protocol_type, joined.protocol_name, joined.skip_assignment)
        return (*head, *self.hear())

    def _synced(self, synced: SyncGroupResponse) -> Reported:
        if synced.error_code != ErrorCode.NONE:
            self.forget(synced.error_code)
            return ("sync", synced.error_code)
        topics = read_assignment(bytes(synced.assignment)).assigned_partitions if synced.assignment else []
        self.owned = {number for each in topics for number in each.partitions}
        return ("sync", synced.protocol_type, synced.protocol_name, len(self.owned))

    def forget(self, error: int) -> None:
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.member_id = ""
        if error != AGAIN:
            self.generation, self.owned = -1, set()

    def go_on(self) -> Reported:
        if self.waits:
            return self.hear()
        error = self.beat()
        if error is ErrorCode.NONE:
            return (error,)
        self.forget(error)
        return (error, *self.ask())

    def go(self) -> Reported:
        left = self.leave(5)
        self.member_id, self.generation, self.owned = "", -1, set()
        return ("left", left.error_code, [each.error_code for each in left.members])


def _dealt(joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
    shares: dict[str, set[int]] = {}
    taken: set[int] = set()
    for member in joined.members:
        owned = read_subscription(bytes(member.metadata)).owned_partitions
        shares[member.member_id] = {number for each in owned for number in each.partitions} - taken
        taken |= shares[member.member_id]
    size = PARTITIONS // max(len(shares), 1)
    free = sorted(set(range(PARTITIONS)) - taken)
    for share in shares.values():
        while len(share) < size and free:
            share.add(free.pop())
    return [
        SyncGroupRequestAssignment(m, write_assignment(ConsumerProtocolAssignment([Assigned(TOPIC, sorted(share))]), 3))
        for m, share in shares.items()
    ]


class New:
    """A client of KIP-848's protocol."""

    def __init__(self, broker: BrokerUnderTest, group: str, member_id: str, instance: str | None) -> None:
        self.wire = WireClient(("127.0.0.1", broker.port), client_id="app")
        self.group, self.member_id, self.instance = group, member_id, instance
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}

    def beat(self, epoch: int) -> Reported:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.instance,
            rebalance_timeout_ms=20_000 if joins else -1,
            subscribed_topic_names=[TOPIC] if joins else None,
            topic_partitions=[
                ConsumerGroupHeartbeatRequestTopicPartitions(topic_id, parts) for topic_id, parts in self.owned.items()
            ],
        )
        answer = self.wire.call(request, 1, ConsumerGroupHeartbeatResponse)
        if answer.error_code != ErrorCode.NONE:
            self.epoch, self.owned = 0, {}
            return ("beat", answer.error_code)
        self.epoch = max(answer.member_epoch, 0)
        if answer.assignment is not None:
            self.owned = {each.topic_id: list(each.partitions) for each in answer.assignment.topic_partitions}
        return ("beat", answer.member_epoch, sum(map(len, self.owned.values())))

    def ask(self) -> Reported:
        self.epoch, self.owned = 0, {}
        return self.beat(0)

    def go_on(self) -> Reported:
        return self.beat(self.epoch)

    def go(self) -> Reported:
        self.owned = {}
        return self.beat(-1)

    def go_for_a_while(self) -> Reported:
        self.owned = {}
        return self.beat(-2)


class Side:
    """One broker and the clients of one group, by name. `active`: the clients that believe they are members."""

    def __init__(self, broker: BrokerUnderTest, group: str) -> None:
        self.group = group
        self.probe = Member(broker, group)
        self.clients: dict[str, Old | New] = {
            "a": Old(broker, group, None),
            "b": Old(broker, group, None),
            "i": Old(broker, group, "i"),
            "n": New(broker, group, "n", None),
            "j": New(broker, group, "j", "i"),
        }
        self.active: list[str] = []

    def close(self) -> None:
        for client in (*self.clients.values(), self.probe):
            (client.wire).close()

    def come(self, name: str) -> Reported:
        """Let a member join, perhaps as the successor of its member in the other protocol."""
        other = {"i": "j", "j": "i"}.get(name)
        if other in self.active:
            self.active.remove(other)
        self.active = sorted({*self.active, name})
        return self.clients[name].ask()

    def go(self, name: str) -> Reported:
        if name in self.active:
            self.active.remove(name)
        return self.clients[name].go()

    def go_for_a_while(self, name: str) -> Reported:
        self.active.remove(name)
        client = self.clients[name]
        assert isinstance(client, New)
        return client.go_for_a_while()

    def stray(self, name: str) -> Reported:
        client = self.clients[name]
        if isinstance(client, New):
            return ()
        return (client.beat(client.generation - 1), client.sync(generation=client.generation + 1).error_code)

    def rest(self) -> Reported:
        for _ in range(ROUNDS):
            reported = [self.clients[name].go_on() for name in self.active]
            if all(each == (ErrorCode.NONE,) or each[0] == "beat" for each in reported) and self._is_stable():
                return ("at rest",)
        return ("no rest",)

    def _is_stable(self) -> bool:
        return self.look()[1] in ("Stable", "Empty") or not self.active

    def look(self) -> Reported:
        listed = self.probe.wire.call(ListGroupsRequest(), 5, ListGroupsResponse).groups
        kinds = [
            (each.group_type, each.protocol_type, each.group_state) for each in listed if each.group_id == self.group
        ]
        if kinds and kinds[0][0].lower() == "consumer":
            request = ConsumerGroupDescribeRequest([self.group])
            group = self.probe.wire.call(request, 1, ConsumerGroupDescribeResponse).groups[0]
            members = sorted(
                (
                    self.name(each.member_id),
                    each.member_type,
                    each.member_epoch,
                    each.instance_id or "",
                    each.client_id,
                    tuple(each.subscribed_topic_names),
                    each.subscribed_topic_regex or "",
                    sum(len(topic.partitions) for topic in each.target_assignment.topic_partitions),
                )
                for each in group.members
            )
            return (kinds, group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name, members)
        classic = self.probe.describe()
        named = sorted((self.name(each.member_id), each.group_instance_id) for each in classic.members)
        return (kinds, classic.group_state, classic.error_code, classic.protocol_type, classic.protocol_data, named)

    def name(self, member_id: str) -> str:
        return next((name for name, client in self.clients.items() if client.member_id == member_id), "?")


@pytest.fixture(scope="module")
def brokers(both_brokers: list[BrokerUnderTest]) -> list[BrokerUnderTest]:
    for broker in both_brokers:
        wait_for_coordinator(broker)
        create_topic(broker.bootstrap, TOPIC, PARTITIONS)
        _wait_until_assigned(broker)
    return both_brokers


def _wait_until_assigned(broker: BrokerUnderTest) -> None:
    client = New(broker, "probe", "probe", None)
    end = time.monotonic() + 30
    while client.ask()[-1] != PARTITIONS and time.monotonic() < end:
        client.go()
    client.go()
    client.wire.close()


def a_step(rng: Random, side: Side) -> tuple[str, Callable[[Side], Reported]]:
    """Choose a step: an absent client joins, or succeeds its member in the other protocol; a present one leaves."""
    away = [name for name in side.clients if name not in side.active]
    name = rng.choice(away if len(side.active) < 2 or rng.random() < 0.5 else side.active)
    if name in away:
        return f"{name} comes", lambda each: each.come(name)
    if rng.random() < 0.2:
        return f"{name} strays", lambda each: each.stray(name)
    if name == "j" and rng.random() < 0.6:
        return f"{name} goes for a while", lambda each: each.go_for_a_while(name)
    return f"{name} goes", lambda each: each.go(name)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_the_same_answers(brokers: list[BrokerUnderTest], seed: int) -> None:
    rng = Random(seed)
    sides = [Side(broker, f"group-{seed}") for broker in brokers]
    steps: list[str] = []
    try:
        for _ in range(STEPS):
            what, do = a_step(rng, sides[0])
            steps.append(what)
            ours, theirs = ((do(side), side.look(), side.rest(), side.look()) for side in sides)
            assert ours == theirs, steps
    finally:
        for side in sides:
            side.close()
