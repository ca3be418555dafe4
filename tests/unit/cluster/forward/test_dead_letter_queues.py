"""The cluster's topics as dead-letter queues, on a simulated cluster with elections, losses and deletions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

from devtools.clients.requests import batch
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.share.dlq.broker_queues import warn_of_queue
from shareq.broker.share.dlq.rules import QueueTopic
from shareq.cluster.forward import dead_letter_queues
from shareq.cluster.forward.dead_letter_queues import AGE_MS, DEFAULT_MESSAGE_BYTES, ClusterQueues
from shareq.cluster.forward.produce_by_leader import Batches
from shareq.cluster.link.ports import Purpose
from shareq.cluster.mirror.doubts import PROOF_MS
from shareq.cluster.mirror.topics import TopicMirror
from shareq.protocol.config_def import is_named
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.create_topics import CreateTopicsRequest
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from shareq.protocol.generated.describe_configs import DescribeConfigsRequest
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.names import DLQ_GROUP_ENABLE
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import decode_records
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3, KafkaRelease
from tests.support.cluster.world import ClusterWorld

KAFKA_4_4: Final = KAFKA_4_3._replace(name="4.4.0", unknown_topic_properties=frozenset())
QUEUE: Final = "dlq.orders"


@dataclass
class Node:
    """A node's queues on a simulated cluster. `sent`: its requests."""

    release: KafkaRelease = KAFKA_4_4
    consent: str = ""
    creates: bool = True
    latency_ms: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        properties = {
            "errors.deadletterqueue.auto.create.topics.enable": str(self.creates).lower(),
            "shareq.dlq.topics": self.consent,
        }
        config = BrokerConfig.load(properties)
        settings = ClusterSettings(release=self.release, default_replication_factor=3, latency_ms=self.latency_ms)
        self.world = world = ClusterWorld(settings)
        self.cluster = world.cluster
        self.sent: list[Message] = []
        send = world.link.send

        def noted(node: int | None, message: Message, *, purpose: Purpose = Purpose.GENERAL, **how: object) -> object:
            self.sent.append(message)
            return send(node, message, purpose=purpose, **how)  # type: ignore[arg-type]

        world.link.send = noted  # type: ignore[method-assign,assignment]
        begin = beginner(world.env.budget, Turns(world.clock.call_soon).run)
        self.mirror = TopicMirror(world.env, world.link, begin)
        batches = Batches(world.link, self.mirror, world.clock)
        self.queues = ClusterQueues(
            world.link, self.mirror, batches, clock=world.clock, begin=begin, config=lambda: config
        )

    def find(self, name: str = QUEUE) -> QueueTopic | ApiError | None:
        return self.world.wait(self.queues.find(name))

    def create(self, name: str = QUEUE) -> ApiError:
        return self.world.wait(self.queues.create(name))

    def append(self, value: bytes, partition: int = 0, name: str = QUEUE) -> ErrorCode:
        came: list[ErrorCode] = []
        assert self.queues.append(name, partition, bytearray(batch(value)), came.append) is ErrorCode.NONE
        self.world.clock.run_until_idle()
        while not came:
            assert self.world.clock.advance_to_next_timer()
        assert len(came) == 1
        return came[0]

    def make(self, name: str = QUEUE, partitions: int = 1, **configs: str) -> None:
        own = {key.replace("_", "."): value for key, value in configs.items()}
        self.cluster.create_topic(name, partitions, 3, own)

    def alter(self, name: str, value: str, topic: str = QUEUE) -> None:
        resource = AlterConfigsResource(2, topic, [AlterableConfig(name, 0, value)])
        self.world.ask(None, IncrementalAlterConfigsRequest([resource]))

    def delete(self, name: str = QUEUE) -> None:
        self.world.ask(None, DeleteTopicsRequest([DeleteTopicState(name)]))

    def values(self, partition: int = 0, name: str = QUEUE) -> list[bytes | None]:
        log = self.cluster.log(name, partition)
        return [record.value for stored in log.batches for record in decode_records(stored.data)]

    def count(self, kind: type[Message]) -> int:
        return sum(isinstance(each, kind) for each in self.sent)


# -- consent


@pytest.mark.parametrize("enabled", [False, True])
def test_a_topic_takes_letters_if_its_own_property_says_so(enabled: bool) -> None:
    """The topic's property counts, and the node's is ignored if the cluster has it."""
    node = Node(consent="" if enabled else "dlq.*")
    node.make(partitions=3, errors_deadletterqueue_group_enable=str(enabled).lower(), max_message_bytes="5000")
    assert node.find() == QueueTopic(QUEUE, 3, enabled, 5000)


@pytest.mark.parametrize("release", [KAFKA_3_9, KAFKA_4_3])
@pytest.mark.parametrize(("consent", "takes"), [("", False), ("other,dlq.orders", True), ("dlq.*", True)])
def test_a_cluster_without_the_property_has_the_nodes(release: KafkaRelease, consent: str, takes: bool) -> None:
    node = Node(release, consent)
    node.make()
    assert node.find() == QueueTopic(QUEUE, 1, takes, DEFAULT_MESSAGE_BYTES)


