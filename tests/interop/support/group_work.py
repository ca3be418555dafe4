"""A working consumer group, classic or KIP-848: what the tests of all clients have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from devtools.clients.admin import create_topic, produce
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.group_member import GroupMember, Ledger, started, wait_until
from tests.interop.support.java_driver import why_no_java

Unique = Callable[[str], str]
PARTITIONS: Final = 4


class Work:
    """A topic of consecutive records and the group that reads it. `clients` make its members, by name."""

    def __init__(self, broker: BrokerUnderTest, unique: Unique, clients: Mapping[str, type[GroupMember]]) -> None:
        self.broker = broker
        self.clients = clients
        self.topic, self.group = unique("topic"), unique("group")
        self.ledger = Ledger()
        self.sent = 0
        create_topic(broker.bootstrap, self.topic, PARTITIONS)

    def member(self, client: str, instance: str | None = None) -> GroupMember:
        missing = why_no_java() if client == "java" else None
        if missing is not None:
            pytest.skip(missing)
        return self.clients[client](self.broker.bootstrap, self.group, self.topic, self.ledger, instance)

    def produce(self, records: int) -> None:
        numbers = range(self.sent, self.sent + records)
        produce(self.broker.bootstrap, self.topic, ((number % PARTITIONS, b"%d" % number) for number in numbers))
        self.sent += records

    def wait_for_all(self) -> None:
        wait_until(lambda: len(self.ledger.places) == self.sent, self.ledger, f"{self.sent} records")

    def wait_for_assignment(self, *members: GroupMember) -> None:
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


def members_come_and_go(work: Work, client: str) -> None:
    """Read every record once while the group's members change: one, two, one, and another one."""
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


def a_static_member_comes_back(work: Work, client: str) -> None:
    """Restart a static member: it gets its partitions again, and the others keep theirs."""
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


def a_group_goes_on_after_a_restart(work: Work, client: str, *, kill: bool) -> None:
    """Check that no record is missed, and that committed records are not repeated."""
    one, two = work.member(client), work.member(client)
    with started(one, two):
        work.wait_for_assignment(one, two)
        work.produce(100)
        work.wait_for_all()
        work.broker.restart(kill=kill)
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
