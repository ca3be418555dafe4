"""DescribeProducers: v0 (KIP-664).

Behaviour: returns the known producers of each partition, by ascending producer id, with the first offset of an open
transaction. Every partition has its own error.
"""

from __future__ import annotations

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.security.rights import READ_TOPIC
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

CONTEXT = FolderContext

_NONE = -1


async def handle(ctx: FolderContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    response = DescribeProducersResponse()
    for topic in request.topics:
        error = _topic_error(ctx, topic.name)
        rows: list[PartitionResponse] = []
        response.topics.append(TopicResponse(topic.name, rows))
        for partition in topic.partition_indexes:
            rows.append(await _partition(ctx, topic.name, partition, error))
            await ctx.breathe()
        await ctx.breathe()
    return response


def failed(request: DescribeProducersRequest, error: ErrorCode) -> DescribeProducersResponse:
    """Return the answer with the same error for every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(topic.name, [PartitionResponse(partition, error) for partition in topic.partition_indexes])
            for topic in request.topics
        ]
    )


def _topic_error(ctx: FolderContext, name: str) -> ApiError:
    problem = name_error(name)
    if problem is not None:
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    return NO_ERROR if ctx.may(READ_TOPIC, name) else ApiError(READ_TOPIC.error)


async def _partition(ctx: FolderContext, topic: str, partition: int, error: ApiError) -> PartitionResponse:
    if error:
        return PartitionResponse(partition, error.code, error.message)
    log = ctx.ground.lookup.log(topic, partition)
    if isinstance(log, ErrorCode):
        return PartitionResponse(partition, log)
    return PartitionResponse(partition, active_producers=await _producers(ctx, log))


async def _producers(ctx: FolderContext, log: PartitionLog) -> list[ProducerState]:
    states = []
    for producer_id in log.producers.producer_ids():
        producer = log.producers.get(producer_id)
        if producer is not None:
            states.append(
                ProducerState(
                    producer_id=producer_id,
                    producer_epoch=producer.epoch,
                    last_sequence=producer.batches[-1].last_sequence if producer.batches else _NONE,
                    last_timestamp=producer.last_timestamp,
                    coordinator_epoch=producer.coordinator_epoch,
                    current_txn_start_offset=producer.transaction_first_offset,
                )
            )
        await ctx.breathe()
    return states
