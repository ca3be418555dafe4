from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.metadata.store import NewTopic
from shareq.broker.topics.internal import InternalTopics, new_internal_topic
from shareq.broker.topics.leaders import LeaderMap
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from tests.support.fakes.host import ELSEWHERE, FakeHost
from tests.support.fakes.topics import MemoryTopics


@pytest.mark.parametrize("by_id", [False, True])
def test_logs_are_found_by_name_and_by_id(by_id: bool) -> None:
    ports = FakeHost(t=2, u=1)
    image = ports.topics.topic("t")
    assert image is not None
    lookup, topic = ports.logs.lookup(), image.topic_id if by_id else "t"
    found: list[object] = [lookup.log(topic, number) for number in (0, 1)]
    assert found == [ports.logs.get("t", 0), ports.logs.get("t", 1)]
    assert [lookup.log(topic, number) for number in (-1, 2)] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_what_does_not_exist() -> None:
    lookup = FakeHost(t=1).logs.lookup()
    assert lookup.log("nowhere", 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert lookup.log(b"x" * 16, 0) is ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, None),
        (4, None),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_the_leader_epoch_that_a_client_knows(epoch: int, error: ErrorCode | None) -> None:
    ports = FakeHost(t=1)
    log = ports.logs.get("t", 0)
    log.leader_epoch = 4
    found = ports.logs.lookup().log("t", 0, epoch)
    assert found is (log if error is None else error)


def test_a_partition_that_another_broker_leads_has_no_log_here() -> None:
    ports, leaders = FakeHost(t=2), LeaderMap()
    ports.logs.get("t", 1).leader_epoch = 4
    lookup = ports.logs.lookup(leaders)
    leaders.move("t", 1, ELSEWHERE)
    assert lookup.log("t", 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert lookup.log("t", 1, 3) is ErrorCode.NOT_LEADER_OR_FOLLOWER  # the epoch is the leader's to judge
    assert lookup.log("t", 0) is ports.logs.get("t", 0)
    assert lookup.log("t", 2) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    leaders.move("t", 1, None)
    assert lookup.log("t", 1) is ports.logs.get("t", 1)


def test_leaders_elsewhere() -> None:
    leaders, moved = LeaderMap(), list[tuple[str, int, bool]]()
    leaders.on_move(lambda topic, partition: moved.append((topic, partition, leaders.other_leader("t", 1) is not None)))
    assert leaders.other_leader("t", 1) is None
    leaders.move("t", 1, ELSEWHERE)
    assert (leaders.other_leader("t", 1), leaders.other_leader("t", 0)) == (ELSEWHERE, None)
    leaders.move("t", 1, None)
    leaders.move("t", 0, None)
    assert leaders.other_leader("t", 1) is None
    assert moved == [("t", 1, True), ("t", 1, False), ("t", 0, False)]


NAMES = ("__consumer_offsets", "__share_group_state", "__transaction_state")


@pytest.mark.parametrize("name", NAMES)
def test_an_internal_topic_is_made_once(name: str) -> None:
    topics = MemoryTopics(t=1)
    internal = InternalTopics(topics, BrokerConfig.load)
    assert [internal.ensure(name), internal.ensure(name)] == [NO_ERROR, NO_ERROR]
    assert topics.created == ["t", name]
    image = topics.topic(name)
    assert image is not None
    assert (image.partitions, image.internal) == (50, True)


def test_other_topics_are_none_of_them() -> None:
    with pytest.raises(KeyError):
        InternalTopics(MemoryTopics(), BrokerConfig.load).ensure("t")


def test_the_configuration_of_the_moment_holds() -> None:
    topics, config = MemoryTopics(), BrokerConfig.load({"offsets.topic.replication.factor": "3"})
    internal = InternalTopics(topics, lambda: config)
    message = "Topic __consumer_offsets cannot be created: offsets.topic.replication.factor=3, and there is one broker"
    assert internal.ensure(NAMES[0]) == ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    assert topics.created == []
    config = BrokerConfig.load({"offsets.topic.num.partitions": "7"})
    assert internal.ensure(NAMES[0]) == NO_ERROR
    image = topics.topic(NAMES[0])
    assert image is not None
    assert image.partitions == 7


def test_replicas_in_sync_that_cannot_be_had() -> None:
    topic = new_internal_topic(BrokerConfig.load({"transaction.state.log.min.isr": "2"}), NAMES[2])
    assert isinstance(topic, NewTopic)
    assert topic.configs["min.insync.replicas"] == "2"


def test_a_disk_that_is_full(caplog: pytest.LogCaptureFixture) -> None:
    topics = MemoryTopics()
    topics.failure = OSError(28, "No space left on device")
    answer = InternalTopics(topics, BrokerConfig.load).ensure(NAMES[0])
    assert answer.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert "topic __consumer_offsets: not created: " in caplog.text
