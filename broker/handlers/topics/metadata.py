"""Metadata: v0-13.

Behaviour: null topics (v0: an empty list) means all, an empty list none. A topic that does not exist is created if the
request and `auto.create.topics.enable` allow it, and is in the same answer; a request creates 50 topics at most, and
those of one user 100 at once and 5 a second. Otherwise its row says UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID if
it was asked for by id. A name that no topic can have gets INVALID_TOPIC_EXCEPTION. This broker is the controller and
leads everything; where a test has moved a leader, that partition has none and LEADER_NOT_AVAILABLE.
v4: the request says whether topics may be created. v8-10: authorized operations of the cluster; v8: of topics.
v10: topic ids in answers; v12: in requests, which v10 and v11 refuse with INVALID_REQUEST although they can carry them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.parts import Parts, in_parts
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.handlers.shared.topics_to_create import TURN_SIZE, create_missing, may_create_topic
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS, name_error
from shareq.broker.security.rights import CREATE_TOPIC, DESCRIBE_TOPIC
from shareq.broker.topics.leaders import mark_leaderless
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

_COUNTS_AT_LEAST: Final = 4
_LEADER_EPOCH: Final = 0  # leadership never moves


def handle(ctx: RequestContext, request: MetadataRequest) -> MetadataResponse | Parts:
    if ctx.api_version in (10, 11) and _asks_by_id(request.topics):
        return failed(request, ErrorCode.INVALID_REQUEST)
    services = ctx.services
    endpoint = services.endpoint_for(ctx.connection.listener)
    config = services.configs.broker
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(endpoint.node_id, endpoint.host, endpoint.port, config.broker_rack)],
        cluster_id=services.metadata.cluster_id,
        controller_id=endpoint.node_id,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations.on_cluster(ctx)
    return in_parts(response, "topics", _parts(ctx, request))


def failed(request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    rows = [MetadataResponseTopic(error, topic.name or "", topic.topic_id) for topic in request.topics or ()]
    return MetadataResponse(topics=rows, error_code=error)


def _asks_by_id(topics: Iterable[MetadataRequestTopic] | None) -> bool:
    return any(topic.name is None or topic.topic_id != ZERO_UUID for topic in topics or ())


def _parts(ctx: RequestContext, request: MetadataRequest) -> Iterator[list[MetadataResponseTopic]]:
    """The rows, so many at a time that their topics and partitions are few. Some parts are empty."""
    rows: list[MetadataResponseTopic] = []
    size = 0
    for row in _rows(ctx, request):
        if row is None:
            yield []
            continue
        if request.include_topic_authorized_operations and row.error_code == ErrorCode.NONE:
            row.topic_authorized_operations = authorized_operations.on_topic(ctx, row.name or "")
        rows.append(row)
        size += _COUNTS_AT_LEAST + len(row.partitions)
        if size >= TURN_SIZE:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _rows(ctx: RequestContext, request: MetadataRequest) -> Iterator[MetadataResponseTopic | None]:
    """The rows; None where others may have their turn."""
    asked = request.topics
    if asked is None or (not asked and ctx.api_version == 0):
        topics = ctx.services.metadata.topics()
        yield from (_row(ctx, topic) for topic in topics if ctx.sees(DESCRIBE_TOPIC, topic.name))
        return
    may_create = request.allow_auto_topic_creation and ctx.services.configs.broker.auto_create_topics_enable
    refused: dict[str, ApiError] = {}
    if may_create:
        refused = yield from create_missing(ctx, asked)
    if len(asked) > TURN_SIZE // _COUNTS_AT_LEAST:
        yield None  # of many, the first part has a turn of its own, too
    names: set[str] = set()
    for topic in asked:
        if topic.name is not None and topic.topic_id == ZERO_UUID and topic.name not in names:
            names.add(topic.name)
            yield _row_by_name(ctx, topic.name, may_create, refused)
    ids: set[bytes] = set()
    for topic in asked:
        if (topic.name is None or topic.topic_id != ZERO_UUID) and topic.topic_id not in ids:
            ids.add(topic.topic_id)
            yield _row_by_id(ctx, topic.topic_id)


def _row_by_id(ctx: RequestContext, topic_id: bytes) -> MetadataResponseTopic:
    topic = ctx.services.metadata.topic_by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not ctx.may(DESCRIBE_TOPIC, topic.name):
        return MetadataResponseTopic(DESCRIBE_TOPIC.error, None, topic_id)
    return _row(ctx, topic)


def _row_by_name(
    ctx: RequestContext, name: str, may_create: bool, refused: Mapping[str, ApiError]
) -> MetadataResponseTopic:
    if not ctx.may(DESCRIBE_TOPIC, name):  # says nothing of whether it exists
        return MetadataResponseTopic(DESCRIBE_TOPIC.error, name)
    topic = ctx.services.metadata.topic(name)
    if topic is not None:
        return _row(ctx, topic)
    if may_create and not may_create_topic(ctx, name):
        return MetadataResponseTopic(CREATE_TOPIC.error, name, is_internal=name in INTERNAL_TOPICS)
    if name_error(name) is not None:
        return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
    error = refused.get(name)
    return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if error is None else error.code, name)


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
    mark_leaderless(ctx.services.leaders, topic.name, partitions)
    return MetadataResponseTopic(ErrorCode.NONE, topic.name, topic.topic_id, topic.internal, partitions)
