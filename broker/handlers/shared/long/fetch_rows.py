"""Reading many partitions for one Fetch, so many in a turn of the loop, and the rows of its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, pieces
from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.sessions import SessionPartition
from shareq.broker.fetch.wait import FetchLimits
from shareq.broker.security.rights import READ_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchableTopicResponse, PartitionData

TURN_PARTITIONS: Final = 500
"""So many are looked at in one turn, 10 µs each beside what is read."""

Refusal = Callable[[SessionPartition], ErrorCode]


def read_in_turns(
    ctx: RequestContext, partitions: list[SessionPartition], limits: FetchLimits, refuse: Refusal | None
) -> Steps[FetchRead]:
    """One pass over many partitions. Nothing is read for a client that has gone."""
    lookup, budget = ctx.services.lookup, ctx.services.answer_budget
    some = pieces(partitions, TURN_PARTITIONS)
    read = FetchRead(lookup, budget, next(some), limits, refuse)
    for each in some:
        yield
        if not ctx.connection.closed:
            read.go_on(lookup, budget, each, limits, refuse)
    return read


def refusal(ctx: RequestContext) -> Refusal | None:
    """The check whether the client may read a partition; None where every client may."""
    if ctx.services.authorizer is None:
        return None
    metadata = ctx.services.metadata

    def refuse(partition: SessionPartition) -> ErrorCode:
        topic = partition.topic
        if isinstance(topic, bytes):
            image = metadata.topic_by_id(topic)
            if image is None:
                return ErrorCode.NONE  # an id gives no name away: that it is unknown is found out later
            topic = image.name
        return ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error

    return refuse


def by_topic(partitions: Iterable[tuple[SessionPartition, PartitionData]]) -> list[FetchableTopicResponse]:
    """Neighbours of one topic together; the order stays, since it is the order of reading."""
    topics: list[FetchableTopicResponse] = []
    last: str | bytes | None = None
    for partition, data in partitions:
        key = partition.topic
        if key != last:
            last = key
            topics.append(
                FetchableTopicResponse(topic_id=key) if isinstance(key, bytes) else FetchableTopicResponse(topic=key)
            )
        topics[-1].partitions.append(data)
    return topics
