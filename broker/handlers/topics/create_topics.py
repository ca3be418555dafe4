"""CreateTopics: v2-7.

Behaviour: every topic stands alone; those that can be created are, in one commit. A name given twice and
`__cluster_metadata` get INVALID_REQUEST, whatever else is wrong with them. More than 10,000 partitions in one request
get POLICY_VIOLATION for all topics. Checks run in Apache Kafka's order: name, existence, properties, partitions and
replicas. CREATE on the cluster or on the topic is needed. `validate_only` answers the same and creates nothing.
v4: -1 takes the broker's partition count and replication factor. v5: the answer has counts and effective properties,
for clients that may DESCRIBE_CONFIGS of the topic. v6: what is over `controller_mutation_rate` is refused.
v7: and the topic id.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.dispatch.in_turns import Steps, TurnCount, in_turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.mutation_quota import EXCEEDED, mutation_quota
from shareq.broker.metadata.store import NewTopic
from shareq.broker.metadata.topic_names import CLUSTER_METADATA, collision_key
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS
from shareq.broker.topics.creation import TopicSpec, check_name, check_partition_total, partitions_asked, plan_topic
from shareq.protocol.errors import ApiError, ErrorCode, storage_failure
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


logger = logging.getLogger(__name__)

_DUPLICATE: Final = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_REFUSED: Final = ApiError(CREATE_TOPIC.error, "Authorization failed.")
_DESCRIBED: Final = 5  # effective properties of a row that take as long as the rest of it
_FORBIDDEN: Final = ApiError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA} is prohibited.")


TURN_WORK: Final = 200
"""So much is done in one turn, 20 µs each: a topic counts as one, and so does each of its properties and assigned
partitions, and the row of one.
"""


def handle(ctx: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse | Pending[CreateTopicsResponse]:
    return in_turns(ctx, _steps(ctx, request))


def _steps(ctx: RequestContext, request: CreateTopicsRequest) -> Steps[CreateTopicsResponse]:
    turn = TurnCount(TURN_WORK)
    plans: dict[str, NewTopic | ApiError] = {}
    wanted: list[CreatableTopic] = []
    counts = Counter(topic.name for topic in request.topics)
    may_all = ctx.sees(CREATE_CLUSTER)
    for topic in request.topics:
        if counts[topic.name] > 1:
            plans[topic.name] = _DUPLICATE
        elif topic.name == CLUSTER_METADATA:
            plans[topic.name] = _FORBIDDEN
        elif not may_all and not ctx.may(CREATE_TOPIC, topic.name):
            plans[topic.name] = _REFUSED
        else:
            wanted.append(topic)
        if turn.full():
            yield
    metadata = ctx.services.metadata
    changes = metadata.topic_changes
    yield from _plan(ctx, wanted, plans, turn)
    if metadata.topic_changes != changes:  # others had their turns
        plans.update({name: check_name(metadata, name) or plan for name, plan in plans.items() if _is_new(plan)})
    quota = mutation_quota(ctx, strict_from=6)
    if quota is not None:
        for name, plan in plans.items():
            if isinstance(plan, NewTopic) and not quota.may(plan.partitions):
                plans[name] = EXCEEDED
    if not request.validate_only:
        _create(ctx, plans)
    rows: list[CreatableTopicResult] = []
    for name, plan in plans.items():
        rows.append(_result(ctx, name, plan))
        if turn.full(1 + len(rows[-1].configs or ()) // _DESCRIBED):
            yield
    return CreateTopicsResponse(0 if quota is None else quota.throttle_ms, rows)


def failed(request: CreateTopicsRequest, error: ErrorCode) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_error_row(topic.name, ApiError(error)) for topic in request.topics])


def _spec(topic: CreatableTopic) -> TopicSpec:
    return TopicSpec(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
        [(config.name, config.value) for config in topic.configs],
    )


def _plan(
    ctx: RequestContext, wanted: Sequence[CreatableTopic], plans: dict[str, NewTopic | ApiError], turn: TurnCount
) -> Steps[None]:
    """Add the plans of topics that the client may create."""
    configs = ctx.services.configs
    default = configs.broker.num_partitions
    too_many = check_partition_total(
        sum(partitions_asked(topic.num_partitions, len(topic.assignments), default) for topic in wanted)
    )
    if too_many:
        plans.update((topic.name, too_many) for topic in wanted)
        return
    taken: dict[str, str] = {}
    for topic in wanted:
        name, key = topic.name, collision_key(topic.name)
        plan = plan_topic(ctx.services.metadata, configs, _spec(topic))
        if not isinstance(plan, ApiError):
            other = taken.setdefault(key, name)
            if other != name:
                message = f"Topic '{name}' collides with existing topic: {other}"
                plan = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        plans[name] = plan
        if turn.full(1 + len(topic.configs) + len(topic.assignments)):
            yield


def _is_new(plan: NewTopic | ApiError) -> bool:
    return isinstance(plan, NewTopic)


def _create(ctx: RequestContext, plans: dict[str, NewTopic | ApiError]) -> None:
    """Create what can be, and turn all of it into errors if it cannot be stored."""
    topics = [plan for plan in plans.values() if isinstance(plan, NewTopic)]
    if not topics:
        return
    try:
        ctx.services.metadata.create_topics(topics)
    except OSError as error:
        logger.error("topics %s: not created: %s", ", ".join(topic.name for topic in topics), error)
        plans.update((topic.name, storage_failure(error)) for topic in topics)


def _result(ctx: RequestContext, name: str, plan: NewTopic | ApiError) -> CreatableTopicResult:
    if isinstance(plan, ApiError):
        return _error_row(name, plan)
    row = CreatableTopicResult(name=name, error_message=None)
    topic = ctx.services.metadata.topic(name)
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
            for entry in ConfigAdmin(ctx.services.configs, ctx.services.metadata).describe_new_topic(name, plan.configs)
        ]
    return row


def _error_row(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)
