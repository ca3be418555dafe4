"""Clients of both protocols in one group, through crashes, restarts, broken connections and disk errors.

While the broker lives every request is answered, and after the faults every partition is assigned to one client.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.group.classic.embedded import read_assignment, read_subscription
from shareq.coordinator.group.groups import GroupKind
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupResponseMember
from tests.frames.groups.test_classic_groups_under_faults import LONGEST_WAIT_MS, failing
from tests.support.clients.classic_client import ClassicClient
from tests.unit.coordinator.group.migration.world import assignment, subscription

GROUP, TOPIC, PARTITIONS = "g", "t", 6
STEPS: Final = 500
START_AGAIN: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
LOST: Final = (*START_AGAIN, ErrorCode.ILLEGAL_GENERATION)


class Old:
    """A client of the classic protocol: join, sync, heartbeats; it starts over when an answer demands it."""

    def __init__(self, world: BrokerWorld, name: str, instance: str | None) -> None:
        self.world = world
        self.client = ClassicClient(world, instance=instance, client_id=name)
        self.asked: str | None = None
        self.since_ms = 0
        self.next = "join"
        self.others: list[JoinGroupResponseMember] = []
        self.owned: set[int] = set()

    def step(self) -> None:
        if self.asked is not None:
            if not self.client.connection.frames:
                waited = self.world.clock.now_ms() - self.since_ms
                assert waited <= LONGEST_WAIT_MS, f"{self.asked} waits for {waited} ms"
                return
            self._receive(self.asked)
        self._send(self.next)

    def _send(self, what: str) -> None:
        client = self.client
        if what == "join":
            held = {TOPIC: self.owned} if self.owned else None
            client.send_join(protocols={"range": subscription((TOPIC,), held)}, session_ms=10_000, rebalance_ms=30_000)
        elif what == "sync":
            client.send_sync(_dealt(self.others) if self.others else None)
        else:
            client.connection.send(
                HeartbeatRequest(client.group, client.generation, client.member_id, client.instance), 4
            )
        self.asked, self.since_ms = what, self.world.clock.now_ms()
        self.world.clock.run_until_idle()

    def _receive(self, what: str) -> None:
        client, self.asked = self.client, None
        if what == "join":
            joined = client.joined()
            error, self.others, self.next = ErrorCode(joined.error_code), joined.members, "sync"
        elif what == "sync":
            synced = client.synced()
            error, self.next = ErrorCode(synced.error_code), "heartbeat"
            if error is ErrorCode.NONE:
                topics = read_assignment(synced.assignment).assigned_partitions if synced.assignment else []
                self.owned = {number for each in topics for number in each.partitions}
        else:
            error = ErrorCode(client.connection.receive(HeartbeatResponse).error_code)
        if error is ErrorCode.NONE:
            return
        self.next = "join"
        if error in LOST:
            self.owned = set()
        if error in START_AGAIN:
            client.member_id = ""

    def reconnect(self) -> None:
        self.client.reconnect()
        self.asked, self.next = None, "join"


class New:
    """A client of KIP-848's protocol."""

    def __init__(self, world: BrokerWorld, name: str) -> None:
        self.world, self.name = world, name
        self.connection = world.connect()
        self.epoch = 0
        self.owned: set[int] = set()

    def step(self) -> None:
        topic = self.world.services.metadata.topic(TOPIC)
        assert topic is not None
        owned = [ConsumerGroupHeartbeatRequestTopicPartitions(topic.topic_id, sorted(self.owned))] if self.owned else []
        request = ConsumerGroupHeartbeatRequest(
            GROUP,
            self.name,
            self.epoch,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=[TOPIC],
            topic_partitions=owned,
        )
        answer = self.connection.call(request, 1, ConsumerGroupHeartbeatResponse)
        if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.epoch, self.owned = 0, set()
        elif answer.error_code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = {number for each in answer.assignment.topic_partitions for number in each.partitions}

    def leave(self) -> None:
        request = ConsumerGroupHeartbeatRequest(GROUP, self.name, -1)
        self.connection.call(request, 1, ConsumerGroupHeartbeatResponse)
        self.epoch, self.owned = 0, set()

    def reconnect(self) -> None:
        self.connection = self.world.connect()


