from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.names import DLQ_GROUP_ENABLE
from shareq.protocol.records.batch import Record, decode_records
from tests.frames.node.test_node import acquired, assigned
from tests.support.clients.share_client import REJECT, ShareClient, append, configure, from_the_start
from tests.support.cluster.node_world import NODE_ID, NodeWorld
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3, KafkaRelease
from tests.support.worlds.dead_letters import expected_headers, header_of

KAFKA_4_4 = KAFKA_4_3._replace(name="4.4.0", unknown_topic_properties=frozenset())
QUEUE = "dlq.t"
CREATES = {"errors.deadletterqueue.auto.create.topics.enable": "true"}
CONSENT = {"shareq.dlq.topics": "dlq.*"}


def node(
    release: KafkaRelease = KAFKA_4_4, *, properties: Mapping[str, str] | None = None, **of_group: str
) -> NodeWorld:
    """Return a node whose group `g` has a queue, with copies of dead records."""
    world = NodeWorld(ClusterSettings(release=release), {**CREATES, **CONSENT, **(properties or {})})
    world.cluster.create_topic("t", 1, configs={} if release is not KAFKA_4_4 else {DLQ_GROUP_ENABLE: "true"})
    world.until_it_serves()
    from_the_start(world)
    copied = {"errors_deadletterqueue_topic_name": QUEUE, "errors_deadletterqueue_copy_record_enable": "true"}
    configure(world, "g", **{**copied, **of_group})
    world.clock.advance(1_000)
    return world


def letters(world: NodeWorld, queue: str = QUEUE) -> Sequence[Record]:
    if queue not in world.cluster.controller.image.topics:
        return []
    return [record for stored in world.cluster.log(queue).batches for record in decode_records(stored.data)]


def offsets(world: NodeWorld) -> list[int]:
    return [int(header_of(letter, "__dlq.errors.offset") or b"-1") for letter in letters(world)]


def reject(world: NodeWorld, client: ShareClient, count: int, *, partition: int = 0) -> None:
    append(world, "t", count)
    place = (world.cluster.topic("t").topic_id, partition)
    ((first, last, _),) = acquired(client, place)
    assert client.acknowledge(place, (first, last, REJECT)) is ErrorCode.NONE


@pytest.mark.parametrize("release", [KAFKA_3_9, KAFKA_4_3, KAFKA_4_4])
def test_a_rejected_record_is_copied_into_a_topic_of_the_cluster(release: KafkaRelease) -> None:
    world = node(release)
    client = ShareClient(world)
    assigned(client, "t")
    reject(world, client, 2)
    world.clock.advance(1_000)
    assert [letter.headers for letter in letters(world)] == [expected_headers(offset) for offset in (0, 1)]
    source = [record for stored in world.cluster.log("t").batches for record in decode_records(stored.data)]
    assert [letter.value for letter in letters(world)] == [record.value for record in source]


def test_a_group_whose_queue_is_the_topic_that_it_reads_sends_nothing_round() -> None:
    properties = {"errors.deadletterqueue.topic.name.prefix": ""}
    world = node(properties=properties, errors_deadletterqueue_topic_name="t", shareq_dlq_keep="true")
    client = ShareClient(world)
    assigned(client, "t")
    reject(world, client, 2)
    world.clock.advance(60_000)
    assert world.cluster.log("t").end == 2
    queues = world.services.share.dead_letters.queues
    assert queues is not None
    assert (queues.groups["g"].refused, queues.waiting()) == (2, {})


def test_what_died_twice_in_one_queue_has_no_letter_there() -> None:
    """A second group reads the queue that is also its own dead-letter queue."""
    world = node(shareq_dlq_keep="true")
    client = ShareClient(world)
    assigned(client, "t")
    reject(world, client, 1)
    world.clock.advance(1_000)
    from_the_start(world, "h")
    configure(world, "h", errors_deadletterqueue_topic_name="dlq.other", shareq_dlq_keep="true")
    world.clock.advance(1_000)
    other = ShareClient(world, "n", "h")
    assigned(other, QUEUE)
    place = (world.cluster.topic(QUEUE).topic_id, 0)
    assert acquired(other, place) == [(0, 0, 1)]
    configure(world, "h", errors_deadletterqueue_topic_name=QUEUE)
    world.clock.advance(1_000)
    assert other.acknowledge(place, (0, 0, REJECT)) is ErrorCode.NONE
    world.clock.advance(60_000)
    assert offsets(world) == [0]


