"""The plan for a CreateTopics request: for each name a topic to create, or the error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.metadata.store import NewTopic
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC
from shareq.broker.topics.creation import (
    TopicSpec,
    check_name,
    check_partition_total,
    partitions_asked,
    plan_topic,
    take_name,
)
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopic
from shareq.protocol.names import CLUSTER_METADATA

Plans = dict[str, NewTopic | ApiError]
"""The plans by name, in the order in which they are answered."""

_DUPLICATE: Final = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_REFUSED: Final = ApiError(CREATE_TOPIC.error, "Authorization failed.")
_FORBIDDEN: Final = ApiError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA} is prohibited.")


async def planned(ctx: FolderContext, topics: Sequence[CreatableTopic]) -> Plans:
    """Return the plans, which may be carried out in the turn that returns them. Creates nothing."""
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
    if ctx.ground.metadata.topic_changes != changes:  # another request has perhaps made it impossible meanwhile
        for name, plan in plans.items():
            if isinstance(plan, NewTopic):
                plans[name] = check_name(ctx.ground.metadata, name) or plan
    return plans


async def _allowed(ctx: FolderContext, topics: Sequence[CreatableTopic], plans: Plans) -> list[CreatableTopic]:
    """Return the topics that the client may create; the errors of the others are added to the plans."""
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
    """Add the plans of topics that the client may create."""
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
