"""Metadata: v0-13.

Behaviour: null topics (v0: an empty list) means all, an empty list none. A topic that does not exist is created if the
request and `auto.create.topics.enable` allow it, and is in the same answer; otherwise its row says
UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID if it was asked for by id. A name that no topic can have gets
INVALID_TOPIC_EXCEPTION. This broker is the controller and leads everything.
v4: the request says whether topics may be created. v8-10: authorized operations of the cluster; v8: of topics.
v10: topic ids in answers; v12: in requests, which v10 and v11 refuse with INVALID_REQUEST although they can carry them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.metadata.topic_names import CLUSTER_METADATA, INTERNAL_TOPICS, name_error
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC
from shareq.broker.topics.creation import auto_create
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


_LEADER_EPOCH: Final = 0  # leadership never moves


def handle(ctx: RequestContext, request: MetadataRequest) -> MetadataResponse:
    if ctx.api_version in (10, 11) and _asks_by_id(request.topics):
        return failed(request, ErrorCode.INVALID_REQUEST)
    services = ctx.services
    endpoint = services.endpoint_for(ctx.connection.listener)
    config = services.configs.broker
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(endpoint.node_id, endpoint.host, endpoint.port, config.broker_rack)],
        cluster_id=services.metadata.cluster_id,
        controller_id=endpoint.node_id,
        topics=_topics(ctx, request),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations.on_cluster(ctx)
    if request.include_topic_authorized_operations:
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE:
                topic.topic_authorized_operations = authorized_operations.on_topic(ctx, topic.name or "")
    return response


def failed(request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    rows = [MetadataResponseTopic(error, topic.name or "", topic.topic_id) for topic in request.topics or ()]
    return MetadataResponse(topics=rows, error_code=error)


def _asks_by_id(topics: Iterable[MetadataRequestTopic] | None) -> bool:
    return any(topic.name is None or topic.topic_id != ZERO_UUID for topic in topics or ())


def _topics(ctx: RequestContext, request: MetadataRequest) -> list[MetadataResponseTopic]:
    asked = request.topics
    if asked is None or (not asked and ctx.api_version == 0):
        topics = ctx.services.metadata.topics()
        return [_row(ctx, topic) for topic in topics if ctx.may(DESCRIBE_TOPIC, topic.name)]
    by_id = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID or topic.name is None)
    by_name = dict.fromkeys(topic.name for topic in asked if topic.name is not None and topic.topic_id == ZERO_UUID)
    may_create = request.allow_auto_topic_creation and ctx.services.configs.broker.auto_create_topics_enable
    rows = [_row_by_name(ctx, name, may_create) for name in by_name]
    rows.extend(_row_by_id(ctx, topic_id) for topic_id in by_id)
    return rows


def _row_by_id(ctx: RequestContext, topic_id: bytes) -> MetadataResponseTopic:
    topic = ctx.services.metadata.topic_by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not ctx.may(DESCRIBE_TOPIC, topic.name):
        return MetadataResponseTopic(DESCRIBE_TOPIC.error, None, topic_id)
    return _row(ctx, topic)


def _row_by_name(ctx: RequestContext, name: str, may_create: bool) -> MetadataResponseTopic:
    if not ctx.may(DESCRIBE_TOPIC, name):  # says nothing of whether it exists
        return MetadataResponseTopic(DESCRIBE_TOPIC.error, name)
    topic: TopicImage | ApiError | None = ctx.services.metadata.topic(name)
    if topic is None and may_create and not (ctx.may(CREATE_CLUSTER) or ctx.may(CREATE_TOPIC, name)):
        return MetadataResponseTopic(CREATE_TOPIC.error, name, is_internal=name in INTERNAL_TOPICS)
    if topic is None and name_error(name) is not None:
        return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
    if topic is None and may_create and name != CLUSTER_METADATA:
        topic = auto_create(ctx.services.metadata, ctx.services.configs, name)
    if topic is None:
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    if isinstance(topic, ApiError):
        return MetadataResponseTopic(topic.code, name)
    return _row(ctx, topic)


def _row(ctx: RequestContext, topic: TopicImage) -> MetadataResponseTopic:
    node_id = ctx.services.started_with.node_id
    partitions = [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=node_id,
            leader_epoch=_LEADER_EPOCH,
            replica_nodes=[node_id],
            isr_nodes=[node_id],
        )
        for index in range(topic.partitions)
    ]
    return MetadataResponseTopic(ErrorCode.NONE, topic.name, topic.topic_id, topic.internal, partitions)
