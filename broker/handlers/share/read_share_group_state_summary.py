"""ReadShareGroupStateSummary: v0-1 (KIP-932, KIP-1226).

Behaviour: returns epochs and start offset for administration. The start offset is -1 without a state, or until it has
been persisted. Fences no leader. v1: DeliveryCompleteCount.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.protocol.generated.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


async def handle(ctx: RequestContext, request: ReadShareGroupStateSummaryRequest) -> ReadShareGroupStateSummaryResponse:
    coordinator = ctx.services.share_states

    def operate(key: SharePartitionKey, data: PartitionData) -> Pending[SummaryResult]:
        return coordinator.read_summary(key)

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, result_of, PartitionResult)
    return ReadShareGroupStateSummaryResponse(results=[ReadStateSummaryResult(*topic) for topic in topics])


def result_of(partition: int, result: SummaryResult) -> PartitionResult:
    """Return the row of a partition."""
    return PartitionResult(
        partition=partition,
        error_code=result.error,
        error_message=result.message,
        state_epoch=result.state_epoch,
        leader_epoch=result.leader_epoch,
        start_offset=result.start_offset,
        delivery_complete_count=result.delivery_complete_count,
    )
