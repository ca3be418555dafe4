"""Consumer groups over frames (KIP-848): both versions, properties, restarts, and the feature that turns them off."""

from __future__ import annotations

import sys

import pytest

from devtools.clients.transactor import JAVA_4_4, JAVA_TV2, Transactor, Versions
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.support.clients.share_client import configure
from tests.support.kafka.group_requests import consumer_heartbeat

GROUP = "g"


def heartbeat(
    world: BrokerWorld,
    member_id: str = "m",
    epoch: int = 0,
    *,
    topics: list[str] | None = None,
    regex: str | None = None,
    version: int = 1,
) -> ConsumerGroupHeartbeatResponse:
    """Send a full heartbeat for a joining member; a joined member's heartbeat only shows that it is alive."""
    request = consumer_heartbeat(GROUP, member_id, epoch, topics, regex=regex)
    return world.connect().call(request, version, ConsumerGroupHeartbeatResponse)


def partitions(world: BrokerWorld, answer: ConsumerGroupHeartbeatResponse) -> dict[str, list[int]] | None:
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    if answer.assignment is None:
        return None
    names = {topic.topic_id: topic.name for topic in world.services.metadata.topics()}
    return {names[row.topic_id]: row.partitions for row in answer.assignment.topic_partitions}


def describe(world: BrokerWorld, group: str = GROUP, version: int = 1) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest([group])
    (described,) = world.connect().call(request, version, ConsumerGroupDescribeResponse).groups
    return described


