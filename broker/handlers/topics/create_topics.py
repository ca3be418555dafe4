"""CreateTopics: v2-7.

Behaviour: every topic is handled separately; all valid ones are created, up to 500 in one commit. A name given twice,
and `__cluster_metadata`, get INVALID_REQUEST before all other errors. More than 10,000 partitions in one request get
POLICY_VIOLATION for all topics. Checks run in Apache Kafka's order: name, existence, properties, partitions and
replicas. CREATE on the cluster or on the topic is needed. `validate_only` answers the same and creates nothing. v4: -1
means the broker's partition count and replication factor. v5: the answer has partition count, replication factor and
effective properties, for clients that may DESCRIBE_CONFIGS of the topic. v6: topics above `controller_mutation_rate`
are refused. v7: the answer has the topic id.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final

from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.handlers.shared.mutation_quota import EXCEEDED, mutation_quota
from shareq.broker.metadata.store import NewTopic
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS
from shareq.broker.topics.creation import (
    TopicSpec,
    check_name,
    check_partition_total,
    partitions_asked,
    plan_topic,
    take_name,
)
from shareq.protocol.errors import ApiError, ErrorCode, storage_failure
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.names import CLUSTER_METADATA

CONTEXT = FolderContext
logger = logging.getLogger(__name__)

_DESCRIBED: Final = 5  # the number of effective properties that take as long as the rest of a row


CREATED_TOGETHER: Final = 500
"""The most topics created in one commit, 9 µs each plus the time of the disk."""


async def handle(ctx: FolderContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    plans = await planned(ctx, request.topics)
    quota = mutation_quota(ctx, strict_from=6)
    if quota is not None:
        for name, plan in plans.items():
            if isinstance(plan, NewTopic) and not quota.may(plan.partitions):
                plans[name] = EXCEEDED
    if not request.validate_only:
        await _create(ctx, plans)
    rows: list[CreatableTopicResult] = []
    for name, plan in plans.items():
        rows.append(_result(ctx, name, plan))
        await ctx.breathe(1 + len(rows[-1].configs or ()) // _DESCRIBED)
    return CreateTopicsResponse(0 if quota is None else quota.throttle_ms, rows)


def failed(request: CreateTopicsRequest, error: ErrorCode) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_error_row(topic.name, ApiError(error)) for topic in request.topics])


async def _create(ctx: FolderContext, plans: Plans) -> None:
    """Create the topics that can be created; set errors for those that cannot be stored."""
    metadata = ctx.ground.metadata
    topics = [plan for plan in plans.values() if isinstance(plan, NewTopic)]
    for at in range(0, len(topics), CREATED_TOGETHER):
        some = topics[at : at + CREATED_TOGETHER]
        changes = metadata.topic_changes
        await metadata.gate.passing()
        if at or metadata.topic_changes != changes:  # others had their turns
            for topic in some:
                plans[topic.name] = check_name(metadata, topic.name) or topic
            some = [topic for topic in some if plans[topic.name] is topic]
        try:
            metadata.create_topics(some)
        except OSError as error:
            logger.error("%d topics, %s the first: not created: %s", len(some), some[0].name, error)
            plans.update((topic.name, storage_failure(error)) for topic in some)


def _result(ctx: FolderContext, name: str, plan: NewTopic | ApiError) -> CreatableTopicResult:
    if isinstance(plan, ApiError):
        return _error_row(name, plan)
    row = CreatableTopicResult(name=name, error_message=None)
    topic = ctx.ground.metadata.topic(name)
    if topic is not None:
        row.topic_id = topic.topic_id
    if not ctx.may(DESCRIBE_TOPIC_CONFIGS, name):
        row.topic_config_error_code = DESCRIBE_TOPIC_CONFIGS.error
        return row
    row.num_partitions = plan.partitions
    row.replication_factor = 1
    if ctx.api_version >= 5:
        row.configs = [
            CreatableTopicConfigs(entry.key.name, entry.value, entry.read_only, entry.source, entry.sensitive)
            for entry in ConfigAdmin(ctx.services.configs, ctx.ground.metadata).describe_new_topic(name, plan.configs)
        ]
    return row


def _error_row(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


Plans = dict[str, NewTopic | ApiError]
"""Plans by topic name, in the order of the answer."""

_DUPLICATE: Final = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_REFUSED: Final = ApiError(CREATE_TOPIC.error, "Authorization failed.")
_FORBIDDEN: Final = ApiError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA} is prohibited.")


async def planned(ctx: FolderContext, topics: Sequence[CreatableTopic]) -> Plans:
    """Return the plans; they hold only in the turn in which they are returned. Nothing is created."""
    plans: Plans = {}
    changes = ctx.ground.metadata.topic_changes
    wanted = await _allowed(ctx, topics, plans)
    default = ctx.services.configs.broker.num_partitions
    too_many = check_partition_total(
        sum(partitions_asked(topic.num_partitions, len(topic.assignments), default) for topic in wanted)
    )
    if too_many:
        plans.update((topic.name, too_many) for topic in wanted)
        return plans
    await _plan(ctx, wanted, plans)
    if ctx.ground.metadata.topic_changes != changes:  # another request may have made it impossible meanwhile
        for name, plan in plans.items():
            if isinstance(plan, NewTopic):
                plans[name] = check_name(ctx.ground.metadata, name) or plan
    return plans


async def _allowed(ctx: FolderContext, topics: Sequence[CreatableTopic], plans: Plans) -> list[CreatableTopic]:
    """Return the topics that the client may create; add the errors of the others to the plans."""
    wanted: list[CreatableTopic] = []
    counts = Counter(topic.name for topic in topics)
    may_all = ctx.sees(CREATE_CLUSTER)
    for topic in topics:
        if counts[topic.name] > 1:
            plans[topic.name] = _DUPLICATE
        elif topic.name == CLUSTER_METADATA:
            plans[topic.name] = _FORBIDDEN
        elif not may_all and not ctx.may(CREATE_TOPIC, topic.name):
            plans[topic.name] = _REFUSED
        else:
            wanted.append(topic)
        await ctx.breathe()
    return wanted


async def _plan(ctx: FolderContext, wanted: Sequence[CreatableTopic], plans: Plans) -> None:
    """Add plans for topics that the client may create."""
    taken: dict[str, str] = {}
    for topic in wanted:
        name = topic.name
        plan = plan_topic(ctx.ground.metadata, ctx.services.configs, _spec(topic))
        if not isinstance(plan, ApiError):
            plan = take_name(taken, name) or plan
        plans[name] = plan
        await ctx.breathe(1 + len(topic.configs) + len(topic.assignments))


def _spec(topic: CreatableTopic) -> TopicSpec:
    return TopicSpec(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
        [(config.name, config.value) for config in topic.configs],
    )
