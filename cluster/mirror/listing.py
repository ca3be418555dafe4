"""All topics of a cluster, a page at a time where its brokers have pages (KIP-966, Apache Kafka from 3.8 on).

An older broker names all topics in one answer to Metadata. Pages show different moments: a topic that is created or
deleted between two pages may be missing or present.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.cluster.link.ports import Link, LinkFailure
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NAMED_IDS_FROM: Final = 10
"""The first version of Metadata that gives topic ids in answers to requests by name."""
MOST_PARTITIONS: Final = 1_000
"""The most partitions of one page, which is read in one turn."""

Take: TypeAlias = Callable[[Sequence[MetadataResponseTopic], MetadataResponse], Waiting[bool]]
"""A function that takes topics, and an answer that names the brokers; it returns whether more topics are wanted."""


async def list_topics(link: Link, node: int | None, take: Take) -> LinkFailure | None:
    """Ask a broker, or any, for all topics, and pass them to `take`. Return None when all were passed, or the
    failure.
    """
    brokers = await _metadata(link, node, MetadataRequest([], allow_auto_topic_creation=False))
    if isinstance(brokers, LinkFailure):
        return brokers
    if link.offers(node, ApiKey.DESCRIBE_TOPIC_PARTITIONS) is not None:
        return await _list_pages(link, node, brokers, take)
    answer = await _metadata(link, node, MetadataRequest(None, allow_auto_topic_creation=False))
    if isinstance(answer, LinkFailure):
        return answer
    await take(answer.topics, answer)
    return None


async def _metadata(link: Link, node: int | None, request: MetadataRequest) -> MetadataResponse | LinkFailure:
    answer = await link.send(node, request, min_version=NAMED_IDS_FROM)
    assert isinstance(answer, MetadataResponse | LinkFailure)
    return answer


async def _list_pages(link: Link, node: int | None, brokers: MetadataResponse, take: Take) -> LinkFailure | None:
    cursor: DescribeTopicPartitionsRequestCursor | None = None
    begun: list[MetadataResponseTopic] = []  # at most one, that may go on in the next page
    while True:
        page = await link.send(node, DescribeTopicPartitionsRequest([], MOST_PARTITIONS, cursor))
        if isinstance(page, LinkFailure):
            return page
        assert isinstance(page, DescribeTopicPartitionsResponse)
        rows = begun
        for topic in page.topics:
            if rows and rows[-1].topic_id == topic.topic_id:
                rows[-1].partitions += _partitions(topic)
            else:
                rows.append(_row(topic))
        after = page.next_cursor
        goes_on = after is not None and bool(page.topics)  # an empty page would be asked for again and again
        begun = [rows.pop()] if goes_on else []
        if not await take(rows, brokers) or after is None or not goes_on:
            return None
        cursor = DescribeTopicPartitionsRequestCursor(after.topic_name, after.partition_index)


def _row(topic: DescribeTopicPartitionsResponseTopic) -> MetadataResponseTopic:
    return MetadataResponseTopic(topic.error_code, topic.name, topic.topic_id, topic.is_internal, _partitions(topic))


def _partitions(topic: DescribeTopicPartitionsResponseTopic) -> list[MetadataResponsePartition]:
    return [
        MetadataResponsePartition(
            error_code=each.error_code,
            partition_index=each.partition_index,
            leader_id=each.leader_id,
            leader_epoch=each.leader_epoch,
            replica_nodes=each.replica_nodes,
            isr_nodes=each.isr_nodes,
            offline_replicas=each.offline_replicas,
        )
        for each in topic.partitions
    ]
