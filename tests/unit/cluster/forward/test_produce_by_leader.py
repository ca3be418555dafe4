"""Forwarding of producers' batches by a node, on a simulated cluster with elections, deaths and losses."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from devtools.clients.requests import batch
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.cluster.forward.ports import Topic
from shareq.cluster.forward.produce_by_leader import IN_FLIGHT, MOST_BYTES, Batch, Batches
from shareq.cluster.link.ports import LinkFailure
from shareq.cluster.mirror.topics import TopicMirror
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import decode_records
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9
from tests.support.cluster.world import ClusterWorld


@dataclass
class Node:
    settings: ClusterSettings = field(default_factory=ClusterSettings)
    seed: int = 0

    def __post_init__(self) -> None:
        self.world = world = ClusterWorld(self.settings, seed=self.seed)
        world.cluster.create_topic("orders", 3, 3)
        self.sent: list[Message] = []
        send = world.link.send

        def noted(node: int | None, message: Message, **how: object) -> object:
            self.sent.append(message)
            return send(node, message, **how)  # type: ignore[arg-type]

        world.link.send = noted  # type: ignore[method-assign,assignment]
        begin = beginner(world.env.budget, Turns(world.clock.call_soon).run)
        self.topics = TopicMirror(world.env, world.link, begin)
        self.committed: list[tuple[int, int, int]] = []
        self.batches = Batches(
            world.link,
            self.topics,
            world.clock,
            lambda topic, partition, leader, base, records: self.committed.append((partition, leader, base)),
        )
        self.answers: dict[bytes, PartitionProduceResponse] = {}
        self.order: list[bytes] = []

    def add(self, value: bytes, partition: int = 0, topic: Topic = "orders", acks: int = -1) -> None:
        """Forward a batch with this value, which must be different each time."""

        def came(row: PartitionProduceResponse) -> None:
            assert value not in self.answers
            self.answers[value] = row
            self.order.append(value)

        self.batches.add(Batch(topic, partition, batch(value), acks, 1_000, came))

    def let(self, ms: int = 100) -> None:
        self.world.clock.advance(ms)

    def error(self, value: bytes) -> ErrorCode:
        return ErrorCode(self.answers[value].error_code)

    @property
    def produced(self) -> list[list[int]]:
        return [
            [part.index for topic in each.topic_data for part in topic.partition_data]
            for each in self.sent
            if isinstance(each, ProduceRequest)
        ]

    def log(self, partition: int = 0) -> list[bytes | None]:
        log = self.world.cluster.log("orders", partition)
        return [record.value for stored in log.batches for record in decode_records(stored.data)]


def test_batches_of_a_tick_go_together_by_leader_and_acks_once_the_topic_is_known() -> None:
    node = Node(ClusterSettings(brokers=(1,), default_replication_factor=1))
    for number in range(3):
        node.add(b"all %d" % number, number)
        node.add(b"one %d" % number, number, acks=1)
    node.let()
    assert len([each for each in node.sent if isinstance(each, MetadataRequest)]) == 1
    assert sorted(map(sorted, node.produced)) == [[0, 1, 2], [0, 1, 2]]
    assert {row.error_code for row in node.answers.values()} == {ErrorCode.NONE}
    assert len(node.answers) == 6


def test_a_request_has_one_batch_of_a_partition_and_those_behind_it_come_in_order() -> None:
    node = Node(ClusterSettings(latency_ms=(1, 5)))
    for number in range(40):
        node.add(b"%d" % number, number % 2)
    node.let(1_000)
    for partition in (0, 1):
        mine = [b"%d" % number for number in range(40) if number % 2 == partition]
        assert node.log(partition) == mine
        assert [value for value in node.order if value in mine] == mine
        assert [node.answers[value].base_offset for value in mine] == list(range(20))
    assert all(len(set(each)) == len(each) for each in node.produced)


def test_a_request_that_fails_to_be_sent_keeps_no_other_one_back() -> None:
    node = Node(ClusterSettings(brokers=(1,), default_replication_factor=1))
    node.add(b"known")
    node.let()
    send, node.world.link.send = node.world.link.send, raising  # type: ignore[method-assign,assignment]
    node.add(b"fails")
    node.add(b"goes", acks=1)
    with pytest.raises(ZeroDivisionError):
        node.let(0)
    node.world.link.send = send  # type: ignore[method-assign]
    node.let()
    assert node.error(b"goes") is ErrorCode.NONE


def raising(*_: object, **_named: object) -> object:
    raise ZeroDivisionError


def test_while_a_broker_has_enough_to_do_what_comes_waits_and_goes_together() -> None:
    node = Node(ClusterSettings(brokers=(1,), latency_ms=(10, 10)))
    node.add(b"first")
    node.let()
    node.sent.clear()
    for number in range(IN_FLIGHT + 3):
        node.add(b"hot %d" % number, 0)
        node.let(0)
    for partition in (1, 2):
        node.add(b"cold %d" % partition, partition)
    node.let(0)
    assert len(node.produced) == IN_FLIGHT
    node.let(21)
    assert len(node.produced) > IN_FLIGHT
    assert sorted(node.produced[IN_FLIGHT]) == [0, 1, 2]
    node.let(200)
    assert len(node.answers) == 1 + IN_FLIGHT + 3 + 2


def test_what_is_too_large_together_goes_apart_and_a_lone_one_goes_whatever_its_size() -> None:
    node = Node(ClusterSettings(brokers=(1,), properties={"message.max.bytes": "10000000"}))
    node.add(b"a" * (MOST_BYTES + 1), 0)
    node.add(b"b" * (MOST_BYTES // 2), 1)
    node.add(b"c" * (MOST_BYTES // 2 - 1_000), 2)
    node.let()
    assert node.produced == [[0], [1, 2]]
    assert {row.error_code for row in node.answers.values()} == {ErrorCode.NONE}


def test_topics_are_forwarded_by_id_as_they_came_and_an_id_that_is_none_is_said() -> None:
    node = Node()
    topic_id = node.world.cluster.topic("orders").topic_id
    node.add(b"by id", topic=topic_id)
    node.add(b"by name")
    node.add(b"no id", topic=bytes(15) + b"x")
    node.add(b"no name", topic="missing")
    node.add(b"no partition", 9)
    node.let()
    assert sorted(node.log(), key=repr) == [b"by id", b"by name"]
    assert node.error(b"no id") is ErrorCode.UNKNOWN_TOPIC_ID
    assert node.error(b"no name") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert node.error(b"no partition") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_cluster_without_ids_in_produce_takes_names() -> None:
    node = Node(ClusterSettings(release=KAFKA_3_9))
    node.add(b"by name")
    node.add(b"by id", 1, topic=node.world.cluster.topic("orders").topic_id)
    node.let()
    assert node.error(b"by name") is ErrorCode.NONE
    assert node.error(b"by id") is ErrorCode.UNSUPPORTED_VERSION


def test_an_answer_names_no_broker_of_the_cluster_and_the_next_batch_finds_the_new_leader() -> None:
    node = Node()
    cluster = node.world.cluster
    node.add(b"first")
    node.let()
    old = cluster.leader("orders")
    cluster.elect("orders", next(each for each in cluster.brokers if each != old))
    node.add(b"lost its way")
    node.let()
    row = node.answers[b"lost its way"]
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert row.current_leader.leader_id == -1
    node.add(b"again")
    node.let()
    assert node.log() == [b"first", b"again"]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_each_batch_is_answered_once_and_truly(seed: int) -> None:
    rng = Random(seed)
    node = Node(ClusterSettings(latency_ms=(0, 20), replication_ms=rng.choice([0, 5])), seed)
    cluster = node.world.cluster
    topics: list[Topic] = ["orders", cluster.topic("orders").topic_id]
    trouble = [
        lambda: cluster.elect("orders", rng.choice([1, 2, 3]), rng.randrange(3)),
        lambda: cluster.lose_answer("node", rng.choice([1, 2, 3]), ProduceRequest),
        lambda: cluster.lose_request("node", rng.choice([1, 2, 3]), ProduceRequest),
        lambda: cluster.lose_answer("node", rng.choice([1, 2, 3]), MetadataRequest),
    ]
    for number in range(200):
        node.add(b"%d" % number, rng.randrange(3), rng.choice(topics), rng.choice([1, -1]))
        if rng.random() < 0.4:
            node.let(rng.choice([0, 1, 10]))
        if rng.random() < 0.05:
            rng.choice(trouble)()
    node.let(20_000)
    assert len(node.answers) == 200
    stored = [value for partition in range(3) for value in node.log(partition)]
    assert len(stored) == len(set(stored))
    for value, row in node.answers.items():
        if row.error_code == ErrorCode.NONE:
            assert any(offset_of(node, value, partition) == row.base_offset for partition in range(3))
        elif row.error_message is not None and row.error_code != ErrorCode.REQUEST_TIMED_OUT:
            # The node answered that nothing was appended; a deposed leader may answer so about an appended batch.
            assert value not in stored


def offset_of(node: Node, value: bytes, partition: int) -> int | None:
    values = node.log(partition)
    return values.index(value) if value in values else None


def test_a_batch_that_all_replicas_have_is_announced_with_its_leader_and_base_offset() -> None:
    node = Node()
    for number in range(4):
        node.add(b"%d" % number, number % 2, acks=1 if number == 3 else -1)
        node.let()
    leaders = [node.world.cluster.leader("orders", partition) for partition in (0, 1)]
    assert node.committed == [(0, leaders[0], 0), (1, leaders[1], 0), (0, leaders[0], 1)]


def test_a_batch_that_got_another_timestamp_is_not_announced() -> None:
    node = Node()
    send = node.world.link.send

    def stamped(to: int | None, message: Message, **how: Any) -> Pending[Message | LinkFailure]:
        def stamp(answer: Message | LinkFailure) -> Message | LinkFailure:
            if isinstance(answer, ProduceResponse):
                answer.responses[0].partition_responses[0].log_append_time_ms = 1_000
            return answer

        return send(to, message, **how).then(stamp)

    node.world.link.send = stamped  # type: ignore[method-assign,assignment]
    node.add(b"first")
    node.let()
    assert node.error(b"first") is ErrorCode.NONE
    assert node.committed == []


def test_a_broker_with_nothing_to_do_gets_a_producers_request_at_once_and_the_rest_of_the_tick_together() -> None:
    node = Node(ClusterSettings(brokers=(1,), default_replication_factor=1))
    node.add(b"known")
    node.let()
    node.sent.clear()
    for number in range(3):
        node.add(b"%d" % number, number)
        node.batches.hurry()
    assert node.produced == [[0]]
    node.let()
    assert node.produced == [[0], [1, 2]]
    assert len(node.answers) == 4
