"""The common part of the five share-state RPCs: one operation for each share partition, and the results by topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.loop.coroutines import gathered
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import CLUSTER_ACTION
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode, text_of

P = TypeVar("P", bound="PartitionData")
P_co = TypeVar("P_co", bound="PartitionData", covariant=True)
R = TypeVar("R")
Out = TypeVar("Out")


class PartitionData(Protocol):
    """A partition of a request."""

    partition: int


class TopicData(Protocol[P_co]):
    """A topic of a request."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[P_co]: ...


async def for_each_partition(
    ctx: RequestContext,
    group_id: str,
    topics: Sequence[TopicData[P]],
    operate: Callable[[SharePartitionKey, P], Pending[R]],
    to_result: Callable[[int, R], Out],
    refused: Callable[[int, ErrorCode, str], Out],
) -> list[tuple[bytes, list[Out]]]:
    """Call `operate` for every named share partition, in order; return the results by topic, once all are durable.

    Without CLUSTER_ACTION, `operate` is not called, and each share partition is `refused`. As in Apache Kafka 4.3.1, an
    empty group id, no topics, or a topic without partitions give an empty list; a share partition named twice is
    processed twice but answered once, with the last result.
    """
    if not ctx.may(CLUSTER_ACTION):
        return await _refused(ctx, topics, refused, CLUSTER_ACTION.error)
    if not group_id or any(not topic.partitions for topic in topics):
        return []
    keys: list[SharePartitionKey] = []
    begun: list[Pending[R]] = []
    for topic in topics:
        for data in topic.partitions:
            keys.append(SharePartitionKey(group_id, topic.topic_id, data.partition))
            begun.append(operate(keys[-1], data))
            await ctx.breathe()
    by_topic: dict[bytes, dict[int, Out]] = {}
    for key, result in zip(keys, await gathered(begun, ctx.breathe), strict=True):
        by_topic.setdefault(key.topic_id, {})[key.partition] = to_result(key.partition, result)
        await ctx.breathe()
    return [(topic_id, list(partitions.values())) for topic_id, partitions in by_topic.items()]


async def _refused(
    ctx: RequestContext,
    topics: Sequence[TopicData[P]],
    refused: Callable[[int, ErrorCode, str], Out],
    error: ErrorCode,
) -> list[tuple[bytes, list[Out]]]:
    message = text_of(error)
    answered: list[tuple[bytes, list[Out]]] = []
    for topic in topics:
        answered.append((topic.topic_id, []))
        for data in topic.partitions:
            answered[-1][1].append(refused(data.partition, error, message))
            await ctx.breathe()
        await ctx.breathe()
    return answered
