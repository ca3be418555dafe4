"""Scripts that create and delete topics, and change their properties."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.names import DLQ_GROUP_ENABLE
from tests.support.cluster_scripts.building import batch, fetch, produce
from tests.support.cluster_scripts.conversation import Conversation
from tests.support.cluster_scripts.fields import GONE

_TOPIC = 2
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


def _create(talk: Conversation, *topics: CreatableTopic, validate: bool = False, version: int | None = None) -> None:
    talk.ask(CreateTopicsRequest(list(topics), 10_000, validate), CreateTopicsResponse, version)


def _topic(
    name: str, partitions: int = 1, factor: int = 1, configs: Mapping[str, str | None] | None = None
) -> CreatableTopic:
    rows = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    return CreatableTopic(name, partitions, factor, [], rows)


def topics_made(talk: Conversation) -> None:
    """Create topics with properties, with the broker's numbers, with assigned replicas; with `validate_only` none."""
    _create(talk, _topic(talk.name("a"), 2, 1, {"cleanup.policy": "compact", "max.message.bytes": "9999"}))
    _create(talk, _topic(talk.name("b"), -1, -1))
    assigned = [CreatableReplicaAssignment(each, [1]) for each in (1, 0)]
    _create(talk, CreatableTopic(talk.name("c"), -1, -1, assigned))
    _create(talk, _topic(talk.name("d")), validate=True)
    _create(talk, _topic(talk.name("d")), version=4)


def topics_refused(talk: Conversation) -> None:
    """Try invalid numbers, names and properties; a topic that exists, or is named twice."""
    topic, new = talk.topic("x.y"), talk.name("new")
    _create(talk, _topic(topic))
    _create(talk, _topic(topic.replace(".", "_")))
    _create(talk, _topic(new), _topic(talk.name("other")), _topic(new))
    for partitions, factor in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2)):
        _create(talk, _topic(new, partitions, factor))
    for name in ("", "a b", "..", "x" * 250):
        _create(talk, _topic(name))
    for key, value in (
        ("retention.ms", "x"),
        ("retention.ms", "-2"),
        ("no.such.property", "1"),
        ("retention.ms", None),
        ("cleanup.policy", "shred"),
        ("min.insync.replicas", "0"),
        (DLQ_GROUP_ENABLE, "true"),
    ):
        _create(talk, _topic(new, configs={key: value}))
    _create(talk, CreatableTopic(new, 1, 1, [CreatableReplicaAssignment(0, [1])]))


def topics_deleted(talk: Conversation) -> None:
    """Delete topics by name and by id; try missing topics, an empty name, and name and id together."""
    first, second = talk.topic("first"), talk.topic("second")

    def delete(*states: DeleteTopicState) -> None:
        talk.ask(DeleteTopicsRequest(list(states), [], 10_000), DeleteTopicsResponse)

    delete(DeleteTopicState(first))
    delete(DeleteTopicState(first))
    delete(DeleteTopicState(None, talk.id_of(second)))
    delete(DeleteTopicState(None, talk.id_of(second)))
    delete(DeleteTopicState(None, b"\x04" * 16))
    third = talk.topic("third")
    delete(DeleteTopicState(third, talk.id_of(third)))
    delete(DeleteTopicState(None))
    talk.ask(DeleteTopicsRequest([], [third, talk.name("unknown")], 10_000), DeleteTopicsResponse, version=5)


def a_topic_made_again(talk: Conversation) -> None:
    """Recreate a topic: it has another id and no records, and nothing is written to the old one."""
    topic = talk.topic()
    produce(talk, topic, batch(b"a"))
    old = talk.id_of(topic)
    talk.ask(DeleteTopicsRequest([DeleteTopicState(topic)], [], 10_000), DeleteTopicsResponse)
    talk.pass_ms(500)
    produce(talk, topic, batch(b"b"))
    fetch(talk, topic)
    assert talk.topic() == topic
    talk.note("another id", old != talk.id_of(topic))
    fetch(talk, topic)
    produce(talk, topic, batch(b"c"))
    talk.ask(MetadataRequest([MetadataRequestTopic(old, None)]), MetadataResponse)


def properties_described(talk: Conversation) -> None:
    topic = talk.topic(configs={"retention.bytes": "1000"})
    keys = ["retention.bytes", "retention.ms", "cleanup.policy", "max.message.bytes", "no.such.property"]

    def describe(name: str, wanted: list[str] | None, kind: int = _TOPIC, synonyms: bool = False) -> None:
        rows = [DescribeConfigsResource(kind, name, wanted)]
        talk.ask(DescribeConfigsRequest(rows, synonyms), DescribeConfigsResponse)

    describe(topic, keys)
    describe(topic, ["retention.bytes", "retention.ms", "min.insync.replicas"], synonyms=True)
    describe(topic, [])
    describe(talk.name("unknown"), keys)
    describe("in valid", keys)
    rows = [DescribeConfigsResource(_TOPIC, topic, None)]
    found = talk.quietly(DescribeConfigsRequest(rows), DescribeConfigsResponse).results[0].configs
    talk.note("values", {each.name: each.value for each in found if each.name not in GONE})


def properties_changed(talk: Conversation) -> None:
    """Set, delete, append to and subtract from properties; invalid changes have no effect."""
    topic = talk.topic()

    def alter(*rows: tuple[str, int, str | None], name: str = topic, validate: bool = False) -> None:
        resource = AlterConfigsResource(_TOPIC, name, [AlterableConfig(*row) for row in rows])
        talk.ask(IncrementalAlterConfigsRequest([resource], validate), IncrementalAlterConfigsResponse)
        talk.pass_ms(200)
        wanted = DescribeConfigsResource(_TOPIC, topic, ["retention.ms", "cleanup.policy", "max.message.bytes"])
        talk.ask(DescribeConfigsRequest([wanted]), DescribeConfigsResponse)

    alter(("retention.ms", _SET, "1000"), ("cleanup.policy", _APPEND, "compact"))
    alter(("retention.ms", _SET, "2000"), validate=True)
    alter(("cleanup.policy", _SUBTRACT, "delete"))
    alter(("retention.ms", _DELETE, None))
    alter(("retention.ms", _SET, "x"))
    alter(("retention.ms", _SET, "1"), ("retention.ms", _SET, "2"))
    alter(("no.such.property", _SET, "1"))
    alter(("retention.ms", _APPEND, "1"))
    alter(("retention.ms", 9, "1"))
    alter(("max.message.bytes", _SET, "100"), ("retention.ms", _SET, "-7"))
    alter(("max.message.bytes", _SET, "100"), name=talk.name("unknown"))
    alter(("max.message.bytes", _SET, "100"))
    produce(talk, topic, batch(b"x" * 200))
