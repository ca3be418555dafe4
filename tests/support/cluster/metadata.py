"""Metadata, DescribeCluster, FindCoordinator, ApiVersions: a broker's own view of the cluster.

Sources: KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache, KafkaApis.handleFindCoordinatorRequest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster.image import NO_LEADER, PartitionState, TopicState
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.topic_names import INTERNAL, is_valid_name

_BATCHED_FROM: Final = 4
_IDS_FROM: Final = 12
_EMPTY_IS_ALL: Final = 0
_MOST_PARTITIONS: Final = 2_000
"""`max.request.partition.size.limit`."""


def api_versions(call: Call, request: ApiVersionsRequest) -> Answer:
    release = call.broker.cluster.settings.release
    return ApiVersionsResponse(api_keys=[ApiVersion(key, *versions) for key, versions in release.apis.items()])


def metadata(call: Call, request: MetadataRequest) -> Answer:
    """Answer with topics by name, by id, or all that the client may describe; and with the brokers."""
    asked, broker = request.topics, call.broker
    if asked is None or (call.version == _EMPTY_IS_ALL and not asked):
        topics: Iterable[MetadataResponseTopic] = [
            _topic(call, request, topic) for topic in broker.image.topics.values() if not _refusal(call, topic.name)
        ]
    else:
        rows = [_asked(call, request, each) for each in {(each.topic_id, each.name): each for each in asked}.values()]
        topics = sorted(rows, key=lambda row: bool(row.error_code))
    return MetadataResponse(
        brokers=[MetadataResponseBroker(each, *broker.cluster.addresses[each]) for each in broker.image.live],
        cluster_id=broker.cluster.cluster_id,
        controller_id=_controller(call),
        topics=list(topics),
    )


def _controller(call: Call) -> int:
    """Return a live broker: in KRaft any of them forwards requests to the controller."""
    return min(call.broker.image.live, default=-1)


def _refusal(call: Call, name: str) -> ErrorCode:
    return call.broker.cluster.rights.error(Resource.TOPIC, name, Operation.DESCRIBE)


def _asked(call: Call, request: MetadataRequest, asked: MetadataRequestTopic) -> MetadataResponseTopic:
    if call.version >= _IDS_FROM and asked.topic_id != ZERO_UUID:
        topic = call.broker.image.by_id(asked.topic_id)
        error = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else _refusal(call, topic.name)
        if topic is None or error:  # without the name
            return MetadataResponseTopic(error, None, asked.topic_id)
        return _topic(call, request, topic)
    name = asked.name or ""
    if error := _refusal(call, name):
        return MetadataResponseTopic(error, name)
    topic = call.broker.topic(name)
    if topic is not None:
        return _topic(call, request, topic)
    if not is_valid_name(name):
        return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
    settings = call.broker.cluster.settings
    if request.allow_auto_topic_creation and settings.auto_create_topics:
        call.broker.cluster.create_topic(name)
    return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)


def _topic(call: Call, request: MetadataRequest, topic: TopicState) -> MetadataResponseTopic:
    partitions = [_partition(call, number, state) for number, state in enumerate(topic.partitions)]
    row = MetadataResponseTopic(0, topic.name, topic.topic_id, topic.name in INTERNAL, partitions)
    if request.include_topic_authorized_operations:
        row.topic_authorized_operations = call.broker.cluster.rights.allowed(Resource.TOPIC, topic.name)
    return row


def _partition(call: Call, number: int, state: PartitionState) -> MetadataResponsePartition:
    live = call.broker.image.live
    leads = state.leader != NO_LEADER and state.leader in live
    offline = [each for each in state.replicas if each not in live]
    return MetadataResponsePartition(
        0 if leads else ErrorCode.LEADER_NOT_AVAILABLE,
        number,
        state.leader if leads else NO_LEADER,
        state.epoch,
        list(state.replicas),
        list(state.isr),
        offline,
    )


def describe_topic_partitions(call: Call, request: DescribeTopicPartitionsRequest) -> Answer:
    image, limit = call.broker.image, min(request.response_partition_limit, _MOST_PARTITIONS)
    cursor = request.cursor or DescribeTopicPartitionsRequestCursor()
    response = DescribeTopicPartitionsResponse()
    for name in sorted(image.topics) if not request.topics else sorted(each.name for each in request.topics):
        topic = image.topics.get(name)
        if name < cursor.topic_name or (topic is None and not request.topics):
            continue
        error = _refusal(call, name) or (ErrorCode.NONE if topic else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if topic is None or error:
            if request.topics:
                response.topics.append(DescribeTopicPartitionsResponseTopic(error, name))
            continue
        first = cursor.partition_index if name == cursor.topic_name else 0
        rows = _topic(call, MetadataRequest(), topic).partitions[first : first + limit]
        if not limit:
            response.next_cursor = DescribeTopicPartitionsResponseCursor(name, first)
            break
        limit -= len(rows)
        row = DescribeTopicPartitionsResponseTopic(0, name, topic.topic_id, name in INTERNAL)
        row.partitions = [
            DescribeTopicPartitionsResponsePartition(
                each.error_code,
                each.partition_index,
                each.leader_id,
                each.leader_epoch,
                each.replica_nodes,
                each.isr_nodes,
                offline_replicas=each.offline_replicas,
            )
            for each in rows
        ]
        response.topics.append(row)
        if first + len(rows) < len(topic.partitions):
            response.next_cursor = DescribeTopicPartitionsResponseCursor(name, first + len(rows))
            break
    return response


def describe_cluster(call: Call, request: DescribeClusterRequest) -> Answer:
    cluster = call.broker.cluster
    return DescribeClusterResponse(
        error_message=None,
        cluster_id=cluster.cluster_id,
        controller_id=_controller(call),
        brokers=[DescribeClusterBroker(each, *cluster.addresses[each]) for each in call.broker.image.live],
    )


def find_coordinator(call: Call, request: FindCoordinatorRequest) -> Answer:
    if call.version >= _BATCHED_FROM:
        return FindCoordinatorResponse(
            coordinators=[_coordinator(call, request.key_type, key) for key in request.coordinator_keys]
        )
    row = _coordinator(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=row.error_code,
        error_message=row.error_message if row.error_code else "NONE",
        node_id=row.node_id,
        host=row.host,
        port=row.port,
    )


def _coordinator(call: Call, key_type: int, key: str) -> Coordinator:
    try:
        kind = CoordinatorKind(key_type)
    except ValueError:
        return _nobody(key, ErrorCode.INVALID_REQUEST)
    resource = Resource.GROUP if kind is CoordinatorKind.GROUP else Resource.TRANSACTIONAL_ID
    cluster = call.broker.cluster
    if error := cluster.rights.error(resource, key, Operation.DESCRIBE):
        return _nobody(key, error)
    owner = cluster.coordinators.owner(call.broker, kind, key)
    if owner == NO_LEADER or owner not in call.broker.image.live:
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key, owner, *cluster.addresses[owner], error_code=0)


def _nobody(key: str, error: ErrorCode) -> Coordinator:
    return Coordinator(key, -1, "", -1, error, "")
