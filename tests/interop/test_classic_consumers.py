"""Classic consumer groups with each client: rebalances, committed offsets, restarts and kills."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.interop.support.admin import create_topic, produce
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.group_member import CLIENTS, GroupMember, Ledger, started, wait_until
from tests.interop.support.java_driver import why_no_java

Unique = Callable[[str], str]
BROKER_SETTINGS = {"group.initial.rebalance.delay.ms": "200"}
PARTITIONS = 4
PAIRS = (
    ("librdkafka", "kafka-python"),
    ("kafka-python", "aiokafka"),
    ("aiokafka", "librdkafka"),
    ("librdkafka", "java"),
)

pytestmark = pytest.mark.interop


class Work:
    """A topic with records that count up, and the group that reads it."""

    def __init__(self, broker: BrokerUnderTest, unique: Unique) -> None:
        self.broker = broker
        self.topic, self.group = unique("topic"), unique("group")
        self.ledger = Ledger()
        self.sent = 0
        create_topic(broker.bootstrap, self.topic, PARTITIONS)

    def member(self, client: str, instance: str | None = None) -> GroupMember:
        missing = why_no_java() if client == "java" else None
        if missing is not None:
            pytest.skip(missing)
        return CLIENTS[client](self.broker.bootstrap, self.group, self.topic, self.ledger, instance)

    def produce(self, records: int) -> None:
        numbers = range(self.sent, self.sent + records)
        produce(self.broker.bootstrap, self.topic, ((number % PARTITIONS, b"%d" % number) for number in numbers))
        self.sent += records

    def wait_for_all(self) -> None:
        wait_until(lambda: len(self.ledger.places) == self.sent, self.ledger, f"{self.sent} records")

    def wait_for_assignment(self, *members: GroupMember) -> None:
        """Each has its share of the partitions, and no partition is with two."""

        def settled() -> bool:
            shares = [member.assigned for member in members]
            return (
                set(map(len, shares)) == {PARTITIONS // len(members)} and len(frozenset().union(*shares)) == PARTITIONS
            )

        wait_until(settled, self.ledger, "the assignment")

    def check_once(self) -> None:
        self.ledger.check()
        assert sorted(self.ledger.places) == [
            (p, offset) for p in range(PARTITIONS) for offset in range(self.sent // 4)
        ]
        assert set(self.ledger.places.values()) == {1}


@pytest.mark.parametrize("client", CLIENTS)
def test_members_come_and_go_and_every_record_is_read_once(
    broker: BrokerUnderTest, unique: Unique, client: str
) -> None:
    work = Work(broker, unique)
    one, two, three = (work.member(client) for _ in range(3))
    work.produce(100)
    with started(one):
        work.wait_for_all()
        with started(two):
            work.wait_for_assignment(one, two)
            work.produce(100)
            work.wait_for_all()
        work.wait_for_assignment(one)
        work.produce(100)
        work.wait_for_all()
    work.produce(20)
    with started(three):  # goes on where the others were
        work.wait_for_all()
    work.check_once()


@pytest.mark.parametrize(
    "pair",
    [("librdkafka", "kafka-python"), ("kafka-python", "aiokafka"), ("aiokafka", "librdkafka"), ("librdkafka", "java")],
)
def test_different_clients_in_one_group(broker: BrokerUnderTest, unique: Unique, pair: Sequence[str]) -> None:
    work = Work(broker, unique)
    one, two = (work.member(client) for client in pair)
    with started(one, two):
        work.wait_for_assignment(one, two)
        work.produce(200)
        work.wait_for_all()
    work.check_once()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_static_member_that_comes_back_has_its_own_again(
    broker: BrokerUnderTest, unique: Unique, client: str
) -> None:
    """KIP-345: and the others keep what they have."""
    work = Work(broker, unique)
    one, two = work.member(client, "i"), work.member(client, "j")
    with started(one):
        with started(two):
            work.wait_for_assignment(one, two)
            kept = one.assigned
        again = work.member(client, "j")
        with started(again):
            work.wait_for_assignment(one, again)
            assert one.assigned == kept
            work.produce(100)
            work.wait_for_all()
    work.check_once()


@pytest.mark.crash
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.thorough, id="clean restart"), pytest.param(True, id="kill -9")]
)
def test_a_group_goes_on_after_a_restart(broker: BrokerUnderTest, unique: Unique, client: str, kill: bool) -> None:
    work = Work(broker, unique)
    one, two = work.member(client), work.member(client)
    with started(one, two):
        work.wait_for_assignment(one, two)
        work.produce(100)
        work.wait_for_all()
        broker.restart(kill=kill)
        work.produce(100)
        work.wait_for_all()
    later = work.member(client)
    before = dict(work.ledger.places)
    work.produce(4)
    with started(later):
        work.wait_for_all()
    work.ledger.check()
    repeated = [place for place, count in before.items() if work.ledger.places[place] != count]
    assert not repeated, "what was committed comes again"
