"""The same requests of four clients to both brokers, one after the other: the answers and groups must be equal.

Runs with `--side-by-side`. Where Apache Kafka's result depends on hash maps (the next leader, or the protocol on equal
votes) a sequence ends without a verdict.
"""

from __future__ import annotations

import select
import time
from random import Random
from typing import Final, cast

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.test_classic_group_rpcs import Member

pytestmark = pytest.mark.interop

BROKER_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.max.size": "3",
    "offsets.topic.num.partitions": "1",
}
SEQUENCES, STEPS = 20, 30
INSTANCES: Final = (None, None, "i", "j")
OFFERS: Final = ({"a": b"1", "b": b""}, {"b": b"", "a": b""}, {"b": b"x"}, {"c": b""})
ANSWER_S, PEEK_S = 0.12, 0.04
"""The seconds to wait for an answer, and the seconds after which a request counts as one that waits."""

Reported = tuple[object, ...]


class Side:
    """One broker, and four clients of one group. Member ids are shown as m0, m1 …, in order of appearance."""

    def __init__(self, broker: BrokerUnderTest, group: str) -> None:
        self.broker, self.group = broker, group
        self.clients = [Member(broker, group, instance) for instance in INSTANCES]
        self.waits: dict[int, str] = {}
        self.others: dict[int, list[str]] = {}
        self.names: dict[str, str] = {"": ""}

    def close(self) -> None:
        for client in self.clients:
            client.wire.close()

    def name(self, member_id: str) -> str:
        return self.names.setdefault(member_id, f"m{len(self.names) - 1}")

    def receive(self, number: int, within_s: float) -> Reported:
        wire = self.clients[number].wire
        if not select.select([wire._socket], [], [], within_s)[0]:
            return ("waits",)
        if self.waits.pop(number) == "join":
            return self._joined(number)
        synced = cast(SyncGroupResponse, wire.receive())
        return ("sync", synced.error_code, synced.protocol_name, synced.protocol_type, bytes(synced.assignment))

    def _joined(self, number: int) -> Reported:
        joined: JoinGroupResponse = self.clients[number].joined()
        if joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.clients[number].member_id = ""
        self.others[number] = [member.member_id for member in joined.members]
        head = ("join", joined.error_code, joined.generation_id, self.name(joined.member_id), joined.protocol_type)
        return (*head, joined.protocol_name, joined.skip_assignment, self.name(joined.leader), len(joined.members))

    def join(self, number: int, version: int, offer: int) -> Reported:
        self.clients[number].send_join(version, protocols=OFFERS[offer])
        self.waits[number] = "join"
        return self.receive(number, ANSWER_S)

    def sync(self, number: int, late: int, protocol: str) -> Reported:
        client = self.clients[number]
        assignments = [SyncGroupRequestAssignment(m, self.name(m).encode()) for m in self.others.get(number, ())]
        client.wire.send(
            SyncGroupRequest(
                self.group,
                client.generation - late,
                client.member_id,
                client.instance,
                "consumer",
                protocol,
                assignments,
            ),
            5,
        )
        self.waits[number] = "sync"
        return self.receive(number, ANSWER_S)

    def beat(self, number: int, late: int) -> Reported:
        client = self.clients[number]
        return (client.beat(client.generation - late),)

    def leave(self, number: int, whom: int, by_instance: bool) -> Reported:
        client = self.clients[whom]
        identity = MemberIdentity("", client.instance) if by_instance else MemberIdentity(client.member_id, None)
        left = self.clients[number].leave(5, identity)
        return (left.error_code, [member.error_code for member in left.members])

    def aftermath(self) -> Reported:
        """Return the answers that waiting members received meanwhile, and the group."""
        time.sleep(0.03)
        reported = [(number, self.receive(number, PEEK_S)) for number in sorted(self.waits)]
        probe = Member(self.broker, self.group)
        group = probe.describe()
        probe.wire.close()
        members = sorted((self.name(m.member_id), m.member_metadata, m.member_assignment) for m in group.members)
        return (reported, group.error_code, group.group_state, group.protocol_type, group.protocol_data, members)


@pytest.fixture(scope="module")
def brokers(both_brokers: list[BrokerUnderTest]) -> list[BrokerUnderTest]:
    for broker in both_brokers:
        wait_for_coordinator(broker)
    return both_brokers


def wait_for_coordinator(broker: BrokerUnderTest) -> None:
    probe = Member(broker, "probe")
    end = time.monotonic() + 30
    while probe.beat() is not ErrorCode.UNKNOWN_MEMBER_ID and time.monotonic() < end:
        probe.wire.call(FindCoordinatorRequest(coordinator_keys=["probe"]), 4, FindCoordinatorResponse)
    probe.wire.close()


def a_step(rng: Random) -> tuple[str, int, tuple[int | str | bool, ...]]:
    what = rng.choices(("join", "sync", "beat", "leave"), (10, 8, 3, 2))[0]
    number = rng.randrange(len(INSTANCES))
    if what == "join":
        versions = (3, 5, 8, 9) if INSTANCES[number] is None else (5, 8, 9)
        return what, number, (rng.choice(versions), rng.randrange(len(OFFERS)))
    if what == "sync":
        return what, number, (rng.choice((0, 0, 0, 0, 1, -1)), rng.choice("abb"))
    if what == "beat":
        return what, number, (rng.choice((0, 0, 1)),)
    return what, number, (rng.randrange(len(INSTANCES)), rng.random() < 0.5)


def by_chance(one: Reported, other: Reported) -> bool:
    """Return whether both brokers began the generation, but with another leader or protocol."""
    return all("'join', 0" in str(each) for each in (one, other))


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_the_same_answers(brokers: list[BrokerUnderTest], seed: int) -> None:
    rng = Random(seed)
    sides = [Side(broker, f"group-{seed}") for broker in brokers]
    try:
        for at in range(STEPS):
            what, number, how = a_step(rng)
            if number in sides[0].waits:
                continue
            if what == "leave" and sides[0].waits.get(cast(int, how[0])) == "sync":
                continue  # Apache Kafka leaves that request without an answer
            ours, theirs = ((getattr(side, what)(number, *how), side.aftermath()) for side in sides)
            if ours != theirs and by_chance(ours, theirs):
                return
            assert ours == theirs, f"step {at}: client {number}, {what} {how}"
    finally:
        for side in sides:
            side.close()
