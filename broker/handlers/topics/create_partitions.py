"""CreatePartitions: v0-3.

Behaviour: every topic is handled separately; all valid changes are made, up to 500 topics in one commit. `count` is the
new total. A topic named twice gets INVALID_REQUEST; a count that is not larger than the present one, or would add more
than 10,000 partitions, gets INVALID_PARTITIONS; new partitions may be assigned to this broker only. ALTER on the topic
is needed. `validate_only` answers the same and changes nothing. v3: changes above `controller_mutation_rate` are
refused.

Here: the coordinators' topics cannot grow (in Apache Kafka they can, and their state is lost).
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.handlers.shared.mutation_quota import EXCEEDED, mutation_quota
from shareq.broker.quotas.clients import Mutations
from shareq.broker.security.rights import ALTER_TOPIC
from shareq.broker.topics.creation import MOST_PARTITIONS_OF_A_REQUEST, check_assignment
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

CONTEXT = FolderContext
logger = logging.getLogger(__name__)


_DUPLICATE: Final = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")

GROWN_TOGETHER: Final = 500
"""The most topics whose partitions are added in one commit."""


async def handle(ctx: FolderContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    metadata = ctx.ground.metadata
    changes = metadata.topic_changes
    times = Counter(topic.name for topic in request.topics)
    outcomes: dict[str, ApiError] = {}
    growing: list[CreatePartitionsTopic] = []
    quota = mutation_quota(ctx, strict_from=3)
    for topic in request.topics:
        again = times[topic.name] > 1
        outcomes[topic.name] = _DUPLICATE if again else _check(ctx, topic) or _over_quota(ctx, topic, quota)
        if not outcomes[topic.name] and not request.validate_only:
            growing.append(topic)
        await ctx.breathe(1 + len(topic.assignments or ()))
    for some in pieces(growing, GROWN_TOGETHER):
        await metadata.gate.passing()
        if metadata.topic_changes != changes:  # others had their turns
            outcomes.update((topic.name, _check(ctx, topic)) for topic in some)
        _grow(ctx, {topic.name: topic.count for topic in some if not outcomes[topic.name]}, outcomes)
        changes = metadata.topic_changes
    response = CreatePartitionsResponse(0 if quota is None else quota.throttle_ms)
    for name, outcome in outcomes.items():
        response.results.append(_row(name, outcome))
        await ctx.breathe()
    return response


def _grow(ctx: FolderContext, counts: dict[str, int], outcomes: dict[str, ApiError]) -> None:
    """Add partitions to the topics up to these counts, in one commit."""
    if counts:
        try:
            ctx.ground.metadata.create_partitions(counts)
        except OSError as error:
            logger.error("%d topics, %s the first: partitions not added: %s", len(counts), next(iter(counts)), error)
            outcomes.update((name, storage_failure(error)) for name in counts)


def failed(request: CreatePartitionsRequest, error: ErrorCode) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(results=[_row(topic.name, ApiError(error)) for topic in request.topics])


def _check(ctx: FolderContext, request: CreatePartitionsTopic) -> ApiError:
    if not ctx.may(ALTER_TOPIC, request.name):
        return ApiError(ALTER_TOPIC.error)
    topic = ctx.ground.metadata.topic(request.name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.internal:
        return ApiError(ErrorCode.INVALID_PARTITIONS, _not_growing(topic))
    added = request.count - topic.partitions
    if added <= 0:
        return ApiError(ErrorCode.INVALID_PARTITIONS, _not_more(topic, request.count))
    if added > MOST_PARTITIONS_OF_A_REQUEST:
        message = f"{added} new partitions, and at most {MOST_PARTITIONS_OF_A_REQUEST} are allowed at a time."
        return ApiError(ErrorCode.INVALID_PARTITIONS, message)
    if request.assignments is None:
        return NO_ERROR
    if len(request.assignments) != added:
        message = f"{added} new partitions, but {len(request.assignments)} assignments were specified."
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    for index, assignment in enumerate(request.assignments):
        error = check_assignment(ctx.services.started_with.node_id, assignment.broker_ids, topic.partitions + index, 1)
        if error:
            return error
    return NO_ERROR


def _over_quota(ctx: FolderContext, request: CreatePartitionsTopic, quota: Mutations | None) -> ApiError:
    """Return EXCEEDED if the new partitions of a topic that passed `_check` are over the quota."""
    topic = ctx.ground.metadata.topic(request.name)
    if quota is None or topic is None or quota.may(request.count - topic.partitions):
        return NO_ERROR
    return EXCEEDED


def _not_growing(topic: TopicImage) -> str:
    return (
        f"Topic '{topic.name}' keeps its {topic.partitions} partitions: "
        "what a coordinator stores is found by their number."
    )


def _not_more(topic: TopicImage, count: int) -> str:
    if count == topic.partitions:
        return f"Topic already has {topic.partitions} partition(s)."
    return f"The topic {topic.name} currently has {topic.partitions} partition(s); {count} would not be an increase."


def _row(name: str, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)
