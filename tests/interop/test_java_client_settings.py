"""Settings that Apache Kafka's share consumer refuses since the group has them, and one of the group that it obeys."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from devtools.clients.wire import WireClient
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver, JavaError
from tests.interop.support.share_wire import eventually

pytestmark = pytest.mark.interop
BROKER_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "300",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.min.session.timeout.ms": "1500",
    "group.share.session.timeout.ms": "1500",
}
Unique = Callable[[str], str]

REFUSED = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": "true",
    "group.instance.id": "static",
    "isolation.level": "read_committed",
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "interceptor.classes": "org.example.Interceptor",
    "group.protocol": "consumer",
    "group.remote.assignor": "uniform",
    "session.timeout.ms": "45000",
    "heartbeat.interval.ms": "3000",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_setting_that_share_consumers_do_not_have(
    broker: BrokerUnderTest, java: JavaDriver, unique: Unique, name: str
) -> None:
    with pytest.raises(JavaError, match=f"ConfigException.*{name}"):
        java.consumer(broker.bootstrap, unique("group"), unique("topic"), **{name.replace(".", "_"): REFUSED[name]})


def test_an_interval_of_commits_is_passed_over(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    """There is nothing that commits by itself; Apache Kafka's client says nothing about this one."""
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [(0, b"value")])
    consumer = java.consumer(broker.bootstrap, group, topic, auto_commit_interval_ms=10)
    assert eventually(lambda: [record.value for record in consumer.poll()] or None) == ["value"]
    consumer.close()


def test_heartbeats_come_as_often_as_the_broker_says(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    """The client has no interval of its own: it outlives three session timeouts, and leaves when it is closed."""
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic)
    consumer = java.consumer(broker.bootstrap, group, topic)
    with WireClient(("127.0.0.1", broker.port)) as client:
        eventually(lambda: consumer.poll(100) or describe(client, group).members or None)
        until = time.monotonic() + 4.5
        while time.monotonic() < until:
            consumer.poll(300)
            assert [member.client_id for member in describe(client, group).members] != []
        before = describe(client, group)
        consumer.close()
        after = eventually(lambda: _without_members(describe(client, group)))
        assert (after.group_state, after.group_epoch) == ("Empty", before.group_epoch + 1)


def describe(client: WireClient, group: str) -> DescribedGroup:
    return client.call(ShareGroupDescribeRequest([group]), 1, ShareGroupDescribeResponse).groups[0]


def _without_members(group: DescribedGroup) -> DescribedGroup | None:
    return None if group.members else group