def test_letters_that_a_killed_node_owed_are_written_by_its_successor_with_their_content() -> None:
    """The successor begins without any of the records in memory."""
    world = node(shareq_dlq_keep="true")
    client = ShareClient(world)
    assigned(client, "t")
    world.cluster.rights.deny(Resource.TOPIC, QUEUE, Operation.CREATE)
    reject(world, client, 3)
    world.clock.advance(5_000)
    assert letters(world) == []
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1, properties={**CREATES, **CONSENT})
    world.clock.advance(5_000)
    world.broker.close(clean=False)
    world.cluster.rights.allow(Resource.TOPIC, QUEUE, Operation.CREATE)
    other.until_it_serves()
    client = ShareClient(other)
    assigned(client, "t")
    assert client.acquire((world.cluster.topic("t").topic_id, 0)) == []
    world.clock.advance(5_000)
    assert offsets(world) == [0, 1, 2]
    assert [letter.value for letter in letters(world)] == [b"v"] * 3


def test_a_breaker_pauses_the_group_on_the_next_node_too() -> None:
    world = node(shareq_breaker_letters="3")
    client = ShareClient(world)
    assigned(client, "t")
    reject(world, client, 2)
    world.clock.advance(1_000)
    assert not world.services.configs.share_group("g").paused
    reject(world, client, 1)
    world.clock.advance(1_000)
    assert world.services.configs.share_group("g").paused
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1, properties={**CREATES, **CONSENT})
    world.clock.advance(5_000)
    world.broker.close(clean=False)
    other.until_it_serves()
    client, place = ShareClient(other), (world.cluster.topic("t").topic_id, 0)
    assigned(client, "t")
    append(other, "t", 1)
    assert client.acquire(place) == []
    configure(other, "g", shareq_paused="false")
    other.clock.advance(1_000)
    assert acquired(client, place) == [(3, 3, 1)]


@pytest.mark.parametrize("killed", [False, True])
def test_letters_that_are_owed_outlive_the_topic_of_their_records(killed: bool) -> None:
    world = node(shareq_dlq_keep="true")
    client = ShareClient(world)
    assigned(client, "t")
    world.cluster.rights.deny(Resource.TOPIC, QUEUE, Operation.CREATE)
    reject(world, client, 3)
    world.clock.advance(5_000)
    owner = world
    if killed:
        owner = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1, properties={**CREATES, **CONSENT})
        world.clock.advance(5_000)
        world.broker.close(clean=False)
        owner.until_it_serves()
        client = ShareClient(owner)
        assigned(client, "t")
        assert client.acquire((world.cluster.topic("t").topic_id, 0)) == []
    world.cluster.controller.delete_topic("t")
    owner.clock.advance(120_000)
    world.cluster.rights.allow(Resource.TOPIC, QUEUE, Operation.CREATE)
    owner.clock.advance(60_000)
    assert sorted(set(offsets(world))) == [0, 1, 2]
    queues = owner.services.share.dead_letters.queues
    assert queues is not None
    assert queues.waiting() == {}


def test_offsets_of_a_group_are_deleted_once_its_letters_are_written() -> None:
    world = node(shareq_dlq_keep="true")
    client = ShareClient(world)
    assigned(client, "t")
    world.cluster.rights.deny(Resource.TOPIC, QUEUE, Operation.CREATE)
    reject(world, client, 2)
    client.leave()
    deletion = DeleteShareGroupOffsetsRequest("g", [DeleteShareGroupOffsetsRequestTopic("t")])
    answer = world.connect().call(deletion, 0, DeleteShareGroupOffsetsResponse)
    assert answer.responses[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert QUEUE in (answer.responses[0].error_message or "")
    world.cluster.rights.allow(Resource.TOPIC, QUEUE, Operation.CREATE)
    world.clock.advance(40_000)
    answer = world.connect().call(deletion, 0, DeleteShareGroupOffsetsResponse)
    assert answer.responses[0].error_code == ErrorCode.NONE
    assert offsets(world) == [0, 1]


def test_a_queue_without_consent_is_warned_of_when_a_group_names_it(caplog: pytest.LogCaptureFixture) -> None:
    world = node(KAFKA_4_3)
    world.cluster.create_topic("dlq")
    configure(world, "h", errors_deadletterqueue_topic_name="dlq")
    world.clock.advance(1_000)
    assert (
        "share group h: dead letters will not be written: "
        "DLQ is not enabled on configured DLQ topic for share group: h, topic: dlq."
    ) in [each.getMessage() for each in caplog.records]
