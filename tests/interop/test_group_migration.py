"""Consumer groups that migrate to KIP-848's protocol member by member, and back, while records arrive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient

from shareq.protocol.api_keys import ApiKey
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.group_member import CLIENTS, CLIENTS_OF_KIP_848, GroupMember, wait_until
from tests.interop.support.group_work import PARTITIONS, Unique, Work
from tests.interop.support.java_driver import why_no_java

BROKER_SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
}
CLASSIC, MODERN = ConsumerGroupType.CLASSIC, ConsumerGroupType.CONSUMER
BOTH: Final = {CLASSIC: CLIENTS, MODERN: CLIENTS_OF_KIP_848}
LIBRDKAFKA, JAVA = "librdkafka", "java"

pytestmark = pytest.mark.interop


@pytest.fixture(autouse=True)
def _served(broker: BrokerUnderTest) -> None:
    broker.require(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.JOIN_GROUP)


class Migration:
    """One group, its members of both protocols, and a steady stream of records."""

    def __init__(self, broker: BrokerUnderTest, unique: Unique) -> None:
        self.work = Work(broker, unique, CLIENTS)
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        self.members: list[GroupMember] = []

    def start(self, protocol: ConsumerGroupType, client: str, instance: str | None = None) -> GroupMember:
        """Start a member; `roll` or the end of the test closes it."""
        if client == JAVA and (missing := why_no_java()):
            pytest.skip(missing)
        work = self.work
        make = BOTH[protocol][client]
        member = make(work.broker.bootstrap, work.group, work.topic, work.ledger, instance)
        self.members.append(member)
        member.start()
        return member

    def type(self) -> ConsumerGroupType | None:
        listed = self.admin.list_consumer_groups().result().valid
        return next((group.type for group in listed if group.group_id == self.work.group), None)

    def wait_for_type(self, wanted: ConsumerGroupType) -> None:
        wait_until(lambda: self.type() == wanted, self.work.ledger, f"a group of type {wanted.name}")

    @contextmanager
    def records(self) -> Iterator[None]:
        """Produce records during the block, then check that all of them were read."""
        enough = threading.Event()

        def produce() -> None:
            while not enough.wait(0.1):
                self.work.produce(4 * PARTITIONS)

        thread = threading.Thread(target=produce)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()
        self.work.wait_for_all()
        self.work.ledger.check()

    def roll(
        self,
        old: GroupMember,
        protocol: ConsumerGroupType,
        client: str,
        *others: GroupMember,
        instance: str | None = None,
    ) -> GroupMember:
        old.close()
        new = self.start(protocol, client, instance)
        self.work.wait_for_assignment(new, *others)
        return new


@pytest.fixture
def migration(broker: BrokerUnderTest, unique: Unique) -> Iterator[Migration]:
    migration = Migration(broker, unique)
    yield migration
    for member in migration.members:
        member.close()


def test_clients_are_rolled_to_the_other_protocol_and_back(migration: Migration) -> None:
    """Two different clients of a group change protocol; the group is a consumer group while any uses KIP-848."""
    one, two = migration.start(CLASSIC, LIBRDKAFKA), migration.start(CLASSIC, JAVA)
    migration.work.wait_for_assignment(one, two)
    assert migration.type() == CLASSIC
    with migration.records():
        one = migration.roll(one, MODERN, LIBRDKAFKA, two)
        assert migration.type() == MODERN
        two = migration.roll(two, MODERN, JAVA, one)
        one = migration.roll(one, CLASSIC, LIBRDKAFKA, two)
        assert migration.type() == MODERN
        two = migration.roll(two, CLASSIC, JAVA, one)
        migration.wait_for_type(CLASSIC)


def test_static_members_keep_what_they_have_while_the_other_is_rolled(migration: Migration) -> None:
    one, two = migration.start(CLASSIC, LIBRDKAFKA, "i"), migration.start(CLASSIC, LIBRDKAFKA, "j")
    migration.work.wait_for_assignment(one, two)
    shares = (one.assigned, two.assigned)
    with migration.records():
        for protocol, type_between in ((MODERN, MODERN), (CLASSIC, MODERN)):
            one = migration.roll(one, protocol, LIBRDKAFKA, two, instance="i")
            assert (one.assigned, two.assigned) == shares
            assert migration.type() == type_between
            two = migration.roll(two, protocol, LIBRDKAFKA, one, instance="j")
            assert (one.assigned, two.assigned) == shares
            assert migration.type() == protocol


@pytest.mark.crash
def test_a_group_with_members_of_both_protocols_goes_on_after_a_kill(migration: Migration) -> None:
    one, two = migration.start(CLASSIC, JAVA), migration.start(CLASSIC, LIBRDKAFKA)
    migration.work.wait_for_assignment(one, two)
    with migration.records():
        two = migration.roll(two, MODERN, LIBRDKAFKA, one)
        migration.wait_for_type(MODERN)
    migration.work.broker.restart(kill=True)
    with migration.records():
        migration.wait_for_type(MODERN)
        migration.work.wait_for_assignment(one, two)
        two = migration.roll(two, CLASSIC, LIBRDKAFKA, one)
        migration.wait_for_type(CLASSIC)
    migration.work.broker.restart(kill=True)
    with migration.records():
        migration.work.wait_for_assignment(one, two)
    assert migration.type() == CLASSIC
