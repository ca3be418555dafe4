"""Scripts about the cluster: topics, brokers, coordinators; and answers to clients without rights."""

from __future__ import annotations

from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster_scripts.building import batch, fetch, produce
from tests.support.cluster_scripts.conversation import Conversation
from tests.support.cluster_scripts.fields import Plain


def _named(*names: str, create: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics, allow_auto_topic_creation=create)


def _all_of(talk: Conversation) -> None:
    topics = talk.quietly(MetadataRequest(None), MetadataResponse).topics
    mine = sorted(name for topic in topics if (name := topic.name or "").startswith(talk.name()))
    talk.note("of all topics", list[Plain](mine))


def topics_by_name_and_id(talk: Conversation) -> None:
    topic = talk.topic(partitions=2)
    talk.ask(_named(topic), MetadataResponse)
    talk.ask(_named(topic, talk.name("unknown"), topic), MetadataResponse)
    for name in ("", "a b", ".", "x" * 250):
        talk.ask(_named(name), MetadataResponse)
    for topic_id in (talk.id_of(topic), b"\x03" * 16):
        talk.ask(MetadataRequest([MetadataRequestTopic(topic_id, None)]), MetadataResponse)
    talk.ask(MetadataRequest([]), MetadataResponse)
    _all_of(talk)
    talk.ask(_named(topic), MetadataResponse, version=9)


def topics_made_by_asking(talk: Conversation) -> None:
    """Ask for a missing topic with auto-creation: it is created, and gets its leaders a little later."""
    name = talk.name("new")
    talk.ask(_named(name), MetadataResponse)
    talk.ask(_named(name, create=True), MetadataResponse)

    def is_there() -> bool:
        topic = talk.quietly(_named(name), MetadataResponse).topics[0]
        return not topic.error_code

    talk.until(f"{name} is there", is_there)
    talk.ask(_named(name, create=True), MetadataResponse)
    talk.ask(_named("in valid", create=True), MetadataResponse)


def brokers(talk: Conversation) -> None:
    talk.ask(DescribeClusterRequest(), DescribeClusterResponse)
    talk.ask(DescribeClusterRequest(), DescribeClusterResponse, version=0)


def coordinators(talk: Conversation) -> None:
    """Find coordinators of groups and transactional ids, several at once, in old versions, and of unknown kinds."""
    group = talk.coordinated(talk.name("group"), CoordinatorKind.GROUP)
    name = talk.coordinated(talk.name("id"), CoordinatorKind.TRANSACTION)
    talk.ask(FindCoordinatorRequest("", 0, [group, "other"]), FindCoordinatorResponse)
    talk.ask(FindCoordinatorRequest("", 1, [name]), FindCoordinatorResponse)
    talk.ask(FindCoordinatorRequest(group, 0, []), FindCoordinatorResponse, version=3)
    talk.ask(FindCoordinatorRequest("", 0, []), FindCoordinatorResponse)
    talk.ask(FindCoordinatorRequest("", 9, [group]), FindCoordinatorResponse)


def hidden_topics(talk: Conversation) -> None:
    """Ask for a topic that the client may not describe: by name, by id and among all it is missing."""
    topic = talk.topic()
    talk.deny(Resource.TOPIC, topic, Operation.DESCRIBE)
    talk.ask(_named(topic), MetadataResponse)
    talk.ask(MetadataRequest([MetadataRequestTopic(talk.id_of(topic), None)]), MetadataResponse)
    _all_of(talk)
    produce(talk, topic, batch(b"a"))
    fetch(talk, topic)
    talk.ask(
        ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, -1)])]), ListOffsetsResponse
    )
    for state in (DeleteTopicState(topic), DeleteTopicState(None, talk.id_of(topic))):
        talk.ask(DeleteTopicsRequest([state], [], 10_000), DeleteTopicsResponse)


def denied_topics(talk: Conversation) -> None:
    for right in (
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ):
        topic = talk.topic(right.name.lower())
        talk.deny(Resource.TOPIC, topic, right)
        produce(talk, topic, batch(b"a"))
        fetch(talk, topic)
        rows = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 0)])]
        talk.ask(DeleteRecordsRequest(rows, 10_000), DeleteRecordsResponse)
        wanted = DescribeConfigsResource(2, topic, ["retention.ms"])
        talk.ask(DescribeConfigsRequest([wanted]), DescribeConfigsResponse)
        altered = AlterConfigsResource(2, topic, [AlterableConfig("retention.ms", 0, "5")])
        talk.ask(IncrementalAlterConfigsRequest([altered]), IncrementalAlterConfigsResponse)
        states = [DeleteTopicState(topic)]
        talk.ask(DeleteTopicsRequest(states, [], 10_000), DeleteTopicsResponse)


def denied_ids(talk: Conversation) -> None:
    group, name = talk.name("group"), talk.name("id")
    talk.coordinated(group, CoordinatorKind.GROUP)
    talk.coordinated(name, CoordinatorKind.TRANSACTION)
    talk.deny(Resource.GROUP, group, Operation.READ)
    talk.ask(HeartbeatRequest(group, 1, "m"), HeartbeatResponse)
    talk.deny(Resource.TRANSACTIONAL_ID, name, Operation.WRITE)
    talk.ask(InitProducerIdRequest(name, 60_000, -1, -1), InitProducerIdResponse)
    hidden = talk.name("hidden")
    talk.deny(Resource.GROUP, hidden, Operation.DESCRIBE)
    talk.ask(FindCoordinatorRequest("", 0, [hidden]), FindCoordinatorResponse)
    forbidden = talk.name("forbidden")
    talk.deny(Resource.TOPIC, forbidden, Operation.CREATE)
    talk.ask(CreateTopicsRequest([CreatableTopic(forbidden, 1, 1)], 10_000), CreateTopicsResponse)
