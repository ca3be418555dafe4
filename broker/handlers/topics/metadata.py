"""Metadata: v0-13.

Behaviour: null topics (v0: an empty list) mean all, an empty list none. A topic that does not exist is created if the
request and `auto.create.topics.enable` allow it, and is in the same answer. Otherwise its row says
UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID if it was asked for by id. A name that no topic can have gets
INVALID_TOPIC_EXCEPTION. A single broker is the controller and leads all partitions. Among several brokers, the live
ones with the request's listener are named, with their epochs; a dead leader is LEADER_NOT_AVAILABLE, one without the
listener LISTENER_NOT_FOUND (v6). A node asks its cluster for unknown topics; without an answer they are
LEADER_NOT_AVAILABLE. v4: the request says whether topics may be created. v8-10: authorized operations of the cluster;
v8: of topics. v10: topic ids in answers. v12: topic ids in requests; v10 and v11 have the field, too, but using it gets
INVALID_REQUEST.

Here: a topic that is created is in the same answer. A request creates at most 50 topics, and the requests of one user
100 at once and 5 a second; the other topics get UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import controller_id, live_brokers, name_leaders
from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.turn_budget import PIECE, in_pieces
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS, name_error
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC
from shareq.broker.topics.creation import MOST_AUTO_CREATED
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
from shareq.protocol.names import CLUSTER_METADATA
from shareq.protocol.primitives import ZERO_UUID

_TOPIC_ELEMENTS: Final = 4  # the elements that a topic without its partitions counts as
_LISTENER_NOT_FOUND_FROM: Final = 6
_UNHEARD: Final = ApiError(ErrorCode.LEADER_NOT_AVAILABLE)
_NO_NAME: Final = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_NO_ID: Final = ApiError(ErrorCode.UNKNOWN_TOPIC_ID)


async def handle(ctx: RequestContext, request: MetadataRequest) -> MetadataResponse | Rows[MetadataResponse]:
    if ctx.api_version in (10, 11) and _asks_by_id(request.topics):
        return failed(request, ErrorCode.INVALID_REQUEST)
    services = ctx.services
    config = services.configs.broker
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(*address) for address in live_brokers(ctx)],
        cluster_id=services.metadata.cluster_id,
        controller_id=controller_id(ctx),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations.on_cluster(ctx)
    rows, asked, hearing = Rows(ctx, response, "topics"), request.topics, services.metadata.hearing
    if asked is None or (not asked and ctx.api_version == 0):
        if hearing is not None:
            await hearing.of_all()
        for topic in services.metadata.topics():
            if ctx.sees(DESCRIBE_TOPIC, topic.name):
                await _add(ctx, request, topic, rows)
            else:
                await rows.breathe()
        return await rows.end()
    may_create = request.allow_auto_topic_creation and config.auto_create_topics_enable
    refused = {} if hearing is None else dict.fromkeys(await hearing.of(_keys(ctx, asked)), _UNHEARD)
    if may_create:
        refused.update(await create_missing(ctx, asked, refused))
    names: set[str] = set()
    for named in asked:
        if named.name is not None and named.topic_id == ZERO_UUID and named.name not in names:
            names.add(named.name)
            await _add(ctx, request, _named(ctx, named.name, may_create, refused), rows)
    ids: set[bytes] = set()
    for named in asked:
        if (named.name is None or named.topic_id != ZERO_UUID) and named.topic_id not in ids:
            ids.add(named.topic_id)
            await _add(ctx, request, _with_id(ctx, named.topic_id, refused), rows)
    return await rows.end()


def failed(request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    rows = [MetadataResponseTopic(error, topic.name or "", topic.topic_id) for topic in request.topics or ()]
    return MetadataResponse(topics=rows, error_code=error)


def _asks_by_id(topics: Iterable[MetadataRequestTopic] | None) -> bool:
    return any(topic.name is None or topic.topic_id != ZERO_UUID for topic in topics or ())


def _keys(ctx: RequestContext, topics: Iterable[MetadataRequestTopic]) -> Iterator[str | bytes]:
    """Yield the requested ids, and the requested names of topics that the client may describe."""
    for topic in topics:
        if topic.name is None or topic.topic_id != ZERO_UUID:
            yield topic.topic_id
        elif ctx.sees(DESCRIBE_TOPIC, topic.name):
            yield topic.name


def _with_id(
    ctx: RequestContext, topic_id: bytes, refused: Mapping[str | bytes, ApiError]
) -> TopicImage | MetadataResponseTopic:
    """Return the topic, or the row with the reason why it is not shown."""
    topic = ctx.services.metadata.topic_by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(refused.get(topic_id, _NO_ID).code, None, topic_id)
    if not ctx.may(DESCRIBE_TOPIC, topic.name):
        return MetadataResponseTopic(DESCRIBE_TOPIC.error, None, topic_id)
    return topic


def _named(
    ctx: RequestContext, name: str, may_create: bool, refused: Mapping[str | bytes, ApiError]
) -> TopicImage | MetadataResponseTopic:
    """Return the topic, or the row with the reason why it does not exist."""
    if not ctx.may(DESCRIBE_TOPIC, name):  # the answer does not reveal if the topic exists
        return MetadataResponseTopic(DESCRIBE_TOPIC.error, name)
    topic = ctx.services.metadata.topic(name)
    if topic is not None:
        return topic
    if may_create and not may_create_topic(ctx, name):
        return MetadataResponseTopic(CREATE_TOPIC.error, name, is_internal=name in INTERNAL_TOPICS)
    if name_error(name) is not None:
        return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
    return MetadataResponseTopic(refused.get(name, _NO_NAME).code, name)


async def _add(
    ctx: RequestContext,
    request: MetadataRequest,
    found: TopicImage | MetadataResponseTopic,
    rows: Rows[MetadataResponse],
) -> None:
    """Add the row of a topic with its partitions, or the given row."""
    if isinstance(found, MetadataResponseTopic):
        await rows.add(found, _TOPIC_ELEMENTS)
        return
    node_id = ctx.services.started_with.node_id
    finds_listener = ctx.api_version >= _LISTENER_NOT_FOUND_FROM
    not_reached = ErrorCode.LISTENER_NOT_FOUND if finds_listener else ErrorCode.LEADER_NOT_AVAILABLE
    row = MetadataResponseTopic(ErrorCode.NONE, found.name, found.topic_id, found.internal)
    if request.include_topic_authorized_operations:
        row.topic_authorized_operations = authorized_operations.on_topic(ctx, found.name)
    for indexes in in_pieces(range(found.partitions)):
        if row.partitions:
            await rows.breathe(PIECE)
        partitions = [
            MetadataResponsePartition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=0,
                replica_nodes=[node_id],
                isr_nodes=[node_id],
            )
            for index in indexes
        ]
        name_leaders(ctx, found.name, partitions, not_reached)
        row.partitions += partitions
    await rows.add(row, _TOPIC_ELEMENTS + len(indexes))


async def create_missing(
    ctx: RequestContext, asked: Sequence[MetadataRequestTopic], unheard: Container[str | bytes]
) -> Mapping[str, ApiError]:
    """Create topics that do not exist and that the client may create: the first ones, as many as its rate allows now.

    Return the errors of topics that could not be created, by name. Topics in `unheard` are left out, since they may
    exist.
    """
    metadata = ctx.services.metadata
    new: dict[str, None] = {}
    for topic in asked:
        name = topic.name
        if name is not None and topic.topic_id == ZERO_UUID and metadata.topic(name) is None:
            known = name_error(name) is None and name != CLUSTER_METADATA and name not in unheard
            if known and ctx.may(DESCRIBE_TOPIC, name) and may_create_topic(ctx, name):
                new[name] = None
                if len(new) == MOST_AUTO_CREATED:
                    break
        await ctx.breathe()
    names = list(new)
    if names:
        del names[ctx.services.auto_creations.take(ctx.owner, len(names), ctx.services.env.clock.now_ms()) :]
    return await ctx.services.ground.auto_create(names) if names else {}


def may_create_topic(ctx: RequestContext, name: str) -> bool:
    return ctx.sees(CREATE_CLUSTER) or ctx.may(CREATE_TOPIC, name)
