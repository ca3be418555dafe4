"""Share-group states transferred by a migration while requests of killed runs are still on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Final

import pytest
from confluent_kafka import ShareConsumer as LibrdkafkaMember

from devtools.clients.admin import QUIET
from devtools.clients.state_rpcs import StateCaller
from devtools.clients.wire import WireClient
from shareq.aio import ShareConsumer
from shareq.client.admin.share_groups import alteration
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError
from shareq.client.network import Network
from shareq.ops.migrate.broker import SourceCluster, TargetCluster
from shareq.ops.migrate.broker_groups import GroupsOfSource, GroupsOfTarget
from shareq.ops.migrate.group_ports import ShareState, StateRange
from shareq.ops.migrate.ports import Partition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import Message
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.share_wire import eventually
from tests.support.clients.shareq_cli import Shell

pytestmark = pytest.mark.interop

COUNT: Final = 20
DONE: Final = ShareState(2, (StateRange(2, 3, 0, 1), StateRange(5, COUNT - 1, 2, 1)))
"""A state: its first records are finished, some later ones have failed, one was never delivered, the rest is finished.
"""
GROUP: Final = "packers"
KILLED: Final = 8
MORE: Final = 3
MOST_OF_A_FETCH: Final = 500
JOINS_S: Final = 12
"""The seconds allowed for a member's assignment, which comes with its second heartbeat."""
STATE_TOPIC: Final = "__share_group_state"


@contextmanager
def target_of(broker: BrokerUnderTest) -> Iterator[GroupsOfTarget]:
    with closing(Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))) as network:
        yield GroupsOfTarget(TargetCluster(network))


def member_of(broker: BrokerUnderTest, group: str, topic: str) -> LibrdkafkaMember:
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit"}
    member = LibrdkafkaMember({**settings, **QUIET})
    member.subscribe([topic])
    return member


def taken(member: LibrdkafkaMember) -> int:
    return sum(each.error() is None for each in member.poll(1.0))


def filled(broker: BrokerUnderTest, topic: str) -> dict[Partition, ShareState]:
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", topic, "--partitions", "2")
    for partition in (0, 1):
        lines = "".join(f"{partition}.{number}\n" for number in range(COUNT))
        shell.ok("produce", topic, "--partition", str(partition), stdin=lines)
    return {(topic, partition): DONE for partition in (0, 1)}


def starts_of(states: Mapping[Partition, ShareState]) -> dict[Partition, int]:
    return {each: state.start for each, state in states.items()}


def test_a_state_that_was_begun_above_keeps_off_what_was_asked_for_before(
    broker: BrokerUnderTest, unique: Callable[[str], str]
) -> None:
    topic, group = unique("topic"), unique("group")
    states = filled(broker, topic)
    with target_of(broker) as target, WireClient(("127.0.0.1", broker.port)) as client:
        target.expect(group, states)
        target.begin(group, starts_of(states))
        asked = StateCaller(client, group, target._keys(group, states).popitem()[1][0])
        epochs = [asked.summary().state_epoch]
        for _ in range(3):
            target.begin(group, {})
            target.begin_above(group, starts_of(states))
            target.write(group, states)
            for before in epochs:
                assert asked.initialize(before, DONE.start) == ErrorCode.FENCED_STATE_EPOCH
            assert target.read(group, states) == states
            epochs.append(asked.summary().state_epoch)
        assert epochs == sorted(set(epochs))
        shell, reset = Shell(broker.bootstrap), ("share", "reset", group, "--topic", topic, "--to", "earliest", "--yes")
        assert "FENCED_STATE_EPOCH" in shell.run(*reset).err
        words = ("share", "consume", group, "--topic", topic, "-n", "6", "--then", "accept")
        rows = shell.json(*words)
        assert sorted((row["record"]["value"], row["delivery"]) for row in rows) == sorted(
            (f"{partition}.{number}", 1 + (number < 4)) for partition in (0, 1) for number in (2, 3, 4)
        )
        shell.ok("share", "delete-offsets", group, topic, "--yes")
        shell.ok(*reset)


def test_behind_a_take_over_members_are_handed_out_nothing(
    broker: BrokerUnderTest, unique: Callable[[str], str]
) -> None:
    """The share partition is in memory, and nobody has acquired its records."""
    topic, group = unique("topic"), unique("group")
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", topic, "--partitions", "1")
    lines = "".join(f"{number}\n" for number in range(MOST_OF_A_FETCH))
    for _ in range(MORE):  # in batches: a member gets one of them
        shell.ok("produce", topic, stdin=lines)
    shell.ok("configs", "alter", "group", group, "--set", "share.auto.offset.reset=earliest")
    first, second = member_of(broker, group, topic), member_of(broker, group, topic)
    try:
        eventually(lambda: taken(first) or None)
        with closing(Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))) as network:
            GroupsOfSource(SourceCluster(network)).take_over(group, [(topic, 0)])
        for _ in range(JOINS_S):
            assert taken(second) == 0
    finally:
        second.close()
        first.close()


def test_a_group_with_members_does_not_begin(broker: BrokerUnderTest, unique: Callable[[str], str]) -> None:
    topic, group = unique("topic"), unique("group")
    filled(broker, topic)

    async def refused() -> BrokerError:
        async with ShareConsumer(broker.bootstrap, group, [topic]) as member:
            await member.poll(timeout_s=0.5)
            with target_of(broker) as target, pytest.raises(BrokerError) as raised:
                await asyncio.to_thread(target.begin, group, {})
        return raised.value

    assert asyncio.run(refused()).code == ErrorCode.NON_EMPTY_GROUP


def is_asked(broker: BrokerUnderTest, request: Message) -> bool:
    """Send a request and disconnect before the answer; False if one came at once, which is an error."""
    with WireClient(("127.0.0.1", broker.port)) as killed:
        killed.send(request, 0)
        killed.set_timeout(1)
        try:
            killed.receive()
        except TimeoutError:
            return True
    return False


def test_what_apache_kafka_does_late_is_refused(broker_kind: Kind) -> None:
    """Apache Kafka may initialize a group late.

    It creates its state topic when a group begins, and while it cannot it retries after two, four, eight seconds, even
    for clients that have disconnected.
    """
    if broker_kind != "apache":
        pytest.skip("only Apache Kafka tries again by itself")
    broker = BrokerUnderTest("apache", {"share.coordinator.state.topic.replication.factor": "2"})
    try:
        broker.start()
        states = filled(broker, "orders")
        with target_of(broker) as target:
            assert not target.begun(GROUP)
            request = alteration(GROUP, starts_of(states))[0]
            for _ in range(KILLED):
                eventually(lambda: is_asked(broker, request) or None)
            Shell(broker.bootstrap).ok("topics", "create", STATE_TOPIC, "--partitions", "4")
            target.begin(GROUP, starts_of(states))
            target.begin_above(GROUP, starts_of(states))
            target.write(GROUP, states)
            eventually(lambda: "state epoch" in broker.log or None)
            assert target.read(GROUP, states) == states
    finally:
        broker.remove()