def _dealt(members: list[JoinGroupResponseMember]) -> dict[str, bytes]:
    shares: dict[str, set[int]] = {}
    taken: set[int] = set()
    for member in members:
        owned = read_subscription(member.metadata).owned_partitions
        shares[member.member_id] = {number for each in owned for number in each.partitions} - taken
        taken |= shares[member.member_id]
    for number in sorted(set(range(PARTITIONS)) - taken):
        min(shares.values(), key=len).add(number)
    return {member_id: assignment({TOPIC: share}) for member_id, share in shares.items()}


class Trouble:
    """The random faults. `new` clients join and leave, so the group changes its kind repeatedly."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.world = BrokerWorld({"offsets.topic.num.partitions": "1", "log.flush.interval.messages": "1"}, seed=seed)
        self.world.create_topic(TOPIC, PARTITIONS)
        self.old = [Old(self.world, f"old-{number}", "i" if number == 0 else None) for number in range(3)]
        self.new = [New(self.world, f"new-{number}") for number in range(2)]
        self.active: list[New] = []
        self.kinds: Counter[GroupKind] = Counter()

    def step(self) -> None:
        what = self.rng.random()
        if what < 0.6:
            self.rng.choice(self.old).step()
        elif what < 0.75 and self.active:
            self.rng.choice(self.active).step()
        elif what < 0.82:
            self._come_or_go(self.rng.choice(self.new))
        elif what < 0.95:
            self.world.clock.advance(self.rng.choice((1, 500, 3_000, 11_000)))
        elif what < 0.97:
            self.world.fs.fail = failing(self.rng.choice((1, 1, 2, 5)))
        elif what < 0.99:
            everybody: list[Old | New] = [*self.old, *self.new]
            client = self.rng.choice(everybody)
            connection = client.client.connection if isinstance(client, Old) else client.connection
            connection.disconnect()
            client.reconnect()
        else:
            self._restart()
        for partition in self.world.services.groups.coordinator.partitions:
            self.kinds += partition.shard.kinds()

    def _come_or_go(self, client: New) -> None:
        if client in self.active:
            self.active.remove(client)
            client.leave()
        else:
            self.active.append(client)
            client.step()

    def _restart(self) -> None:
        self.world.fs.fail = None
        self.rng.choice((self.world.crash, self.world.restart))()
        self.world.services.env.rng.seed(self.rng.random())  # else it gives the same member ids again
        for old in self.old:
            old.reconnect()
        for new in self.new:
            new.reconnect()

    def settle(self) -> None:
        self.world.fs.fail = None
        clients: list[Old | New] = [*self.old, *self.active]
        owned: Counter[int] = Counter()
        for _ in range(600):
            for client in clients:
                client.step()
            self.world.clock.advance(1_000)
            owned = Counter(number for client in clients for number in client.owned)
            shard = self.world.services.groups.coordinator.partition(GROUP).shard
            group = shard.consumer.group(GROUP) or shard.classic.group(GROUP)
            assert group is not None
            everybody = group.state_name == "Stable" and len(group.members) == len(clients)
            if everybody and owned == Counter(range(PARTITIONS)):
                assert group.kind is (GroupKind.CONSUMER if self.active else GroupKind.CLASSIC)
                return
        raise AssertionError(f"the group does not settle: {owned}")


@pytest.mark.parametrize("seed", range(10))
def test_a_group_of_both_protocols_outlives_trouble(seed: int) -> None:
    trouble = Trouble(seed)
    for _ in range(STEPS):
        trouble.step()
    trouble.settle()
    assert trouble.kinds[GroupKind.CLASSIC]
    assert trouble.kinds[GroupKind.CONSUMER]
