"""ReadShareGroupState: v0 (KIP-932).

Behaviour: returns the whole state of each share partition, for its new leader, and stores a newer leader epoch. A
leader with an older epoch on this broker then stops handing out records; in Apache Kafka it stops when one of its
writes is refused.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import ReadResult
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


async def handle(ctx: RequestContext, request: ReadShareGroupStateRequest) -> ReadShareGroupStateResponse:
    coordinator = ctx.services.share_states

    def operate(key: SharePartitionKey, data: PartitionData) -> Pending[ReadResult]:
        read = coordinator.read(key, data.leader_epoch)
        read.on_complete(lambda result: None if result.error else ended(key, data.leader_epoch))
        return read

    def ended(key: SharePartitionKey, leader_epoch: int) -> None:
        share = ctx.services.made.share
        if share is not None:
            share.partitions.leader_begun(key, leader_epoch)

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, _result, PartitionResult)
    return ReadShareGroupStateResponse(results=[ReadStateResult(*topic) for topic in topics])


def _result(partition: int, result: ReadResult) -> PartitionResult:
    if result.error:
        return PartitionResult(partition, result.error, result.message)
    return PartitionResult(
        partition,
        result.error,
        result.message,
        result.state_epoch,
        result.start_offset,
        [StateBatch(*batch) for batch in result.batches],
    )