def test_a_member_joins_stays_and_leaves(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    joined = heartbeat(world, topics=["t"])
    assert (joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == ("m", 2, 5_000)
    assert partitions(world, joined) == {"t": [0, 1]}
    assert partitions(world, heartbeat(world, epoch=2)) is None
    listed = world.connect().call(ListGroupsRequest([], ["consumer"]), 5, ListGroupsResponse)
    assert [(each.group_id, each.group_state) for each in listed.groups] == [(GROUP, "Stable")]
    assert heartbeat(world, epoch=-1).member_epoch == -1
    assert (describe(world).group_state, describe(world).members) == ("Empty", [])


def test_version_0_gives_a_member_its_id(world: BrokerWorld) -> None:
    world.create_topic("t")
    first, second = (heartbeat(world, "", topics=["t"], version=0) for _ in range(2))
    assert first.member_id
    assert second.member_id not in (None, "", first.member_id)
    assert heartbeat(world, "", topics=["t"], version=1).error_code == ErrorCode.INVALID_REQUEST


def test_a_pattern_takes_part_from_version_1_on(world: BrokerWorld) -> None:
    world.create_topic("t-1")
    world.create_topic("u")
    assert partitions(world, heartbeat(world, regex="t-.", version=1)) == {"t-1": [0]}
    assert heartbeat(world, "m2", regex="(", version=1).error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(("version", "member_type"), [(0, -1), (1, 1)])
def test_it_is_described_in_both_versions(version: int, member_type: int, world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    heartbeat(world, topics=["t"])
    group = describe(world, version=version)
    assert (group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        "Stable",
        2,
        2,
        "uniform",
    )
    (member,) = group.members
    assert (member.member_id, member.member_type, member.client_host) == ("m", member_type, "/127.0.0.1")
    assert member.subscribed_topic_regex == "", "as Apache Kafka says of a member without a pattern"
    assert [(row.topic_name, row.partitions) for row in member.assignment.topic_partitions] == [("t", [0, 1])]


def test_what_is_no_consumer_group_is_not_found_and_the_other_way_round(world: BrokerWorld) -> None:
    assert describe(world, "nobody").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    world.create_topic("t")
    heartbeat(world, topics=["t"])
    request = DescribeGroupsRequest([GROUP])
    (classic,) = world.connect().call(request, 6, DescribeGroupsResponse).groups
    assert (classic.error_code, classic.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")


@pytest.mark.parametrize("coordinated", [False, True])
def test_there_is_no_group_without_a_name(coordinated: bool, world: BrokerWorld) -> None:
    if coordinated:
        heartbeat(world, topics=["t"])
    assert describe(world, "").error_code == ErrorCode.INVALID_GROUP_ID


def test_properties_of_the_group_take_effect_at_once() -> None:
    world = BrokerWorld({"group.consumer.assignors": "range", "group.consumer.max.size": "1"})
    world.create_topic("t")
    heartbeat(world, topics=["t"])
    configure(world, consumer_heartbeat_interval_ms="7000", consumer_session_timeout_ms="50000")
    assert heartbeat(world, epoch=2).heartbeat_interval_ms == 7_000
    assert describe(world).assignor_name == "range"
    assert heartbeat(world, "m2", topics=["t"]).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    world.clock.advance(49_999)
    assert describe(world).group_state == "Stable"
    world.clock.advance(1)
    assert describe(world).group_state == "Empty"


def test_switched_off(world: BrokerWorld) -> None:
    world.folder.metadata.set_features({"group.version": 0})
    refused = heartbeat(world, topics=["t"])
    # Without a message, as Kafka's ConsumerGroupHeartbeatRequestTest has it.
    assert (refused.error_code, refused.error_message) == (ErrorCode.UNSUPPORTED_VERSION, None)
    described = describe(world)
    assert (described.group_id, described.error_code) == (GROUP, ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.parametrize(("asked", "bits"), [(True, 0b110101001000), (False, -(2**31))])
def test_what_may_be_done_to_it_is_returned_when_asked_for(asked: bool, bits: int, world: BrokerWorld) -> None:
    """The operations are READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS for an existing group."""
    world.create_topic("t")
    heartbeat(world, topics=["t"])
    request = ConsumerGroupDescribeRequest([GROUP, "h"], include_authorized_operations=asked)
    answer = world.connect().call(request, 1, ConsumerGroupDescribeResponse)
    assert [(each.group_id, each.error_code, each.authorized_operations) for each in answer.groups] == [
        (GROUP, ErrorCode.NONE, bits),
        ("h", ErrorCode.GROUP_ID_NOT_FOUND, -(2**31)),
    ]


@pytest.mark.parametrize("version", [9, 10])
def test_a_commit_of_what_its_member_had_in_that_epoch(version: int, world: BrokerWorld) -> None:
    """KIP-1251: such a commit is accepted by name, next to a missing topic, as by id."""
    topic_id = world.create_topic("t", 2).topic_id
    heartbeat(world, "m1", topics=["t"])
    world.clock.advance(1_000)  # group.consumer.assignment.interval.ms
    heartbeat(world, "m2", topics=["t"])
    owned = [ConsumerGroupHeartbeatRequestTopicPartitions(topic_id, [0])]
    assert heartbeat(world, "m1", 2).member_epoch == 2, "it has partition 1 to give up"
    request = ConsumerGroupHeartbeatRequest(GROUP, "m1", 2, topic_partitions=owned)
    assert world.connect().call(request, 1, ConsumerGroupHeartbeatResponse).member_epoch == 3

    def commit(epoch: int, partition: int) -> list[int]:
        named = ("", topic_id) if version == 10 else ("t", bytes(16))
        unknown = ("", b"?" * 16) if version == 10 else ("unknown", bytes(16))
        topics = [
            OffsetCommitRequestTopic(*named, [OffsetCommitRequestPartition(partition, 5, committed_metadata="")]),
            OffsetCommitRequestTopic(*unknown, [OffsetCommitRequestPartition(0, 5, committed_metadata="")]),
        ]
        offsets = OffsetCommitRequest(GROUP, epoch, "m1", topics=topics)
        answer = world.connect().call(offsets, version, OffsetCommitResponse)
        assert len(answer.topics) == 2
        return [
            row.error_code
            for topic in answer.topics
            for row in topic.partitions
            if (topic.name, topic.topic_id) == named
        ]

    stale = [ErrorCode.STALE_MEMBER_EPOCH]
    errors = {each: commit(*each) for each in ((3, 0), (2, 0), (1, 0), (2, 1), (4, 0))}
    assert errors == {(3, 0): [0], (2, 0): [0], (1, 0): stale, (2, 1): stale, (4, 0): stale}


@pytest.mark.parametrize(
    ("versions", "stale"),
    [(JAVA_TV2, ErrorCode.ILLEGAL_GENERATION), (JAVA_4_4, ErrorCode.STALE_MEMBER_EPOCH)],
    ids=["5", "6"],
)
def test_a_transaction_commits_what_its_member_had_in_that_epoch(
    versions: Versions, stale: ErrorCode, world: BrokerWorld
) -> None:
    """KIP-1251: offsets of a transaction that began before a rebalance are accepted if the partition stays.

    Before version 6 a stale epoch is ILLEGAL_GENERATION (KIP-1319): producers treat any other error as fatal.
    """
    topic_id = world.create_topic("t", 2).topic_id
    heartbeat(world, "m1", topics=["t"])
    world.clock.advance(1_000)  # group.consumer.assignment.interval.ms
    heartbeat(world, "m2", topics=["t"])
    owned = [ConsumerGroupHeartbeatRequestTopicPartitions(topic_id, [0])]
    request = ConsumerGroupHeartbeatRequest(GROUP, "m1", 2, topic_partitions=owned)
    assert heartbeat(world, "m1", 2).member_epoch == 2, "it has partition 1 to give up"
    assert world.connect().call(request, 1, ConsumerGroupHeartbeatResponse).member_epoch == 3
    producer = Transactor(world.connect(), versions)
    assert producer.init() is ErrorCode.NONE
    errors = {
        (epoch, partition): producer.commit_offsets(
            GROUP, {("t", partition): 5}, generation=epoch, member="m1", ids={"t": topic_id}
        )
        for epoch, partition in ((3, 0), (2, 0), (1, 0), (2, 1), (4, 0))
    }
    refused = [stale]
    assert errors == {
        (3, 0): [ErrorCode.NONE],
        (2, 0): [ErrorCode.NONE],
        (1, 0): refused,
        (2, 1): refused,
        (4, 0): refused,
    }
    assert producer.commit() is ErrorCode.NONE


def test_without_google_re2_a_member_that_subscribes_by_pattern_learns_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    world = BrokerWorld()
    world.create_topic("t")
    request = ConsumerGroupHeartbeatRequest(
        "g", "m", 0, rebalance_timeout_ms=1_000, subscribed_topic_regex="t.*", topic_partitions=[]
    )
    answer = world.connect().call(request, 1, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert answer.error_message is not None
    assert "google-re2 is not installed" in answer.error_message