def test_names_and_how_they_begin() -> None:
    assert is_named(["a", "dlq.*"], "dlq.")
    assert is_named(["*"], "anything")
    assert not is_named(["a", "dlq.*"], "ab")
    assert not is_named(["dlq.a"], "dlq.ab")
    assert not is_named([], "")


def test_where_properties_may_not_be_asked_for_the_nodes_own_counts() -> None:
    node = Node(consent="dlq.*")
    node.make(errors_deadletterqueue_group_enable="false")
    node.cluster.rights.deny(Resource.TOPIC, QUEUE, Operation.DESCRIBE_CONFIGS)
    assert node.find() == QueueTopic(QUEUE, 1, True, DEFAULT_MESSAGE_BYTES)


def test_a_batch_has_to_fit_into_a_segment_as_well() -> None:
    node = Node()
    node.make(errors_deadletterqueue_group_enable="true", segment_bytes="1048576", max_message_bytes="9000000")
    assert node.find() == QueueTopic(QUEUE, 1, True, 1_048_576)


# -- finding


def test_no_topic_of_a_name() -> None:
    assert Node().find() is None


@pytest.mark.parametrize("name", ["__shareq_state", "__consumer_offsets"])
def test_topics_that_clients_are_not_shown_are_not_asked_for(name: str) -> None:
    node = Node(consent="*")
    node.make(name)
    assert (node.find(name), node.sent) == (None, [])


def test_many_lanes_that_look_for_one_queue_ask_once() -> None:
    node = Node(latency_ms=(5, 20))
    node.make(errors_deadletterqueue_group_enable="true")
    asked = [node.queues.find(QUEUE) for _ in range(50)]
    assert len({node.world.wait(each) for each in asked}) == 1
    assert (node.count(MetadataRequest), node.count(DescribeConfigsRequest)) == (1, 1)
    assert node.queues.find(QUEUE).done
    node.world.clock.advance(AGE_MS)
    node.find()
    assert node.count(DescribeConfigsRequest) == 2


def test_properties_that_change_are_heard_of_within_seconds_or_when_a_batch_is_refused() -> None:
    node = Node()
    node.make(errors_deadletterqueue_group_enable="true")
    assert node.find() == QueueTopic(QUEUE, 1, True, DEFAULT_MESSAGE_BYTES)
    node.alter("max.message.bytes", "100")
    assert node.append(b"x" * 200) is ErrorCode.MESSAGE_TOO_LARGE
    assert node.find() == QueueTopic(QUEUE, 1, True, 100)
    node.alter(DLQ_GROUP_ENABLE, "false")
    node.world.clock.advance(AGE_MS)
    assert node.find() == QueueTopic(QUEUE, 1, False, 100)


def test_what_is_remembered_of_topics_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letter_queues, "MOST_KNOWN", 3)
    node = Node()
    for number in range(5):
        node.make(f"dlq.{number}")
        node.find(f"dlq.{number}")
    asked = node.count(DescribeConfigsRequest)
    for number in (4, 3, 2):
        node.find(f"dlq.{number}")
    assert node.count(DescribeConfigsRequest) == asked
    node.find("dlq.1")
    assert node.count(DescribeConfigsRequest) == asked + 1


def test_a_cluster_that_does_not_answer() -> None:
    node = Node()
    node.make(errors_deadletterqueue_group_enable="true")
    node.cluster.silence()
    error = node.find()
    assert isinstance(error, ApiError)
    assert error.code in node.queues.retriable
    error = node.create()
    assert error.code in node.queues.retriable
    node.cluster.end_silence()
    node.world.clock.advance(1_000)
    assert node.find() == QueueTopic(QUEUE, 1, True, DEFAULT_MESSAGE_BYTES)


# -- creating


def test_a_queue_is_created_with_the_clusters_numbers_and_two_properties() -> None:
    node = Node()
    assert node.create() == NO_ERROR
    assert node.find() == QueueTopic(QUEUE, 1, True, DEFAULT_MESSAGE_BYTES)
    topic = node.cluster.topic(QUEUE)
    assert topic.configs == {DLQ_GROUP_ENABLE: "true", "message.timestamp.type": "CreateTime"}
    assert len(topic.partitions[0].replicas) == 3


@pytest.mark.parametrize("release", [KAFKA_3_9, KAFKA_4_3])
def test_a_cluster_without_the_property_gets_topics_without_it_that_the_node_names(release: KafkaRelease) -> None:
    node = Node(release, "dlq.*")
    assert node.create() == NO_ERROR
    assert node.cluster.topic(QUEUE).configs == {"message.timestamp.type": "CreateTime"}
    assert node.find() == QueueTopic(QUEUE, 1, True, DEFAULT_MESSAGE_BYTES)


def test_a_topic_that_would_take_no_letters_is_not_created() -> None:
    node = Node(KAFKA_4_3, "other")
    error = node.create()
    assert error.code is ErrorCode.INVALID_CONFIG
    assert error.message is not None
    assert "shareq.dlq.topics" in error.message
    assert node.find() is None


