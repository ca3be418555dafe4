"""Settings that Apache Kafka's share consumer refuses because the group has them, and a group setting it obeys."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from devtools.clients.admin import configure_group, create_topic, produce, read_from_start
from devtools.clients.wire import WireClient
from devtools.ports import free_port
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver, JavaError
from tests.interop.support.recording_proxy import RecordingProxy
from tests.interop.support.share_wire import eventually

pytestmark = pytest.mark.interop
PROXY_PORT = free_port()
OFTEN_MS, SELDOM_MS = 300, 1200
HEARTBEATS = 16
BROKER_SETTINGS = {
    "advertised.listeners": f"PLAINTEXT://127.0.0.1:{PROXY_PORT}",
    "group.share.min.heartbeat.interval.ms": str(OFTEN_MS),
    "group.share.heartbeat.interval.ms": str(OFTEN_MS),
    "group.share.min.session.timeout.ms": "1500",
    "group.share.session.timeout.ms": "1500",
}
Unique = Callable[[str], str]


@pytest.fixture(scope="module", autouse=True)
def proxy(broker: BrokerUnderTest) -> Iterator[RecordingProxy]:
    with RecordingProxy(PROXY_PORT, broker.port) as proxy:
        yield proxy


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
    """The setting is ignored without a message; no record is committed automatically."""
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [(0, b"value")])
    consumer = java.consumer(broker.bootstrap, group, topic, auto_commit_interval_ms=10)
    assert eventually(lambda: [record.value for record in consumer.poll()] or None) == ["value"]
    consumer.close()


def test_heartbeats_come_as_often_as_the_broker_says(
    broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique
) -> None:
    """A group with the broker's interval is compared with one with four times that.

    Both are counted over the same time, and time alone never fails the test: a slow machine only sends fewer.
    """
    topic, often, seldom = unique("topic"), unique("often"), unique("seldom")
    create_topic(broker.bootstrap, topic)
    configure_group(
        broker.bootstrap,
        seldom,
        {"share.session.timeout.ms": "6000", "share.heartbeat.interval.ms": str(SELDOM_MS)},
    )
    consumers = [java.consumer(f"127.0.0.1:{PROXY_PORT}", group, topic) for group in (often, seldom)]
    with WireClient(("127.0.0.1", broker.port)) as client:
        for consumer, group in zip(consumers, (often, seldom), strict=True):
            eventually(lambda: consumer.poll(100) or settled(client, group))  # noqa: B023
        begun, before = time.monotonic(), Counter(heartbeats(proxy))
        eventually(lambda: True if Counter(heartbeats(proxy))[often] - before[often] >= HEARTBEATS else None)
        counted, seconds = Counter(heartbeats(proxy)) - before, time.monotonic() - begun
        assert HEARTBEATS <= counted[often] <= seconds * 1000 / OFTEN_MS + 1
        assert 1 <= counted[seldom] <= seconds * 1000 / SELDOM_MS + 1
        assert counted[seldom] * 2 <= counted[often]
        assert [len(describe(client, group).members) for group in (often, seldom)] == [1, 1]
        left = describe(client, often).group_epoch
        for consumer in consumers:
            consumer.close()
        after = eventually(lambda: _without_members(describe(client, often)))
        assert (after.group_state, after.group_epoch) == ("Empty", left + 1)


def settled(client: WireClient, group: str) -> bool | None:
    """Return whether the group's one member is assigned, so that it sends nothing before its interval ends."""
    described = describe(client, group)
    epochs = {member.member_epoch for member in described.members if member.assignment.topic_partitions}
    return True if epochs == {described.group_epoch} else None


def heartbeats(proxy: RecordingProxy) -> list[str]:
    return [
        asked.request.group_id
        for asked in proxy.of(ApiKey.SHARE_GROUP_HEARTBEAT)
        if isinstance(asked.request, ShareGroupHeartbeatRequest)
    ]


def describe(client: WireClient, group: str) -> DescribedGroup:
    return client.call(ShareGroupDescribeRequest([group]), 1, ShareGroupDescribeResponse).groups[0]


def _without_members(group: DescribedGroup) -> DescribedGroup | None:
    return None if group.members else group
