"""Rights of a ShareFetch on its partitions, checked when the request arrives and when records are handed out."""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.broker.share.core.fetch_plan import fetch_order
from shareq.broker.share.core.sessions import LOOKED_AT, SessionPartition, ShareFetchContext
from shareq.broker.share.fetch import FetchedPartition, WantedPartition
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode

Refusal = Callable[[str], ErrorCode]
"""A function from a topic to the error for which its records may not be handed out now (NONE: they may)."""


def refusal(ctx: RequestContext, group_id: str) -> Refusal | None:
    """Return a function that checks the rights before records are handed out; None if every client may have them."""
    if ctx.services.authorizer is None:
        return None

    def refuse(topic: str) -> ErrorCode:
        if not ctx.may(READ_GROUP, group_id):
            return READ_GROUP.error
        return ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error

    return refuse


def without_refused(
    ctx: RequestContext, group_id: str, member_id: str, result: FetchedPartition, refuse: Refusal | None
) -> FetchedPartition:
    """Return the result without records that the client may no longer read, after the request's acknowledgements were
    written.

    Those records are released.
    """
    topic = ctx.services.metadata.topic_by_id(result.topic_id) if result.acquired and refuse is not None else None
    error = ErrorCode.NONE if topic is None or refuse is None else refuse(topic.name)
    if error is ErrorCode.NONE:
        return result
    key = SharePartitionKey(group_id, result.topic_id, result.partition)
    ctx.services.share.partitions.give_back(key, member_id, result.acquired)
    return FetchedPartition(result.topic_id, result.partition, error)


def wanted_partitions(ctx: RequestContext, context: ShareFetchContext) -> list[WantedPartition]:
    """Return the session's partitions in the order to fetch them, each with its error if it cannot be fetched; at most
    `LOOKED_AT`.
    """
    return [wanted_partition(ctx, each) for each in fetch_order(context.partitions, context.epoch, LOOKED_AT)]


def wanted_partition(ctx: RequestContext, listed: SessionPartition) -> WantedPartition:
    """Return one of the session's partitions as it is to be fetched, with its error if it cannot be."""
    topic_id, partition, name = listed.topic_id, listed.partition, listed.topic
    topic = ctx.services.metadata.topic_by_id(topic_id)
    if name is None and topic is not None:
        name = listed.topic = topic.name  # a node's mirror learns of topics later than clients do
    if name is None:
        return WantedPartition(topic_id, partition, None, ErrorCode.UNKNOWN_TOPIC_ID)
    if not ctx.may(READ_TOPIC, name):
        return WantedPartition(topic_id, partition, None, READ_TOPIC.error)
    if topic is None or not 0 <= partition < topic.partitions:
        return WantedPartition(topic_id, partition, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if ctx.services.leaders.other_leader(name, partition) is not None:
        return WantedPartition(topic_id, partition, None, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return WantedPartition(topic_id, partition, name)