def test_a_queue_that_is_there_by_then_is_left_as_it_is() -> None:
    node = Node()
    node.make(errors_deadletterqueue_group_enable="false")
    assert node.create() == NO_ERROR
    assert node.find() == QueueTopic(QUEUE, 1, False, DEFAULT_MESSAGE_BYTES)


def test_many_lanes_create_a_queue_once() -> None:
    node = Node(latency_ms=(5, 20))
    made = [node.queues.create(QUEUE) for _ in range(50)]
    assert {node.world.wait(each) for each in made} == {NO_ERROR}
    assert node.count(CreateTopicsRequest) == 1


def test_a_queue_that_no_broker_has_heard_of_for_seconds() -> None:
    node = Node()
    for broker in (1, 2, 3):
        node.cluster.hold_news(broker)
    assert node.create().code is ErrorCode.LEADER_NOT_AVAILABLE
    for broker in (1, 2, 3):
        node.cluster.release_news(broker)
    assert node.create() == NO_ERROR


def test_a_broker_that_has_not_heard_of_a_queue_is_not_asked_without_end() -> None:
    """The mirror and the controller know the queue, but the broker does not."""
    node = Node()
    node.cluster.hold_news(1)
    node.make(errors_deadletterqueue_group_enable="true")
    node.world.link.send(1, MetadataRequest([]))  # any request goes there from now on
    node.world.clock.run_until_idle()
    for _ in range(20):
        node.mirror.find(QUEUE)
        node.world.clock.advance(5_000)
    assert node.mirror.known(QUEUE) is not None
    node.sent.clear()
    assert node.find() is None
    assert node.create().code is ErrorCode.LEADER_NOT_AVAILABLE
    assert len(node.sent) < 200
    node.cluster.release_news(1)
    assert node.create() == NO_ERROR
    assert node.queues.find(QUEUE).value == QueueTopic(QUEUE, 1, True, DEFAULT_MESSAGE_BYTES)


def test_a_creation_that_is_refused() -> None:
    node = Node()
    node.cluster.rights.deny(Resource.TOPIC, QUEUE, Operation.CREATE)
    assert node.create().code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


# -- appending


def test_letters_under_way_are_bounded_and_who_waits_is_answered_in_turn() -> None:
    node = Node(latency_ms=(5, 20))
    node.make(errors_deadletterqueue_group_enable="true")
    node.find()
    data = bytearray(batch(b"v"))
    node.queues._most_bytes = 3 * len(data)  # type: ignore[misc]
    appended: list[int] = []
    most = 0

    def lane(number: int) -> None:
        """Look for the queue and append once it is found, like a share partition with letters."""

        def found(queue: QueueTopic | ApiError | None) -> None:
            nonlocal most
            assert isinstance(queue, QueueTopic)
            appended.append(number)
            node.queues.append(QUEUE, 0, data, came.append)
            most = max(most, node.queues._under_way)

        node.queues.find(QUEUE).on_complete(found)

    came: list[ErrorCode] = []
    for number in range(200):
        lane(number)
    assert appended == [0, 1, 2]
    node.world.clock.advance(60_000)
    assert appended == list(range(200))
    assert came == [ErrorCode.NONE] * 200
    assert (most, node.queues._under_way) == (3 * len(data), 0)


def test_batches_that_fail_at_once_make_room_for_all_that_wait() -> None:
    """Thousands of share partitions may wait, and all fail within one turn."""
    node = Node()
    node.make(errors_deadletterqueue_group_enable="true")
    node.find()
    node.queues._most_bytes = 1  # type: ignore[misc]
    data = bytearray(batch(b"v"))
    came: list[ErrorCode] = []

    def found(_queue: object) -> None:
        node.queues.append(QUEUE, 7, data, came.append)  # there is no such partition

    assert node.queues.append(QUEUE, 0, data, came.append) is ErrorCode.NONE
    for _ in range(5_000):
        node.queues.find(QUEUE).on_complete(found)
    assert came == []
    node.world.clock.advance(1_000)
    assert came == [ErrorCode.NONE] + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 5_000


# -- deletions


def test_a_queue_that_was_deleted_and_may_not_be_created_is_missing_when_that_is_proved() -> None:
    node = Node(creates=False)
    node.make(errors_deadletterqueue_group_enable="true")
    assert node.append(b"a") is ErrorCode.NONE
    node.delete()
    assert node.append(b"b") in node.queues.retriable
    assert node.find() == ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    node.world.clock.advance(PROOF_MS + 40_000)
    assert node.find() is None


# -- warnings


def test_a_queue_that_takes_no_letters_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    node = Node(KAFKA_4_3)
    node.make()
    warn_of_queue("g", QUEUE, node.queues)
    node.world.clock.advance(1_000)
    assert [each.getMessage() for each in caplog.records if "dead letters" in each.getMessage()] == [
        "share group g: dead letters will not be written: "
        f"DLQ is not enabled on configured DLQ topic for share group: g, topic: {QUEUE}."
    ]
