"""Java's Admin reading all offsets of groups (KIP-88): its requests and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from devtools.clients.admin import create_topic
from devtools.clients.offsets_client import NONE, At, OffsetsClient, Row
from devtools.clients.wire import WireClient
from devtools.ports import free_port
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver, JavaError
from tests.interop.support.recording_proxy import RecordingProxy
from tests.interop.support.share_wire import eventually

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]
PROXY_PORT = free_port()
BROKER_SETTINGS = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{PROXY_PORT}"}
MEMBERSHIP = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT)


@pytest.fixture(scope="module")
def proxy(broker: BrokerUnderTest) -> Iterator[RecordingProxy]:
    with RecordingProxy(PROXY_PORT, broker.port) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def _nothing_asked(proxy: RecordingProxy) -> None:
    proxy.asked.clear()


def commit(broker: BrokerUnderTest, offsets: dict[At, int | Row], group: str) -> None:
    with WireClient(("127.0.0.1", broker.port)) as client:
        eventually(lambda: set(OffsetsClient(client, {}).commit(offsets, group=group).values()) == {NONE} or None)


def listed(java: JavaDriver, groups: dict[str, list[At] | None], **options: object) -> dict[str, dict[str, object]]:
    """Return by group and partition `[offset, leader epoch, metadata]`; null if a named partition has no offset."""
    answer = java.call("groupOffsets", bootstrap=f"127.0.0.1:{PROXY_PORT}", groups=groups, **options)
    found: dict[str, dict[str, object]] = answer["groups"]
    return found


def test_one_request_finds_the_coordinator_and_one_has_all_offsets(
    broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique
) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 3)
    listed(java, {unique("other"): None})  # has the coordinator's topic made
    commit(broker, {(topic, 0): 5, (topic, 2): Row(7, metadata="me", leader_epoch=0)}, group)
    proxy.asked.clear()
    assert listed(java, {group: None}) == {group: {f"{topic}-0": [5, None, ""], f"{topic}-2": [7, 0, "me"]}}
    (found,) = proxy.of(ApiKey.FIND_COORDINATOR)
    assert isinstance(found.request, FindCoordinatorRequest)
    assert found.request.coordinator_keys == [group]
    (fetched,) = proxy.of(ApiKey.OFFSET_FETCH)
    assert isinstance(fetched.request, OffsetFetchRequest)
    assert [(each.group_id, each.topics) for each in fetched.request.groups] == [(group, None)]
    assert fetched.version >= 8
    assert proxy.of(*MEMBERSHIP) == []


def test_a_group_that_does_not_exist_has_no_offsets(
    broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique
) -> None:
    assert listed(java, {unique("nobody"): None}) == {unique("nobody"): {}}


def test_many_groups_in_one_request(
    broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique
) -> None:
    topic, groups = unique("topic"), [f"{unique('group')}-{number}" for number in range(5)]
    create_topic(broker.bootstrap, topic)
    for number, group in enumerate(groups):
        commit(broker, {(topic, 0): number}, group)
    proxy.asked.clear()
    found = listed(java, dict.fromkeys(groups))
    assert found == {group: {f"{topic}-0": [number, None, ""]} for number, group in enumerate(groups)}
    assert len(proxy.of(ApiKey.OFFSET_FETCH)) == 1


def test_named_partitions(broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    commit(broker, {(topic, 0): 5}, group)
    asked: dict[str, list[At] | None] = {group: [(topic, 0), (topic, 1)]}
    for stable in (False, True):
        found = listed(java, asked, stable=stable)
        assert found == {group: {f"{topic}-0": [5, None, ""], f"{topic}-1": None}}


def test_describing_and_listing_a_group_makes_no_member(
    broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique
) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic)
    commit(broker, {(topic, 0): 5}, group)
    tool = "consumer.group.ConsumerGroupCommand"
    address = ("--bootstrap-server", f"127.0.0.1:{PROXY_PORT}")
    for _ in range(2):
        printed = java.tool(tool, *address, "--describe", "--group", group)
        assert f"Consumer group '{group}' has no active members." in printed.err
        assert [line.split()[:4] for line in printed.out.splitlines()[-1:]] == [[group, topic, "0", "5"]]
    state = java.tool(tool, *address, "--describe", "--group", group, "--state")
    assert state.out.splitlines()[-1].split()[-2:] == ["Empty", "0"]
    assert proxy.of(*MEMBERSHIP) == []
    assert len(proxy.of(ApiKey.OFFSET_FETCH)) == 2, "one for each description, whatever the group has"


def test_altering_and_deleting(
    broker: BrokerUnderTest, proxy: RecordingProxy, java: JavaDriver, unique: Unique
) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    listed(java, {group: None})
    address = f"127.0.0.1:{PROXY_PORT}"
    java.call("alterGroupOffsets", bootstrap=address, group=group, offsets=[[topic, 0, 5], [topic, 1, 6]])
    assert listed(java, {group: None}) == {group: {f"{topic}-0": [5, None, ""], f"{topic}-1": [6, None, ""]}}
    java.call("deleteGroupOffsets", bootstrap=address, group=group, partitions=[[topic, 1]])
    assert listed(java, {group: None}) == {group: {f"{topic}-0": [5, None, ""]}}
    with pytest.raises(JavaError, match="UnknownTopicOrPartitionException"):
        java.call("alterGroupOffsets", bootstrap=address, group=group, offsets=[[unique("nowhere"), 0, 5]])
    with pytest.raises(JavaError, match="GroupIdNotFoundException"):
        java.call("deleteGroupOffsets", bootstrap=address, group=unique("nobody"), partitions=[[topic, 0]])
